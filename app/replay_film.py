"""A film of what a replay shows: the view as it is turned and coloured, at simulated time, a frame a redraw."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from app.export.options import ExportError
from app.export.video import VideoWriter, check_video, rate

FPS = 30.0  # [1/s] of simulated time


class Film:
    """`moments` [s] are to be shown one after another and handed over by `append`; the file appears when it is whole.

    Raises ExportError: the package av is missing; OSError: the folder cannot be written.
    """

    def __init__(self, path: Path, start: float, end: float):
        """start, end: [s] of the replay's time line."""
        self.path = path
        self.moments = start + np.arange(int(np.floor((end - start) * FPS + 1e-9)) + 1) / FPS
        path.parent.mkdir(parents=True, exist_ok=True)
        self._part = path.with_name(path.name + ".part")
        self._video = VideoWriter(self._part, rate(FPS))
        self.count = 0

    @property
    def done(self) -> float:
        return self.count / len(self.moments)

    @property
    def finished(self) -> bool:
        return self.count == len(self.moments)

    def append(self, image: np.ndarray) -> None:
        """(h, w, 3) uint8, the same size every time."""
        self._video.append(image)
        self.count += 1

    def finish(self) -> str:
        """Closes, reads back, renames; what came of it in words. Raises ExportError when it does not read back."""
        self._video.close()
        try:
            times = check_video(self._part, len(self.moments), rate(FPS))
        except ExportError:
            self._part.unlink(missing_ok=True)
            raise
        os.replace(self._part, self.path)
        return f"{self.path.name}: {len(times)} frames, {times[-1]:.1f} s"

    def cancel(self) -> None:
        try:
            self._video.close()
        finally:
            self._part.unlink(missing_ok=True)


def film_path(episode: Path) -> Path:
    """episode_0007.h5 -> films/episode_0007.mp4 beside it, with a number when it is there already."""
    name, number = episode.name.split(".")[0], 1
    path = episode.parent / "films" / f"{name}.mp4"
    while path.exists():
        number += 1
        path = path.with_name(f"{name}_{number}.mp4")
    return path
