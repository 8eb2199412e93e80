"""What recording costs: time of `Recorder.write` beside the time of a step, and bytes on disk beside bytes recorded.

A scene is driven by its own script, over and over, for `TACKTILE_FRAMES` steps (10,000), and every frame is recorded
with hashes, exact states and forces on all points. Times are those that this thread had a core.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

from bench.registry import Emit

DESCRIPTION = "recording 10,000 frames (TACKTILE_FRAMES=N): share of the step time, size of the state stream"
FRAMES = 10_000
SCENES = {"strip_on_box": 1.0, "peel": 0.03}  # the lightest scene with a tool, and tape; share of the frames


def run(emit: Emit, compute: str) -> None:
    whole = int(os.environ.get("TACKTILE_FRAMES", FRAMES))
    for scene, share in SCENES.items():
        count = max(100, round(share * whole))
        with tempfile.TemporaryDirectory() as place:
            times, sealing, path = _record(emit, scene, compute, count, Path(place))
            write, step = times["write"], times["step"]
            emit(f"recording.{scene}.frames", count)
            emit(f"recording.{scene}.step", 1e3 * np.mean(step), "ms")
            emit(f"recording.{scene}.write", 1e3 * np.mean(write), "ms")
            emit(f"recording.{scene}.write_p99", 1e3 * np.quantile(write, 0.99), "ms")
            emit(f"recording.{scene}.share_of_step", np.sum(write) / np.sum(step))
            emit(f"recording.{scene}.sealing", sealing, "s")
            _sizes(emit, f"recording.{scene}", path)


def _record(emit: Emit, scene: str, compute: str, count: int, place: Path):
    """Times of each frame [s], the time that sealing took [s], and the episode."""
    from app.frame import Request
    from app.headless import NullView
    from app.loop import FrameLoop, Wiring
    from app.operator import Operator
    from app.record import Recorder
    from app.record.layout import scene_layout
    from app.scripted import open_input
    from app.session import load_session

    session = load_session(scene, (), compute, lambda text, done: None)
    recorder = Recorder(
        place, scene, options=session.scene.options, get_state=session.engine.view_state,
        layout=scene_layout(session.scene, session.model),
    )  # fmt: skip
    times: dict[str, list[float]] = {"write": [], "step": []}
    _timed(recorder, "write", times["write"], lambda stored: stored)
    _timed(session.engine, "step", times["step"])
    device = open_input(f"scripted:{session.scene.script}", None)
    wiring = Wiring(recorder=recorder, pacing=False, stop_on_failure=False)
    loop = FrameLoop(session, Operator(device), NullView(say=lambda text: None), wiring)
    recorder.start(session.engine.positions(), 0.0)
    times["step"].clear()
    duration = device.describe().get("duration")  # None: goals, which end when they are reached
    again = None if duration is None else round(duration / session.dt)
    still = 0
    while (done := loop.outcome.steps) < count:
        loop.frame_once()
        still = still + 1 if loop.outcome.steps == done else 0
        if still > 1:  # once is right: the frame of a reset makes no step
            raise RuntimeError(f"no step was made: {loop.paused_reason}")
        if still:
            continue
        over = getattr(loop.operator.device, "finished", False) if again is None else loop.outcome.steps % again == 0
        if over:  # once more from the start: at rest a step costs a fraction
            loop._carry_out(Request("reset"))
            loop.operator = Operator(open_input(f"scripted:{session.scene.script}", None))
            loop.operator.settle(session.scene, session.engine)
        if loop.outcome.steps % 100 == 0:
            emit.status(f"{scene}: frame {loop.outcome.steps} of {count}")
    times["write"] = times["write"][: len(times["step"])]
    begin = time.perf_counter()
    recorder.stop()
    recorder.wait()
    sealing = time.perf_counter() - begin
    loop.close()
    return times, sealing, next(place.glob("*.h5"))


def _timed(thing, name: str, into: list[float], counts=lambda result: True) -> None:
    """Times of a method [s], of the calls whose result counts."""
    function = getattr(thing, name)

    def call(*args, **kwargs):
        begin = time.thread_time()
        result = function(*args, **kwargs)
        seconds = time.thread_time() - begin
        if counts(result):
            into.append(seconds)
        return result

    setattr(thing, name, call)


def _sizes(emit: Emit, name: str, path: Path) -> None:
    """Bytes by group, images apart. Raw: the same numbers uncompressed, positions and forces as float32."""
    stored: dict[str, int] = {}
    raw: dict[str, int] = {}
    with h5py.File(path) as file:

        def look(place: str, item) -> None:
            parts = place.split("/")
            if isinstance(item, h5py.Dataset) and not {"indentation", "depth", "rgb", "image"} & set(parts):
                stored[parts[0]] = stored.get(parts[0], 0) + item.id.get_storage_size()
                raw[parts[0]] = raw.get(parts[0], 0) + item.nbytes

        file.visititems(look)
        frames = int(file.attrs["num_frames"])
    for group in sorted(stored, key=lambda g: -stored[g])[:5]:
        emit(f"{name}.{group}", stored[group] / frames, "B/frame")
        emit(f"{name}.{group}.ratio", raw[group] / max(stored[group], 1))
    emit(f"{name}.state_stream.ratio", sum(raw.values()) / sum(stored.values()))
    emit(f"{name}.file", path.stat().st_size / frames, "B/frame")
