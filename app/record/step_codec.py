"""One recorded step as bytes: numbers, texts and arrays behind each other in an order that is said once.

A frame has the same leaves as the one before, nearly always. So the log says once which ones there are (a LAYOUT
record: path and code of each column) and then writes steps (STEP records, little-endian)::

    head     u32 layout | u32 row | u64 hash | u32 points | u32 bytes of text | u32 bytes of extra | u32 bytes of points
    numbers  8 bytes each: float64 (code "d") or int64 (code "q", also truth values)
    shapes   u32 for each dimension of each array
    text     JSON list of all texts and lists (code "t"); extra: what only some steps have, as `packing.pack` writes it
    points   what changed in the positions, uint32 (P, 3) (`app.record.points.difference`)
    arrays   their bytes, in C order (code: type and number of dimensions, "<f8:2")

Nothing of this is taken at its word when it is read: lengths are checked before memory is taken.
"""

from __future__ import annotations

import json
import math
import re
import struct
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from app.record.leaves import Leaves
from app.record.packing import PackingError, pack, unpack

MAX_COLUMNS = 5000  # of one layout
MAX_PATH = 1000  # characters
MAX_LAYOUTS = 2000  # of one log
MAX_SHAPES = 50  # kept while writing
_HEAD = struct.Struct("<IIQIIII")
_CODE = re.compile(r"^(d|q|t|[<|][biuf]\d{1,2}:\d)$")
_MAX_DIMENSIONS = 8
_INT64 = 2**63


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


_JSON = json.JSONEncoder(separators=(",", ":"), default=_listed)


@dataclass(frozen=True)
class StepLayout:
    """Columns of a step: (path, code). Raises PackingError for codes that are none."""

    columns: tuple[tuple[str, str], ...]

    def __post_init__(self):
        for path, code in self.columns:
            if not isinstance(path, str) or not isinstance(code, str) or not _CODE.match(code):
                raise PackingError(f"column {path!r} has the code {code!r}, which is none")
            if (
                len(path) > MAX_PATH
                or "\0" in path
                or any(part.strip(". ") != part or not part for part in path.split("/"))
            ):
                raise PackingError(f"{path[:100]!r} is no path of a column")
        if len(dict(self.columns)) != len(self.columns):
            raise PackingError("a layout names a column twice")
        if len(self.columns) > MAX_COLUMNS:
            raise PackingError(f"{len(self.columns)} columns in a step, at most {MAX_COLUMNS} are read")

    @cached_property
    def numbers(self) -> tuple[tuple[str, str], ...]:
        return tuple(column for column in self.columns if column[1] in ("d", "q"))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(path for path, code in self.columns if code == "t")

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.dtype, int], ...]:
        """(path, type, number of dimensions)"""
        found = []
        for path, code in self.columns:
            if ":" in code:
                name, _, ndim = code.partition(":")
                if int(ndim) > _MAX_DIMENSIONS:
                    raise PackingError(f"array {path!r} has {ndim} dimensions, at most {_MAX_DIMENSIONS} are read")
                try:
                    found.append((path, np.dtype(name), int(ndim)))
                except TypeError:
                    raise PackingError(f"array type {name!r} is unknown") from None
        return tuple(found)

    @cached_property
    def number_format(self) -> struct.Struct:
        return struct.Struct("<" + "".join(code for _, code in self.numbers))

    @cached_property
    def shape_format(self) -> struct.Struct:
        return struct.Struct(f"<{sum(ndim for _, _, ndim in self.arrays)}I")

    def shapes(self, data: bytes) -> list[tuple[int, ...]]:
        """Of each array, from the bytes of a step."""
        sizes, at, found = self.shape_format.unpack(data), 0, []
        for _, _, ndim in self.arrays:
            found.append(sizes[at : at + ndim])
            at += ndim
        return found

    def array_bytes(self, data: bytes) -> int:
        """What arrays of these shapes take."""
        shapes = self.shapes(data)
        return sum(t.itemsize * math.prod(s) for (_, t, _), s in zip(self.arrays, shapes, strict=True))


