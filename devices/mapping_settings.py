"""The settings of the mapping stage: what an operator may choose, device by device, and what is legal."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

FRAMES = ("world", "camera", "tool")
AXIS_LOCKS = ("none", "translation", "rotation")  # the one named is what still moves; "none" locks nothing
TIME_BASES = ("simulated", "wall")
CLUTCH_MODES = ("hold_out", "hold_in", "toggle")
AXIS_NAMES = ("x", "y", "z", "rx", "ry", "rz")
GRIPPER_MODES = ("proportional", "switch")


@dataclass(frozen=True)
class MappingSettings:
    """How a hand's push becomes a motion. Raises ValueError naming the field, its value and the legal ones."""

    linear_speed: float = 0.15  # [m/s] of a full push at gain 1
    angular_speed: float = 1.0  # [rad/s]
    gripper_speed: float = 1.0  # [1/s] closure per second of a full push
    deadband: float = 0.05  # [-] of the axis range; the rest is stretched so that motion starts from zero
    expo: float = 0.3  # [-] 0 straight, 1 cubic; a full push stays a full push
    gains: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0)  # [-] from fine to coarse, rising
    gain_start: int = 3  # index into gains
    fine_factor: float = 0.2  # [-] on top of the gain while the verb "fine" is held
    axes: tuple[str, ...] = AXIS_NAMES  # output x y z rx ry rz is taken from this device axis; "-y" turns it round
    centre: tuple[float, ...] = (0.0,) * 6  # [-] calibration: what each device axis reads at rest
    span: tuple[float, ...] = (1.0,) * 6  # [-] calibration: how far it reads from there at a full push
    frame: str = "world"
    clutch_mode: str = "hold_out"  # held: out; "hold_in": held to drive (dead man); "toggle": press to change
    time_basis: str = "simulated"  # "wall": a push moves with the wall clock, also when the simulation is slow
    wall_ratio_limit: float = 4.0  # [-] at most this many times dt in one step with time_basis "wall"
    stale_after: float = 0.5  # [s] a reading older than this does not drive
    ramp_time: float = 0.1  # [s, simulated] a push grows to its full value after engaging, 0 = at once
    rest_time: float = 0.1  # [s, wall] after a reconnect the device must have been at rest this long
    pose_scale: float = 1.0  # [-] motion of the tool per motion of the hand, times the gain
    pose_linear_limit: float = 0.5  # [m/s] how fast a pose device is followed
    pose_angular_limit: float = 3.0  # [rad/s]
    pose_lag_limit: float = 0.1  # [m] and [rad]: motion that lags further behind than this is forgotten
    pose_hand_speed: float = 6.0  # [m/s]; a reading further away than a hand moves is a new place, not a motion
    pose_hand_turn: float = 40.0  # [rad/s]
    press_speed: float = 0.02  # [m/s] along the tool's -z while "press" is held, at gain 1
    dispense_speed: float = 0.05  # [m/s] along the tool's +z while "dispense" is held, at gain 1
    gripper_mode: str = "proportional"  # of an absolute gripper; "switch": open or closed, with hysteresis
    gripper_close_at: float = 0.65  # [-] closure of the hand above which a switch closes
    gripper_open_at: float = 0.35  # [-] and below which it opens
    gripper_takeover: float = 0.08  # [-] after an interruption the hand must come this near to the gripper first

    def __post_init__(self):
        for name in (
            "linear_speed",
            "angular_speed",
            "gripper_speed",
            "fine_factor",
            "stale_after",
            "pose_scale",
            "pose_linear_limit",
            "pose_angular_limit",
            "pose_lag_limit",
            "wall_ratio_limit",
            "pose_hand_speed",
            "pose_hand_turn",
            "press_speed",
            "dispense_speed",
        ):
            _check(name, getattr(self, name), _finite(getattr(self, name)) and getattr(self, name) > 0.0, "above 0")
        for name in ("ramp_time", "rest_time"):
            _check(name, getattr(self, name), _finite(getattr(self, name)) and getattr(self, name) >= 0.0, "0 or above")
        _check("deadband", self.deadband, 0.0 <= self.deadband < 1.0, "in [0, 1)")
        _check("expo", self.expo, 0.0 <= self.expo <= 1.0, "in [0, 1]")
        rising = all(a < b for a, b in zip(self.gains, self.gains[1:], strict=False))
        _check("gains", self.gains, len(self.gains) > 0 and self.gains[0] > 0.0 and rising, "above 0 and rising")
        _check("gain_start", self.gain_start, 0 <= self.gain_start < len(self.gains), f"0 to {len(self.gains) - 1}")
        for name, legal in (
            ("frame", FRAMES),
            ("clutch_mode", CLUTCH_MODES),
            ("time_basis", TIME_BASES),
            ("gripper_mode", GRIPPER_MODES),
        ):
            _check(name, getattr(self, name), getattr(self, name) in legal, ", ".join(legal))
        legal_axes = [sign + axis for sign in ("", "+", "-") for axis in AXIS_NAMES]
        good = len(self.axes) == 6 and all(axis in legal_axes for axis in self.axes)
        _check("axes", self.axes, good, "six of " + ", ".join(AXIS_NAMES) + ", each with an optional sign")
        self._check_calibration()
        ordered = 0.0 < self.gripper_open_at < self.gripper_close_at < 1.0
        _check("gripper_open_at", self.gripper_open_at, ordered, "above 0, below gripper_close_at, which is below 1")
        _check("gripper_takeover", self.gripper_takeover, 0.0 < self.gripper_takeover <= 1.0, "in (0, 1]")

    def _check_calibration(self) -> None:
        centred = len(self.centre) == 6 and all(-0.9 <= value <= 0.9 for value in self.centre)
        _check("centre", self.centre, centred, "six numbers in [-0.9, 0.9]")
        spanned = len(self.span) == 6 and all(0.1 <= value <= 2.0 for value in self.span)
        _check("span", self.span, spanned, "six numbers in [0.1, 2]")

    def with_advice(self, advice: dict) -> MappingSettings:
        """These settings with what a device recommends (`describe()["mapping"]`) put in. Raises ValueError."""
        legal = [f.name for f in fields(self)]
        for name in advice:
            _check("mapping setting", name, name in legal, ", ".join(legal))
        return replace(self, **advice)


def _finite(value: float) -> bool:
    return bool(np.isfinite(value))


def _check(name: str, value: object, good: bool, legal: str) -> None:
    if not good:
        raise ValueError(f"MappingSettings.{name} = {value!r}; legal: {legal}")
