"""Reads a LeRobot v3.0 data set by its published description alone, as a trainer would: by global frame number.

https://huggingface.co/docs/lerobot/lerobot-dataset-v3. Written for tests; shares no code with the writer.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import av
import numpy as np
import pyarrow.parquet as parquet
from PIL import Image


class LeRobotReader:
    def __init__(self, root: Path):
        self.root = root
        self.info = json.loads((root / "meta/info.json").read_text())
        assert self.info["codebase_version"] == "v3.0"
        self.stats = json.loads((root / "meta/stats.json").read_text())
        tasks = parquet.read_table(root / "meta/tasks.parquet")
        index = json.loads(tasks.schema.metadata[b"pandas"])["index_columns"]  # what pandas makes the table's index of
        assert index == ["task"]
        self.tasks = dict(zip(tasks["task_index"].to_pylist(), tasks["task"].to_pylist(), strict=True))
        files = sorted((root / "meta/episodes").glob("*/*.parquet"))
        self.episodes = [row for file in files for row in parquet.read_table(file).to_pylist()]

    def __len__(self) -> int:
        return self.info["total_frames"]

    def __getitem__(self, index: int) -> dict:
        """One frame: columns as the features describe them, images decoded at the frame's time, the task in words."""
        (entry,) = (e for e in self.episodes if e["dataset_from_index"] <= index < e["dataset_to_index"])
        path = self._path("data_path", entry, "data")
        table = parquet.read_table(self.root / path, filters=[("index", "==", index)])
        (row,) = table.to_pylist()
        assert row["episode_index"] == entry["episode_index"]
        frame = {}
        for key, feature in self.info["features"].items():
            if feature["dtype"] == "video":
                frame[key] = self._image(entry, key, row["timestamp"])
                assert list(frame[key].shape) == feature["shape"]
            elif feature["dtype"] == "image":  # a file in a cell
                frame[key] = np.asarray(Image.open(io.BytesIO(row[key]["bytes"])))
                assert [*frame[key].shape, 1] == feature["shape"]
            else:
                frame[key] = np.asarray(row[key], feature["dtype"])
                assert list(np.atleast_1d(frame[key]).shape) == feature["shape"], key
        return frame | {"task": self.tasks[row["task_index"]]}

    def _path(self, pattern: str, entry: dict, prefix: str, **more: str) -> str:
        chunk, file = entry[f"{prefix}/chunk_index"], entry[f"{prefix}/file_index"]
        return self.info[pattern].format(chunk_index=chunk, file_index=file, **more)

    def _image(self, entry: dict, key: str, timestamp: float) -> np.ndarray:
        path = self._path("video_path", entry, f"videos/{key}", video_key=key)
        wanted = entry[f"videos/{key}/from_timestamp"] + timestamp
        with av.open(str(self.root / path)) as container:
            stream = container.streams.video[0]
            for frame in container.decode(stream):
                if abs(float(frame.pts * stream.time_base) - wanted) < 1e-4:
                    return frame.to_ndarray(format="rgb24")
        raise AssertionError(f"no frame at {wanted} s in {path}")
