"""Who sits where: a device in a role, with a mapping of its own. Two hands, a camera and pedals may drive at once."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from app.device_calibration import Calibration
from app.profiles import changed_settings, device_key, legal_choice, legal_gain, profile_of, with_profile
from devices.contract import Command, Device, Sample, Status
from devices.mapping import Frames, require_rest, start_mapping, to_command
from devices.mapping_settings import MappingSettings

ROLES = {
    "right": "drives the tool in use",
    "left": "drives another tool of the scene",
    "camera": "moves the view",
    "pedal": "its buttons count for the others",
}
HELD_BESIDE = frozenset({"clutch", "fine", "press", "dispense"})  # verbs that count while another device holds them
OWN_VERBS = ("gain_up", "gain_down", "frame_next", "axis_lock", "grip_toggle")  # stay with the seat that pressed them
RATE_SPAN = 1.0  # [s] over which the rate of readings is counted


def parse_inputs(text: str) -> dict[str, str]:
    """Role -> device of `--input`: one device, or `right=xr,left=xr:left,pedal=gamepad`.

    Raises ValueError for an unknown role, a role twice, or none that drives the tool in use.
    """
    first = text.split("=", 1)[0]
    if "=" not in text or first not in ROLES:
        if "=" in text and first.isidentifier() and ":" not in first:
            raise ValueError(f"--input {text}: unknown role {first!r}; legal: {', '.join(ROLES)}")
        return {"right": text}
    roles: dict[str, str] = {}
    for part in text.split(","):
        role, equals, device = part.partition("=")
        if not equals or role not in ROLES or not device:
            raise ValueError(f"--input {part!r}; legal: ROLE=DEVICE joined by commas, roles: {', '.join(ROLES)}")
        if role in roles:
            raise ValueError(f"--input: {role} is given twice")
        roles[role] = device
    if "right" not in roles:
        raise ValueError(f"--input {text}: nobody drives the tool in use; add right=DEVICE")
    return roles


class Seat:
    """One device in its role.

    profiles: remembered choices by device, see `app.profiles`. A seat keeps its last sample, status and command.
    """

    def __init__(self, role: str, device: Device, profiles: dict[str, Any] | None = None):
        if role not in ROLES:
            raise ValueError(f"role {role!r}; legal: {', '.join(ROLES)}")
        self.role, self.device = role, device
        description = device.describe()
        self.key = device_key(description)
        self.scripted = hasattr(device, "set_simulated_time")
        self.advised = MappingSettings().with_advice(description.get("mapping", {}))
        self.settings = self.advised
        self.mapping = start_mapping(self.settings)
        self.sample, self.status = Sample(), device.status()
        self.command: Command | None = None
        self.testing = False  # what it says is shown, and drives nothing
        self.tested: tuple[str, ...] = ()  # verbs pressed while testing, newest last
        self.calibration: Calibration | None = None  # while one runs nothing is driven
        self._heard: deque[tuple[float, int]] = deque()
        if not self.scripted:
            self._remember(profile_of(profiles or {}, self.key))

    def _remember(self, profile: dict[str, Any]) -> None:
        self.settings = with_profile(self.advised, profile)
        self.mapping = start_mapping(self.settings)
        gain = legal_gain(profile, self.settings)
        frame, lock = legal_choice(profile, "frame"), legal_choice(profile, "axis_lock")
        self.mapping = replace(
            self.mapping,
            gain_index=self.mapping.gain_index if gain is None else gain,
            frame=frame or self.mapping.frame,
            axis_lock=lock or self.mapping.axis_lock,
        )

    def profile(self) -> dict[str, Any]:
        """What to remember of it."""
        m = self.mapping
        return {
            "gain_index": m.gain_index, "frame": m.frame, "axis_lock": m.axis_lock,
            "mapping": changed_settings(self.settings, self.advised),
        }  # fmt: skip

    def change(self, **settings: Any) -> None:
        """Other settings, from now on and without a jump: what is pushed must be let go first. Raises ValueError."""
        self.settings = self.settings.with_advice(settings)
        gains = len(self.settings.gains)
        self.mapping = require_rest(replace(self.mapping, gain_index=min(self.mapping.gain_index, gains - 1)))

    def poll(self, now: float) -> tuple[Sample, Status]:
        """One reading; while testing its presses are kept for the screen and not handed on."""
        sample, status = self.device.poll(now), self.device.status()
        self._heard.append((now, sample.sequence))
        while now - self._heard[0][0] > RATE_SPAN:
            self._heard.popleft()
        if self.calibration is not None:
            self.calibration = self.calibration.feed(sample.twist, now)
        if self.quiet and sample.pressed:
            self.tested = (*self.tested, *sample.pressed)[-8:]
            sample = replace(sample, pressed=(), released=())
        self.sample, self.status = sample, status
        return sample, status

    @property
    def rate(self) -> float:
        """[1/s] readings of the last second; 0 while nothing is known."""
        if len(self._heard) < 2 or self._heard[-1][0] <= self._heard[0][0]:
            return 0.0
        (since, first), (until, last) = self._heard[0], self._heard[-1]
        return max(last - first, 0) / (until - since)

    def to_command(self, sample: Sample, status: Status, **more: Any) -> Command:
        """The mapping stage. While testing the command is kept for the screen, and one that drives nothing returned."""
        self.command, self.mapping = to_command(sample, status, self.settings, self.mapping, **more)
        return Command(engaged=False) if self.quiet else self.command

    @property
    def quiet(self) -> bool:
        """Tested or calibrated: it drives nothing, and its buttons do nothing."""
        return self.testing or self.calibration is not None

    def hold_until_rest(self) -> None:
        if not self.scripted:
            self.mapping = require_rest(self.mapping)

    def brief(self) -> dict[str, Any]:
        """Of its last reading, for `Sample.raw` of the one that is recorded."""
        s = self.sample
        return {
            "device": self.device.name, "kind": s.kind.value, "valid": bool(s.valid), "twist": _plain(s.twist),
            "pose": _plain(s.pose), "gripper": float(s.gripper), "buttons": sorted(s.buttons),
            "pressed": list(s.pressed),
        }  # fmt: skip


def _plain(values: Any) -> list[float] | None:
    return None if values is None else [round(float(v), 6) for v in values]


def other_tool(tools: list, active: int) -> int | None:
    """The tool of the left hand: one called left, else the one after that in use; None when there is no other."""
    named = [i for i, tool in enumerate(tools) if "left" in tool.name.lower() and i != active]
    if named:
        return named[0]
    return (active + 1) % len(tools) if len(tools) > 1 else None


def frames_of(tool: np.ndarray, camera: np.ndarray | None) -> Frames:
    """tool, camera: world from each (3, 3), None = world."""
    return Frames(np.eye(3) if camera is None else camera, tool)
