"""Paper T's swing: a roll hangs by its held tip, is driven through 30 degrees, let go, and swings.

The start is made once for each model and number of turns, with a driven core; then the same state goes on in a model
whose core is free. The hub angle is that of the line from the tip to the middle of the core, in the plane of the
swing; the turn of the core about its axis is kept beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from bench.roll_problem import cluster_of
from engine import ContactMaterial, Engine, ModelBuilder, Options, Release
from engine.materials import BondAdhesive
from engine.mesh import shapes
from engine.tape.placing import add_roll, core_name
from engine.tape.presets import preset
from engine.tape.winding import wind_roll

DT = 0.01  # [s] backward Euler, as in paper T
ANGLE = np.radians(30.0)
DRIVE, HOLD = 0.5, 0.1  # [s] turning by ANGLE, eased; held there
FREE_LENGTH = 0.08  # [m]
ROLL = "roll"
LIFT_DT, LIFT_STEPS = 0.05, 60  # [s] until it hangs still
LIFT_KEPT = 0.85  # of the velocities from step to step while it is lifted
START_TOLERANCE = 3e-4  # newton_tolerance until the release [m/s]


@dataclass(frozen=True)
class Model:
    """One of paper T's four: layers held by cohesion or bonds, the wound part a full shell (F) or one cluster (R)."""

    adhesive: str  # coh, bond
    clustered: bool
    turns: int

    @property
    def name(self) -> str:
        return f"{self.adhesive}_{'r' if self.clustered else 'f'}.{self.turns}_turns"


