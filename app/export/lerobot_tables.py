"""The files of a LeRobot data set: parquet tables and videos that grow until they are full."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from app.export.options import need
from app.export.video import VideoWriter

CHUNK = "chunk-000/file-000"
MAX_FILES = 1000  # in a chunk
_ARROW = {"float32": "float32", "int64": "int64", "bool": "bool_"}


class DataFiles:
    """data/*.parquet: a row group an episode; a new file when one is full."""

    def __init__(self, root: Path, pattern: str, max_mb: float):
        self._root, self._pattern, self._max = root, pattern, max_mb * 1e6
        self._place = [0, 0]
        self._writer = None
        self._path: Path | None = None

    def append(self, columns: dict[str, np.ndarray], features: dict[str, dict[str, Any]]) -> dict[str, int]:
        """One episode; returns where it lies, as the table of episodes says it."""
        arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
        table = arrow.table({name: _column(arrow, rows, features[name]) for name, rows in columns.items()})
        if self._writer is not None and self._path.stat().st_size > self._max:
            self.close()
            _advance(self._place)
        if self._writer is None:
            self._path = self._root / self._pattern.format(chunk_index=self._place[0], file_index=self._place[1])
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = parquet.ParquetWriter(self._path, table.schema, compression="snappy")
        self._writer.write_table(table)
        return {"data/chunk_index": self._place[0], "data/file_index": self._place[1]}

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _column(arrow, rows, feature: dict[str, Any]):
    """rows: (n, ...) numbers, or n image files as bytes, which the `datasets` package knows as a struct."""
    if feature["dtype"] == "image":
        kind = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
        return arrow.array([{"bytes": image, "path": None} for image in rows], kind)
    kind = getattr(arrow, _ARROW[feature["dtype"]])()
    if feature["shape"] == [1]:
        return arrow.array(rows.reshape(-1), kind)
    return arrow.FixedSizeListArray.from_arrays(arrow.array(rows.reshape(-1), kind), feature["shape"][0])


class VideoFiles:
    """videos/<key>/*.mp4: episodes one behind the other; a new file when one is full."""

    def __init__(self, root: Path, pattern: str, key: str, fps: Fraction, max_mb: float):
        self._root, self._pattern, self._key, self._fps, self._max = root, pattern, key, fps, max_mb * 1e6
        self._place = [0, 0]
        self._writer: VideoWriter | None = None
        self._path: Path | None = None
        self._shape = (0, 0, 3)

    def begin_episode(self) -> dict[str, Any]:
        if self._writer is not None and self._path.stat().st_size > self._max:
            self.close()
            _advance(self._place)
        if self._writer is None:
            self._path = self._root / self._pattern.format(
                video_key=self._key, chunk_index=self._place[0], file_index=self._place[1]
            )
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = VideoWriter(self._path, self._fps)
        return {
            f"videos/{self._key}/chunk_index": self._place[0],
            f"videos/{self._key}/file_index": self._place[1],
            f"videos/{self._key}/from_timestamp": self._writer.count / float(self._fps),
        }

    def append(self, image: np.ndarray) -> None:
        self._writer.append(image)

    def end_episode(self) -> dict[str, Any]:
        self._shape = self._writer.shape
        return {f"videos/{self._key}/to_timestamp": self._writer.count / float(self._fps)}

    def feature(self) -> dict[str, Any]:
        h, w, channels = self._shape
        about = {"height": h, "width": w, "codec": "h264", "pix_fmt": "yuv420p", "is_depth_map": False,
                 "fps": int(self._fps), "channels": channels}  # fmt: skip
        return {
            "dtype": "video",
            "shape": [h, w, channels],
            "names": ["height", "width", "channels"],
            "info": {f"video.{name}": value for name, value in about.items()} | {"has_audio": False},
        }

    def close(self) -> None:
        if self._writer is not None:
            self._writer.__exit__()
            self._writer = None


def _advance(place: list[int]) -> None:
    """The next file; after the last of a chunk the next chunk."""
    place[:] = [place[0] + 1, 0] if place[1] == MAX_FILES - 1 else [place[0], place[1] + 1]


def write_tasks(path: Path, tasks: dict[str, int]) -> None:
    """Instruction -> number. LeRobot reads it as a pandas table whose index is the instruction, hence the metadata."""
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    table = arrow.table({"task_index": arrow.array(tasks.values(), arrow.int64()), "task": list(tasks)})
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}
        for name, kind, numpy in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    about = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.2.0"}
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table.replace_schema_metadata({"pandas": json.dumps(about)}), path)


def write_episodes(path: Path, episodes: list[dict[str, Any]]) -> None:
    """A row an episode: where it lies, and its own statistics as `stats/<feature>/<name>`."""
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    rows = []
    for entry in episodes:
        row = {name: value for name, value in entry.items() if name != "stats"}
        for feature, values in entry["stats"].items():
            row |= {f"stats/{feature}/{name}": value.tolist() for name, value in values.items()}
        rows.append(row | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.Table.from_pylist(rows), path)