class StepEncoder:
    """Makes STEP payloads; says when a LAYOUT has to be written before one.

    `encode` gives (payload, layout to be written first or None). The layout counts as written when `settled` was
    called: a disk may refuse it.
    """

    def __init__(self):
        self._numbers: dict[tuple, int] = {}
        self._last: _Shape | None = None
        self._texts = _Texts()
        self._shapes: dict[tuple[str, ...], _Shape] = {}  # the last of each set of paths
        self._layouts: list[StepLayout] = []

    def encode(
        self, leaves: Leaves, row: int, state_hash: int, num_points: int, points: Any, extra: dict[str, Any]
    ) -> tuple[bytes, StepLayout | None]:
        """`points`: bytes or contiguous array. Raises PackingError: too many layouts, values that cannot be packed."""
        paths, values = leaves.paths, leaves.values
        last = self._last
        if last is None or last.paths is not paths:
            last = self._shapes.get(paths)
        if last is None or not last.fits(values, leaves.settled if last.paths is paths else 0):
            last = self._adopt(paths, values)
            if not last.fits(values, 0):
                raise PackingError("cannot pack a step: its numbers do not fit")
        self._last = last
        arrays = last.arrays(values)
        try:
            text = self._texts.encode(last.texts(values))
            rest = pack(extra) if extra else b""
            head = _HEAD.pack(last.number, row, state_hash, num_points, len(text), len(rest), _size(points))
        except (TypeError, ValueError, RecursionError, struct.error) as error:
            raise PackingError(f"cannot pack a step: {error}") from None
        parts = (head, last.packed, last.sizes, text, rest, points)
        try:
            payload = b"".join((*parts, *arrays))
        except TypeError:  # an array that is not contiguous
            payload = b"".join((*parts, *map(np.ascontiguousarray, arrays)))
        return payload, last.layout if last.number == len(self._layouts) else None

    def settled(self) -> None:
        """The layout that `encode` gave is in the log."""
        if self._last is not None and self._last.number == len(self._layouts):
            self._layouts.append(self._last.layout)
            self._numbers[self._last.layout.columns] = self._last.number

    def _adopt(self, paths: tuple[str, ...], values: tuple) -> _Shape:
        columns = tuple((path, _code(value)) for path, value in zip(paths, values, strict=True))
        number = self._numbers.get(columns, len(self._layouts))
        if number >= MAX_LAYOUTS:
            raise PackingError(f"the fields of a frame have changed {MAX_LAYOUTS} times; stop and record anew")
        layout = self._layouts[number] if number < len(self._layouts) else StepLayout(columns)
        if len(self._shapes) >= MAX_SHAPES:
            self._shapes.clear()
        self._shapes[paths] = shape = _Shape(number, layout, paths, values)
        return shape


class _Texts:
    """JSON lists of texts that are nearly all known already."""

    MOST = 1000

    def __init__(self):
        self._known: dict[str, str] = {}

    def encode(self, values: tuple) -> bytes:
        known = self._known
        found = [known.get(value) if type(value) is str else None for value in values]
        if None in found:
            found = [self._one(value) if text is None else text for value, text in zip(values, found, strict=True)]
        return f"[{','.join(found)}]".encode("utf-8", "surrogatepass")

    def _one(self, value: Any) -> str:
        if type(value) is list and not value:
            return "[]"
        text = _JSON.encode(value)
        if type(value) is str and len(text) <= 200:
            if len(self._known) >= self.MOST:
                self._known.clear()
            self._known[value] = text
        return text


class _Shape:
    """How the values of one layout are taken apart, while their types stay as they are."""

    def __init__(self, number: int, layout: StepLayout, paths: tuple[str, ...], values: tuple):
        self.number, self.layout, self.paths = number, layout, paths
        codes = [code for _, code in layout.columns]
        self.numbers = _picker([i for i, code in enumerate(codes) if code in ("d", "q")])
        self.texts = _picker([i for i, code in enumerate(codes) if code == "t"])
        self.arrays = _picker([i for i, code in enumerate(codes) if ":" in code])
        self._types = tuple(map(type, values))
        places = [i for i, code in enumerate(codes) if ":" in code]
        self._kinds = {i: (values[i].dtype, values[i].ndim) for i in places}
        self.packed, self.sizes = b"", b""  # numbers and shapes, by `fits`
        self._settle(0, values)

    def fits(self, values: tuple, settled: int) -> bool:
        """The same types, numbers within 64 bits, arrays of the same type and number of dimensions as before. The first
        `settled` values are known to have the types, and the shapes."""
        if settled != self._settled:
            self._settle(0, values)
            if not self._alike(values):
                return False
            self._settle(settled, values)
        return self._alike(values)

    def _alike(self, values: tuple) -> bool:
        try:
            self.packed = self.layout.number_format.pack(*self.numbers(values))
        except struct.error:  # another type, or beyond 64 bits
            return False
        arrays = self._arrays_behind(values)
        if (
            tuple(map(type, values[self._settled :])) != self._types_behind
            or [(array.dtype, array.ndim) for array in arrays] != self._kinds_behind
        ):
            return False
        shapes = [array.shape for array in arrays]
        if shapes != self._shapes_behind:
            self._shapes_behind = shapes
            self.sizes = self.layout.shape_format.pack(*self._sizes_before, *[n for shape in shapes for n in shape])
        return True

    def _settle(self, settled: int, values: tuple) -> None:
        """From now on the first values are known to be alike, so only what is behind them is looked at."""
        self._settled = settled
        before = _picker([i for i in self._kinds if i < settled])(values)
        behind = [i for i in self._kinds if i >= settled]
        self._arrays_behind, self._types_behind = _picker(behind), self._types[settled:]
        self._kinds_behind = [self._kinds[i] for i in behind]
        self._sizes_before = [size for array in before for size in array.shape]
        self._shapes_behind = None


