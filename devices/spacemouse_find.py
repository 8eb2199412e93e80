"""Finding the right SpaceMouse and saying what stands in the way: every answer carries the line that mends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from devices.contract import Health, Status

MULTI_AXIS = (1, 8)  # HID usage page "generic desktop", usage "multi-axis controller"
_LIBRARY_FIX = {
    "linux": "sudo apt-get install -y libhidapi-hidraw0",
    "darwin": "brew install hidapi",
    "win32": "put hidapi.dll (x64) of https://github.com/libusb/hidapi/releases beside python.exe",
}
_PACKAGE_FIX = "pip install 'pyspacemouse>=2.1,<3'"


@dataclass(frozen=True)
class Found:
    """One interface of one supported device."""

    model: str
    path: str
    serial: str
    product: str
    vendor_id: int
    product_id: int
    usage: tuple[int, int]  # (0, 0): the library does not know
    entry: Any = field(default=None, compare=False)  # easyhid's own object


@dataclass
class Opened:
    status: Status
    mouse: Any = None
    tap: Any = None
    info: dict[str, Any] = field(default_factory=dict)


def load_driver() -> tuple[Any, Any]:
    """(pyspacemouse, easyhid). Raises LibraryMissing with the exact line that installs what is missing."""
    try:
        import easyhid
        import pyspacemouse
    except ImportError as error:
        raise LibraryMissing(f"the package pyspacemouse is missing ({error}). Install it: {_PACKAGE_FIX}") from error
    except (OSError, AttributeError) as error:
        raise LibraryMissing(_library_text(error)) from error
    return pyspacemouse, easyhid


class LibraryMissing(RuntimeError):
    """A package or system library that the SpaceMouse needs is not there."""


def _library_text(error: Exception) -> str:
    fix = _LIBRARY_FIX.get(sys.platform, _LIBRARY_FIX["linux"])
    return f"the system library hidapi is missing or broken ({error}). Install it: {fix}"


def enumerate_spacemice() -> list[Found]:
    """Every interface of every supported device, as the library lists them. Raises LibraryMissing."""
    pyspacemouse, easyhid = load_driver()
    models = {(s.vendor_id, s.product_id): name for name, s in pyspacemouse.get_device_specs().items()}
    try:
        entries = easyhid.Enumeration().find()
    except AttributeError as error:  # without the library easyhid may load, bound to nothing
        raise LibraryMissing(_library_text(error)) from error
    return [
        Found(
            model=models[(e.vendor_id, e.product_id)],
            path=e.path or "",
            serial=e.serial_number or "",
            product=e.product_string or models[(e.vendor_id, e.product_id)],
            vendor_id=e.vendor_id,
            product_id=e.product_id,
            usage=(e.usage_page, e.usage),
            entry=e,
        )
        for e in entries
        if (e.vendor_id, e.product_id) in models
    ]


def choose(found: Sequence[Found], wanted: str | None) -> tuple[Found | None, Status]:
    """The interface to open and a word on it: (None, why not) or (it, OK with a note when others were passed over).

    A receiver shows several interfaces under one name and all of them open; only the multi-axis one ever speaks of the
    cap. An interface of unknown usage (older libraries) is taken when no better one is there.
    """
    if not found:
        return None, Status(Health.NOT_FOUND, "no SpaceMouse is plugged in. Plug it in: it is found by itself.")
    usable = [f for f in found if f.usage == MULTI_AXIS] or [f for f in found if f.usage == (0, 0)]
    by_path = {f.path: f for f in reversed(usable)}  # one path is listed once per usage
    usable = sorted(by_path.values(), key=lambda f: f.path)
    if not usable:
        listed = ", ".join(f"{f.path} (usage {f.usage[0]}/{f.usage[1]})" for f in found)
        return None, Status(
            Health.NOT_FOUND,
            f"{found[0].product} shows only interfaces that do not carry the cap: {listed}; needed is usage 1/8. "
            "Switch the mouse on, pair it with its receiver, and plug the receiver in again.",
        )
    names = ", ".join(f"{f.product} (serial {f.serial or 'unknown'}, {f.path})" for f in usable)
    if wanted is not None:
        matches = [f for f in usable if wanted in (f.serial, f.path)]
        if not matches:
            return None, Status(Health.NOT_FOUND, f"no SpaceMouse with serial or path {wanted!r}. Plugged in: {names}.")
        return matches[0], Status(Health.OK)
    if len(usable) == 1:
        return usable[0], Status(Health.OK)
    first = usable[0]
    choices = " or ".join(f"--input spacemouse:{_handle(f, usable)}" for f in usable)
    return first, Status(Health.OK, f"{len(usable)} SpaceMice: {names}. Using {first.path}; to choose: {choices}")


def _handle(one: Found, among: Sequence[Found]) -> str:
    """The serial when it tells them apart, else the path."""
    return one.serial if one.serial and sum(f.serial == one.serial for f in among) == 1 else one.path


def open_spacemouse(wanted: str | None, tap_type: Callable[[Any], Any]) -> Opened:
    """Open the chosen device non-blocking, z up and right-handed. Raises nothing: the status says what is wrong."""
    try:
        found = enumerate_spacemice()
        pyspacemouse, _ = load_driver()
    except LibraryMissing as error:
        return Opened(Status(Health.NO_LIBRARY, str(error)))
    except Exception as error:
        return Opened(Status(Health.NOT_FOUND, f"looking for a SpaceMouse failed: {error}"))
    one, status = choose(found, wanted)
    if one is None:
        return Opened(status)
    spec = pyspacemouse.get_device_specs()[one.model]
    spec = pyspacemouse.apply_axis_convention(spec, pyspacemouse.AxisConvention.HID_Z_UP)
    tap = tap_type(one.entry)
    mouse = pyspacemouse.SpaceMouseDevice(info=spec, device=tap)
    try:
        mouse.open()
        tap.set_nonblocking(True)
    except Exception as error:
        return Opened(refusal(one, error))
    info = {
        "model": one.model,
        "product": one.product,
        "serial": one.serial,
        "path": one.path,
        "usb_id": f"{one.vendor_id:04x}:{one.product_id:04x}",
        "button_names": list(spec.button_names),
    }
    return Opened(status, mouse, tap, info)


def probe() -> list[tuple[str, Status]]:
    """(serial or path, status) of each SpaceMouse plugged in, without holding it open; one nameless entry when there
    is none or the library is missing."""
    try:
        found = enumerate_spacemice()
    except LibraryMissing as error:
        return [("", Status(Health.NO_LIBRARY, str(error)))]
    chosen, status = choose(found, None)
    if chosen is None:
        return [("", status)]
    paths = sorted({f.path for f in found if f.usage == chosen.usage})
    answers = []
    for one in (choose(found, path)[0] for path in paths):
        text = f"{one.product}, {one.path}, serial {one.serial or 'unknown'}"
        allowed = not os.path.exists(one.path) or os.access(one.path, os.R_OK | os.W_OK)
        answer = Status(Health.OK, text) if allowed else refusal(one, PermissionError("no permission"))
        answers.append((one.serial or one.path, answer))
    return answers


def refusal(one: Found, error: Exception) -> Status:
    """Why a device that is listed does not open."""
    try:
        os.close(os.open(one.path, os.O_RDWR))
    except PermissionError:
        return Status(Health.NO_PERMISSION, permission_text(one))
    except FileNotFoundError:
        return Status(
            Health.NOT_FOUND,
            f"{one.product} is listed as {one.path}, but that node is not there. In a container, start it with "
            f"--device={one.path}; else plug the mouse in again.",
        )
    except OSError as other:
        error = other
    return Status(
        Health.NOT_FOUND,
        f"{one.product} at {one.path} cannot be opened ({error}). Another program may hold it "
        "(spacenavd: sudo systemctl stop spacenavd); else plug it in again.",
    )


def udev_rule(one: Found) -> str:
    """One rule for exactly this device, on USB and Bluetooth alike (KERNELS names the HID parent of the node)."""
    return f'KERNEL=="hidraw*", KERNELS=="*:{one.vendor_id:04X}:{one.product_id:04X}.*", MODE="0660", TAG+="uaccess"'


def permission_text(one: Found) -> str:
    return (
        f"you may not read {one.product} at {one.path}. Give the logged-in user access, then plug it in again:\n"
        f"echo '{udev_rule(one)}' | sudo tee /etc/udev/rules.d/70-tacktile-spacemouse.rules\n"
        "sudo udevadm control --reload-rules && sudo udevadm trigger"
    )


def layout_seen(info: Any, report: bytes) -> Any:
    """The device info that fits what the hardware sends, or None when the present one does.

    Two layouts are in the field: translation and rotation in one report of 13 bytes (id 1), or in two of 7 bytes
    (ids 1 and 2). The table behind pyspacemouse knows one per product id; firmware revisions differ. A report with id
    2, or data beyond byte 6 of report 1, tells which it is.
    """
    rotation = ("roll", "pitch", "yaw")
    split = info.mappings["roll"].channel == 2
    if not split and report[:1] == b"\x02":
        channel, shift = 2, -6
    elif split and report[:1] == b"\x01" and any(report[7:13]):
        channel, shift = 1, 6
    else:
        return None
    mappings = dict(info.mappings)
    for axis in rotation:
        spec = mappings[axis]
        mappings[axis] = replace(spec, channel=channel, byte1=spec.byte1 + shift, byte2=spec.byte2 + shift)
    return replace(info, mappings=mappings)
