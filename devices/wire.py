"""The lines that a tracker of your own sends: JSON, one object a line. Pure: bytes in, Reading out, all within limits.

The protocol is described for its users in docs/devices.md ("Your own tracker"). Nothing here trusts the sender: size,
depth, counts and numbers are bounded before they are used, and whatever does not fit raises WireError, which names
the field, its value and what is legal.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from devices.contract import VERBS, Kind
from devices.rotations import quat_normalised

VERSION = 1
MAX_LINE = 16384  # [bytes] of one message
MAX_JOINTS = 64
MAX_BUTTONS = 32
MAX_METRES = 100.0  # [m] no tracker is further away
SIDES = ("left", "right")
_FIELDS = {
    "tacktile", "name", "t", "twist", "pose", "joints", "gripper", "buttons", "pressed", "valid", "confidence", "side"
}  # fmt: skip


class WireError(ValueError):
    """A message that does not fit the protocol."""


@dataclass(frozen=True)
class Reading:
    """One message. `kind` None: it carries no reading (a hello, or buttons alone)."""

    hello: bool = False
    name: str = ""
    kind: Kind | None = None
    t: float | None = None  # [s] the sender's clock
    twist: np.ndarray | None = None  # (6,) in [-1, 1]
    pose: np.ndarray | None = None  # [m, -] (7,) unit quaternion x y z w
    joints: np.ndarray | None = None  # [m] (n, 3)
    gripper: float = 0.0
    buttons: frozenset[str] | None = None  # None: not told, they stay as they were
    pressed: tuple[str, ...] = ()
    valid: bool = True
    confidence: float = 1.0
    side: str = ""


def parse(line: bytes) -> Reading:
    """A message. Raises WireError for anything else; never any other exception, whatever the bytes."""
    if len(line) > MAX_LINE:
        raise WireError(f"a message of {len(line)} bytes; legal: at most {MAX_LINE}")
    try:
        # a number of a thousand digits or a thousand brackets must cost nothing
        data = json.loads(line, parse_int=_integer, parse_constant=_constant)
    except (ValueError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"not JSON: {str(error)[:80]}") from None
    if not isinstance(data, dict):
        raise WireError(f"a {type(data).__name__}; legal: one JSON object a line")
    unknown = [key for key in data if key not in _FIELDS]
    if unknown:
        raise WireError(f"unknown field {unknown[0][:40]!r}; legal: {', '.join(sorted(_FIELDS))}")
    if "tacktile" in data and data["tacktile"] != VERSION:
        raise WireError(f"tacktile = {str(data['tacktile'])[:20]}; legal: {VERSION}")
    twist, pose, joints = (_array(data, name) for name in ("twist", "pose", "joints"))
    kind = Kind.JOINTS if joints is not None else Kind.POSE if pose is not None else None
    kind = Kind.RATE if kind is None and twist is not None else kind
    return Reading(
        hello="tacktile" in data,
        name=_text(data, "name", 60),
        kind=kind,
        t=_number(data, "t", -1e15, 1e15) if data.get("t") is not None else None,
        twist=None if twist is None else np.clip(twist, -1.0, 1.0),
        pose=_posed(pose),
        joints=joints,
        gripper=_number(data, "gripper", -1.0, 1.0, 0.0),
        buttons=frozenset(_verbs(data, "buttons")) if "buttons" in data else None,
        pressed=tuple(_verbs(data, "pressed")),
        valid=_flag(data, "valid"),
        confidence=_number(data, "confidence", 0.0, 1.0, 1.0),
        side=_side(data),
    )


def _integer(text: str) -> float:
    return float(text[:400])


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a number of JSON")


def _number(data: dict, name: str, least: float, most: float, default: float = 0.0) -> float:
    value = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, float) or not math.isfinite(value):
        raise WireError(f"{name} = {str(value)[:40]}; legal: a number from {least:g} to {most:g}")
    if not least <= value <= most:
        raise WireError(f"{name} = {value:g}; legal: {least:g} to {most:g}")
    return value


def _array(data: dict, name: str) -> np.ndarray | None:
    """(6,), (7,) or (n, 3) finite floats."""
    value = data.get(name)
    if value is None:
        return None
    legal = {"twist": "six numbers", "pose": "seven numbers"}.get(name, f"up to {MAX_JOINTS} rows of three numbers")
    rows = value if name == "joints" else [value]
    width = {"twist": 6, "pose": 7}.get(name, 3)
    good = isinstance(rows, list) and 0 < len(rows) <= MAX_JOINTS
    good = good and all(isinstance(row, list) and len(row) == width for row in rows)
    good = good and all(type(x) is float and abs(x) <= MAX_METRES for row in rows for x in row)
    if not good:
        raise WireError(f"{name} = {str(value)[:40]}; legal: {legal}, finite, at most {MAX_METRES:g} in size")
    array = np.array(rows, dtype=float)
    return array if name == "joints" else array[0]


def _posed(pose: np.ndarray | None) -> np.ndarray | None:
    if pose is None:
        return None
    length = float(np.linalg.norm(pose[3:]))
    if not 0.9 <= length <= 1.1:
        raise WireError(f"pose: its quaternion (x y z w) has length {length:.3g}; legal: 1")
    return np.concatenate([pose[:3], quat_normalised(pose[3:])])


def _verbs(data: dict, name: str) -> list[str]:
    value = data.get(name, [])
    if not isinstance(value, list) or len(value) > MAX_BUTTONS or not all(isinstance(v, str) for v in value):
        raise WireError(f"{name} = {str(value)[:40]}; legal: a list of at most {MAX_BUTTONS} verbs")
    for verb in value:
        if verb not in VERBS:
            raise WireError(f"{name}: unknown verb {verb[:40]!r}; legal: {', '.join(VERBS)}")
    return value


def _flag(data: dict, name: str) -> bool:
    value = data.get(name, True)
    if not isinstance(value, bool):
        raise WireError(f"{name} = {str(value)[:40]}; legal: true, false")
    return value


def _text(data: dict, name: str, most: int) -> str:
    value = data.get(name, "")
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise WireError(f"{name} = {str(value)[:40]!r}; legal: up to {most} printable characters")
    return value


def _side(data: dict) -> str:
    value = data.get("side", "")
    if value not in ("", *SIDES):
        raise WireError(f"side = {str(value)[:40]!r}; legal: {', '.join(SIDES)}")
    return value


def message(**fields: Any) -> bytes:
    """A line to send; arrays may be numpy's. For senders written in Python and for tests."""
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items() if v is not None}
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).encode() + b"\n"
