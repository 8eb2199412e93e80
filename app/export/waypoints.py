"""Actions as policies of paper T take them: waypoints at 30 Hz of simulated time, handed out in chunks.

A waypoint is the pose asked of every end effector (position, quaternion) and the target of every joint of the hands, in
the order and with the names of `Demonstration.action`. Where the steps of the episode do not meet the moments k / hz,
positions and joints are interpolated linearly and quaternions on the sphere (Shoemake 1985); where they do, nothing is
changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.export.demonstrations import Demonstration
from app.export.options import ExportError

HZ = 30.0
_PARTS = ("qx", "qy", "qz", "qw")


@dataclass(frozen=True, eq=False)
class Waypoints:
    """One motion at an even rate. m waypoints; action k is asked for between time[k] and time[k + 1].

    time (m,) [s] simulated, from 0; state (m, S): measured poses and joints at time[k]; action (m - 1, A): target at
    time[k + 1]; frame (m,): recorded frame at or before time[k], for images, forces and stages.
    """

    time: np.ndarray
    state: np.ndarray
    action: np.ndarray
    frame: np.ndarray
    state_names: list[str]
    action_names: list[str]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, eq=False)
class Chunk:
    """What a policy learns to say at one waypoint: start: its number k; time (N,) [s] at which each action is reached;
    action (N, A): the next N; valid (N,) bool: False behind the end of the motion, where the last one is repeated."""

    start: int
    time: np.ndarray
    action: np.ndarray
    valid: np.ndarray


def waypoints(demo: Demonstration, hz: float = HZ) -> Waypoints:
    """The motion of a demonstration at `hz` per second of simulated time.

    Raises ExportError: shorter than two waypoints, or `hz` not above 0; with `options.action` "command": rates have no
    waypoints.
    """
    if not 0.1 <= hz <= 1000.0:
        raise ExportError(f"hz is {hz:g}; legal: 0.1 to 1000 waypoints a second of simulated time")
    if demo.options.action != "target":
        raise ExportError("waypoints are targets; read the demonstration with ExportOptions(action='target')")
    known = demo.time
    count = int(np.floor(known[-1] * hz + 1e-6)) + 1
    if count < 2:
        raise ExportError(f"{demo.name} lasts {known[-1]:.3f} s, shorter than one waypoint at {hz:g} a second")
    time = np.arange(count) / hz
    action, action_names = demo.action
    state, state_names = demo.robot_state
    frame = demo.frames[np.searchsorted(known, time + 1e-9, side="right") - 1]
    return Waypoints(
        time, _between(known, state, state_names, time), _between(known[1:], action, action_names, time[1:]), frame,
        state_names, action_names,
    )  # fmt: skip


def chunks(points: Waypoints, length: int, stride: int = 1) -> Iterator[Chunk]:
    """The next `length` actions of every `stride`-th waypoint that has one. Raises ValueError: either is below 1."""
    for name, value in (("length", length), ("stride", stride)):
        if value < 1:
            raise ValueError(f"{name} is {value}; legal: 1 and more")
    last = len(points.action) - 1
    for start in range(0, len(points.action), stride):
        wanted = np.arange(start, start + length)
        step = points.time[1] - points.time[0]
        yield Chunk(start, (wanted + 1) * step, points.action[np.minimum(wanted, last)], wanted <= last)


def _between(known: np.ndarray, rows: np.ndarray, names: list[str], time: np.ndarray) -> np.ndarray:
    """Rows (n, D) given at times `known` (n,), at `time` (m,): linear, quaternions on the sphere; held at the ends."""
    time = np.clip(time, known[0], known[-1])
    after = np.clip(np.searchsorted(known, time - 1e-9), 1, max(len(known) - 1, 1)) if len(known) > 1 else None
    if after is None:
        return np.repeat(rows[:1], len(time), axis=0)
    share = ((time - known[after - 1]) / (known[after] - known[after - 1]))[:, None]
    share = np.where(np.abs(share) < 1e-6, 0.0, np.where(np.abs(share - 1.0) < 1e-6, 1.0, share))
    out = np.where(share == 1.0, rows[after], (1.0 - share) * rows[after - 1] + share * rows[after])
    for start in (k for k in range(len(names) - 3) if _is_quaternion(names[k : k + 4])):
        here = slice(start, start + 4)
        out[:, here] = _slerp(rows[after - 1, here], rows[after, here], share)
    return out


def _is_quaternion(names: list[str]) -> bool:
    return all(name.rsplit(".", 1)[-1] == part for name, part in zip(names, _PARTS, strict=True))


def _slerp(a: np.ndarray, b: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Unit quaternions (m, 4) on the shorter arc from a to b, exact at both ends."""
    cosine = np.sum(a * b, axis=1, keepdims=True)
    b = np.where(cosine < 0.0, -b, b)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    near = angle < 1e-6
    sine = np.where(near, 1.0, np.sin(angle))
    left = np.where(near, 1.0 - share, np.sin((1.0 - share) * angle) / sine)
    right = np.where(near, share, np.sin(share * angle) / sine)
    mixed = left * a + right * b
    return np.where(share == 0.0, a, np.where(share == 1.0, b, mixed))
