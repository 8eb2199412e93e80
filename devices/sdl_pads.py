"""Game controllers as SDL2 sees them: one event queue for the process, handed out pad by pad.

SDL's controller layer knows some hundreds of models and gives all of them the same buttons and axes. Only its
controller part is started: no video, no sound, no window. The package PySDL2 calls it through ctypes, which lets the
interpreter go meanwhile.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from dataclasses import dataclass, field
from typing import Any

_FIX = "pip install 'tacktile[gamepad]'"
AXES = ("LEFTX", "LEFTY", "RIGHTX", "RIGHTY", "TRIGGERLEFT", "TRIGGERRIGHT")
BUTTONS = {
    "A": "A", "B": "B", "X": "X", "Y": "Y", "BACK": "BACK", "GUIDE": "GUIDE", "START": "START",
    "LEFTSTICK": "LEFT_STICK", "RIGHTSTICK": "RIGHT_STICK", "LEFTSHOULDER": "LEFT_SHOULDER",
    "RIGHTSHOULDER": "RIGHT_SHOULDER", "DPAD_UP": "DPAD_UP", "DPAD_DOWN": "DPAD_DOWN", "DPAD_LEFT": "DPAD_LEFT",
    "DPAD_RIGHT": "DPAD_RIGHT", "MISC1": "MISC1", "PADDLE1": "PADDLE1", "PADDLE2": "PADDLE2", "PADDLE3": "PADDLE3",
    "PADDLE4": "PADDLE4", "TOUCHPAD": "TOUCHPAD",
}  # fmt: skip


class SdlMissing(RuntimeError):
    """PySDL2 or the SDL2 library is not there; the text carries the line that installs it."""


@dataclass
class Pad:
    """One plugged-in controller. `held`: names of buttons; `axes`: raw, sticks +-32767, triggers 0 to 32767."""

    name: str
    serial: str
    path: str
    instance: int
    handle: Any = field(default=None, repr=False)
    axes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AXES, 0))
    events: list[tuple[str, str, int]] = field(default_factory=list)  # ("button"|"axis", name, value), oldest first
    attached: bool = True

    def take(self) -> list[tuple[str, str, int]]:
        events, self.events = self.events, []
        return events


class SdlPads:
    """All pads of the process. `start` and `stop` count their callers; every method takes the lock."""

    def __init__(self):
        self.lock = threading.RLock()
        self.pads: dict[int, Pad] = {}  # by SDL's instance id
        self.unmapped: list[str] = []  # joysticks that SDL has no controller layout for
        self._sdl: Any = None
        self._users = 0

    def start(self) -> None:
        """Raises SdlMissing."""
        with self.lock:
            if self._users == 0:
                self._sdl = load_sdl()
                sdl = self._sdl
                sdl.SDL_SetHint(b"SDL_NO_SIGNAL_HANDLERS", b"1")
                sdl.SDL_SetHint(b"SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", b"1")  # there is no window of SDL's
                if sdl.SDL_InitSubSystem(sdl.SDL_INIT_GAMECONTROLLER) != 0:
                    text = (sdl.SDL_GetError() or b"").decode(errors="replace")
                    raise SdlMissing(f"SDL2 could not start its controllers ({text}). Reinstall it: {_FIX}")
                self._buttons = {getattr(sdl, f"SDL_CONTROLLER_BUTTON_{k}"): v for k, v in BUTTONS.items()}
                self._axes = {getattr(sdl, f"SDL_CONTROLLER_AXIS_{k}"): k for k in AXES}
            self._users += 1
            self._open_new()

    def stop(self) -> None:
        with self.lock:
            if self._users == 0:
                return
            self._users -= 1
            if self._users == 0:
                for pad in self.pads.values():
                    self._sdl.SDL_GameControllerClose(pad.handle)
                    pad.attached = False
                self.pads.clear()
                self._sdl.SDL_QuitSubSystem(self._sdl.SDL_INIT_GAMECONTROLLER)

    def pump(self) -> None:
        """Takes what the system has to say of all pads and puts it into their queues."""
        with self.lock:
            if self._users == 0:
                return
            sdl, event = self._sdl, self._sdl.SDL_Event()
            changed = False
            while sdl.SDL_PollEvent(event):
                kind = event.type
                if kind in (sdl.SDL_CONTROLLERBUTTONDOWN, sdl.SDL_CONTROLLERBUTTONUP):
                    name = self._buttons.get(event.cbutton.button)
                    self._queue(event.cbutton.which, "button", name, int(kind == sdl.SDL_CONTROLLERBUTTONDOWN))
                elif kind == sdl.SDL_CONTROLLERAXISMOTION:
                    name = self._axes.get(event.caxis.axis)
                    self._queue(event.caxis.which, "axis", name, int(event.caxis.value))
                elif kind == sdl.SDL_CONTROLLERDEVICEREMOVED:
                    gone = self.pads.pop(event.cdevice.which, None)
                    if gone is not None:
                        gone.attached = False
                        sdl.SDL_GameControllerClose(gone.handle)
                elif kind in (sdl.SDL_CONTROLLERDEVICEADDED, sdl.SDL_JOYDEVICEADDED, sdl.SDL_JOYDEVICEREMOVED):
                    changed = True
            if changed:
                self._open_new()

    def _queue(self, instance: int, what: str, name: str | None, value: int) -> None:
        pad = self.pads.get(instance)
        if pad is None or name is None:
            return
        if what == "axis":
            pad.axes[name] = value
        pad.events.append((what, name, value))

    def _open_new(self) -> None:
        sdl = self._sdl
        self.unmapped = []
        for index in range(sdl.SDL_NumJoysticks()):
            if not sdl.SDL_IsGameController(index):
                self.unmapped.append(_text(sdl.SDL_JoystickNameForIndex(index)) or "a joystick")
                continue
            instance = sdl.SDL_JoystickGetDeviceInstanceID(index)
            if instance in self.pads:
                continue
            handle = sdl.SDL_GameControllerOpen(index)
            if not handle:
                continue
            pad = Pad(
                _text(sdl.SDL_GameControllerName(handle)) or "gamepad",
                _text(sdl.SDL_GameControllerGetSerial(handle)),
                _text(sdl.SDL_GameControllerPath(handle)),
                instance,
                handle,
            )
            for code, name in self._axes.items():
                pad.axes[name] = int(sdl.SDL_GameControllerGetAxis(handle, code))
            pad.events += [("axis", name, value) for name, value in pad.axes.items()]
            self.pads[instance] = pad

    def rumble(self, pad: Pad, low: float, high: float, milliseconds: int) -> bool:
        """Heavy and light motor, [0, 1] each. False when the pad has none."""
        with self.lock:
            if not pad.attached or self._users == 0:
                return False
            strengths = [int(65535 * min(max(value, 0.0), 1.0)) for value in (low, high)]
            return self._sdl.SDL_GameControllerRumble(pad.handle, *strengths, milliseconds) == 0


PADS = SdlPads()


def load_sdl() -> Any:
    """The module sdl2. Raises SdlMissing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells which copy of the library it took
            import sdl2
    except ImportError as error:  # also what PySDL2 raises when it finds no SDL2 library
        raise SdlMissing(f"the package PySDL2 or its library SDL2 is missing ({error}). Install it: {_FIX}") from error
    if sdl2.dll.version < 2024:
        raise SdlMissing(f"SDL2 {sdl2.dll.version} is too old; needed is 2.24 or newer. Install it: {_FIX}")
    return sdl2


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def refused_nodes() -> list[str]:
    """Joysticks of the kernel that this user may not read (Linux): "name (/dev/input/eventN)"."""
    found = []
    root = "/sys/class/input"
    if not sys.platform.startswith("linux") or not os.path.isdir(root):
        return found
    for entry in sorted(os.listdir(root)):
        if not entry.startswith("js"):
            continue
        device = os.path.join(root, entry, "device")
        events = [e for e in os.listdir(device) if e.startswith("event")] if os.path.isdir(device) else []
        node = f"/dev/input/{events[0]}" if events else f"/dev/input/{entry}"
        if not os.access(node, os.R_OK):
            try:
                with open(os.path.join(device, "name"), encoding="utf-8") as file:
                    name = file.read().strip()
            except OSError:
                name = "a joystick"
            found.append(f"{name} ({node})")
    return found
