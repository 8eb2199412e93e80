"""A device that plays a script of timed moves in simulated time: demonstrations without a hand.

YAML or JSON: a mapping with `segments`; CSV: one segment a row, columns as the keys.

    linear_speed: 0.1        # [m/s] of a full push; optional, as angular_speed [rad/s], gripper_speed [1/s]
    segments:
      - {until: 1.0, twist: [0, 0, -1, 0, 0, 0]}            # until [s] simulated time since the start of the script
      - {for: 0.5, gripper: 1, press: [record]}             # for [s]: a duration; presses happen at the start
      - {for: 2.0, twist: [0, 0, 1, 0, 0, 0], hold: [fine]}
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from devices.contract import VERBS, Feedback, Health, Kind, Sample, Status
from devices.document import Mapping, load_document

_KEYS = ("until", "for", "twist", "gripper", "press", "hold")
_SPEEDS = ("linear_speed", "angular_speed", "gripper_speed")
_CSV_AXES = ("x", "y", "z", "rx", "ry", "rz")
_TIME_SLACK = 1e-9  # [s] sums of dt land a rounding error before or after a boundary


@dataclass(frozen=True)
class Segment:
    """One stretch of a script: a constant push from the end of the one before until `until`."""

    until: float  # [s]
    twist: tuple[float, ...] = (0.0,) * 6  # [-] in [-1, 1]
    gripper: float = 0.0  # [-] closing speed in [-1, 1]
    press: tuple[str, ...] = ()  # once, at the start
    hold: tuple[str, ...] = ()  # throughout


@dataclass(frozen=True)
class Script:
    """A checked script. `speeds` are settings for the mapping stage."""

    segments: tuple[Segment, ...]
    speeds: dict[str, float]
    source: str = "script"

    @property
    def duration(self) -> float:
        return self.segments[-1].until


def load_script(path: str | Path) -> Script:
    """Read a .yaml, .yml, .json or .csv script. Raises ValueError (file:line, the value, the legal values)."""
    path = Path(path)
    if path.suffix.lower() == ".csv":
        return Script(_segments(_csv_rows(path)), {}, str(path))
    if path.suffix.lower() not in (".yaml", ".yml", ".json"):
        raise ValueError(f"{path}: unknown kind of script {path.suffix!r}; legal: .yaml, .yml, .json, .csv")
    document = load_document(path)
    if not isinstance(document, Mapping) or not isinstance(document.get("segments"), list):
        raise ValueError(f"{path}:1: a script is a mapping with a list `segments`")
    legal = ("segments", "description", *_SPEEDS)
    speeds = {}
    for key, value in document.items():
        place = f"{path}:{document.lines[key]}"
        if key not in legal:
            raise ValueError(f"{place}: unknown key {key!r}; legal: {', '.join(legal)}")
        if key in _SPEEDS:
            speeds[key] = _number(place, key, value, 1e-6, 100.0)
    rows = []
    for index, segment in enumerate(document["segments"]):
        line = getattr(segment, "line", document.lines["segments"])
        rows.append((f"{path}:{line}: segment {index}", segment))
    return Script(_segments(rows), speeds, str(path))


def _csv_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Columns: until or for; x y z rx ry rz; gripper; press, hold (verbs apart by spaces). Only the time is needed."""
    legal = (*_KEYS[:2], *_CSV_AXES, *_KEYS[3:])
    rows = []
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        for name in reader.fieldnames or ():
            if name not in legal:
                raise ValueError(f"{path}:1: unknown column {name!r}; legal: {', '.join(legal)}")
        for index, row in enumerate(reader):
            filled = {key: value for key, value in row.items() if key is not None and value not in (None, "")}
            twist = [filled.pop(axis, 0.0) for axis in _CSV_AXES]
            segment: dict[str, Any] = {"twist": twist}
            for key, value in filled.items():
                segment[key] = value.split() if key in ("press", "hold") else value
            rows.append((f"{path}:{reader.line_num}: segment {index}", segment))
    return rows


def _segments(rows: Sequence[tuple[str, Any]]) -> tuple[Segment, ...]:
    if not rows:
        raise ValueError("the script has no segments; legal: one or more")
    segments: list[Segment] = []
    start = 0.0
    for place, row in rows:
        segment = _segment(place, row, start)
        start = segment.until
        segments.append(segment)
    return tuple(segments)


