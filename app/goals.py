"""Goals of a seeing operator: what they are, and how a file of them is read.

    goals:
      - {to: [0.0, 0.0, 0.1]}                          # [m] world: the tool's origin; reached within `tolerance`
      - {to: [0.1, 0.0, 0.1], speed: 0.5, within: 4.0} # share of a full push; give up after [s]
      - {turn: [0, 15, 0]}                             # [deg] from the tool's orientation at the start, about x, y, z
      - {tool: hand, of: carton, to: [0.0, 0.0, 0.1]}  # of this tool; places and turns in the frame of a body
      - {by: [0.0, 0.0, -0.02], force: 5.0}            # or until the drive pulls with 5 N
      - {turn: [0, 60, 0], stage: cut}                 # or until this stage of the task holds
      - {grip: 1.0}                                    # closure in [0, 1]
      - {press: [record]}                              # verbs, once
      - {wait: 0.5}                                    # [s] simulated
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devices.contract import VERBS
from devices.document import load_plain

_PLACES = ("to", "by", "turn")
_NAMES = ("tool", "of", "stage")
_NUMBERS = (
    ("tolerance", 1e-6, 1.0), ("angle_tolerance", 0.01, 90.0), ("speed", 1e-3, 1.0), ("grip", 0.0, 1.0),
    ("wait", 0.0, 1e4), ("within", 1e-3, 1e4), ("force", 1e-3, 1e4),
)  # fmt: skip
_KEYS = (*_PLACES, *_NAMES, *(key for key, _, _ in _NUMBERS), "press")


@dataclass(frozen=True)
class Goal:
    """One thing to reach before the next one."""

    to: tuple[float, float, float] | None = None  # [m] the tool's origin, in the world or the frame of `of`
    by: tuple[float, float, float] | None = None  # [m] from where the tool is when the goal begins, along the same axes
    turn: tuple[float, float, float] | None = None  # [deg] about x, then y, then z, from the orientation at the start
    tool: str | None = None  # None: the one in hand
    of: str | None = None  # body whose frame counts; None: the world
    stage: str | None = None  # of the task guide: reached as well once it holds
    tolerance: float = 2e-3  # [m]
    angle_tolerance: float = 1.0  # [deg]
    speed: float = 1.0  # share of a full push
    force: float | None = None  # [N] of the tool's drive: reached as well
    grip: float | None = None  # closure
    press: tuple[str, ...] = ()
    wait: float = 0.0  # [s] simulated
    within: float = 10.0  # [s] simulated; then it goes on with the next one


def load_goals(path: str | Path) -> list[Goal]:
    """Reads a file of goals. Raises ValueError naming the goal, the key and the legal values."""
    raw = load_plain(path)
    if not isinstance(raw, dict) or not isinstance(raw.get("goals"), list):
        raise ValueError(f"{path}: a script of goals is a mapping with a list `goals`")
    return [_goal(f"{path}: goal {number}", entry) for number, entry in enumerate(raw["goals"], 1)]


def has_goals(path: str | Path) -> bool:
    """Whether a file is a script of goals."""
    try:
        raw = load_plain(path)
    except ValueError:
        return False  # the reader of timed scripts names the line
    return isinstance(raw, dict) and "goals" in raw


def _goal(place: str, entry: Any) -> Goal:
    if not isinstance(entry, dict) or not entry:
        raise ValueError(f"{place}: {entry!r} is not a mapping; legal keys: {', '.join(_KEYS)}")
    for key in entry:
        if key not in _KEYS:
            raise ValueError(f"{place}: unknown key {key!r}; legal: {', '.join(_KEYS)}")
    values: dict[str, Any] = {}
    for key in _PLACES:
        if key in entry:
            numbers = entry[key]
            if not (isinstance(numbers, list) and len(numbers) == 3 and all(_is_number(v) for v in numbers)):
                unit = "deg" if key == "turn" else "m"
                raise ValueError(f"{place}: {key} = {numbers!r}; legal: three numbers [{unit}]")
            values[key] = tuple(map(float, numbers))
    for key in _NAMES:
        if key in entry:
            if not isinstance(entry[key], str):
                raise ValueError(f"{place}: {key} = {entry[key]!r}; legal: a name")
            values[key] = entry[key]
    for key, low, high in _NUMBERS:
        if key in entry:
            number = entry[key]
            if not _is_number(number) or not low <= number <= high:
                raise ValueError(f"{place}: {key} = {number!r}; legal: a number from {low:g} to {high:g}")
            values[key] = float(number)
    press = entry.get("press", [])
    press = [press] if isinstance(press, str) else press
    for verb in press:
        if verb not in VERBS or verb == "pause":
            raise ValueError(f"{place}: press {verb!r}; legal: {', '.join(v for v in VERBS if v != 'pause')}")
    return Goal(**values, press=tuple(press))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
