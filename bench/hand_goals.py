"""The goals of a seeing operator's script (`app.goals`), reached from outside the application: a hand that sees the
state log and pushes a real device, the keys of the window or the cap of a SpaceMouse."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from app.goals import Goal, load_goals
from devices.rotations import matrix_from_quat, nearest_rotation, quat_from_matrix, vector_from_quat
from scenes.motion import rotation_matrix

FINEST = 1e-3  # [m] no hand stops closer than this
FINEST_TURN = np.radians(1.5)
HARD = 20.0  # [N] a hand that does not get on against this much pushes no harder
PUSHED = 0.2  # [s] after which a push must have moved something
MOVED = 2e-4  # [m] in that time


@dataclass(frozen=True)
class Push:
    """What a hand wants, axis by axis in the world; 0 along an axis that is done.

    way: left to go, (3,) [m]; turn: left to turn, (3,) [rad]; speed: share of a full push at most; exact: a place that
    is meant to the millimetre."""

    way: np.ndarray
    turn: np.ndarray
    speed: float = 1.0
    exact: bool = False


REST = Push(np.zeros(3), np.zeros(3))


class Hand(Protocol):
    """What pushes. A push lasts until the next one."""

    def push(self, push: Push) -> None: ...
    def tap(self, verb: str) -> None: ...


class HandGoals:
    """Works through a script.

    Args:
        window: a `bench.keyed_window.KeyedWindow`. hand: what pushes. frames: body -> world from body (4, 4), of those
        that goals are told in. told: called with the name of each stage of the task as it is first reached.
    """

    def __init__(self, window, hand: Hand, frames: dict[str, np.ndarray], told: Callable[[str], None]):
        self.window, self.hand, self._frames, self._told = window, hand, frames, told
        self.stages: dict[str, float] = {}  # name -> simulated time
        self._home: dict[str, np.ndarray] = {
            name: matrix_from_quat(tool["quaternion"]) for name, tool in window.frames()[-1]["tools"].items()
        }
        self._seen: deque = deque()  # (time, where the tool was) of the last PUSHED seconds
        self._busy = np.zeros(6, bool)  # axes that are being pushed along
        self._since = np.zeros(3)  # [s] simulated, since when

    def play(self, script: Path, status: Callable[[str], None] = lambda text: None) -> None:
        """Every goal in turn. Raises RuntimeError when the application stands still."""
        goals = load_goals(script)
        for number, goal in enumerate(goals, 1):
            status(f"goal {number} of {len(goals)}, {self._now()['time']:.1f} s")
            self._reach(goal)

    def _reach(self, goal: Goal) -> None:
        while goal.tool is not None and self._now()["tool"] != goal.tool:
            before = self._now()["tool"]
            self.hand.tap("next_tool")
            self.window.until(lambda frame, was=before: frame["tool"] != was)
        for verb in goal.press:
            self.hand.tap(verb)
        frame = self._now()
        begun, start = frame["time"], np.array(self._tool(frame)["reached"])
        self._busy[:] = False
        self._seen.clear()
        pushed = False
        try:
            while frame["time"] - begun < max(goal.within, goal.wait):
                push = self._wanted(goal, frame, start)
                if push is None and frame["time"] - begun >= goal.wait - 1e-9:
                    break
                if push is not None:
                    self.hand.push(push)
                    pushed = True
                frame = self._next(frame)
        finally:
            if pushed:
                self.hand.push(REST)

    def _wanted(self, goal: Goal, frame: dict, start: np.ndarray) -> Push | None:
        """None when there is nothing left to push for."""
        tool = self._tool(frame)
        if goal.force is not None and tool.get("force", 0.0) >= goal.force and self._pushed(frame, start):
            return None
        if frame["task"].get(goal.stage or "", False):
            return None
        way, turn = self._left(goal, tool, start)
        finest = max(goal.tolerance, FINEST), max(np.radians(goal.angle_tolerance), FINEST_TURN)
        limit = np.repeat(np.array([finest[0] / np.sqrt(2.0), finest[1]]), 3)
        left = np.abs(np.concatenate([way, turn]))
        before = self._busy.copy()
        self._busy = left > np.where(self._busy, 0.6, 1.0) * limit  # a hand goes on well into the tolerance
        self._since[self._busy[:3] & ~before[:3]] = frame["time"]
        wanted = self._busy & ~np.append(self._blocked(goal, frame, way), [False] * 3)
        if not wanted.any():
            return None
        return Push(way * wanted[:3], turn * wanted[3:], goal.speed, goal.tolerance < 3.1e-3)

    def _blocked(self, goal: Goal, frame: dict, way: np.ndarray) -> np.ndarray:
        """Axes (3,) along which pushing harder does not help: the force is large, the ghost of the target is ahead,
        and nothing has moved for a while."""
        tool, now = self._tool(frame), frame["time"]
        reached = np.array(tool["reached"])
        self._seen.append((now, reached))
        while now - self._seen[0][0] > PUSHED + 1e-6:
            self._seen.popleft()
        if tool.get("force", 0.0) < max(HARD, 2.0 * (goal.force or 0.0)):
            return np.zeros(3, bool)
        ahead = (np.array(tool["target"]) - reached) * np.sign(way) > 1e-4
        still = np.abs(reached - self._seen[0][1]) < MOVED
        return ahead & still & (now - self._since > PUSHED)

    def _pushed(self, frame: dict, start: np.ndarray) -> bool:
        """Has the tool moved in this goal, so that its force is of this goal?"""
        return float(np.linalg.norm(np.array(self._tool(frame)["target"]) - start)) > FINEST

    def _left(self, goal: Goal, tool: dict, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Way (3,) [m] and turn, a rotation vector (3,) [rad], in the world."""
        body = self._frames[goal.of] if goal.of else np.eye(4)
        way, turn = np.zeros(3), np.zeros(3)
        if goal.to:
            way = body[:3, :3] @ goal.to + body[:3, 3] - tool["reached"]
        elif goal.by:
            way = start + body[:3, :3] @ goal.by - tool["reached"]
        if goal.turn:
            home = self._home[self._now()["tool"]]
            asked = nearest_rotation(body) @ rotation_matrix(np.radians(goal.turn)) @ home
            turn = vector_from_quat(quat_from_matrix(asked @ matrix_from_quat(tool["quaternion"]).T))
        return way, turn

    def _tool(self, frame: dict) -> dict:
        return frame["tools"][frame["tool"]]

    def _now(self) -> dict:
        return self.window.frames()[-1]

    def _next(self, frame: dict) -> dict:
        """The frame after this one; stages that it reached are told."""
        found = self.window.until(lambda f: f["time"] > frame["time"])
        for name, holds in found["task"].items():
            if holds and name not in self.stages:
                self.stages[name] = found["time"]
                self._told(name)
        return self._now() if self._now()["time"] > frame["time"] else found
