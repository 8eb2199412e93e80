"""An operator that sees: it reads the last Frame and drives towards goals, through the same contract as a device.

A script of timed pushes (`devices.scripted`) plays blindly; this one closes the loop, so it also works when a step is
slow, the tool is held back or the gain differs.

    goals:
      - {to: [0.0, 0.0, 0.1]}                 # [m] world: the tool's palm; reached within `tolerance`
      - {grip: 1.0}                           # closure in [0, 1]
      - {press: [record]}                     # verbs, once
      - {wait: 0.5}                           # [s] simulated
      - {to: [0.1, 0.0, 0.1], speed: 0.5, within: 4.0}   # share of a full push; give up after [s]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from devices.contract import VERBS, Device, Feedback, Health, Kind, Sample, Status
from devices.keymap import KeyMap
from devices.mapping import MappingSettings

_KEYS = ("to", "by", "tolerance", "speed", "grip", "press", "wait", "within")
SLOW_DOWN = 6.0  # [1/s] the push falls with the distance: v = SLOW_DOWN * distance


@dataclass(frozen=True)
class Goal:
    """One thing to reach before the next one."""

    to: tuple[float, float, float] | None = None  # [m] palm, world frame
    by: tuple[float, float, float] | None = None  # [m] from where the tool is when the goal begins
    tolerance: float = 2e-3  # [m]
    speed: float = 1.0  # share of a full push
    grip: float | None = None  # closure
    press: tuple[str, ...] = ()
    wait: float = 0.0  # [s] simulated
    within: float = 10.0  # [s] simulated; then it goes on with the next one


def load_goals(path: str | Path) -> list[Goal]:
    """Reads a file of goals. Raises ValueError naming the goal, the key and the legal values."""
    raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(raw, dict) or not isinstance(raw.get("goals"), list):
        raise ValueError(f"{path}: a script of goals is a mapping with a list `goals`")
    return [_goal(f"{path}: goal {number}", entry) for number, entry in enumerate(raw["goals"], 1)]


def _goal(place: str, entry: Any) -> Goal:
    if not isinstance(entry, dict) or not entry:
        raise ValueError(f"{place}: {entry!r} is not a mapping; legal keys: {', '.join(_KEYS)}")
    for key in entry:
        if key not in _KEYS:
            raise ValueError(f"{place}: unknown key {key!r}; legal: {', '.join(_KEYS)}")
    values: dict[str, Any] = {}
    for key in ("to", "by"):
        if key in entry:
            point = entry[key]
            if not (isinstance(point, list) and len(point) == 3 and all(isinstance(v, int | float) for v in point)):
                raise ValueError(f"{place}: {key} = {point!r}; legal: three numbers [m]")
            values[key] = tuple(map(float, point))
    for key, low, high in (
        ("tolerance", 1e-6, 1.0), ("speed", 1e-3, 1.0), ("grip", 0.0, 1.0), ("wait", 0.0, 1e4), ("within", 1e-3, 1e4)
    ):  # fmt: skip
        if key in entry:
            number = entry[key]
            if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
                raise ValueError(f"{place}: {key} = {number!r}; legal: a number from {low:g} to {high:g}")
            values[key] = float(number)
    press = entry.get("press", [])
    press = [press] if isinstance(press, str) else press
    for verb in press:
        if verb not in VERBS or verb == "pause":
            raise ValueError(f"{place}: press {verb!r}; legal: {', '.join(v for v in VERBS if v != 'pause')}")
    return Goal(**values, press=tuple(press))


class SeeingOperator:
    """Drives to goals. The loop calls `observe` after each step and `set_simulated_time` before each poll."""

    def __init__(self, goals: list[Goal], name: str = "goals"):
        self.name = f"script {name}"
        self._goals = goals
        self._speed = MappingSettings().linear_speed
        self.open()

    def open(self) -> Status:
        self._at = 0
        self._begun: float | None = None  # simulated time at which the goal in hand began
        self._target: np.ndarray | None = None
        self._palm: np.ndarray | None = None
        self._closure = 0.0
        self._time = 0.0
        self._sequence = 0
        return self.status()

    def close(self) -> None:
        """Nothing to give back."""

    @property
    def finished(self) -> bool:
        return self._at >= len(self._goals)

    def set_simulated_time(self, time_sim: float) -> None:
        self._time = time_sim

    def observe(self, frame, scene, model) -> None:
        """Sees the last frame: where the first tool's palm is and how far its fingers are closed. model: now."""
        if not scene.tools or frame.control is None:
            return
        tool = scene.tools[0]
        body = model.bodies[tool.palm]
        origin = np.asarray(frame.points)[body.points]
        columns = np.asarray(frame.points)[body.points + 1 : body.points + 4].T
        # the mesh frame's origin, which is what the tool's target is given in
        self._palm = origin + columns @ np.asarray(body.com_from_mesh)[:3, 3]
        told = getattr(frame, "extra", {}).get("tools", {}).get(tool.name)
        if told is not None and not tool.fingers:
            self._closure = float(told["closure"])
        if tool.fingers:
            driven = [name for name, joint in model.joints.items() if joint.drive is not None]
            target = frame.control.joint_target[0, [driven.index(f) for f in tool.fingers]]
            span = tool.closed_position - tool.open_position
            self._closure = float(np.mean((target - tool.open_position) / span)) if span else 0.0

    def poll(self, now: float) -> Sample:
        pressed: list[str] = []
        twist, gripper = np.zeros(6), 0.0
        while not self.finished:
            goal = self._goals[self._at]
            if self._begun is None:
                self._begun = self._time
                pressed += goal.press
                self._target = np.asarray(goal.to) if goal.to else None
            if goal.by and self._target is None and self._palm is not None:  # seen only after the first step
                self._target = self._palm + goal.by
            twist, gripper, reached = self._towards(goal)
            if not reached and self._time - self._begun < max(goal.within, goal.wait):
                break
            self._at, self._begun = self._at + 1, None
            twist, gripper = np.zeros(6), 0.0
        self._sequence += 1
        return Sample(
            kind=Kind.RATE, t_device=self._time, t_receive=now, sequence=self._sequence - 1, twist=twist,
            gripper=gripper, pressed=tuple(pressed), raw={"goal": self._at},
        )  # fmt: skip

    def _towards(self, goal: Goal) -> tuple[np.ndarray, float, bool]:
        """Push, grip rate and whether everything the goal asks is there."""
        twist, gripper = np.zeros(6), 0.0
        reached = self._time - self._begun >= goal.wait - 1e-9
        if goal.to or goal.by:
            if self._palm is None:
                return twist, gripper, False
            way = self._target - self._palm
            distance = float(np.linalg.norm(way))
            if distance > goal.tolerance:
                reached = False
                push = min(goal.speed, SLOW_DOWN * distance / self._speed)
                twist[:3] = way / distance * push
        if goal.grip is not None and abs(goal.grip - self._closure) > 0.02:
            reached = False
            gripper = float(np.clip(8.0 * (goal.grip - self._closure), -1.0, 1.0))
        return twist, gripper, reached

    def status(self) -> Status:
        where = "finished" if self.finished else f"goal {self._at + 1} of {len(self._goals)}"
        return Status(Health.OK, where)

    def feedback(self, feedback: Feedback) -> None:
        """It sees the whole frame already."""

    def describe(self) -> dict[str, Any]:
        exact = {"deadband": 0.0, "expo": 0.0, "ramp_time": 0.0, "frame": "world"}
        return {"name": self.name, "kind": Kind.RATE.value, "mapping": exact}


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
        if path.suffix.lower() in (".yaml", ".yml") and _has_goals(path):
            return SeeingOperator(load_goals(path), path.name)
    return open_device(spec, keymap)


def _has_goals(path: Path) -> bool:
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError:
        return False  # the reader of timed scripts names the line
    return isinstance(raw, dict) and "goals" in raw
