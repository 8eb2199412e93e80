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
SCENE = "strip_on_box"


def run(emit: Emit, compute: str) -> None:
    count = int(os.environ.get("TACKTILE_FRAMES", FRAMES))
    with tempfile.TemporaryDirectory() as place:
        times, sealing, path = _record(emit, compute, count, Path(place))
        write, step = times["write"], times["step"]
        emit("recording.frames", count)
        emit("recording.step", 1e3 * np.mean(step), "ms")
        emit("recording.write", 1e3 * np.mean(write), "ms")
        emit("recording.write_p99", 1e3 * np.quantile(write, 0.99), "ms")
        emit("recording.share_of_step", np.sum(write) / np.sum(step))
        emit("recording.sealing", sealing, "s")
        _sizes(emit, path)
    if np.sum(write) > 0.05 * np.sum(step):
        raise RuntimeError(f"recording took {np.sum(write) / np.sum(step):.1%} of the step time, more than 5 %")


def _record(emit: Emit, compute: str, count: int, place: Path):
    """Times of each frame [s], the time that sealing took [s], and the episode."""
    from app.frame import Request
    from app.headless import NullView
    from app.loop import FrameLoop, Wiring
    from app.operator import Operator
    from app.record import Recorder
    from app.record.layout import scene_layout
    from app.scripted import open_input
    from app.session import load_session

    session = load_session(SCENE, (), compute, lambda text, done: None)
    recorder = Recorder(
        place, SCENE, options=session.scene.options, get_state=session.engine.get_state,
        layout=scene_layout(session.scene, session.model),
    )  # fmt: skip
    times: dict[str, list[float]] = {"write": [], "step": []}
    _timed(recorder, "write", times["write"])
    _timed(session.engine, "step", times["step"])
    device = open_input(f"scripted:{session.scene.script}", None)
    wiring = Wiring(recorder=recorder, pacing=False, stop_on_failure=False)
    loop = FrameLoop(session, Operator(device), NullView(say=lambda text: None), wiring)
    recorder.start(session.engine.positions(), 0.0)
    times["step"].clear()
    again = round(device.describe()["duration"] / session.dt)
    while (done := loop.outcome.steps) < count:
        loop.frame_once()
        if loop.outcome.steps == done:
            raise RuntimeError(f"no step was made: {loop.paused_reason}")
        if loop.outcome.steps % again == 0:
            loop._carry_out(Request("reset"))
        if loop.outcome.steps % 100 == 0:
            emit.status(f"frame {loop.outcome.steps} of {count}")
    times["write"] = times["write"][: len(times["step"])]
    begin = time.perf_counter()
    recorder.stop()
    recorder.wait()
    sealing = time.perf_counter() - begin
    loop.close()
    return times, sealing, next(place.glob("*.h5"))


def _timed(thing, name: str, into: list[float]) -> None:
    function = getattr(thing, name)

    def call(*args, **kwargs):
        begin = time.thread_time()
        result = function(*args, **kwargs)
        into.append(time.thread_time() - begin)
        return result

    setattr(thing, name, call)


def _sizes(emit: Emit, path: Path) -> None:
    """Bytes by group, images apart. Raw: the same numbers uncompressed, positions as three float32 a point."""
    stored: dict[str, int] = {}
    raw: dict[str, int] = {}
    with h5py.File(path) as file:

        def look(name: str, item) -> None:
            if isinstance(item, h5py.Dataset) and name.rsplit("/", 2)[-2] not in ("depth", "rgb", "image"):
                group = name.split("/")[0]
                stored[group] = stored.get(group, 0) + item.id.get_storage_size()
                raw[group] = raw.get(group, 0) + item.nbytes

        file.visititems(look)
        frames = int(file.attrs["num_frames"])
    for group in sorted(stored, key=lambda g: -stored[g])[:6]:
        emit(f"recording.{group}", stored[group] / frames, "B/frame")
        emit(f"recording.{group}.ratio", raw[group] / max(stored[group], 1))
    emit("recording.state_stream.ratio", sum(raw.values()) / sum(stored.values()))
    emit("recording.file", path.stat().st_size / frames, "B/frame")
