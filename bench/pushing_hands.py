"""Hands for `bench.hand_goals`: the keys of the window, and the cap of a SpaceMouse by the bytes that it sends."""

from __future__ import annotations

import time

import numpy as np

from bench.hand_goals import Push
from bench.spacemouse_reports import BUTTON_MASKS, FULL, Cap
from devices.mapping import MappingSettings

NEAR = 0.012  # [m] from a place within which keys go gently
NEAR_TURN = np.radians(5.0)
SLOW_DOWN = 6.0  # [1/s] the push of a cap falls with what is left


class KeyHand:
    """The keys of the window, in the world frame."""

    MOVES = (("a", "d"), ("s", "w"), ("q", "e"), ("i", "k"), ("u", "o"), ("l", "j"))  # backwards, forwards along each
    TAPS = {"next_tool": "Tab", "record": "r", "frame_next": "f"}
    GAINS = MappingSettings().gains

    def __init__(self, window):
        self.window, self._held, self._gain = window, set(), MappingSettings().gain_start

    def push(self, push: Push) -> None:
        left = np.concatenate([push.way, push.turn])
        near = np.abs(left) < np.repeat([NEAR, NEAR_TURN], 3)
        if push.exact and (near & (left != 0.0)).any():  # first what is nearly there, gently, then on
            left = left * near
        wanted = {self.MOVES[axis][int(value > 0.0)] for axis, value in enumerate(left) if value}
        if wanted and near[left != 0.0].all():
            wanted.add("shift")
        for key in self._held - wanted:
            self.window.xdo("keyup", key)
        self._choose_gain(push.speed, bool(wanted))
        for key in sorted(wanted - self._held, key=lambda key: key != "shift"):
            self.window.xdo("keydown", key)
        self._held = wanted

    def _choose_gain(self, speed: float, moving: bool) -> None:
        gain = max(k for k, gain in enumerate(self.GAINS) if gain <= max(min(speed, 1.0), self.GAINS[0]) + 1e-9)
        while moving and self._gain != gain:
            self.window.press("minus" if gain < self._gain else "equal")
            self._gain += 1 if gain > self._gain else -1

    def tap(self, verb: str) -> None:
        self.window.press(self.TAPS[verb])
        time.sleep(0.1)


class CapHand:
    """The cap of a SpaceMouse Pro, in the world frame: pushed less as the place comes nearer."""

    def __init__(self, cap: Cap):
        self.cap, self._settings = cap, MappingSettings()

    def push(self, push: Push) -> None:
        speeds = (push.way, self._settings.linear_speed), (push.turn, self._settings.angular_speed)
        self.cap.push(np.concatenate([self._readings(left, full, push.speed) for left, full in speeds]) * FULL)

    def _readings(self, left: np.ndarray, full_speed: float, most: float) -> np.ndarray:
        """What the cap must read, (3,) in -1..1, to go towards what is left: deadband and curve of the mapping undone,
        as a practised hand does."""
        length = float(np.linalg.norm(left))
        if length == 0.0:
            return np.zeros(3)
        share = left / length * min(most, SLOW_DOWN * length / full_speed)
        curve = np.linspace(0.0, 1.0, 201)
        dead, expo = self._settings.deadband, self._settings.expo
        pushed = np.interp(np.abs(share), (1.0 - expo) * curve + expo * curve**3, curve)
        return np.sign(share) * np.where(pushed > 0.0, dead + (1.0 - dead) * pushed, 0.0)

    def tap(self, verb: str) -> None:
        self.cap.tap(BUTTON_MASKS[verb])
        time.sleep(0.1)
