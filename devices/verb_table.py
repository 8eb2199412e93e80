"""What does what: a table device by verb, made from the bindings in force, so that it cannot tell a tale.

Every device must fill every column: with its own motion or button, or, where it has too few, with the keyboard's keys,
which count beside any device. `verb_table` raises when one is missing.
"""

from __future__ import annotations

from devices.keymap import KeyMap

# column -> verbs that fill it; all of them must be there
GROUPS = {
    "move": (),
    "grasp": ("grip_toggle",),
    "dispense": ("dispense",),
    "press": ("press",),
    "arm cut": ("arm_cut",),
    "confirm cut": ("confirm_cut",),
    "checkpoint": ("checkpoint",),
    "record": ("record",),
    "clutch": ("clutch",),
}
# what needs no button: device -> column -> how
OWN = {
    "spacemouse": {"move": "push and turn the cap"},
    "gamepad": {"move": "sticks and cross"},
    "xr": {"move": "controller", "grasp": "trigger"},
    "xr-hand": {"move": "hand", "grasp": "pinch"},
    "hands": {"move": "hand", "grasp": "pinch"},
    "network": {"move": "twist or pose", **{g: f'"{v[0]}"' for g, v in GROUPS.items() if v}, "grasp": "gripper"},
    "scripted": {"move": "twist", **{g: f"press {v[0]}" for g, v in GROUPS.items() if v}, "grasp": "gripper",
                 "clutch": "hold clutch", "press": "hold press", "dispense": "hold dispense"},
}  # fmt: skip
# models of one kind differ: the table shows the one with the fewest buttons
FEWEST = {"spacemouse": ("LEFT", "RIGHT")}
DEVICES = ("keyboard", *OWN)


def verb_table(keymap: KeyMap) -> dict[str, dict[str, str]]:
    """device -> column -> what does it. Raises ValueError naming the device and the column that nothing fills."""
    return {device: verb_row(device, keymap) for device in DEVICES}


def verb_row(device: str, keymap: KeyMap) -> dict[str, str]:
    """One row of `verb_table`."""
    if device not in DEVICES:
        raise ValueError(f"device {device!r}; legal: {', '.join(DEVICES)}")
    row = {}
    for column, verbs in GROUPS.items():
        words = [_own(device, column, verb, keymap) or _keys(verb, keymap) for verb in verbs or ("",)]
        if not all(words):
            missing = [verb for verb, word in zip(verbs, words, strict=False) if not word]
            raise ValueError(
                f"{device}: nothing does {column!r} ({', '.join(missing) or 'motion'}); bind a button of it, or a key"
            )
        row[column] = ", ".join(words)
    return row


def _own(device: str, column: str, verb: str, keymap: KeyMap) -> str:
    own = OWN.get(device, {}).get(column, "")
    if own or not verb:
        return own if device != "keyboard" else _motion_keys(keymap)
    if device == "keyboard":
        return _keys(verb, keymap, short=True)
    actions = {"spacemouse": keymap.buttons, "gamepad": keymap.gamepad, "xr": keymap.xr}.get(device, {})
    found = [name for name, action in actions.items() if action == verb]
    few = FEWEST.get(device)
    return ", ".join(name for name in found if few is None or name in few)


def _motion_keys(keymap: KeyMap) -> str:
    actions = [f"{what} {sign}{axis}" for what in ("move", "turn") for axis in "xyz" for sign in "-+"]
    keys = [keymap.keys_of(action) for action in actions]
    return " ".join(found[0] for found in keys) if all(keys) else ""


def _keys(verb: str, keymap: KeyMap, short: bool = False) -> str:
    """The first key of a verb; `key X` beside another device."""
    found = keymap.keys_of(verb) if verb else ()
    return "" if not found else found[0] if short else f"key {found[0]}"