def _segment(place: str, row: Any, start: float) -> Segment:
    if not isinstance(row, dict):
        raise ValueError(f"{place}: {row!r} is not a mapping; legal keys: {', '.join(_KEYS)}")
    for key in row:
        if key not in _KEYS:
            raise ValueError(f"{place}: unknown key {key!r}; legal: {', '.join(_KEYS)}")
    if ("until" in row) == ("for" in row):
        raise ValueError(f"{place}: give either `until` (time) or `for` (duration), both in seconds")
    if "for" in row:
        until = start + _number(place, "for", row["for"], 0.0, math.inf)
    else:
        until = _number(place, "until", row["until"], 0.0, math.inf)
    if until < start:
        raise ValueError(f"{place}: until = {until} s lies before the end of the segment before it ({start} s)")
    twist = row.get("twist", [0.0] * 6)
    if not isinstance(twist, list) or len(twist) != 6:
        raise ValueError(f"{place}: twist = {twist!r}; legal: six numbers x y z rx ry rz in [-1, 1]")
    return Segment(
        until=until,
        twist=tuple(_number(place, f"twist[{i}]", value, -1.0, 1.0) for i, value in enumerate(twist)),
        gripper=_number(place, "gripper", row.get("gripper", 0.0), -1.0, 1.0),
        press=_verbs(place, "press", row.get("press", [])),
        hold=_verbs(place, "hold", row.get("hold", [])),
    )


def _number(place: str, name: str, value: Any, low: float, high: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or not low <= number <= high:
        raise ValueError(f"{place}: {name} = {value!r}; legal: a number from {low:g} to {high:g}")
    return number


def _verbs(place: str, name: str, value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        raise ValueError(f"{place}: {name} = {value!r}; legal: a list of verbs")
    for verb in values:
        if verb not in VERBS:
            raise ValueError(f"{place}: {name}: unknown verb {verb!r}; legal: {', '.join(VERBS)}")
        if verb == "pause":
            raise ValueError(f"{place}: {name}: `pause` would stop the simulated clock that plays the script")
    return tuple(values)


class Scripted:
    """Plays a Script. The loop tells it the simulated time before each poll (`set_simulated_time`).

    The script's own clock adds up simulated time as it passes: a reset or a loaded checkpoint sets the simulation back,
    not the script, which plays on from where it was.
    """

    def __init__(self, script: Script | str | Path):
        self.script = script if isinstance(script, Script) else load_script(script)
        self.name = f"script {Path(self.script.source).name}"
        self.open()

    def open(self) -> Status:
        """Back to the start of the script."""
        self.time = 0.0  # [s] of the script
        self._told: float | None = None
        self._next = 0  # first segment whose presses have not been given
        self._held: frozenset[str] = frozenset()
        self._sequence = 0
        return self.status()

    def close(self) -> None:
        """Nothing to give back."""

    @property
    def finished(self) -> bool:
        """True once the last segment is over and its presses have been given."""
        return self._next >= len(self.script.segments) and self._index() is None

    def set_simulated_time(self, time_sim: float) -> None:
        """time_sim [s] at the start of the step that the next poll drives."""
        if self._told is not None:
            self.time += max(0.0, time_sim - self._told)
        self._told = time_sim

    def _index(self) -> int | None:
        for index, segment in enumerate(self.script.segments):
            if self.time < segment.until - _TIME_SLACK:
                return index
        return None

    def poll(self, now: float) -> Sample:
        """The push at the script's time. Presses of segments that a long step jumped over are all given, in order.

        Raises RuntimeError when the loop never told the simulated time.
        """
        if self._told is None:
            raise RuntimeError(f"{self.name} follows simulated time: call set_simulated_time(time_sim) before poll")
        index = self._index()
        begun = len(self.script.segments) if index is None else index + 1
        pressed = tuple(verb for segment in self.script.segments[self._next : begun] for verb in segment.press)
        self._next = max(self._next, begun)
        current = self.script.segments[index] if index is not None else Segment(until=self.time)
        held = frozenset(current.hold)
        starts = tuple(verb for verb in current.hold if verb not in self._held)
        released = tuple(sorted((self._held - held) | set(pressed)))
        self._held = held
        self._sequence += 1
        return Sample(
            kind=Kind.RATE,
            t_device=self.time,
            t_receive=now,
            sequence=self._sequence - 1,
            twist=np.array(current.twist),
            gripper=current.gripper,
            buttons=held,
            pressed=pressed + starts,
            released=released,
            raw={"segment": -1 if index is None else index},
        )

    def status(self) -> Status:
        where = "finished" if self.finished else f"{self.time:.2f} of {self.script.duration:.2f} s"
        return Status(Health.OK, where)

    def feedback(self, feedback: Feedback) -> None:
        """A script feels nothing."""

    def describe(self) -> dict[str, Any]:
        # an author writes exact pushes: no deadband, no shaping, no soft start
        exact = {"deadband": 0.0, "expo": 0.0, "ramp_time": 0.0, "frame": "world"}
        return {
            "name": self.name,
            "kind": Kind.RATE.value,
            "source": self.script.source,
            "duration": self.script.duration,
            "mapping": {**exact, **self.script.speeds},
        }
