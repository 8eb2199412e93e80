"""From a finished or torn log to one HDF5 episode and its meta file.

Two passes over the log, a few frames in memory at a time. The episode appears under its name only when it is whole;
the log is deleted last. Killed anywhere in between, the next start seals the log again.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from app.record import folder as files
from app.record.chunked import ChunkedWriter, set_text, write_array
from app.record.columns import flatten
from app.record.framed_log import FramedLogReader, Tail
from app.record.packing import unpack
from app.record.points import BLOCK, UNIT, fold
from app.record.records import (
    FORMAT_NAME,
    FORMAT_VERSION,
    FRAME,
    KEYFRAME,
    LAYOUT,
    NOTE,
    STEP,
    STOP,
)
from app.record.step_codec import Step, StepDecoder
from app.record.step_groups import StepWindow
from app.record.survey import Survey, point_codes, survey_log


@dataclass(frozen=True)
class Sealed:
    """What became of a log."""

    path: Path | None  # of the episode, None when the log held no frame
    num_frames: int
    tail: Tail
    meta: dict[str, Any]


def seal_log(
    log: Path,
    until: int | None = None,
    recovered: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Sealed:
    """Write episode_NNNN.h5 and its meta file beside the log. The log is left; the caller removes it.

    `until` [bytes] ends the log early (it may still grow). `progress` is called with 0..1 every few frames; what it
    raises ends the sealing. Raises LogError (not a log, newer version), OSError (disk full, read-only folder). A
    failure leaves nothing behind but the log.
    """
    survey = survey_log(log, until, progress)
    if survey.num_frames == 0:
        return Sealed(None, 0, survey.tail, {})
    episode = log.with_name(log.name.split(".")[0] + ".h5")
    part = episode.with_name(episode.name + ".part")
    meta = _meta(survey, recovered)
    try:
        with h5py.File(part, "w", libver=("v110", "v110")) as file:
            _write(file, log, survey, meta, progress)
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, episode)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    files.write_meta(episode, meta)
    return Sealed(episode, survey.num_frames, survey.tail, meta)


def _meta(survey: Survey, recovered: bool) -> dict[str, Any]:
    start = survey.start
    problems = list(survey.columns.problems)
    if survey.tail.reason:
        problems.append(f"the end of the log was lost ({survey.tail.lost_bytes} bytes): {survey.tail.reason}")
    created = datetime.datetime.fromtimestamp(float(start.get("time_wall", 0.0)), datetime.timezone.utc)
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "scene_name": start.get("scene_name", ""),
        "created": created.isoformat(timespec="seconds"),
        "num_frames": survey.num_frames,
        "duration": survey.duration,
        "label": survey.label,
        "instruction": survey.instruction,
        "options": start.get("options"),
        "versions": start.get("versions"),
        "settings": start.get("settings"),
        "layout": start.get("layout") or {},
        "recovered": recovered,
        "stopped": survey.stopped,
        "problems": problems,
    }


def _write(file: h5py.File, log: Path, survey: Survey, meta: dict[str, Any], progress) -> None:
    start, num_frames = survey.start, survey.num_frames
    set_text(file, "format", FORMAT_NAME)
    file.attrs["version"] = FORMAT_VERSION
    file.attrs["num_frames"] = num_frames
    _write_text(file, "meta", _json(meta))
    _write_text(file, "scene/yaml", str(start.get("scene_yaml", "")))
    tick = (lambda: None) if progress is None else (lambda: progress(0.5))  # so that an end is heard soon
    survey.columns.open(file, tick)
    points = _Points(file, survey)
    hashes: list[int] = []
    keyframes, notes, segments = _Keyframes(file), _Notes(), []
    points.append(start)
    hashes.append(start.get("hash", 0))
    hash_kind = str(start.get("hash_kind") or "blake2b")  # what logs before version 2 hold
    steps, window, row = StepDecoder(), StepWindow(), 0

    def close_window() -> None:
        survey.columns.write_groups(window.groups, len(window.steps))
        window.clear()
        if progress is not None:
            progress(0.5 + 0.5 * row / num_frames)

    for record in FramedLogReader(log, survey.good_until):
        if record.kind == STEP:
            step = steps.decode(record.payload)
            points.append_step(step)
            hashes.append(step.state_hash)
            notes.add(row, step.extra.get("note", {}))
            if row == 0 or step.extra.get("segment"):
                segments.append((row, str(step.extra.get("segment") or "start")))
            row += 1
            window.add(step)
            if window.full:
                close_window()
            continue
        value = unpack(record.payload)
        if record.kind == LAYOUT:
            steps.add_layout(value)
        elif record.kind == FRAME:
            survey.columns.write(flatten(value["frame"]))
            points.append(value)
            hashes.append(value.get("hash", 0))
            notes.add(row, value.get("note", {}))
            if row == 0 or value.get("segment"):
                segments.append((row, str(value.get("segment") or "start")))
            row += 1
            if progress is not None and row % 50 == 0:
                progress(0.5 + 0.5 * row / num_frames)
        elif record.kind == KEYFRAME and value["row"] <= num_frames:
            keyframes.add(value)
        elif record.kind == NOTE:
            notes.add(row, value)
        elif record.kind == STOP and value.get("hash") and not hashes[-1]:
            hashes[-1] = int(value["hash"])
    close_window()
    survey.columns.close(tick)
    points.close()
    _write_hashes(file.require_group("state"), hashes, hash_kind)
    keyframes.close()
    notes.write(file)
    _write_rows_and_texts(file.create_group("segments"), segments, "reason")


def _write_hashes(group: h5py.Group, hashes: list[int], kind: str) -> None:
    writer = ChunkedWriter(group, "hash", np.uint64)
    writer.extend(np.array(hashes, np.uint64))
    set_text(writer.close(), "hash", kind)


class _Points:
    """points/code, as wide as the widest row; points/count when the number of points changes."""

    def __init__(self, file: h5py.File, survey: Survey):
        self._most, self._count = survey.most_points, int(survey.start.get("num_points") or 0)
        self._code = self._counts = None
        if not self._most:
            return
        rows = BLOCK
        while rows > 1 and rows * self._most * 12 > 64 * 1024 * 1024:
            rows //= 2
        group = file.create_group("points")
        group.attrs["unit"] = UNIT
        group.attrs["block"] = BLOCK
        group.attrs["row0_is_copy"] = int(bool(survey.start.get("row0_is_copy")))
        self._code = ChunkedWriter(group, "code", np.uint32, (3, self._most), rows=rows)
        if survey.points_change:
            self._counts = ChunkedWriter(group, "count", np.int64)

    def append(self, value: dict[str, Any]) -> None:
        """Of a START or FRAME record."""
        if self._code is None:
            return
        self._count = int(value.get("num_points", self._count))
        self._append(point_codes(value, self._count))

    def append_step(self, step: Step) -> None:
        if self._code is None:
            return
        self._count = step.num_points
        self._append(fold(np.frombuffer(step.points, "<u4").reshape(-1, 3).T))

    def _append(self, codes: np.ndarray) -> None:
        short = self._most - self._count
        self._code.append(np.pad(codes, ((0, 0), (0, short))) if short else codes)
        if self._counts is not None:
            self._counts.append(self._count)

    def close(self) -> None:
        for writer in (self._code, self._counts):
            if writer is not None:
                writer.close()


class _Keyframes:
    """state/keyframe_row, state/keyframe_restart, state/keyframe/000000/<array>"""

    def __init__(self, file: h5py.File):
        self._state = file.require_group("state")
        self._rows: list[tuple[int, int]] = []

    def add(self, value: dict[str, Any]) -> None:
        group = self._state.create_group(f"keyframe/{len(self._rows):06d}")
        group.attrs["row"] = value["row"]
        group.attrs["restart"] = int(bool(value.get("restart")))
        for name, array in value["state"].items():
            set_text(write_array(group, name.replace("/", "_"), array), "name", name)
        self._rows.append((int(value["row"]), int(bool(value.get("restart")))))

    def close(self) -> None:
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 2)
        self._state.create_dataset("keyframe_row", data=rows[:, 0])
        self._state.create_dataset("keyframe_restart", data=rows[:, 1].astype(np.uint8))


class _Notes:
    def __init__(self):
        self._events: list[tuple[int, str]] = []
        self._requests: list[tuple[int, str]] = []

    def add(self, row: int, note: dict[str, Any]) -> None:
        self._events += [(row, str(text)) for text in note.get("events", [])]
        self._requests += [(row, _json(request)) for request in note.get("requests", [])]

    def write(self, file: h5py.File) -> None:
        _write_rows_and_texts(file.create_group("events"), self._events, "text")
        _write_rows_and_texts(file.create_group("requests"), self._requests, "request")


def _write_rows_and_texts(group: h5py.Group, entries: list[tuple[int, str]], name: str) -> None:
    texts = [text.encode("utf-8", "replace")[: 16 * 1024] for _, text in entries]
    rows = ChunkedWriter(group, "row", np.int64)
    cells = ChunkedWriter(group, name, f"S{max(map(len, texts), default=1) or 1}")
    for (row, _), text in zip(entries, texts, strict=True):
        rows.append(row)
        cells.append(text)
    rows.close()
    cells.close()


def _write_text(file: h5py.File, path: str, text: str) -> None:
    data = np.array([text.encode("utf-8", "replace")])  # 1 entry rather than a scalar: chunked, thus compressed
    group, name = path.rpartition("/")[::2]
    writer = ChunkedWriter(file.require_group(group) if group else file, name, data.dtype if data[0] else "S1", rows=1)
    writer.extend(data)
    writer.close()


def _json(value: Any) -> str:
    return json.dumps(value, default=lambda v: v.tolist() if isinstance(v, np.ndarray) else str(v), ensure_ascii=False)
