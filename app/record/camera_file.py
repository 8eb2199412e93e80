"""Pictures of an episode's cameras: one file beside the episode, drawn from its states and drawable again.

    episode_0007.cameras.h5             attributes format, version, num_frames and state_hash of the episode, rate [1/s]
    ├─ row, time                        (K,) row of positions that each picture shows, its simulated time from row 0 [s]
    └─ <camera>/                        attributes body ("": stands in the world), depth_unit (1e-4 m)
       ├─ rgb                           (K, h, w, 3) uint8
       ├─ depth                         (K, h, w) uint16: distance along the camera's z in depth_unit; 0: nothing seen
       ├─ intrinsics                    (K, 3, 3) [pixel]
       └─ world_from_camera             (K, 4, 4) camera axes: x right, y down, z ahead
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from app.record.chunked import ChunkedWriter, read_array, read_attr, read_rows, set_text
from app.record.episode_file import EpisodeError, EpisodeFile, UnknownColumn, guarded
from app.record.folder import cameras_path

FORMAT, VERSION = "tacktile-cameras", 1
DEPTH_UNIT = 1e-4  # [m]
FARTHEST = DEPTH_UNIT * (2**16 - 1)  # [m]
MAX_CAMERAS = 64


def encode_depth(depth: np.ndarray) -> np.ndarray:
    """uint16 of metres; what is farther than 6.5535 m becomes 0 like what is not seen."""
    units = np.rint(np.asarray(depth, float) / DEPTH_UNIT)
    return np.where((units >= 0.0) & (units < 2**16), units, 0.0).astype(np.uint16)


def decode_depth(code: np.ndarray) -> np.ndarray:
    """float32 [m], exact to half a unit."""
    return (DEPTH_UNIT * code.astype(float)).astype(np.float32)


class CameraWriter:
    """Writes the pictures of one episode to `path`; whole only after the block ends well.

    bodies: camera -> body that carries it, or None; sizes: camera -> (height, width).
    """

    def __init__(self, path: Path, num_frames: int, state_hash: int, rate: float, bodies: dict, sizes: dict):
        self._file = h5py.File(path, "w", libver=("earliest", "v110"))
        set_text(self._file, "format", FORMAT)
        self._file.attrs["version"], self._file.attrs["num_frames"] = VERSION, num_frames
        self._file.attrs["state_hash"], self._file.attrs["rate"] = np.uint64(state_hash), rate
        self._clock = [ChunkedWriter(self._file, name, kind) for name, kind in (("row", "i8"), ("time", "f8"))]
        self._writers: dict[str, list[ChunkedWriter]] = {}
        for name, (height, width) in sizes.items():
            group = self._file.create_group(name)
            set_text(group, "body", bodies[name] or "")
            group.attrs["depth_unit"] = DEPTH_UNIT
            self._writers[name] = [
                ChunkedWriter(group, "rgb", "u1", (height, width, 3), rows=1),
                ChunkedWriter(group, "depth", "u2", (height, width), rows=1),
                ChunkedWriter(group, "intrinsics", "f8", (3, 3)),
                ChunkedWriter(group, "world_from_camera", "f8", (4, 4)),
            ]

    def append(self, row: int, time: float, pictures: dict[str, Sequence[np.ndarray]]) -> None:
        """pictures: camera -> rgb, depth [m], intrinsics, world_from_camera."""
        for writer, value in zip(self._clock, (row, time), strict=True):
            writer.append(value)
        for name, (rgb, depth, intrinsics, pose) in pictures.items():
            for writer, value in zip(self._writers[name], (rgb, encode_depth(depth), intrinsics, pose), strict=True):
                writer.append(value)

    def __enter__(self) -> CameraWriter:
        return self

    def __exit__(self, kind, *_: object) -> None:
        if kind is None:
            for writer in (*self._clock, *(w for writers in self._writers.values() for w in writers)):
                writer.close()
        self._file.close()


class CameraPictures:
    """Reads the pictures of one episode, one at a time.

    Raises FileNotFoundError: not drawn yet; EpisodeError: not such a file, newer, of another episode, damaged.
    """

    def __init__(self, path: Path, num_frames: int | None = None, state_hash: int | None = None):
        if not path.is_file():
            raise FileNotFoundError(f"there is no {path.name}; draw it: tacktile episodes render-cameras EPISODE")
        self.path = path
        self._file = EpisodeFile(path)
        try:
            self._open(num_frames, state_hash)
        except BaseException:
            self._file.close()
            raise

    @guarded
    def _open(self, num_frames: int | None, state_hash: int | None) -> None:
        if self._file.attribute("format") != FORMAT:
            raise EpisodeError(f"{self.path.name} does not hold pictures of cameras")
        version = int(self._file.attribute("version", 0))
        if version > VERSION:
            raise EpisodeError(f"{self.path.name} has version {version}; this Tacktile reads up to {VERSION}")
        told = int(self._file.attribute("num_frames", -1)), int(self._file.attribute("state_hash", 0))
        if (num_frames is not None and told[0] != num_frames) or (state_hash is not None and told[1] != state_hash):
            raise EpisodeError(
                f"{self.path.name} was drawn from another episode than the one beside it: draw it anew, "
                "tacktile episodes render-cameras --overwrite"
            )
        self.rate = float(self._file.attribute("rate", 0.0))
        self.rows, self.time = (read_array(self._dataset(name)) for name in ("row", "time"))
        if self.rows.ndim != 1 or not len(self.rows) or (np.diff(self.rows) <= 0).any():
            raise EpisodeError(f"{self.path.name}: rows {self.rows.shape} must be a rising list")
        self.names = self._file.groups("")
        if not 0 < len(self.names) <= MAX_CAMERAS:
            raise EpisodeError(f"{self.path.name} holds {len(self.names)} cameras; legal: 1 to {MAX_CAMERAS}")

    def __len__(self) -> int:
        """Number of pictures of each camera."""
        return len(self.rows)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> CameraPictures:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def at(self, row: int) -> int:
        """Number of the last picture at or before a row of positions; the first one before that."""
        return max(int(np.searchsorted(self.rows, row, side="right")) - 1, 0)

    @guarded
    def rgb(self, camera: str, k: int) -> np.ndarray:
        """(h, w, 3) uint8 of picture k."""
        return read_rows(self._of(camera, "rgb"), k, k + 1)[0]

    @guarded
    def depth(self, camera: str, k: int) -> np.ndarray:
        """(h, w) float32 [m] of picture k, 0 where nothing is seen."""
        return decode_depth(read_rows(self._of(camera, "depth"), k, k + 1)[0])

    @guarded
    def intrinsics(self, camera: str) -> np.ndarray:
        """(K, 3, 3) [pixel]."""
        return read_array(self._of(camera, "intrinsics"))

    @guarded
    def poses(self, camera: str) -> np.ndarray:
        """(K, 4, 4) world from camera."""
        return read_array(self._of(camera, "world_from_camera"))

    @guarded
    def body(self, camera: str) -> str | None:
        """The body that carries it; None: it stands in the world."""
        self._of(camera, "rgb")
        return str(read_attr(self._file.item(camera), "body", "")) or None

    @guarded
    def size(self, camera: str) -> tuple[int, int]:
        """(height, width) [pixel]."""
        return self._of(camera, "depth").shape[1:]

    def _of(self, camera: str, name: str) -> h5py.Dataset:
        if camera not in self.names:
            raise UnknownColumn(f"no camera {camera!r} in {self.path.name}; there are {', '.join(self.names)}")
        dataset = self._dataset(f"{camera}/{name}")
        if dataset.shape[0] != len(self.rows):
            raise EpisodeError(f"{self.path.name}: {camera}/{name} has {dataset.shape[0]} rows of {len(self.rows)}")
        return dataset

    def _dataset(self, path: str) -> h5py.Dataset:
        dataset = self._file.dataset(path)
        if dataset is None:
            raise EpisodeError(f"{self.path.name} lacks {path}")
        return dataset


def replace_cameras(part: Path, episode: Path) -> None:
    """Puts a file that is whole into its place beside an episode, in one step."""
    with open(part, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(part, cameras_path(episode))
