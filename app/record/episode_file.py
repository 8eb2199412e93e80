"""The HDF5 file under an episode: typed reading of what may be damaged or hostile.

Sizes are checked before memory is taken, nothing outside the file is followed, and what damage makes h5py or numpy
raise becomes an EpisodeError.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from app.record.chunked import LayoutError, read_array, read_attr, read_rows

_MAX_TEXT_BYTES = 64 * 1024 * 1024  # of the scene's text
_MAX_DEPTH = 16  # of groups in groups


class EpisodeError(Exception):
    """The file is not an episode that this version can read; the text says why and what would fit."""


class UnknownColumn(KeyError):
    """No such column; the text lists those there are."""

    __str__ = Exception.__str__  # KeyError would show the text quoted


# what damaged files make h5py and numpy raise
DAMAGE = (LayoutError, KeyError, IndexError, ValueError, TypeError, RuntimeError, OSError, OverflowError, MemoryError)


def guarded(method):
    """Every error that damage can cause becomes an EpisodeError. For methods of objects with a `path`."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except UnknownColumn:
            raise
        except DAMAGE as error:
            raise EpisodeError(f"{self.path.name}: {error}") from None

    return call


class EpisodeFile:
    """Items of one file by path. Raises EpisodeError: not HDF5, or a link; LayoutError and the like for damage."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            raise EpisodeError(f"{path.name} is not a readable HDF5 file ({error})") from None

    def close(self) -> None:
        self._file.close()

    def attribute(self, name: str, default: Any = None) -> Any:
        """Of the file itself."""
        return read_attr(self._file, name, default)

    def item(self, path: str) -> h5py.Group | h5py.Dataset | None:
        """The object at a path of this very file; links that lead elsewhere are refused."""
        item: Any = self._file
        if not item:
            raise EpisodeError(f"{self.path.name} is closed")
        for name in path.split("/"):
            if not isinstance(item, h5py.Group) or name not in item.keys():
                return None
            if not isinstance(item.get(name, getlink=True), h5py.HardLink):
                raise EpisodeError(f"{self.path.name}: {path} is a link, which episodes do not have")
            item = item[name]
        return item if isinstance(item, (h5py.Group, h5py.Dataset)) else None

    def dataset(self, path: str) -> h5py.Dataset | None:
        item = self.item(path)
        return item if isinstance(item, h5py.Dataset) else None

    def groups(self, path: str) -> list[str]:
        """Names of the groups in a group ("": in the file itself), sorted."""
        inside = self.item(path) if path else self._file
        return sorted(n for n in inside if isinstance(self.item(f"{path}/{n}".strip("/")), h5py.Group))

    def column(self, path: str) -> h5py.Group | h5py.Dataset | None:
        """The item when it is a column: one with the attribute `kind`."""
        item = self.item(path)
        return item if item is not None and "kind" in item.attrs else None

    def columns(self) -> list[str]:
        """Paths of all columns, sorted."""
        found: list[str] = []

        def walk(group: h5py.Group, prefix: str, depth: int) -> None:
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise EpisodeError(f"{self.path.name}: {prefix + name} is a link, which episodes do not have")
                item = group[name]
                if "kind" in item.attrs and isinstance(item, (h5py.Group, h5py.Dataset)):
                    found.append(prefix + name)
                elif isinstance(item, h5py.Group) and depth < _MAX_DEPTH:
                    walk(item, prefix + name + "/", depth + 1)

        walk(self._file, "", 0)
        return sorted(found)

    def text(self, path: str) -> str:
        """A text of its own; "" when there is none."""
        dataset = self.dataset(path)
        if dataset is None:
            return ""
        if dataset.dtype.itemsize > _MAX_TEXT_BYTES or dataset.shape != (1,):
            raise LayoutError(f"{path} is not a text of at most {_MAX_TEXT_BYTES} bytes")
        return bytes(read_rows(dataset, 0, 1)[0]).decode("utf-8", "replace")

    def rows_and_texts(self, group: str, name: str) -> list[tuple[int, str]]:
        rows, texts = self.dataset(f"{group}/row"), self.dataset(f"{group}/{name}")
        if rows is None or texts is None:
            return []
        pairs = zip(read_array(rows), read_array(texts), strict=False)
        return [(int(row), bytes(text).decode("utf-8", "replace")) for row, text in pairs]

    def column_rows(self, path: str, start: int, stop: int, num_frames: int) -> Any:
        """Rows of a column: an array, or a list for texts, JSON and arrays of changing shape."""
        item = self.item(path)
        kind = read_attr(item, "kind")
        if kind == "ragged":
            return self._ragged(item, start, stop, num_frames)
        texts = kind in ("text", "json")
        if not isinstance(item, h5py.Dataset) or (texts and (item.ndim != 1 or item.dtype.kind != "S")):
            raise LayoutError(f"{path} is not the {kind} column that it says it is")
        data = read_rows(item, start, stop)
        if kind == "text":
            return [cell.decode("utf-8", "replace") for cell in data]
        if kind == "json":
            return [from_json(cell) for cell in data]
        return data

    def _ragged(self, group: h5py.Group, start: int, stop: int, num_frames: int) -> list[np.ndarray | None]:
        base = group.name.strip("/")
        row, shape, offset, value = (self.dataset(f"{base}/{name}") for name in ("row", "shape", "offset", "value"))
        if row is None or shape is None or offset is None or value is None:
            raise LayoutError(f"{base} lacks one of row, shape, offset, value")
        rows, shapes, offsets = read_array(row), read_array(shape), read_array(offset)
        if not 0 <= start <= stop <= num_frames or len(offsets) != len(rows) + 1 or len(shapes) != len(rows):
            raise LayoutError(f"{base}: rows {start}..{stop} of {num_frames}, or lengths that disagree")
        out: list[np.ndarray | None] = [None] * (stop - start)
        for j in np.flatnonzero((rows >= start) & (rows < stop)):
            data = read_rows(value, int(offsets[j]), int(offsets[j + 1]))
            out[int(rows[j]) - start] = data.reshape([int(n) for n in shapes[j] if n >= 0])
        return out


def from_json(cell: bytes) -> Any:
    """The value of a JSON text; the text itself when it was cut at the size limit while recording."""
    text = cell.decode("utf-8", "replace")
    try:
        return json.loads(text) if text else ""
    except (ValueError, RecursionError):
        return text
