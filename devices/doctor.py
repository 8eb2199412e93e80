"""`tacktile devices doctor`: what is there, what is wrong, and the exact line that mends it, for every kind of device.

Each check asks one question of this machine and answers with a Finding. They change nothing, and none raises.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from devices import gamepad, hands, network, xr
from devices.contract import Health, Status
from devices.keymap import load_keymap
from devices.sdl_pads import SdlMissing, load_sdl, refused_nodes
from devices.spacemouse_find import LibraryMissing, load_driver, probe


@dataclass(frozen=True)
class Finding:
    """kind: of device; what: was looked at; status; fix: lines to type, "" when nothing is to be done."""

    kind: str
    what: str
    status: Status
    fix: str = ""

    @property
    def ok(self) -> bool:
        return self.status.ok


def split_fix(kind: str, what: str, status: Status) -> Finding:
    """A Finding whose message ends before its command lines: what follows the first line break, or `Install it:`."""
    text, fix = status.message, ""
    first, _, rest = text.partition("\n")
    if rest:
        text, fix = first, rest
    else:
        for mark in ("Install it: ", "Start it: "):
            before, found, after = text.partition(mark)
            if found:
                text, fix = before.strip(), after.strip()
                break
    return Finding(kind, what, Status(status.health, text.rstrip(": ")), fix)


def check_keyboard() -> Iterator[Finding]:
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not display:
        text = "no display (DISPLAY and WAYLAND_DISPLAY are empty): the window and its keys need one"
        yield Finding("keyboard", "window", Status(Health.NOT_FOUND, text), "ssh -X HOST, or run it at the screen")
    else:
        yield Finding("keyboard", "window", Status(Health.OK, "its keys work while the window has the focus"))
    folder = os.environ.get("TACKTILE_CONFIG_DIR") or os.path.join(
        os.environ.get("XDG_CONFIG_HOME", os.path.expanduser("~/.config")), "tacktile"
    )
    own = Path(folder) / "keymap.yaml"
    if own.is_file():
        try:
            load_keymap(own)
            yield Finding("keyboard", "your key map", Status(Health.OK, str(own)))
        except (ValueError, OSError) as error:
            yield Finding("keyboard", "your key map", Status(Health.NOT_FOUND, str(error)), f"edit {own}")


def check_spacemouse() -> Iterator[Finding]:
    try:
        load_driver()
        yield Finding("spacemouse", "library", Status(Health.OK, "pyspacemouse and hidapi load"))
    except LibraryMissing as error:
        yield split_fix("spacemouse", "library", Status(Health.NO_LIBRARY, str(error)))
        return
    for handle, status in probe():
        yield split_fix("spacemouse", handle or "device", status)
    if sys.platform.startswith("linux"):
        rules = [path for folder in ("/etc/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
                 for path in glob.glob(f"{folder}/*spacemouse*") + glob.glob(f"{folder}/*3dconnexion*")]  # fmt: skip
        text = f"udev rule: {rules[0]}" if rules else "no udev rule of its own (one is needed when a mouse says so)"
        yield Finding("spacemouse", "udev", Status(Health.OK, text))
        if os.path.exists("/var/run/spnav.sock"):
            text = "spacenavd runs; it may hold the mouse"
            yield Finding("spacemouse", "daemon", Status(Health.STALE, text), "sudo systemctl stop spacenavd")


def check_gamepad() -> Iterator[Finding]:
    try:
        version = load_sdl().dll.version  # 2.32.10 is 2329: major, minor, and at most 9 of the patch
        text = f"PySDL2 with SDL {version // 1000}.{version % 1000 // 10}"
        yield Finding("gamepad", "library", Status(Health.OK, text))
    except SdlMissing as error:
        yield split_fix("gamepad", "library", Status(Health.NO_LIBRARY, str(error)))
        return
    for name, status in gamepad.probe():
        yield split_fix("gamepad", name or "device", status)
    for node in refused_nodes():
        text = f"you may not read {node}"
        yield Finding("gamepad", "permission", Status(Health.NO_PERMISSION, text), gamepad.udev_lines())


def check_xr() -> Iterator[Finding]:
    if importlib.util.find_spec("xr") is None:
        text = "the package pyopenxr is missing"
        yield Finding("xr", "library", Status(Health.NO_LIBRARY, text), "pip install 'tacktile[xr]'")
        return
    yield Finding("xr", "library", Status(Health.OK, "pyopenxr is installed"))
    chosen = os.environ.get("XR_RUNTIME_JSON", "")
    if chosen and not os.path.isfile(chosen):
        text = f"XR_RUNTIME_JSON names {chosen}, which is not there"
        yield Finding("xr", "runtime", Status(Health.NOT_FOUND, text), "unset XR_RUNTIME_JSON")
    yield split_fix("xr", "runtime", xr.probe())


def check_hands() -> Iterator[Finding]:
    yield split_fix("hands", "camera process", hands.probe())


def check_network() -> Iterator[Finding]:
    status = network.probe()
    yield split_fix("network", "port", status)


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "keyboard": check_keyboard,
    "spacemouse": check_spacemouse,
    "gamepad": check_gamepad,
    "xr": check_xr,
    "hands": check_hands,
    "network": check_network,
}


def examine(kinds: tuple[str, ...] = ()) -> Iterator[Finding]:
    """All findings, or those of some kinds, as they come. A check that fails itself is a finding too.

    Raises ValueError for an unknown kind, naming the legal ones.
    """
    for kind in kinds:
        if kind not in CHECKS:
            raise ValueError(f"no device kind {kind!r}; legal: {', '.join(CHECKS)}")
    for kind in kinds or tuple(CHECKS):
        try:
            yield from CHECKS[kind]()
        except Exception as error:  # noqa: BLE001 - a driver that breaks is what a doctor is for
            text = f"looking failed: {type(error).__name__}: {error}"
            yield Finding(kind, "check", Status(Health.NOT_FOUND, text))


def machine() -> str:
    """One line on this machine, for a report of trouble: no names of host or user."""
    return f"{platform.system()} {platform.release()}, {platform.machine()}, Python {platform.python_version()}"
