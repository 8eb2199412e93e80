"""A scene's own script, played by the application's loop without window or recorder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.measure import add_stages, emit_shares, one_core, resident_memory
from bench.registry import Emit


@dataclass
class Played:
    """session: the scene as it ended; reports: one a step; wall, busy: [s] by the clock and of processor time."""

    session: object
    reports: list
    wall: float
    busy: float

    @property
    def simulated(self) -> float:
        """[s]"""
        return len(self.reports) * self.session.dt


def play(
    scene: str,
    compute: str,
    status: Callable[[str], None] = lambda text: None,
    watch: Callable | None = None,
    overrides: tuple[str, ...] = (),
    record: Path | None = None,
    view=None,
) -> Played:
    """Loads a scene (name or file) and plays its script to the end. watch(session, frame) is called after each step.
    record: folder for an episode of it. view: in place of one that shows nothing.

    Raises:
        scenes.errors.SceneError: the scene cannot be built. RuntimeError: a step failed.
    """
    from app.headless import NullView
    from app.loop import FrameLoop, Wiring
    from app.operator import Operator
    from app.scripted import open_input
    from app.session import load_session

    status("loading")
    session = load_session(scene, overrides, compute=compute)
    recorder = None if record is None else _recorder(session, record, compute)
    device = open_input(f"scripted:{session.scene.script}")
    reports: list = []
    sinks = [lambda frame: reports.append(frame.report)]
    if watch is not None:
        sinks.append(lambda frame: watch(session, frame))
    loop = FrameLoop(
        session,
        Operator(device),
        view or NullView(say=lambda text: None),
        Wiring(recorder=recorder, pacing=False, stop_on_failure=True, compute=compute, sinks=sinks),
    )
    duration = device.describe().get("duration")  # a seeing operator ends when its goals are reached
    steps = None if duration is None else max(1, round(float(duration) / session.dt) + 1)
    status(f"{'some' if steps is None else steps} steps of {session.dt:.4g} s")
    with one_core():
        busy, wall = time.process_time(), time.perf_counter()
        outcome = loop.run(steps)
        busy, wall = time.process_time() - busy, time.perf_counter() - wall
    if outcome.failure:
        raise RuntimeError(f"the run of {scene} ended early: {outcome.failure}")
    return Played(session, reports, wall, busy)


def _recorder(session, folder: Path, compute: str):
    """One that records already."""
    from app.runs import _recorder as recorder_of

    recorder = recorder_of(session, folder=folder, compute=compute, input_name="script")
    recorder.start(session.engine.positions(), 0.0)
    return recorder


def repeats(session, episode: Path) -> int | None:
    """Steps an episode's inputs again, in the session that it was recorded in. The first step that differs in a bit,
    None when there is none. Raises app.replay.ReplayError: it does not fit."""
    from functools import partial

    from app.record import Episode
    from app.replay import InputReplay
    from app.replay_inputs import repeat
    from engine.types import Control

    with Episode(episode) as opened:
        engine = session.engine
        result = InputReplay(opened, engine, lambda fields: Control(**fields), partial(repeat, engine)).run()
        return None if result.exact else (-1 if result.first_divergence is None else result.first_divergence)


def measure_scene(emit: Emit, compute: str, scene: str) -> None:
    """Prints SCENE.realtime_factor (simulated over wall-clock time of the whole run, reading of signals and pads
    included) and what it is made of. The factor by processor time leaves out what other programs took from the core."""
    measure_run(emit, scene, play(scene, compute, emit.status))


def measure_run(emit: Emit, scene: str, run: Played) -> None:
    """The lines of `measure_scene` for a run that was played."""
    emit(f"{scene}.realtime_factor", run.simulated / run.wall)
    emit(f"{scene}.realtime_factor_by_processor_time", run.simulated / run.busy)
    _print_reports(emit, scene, run.reports, run.wall)
    emit(f"{scene}.points", run.session.scene.model.points_per_world)
    memory = resident_memory()
    if memory is not None:
        emit(f"{scene}.memory", memory, "MB")


def _print_reports(emit: Emit, scene: str, reports: list, wall: float) -> None:
    newton = np.array([report.newton_iterations for report in reports])
    inside = np.array([sum(report.stage_seconds.values()) for report in reports])
    linear = sum(report.linear_iterations for report in reports)
    emit(f"{scene}.steps", len(reports))
    emit(f"{scene}.newton_per_step", newton.mean())
    emit(f"{scene}.newton_most", newton.max())
    emit(f"{scene}.pcg_per_newton", linear / newton.sum())
    emit(f"{scene}.step_median", 1e3 * np.median(inside), "ms")
    emit(f"{scene}.step_largest", 1e3 * inside.max(), "ms")
    emit(f"{scene}.not_converged", sum(not report.converged for report in reports), "steps")
    emit(f"{scene}.contacts_most", max(report.contacts for report in reports))
    emit(f"{scene}.candidates_most", max(report.candidates for report in reports))
    emit(f"{scene}.share.outside_the_step", 1.0 - inside.sum() / wall)
    stages: dict[str, float] = {}
    for report in reports:
        add_stages(stages, report)
    emit_shares(emit, f"{scene}.step", stages)
