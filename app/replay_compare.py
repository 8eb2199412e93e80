"""A second episode beside the one that plays: its positions at the same moment, and how far apart the two are."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from app.record import Episode, EpisodeError
from app.replay import ReplayError, StateReplay
from app.replay_inputs import largest_distance

MOMENTS = 400  # at most, of the curve


class Comparison:
    """Both at the same time since their begin. The curve is made in a thread, with files of its own.

    Raises ReplayError, EpisodeError, OSError: the other one cannot be opened or does not fit the scene.
    """

    def __init__(self, replay: StateReplay, other: Path, num_points: int | None = None):
        self._episode = Episode(other)
        try:
            self.replay = StateReplay(self._episode, num_points)
        except BaseException:
            self._episode.close()
            raise
        self.path, self.name = other, self._episode.name
        count = int(min(MOMENTS, max(len(replay), 2)))
        self.times = np.linspace(0.0, min(replay.duration, self.replay.duration), count)  # [s]
        self.distance = np.full(count, np.nan)  # [m]
        self.done = 0.0
        self._end = False
        self._thread = threading.Thread(target=self._measure, args=(replay.episode.path,), name="compare", daemon=True)
        self._thread.start()

    def points_at(self, seconds: float) -> np.ndarray:
        """(P, 3) [m]; after its end the last ones."""
        return self._episode.positions(self.replay.row_at(seconds))

    def now(self, seconds: float, points: np.ndarray | None) -> float:
        """Distance of the shown positions [m]; NaN when the two cannot be compared point by point."""
        return float("nan") if points is None else largest_distance(np.asarray(points), self.points_at(seconds))

    def close(self) -> None:
        self._end = True
        self._thread.join(10.0)
        self._episode.close()

    def _measure(self, path: Path) -> None:
        try:
            with Episode(path) as one, Episode(self.path) as other:
                a, b = StateReplay(one), StateReplay(other)
                for k, moment in enumerate(self.times):
                    if self._end:
                        return
                    self.distance[k] = largest_distance(
                        one.positions(a.row_at(moment)), other.positions(b.row_at(moment))
                    )
                    self.done = (k + 1) / len(self.times)
        except (EpisodeError, ReplayError, OSError):
            self.done = 1.0  # the curve stays as far as it is known
