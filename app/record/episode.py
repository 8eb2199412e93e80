"""Reader of sealed episodes.

    episode = Episode("recordings/episode_0007.h5")
    episode.num_frames                    # T physics steps; positions and hashes have T + 1 rows
    episode["sample/twist"]               # (T, 6)
    episode.positions(0)                  # (P, 3) [m] before the first step; positions(T) after the last
    episode.keyframe(0)                   # exact state, dict of arrays

An episode is data from anywhere: sizes are checked before memory is taken, nothing outside the file is followed, and
what does not fit is said in an EpisodeError.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from app.record import folder as files
from app.record.chunked import LayoutError, read_array, read_attr, read_rows
from app.record.points import BLOCK, decode_rows, to_metres
from app.record.records import FORMAT_NAME, FORMAT_VERSION
from app.record.validate import Finding, validate

MAX_FRAMES = 50_000_000
_MAX_TEXT_BYTES = 64 * 1024 * 1024  # of the scene's text
_CACHED_COLUMN_BYTES = 64 * 1024 * 1024


class EpisodeError(Exception):
    """The file is not an episode that this version can read; the text says why and what would fit."""


class UnknownColumn(KeyError):
    """No such column; the text lists those there are."""

    __str__ = Exception.__str__  # KeyError would show the text quoted


# what damaged files make h5py and numpy raise
_DAMAGE = (LayoutError, KeyError, IndexError, ValueError, TypeError, RuntimeError, OSError, OverflowError, MemoryError)


def _guarded(method):
    """Every error that damage can cause becomes an EpisodeError."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except UnknownColumn:
            raise
        except _DAMAGE as error:
            raise EpisodeError(f"{self.path.name}: {error}") from None

    return call