def _size(data: Any) -> int:
    """Bytes of a buffer."""
    return data.nbytes if isinstance(data, np.ndarray) else len(data)


def _picker(places: list[int]):
    """Values at places, always as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple(values[i] for i in places)


def _code(value: Any) -> str:
    """Of a column that holds such values."""
    kind = type(value)
    if kind is float:
        return "d"
    if kind is bool or (kind is int and -_INT64 < value < _INT64):
        return "q"
    native = kind is np.ndarray and value.dtype.kind in "biuf" and value.dtype.str[0] in "<|"
    return f"{value.dtype.str}:{value.ndim}" if native and value.ndim <= _MAX_DIMENSIONS else "t"


@dataclass(frozen=True)
class Step:
    """One step, taken apart but not yet decoded; buffers are views of the payload."""

    layout: StepLayout
    row: int
    state_hash: int
    num_points: int
    numbers: memoryview
    shapes: bytes
    text: bytes
    extra: dict[str, Any]
    points: memoryview
    arrays: memoryview


class StepDecoder:
    """Reads STEP payloads. Raises PackingError for anything that is not what StepEncoder writes."""

    def __init__(self):
        self._layouts: list[StepLayout] = []
        self._array_bytes: dict[tuple[int, bytes], int] = {}

    def add_layout(self, value: Any) -> None:
        """Contents of a LAYOUT record, in the order of the log."""
        if len(self._layouts) >= MAX_LAYOUTS:
            raise PackingError(f"more than {MAX_LAYOUTS} layouts")
        self._layouts.append(StepLayout(tuple((str(path), str(code)) for path, code in value["columns"])))

    def decode(self, payload: bytes) -> Step:
        if len(payload) < _HEAD.size:
            raise PackingError("a step is too short")
        number, row, state_hash, num_points, *lengths = _HEAD.unpack_from(payload)
        if number >= len(self._layouts):
            raise PackingError(f"a step of layout {number}, there are {len(self._layouts)}")
        layout = self._layouts[number]
        view, parts, at = memoryview(payload), [], _HEAD.size
        for size in (layout.number_format.size, layout.shape_format.size, *lengths):
            parts.append(view[at : at + size])
            at += size
        numbers, shapes, text, extra, points = parts
        if at > len(payload):
            raise PackingError(f"a step claims {at} bytes, has {len(payload)}")
        shapes = bytes(shapes)
        wanted = self._array_bytes.get((number, shapes))
        if wanted is None:
            wanted = layout.array_bytes(shapes)
            if len(self._array_bytes) > 10_000:
                self._array_bytes.clear()
            self._array_bytes[number, shapes] = wanted
        if wanted != len(payload) - at:
            raise PackingError(f"arrays of {wanted} bytes in {len(payload) - at}")
        return Step(
            layout, row, state_hash, num_points, numbers, shapes, bytes(text),
            unpack(bytes(extra)) if len(extra) else {}, points, view[at:],
        )  # fmt: skip


def decode_texts(text: bytes, count: int) -> list[Any]:
    """Values of the columns of code "t". Raises PackingError when they are not `count`."""
    try:
        values = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise PackingError(f"texts of a step are not JSON: {error}") from None
    if not isinstance(values, list) or len(values) != count:
        raise PackingError(f"a step holds {len(values) if isinstance(values, list) else 0} texts, expected {count}")
    return values