@dataclass
class Swing:
    """What a run gave, by step."""

    centre: np.ndarray  # middle of the core [m], (n, 3), before the first step too
    rotation: np.ndarray  # of the core, (n, 3, 3)
    tip: np.ndarray  # [m] (3,)
    newton: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # iterations, (n - 1,)
    linear: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the step without the front's update
    front_seconds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    missed: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))  # step not converged
    front: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # row of the front

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **{f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Swing:
        with np.load(path) as file:
            return cls(**{name: file[name] for name in file.files})

    @property
    def hub_angle(self) -> np.ndarray:
        """Of the line from tip to core against the vertical [deg], (n,)."""
        way = self.centre - self.tip
        return np.degrees(np.arctan2(way[:, 0], -way[:, 2]))

    @property
    def turn(self) -> np.ndarray:
        """Of the core about y since the release [deg], (n,)."""
        relative = self.rotation @ self.rotation[0].T
        sine, cosine = relative[:, 0, 2] - relative[:, 2, 0], relative[:, 0, 0] + relative[:, 2, 2]
        return np.degrees(np.unwrap(np.arctan2(sine, cosine)))

    def range(self, seconds: float | None = None) -> float:
        """Largest less smallest hub angle [deg], over all or the first `seconds`."""
        steps = None if seconds is None else round(seconds / DT) + 1
        return float(np.ptp(self.hub_angle[:steps]))


def swing_engine(model: Model, held: bool, compute: str = "cpu", **options) -> Engine:
    """The cloth tape of the presets, core below its tip. held: the core is driven."""
    found = preset("cloth_19mm", model.turns, FREE_LENGTH)
    asset = wind_roll(found.spec)
    columns = asset.spec.cells_across + 1
    tip = asset.vertices[-columns:].mean(axis=0)
    pose = turned(-np.arctan2(tip[0], tip[2]))
    builder = ModelBuilder()
    adhesive = BondAdhesive() if model.adhesive == "bond" else found.adhesive
    tape, core = add_roll(builder, ROLL, asset, pose, adhesive=adhesive, core_driven=held)
    vertices, triangles = shapes.box_surface((0.01, 0.03, 0.01))
    hand = np.eye(4)
    hand[:3, 3] = pose[:3, :3] @ tip + (0.0, 0.0, 0.012)
    builder.add_body("hand", vertices, triangles, ContactMaterial(), density=1000.0, transform=hand, driven=True)
    builder.attach(tape, range(len(asset.vertices) - columns, len(asset.vertices)), "hand")
    cluster_of(builder, tape, asset, pose, model.clustered)
    settings = {"dt": DT, "newton_tolerance": 1e-3, "candidate_slack": asset.spec.candidate_slack, **options}
    return Engine(builder.finalize(device=compute, check_start=False), Options(**settings))


def turned(angle: float) -> np.ndarray:
    """Turn about y [rad], (4, 4)."""
    pose = np.eye(4)
    pose[0, 0] = pose[2, 2] = np.cos(angle)
    pose[0, 2], pose[2, 0] = np.sin(angle), -np.sin(angle)
    return pose


def tip_of(engine: Engine) -> np.ndarray:
    """Middle of the held row [m], (3,)."""
    columns = preset("cloth_19mm").spec.cells_across + 1
    return engine.mesh_positions(ROLL)[-columns:].mean(axis=0)


def released_state(model: Model, compute: str = "cpu", status=lambda text: None) -> dict[str, np.ndarray]:
    """State of a model with a free core at the release.

    Lifted: the roll hangs from its tip, its motion damped away. Driven: its core is turned through ANGLE about the tip,
    and held. Both with a cluster; a full shell starts from the same places.
    """
    clustered = replace(model, clustered=True)
    status(f"{model.name}: lifted")
    engine = swing_engine(clustered, False, compute, dt=LIFT_DT, newton_tolerance=START_TOLERANCE)
    for _ in range(LIFT_STEPS):
        engine.step()
        engine.state.v.assign(LIFT_KEPT * engine.state.v.numpy())
    engine = _driven(engine, swing_engine(clustered, True, compute, newton_tolerance=START_TOLERANCE))
    status(f"{model.name}: driven")
    tip, row = tip_of(engine), engine.driven_bodies.index(core_name(ROLL))
    start, about = engine.control().body_transform[0, row], np.eye(4)
    about[:3, 3] = tip
    for step in range(round((DRIVE + HOLD) / DT)):
        control = engine.control()
        share = 0.5 * (1.0 - np.cos(np.pi * min(1.0, (step + 1) * DT / DRIVE)))
        control.body_transform[:, row] = about @ turned(-ANGLE * share) @ np.linalg.inv(about) @ start
        engine.step(control)
    if not model.clustered:
        wound = engine.rolls[ROLL].front[0] * engine.rolls[ROLL].spec.columns
        engine.apply([Release(ROLL, tuple(range(int(wound))))])
    state = {name: values for name, values in engine.get_state().items() if model.clustered or name[:5] != "roll_"}
    state["control_body_transform"] = np.delete(state["control_body_transform"], row, axis=1)
    return state


def _driven(hanging: Engine, driven: Engine) -> Engine:
    """The state of a free roll in the model whose core is driven: it is to stay where it is."""
    state, row = hanging.get_state(), driven.driven_bodies.index(core_name(ROLL))
    here = hanging.body_transform(core_name(ROLL))[None]
    state["control_body_transform"] = np.insert(state["control_body_transform"], row, here, axis=1)
    state["v"], state["v_prev"] = 0.0 * state["v"], 0.0 * state["v_prev"]  # what is left
    driven.set_state(state)
    return driven


def swing(engine: Engine, seconds: float, now, status=lambda step, steps: None) -> Swing:
    """Let it swing from where it is. now: clock [s]."""
    poses, rows = [engine.body_transform(core_name(ROLL))], []
    steps = round(seconds / DT)
    for step in range(steps):
        begin = now()
        report = engine.step()
        front = report.stage_seconds.get("front", 0.0)
        rows.append((
            report.newton_iterations, report.linear_iterations, now() - begin - front, front, not report.converged,
            int(engine.rolls[ROLL].front[0]) if engine.rolls else 0,
        ))  # fmt: skip
        poses.append(engine.body_transform(core_name(ROLL)))
        status(step + 1, steps)
    poses, columns = np.array(poses), [np.array(c) for c in zip(*rows, strict=True)]
    return Swing(poses[:, :3, 3], poses[:, :3, :3], tip_of(engine), *columns)
