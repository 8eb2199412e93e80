"""Views of an episode that read nothing before they are asked: groups of columns, and its clocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from app.record.episode import Episode


class ColumnGroup(Mapping):
    """Columns under one path: `group["twist"]` is `episode["command/twist"]`, read at that moment.

    `group.rows("twist", 10, 20)` reads part of it. Keys are paths below the group ("pad/depth").
    """

    def __init__(self, episode: Episode, name: str):
        self._episode, self._prefix = episode, name + "/"

    def __getitem__(self, name: str) -> Any:
        return self._episode[self._prefix + name]

    def rows(self, name: str, start: int, stop: int) -> Any:
        return self._episode.rows(self._prefix + name, start, stop)

    def __iter__(self) -> Iterator[str]:
        skip = len(self._prefix)
        return (path[skip:] for path in self._episode.columns() if path.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{self._prefix[:-1]} of {self._episode.name}: {', '.join(self)}>"


class Clocks:
    """The clocks of an episode, (T,) [s] each: when step i began, except `simulated`, which is the time after it.

    A simulation that runs at 0.3 of real time has wall clocks that run 3.3 times as far as `simulated`. Train on
    `simulated`.
    """

    def __init__(self, episode: Episode):
        self._episode = episode

    @property
    def simulated(self) -> np.ndarray:
        """Simulated time of the state after step i; a reset sets it back."""
        return self._clock("simulated")

    @property
    def wall(self) -> np.ndarray:
        """Unix time."""
        return self._clock("wall")

    @property
    def monotonic(self) -> np.ndarray:
        """This computer's clock that never jumps."""
        return self._clock("monotonic")

    @property
    def device(self) -> np.ndarray:
        """The input device's own clock; NaN: it has none."""
        return self._clock("device")

    @property
    def receive(self) -> np.ndarray:
        """When the reading of step i came, on the clock of `monotonic`."""
        return self._clock("receive")

    @property
    def dt(self) -> np.ndarray:
        """Simulated length of step i."""
        return self._clock("dt")

    @property
    def states(self) -> np.ndarray:
        """One time line over all states, (T + 1,) from 0: sums of `dt`, so that a reset does not set it back."""
        return np.concatenate([[0.0], np.cumsum(self.dt)])

    def _clock(self, name: str) -> np.ndarray:
        path = f"time/{name}"
        if path not in self._episode:
            return np.full(self._episode.num_frames, np.nan)
        return np.asarray(self._episode[path], dtype=np.float64)
