"""A sticky roll of 19 mm tape on a fixed axle, its tip pulled straight away: whole (F) or with a cluster (R)."""

from __future__ import annotations

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.materials import BondAdhesive, FrontAdhesive
from engine.mesh import shapes
from engine.tape.asset import RollAsset
from engine.tape.cluster import ClusterSpec
from engine.tape.placing import add_roll
from engine.tape.winding import RollSpec, wind_roll

DHAT = 0.18e-3
WORK = 20.0  # [J/m2] tape on its own back
ADHESIVES = {"coh": FrontAdhesive(work=WORK), "bond": BondAdhesive()}  # by the first half of paper T's model names
SPEED = 0.025  # [m/s] of the tip
TAPE = ShellMaterial(young=1e8, poisson=0.45, thickness=0.178e-3, density=1300.0)
CONTACT = ContactMaterial(dhat=DHAT, half_thickness=0.089e-3, friction_mu=0.3)


def roll_engine(
    turns: float, clustered: bool, compute: str = "cpu", dt: float = 0.01, adhesive: str = "coh", carried: bool = False,
    cells_across: int = 6, **options,
) -> Engine:  # fmt: skip
    """19 mm, 40 mm free; no gravity. carried: the axle is a driven body, "hub", else it stands."""
    spec = RollSpec(turns=turns, free_length=0.04, cells_across=cells_across, material=TAPE, contact=CONTACT)
    asset = wind_roll(spec)
    columns = asset.spec.cells_across + 1
    builder = ModelBuilder(gravity=(0, 0, 0))
    tape, core = add_roll(builder, "tape", asset)
    builder.add_adhesion(tape, "negative", [tape, core], ADHESIVES[adhesive])
    vertices, triangles = shapes.box_surface((0.01, 0.03, 0.01))
    pose = np.eye(4)
    pose[:3, 3] = asset.vertices[-columns:].mean(0) + (0.012, 0, 0)
    builder.add_body("hand", vertices, triangles, ContactMaterial(), density=1000.0, transform=pose, driven=True)
    builder.attach(tape, range(len(asset.vertices) - columns, len(asset.vertices)), "hand")
    if carried:
        pin = shapes.box_surface((0.004, 0.03, 0.004))
        builder.add_body("hub", *pin, ContactMaterial(), density=1000.0, driven=True)
    builder.add_joint("axle", "revolute", "hub" if carried else None, core, (0, 0, 0), (0, 1, 0))
    if clustered:
        cluster_of(builder, tape, asset)
    settings = {"newton_tolerance": 1e-3, **options}
    return Engine(builder.finalize(device=compute, check_start=False), Options(dt=dt, **settings))


def cluster_of(
    builder: ModelBuilder, tape: str, asset: RollAsset, pose: np.ndarray | None = None, used: bool = True
) -> None:
    """The wound rows as one cluster. pose (4, 4): roll frame -> world. used: False leaves the carrier empty, so that
    states of the full shell and of the cluster have the same nodes."""
    spec, centre = asset.spec, (0.0, 0.0, 0.0) if pose is None else pose[:3, 3]
    volume = asset.num_wound_rows * spec.cell * spec.width * spec.material.thickness
    builder.add_carrier("cluster", centre, 1e8 * volume)
    if not used:
        return
    cover = int(1.3 * 2 * np.pi * asset.outer_radius / spec.cell)
    columns, wound = spec.cells_across + 1, asset.num_wound_rows
    release = 5 * spec.contact.dhat
    builder.add_cluster("roll", ClusterSpec(tape, "cluster", asset.num_rows, columns, wound, release, cover))


def carry(engine: Engine, dt: float = 0.01):
    """One step with the hub of a carried roll drawn away from the held tip."""
    control = engine.control()
    control.body_transform[:, engine.driven_bodies.index("hub"), 0, 3] -= SPEED * dt
    return engine.step(control)


def pull(engine: Engine, step: int, dt: float = 0.01):
    """One step with the tip drawn on, eased in over twenty steps."""
    control = engine.control()
    control.body_transform[:, 0, 0, 3] += SPEED * dt * min(1.0, step / 20)
    return engine.step(control)
