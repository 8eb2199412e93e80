"""The goals of a seeing operator's script (`app.goals`), reached from outside the application: a hand that sees the
state log and pushes a real device, the keys of the window or the cap of a SpaceMouse."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from app.goals import Goal, load_goals
from devices.rotations import matrix_from_quat, nearest_rotation, quat_from_matrix, vector_from_quat
from scenes.motion import rotation_matrix

NEAR = 0.012  # [m] from a place within which the hand goes gently
NEAR_TURN = np.radians(5.0)
FINEST = 1e-3  # [m] no hand stops closer than this
FINEST_TURN = np.radians(1.5)


class Hand(Protocol):
    """What pushes. `push`: shares of a full push along x y z and about them, each -1, 0 or 1, and how fast: a speed of
    `app.goals` and whether gently; it stays so until the next one."""

    def push(self, signs: tuple[int, ...], speed: float, gently: bool) -> None: ...
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
        last: tuple | None = None
        try:
            while frame["time"] - begun < max(goal.within, goal.wait):
                push = self._wanted(goal, frame, start)
                if push is None and frame["time"] - begun >= goal.wait - 1e-9:
                    break
                if push != last and push is not None:
                    self.hand.push(*push)
                    last = push
                frame = self._next(frame)
        finally:
            if last is not None:
                self.hand.push((0,) * 6, goal.speed, False)

    def _wanted(self, goal: Goal, frame: dict, start: np.ndarray) -> tuple | None:
        """(signs, speed, gently), None when there is nothing left to push for."""
        tool = self._tool(frame)
        if goal.force is not None and tool.get("force", 0.0) >= goal.force and self._pushed(frame, start):
            return None
        if frame["task"].get(goal.stage or "", False):
            return None
        way, turn = self._left(goal, tool, start)
        finest = max(goal.tolerance, FINEST), max(np.radians(goal.angle_tolerance), FINEST_TURN)
        left = np.concatenate([way, turn])
        limit = np.repeat(np.array([finest[0] / np.sqrt(2.0), finest[1]]), 3)
        signs = tuple(int(s) for s in np.where(np.abs(left) > limit, np.sign(left), 0.0))
        if not any(signs):
            return None
        gently = bool(np.abs(way).max() < NEAR and np.abs(turn).max() < NEAR_TURN)
        return signs, goal.speed, gently

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


class KeyHand:
    """The keys of the window, in the world frame."""

    MOVES = (("a", "d"), ("s", "w"), ("q", "e"), ("i", "k"), ("u", "o"), ("l", "j"))  # backwards, forwards along each
    TAPS = {"next_tool": "Tab", "record": "r"}
    GAINS = (0.1, 0.25, 0.5, 1.0, 2.0)

    def __init__(self, window):
        self.window, self._held, self._gain = window, set(), 3

    def push(self, signs: tuple[int, ...], speed: float, gently: bool) -> None:
        wanted = {self.MOVES[axis][sign > 0] for axis, sign in enumerate(signs) if sign}
        gain = max(k for k, gain in enumerate(self.GAINS[:4]) if gain <= max(speed, 0.1) + 1e-9)
        if gently:
            wanted.add("shift")
        for key in self._held - wanted:
            self.window.xdo("keyup", key)
        while wanted and self._gain != gain:
            self.window.press("minus" if gain < self._gain else "equal")
            self._gain += 1 if gain > self._gain else -1
        for key in sorted(wanted - self._held, key=lambda key: key != "shift"):
            self.window.xdo("keydown", key)
        self._held = wanted

    def tap(self, verb: str) -> None:
        self.window.press(self.TAPS[verb])
        time.sleep(0.1)
