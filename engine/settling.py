"""Settling a wound roll: steps without gravity until it rests, with what was left measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.builder import ModelBuilder
from engine.engine import Engine
from engine.options import Options
from engine.tape.asset import RollAsset, SettleRecord
from engine.tape.hold import Hold
from engine.tape.placing import add_roll, core_name

NAME = "roll"
HOLD = 10.0  # stiffness of the holding springs over that of the barrier; a front adhesive far behind its front has 3
DAMPING = 50.0  # of the strip while it settles [1/s]: a free end of a few centimetres stops within a few swings


@dataclass(frozen=True)
class Settling:
    """What a progress callback sees after each step."""

    step: int
    most_steps: int
    speed: float  # largest point speed [m/s]
    quiet_steps: int  # in a row below the asked speed
    newton_iterations: int
    linear_iterations: int


def settle_roll(
    asset: RollAsset,
    progress: Callable[[Settling], None] | None = None,
    speed: float = 1e-4,
    quiet_steps: int = 5,
    most_steps: int = 200,
    options: Options | None = None,
    device: str = "cpu",
) -> RollAsset:
    """The roll at rest, its layers held by springs where they stick (engine.tape.hold), without gravity.

    Steps until every point has stayed slower than `speed` [m/s] for `quiet_steps` steps. The core moves freely and its
    pose is kept in the asset. Raises RuntimeError when `most_steps` were not enough; ValueError for illegal numbers.
    """
    for name, value in (("speed", speed), ("quiet_steps", quiet_steps), ("most_steps", most_steps)):
        if not value > 0:
            raise ValueError(f"settle_roll: {name} is {value!r}; it must be greater than 0")
    engine = settling_engine(asset, options, device, damping=DAMPING)
    quiet = 0
    for step in range(1, most_steps + 1):
        before = engine.positions()
        report = engine.step()
        fastest = point_speed(engine, before)
        quiet = quiet + 1 if fastest < speed else 0
        if progress is not None:
            progress(
                Settling(step, most_steps, fastest, quiet, report.newton_iterations, report.linear_iterations)
            )
        if quiet >= quiet_steps:
            return _settled(asset, engine, step, fastest)
    raise RuntimeError(
        f"settle_roll: after {most_steps} steps the fastest point still moves at {fastest:.2g} m/s, asked for "
        f"{speed:g}; raise most_steps or speed"
    )


def settling_engine(asset: RollAsset, options: Options | None = None, device: str = "cpu", held: bool = True,
                    damping: float = 0.0) -> Engine:  # fmt: skip
    """The roll alone, without gravity. held: layers tied where they stick; damping: of the strip [1/s]."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    material = replace(asset.spec.material, damping=damping)
    add_roll(builder, NAME, replace(asset, spec=replace(asset.spec, material=material)))
    model = builder.finalize(device=device)
    if held:
        model = replace(model, interfaces=(*model.interfaces, lambda m: hold_layers(m, asset)))
    if options is None:
        options = Options(
            dt=0.01, newton_tolerance=1e-4, linear_tolerance=1e-3, candidate_slack=asset.spec.candidate_slack
        )
    return Engine(model, options)


def hold_layers(model, asset: RollAsset) -> Hold:
    """Springs of HOLD kappa / dhat by area: the barrier must not push layers out of the adhesive's reach."""
    feet = asset.feet
    strip, core = (model.meshes[name].points.start for name in (NAME, core_name(NAME)))
    corners = feet.corners + np.where(feet.on_core, core, strip)[:, None]
    area = model.collision.vertex_area.numpy()[feet.point + strip]
    contact = asset.spec.contact
    stencils = np.column_stack([feet.point + strip, corners])
    return Hold(stencils, feet.place, HOLD * contact.kappa / contact.dhat * area, model.device)


def point_speed(engine: Engine, before: np.ndarray) -> float:
    """Largest speed of any vertex over the last step [m/s]."""
    moved = [engine.positions()[i.points] - before[i.points] for i in engine.model.meshes.values()]
    return float(np.linalg.norm(np.concatenate(moved), axis=1).max()) / engine.options.dt


def stored_energy(engine: Engine) -> dict[str, float]:
    """Elastic energies of world 0 at the current positions by name [J]."""
    import warp as wp

    system, found = engine.newton.system, {}
    for energy in system.energies:
        total = wp.zeros(engine.model.num_worlds, dtype=wp.float64, device=engine.model.device)
        energy.launch_value(system.inputs, total)
        found[energy.name] = float(total.numpy()[0])
    return found


def _settled(asset: RollAsset, engine: Engine, steps: int, speed: float) -> RollAsset:
    vertices = engine.mesh_positions(NAME)
    pose = engine.body_transform(core_name(NAME))
    u, _, vt = np.linalg.svd(pose[:3, :3])
    pose[:3, :3] = u @ vt  # the affine body's last trace of strain
    energy = stored_energy(engine)
    record = SettleRecord(
        steps=steps, speed=speed, elastic_energy=energy["membrane"] + energy["hinge"],
        membrane_energy=energy["membrane"], min_distance=engine.report.min_distance,
        travel=float(np.linalg.norm(vertices - asset.vertices, axis=1).max()),
    )  # fmt: skip
    return asset.moved(vertices, pose, record)
