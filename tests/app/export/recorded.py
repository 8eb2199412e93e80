"""Episodes as a slow simulation with a tool and a pad would record them, without an engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.record import Recorder, RecorderSettings
from tests.app.record.fake_engine import DT, FakeEngine, frame_at

SLOWNESS = 1.0 / 0.3  # wall time over simulated time
LAYOUT = {
    "driven": ["hand"], "joints": ["left"], "meshes": {"strip": [0, 40, "shell"]}, "pads": {"pad": "gel"},
    "tools": [{"name": "gripper", "palm": "hand", "fingers": ["left"], "open_position": 0.0, "closed_position": 0.01}],
}  # fmt: skip


def rotation_about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def pose_after(index: int) -> np.ndarray:
    """Measured pose of the tool after step `index`: turns by 0.2 rad a step, so its quaternion changes sign."""
    angle = 0.2 * index
    return np.array([0.01 * index, 0.0, 0.1, 0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)])


def slow_frame(engine: FakeEngine, index: int, **changes):
    """Frame of step `index` of a run at 0.3 of real time."""
    frame = frame_at(engine, index)
    control = frame.control
    control.body_transform[0, 0, :3, :3] = rotation_about_z(0.2 * index)
    image = np.zeros((5, 7))
    image[index % 5, index % 7] = 1e-3
    values = dict(
        time_wall=1.7e9 + index * DT * SLOWNESS,
        time_mono=100.0 + index * DT * SLOWNESS,
        realtime_factor=1.0 / SLOWNESS,
        extra={
            "tools": {"gripper": {"pose": pose_after(index), "closure": 0.01 * index}},
            "tactile": {"pad": {"depth": image, "force": np.array([0.0, 0.0, float(index)])}},
            "tape": {"rolls": {"roll": {"payout": 0.001 * index}}},
        },
    )
    values.update(changes)
    for name, value in values.items():
        object.__setattr__(frame, name, value)
    return frame


def make_recorder(folder: Path, engine: FakeEngine, scene: str = "strip", layout=LAYOUT, **settings) -> Recorder:
    return Recorder(
        folder, scene, "a: 1\n", versions={"tacktile": "0.1.0"}, get_state=engine.get_state, layout=layout,
        settings=RecorderSettings(min_free_bytes=0, **settings),
    )  # fmt: skip


def record_slow(folder: Path, num_frames: int, label: str | None = None, instruction: str = "") -> Path:
    """One more episode in a folder; returns its path."""
    engine = FakeEngine()
    recorder = make_recorder(folder, engine)
    name = recorder.start(engine.positions(), instruction=instruction)
    for index in range(1, num_frames + 1):
        assert recorder.write(slow_frame(engine, index))
    recorder.stop(label)
    assert recorder.wait(30.0)
    recorder.close()
    return folder / f"{name}.h5"
