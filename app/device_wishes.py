"""What the device screen asks for, between steps: other input, other settings, a test, a calibration.

Part of `FrameLoop`, as `app.wishes` is.
"""

from __future__ import annotations

from typing import Any

from app.device_calibration import Calibration
from app.device_list import DeviceList
from app.device_report import inverted, seat_report, swapped
from app.profiles import KEPT
from app.seats import ROLES, Seat


class DeviceWishes:
    """Mixin of `app.loop.FrameLoop`: `_do_VERB(value)` carries out `Request(VERB, value)`. value["role"]: which seat,
    "right" when it is not said."""

    _device_list: DeviceList | None = None

    def _seat_of(self, value: Any) -> Seat:
        role = value.get("role", "right") if isinstance(value, dict) else "right"
        if role not in self.operator.seats:
            raise ValueError(f"nobody sits at {role!r}; taken: {', '.join(self.operator.seats)}")
        return self.operator.seats[role]

    def _do_device_list(self, value) -> None:
        """Look for devices."""
        self._device_list = self._device_list or DeviceList()
        self._device_list.refresh()

    def _do_device_test(self, value) -> None:
        """Test without moving the robot: on, off, or the other one."""
        seat = self._seat_of(value)
        wanted = value.get("on") if isinstance(value, dict) else None
        seat.testing = (not seat.testing) if wanted is None else bool(wanted)
        seat.tested = ()
        seat.hold_until_rest()
        self._say(f"{seat.device.name}: {'test, the robot does not move' if seat.testing else 'drives again'}")

    def _do_device_setting(self, value) -> None:
        """{"role", "name", "value"}: one of `app.profiles.KEPT`."""
        if value["name"] not in KEPT:
            raise ValueError(f"device setting {value['name']!r}; legal: {', '.join(KEPT)}")
        self._seat_of(value).change(**{value["name"]: value["value"]})

    def _do_device_axis(self, value) -> None:
        """{"role", "axis", "what"}: "invert" or "swap"."""
        seat = self._seat_of(value)
        change = {"invert": inverted, "swap": swapped}[value["what"]]
        seat.change(axes=change(seat.settings.axes, int(value["axis"])))

    def _do_device_reset(self, value) -> None:
        """All settings of the device as it advises them."""
        seat = self._seat_of(value)
        seat.change(**{name: getattr(seat.advised, name) for name in KEPT})
        self._say(f"{seat.device.name}: settings as they were made")

    def _do_device_calibrate(self, value) -> None:
        """{"role", "step"}: "start", "done", "cancel". While it runs the robot does not move."""
        seat, step = self._seat_of(value), value.get("step", "start")
        if step == "start":
            seat.calibration = Calibration()
            return
        found = seat.calibration.result() if seat.calibration is not None and step == "done" else None
        seat.calibration = None
        seat.hold_until_rest()
        if found is not None:
            seat.change(centre=found[0], span=found[1])
            self._say(f"{seat.device.name} is calibrated")

    def _do_seat_input(self, value) -> None:
        """{"role", "input"}: a device for a role; input None frees it."""
        role, spec = value["role"], value["input"]
        if role not in ROLES:
            raise ValueError(f"role {role!r}; legal: {', '.join(ROLES)}")
        if role == "right":
            self._do_use_input(spec)
            return
        if self.wiring.open_device is None:
            raise RuntimeError("this run cannot change its input")
        old = self.operator.free(role)
        if old is not None and old is not self.operator.keyboard:
            old.close()
        if spec:
            keyboard = self.operator.keyboard if spec == "keyboard" else None
            self.operator.sit(role, keyboard or self.wiring.open_device(str(spec)))
        self._say(f"{role}: {self.operator.seats[role].device.name if spec else 'nobody'}")

    def device_info(self, now: float) -> dict[str, Any]:
        """For the device screen: seats, and the devices that could drive."""
        listed = self._device_list
        return {
            "seats": [seat_report(seat, now) for seat in self.operator.seats.values()],
            "listed": listed.entries if listed is not None else [],
            "searching": listed.searching if listed is not None else False,
        }
