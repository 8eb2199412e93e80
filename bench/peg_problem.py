"""The peg task in the benchmarks: paper C's files or the project's own, one world or many, by the scene's script."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.measure import clock
from engine import Engine
from engine.types import Control
from scenes.build import build_scene
from scenes.config import SceneConfig, load_config

STEPS = 200  # of 0.02 s, paper C
PAPER = {"peg.low_resolution.worlds_4096": 915.0}  # world-steps/s on an H100
FINE = "[14, 19, 4]"  # cells: 1,500 points and 5,320 tetrahedra, paper C's finer pad has 1,530 and 5,360
PADS = ("left_pad", "right_pad")


def shared(*parts: str) -> Path | None:
    """A reference file beside the checkout, or where TACKTILE_SHARED says; None without it."""
    root = Path(os.environ.get("TACKTILE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    path = root.joinpath("data", "taccel", *parts)
    return path if path.is_file() else None


def own(fine: bool = False) -> list[str]:
    """Overrides for the project's own peg, hole and pads."""
    return [f"{pad}.gel.cells={FINE}" for pad in PADS] if fine else []


def reference(pad: Path | None = None) -> list[str] | None:
    """Overrides for paper C's peg and hole with its 139-point pads, or with another pad of the same placing; None
    without the files."""
    peg, hole = shared("peg", "peg.stl"), shared("peg", "hole.stl")
    pad = pad or shared("peg", "sensor.vtk")
    if peg is None or hole is None or pad is None:
        return None
    found = [
        f"peg.shape={{type: mesh, file: {peg}, units: m, origin: centre}}",
        f"block.shape={{type: mesh, file: {hole}, units: m, origin: centre}}",
        "gripper.opening=54 mm", "left_pad.position=[-20 mm, 0, 37 mm]", "right_pad.position=[-70 mm, 0, 37 mm]",
    ]  # fmt: skip
    return found + [f"{name}.gel={{type: mesh, file: {pad}, units: m}}" for name in PADS]


def curved() -> list[str] | None:
    """Overrides for the pad of 5,215 points (40 x 40 mm, curved front, back at z = 0); None without the file."""
    pad, found = shared("panda", "meshes", "visual", "pad_maxv=1e-09.vtk"), reference()
    if pad is None or found is None:
        return None
    kept = [text for text in found if "_pad." not in text and "opening" not in text]
    kept += [
        "gripper.opening=58 mm", "gripper.finger_size=[8 mm, 42 mm, 52 mm]", "gripper.palm_size=[84 mm, 44 mm, 18 mm]",
        "gripper.position=[-45 mm, 0, 22 mm]",
    ]  # fmt: skip
    for name, x, turn in (("left_pad", -16, -90), ("right_pad", -74, 90)):
        kept += [
            f"{name}.gel={{type: mesh, file: {pad}, units: m}}", f"{name}.position=[{x} mm, 0, 45 mm]",
            f"{name}.rotation=[0, {turn} deg, 0]", f"{name}.held=-z", f"{name}.coat={{normal: [0, 0, 1]}}",
        ]  # fmt: skip
    return kept


@dataclass
class Script:
    """Targets of every step, as the scene's script gave them in one world."""

    body_transform: list[np.ndarray]  # (1, D, 4, 4) each
    joint_target: list[np.ndarray]  # (1, J)

    def control(self, step: int, worlds: int) -> Control:
        return Control(
            np.repeat(self.body_transform[step], worlds, axis=0), np.repeat(self.joint_target[step], worlds, axis=0)
        )


def record_script(overrides: list[str], compute: str, scene: str = "peg_insertion", steps: int = STEPS) -> Script:
    """Plays a scene's script in one world of the scene as written."""
    from app.headless import NullView
    from app.loop import FrameLoop
    from app.operator import Operator
    from app.scripted import open_input
    from app.session import load_session
    from app.wiring import Wiring

    session = load_session(scene, overrides, compute)
    session.pads = []
    script = Script([], [])

    def note(frame) -> None:
        script.body_transform.append(frame.control.body_transform)
        script.joint_target.append(frame.control.joint_target)

    loop = FrameLoop(
        session, Operator(open_input(f"scripted:{session.scene.script}")), NullView(say=lambda text: None),
        Wiring(pacing=False, stop_on_failure=True, compute=compute, sinks=[note]),
    )  # fmt: skip
    outcome = loop.run(steps)
    if outcome.failure:
        raise RuntimeError(outcome.failure)
    return script


@dataclass
class PegRun:
    """seconds: of `steps` steps, of this process's core on the CPU; reports: one a step."""

    engine: Engine
    seconds: float
    reports: list

    @property
    def rate(self) -> float:
        """World-steps a second."""
        return len(self.reports) * self.engine.model.num_worlds / self.seconds


def run_peg(
    config: SceneConfig, script: Script, worlds: int, compute: str, steps: int = STEPS, first: int | None = None,
    watch=None,
) -> PegRun:  # fmt: skip
    """Builds `worlds` worlds and drives all of them by the script; watch(step, engine) is called outside the clock.

    first: None: one world as written; else the draws of worlds first .. first + worlds - 1."""
    scene = build_scene(config, compute, worlds, first=first)
    engine, now = Engine(scene.model, scene.options), clock(compute)
    start = engine.get_state()
    engine.step(script.control(0, worlds))  # captures the stages
    engine.set_state(start)
    seconds, reports = 0.0, []
    for step in range(steps):
        control = script.control(step, worlds)
        begin = now()
        reports.append(engine.step(control))
        seconds += now() - begin
        if watch is not None:
            watch(step, engine)
    return PegRun(engine, seconds, reports)


def loaded(overrides: list[str], scene: str = "peg_insertion") -> SceneConfig:
    return load_config(scene, overrides)