class Episode:
    """One episode, open for reading. Use as a context manager, or call `close`.

    Raises FileNotFoundError; EpisodeError: not HDF5, not an episode, a newer version, damaged.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"no episode {self.path.name} in {self.path.parent.name or '.'}")
        try:
            self._file = h5py.File(self.path, "r")
        except OSError as error:
            raise EpisodeError(f"{self.path.name} is not a readable HDF5 file ({error})") from None
        try:
            self._open()
        except BaseException as error:
            self._file.close()
            if isinstance(error, _DAMAGE):
                raise EpisodeError(f"{self.path.name} is damaged or was not written by Tacktile: {error}") from None
            raise

    def _open(self) -> None:
        name = read_attr(self._file, "format")
        if name != FORMAT_NAME:
            raise EpisodeError(f"{self.path.name} is HDF5, but not a Tacktile episode (format {name!r})")
        self.version = int(read_attr(self._file, "version", 0))
        if self.version > FORMAT_VERSION:
            raise EpisodeError(
                f"{self.path.name} has episode format {self.version}; this version of Tacktile reads up to "
                f"{FORMAT_VERSION}: update Tacktile to open it"
            )
        self.num_frames = int(read_attr(self._file, "num_frames", -1))
        index = self._dataset("frame/index")
        held = 0 if index is None else index.shape[0]
        if not 0 <= self.num_frames == held <= MAX_FRAMES:
            raise EpisodeError(
                f"{self.path.name} declares {self.num_frames} frames and holds {held}; legal are 0 to {MAX_FRAMES}"
            )
        embedded = json.loads(self._text("meta") or "{}")
        beside = files.read_meta(self.path)
        self.meta: dict[str, Any] = {**embedded, **(beside or {})}
        self._columns: dict[str, Any] = {}  # read before
        self._paths: list[str] | None = None
        self._block: tuple[int, np.ndarray] | None = None
        self._code = self._dataset("points/code")
        if self._code is not None and (self._code.ndim != 3 or self._code.shape[1] != 3):
            raise EpisodeError(f"{self.path.name}: points/code has shape {self._code.shape}, expected (T + 1, 3, P)")
        self._counts = self._read_counts()
        rows, restart = self._dataset("state/keyframe_row"), self._dataset("state/keyframe_restart")
        self.keyframe_rows = np.zeros(0, np.int64) if rows is None else read_array(rows)
        self.keyframe_restart = np.zeros(0, bool) if restart is None else read_array(restart).astype(bool)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Episode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.num_frames

    # -- meta ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.path.name.split(".")[0]

    @property
    def label(self) -> str | None:
        return self.meta.get("label")

    @property
    def scene_name(self) -> str:
        return str(self.meta.get("scene_name", ""))

    @property
    def scene_yaml(self) -> str:
        """Text of the scene as it was when recording."""
        return self._text("scene/yaml")

    # -- columns ------------------------------------------------------------------------------------------------

    @_guarded
    def columns(self) -> list[str]:
        """Paths that `episode[path]` knows."""
        if self._paths is not None:
            return list(self._paths)
        found: list[str] = []

        def walk(group: h5py.Group, prefix: str, depth: int) -> None:
            for name in group:
                item = self._item(prefix + name)
                if item is None or "kind" not in item.attrs:
                    if isinstance(item, h5py.Group) and depth < 16:
                        walk(item, prefix + name + "/", depth + 1)
                else:
                    found.append(prefix + name)

        walk(self._file, "", 0)
        self._paths = sorted(found)
        return list(self._paths)

    @_guarded
    def __contains__(self, path: str) -> bool:
        item = self._item(path)
        return item is not None and "kind" in item.attrs

    @_guarded
    def __getitem__(self, path: str) -> Any:
        """All T rows of a column: an array, or a list for text, JSON (decoded) and arrays of changing shape.

        Raises UnknownColumn (a KeyError) with the columns there are; EpisodeError when the data is damaged.
        """
        if path not in self._columns:
            if path not in self:
                raise UnknownColumn(self._no_column(path))
            value = self.rows(path, 0, self.num_frames)
            if getattr(value, "nbytes", 0) > _CACHED_COLUMN_BYTES:
                return value
            self._columns[path] = value
        return self._columns[path]

    @_guarded
    def rows(self, path: str, start: int, stop: int) -> Any:
        """Rows start..stop of a column; for long recordings that do not fit into memory."""
        item = self._item(path)
        if item is None:
            raise UnknownColumn(self._no_column(path))
        kind = read_attr(item, "kind")
        if kind == "ragged":
            return self._ragged(item, start, stop)
        data = read_rows(item, start, stop)
        if kind == "text":
            return [cell.decode("utf-8", "replace") for cell in data]
        if kind == "json":
            return [_from_json(cell) for cell in data]
        return data

    @_guarded
    def column_length(self, path: str) -> int:
        """Rows that a column really has; differs from `num_frames` only in a damaged episode."""
        item = self._item(path)
        return item.shape[0] if isinstance(item, h5py.Dataset) and item.ndim else self.num_frames

    @_guarded
    def frame(self, index: int) -> dict[str, Any]:
        """Everything but the positions of frame `index` (0 <= index < T) as nested dicts.

        Fields that the frame did not have are absent or NaN, as the column's kind says (docs/recording.md).
        """
        self._check_row(index, self.num_frames - 1)
        record: dict[str, Any] = {}
        for path in self.columns():
            value = self._row(path, index)
            if value is None:
                continue
            *parents, name = path.split("/")
            place = record
            for parent in parents:
                place = place.setdefault(parent, {})
            place[name] = value
        return record

    @_guarded
    def control(self, index: int) -> dict[str, np.ndarray] | None:
        """The recorded control of frame `index`, exact; None when the frame had none."""
        self._check_row(index, self.num_frames - 1)
        paths = [path for path in self.columns() if path.startswith("control/")]
        values = {path[len("control/") :]: self._row(path, index) for path in paths}
        if not values or any(v is None for v in values.values()):
            return None
        return values

    # -- rows 0..T ----------------------------------------------------------------------------------------------

    @property
    def num_points(self) -> int:
        """Of the row that has most; a cut adds some. 0 = no positions were recorded."""
        return 0 if self._code is None else self._code.shape[2]

    def points_at(self, row: int) -> int:
        """Number of points in one row."""
        return self.num_points if self._counts is None else int(self._counts[row])

    @property
    def num_position_rows(self) -> int | None:
        """T + 1 in a whole episode, None when no positions were recorded."""
        return None if self._code is None else self._code.shape[0]

    @_guarded
    def positions(self, row: int) -> np.ndarray:
        """Positions [m] (P, 3) before the first step (row 0) or after step `row` (1..T), exact to 0.5 um; lost
        coordinates are NaN. Raises EpisodeError when none were recorded."""
        if self._code is None:
            raise EpisodeError(f"{self.path.name} holds no positions")
        self._check_row(row, self.num_frames)
        first, stop = self._stretch(row)
        if self._block is None or self._block[0] != first:
            codes = read_rows(self._code, first, stop)[:, :, : self.points_at(row)]
            self._block = (first, decode_rows(codes.astype(np.uint32, copy=False)))
        if row - first >= len(self._block[1]):
            raise EpisodeError(f"{self.path.name}: positions end before row {row}")
        return to_metres(self._block[1][row - first])

    @_guarded
    def hashes(self) -> np.ndarray:
        """Hash of the complete state, uint64 (T + 1,), 0 where none was taken."""
        dataset = self._dataset("state/hash")
        if dataset is None:
            return np.zeros(self.num_frames + 1, np.uint64)
        return read_array(dataset).astype(np.uint64, copy=False)

    @_guarded
    def keyframe(self, number: int) -> dict[str, np.ndarray]:
        """Exact state arrays of keyframe `number`; its row is `keyframe_rows[number]`.

        A keyframe with `keyframe_restart[number]` is the state from which frame `row` was stepped after the state had
        been changed (reset, checkpoint); the others are the state after step `row`.
        """
        if not 0 <= number < len(self.keyframe_rows):
            raise EpisodeError(f"{self.path.name} has {len(self.keyframe_rows)} keyframes, asked for number {number}")
        group = self._item(f"state/keyframe/{number:06d}")
        if not isinstance(group, h5py.Group):
            raise EpisodeError(f"{self.path.name}: keyframe {number} is missing")
        state = {}
        for name in group:
            dataset = self._dataset(f"state/keyframe/{number:06d}/{name}")
            state[str(read_attr(dataset, "name", name))] = read_array(dataset)
        return state

    @_guarded
    def segments(self) -> list[tuple[int, str]]:
        """Frames from which on the motion is continuous, with the reason: (0, "start"), (120, "reset"), ..."""
        return self._list("segments", "reason")

    @_guarded
    def events(self) -> list[tuple[int, str]]:
        """(frame, text); an event of frame T happened after the last step."""
        return self._list("events", "text")

    @_guarded
    def requests(self) -> list[tuple[int, str, Any]]:
        """(frame, verb, value): carried out before that frame's step."""
        found = []
        for row, text in self._list("requests", "request"):
            value = _from_json(text.encode())
            if isinstance(value, list) and len(value) == 2:
                found.append((row, str(value[0]), value[1]))
        return found

    # -- checks -------------------------------------------------------------------------------------------------

    def validate(self, positions: bool = True) -> list[Finding]:
        """Findings about this episode, worst first; `positions=False` skips the slow look at every position."""
        return validate(self, positions)

    @_guarded
    def misfits(
        self, scene_name: str | None = None, num_points: int | None = None, state: dict[str, np.ndarray] | None = None
    ) -> list[str]:
        """What does not fit between this episode and a running scene; empty when it can be replayed there."""
        found = []
        if scene_name is not None and scene_name != self.scene_name:
            found.append(f"recorded in the scene {self.scene_name!r}, this is {scene_name!r}")
        if num_points is not None and self.num_points and num_points != self.points_at(0):
            found.append(f"recorded with {self.points_at(0)} points, this scene has {num_points}")
        if state is not None and len(self.keyframe_rows):
            first = self.keyframe(0)
            for name in sorted(set(first) | set(state)):
                if name not in state:
                    found.append(f"state array {name!r} was recorded, this scene has none")
                elif name not in first:
                    found.append(f"state array {name!r} of this scene was not recorded")
                else:
                    now = np.asarray(state[name])
                    if now.dtype != first[name].dtype or now.ndim != first[name].ndim:
                        found.append(
                            f"state array {name!r}: recorded {first[name].shape} {first[name].dtype}, "
                            f"this scene {now.shape} {now.dtype}"
                        )
                    elif now.shape != first[name].shape:
                        found.append(f"state array {name!r}: recorded {first[name].shape}, this scene {now.shape}")
        return found

    # -- inside -------------------------------------------------------------------------------------------------

    def _item(self, path: str) -> h5py.Group | h5py.Dataset | None:
        """The object at a path of this very file; links that lead elsewhere are refused."""
        item: Any = self._file
        for name in path.split("/"):
            if not isinstance(item, h5py.Group) or name not in item.keys():
                return None
            if not isinstance(item.get(name, getlink=True), h5py.HardLink):
                raise EpisodeError(f"{self.path.name}: {path} is a link, which episodes do not have")
            item = item[name]
        return item if isinstance(item, (h5py.Group, h5py.Dataset)) else None

    def _dataset(self, path: str) -> h5py.Dataset | None:
        item = self._item(path)
        return item if isinstance(item, h5py.Dataset) else None

    def _text(self, path: str) -> str:
        dataset = self._dataset(path)
        if dataset is None:
            return ""
        if dataset.dtype.itemsize > _MAX_TEXT_BYTES or dataset.shape != (1,):
            raise LayoutError(f"{path} is not a text of at most {_MAX_TEXT_BYTES} bytes")
        return bytes(read_rows(dataset, 0, 1)[0]).decode("utf-8", "replace")

    def _list(self, group: str, name: str) -> list[tuple[int, str]]:
        rows, texts = self._dataset(f"{group}/row"), self._dataset(f"{group}/{name}")
        if rows is None or texts is None:
            return []
        pairs = zip(read_array(rows), read_array(texts), strict=False)
        return [(int(row), bytes(text).decode("utf-8", "replace")) for row, text in pairs]

    def _no_column(self, path: str) -> str:
        return f"no column {path!r} in {self.name}; there are {', '.join(self.columns())}"

    def _row(self, path: str, index: int) -> Any:
        small = path in self._columns or self._is_small(path)
        value = self[path][index] if small else self.rows(path, index, index + 1)[0]
        if isinstance(value, str) and value == "" and read_attr(self._item(path), "kind") == "json":
            return None
        return value.item() if isinstance(value, np.generic) else value

    def _is_small(self, path: str) -> bool:
        item = self._item(path)
        return isinstance(item, h5py.Group) or item.nbytes <= _CACHED_COLUMN_BYTES

    def _ragged(self, group: h5py.Group, start: int, stop: int) -> list[np.ndarray | None]:
        base = group.name.strip("/")
        row, shape, offset, value = (self._dataset(f"{base}/{name}") for name in ("row", "shape", "offset", "value"))
        if row is None or shape is None or offset is None or value is None:
            raise LayoutError(f"{base} lacks one of row, shape, offset, value")
        rows, shapes, offsets = read_array(row), read_array(shape), read_array(offset)
        if not 0 <= start <= stop <= self.num_frames or len(offsets) != len(rows) + 1 or len(shapes) != len(rows):
            raise LayoutError(f"{base}: rows {start}..{stop} of {self.num_frames}, or lengths that disagree")
        out: list[np.ndarray | None] = [None] * (stop - start)
        for j in np.flatnonzero((rows >= start) & (rows < stop)):
            data = read_rows(value, int(offsets[j]), int(offsets[j + 1]))
            out[int(rows[j]) - start] = data.reshape([int(n) for n in shapes[j] if n >= 0])
        return out

    def _read_counts(self) -> np.ndarray | None:
        """Number of points by row (T + 1,), None when it never changes."""
        dataset = self._dataset("points/count")
        if dataset is None or self._code is None:
            return None
        counts = read_array(dataset)
        if counts.shape != self._code.shape[:1] or counts.min(initial=1) < 1 or counts.max(initial=1) > self.num_points:
            raise EpisodeError(
                f"{self.path.name}: points/count must hold one number from 1 to {self.num_points} for each of "
                f"{self._code.shape[0]} rows"
            )
        return counts

    def _stretch(self, row: int) -> tuple[int, int]:
        """Rows around one that are decoded together: a block, or what a change of the number of points leaves of it."""
        first = row - row % BLOCK
        stop = min(first + BLOCK, self._code.shape[0])
        if self._counts is not None:
            changes = first + 1 + np.flatnonzero(np.diff(self._counts[first:stop]))
            first = max([first, *changes[changes <= row].tolist()])
            stop = min([stop, *changes[changes > row].tolist()])
        return first, stop

    def _check_row(self, row: int, last: int) -> None:
        if not 0 <= row <= last:
            raise EpisodeError(f"{self.name}: row {row} asked for, there are 0 to {last}")


def _from_json(cell: bytes) -> Any:
    text = cell.decode("utf-8", "replace")
    try:
        return json.loads(text) if text else ""
    except (ValueError, RecursionError):
        return text  # cut at the size limit when recorded
