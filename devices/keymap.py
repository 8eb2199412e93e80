"""Which key or button does what: a small YAML, checked so that a slip is named instead of silently lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from devices.contract import VERBS
from devices.document import Mapping, load_document

DEFAULT_KEYMAP = Path(__file__).resolve().parents[1] / "assets" / "keymap.yaml"
MODIFIERS = {"Ctrl": ("LeftCtrl", "RightCtrl"), "Alt": ("LeftAlt", "RightAlt")}

# Names of Dear ImGui's keys, without its prefix.
KEY_NAMES = (
    tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    + tuple(f"F{i}" for i in range(1, 25))
    + tuple(f"Keypad{i}" for i in range(10))
    + tuple("Keypad" + s for s in ("Add", "Decimal", "Divide", "Enter", "Equal", "Multiply", "Subtract"))
    + tuple(side + key for side in ("Left", "Right") for key in ("Alt", "Arrow", "Bracket", "Ctrl", "Shift", "Super"))
    + ("UpArrow", "DownArrow", "Space", "Tab", "Enter", "Escape", "Backspace", "Delete", "Insert", "Home", "End")
    + ("PageUp", "PageDown", "Minus", "Equal", "Comma", "Period", "Slash", "Backslash", "Semicolon", "Apostrophe")
    + ("GraveAccent", "CapsLock", "ScrollLock", "NumLock", "PrintScreen", "Pause", "Menu", "Oem102")
)
_KEY_BY_FOLDED = {name.casefold(): name for name in KEY_NAMES}

AXIS_SIGNS = ("-x", "+x", "-y", "+y", "-z", "+z")
# action -> (index into the twist, sign), or a verb; the gripper is index 6
AXIS_ACTIONS = {
    **{f"move {s}": ("xyz".index(s[1]), 1.0 if s[0] == "+" else -1.0) for s in AXIS_SIGNS},
    **{f"turn {s}": (3 + "xyz".index(s[1]), 1.0 if s[0] == "+" else -1.0) for s in AXIS_SIGNS},
    "grip close": (6, 1.0),
    "grip open": (6, -1.0),
}
_SECTIONS = {"move": AXIS_SIGNS, "turn": AXIS_SIGNS, "grip": ("close", "open"), "verbs": VERBS}
HARDWARE = ("spacemouse", "gamepad", "xr")  # sections of button names; what a button does may also push an axis


@dataclass(frozen=True)
class KeyMap:
    """`keys`: key or chord -> action ("move +x", "turn -z", "grip close" or a verb). `buttons`: SpaceMouse button
    name -> verb; `gamepad`, `xr`: button name -> action. `source`: the files it came from."""

    keys: dict[str, str]
    buttons: dict[str, str]
    gamepad: dict[str, str]
    xr: dict[str, str]
    source: tuple[str, ...] = ()

    def keys_of(self, action: str) -> tuple[str, ...]:
        """Keys of an action, for help texts; empty when it has none. Raises ValueError for an unknown action."""
        if action not in AXIS_ACTIONS and action not in VERBS:
            raise ValueError(f"unknown action {action!r}; legal: {', '.join((*AXIS_ACTIONS, *VERBS))}")
        return tuple(key for key, value in self.keys.items() if value == action)


def load_keymap(user: str | Path | None = None, default: str | Path = DEFAULT_KEYMAP) -> KeyMap:
    """The default map with the user's changes on top.

    Raises ValueError with file:line for an unknown section, action, verb or key, and for a key that two actions ask
    for, naming both; FileNotFoundError for a missing file.
    """
    keys, buttons = _read(Path(default))
    sources = [str(default)]
    if user is not None:
        user_keys, user_buttons = _read(Path(user))
        keys = {action: value for action, value in keys.items() if action not in user_keys} | user_keys
        buttons = {section: buttons[section] | user_buttons[section] for section in HARDWARE}
        sources.append(str(user))
    return KeyMap(
        _one_action_each(keys), buttons["spacemouse"], buttons["gamepad"], buttons["xr"], tuple(sources)
    )


def _read(path: Path) -> tuple[dict[str, tuple[str, list[str]]], dict[str, dict[str, str]]]:
    """(action -> (file:line, keys), section -> button -> action) of one file."""
    document = load_document(path)
    if not isinstance(document, Mapping):
        raise ValueError(f"{path}:1: a key map is a mapping with {', '.join(('version', *_SECTIONS, *HARDWARE))}")
    if document.get("version") != 1:
        raise ValueError(f"{path}:{document.lines.get('version', 1)}: version = {document.get('version')!r}; legal: 1")
    actions: dict[str, tuple[str, list[str]]] = {}
    buttons: dict[str, dict[str, str]] = {section: {} for section in HARDWARE}
    for section, body in document.items():
        if section == "version":
            continue
        place = f"{path}:{document.lines[section]}"
        if section not in _SECTIONS and section not in HARDWARE:
            raise ValueError(f"{place}: unknown section {section!r}; legal: {', '.join((*_SECTIONS, *HARDWARE))}")
        if not isinstance(body, Mapping):
            raise ValueError(f"{place}: section {section!r} must be a mapping, not {body!r}")
        for name, value in body.items():
            here = f"{path}:{body.lines[name]}"
            if section in HARDWARE:
                buttons[section][str(name)] = _verb(here, value, axes=section != "spacemouse")
                continue
            legal = _SECTIONS[section]
            if name not in legal:
                what = "verb" if section == "verbs" else f"{section} action"
                raise ValueError(f"{here}: unknown {what} {name!r}; legal: {', '.join(legal)}")
            action = name if section == "verbs" else f"{section} {name}"
            actions[action] = (here, _keys(here, action, value))
    return actions, buttons


def _verb(place: str, value: object, axes: bool) -> str:
    legal = (*VERBS, *AXIS_ACTIONS) if axes else VERBS
    if value not in legal:
        raise ValueError(f"{place}: unknown {'action' if axes else 'verb'} {value!r}; legal: {', '.join(legal)}")
    return str(value)


def _keys(place: str, action: str, value: object) -> list[str]:
    """A key, a list of keys, or nothing (the action loses its keys)."""
    values = [] if value is None else value if isinstance(value, list) else [value]
    return [_key(place, action, v) for v in values]


def _key(place: str, action: str, value: object) -> str:
    """Canonical name of a key or chord; YAML reads an unquoted digit as a number, hence str()."""
    *modifiers, key = str(value).split("+") if len(str(value)) > 1 else [str(value)]
    name = _KEY_BY_FOLDED.get(key.strip().casefold())
    prefix = [m.strip().capitalize() for m in modifiers]
    if name is None or any(m not in MODIFIERS for m in prefix) or len(prefix) > 1:
        raise ValueError(
            f"{place}: {action}: unknown key {value!r}; legal: {', '.join(KEY_NAMES)}; Ctrl+KEY and Alt+KEY"
        )
    return "+".join([*prefix, name])


def _one_action_each(actions: dict[str, tuple[str, list[str]]]) -> dict[str, str]:
    keys: dict[str, str] = {}
    for action, (place, names) in actions.items():
        for key in names:
            if key in keys and keys[key] != action:
                other = actions[keys[key]][0]
                raise ValueError(
                    f"{place}: key {key!r} is bound to {action!r} and to {keys[key]!r} ({other}); "
                    "legal: one action a key; give one of them another key, or [] for none"
                )
            keys[key] = action
    return keys
