"""Devices by the name that `--input` takes, and what roles they may play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from devices import gamepad, hands, network, xr
from devices.contract import Device, Feedback, Health, Kind, Sample, Status
from devices.keyboard import Keyboard
from devices.keymap import KeyMap
from devices.scripted import Scripted
from devices.spacemouse import SpaceMouse
from devices.spacemouse_find import probe

AVAILABLE = {
    "keyboard": "keys of the window",
    "spacemouse": "3Dconnexion SpaceMouse; spacemouse:SERIAL or spacemouse:PATH when there are several",
    "gamepad": "game controller; gamepad:NAME or gamepad:2 when there are several",
    "xr": "VR controller through OpenXR, the right one; xr:left",
    "xr-hand": "tracked hand through OpenXR, the right one; xr-hand:left",
    "hands": "hand seen by a camera, the right one; hands:left",
    "network": "a tracker of your own that sends JSON lines; network:PORT, network:udp:PORT or network:HOST:PORT",
    "scripted:FILE": "a script of timed moves (.yaml, .json or .csv)",
    "none": "nobody drives",
}


class NoDevice:
    """Nobody drives: always at rest, always well."""

    name = "none"

    def open(self) -> Status:
        return self.status()

    def close(self) -> None:
        """Nothing to give back."""

    def poll(self, now: float) -> Sample:
        return Sample(t_receive=now)

    def status(self) -> Status:
        return Status(Health.OK, "no input device")

    def feedback(self, feedback: Feedback) -> None:
        """Nobody is there to feel it."""

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "kind": Kind.RATE.value}


@dataclass(frozen=True)
class DeviceEntry:
    """One line of `tacktile devices`."""

    name: str  # what --input takes
    status: Status
    description: str


# name -> (detail after the colon, key map) -> device. A name alone comes with the detail "".
_MAKERS: dict[str, Callable[[str, KeyMap | None], Device]] = {
    "keyboard": lambda detail, keymap: Keyboard(keymap),
    "spacemouse": lambda detail, keymap: SpaceMouse(detail or None, keymap),
    "gamepad": lambda detail, keymap: gamepad.Gamepad(detail or None, keymap),
    "xr": lambda detail, keymap: xr.XrController(detail or "right", keymap),
    "xr-hand": lambda detail, keymap: xr.XrHand(detail or "right"),
    "hands": lambda detail, keymap: hands.CameraHand(detail or "right"),
    "network": lambda detail, keymap: network.NetworkDevice(detail),
    "scripted": lambda detail, keymap: Scripted(detail),
    "none": lambda detail, keymap: NoDevice(),
}
_WITHOUT_DETAIL = ("keyboard", "none")


def open_device(spec: str, keymap: KeyMap | None = None) -> Device:
    """The opened device for an --input value.

    Hardware that is missing is no error: the device's `status()` says what to do, and it is taken up when it comes.
    Raises ValueError, listing what is available, for an unknown name; and what `load_script` raises for a bad script.
    """
    name, colon, detail = spec.partition(":")
    fits = bool(colon) == bool(detail) and not (detail and name in _WITHOUT_DETAIL)
    if name not in _MAKERS or not fits or (name == "scripted" and not detail):
        listing = "; ".join(f"{key} ({text})" for key, text in AVAILABLE.items())
        raise ValueError(f"unknown input device {spec!r}; available: {listing}")
    device = _MAKERS[name](detail, keymap)
    device.open()
    return device


def list_devices() -> list[DeviceEntry]:
    """Every device that could drive now, and for hardware that cannot, what is in the way."""
    entries = [DeviceEntry("keyboard", Status(Health.OK), AVAILABLE["keyboard"])]
    for kind, answers in (("spacemouse", probe()), ("gamepad", gamepad.probe())):
        for handle, status in answers:
            name = f"{kind}:{handle}" if len(answers) > 1 else kind
            entries.append(DeviceEntry(name, status, AVAILABLE[kind]))
    xr_status = xr.probe()
    entries += [DeviceEntry(kind, xr_status, AVAILABLE[kind]) for kind in ("xr", "xr-hand")]
    entries.append(DeviceEntry("hands", hands.probe(), AVAILABLE["hands"]))
    entries.append(DeviceEntry("network", network.probe(), AVAILABLE["network"]))
    entries.append(DeviceEntry("scripted:FILE", Status(Health.OK), AVAILABLE["scripted:FILE"]))
    entries.append(DeviceEntry("none", Status(Health.OK), AVAILABLE["none"]))
    return entries
