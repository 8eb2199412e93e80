"""Key edges out of ImGui, under the names that the key map uses."""

from __future__ import annotations

from collections.abc import Callable

import polyscope.imgui as psim

from devices.keymap import KEY_NAMES

Feed = Callable[[list[str], list[str], list[str], bool, bool], None]  # down, pressed, released, focused, typing

SHORT = {  # what the help shows instead of ImGui's names
    "LeftArrow": "Left",
    "RightArrow": "Right",
    "UpArrow": "Up",
    "DownArrow": "Down",
    "LeftShift": "Shift",
    "RightShift": "Shift",
    "Equal": "+",
    "KeypadAdd": "+",
    "Minus": "-",
    "Period": ".",
    "Comma": ",",
    "KeypadSubtract": "-",
    "Backspace": "Bksp",
    "Delete": "Del",
    "Escape": "Esc",
}


def _code(name: str):
    return getattr(psim, f"ImGuiKey_{name}", None)


class KeyReader:
    """Reads every key that the key map may name, once a window tick."""

    def __init__(self):
        codes = {name: _code(f"_{name}" if name.isdigit() else name) or _code(name) for name in KEY_NAMES}
        self._codes = {name: code for name, code in codes.items() if code is not None}
        self._down: set[str] = set()

    def read(self, feed: Feed | None) -> set[str]:
        """Hands the tick's keys to a feed and returns the keys pressed in it.

        ImGui releases every key when the window loses the focus; `typing` says that a text box has the keyboard, so
        that writing a label drives nothing.
        """
        io = psim.GetIO()
        typing = bool(io.WantTextInput)
        focused = not bool(io.AppFocusLost)
        down = {name for name, code in self._codes.items() if psim.IsKeyDown(code)} if focused else set()
        pressed = down - self._down
        released = self._down - down
        self._down = down
        if feed is not None:
            feed(sorted(down), sorted(pressed), sorted(released), focused, typing)
        return set() if typing else pressed


def help_texts(keys: dict[str, str]) -> dict[str, str]:
    """Action -> the first key bound to it, shortened, from the key map's key -> action."""
    out: dict[str, str] = {}
    for key, action in keys.items():
        shown = "+".join(SHORT.get(part, part) for part in key.split("+"))
        out.setdefault(action, shown)
    return out
