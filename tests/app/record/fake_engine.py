"""A tiny deterministic engine, and Frames as the loop would make them. No physics package is imported."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from app.frame import Frame
from devices.contract import Command, Health, Sample, Status

DT = 1.0 / 30.0


@dataclass
class FakeControl:
    body_transform: np.ndarray
    joint_target: np.ndarray


@dataclass
class FakeReport:
    converged: bool = True
    newton_iterations: int = 3
    messages: tuple[str, ...] = ()
    stage_seconds: dict[str, float] = field(default_factory=lambda: {"contact": 0.01, "linear": 0.02})


@dataclass
class FakeSignals:
    contact_force: np.ndarray
    joint_force: np.ndarray


class FakeEngine:
    """Damped points pulled to the translation of the control; the state holds all that a restart needs."""

    def __init__(self, num_points: int = 40):
        angle = np.linspace(0.0, 6.0, num_points)
        self.x = np.stack([np.cos(angle), np.sin(angle), 0.1 * angle], axis=1)
        self.v = np.zeros_like(self.x)
        self.count = np.zeros(1, dtype=np.int64)
        self.drag = 0.9

    def get_state(self) -> dict[str, np.ndarray]:
        return {"x": self.x.copy(), "v": self.v.copy(), "step_index": self.count.copy()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self.x, self.v, self.count = (state[name].copy() for name in ("x", "v", "step_index"))

    def step(self, control: FakeControl) -> FakeReport:
        pull = control.body_transform[0, 0, :3, 3] - self.x
        self.v = self.drag * self.v + DT * np.sin(pull)
        self.x = self.x + DT * self.v
        self.count += 1
        return FakeReport()

    def positions(self) -> np.ndarray:
        return self.x.copy()


def control_at(index: int) -> FakeControl:
    transform = np.eye(4)[None, None].repeat(1, axis=0)
    transform[0, 0, :3, 3] = [np.sin(0.1 * index), 0.2, np.cos(0.07 * index) / 3.0]
    return FakeControl(transform, np.array([[0.01 * index]]))


def frame_at(engine: FakeEngine, index: int, **changes) -> Frame:
    """Step the engine and return the Frame of step `index` (1, 2, ...)."""
    control = control_at(index)
    report = engine.step(control)
    values = dict(
        index=index,
        stepped=True,
        time_sim=index * DT,
        time_wall=1.7e9 + index * 0.05,
        time_mono=100.0 + index * 0.05,
        dt=DT,
        sample=Sample(
            t_device=5.0 + index * 0.05,
            t_receive=99.99 + index * 0.05,
            sequence=index,
            twist=np.full(6, 0.1 * index),
            buttons=frozenset({"clutch", "record"}) if index % 2 else frozenset(),
            raw={"report": [1, 2, index]},
        ),
        status=Status(Health.OK),
        command=Command(twist=np.full(6, 0.01 * index), verbs=("grip_toggle",) if index == 3 else ()),
        control=control,
        report=report,
        signals=FakeSignals(np.full((1, len(engine.x), 3), 0.25 * index), np.array([[1.5 * index]])),
        points=engine.positions(),
        realtime_factor=0.66,
    )
    values.update(changes)
    return Frame(**values)


def record(recorder, engine: FakeEngine, num_frames: int, **start) -> str:
    """Record `num_frames` steps and wait until they are sealed. Returns the episode's name."""
    name = recorder.start(points=engine.positions(), **start)
    for index in range(1, num_frames + 1):
        assert recorder.write(frame_at(engine, index))
    recorder.stop()
    assert recorder.wait(30.0)
    return name
