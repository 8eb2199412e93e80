"""From one nested record a frame to columns: what is `frame["signals"]["joint_force"]` in frame i becomes row i of
the dataset `signals/joint_force`.

The shape of the columns is not known before the last frame was seen (a device appears, an array grows), so sealing
goes over the log twice: `Columns.observe` for every frame, then `Columns.write` for every frame.

Kinds of column (attribute `kind` of the dataset or group):

* `number`: (T,) int64 or float64; a bool is 0 or 1; frames without the field hold NaN (then always float64).
* `text`: (T,) fixed-length UTF-8. `json`: the same, each cell a JSON text; frames without the field hold "".
* `array`: (T, ...) in the array's own type; frames without it hold NaN (only float arrays of at most 64 numbers).
* `ragged`: a group for arrays that are not in every frame or change shape: `row` (k,) frame of each array, `shape`
  (k, n), `offset` (k+1,), `value` (all numbers); array j is `value[offset[j]:offset[j+1]].reshape(shape[j])`, with
  entries -1 of the shape left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from app.record.chunked import ChunkedWriter, set_text

if TYPE_CHECKING:
    from app.record.step_groups import StepGroup

MAX_COLUMNS = 2000
MAX_TEXT_BYTES = 16 * 1024  # of one cell
_SMALL = 64  # numbers
_JSON_FIELDS = ("sample/raw", "status/raw")  # free-form: one JSON cell rather than a column for each key


def flatten(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Paths "a/b/c" to leaves (None, bool, int, float, str, list, array) of nested dicts; None leaves are left out."""
    leaves: dict[str, Any] = {}
    for key, value in record.items():
        name = key.replace("/", "_").strip(". ") or "_"
        path = f"{prefix}{name}"
        if isinstance(value, dict) and path not in _JSON_FIELDS:
            leaves.update(flatten(value, path + "/"))
        elif value is not None:
            leaves[path] = value
    return leaves


class _Column:
    """What is known of one path, then its writers."""

    def __init__(self):
        self.kind = ""  # "number", "text", "json", "array"
        self.count = 0
        self.integer = True
        self.width = 1
        self.shape: tuple[int, ...] | None = None
        self.dtype: np.dtype | None = None
        self.same_shape = True
        self.ndim = 0
        self.cut = False  # a text was longer than MAX_TEXT_BYTES

    def observe(self, value: Any, count: int = 1) -> None:
        """`count` frames have this value, or one of its type and shape."""
        kind = _kind_of(value)
        self.count += count
        if self.kind and kind != self.kind:
            self.kind = "json"  # a field that changes its nature: keep all of it as text
            self.width = MAX_TEXT_BYTES
        else:
            self.kind = self.kind or kind
        if kind == "number":
            self.integer &= isinstance(value, (bool, int)) and abs(value) < 2**63
        elif kind == "array":
            self.same_shape &= self.shape in (None, value.shape)
            self.shape = value.shape
            self.ndim = max(self.ndim, value.ndim)
            self.dtype = value.dtype if self.dtype is None else np.result_type(self.dtype, value.dtype)
        if self.kind in ("text", "json"):
            length = len(self.cell(value, MAX_TEXT_BYTES + 1))
            self.width = min(max(self.width, length), MAX_TEXT_BYTES)
            self.cut |= length > MAX_TEXT_BYTES

    def plan(self, num_frames: int) -> str:
        if self.kind != "array":
            return self.kind
        missing = self.count < num_frames
        small = math.prod(self.shape) <= _SMALL and self.dtype.kind == "f"
        return "array" if self.same_shape and (small or not missing) else "ragged"

    def cell(self, value: Any, limit: int = MAX_TEXT_BYTES) -> bytes:
        """What is stored for a text or json value."""
        if self.kind == "text":
            text = value
        else:
            text = json.dumps(value, default=_listed, separators=(",", ":"))
        return text.encode("utf-8", "replace")[:limit]


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


def _kind_of(value: Any) -> str:
    if isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**63):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return "array"
    return "json"


class Columns:
    """All columns of an episode."""

    def __init__(self):
        self._columns: dict[str, _Column] = {}
        self.num_frames = 0
        self.problems: list[str] = []
        self._dropped: set[str] = set()

    def observe(self, leaves: dict[str, Any]) -> None:
        """First pass."""
        self.num_frames += 1
        for path, value in leaves.items():
            column = self._columns.get(path)
            if column is None:
                if len(self._columns) >= MAX_COLUMNS:
                    self._dropped.add(path)
                    continue
                column = self._columns[path] = _Column()
            column.observe(value)

    def open(self, file: h5py.File, tick: Callable[[], None] = lambda: None) -> None:
        """Between the passes: make the datasets. `tick` is called before each; what it raises ends it."""
        if self._dropped:
            self.problems.append(f"{len(self._dropped)} fields beyond {MAX_COLUMNS} were not stored")
        cut = [path for path, column in self._columns.items() if column.cut]
        if cut:
            self.problems.append(f"texts beyond {MAX_TEXT_BYTES} bytes were cut in {', '.join(cut[:5])}")
        taken = set()
        for path in self._columns:  # "a" as a field in one frame and as a group in another: the group wins
            parts = path.split("/")
            taken.update("/".join(parts[:n]) for n in range(1, len(parts)))
        self._writers = {}
        for path, column in self._columns.items():
            tick()
            name = path + "_" if path in taken else path
            self._writers[path] = _WRITERS[column.plan(self.num_frames)](file, name, column, self.num_frames)

    def observe_group(self, group: StepGroup) -> None:
        """First pass over steps of one layout."""
        self.num_frames += len(group.places)
        for path, sample, count in group.samples():
            column = self._columns.get(path)
            if column is None:
                if len(self._columns) >= MAX_COLUMNS:
                    self._dropped.add(path)
                    continue
                column = self._columns[path] = _Column()
            column.observe(sample, count)

    def write_groups(self, groups: Sequence[StepGroup], count: int) -> None:
        """Second pass over `count` frames that follow each other, sorted into groups."""
        found = [(group.places, group.values()) for group in groups]
        for path, writer in self._writers.items():
            writer.extend([(places, values[path]) for places, values in found if path in values], count)

    def write(self, leaves: dict[str, Any]) -> None:
        """Second pass, the same frames in the same order."""
        for path, writer in self._writers.items():
            writer.append(leaves.get(path))

    def close(self, tick: Callable[[], None] = lambda: None) -> None:
        for writer in self._writers.values():
            tick()
            writer.close()


