"""Reader of sealed episodes.

    episode = Episode("recordings/episode_0007.h5")
    episode.num_frames                    # T physics steps; positions and hashes have T + 1 rows
    episode["sample/twist"]               # (T, 6), any column by its path
    episode.actions["body_transform"]     # (T, 1, D, 4, 4): targets given to the engine
    episode.signals["drive_force"]        # (T, 1, D, 3) [N]
    episode.time.simulated                # (T,) [s]; also wall, monotonic, device, receive
    episode.states[0]                     # (P, 3) [m] before the first step; states[T] after the last
    episode.keyframe(0)                   # exact state, dict of arrays
    episode.events()                      # [(frame, text), ...]

Nothing is read before it is asked for. An episode is data from anywhere: sizes are checked before memory is taken,
nothing outside the file is followed, and what does not fit is said in an EpisodeError.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from app.record import folder as files
from app.record.camera_file import CameraPictures
from app.record.chunked import read_array, read_attr
from app.record.column_views import Clocks, ColumnGroup
from app.record.episode_file import DAMAGE, EpisodeError, EpisodeFile, UnknownColumn, from_json, guarded
from app.record.misfits import misfits
from app.record.position_rows import PositionRows
from app.record.records import FORMAT_NAME, FORMAT_VERSION
from app.record.state_hash import state_hash
from app.record.validate import Finding, validate

__all__ = ["Episode", "EpisodeError", "UnknownColumn"]

MAX_FRAMES = 50_000_000
_CACHED_COLUMN_BYTES = 64 * 1024 * 1024


class Episode:
    """One episode, open for reading. Use as a context manager, or call `close`.

    Raises FileNotFoundError; EpisodeError: not HDF5, not an episode, a newer version, damaged.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"no episode {self.path.name} in {self.path.parent.name or '.'}")
        self._file = EpisodeFile(self.path)
        try:
            self._open()
        except BaseException as error:
            self._file.close()
            if isinstance(error, DAMAGE):
                raise EpisodeError(f"{self.path.name} is damaged or was not written by Tacktile: {error}") from None
            raise

    def _open(self) -> None:
        name = self._file.attribute("format")
        if name != FORMAT_NAME:
            raise EpisodeError(f"{self.path.name} is HDF5, but not a Tacktile episode (format {name!r})")
        self.version = int(self._file.attribute("version", 0))
        if self.version > FORMAT_VERSION:
            raise EpisodeError(
                f"{self.path.name} has episode format {self.version}; this version of Tacktile reads up to "
                f"{FORMAT_VERSION}: update Tacktile to open it"
            )
        self.num_frames = int(self._file.attribute("num_frames", -1))
        index = self._file.dataset("frame/index")
        held = 0 if index is None else index.shape[0]
        if not 0 <= self.num_frames == held <= MAX_FRAMES:
            raise EpisodeError(
                f"{self.path.name} declares {self.num_frames} frames and holds {held}; legal are 0 to {MAX_FRAMES}"
            )
        embedded = json.loads(self._file.text("meta") or "{}")
        beside = files.read_meta(self.path)
        self.meta: dict[str, Any] = {**embedded, **(beside or {})}
        self._columns: dict[str, Any] = {}  # read before
        self._paths: list[str] | None = None
        self._cameras: CameraPictures | None = None
        code = self._file.dataset("points/code")
        self._points = None if code is None else PositionRows(code, self._file.dataset("points/count"))
        rows, restart = self._file.dataset("state/keyframe_row"), self._file.dataset("state/keyframe_restart")
        self.keyframe_rows = np.zeros(0, np.int64) if rows is None else read_array(rows)
        self.keyframe_restart = np.zeros(0, bool) if restart is None else read_array(restart).astype(bool)
        if self.keyframe_rows.ndim != 1 or self.keyframe_restart.shape != self.keyframe_rows.shape:
            raise EpisodeError(
                f"{self.path.name}: state/keyframe_row {self.keyframe_rows.shape} and state/keyframe_restart "
                f"{self.keyframe_restart.shape} must be two lists of one length"
            )

    def close(self) -> None:
        self._file.close()
        if self._cameras is not None:
            self._cameras.close()

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
    def instruction(self) -> str:
        """What was to be done, in words; "" when nobody said."""
        return str(self.meta.get("instruction") or "")

    @property
    def scene_name(self) -> str:
        return str(self.meta.get("scene_name", ""))

    @property
    @guarded
    def scene_yaml(self) -> str:
        """Text of the scene as it was when recording."""
        return self._file.text("scene/yaml")

    @property
    def layout(self) -> dict[str, Any]:
        """Names behind rows of arrays, as the scene began: `driven`, `joints`, `tools`, `meshes` (docs/recording.md).
        {} in episodes that older versions recorded."""
        layout = self.meta.get("layout")
        return layout if isinstance(layout, dict) else {}

    @property
    def kept(self) -> tuple[int, int]:
        """First and last + 1 of the frames that a trim keeps; (0, T) without one. Nothing else here looks at it."""
        trim = self.meta.get("trim")
        if not isinstance(trim, list) or len(trim) != 2 or not all(isinstance(row, int) for row in trim):
            return 0, self.num_frames
        start, stop = (min(max(row, 0), self.num_frames) for row in trim)
        return (start, stop) if start < stop else (0, self.num_frames)

    # -- columns ------------------------------------------------------------------------------------------------

    @property
    def actions(self) -> ColumnGroup:
        """Targets given to the engine in each step, exact."""
        return ColumnGroup(self, "control")

    @property
    def commands(self) -> ColumnGroup:
        """The operator's intent in each step, before limits and robot."""
        return ColumnGroup(self, "command")

    @property
    def signals(self) -> ColumnGroup:
        """What was felt after each step: forces, gaps, joints."""
        return ColumnGroup(self, "signals")

    @property
    def tactile(self) -> ColumnGroup:
        """Pads: `<pad>/<name>`."""
        return ColumnGroup(self, "tactile")

    @property
    def time(self) -> Clocks:
        return Clocks(self)

    @guarded
    def columns(self) -> list[str]:
        """Paths that `episode[path]` knows."""
        if self._paths is None:
            self._paths = self._file.columns()
        return list(self._paths)

    @guarded
    def __contains__(self, path: str) -> bool:
        return self._file.column(path) is not None

    @guarded
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

    @guarded
    def rows(self, path: str, start: int, stop: int) -> Any:
        """Rows start..stop of a column; for long recordings that do not fit into memory."""
        if self._file.item(path) is None:
            raise UnknownColumn(self._no_column(path))
        return self._file.column_rows(path, start, stop, self.num_frames)

    @guarded
    def rows_of(self, path: str, num_bytes: int) -> int:
        """Rows of a column that take about so many bytes, whole chunks where possible; 1 where it is not known."""
        item = self._file.item(path)
        if not isinstance(item, h5py.Dataset) or not item.ndim or not item.shape[0]:
            return 1
        rows = max(1, num_bytes * item.shape[0] // max(item.nbytes, 1))
        chunk = item.chunks[0] if item.chunks else 1
        return rows - rows % chunk if rows >= chunk else rows

    @guarded
    def column_length(self, path: str) -> int:
        """Rows that a column really has; differs from `num_frames` only in a damaged episode."""
        item = self._file.item(path)
        return item.shape[0] if isinstance(item, h5py.Dataset) and item.ndim else self.num_frames

    @guarded
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

    @guarded
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
    def states(self) -> PositionRows:
        """Positions of all states: a sequence of T + 1 arrays (P, 3) [m]. Raises EpisodeError when there are none."""
        if self._points is None:
            raise EpisodeError(f"{self.path.name} holds no positions")
        return self._points

    @property
    def num_points(self) -> int:
        """Of the row that has most; a cut adds some. 0 = no positions were recorded."""
        return 0 if self._points is None else self._points.num_points

    def points_at(self, row: int) -> int:
        """Number of points in one row."""
        return 0 if self._points is None else self._points.points_at(row)

    @property
    def num_position_rows(self) -> int | None:
        """T + 1 in a whole episode, None when no positions were recorded."""
        return None if self._points is None else len(self._points)

    @guarded
    def positions(self, row: int) -> np.ndarray:
        """Positions [m] (P, 3) before the first step (row 0) or after step `row` (1..T), exact to 0.5 um; lost
        coordinates are NaN. Raises EpisodeError when none were recorded."""
        states = self.states
        self._check_row(row, self.num_frames)
        return states[row]

    @guarded
    def hashes(self) -> np.ndarray:
        """Hash of the complete state, uint64 (T + 1,), 0 where none was taken."""
        dataset = self._file.dataset("state/hash")
        if dataset is None:
            return np.zeros(self.num_frames + 1, np.uint64)
        return read_array(dataset).astype(np.uint64, copy=False)

    @guarded
    def state_hash(self, state: dict[str, np.ndarray]) -> int:
        """Hash of a state, of the kind that `hashes` are. Raises EpisodeError for a kind that is not known here."""
        dataset = self._file.dataset("state/hash")
        kind = "blake2b" if dataset is None else str(read_attr(dataset, "hash", "blake2b"))  # until format 2
        return state_hash(state, kind)

    @guarded
    def keyframe(self, number: int) -> dict[str, np.ndarray]:
        """Exact state arrays of keyframe `number`; its row is `keyframe_rows[number]`.

        A keyframe with `keyframe_restart[number]` is the state from which frame `row` was stepped after the state had
        been changed (reset, checkpoint); the others are the state after step `row`.
        """
        if not 0 <= number < len(self.keyframe_rows):
            raise EpisodeError(f"{self.path.name} has {len(self.keyframe_rows)} keyframes, asked for number {number}")
        group = self._file.item(f"state/keyframe/{number:06d}")
        if not isinstance(group, h5py.Group):
            raise EpisodeError(f"{self.path.name}: keyframe {number} is missing")
        state = {}
        for name in group:
            dataset = self._file.dataset(f"state/keyframe/{number:06d}/{name}")
            if dataset is None:
                raise EpisodeError(f"{self.path.name}: keyframe {number} holds {name!r}, which is not an array")
            state[str(read_attr(dataset, "name", name))] = read_array(dataset)
        return state

    @guarded
    def segments(self) -> list[tuple[int, str]]:
        """Frames from which on the motion is continuous, with the reason: (0, "start"), (120, "reset"), ..."""
        return self._file.rows_and_texts("segments", "reason")

    @guarded
    def events(self) -> list[tuple[int, str]]:
        """(frame, text); an event of frame T happened after the last step."""
        return self._file.rows_and_texts("events", "text")

    @guarded
    def requests(self) -> list[tuple[int, str, Any]]:
        """(frame, verb, value): carried out before that frame's step."""
        found = []
        for row, text in self._file.rows_and_texts("requests", "request"):
            value = from_json(text.encode())
            if isinstance(value, list) and len(value) == 2:
                found.append((row, str(value[0]), value[1]))
        return found

    # -- cameras ------------------------------------------------------------------------------------------------

    @property
    def cameras(self) -> CameraPictures | None:
        """Pictures of the scene's cameras, once they are drawn (`tacktile episodes render-cameras`); None before.

        Raises EpisodeError: they belong to another episode, or are damaged.
        """
        if self._cameras is None and files.cameras_path(self.path).is_file():
            path = files.cameras_path(self.path)
            self._cameras = CameraPictures(path, self.num_frames, int(self.hashes()[-1]))
        return self._cameras

    # -- checks -------------------------------------------------------------------------------------------------

    def validate(self, positions: bool = True) -> list[Finding]:
        """Findings about this episode, worst first; `positions=False` skips the slow look at every position."""
        return validate(self, positions)

    @guarded
    def misfits(
        self, scene_name: str | None = None, num_points: int | None = None, state: dict[str, np.ndarray] | None = None
    ) -> list[str]:
        """What does not fit between this episode and a running scene; empty when it can be replayed there."""
        return misfits(self, scene_name, num_points, state)

    # -- inside -------------------------------------------------------------------------------------------------

    def _no_column(self, path: str) -> str:
        return f"no column {path!r} in {self.name}; there are {', '.join(self.columns())}"

    def _row(self, path: str, index: int) -> Any:
        small = path in self._columns or self._is_small(path)
        value = self[path][index] if small else self.rows(path, index, index + 1)[0]
        if isinstance(value, str) and value == "" and read_attr(self._file.item(path), "kind") == "json":
            return None
        return value.item() if isinstance(value, np.generic) else value

    def _is_small(self, path: str) -> bool:
        item = self._file.item(path)
        return isinstance(item, h5py.Group) or item.nbytes <= _CACHED_COLUMN_BYTES

    def _check_row(self, row: int, last: int) -> None:
        if not 0 <= row <= last:
            raise EpisodeError(f"{self.name}: row {row} asked for, there are 0 to {last}")
