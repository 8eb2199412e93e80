"""A sticky roll of 19 mm tape on a fixed axle, its tip pulled straight away: whole (F) or with a cluster (R)."""

from __future__ import annotations

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.materials import BondAdhesive, FrontAdhesive
from engine.mesh import shapes
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
    turns: float, clustered: bool, compute: str = "cpu", dt: float = 0.01, adhesive: str = "coh", **options
) -> Engine:
    """19 mm, six cells across, 40 mm free; no gravity."""
    asset = wind_roll(RollSpec(turns=turns, free_length=0.04, material=TAPE, contact=CONTACT))
    columns = asset.spec.cells_across + 1
    builder = ModelBuilder(gravity=(0, 0, 0))
    tape, core = add_roll(builder, "tape", asset)
    builder.add_adhesion(tape, "negative", [tape, core], ADHESIVES[adhesive])
    vertices, triangles = shapes.box_surface((0.01, 0.03, 0.01))
    pose = np.eye(4)
    pose[:3, 3] = asset.vertices[-columns:].mean(0) + (0.012, 0, 0)
    builder.add_body("hand", vertices, triangles, ContactMaterial(), density=1000.0, transform=pose, driven=True)
    builder.attach(tape, range(len(asset.vertices) - columns, len(asset.vertices)), "hand")
    builder.add_joint("axle", "revolute", None, core, (0, 0, 0), (0, 1, 0))
    if clustered:
        volume = asset.num_wound_rows * asset.spec.cell * asset.spec.width * TAPE.thickness
        builder.add_carrier("cluster", (0, 0, 0), 1e8 * volume)
        cover = int(1.3 * 2 * np.pi * asset.outer_radius / asset.spec.cell)
        wound = asset.num_wound_rows
        builder.add_cluster("roll", ClusterSpec(tape, "cluster", asset.num_rows, columns, wound, 5 * DHAT, cover))
    settings = {"newton_tolerance": 1e-3, **options}
    return Engine(builder.finalize(device=compute, check_start=False), Options(dt=dt, **settings))


def pull(engine: Engine, step: int, dt: float = 0.01):
    """One step with the tip drawn on, eased in over twenty steps."""
    control = engine.control()
    control.body_transform[:, 0, 0, 3] += SPEED * dt * min(1.0, step / 20)
    return engine.step(control)