def _parent(file: h5py.File, path: str) -> tuple[h5py.Group, str]:
    group, _, name = path.rpartition("/")
    return (file.require_group(group) if group else file), name


class _NumberWriter:
    kind = "number"

    def __init__(self, file, path, column: _Column, num_frames: int):
        whole = column.integer and column.count == num_frames
        self._dtype_ = self._dtype(column, whole)
        self._writer = ChunkedWriter(*_parent(file, path), self._dtype_)
        self._column = column
        self._missing = self._blank(whole)

    def _dtype(self, column, whole):
        return np.int64 if whole else np.float64

    def _blank(self, whole):
        return 0 if whole else np.nan

    def append(self, value) -> None:
        self._writer.append(self._missing if value is None else value)

    def extend(self, parts: list[tuple[np.ndarray, Any]], count: int) -> None:
        """`count` frames: parts are (places among them, their values); the other frames lack the field."""
        cells = np.full(count, self._missing, self._dtype_)
        for places, values in parts:
            cells[places] = values
        self._writer.extend(cells)

    def close(self) -> None:
        set_text(self._writer.close(), "kind", self.kind)


class _TextWriter(_NumberWriter):
    def __init__(self, file, path, column, num_frames):
        self.kind = column.kind
        super().__init__(file, path, column, num_frames)

    def _dtype(self, column, whole):
        return f"S{column.width}"

    def _blank(self, whole):
        return b""

    def append(self, value) -> None:
        self._writer.append(b"" if value is None else self._column.cell(value))

    def extend(self, parts: list[tuple[np.ndarray, Any]], count: int) -> None:
        cells = np.full(count, b"", self._dtype_)
        for places, values in parts:
            made: dict[int, bytes] = {}  # texts that do not change are one object in the list
            for place, value in zip(places.tolist(), values, strict=True):
                cell = made.get(id(value)) if isinstance(values, list) else None
                if cell is None:
                    cell = made[id(value)] = self._column.cell(value.item() if isinstance(value, np.generic) else value)
                cells[place] = cell
        self._writer.extend(cells)


class _ArrayWriter:
    def __init__(self, file, path, column: _Column, num_frames: int):
        dtype = np.dtype(np.uint8) if column.dtype.kind == "b" else column.dtype
        self._missing = np.nan if dtype.kind == "f" else 0
        self._dtype, self._shape = dtype, column.shape
        self._writer = ChunkedWriter(*_parent(file, path), dtype, column.shape)

    def append(self, value) -> None:
        self._writer.append(self._missing if value is None else value)

    def extend(self, parts: list[tuple[np.ndarray, Any]], count: int) -> None:
        if len(parts) == 1 and len(parts[0][0]) == count:
            self._writer.extend(parts[0][1])
            return
        rows = np.full((count, *self._shape), self._missing, self._dtype)
        for places, values in parts:
            rows[places] = values
        self._writer.extend(rows)

    def close(self) -> None:
        set_text(self._writer.close(), "kind", "array")


class _RaggedWriter:
    def __init__(self, file, path, column: _Column, num_frames: int):
        parent, name = _parent(file, path)
        self._group = parent.create_group(name)
        set_text(self._group, "kind", "ragged")
        dtype = np.dtype(np.uint8) if column.dtype.kind == "b" else column.dtype
        self._ndim = max(1, column.ndim)
        self._row = ChunkedWriter(self._group, "row", np.int64)
        self._shape = ChunkedWriter(self._group, "shape", np.int64, (self._ndim,))
        self._offset = ChunkedWriter(self._group, "offset", np.int64)
        self._value = ChunkedWriter(self._group, "value", dtype, rows=65536)
        self._frame = 0
        self._size = 0
        self._offset.append(0)

    def append(self, value) -> None:
        if value is not None:
            self._row.append(self._frame)
            self._shape.append(list(value.shape) + [-1] * (self._ndim - value.ndim))
            self._value.extend(np.ascontiguousarray(value).reshape(-1))
            self._size += value.size
            self._offset.append(self._size)
        self._frame += 1

    def extend(self, parts: list[tuple[np.ndarray, Any]], count: int) -> None:
        found: list[Any] = [None] * count
        for places, values in parts:
            for place, value in zip(places.tolist(), values, strict=True):
                found[place] = value
        for value in found:
            self.append(value)

    def close(self) -> None:
        for writer in (self._row, self._shape, self._offset, self._value):
            writer.close()


_WRITERS = {
    "number": _NumberWriter,
    "text": _TextWriter,
    "json": _TextWriter,
    "array": _ArrayWriter,
    "ragged": _RaggedWriter,
}
