"""What a log holds, before it is sealed: the shape of all columns, the label, how far the log can be used.

A log may be torn, damaged or hostile: what sealing relies on is checked here, and what comes before the first
record that does not fit is good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.record.columns import Columns, flatten
from app.record.framed_log import FramedLogReader, Tail
from app.record.packing import PackingError, unpack
from app.record.points import unshuffle_bytes
from app.record.records import FRAME, KEYFRAME, LABEL, LABELS, LAYOUT, NOTE, START, STEP, STOP
from app.record.step_codec import Step, StepDecoder, decode_texts
from app.record.step_groups import StepWindow


@dataclass
class Survey:
    """What the first pass found."""

    tail: Tail
    start: dict[str, Any] | None = None
    columns: Columns = field(default_factory=Columns)
    num_frames: int = 0
    label: str | None = None
    instruction: str = ""
    stopped: bool = False
    duration: float = 0.0  # [s] simulated
    good_until: int = 0  # [bytes] records from here on are not used
    num_points: int = 0  # in the last frame so far, 0 = no positions
    most_points: int = 0  # in any row
    points_change: bool = False  # a cut in the middle
    steps: StepDecoder = field(default_factory=StepDecoder)
    window: StepWindow = field(default_factory=StepWindow)
    texts: set[bytes] = field(default_factory=set)  # of the step before

    def close_window(self) -> None:
        """What is known of the columns after the steps in the window."""
        for group in self.window.groups:
            self.columns.observe_group(group)
            self.duration += float(group.numbers("time/dt").sum())
        self.window.clear()


def survey_log(log: Path, until: int | None, progress: Callable[[float], None] | None) -> Survey:
    """First pass over a log, up to `until` [bytes]. Raises LogError: not a log, or of a newer version."""
    reader = FramedLogReader(log, until)
    survey = Survey(tail=reader.tail)
    try:
        for record in reader:
            if record.kind == STEP:
                _take_step(survey, survey.steps.decode(record.payload))
            else:
                _take(survey, record.kind, unpack(record.payload))
            survey.good_until = record.end
            if progress is not None and survey.num_frames % 50 == 0:
                progress(0.5 * record.end / reader.size)
        survey.close_window()
    except (PackingError, KeyError, TypeError, AttributeError, ValueError) as error:
        # whole by its checksum, yet not what a recorder writes: what came before is good
        survey.close_window()
        survey.tail = Tail(survey.good_until, reader.size - survey.good_until, f"contents that do not fit ({error})")
    else:
        survey.tail = reader.tail
    return survey


def _take(survey: Survey, kind: int, value: dict[str, Any]) -> None:
    if survey.start is None and kind != START:
        raise PackingError(f"the first record is of kind {kind}, not the start of a recording")
    if kind == START:
        if survey.start is not None:
            raise PackingError("a second start of a recording")
        survey.start = value
        survey.instruction = str(value.get("instruction", ""))
        survey.num_points = survey.most_points = int(value.get("num_points") or 0)
        _check_hash(value.get("hash", 0))
    elif kind == FRAME:
        if value["row"] != survey.num_frames + 1:
            raise PackingError(f"frame of row {value['row']}, expected {survey.num_frames + 1}")
        time = value["frame"]["time"]
        if "points0" in value:  # positions were not known at the start
            survey.start.update(points=value["points0"], num_points=value["num_points"], row0_is_copy=True)
            survey.num_points = int(value["num_points"])
        count = int(value.get("num_points", survey.num_points))
        point_codes(value, count)
        survey.points_change |= count != survey.num_points
        survey.num_points, survey.most_points = count, max(survey.most_points, count)
        _check_note(value.get("note", {}))
        _check_hash(value.get("hash", 0))
        survey.columns.observe(flatten(value["frame"]))
        survey.duration += time["dt"]
        survey.num_frames += 1
    elif kind == LAYOUT:
        survey.steps.add_layout(value)
    elif kind == LABEL:
        survey.label = value["label"] if value["label"] in LABELS else None
        survey.instruction = str(value.get("instruction", ""))
    elif kind == KEYFRAME:
        _check_keyframe(value)
    elif kind == NOTE:
        _check_note(value)
    elif kind == STOP:
        survey.stopped = True
        _check_hash(value.get("hash", 0))


def _check_keyframe(value: dict[str, Any]) -> None:
    if type(value["row"]) is not int or not all(isinstance(a, np.ndarray) for a in value["state"].values()):
        raise PackingError("an exact state without its row, or with something that is no array")


def _check_note(value: dict[str, Any]) -> None:
    if not all(isinstance(value.get(name, []), list) for name in ("events", "requests")):
        raise PackingError("events or requests that are no list")


def _check_hash(value: Any) -> None:
    if type(value) is not int or not 0 <= value < 2**64:
        raise PackingError(f"hash {str(value)[:50]} is not a whole number of 64 bits")


def _take_step(survey: Survey, step: Step) -> None:
    if survey.start is None:
        raise PackingError("the log begins with a step, not with the start of a recording")
    if step.row != survey.num_frames + 1:
        raise PackingError(f"step of row {step.row}, expected {survey.num_frames + 1}")
    if not any(path == "time/dt" for path, _ in step.layout.numbers):
        raise PackingError("a step without a time step")
    if step.text not in survey.texts:  # looked at here, so that a damaged one ends the log in front of it
        decode_texts(step.text, len(step.layout.texts))
        survey.texts = {step.text}
    _check_note(step.extra.get("note", {}))
    if "points0" in step.extra:  # positions were not known at the start
        survey.start.update(points=step.extra["points0"], num_points=step.num_points, row0_is_copy=True)
        survey.num_points = step.num_points
    _check_size(step.points, step.num_points)
    survey.points_change |= step.num_points != survey.num_points
    survey.num_points, survey.most_points = step.num_points, max(survey.most_points, step.num_points)
    survey.num_frames += 1
    survey.window.add(step)
    if survey.window.full:
        survey.close_window()


def point_codes(value: dict[str, Any], count: int) -> np.ndarray | None:
    """Codes uint32 (3, P) of a START or FRAME record, None when the recording has no positions."""
    if not count:
        return None
    data = value["points"]
    if data.dtype != np.uint8:
        raise PackingError(f"positions of type {data.dtype}, expected bytes")
    return _codes(data.tobytes(), count)


def _codes(data: bytes, count: int) -> np.ndarray:
    """uint32 (3, P) of the bytes of one row."""
    _check_size(data, count)
    return unshuffle_bytes(data, np.dtype(np.uint32), (3, count))


def _check_size(data: bytes | memoryview, count: int) -> None:
    if len(data) != 12 * count:
        raise PackingError(f"positions of {len(data)} bytes, expected {12 * count}")
