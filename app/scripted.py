"""An operator that sees: it reads the last Frame and drives towards goals (`app.goals`), through the contract of a
device. A script of timed pushes (`devices.scripted`) plays blindly; this one closes the loop, so it also works when a
step is slow, the tool is held back, the gain differs or things start elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.goals import Goal, has_goals, load_goals
from devices.contract import Device, Feedback, Health, Kind, Sample, Status
from devices.keymap import KeyMap
from devices.mapping import MappingSettings
from devices.rotations import nearest_rotation, quat_from_matrix, vector_from_quat
from engine.asked import driven_bodies, driven_joints
from engine.types import mesh_pose
from scenes.motion import rotation_matrix

GO_BACK = {"rewind", "last_stage", "load_checkpoint", "reset"}  # verbs after which the goals before come again
SLOW_DOWN = 6.0  # [1/s] the push falls with what is left: v = SLOW_DOWN * distance, omega = SLOW_DOWN * angle


@dataclass
class Seen:
    """What the operator knows of the tool in hand after a step. pose (4, 4) world from tool; home (3, 3) its turn at
    the start; closure [0, 1]; force [N] of its drive; stages: of the task guide, name -> whether it holds."""

    tool: str
    pose: np.ndarray
    home: np.ndarray
    closure: float
    force: float
    stages: dict


class SeeingOperator:
    """Drives to goals. The loop calls `observe` after each step and `set_simulated_time` before each poll."""

    def __init__(self, goals: list[Goal], name: str = "goals"):
        self.name = f"script {name}"
        self._goals = goals
        settings = MappingSettings()
        self._linear_speed, self._angular_speed = settings.linear_speed, settings.angular_speed
        self.open()

    def open(self) -> Status:
        self._at = 0
        self._begun: float | None = None  # simulated time at which the goal in hand began
        self._from: np.ndarray | None = None  # where the tool was then
        self._seen: Seen | None = None
        self._bodies: dict[str, np.ndarray] = {}  # poses (4, 4) of the bodies that goals are told in
        self._time = 0.0
        self._sequence = 0
        self._been: list[tuple] = []  # of every poll its time, and what it began with, see `_memory`
        self._gone_back: set[int] = set()  # goals that asked to go back, which they do once
        return self.status()

    def close(self) -> None:
        """Nothing to give back."""

    @property
    def finished(self) -> bool:
        return self._at >= len(self._goals)

    def set_simulated_time(self, time_sim: float) -> None:
        """A clock that was set back takes the operator back to the goal it had then."""
        if time_sim < self._time - 1e-9:
            self._been = [been for been in self._been if been[0] < time_sim + 1e-9]
            self._seen = None  # what was seen last is taken back
            if self._been and self._been[-1][0] > time_sim - 1e-9:
                self._at, self._begun, self._from, self._seen, self._bodies = self._been.pop()[1]
        self._time = time_sim

    def observe(self, frame, scene, model) -> None:
        """Sees the last frame: the tool in hand, and the bodies that goals are told in. model: the engine's now.

        Raises ValueError for a goal that names a tool or body that the scene lacks.
        """
        if not scene.tools or frame.control is None:
            return
        self._check_names([tool.name for tool in scene.tools], list(model.bodies))
        extra = getattr(frame, "extra", None) or {}
        named = extra.get("active_tool", scene.tools[0].name)
        tool = next(tool for tool in scene.tools if tool.name == named)
        points = np.asarray(frame.points)
        self._bodies = {name: _pose(model.bodies[name], points) for name in {g.of for g in self._goals if g.of}}
        pose = _pose(model.bodies[tool.palm], points)
        force = 0.0
        driven = [body.name for body in driven_bodies(model)]
        if frame.signals is not None and tool.palm in driven:
            force = float(np.linalg.norm(frame.signals.drive_force[0, driven.index(tool.palm)]))
        stages = extra.get("guide", {}).get("stages", {})
        home = nearest_rotation(np.asarray(tool.home))
        self._seen = Seen(tool.name, pose, home, _closure(tool, frame, model, extra), force, stages)

    def poll(self, now: float) -> Sample:
        pressed: list[str] = []
        twist, gripper = np.zeros(6), 0.0
        self._been.append((self._time, self._memory()))
        while not self.finished:
            goal = self._goals[self._at]
            if goal.tool is not None and (self._seen is None or self._seen.tool != goal.tool):
                if self._seen is not None:
                    pressed.append("next_tool")
                break
            if self._begun is None:
                self._begun = self._time
                self._from = None if self._seen is None else self._seen.pose
                pressed += self._presses(goal)
            elif self._from is None and self._seen is not None:  # seen only after the first step
                self._from = self._seen.pose
            twist, gripper, reached = self._towards(goal)
            if not reached and self._time - self._begun < max(goal.within, goal.wait):
                break
            self._at, self._begun = self._at + 1, None
            twist, gripper = np.zeros(6), 0.0
        self._sequence += 1
        return Sample(
            kind=Kind.RATE, t_device=self._time, t_receive=now, sequence=self._sequence - 1, twist=twist,
            gripper=gripper, pressed=tuple(pressed), raw={"goal": self._at, "goals": len(self._goals)},
        )  # fmt: skip

    def _memory(self) -> tuple:
        """Goal, its begin, where the tool was then, and what is seen now: all that a poll goes by."""
        return self._at, self._begun, self._from, self._seen, self._bodies

    def _presses(self, goal: Goal) -> list[str]:
        back = GO_BACK & set(goal.press)
        if back and self._at in self._gone_back:
            return [verb for verb in goal.press if verb not in back]
        self._gone_back |= {self._at} if back else set()
        return list(goal.press)

    def _towards(self, goal: Goal) -> tuple[np.ndarray, float, bool]:
        """Push, grip rate and whether everything the goal asks is there."""
        twist, gripper = np.zeros(6), 0.0
        reached = self._time - self._begun >= goal.wait - 1e-9
        if goal.to or goal.by or goal.turn:
            if self._seen is None or self._from is None:
                return twist, gripper, False
            pulled = goal.force is not None and self._seen.force >= goal.force and self._time > self._begun
            if pulled or self._seen.stages.get(goal.stage, False):
                return twist, gripper, reached
            way, turn = self._left(goal)
            distance, angle = float(np.linalg.norm(way)), float(np.linalg.norm(turn))
            if distance > goal.tolerance:
                reached = False
                twist[:3] = way / distance * min(goal.speed, SLOW_DOWN * distance / self._linear_speed)
            if angle > np.radians(goal.angle_tolerance):
                reached = False
                twist[3:] = turn / angle * min(goal.speed, SLOW_DOWN * angle / self._angular_speed)
        if goal.grip is not None and (self._seen is None or abs(goal.grip - self._seen.closure) > 0.02):
            reached = False
            closure = 0.0 if self._seen is None else self._seen.closure
            gripper = float(np.clip(8.0 * (goal.grip - closure), -1.0, 1.0))
        return twist, gripper, reached

    def _left(self, goal: Goal) -> tuple[np.ndarray, np.ndarray]:
        """What is left of the way (3,) [m] and of the turn, as a rotation vector (3,) [rad]; both in the world."""
        frame = self._bodies[goal.of] if goal.of else np.eye(4)
        way, turn = np.zeros(3), np.zeros(3)
        if goal.to:
            way = frame[:3, :3] @ goal.to + frame[:3, 3] - self._seen.pose[:3, 3]
        elif goal.by:
            way = self._from[:3, 3] + frame[:3, :3] @ goal.by - self._seen.pose[:3, 3]
        if goal.turn:
            asked = nearest_rotation(frame) @ rotation_matrix(np.radians(goal.turn)) @ self._seen.home
            turn = vector_from_quat(quat_from_matrix(asked @ nearest_rotation(self._seen.pose).T))
        return way, turn

    def _check_names(self, tools: list[str], bodies: list[str]) -> None:
        for number, goal in enumerate(self._goals, 1):
            for key, legal in (("tool", tools), ("of", bodies)):
                name = getattr(goal, key)
                if name is not None and name not in legal:
                    raise ValueError(f"{self.name}: goal {number}: {key} = {name!r}; legal: {', '.join(legal)}")

    def status(self) -> Status:
        where = "finished" if self.finished else f"goal {self._at + 1} of {len(self._goals)}"
        return Status(Health.OK, where)

    def feedback(self, feedback: Feedback) -> None:
        """It sees the whole frame already."""

    def describe(self) -> dict[str, Any]:
        exact = {"deadband": 0.0, "expo": 0.0, "ramp_time": 0.0, "frame": "world"}
        return {"name": self.name, "kind": Kind.RATE.value, "mapping": exact}


def _pose(body, points: np.ndarray) -> np.ndarray:
    """World from the mesh frame of a body, (4, 4): what a tool's target is given in."""
    return mesh_pose(body, points[body.points : body.points + 4])


def _closure(tool, frame, model, extra) -> float:
    """How far the fingers are closed, 0 open to 1."""
    told = extra.get("tools", {}).get(tool.name)
    if told is not None and not tool.fingers:
        return float(told["closure"])
    if not tool.fingers:
        return 0.0
    driven = [joint.name for joint in driven_joints(model)]
    target = frame.control.joint_target[0, [driven.index(finger) for finger in tool.fingers]]
    span = tool.closed_position - tool.open_position
    return float(np.mean((target - tool.open_position) / span)) if span else 0.0


def open_input(spec: str, keymap: KeyMap | None = None) -> Device:
    """The device of an --input value. A script with `goals` gives an operator that sees, everything else the device
    that `devices.registry.open_device` gives.

    Raises:
        ValueError, FileNotFoundError: as those do.
    """
    from devices.registry import open_device

    kind, _, detail = spec.partition(":")
    if kind == "scripted" and detail:
        path = Path(detail)
        if not path.is_file():
            raise FileNotFoundError(f"--input {spec}: there is no file {path}")
        if path.suffix.lower() in (".yaml", ".yml") and has_goals(path):
            return SeeingOperator(load_goals(path), path.name)
    return open_device(spec, keymap)
