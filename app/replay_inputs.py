"""A replay by inputs that a view looks at: the engine does the recorded steps again, one a call, and a meter tells how
far it has come from the recording."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from app.cutting import cut_of
from app.record import Episode
from app.record.points import UNIT
from app.replay import InputReplay, ReplayError, ReplayStep
from app.tape import edit_adhesive, edit_friction
from engine.types import Control

RESOLUTION = 0.5 * UNIT * 3.0**0.5  # [m] recorded positions are rounded to a micrometre along each axis
THRESHOLDS = (1e-12, 1e-9, 1e-6, 1e-3)  # [m]


def repeat(engine, requests: list[tuple[str, Any]]) -> None:
    """What the operator changed in the physics itself."""
    for verb, value in requests:
        if verb == "set_adhesion":
            with suppress(KeyError, ValueError):  # refused now as it was then
                edit_adhesive(engine, value)
        elif verb == "set_friction":
            with suppress(KeyError, ValueError):
                edit_friction(engine, value)
        elif verb == "cut":
            with suppress(KeyError, ValueError):
                engine.apply([cut_of(value)])


@dataclass
class Meter:
    """Distance of the engine from the recording, row by row; row r is the state after step r.

    distance: [m] the largest of all points; 0 where the states are equal to the bit, NaN where nothing is known. From
    recorded positions it is known to `RESOLUTION`, at exact states (`exact`) to the last bit.
    """

    num_rows: int
    distance: np.ndarray = field(init=False)
    exact: np.ndarray = field(init=False)
    known: int = 0  # rows that were stepped
    compared: int = 0  # rows whose hash was compared
    first_bit: int | None = None  # first row whose state is not equal to the bit
    first_over: dict[float, int] = field(default_factory=dict)  # threshold [m] -> first row that is over it for certain

    def __post_init__(self):
        self.distance, self.exact = np.full(self.num_rows, np.nan), np.zeros(self.num_rows, bool)

    def take(self, row: int, matches: bool | None, near: float, exact: float | None) -> None:
        """near: distance to the recorded positions [m], NaN when it cannot be measured; exact: to an exact state."""
        self.known = row
        self.compared += matches is not None
        if matches:
            self.distance[row], self.exact[row] = 0.0, True
            return
        if matches is None and exact is None and not near > RESOLUTION:  # no hash, and positions tell nothing
            return
        if self.first_bit is None:
            self.first_bit = row
        self.distance[row], self.exact[row] = (near, False) if exact is None else (exact, True)
        certain = self.distance[row] - (0.0 if self.exact[row] else RESOLUTION)
        for threshold in THRESHOLDS:
            if certain > threshold:  # False for NaN
                self.first_over.setdefault(threshold, row)

    @property
    def largest(self) -> float:
        """[m] so far; 0 before anything was measured."""
        seen = self.distance[: self.known + 1]
        return float(np.nanmax(seen)) if np.isfinite(seen).any() else 0.0


class PlacedRows:
    """row -> positions float32 (P, 3) [m], in a file without a name that goes with the process: ten thousand rows of a
    large scene are more than memory should hold."""

    def __init__(self):
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        self._place: dict[int, tuple[int, int]] = {}  # row -> first byte, number of points
        self._end = 0

    def __contains__(self, row: int) -> bool:
        return row in self._place

    def __setitem__(self, row: int, points: np.ndarray) -> None:
        """Raises ReplayError when the disk takes no more."""
        data = np.ascontiguousarray(points, np.float32)
        try:
            self._file.seek(self._end)
            self._file.write(data.tobytes())
            self._file.flush()
        except OSError as error:
            raise ReplayError(f"no room for temporary files: {error.strerror}") from None
        self._place[row] = (self._end, len(data))
        self._end += data.nbytes

    def __getitem__(self, row: int) -> np.ndarray:
        first, count = self._place[row]
        self._file.seek(first)
        return np.frombuffer(self._file.read(12 * count), np.float32).reshape(count, 3)


class InputTrack:
    """Raises ReplayError: no exact states, or an engine of another scene.

    Args: engine: of its own; its state is changed. on_iteration: called within a step, so that the window stays alive.
    """

    def __init__(self, episode: Episode, engine, versions: dict[str, Any], on_iteration: Callable[..., None]):
        self.episode, self.engine = episode, engine
        self.meter = Meter(episode.num_frames + 1)
        self.points = PlacedRows()
        self.models: dict[int, Any] = {}  # row -> model whose meshes it has
        self.ended = False
        self._replay = InputReplay(
            episode, engine, lambda fields: Control(**fields), partial(repeat, engine), versions, on_iteration
        )
        self._steps = self._replay.steps()
        self._exact = {int(r): k for k, r in enumerate(episode.keyframe_rows) if not episode.keyframe_restart[k]}
        if episode.num_points:
            self.points[0] = episode.positions(0)
        self.models[0] = engine.model

    @property
    def notes(self) -> list[str]:
        """Versions that are not those of the recording."""
        return self._replay.version_notes

    def advance(self) -> int | None:
        """One step; the row that it led to, None at the end. Raises ReplayError, and what the engine raises."""
        step = next(self._steps, None)
        if step is None:
            self.ended = True
            return None
        row = step.frame + 1
        self.meter.take(row, step.matches, step.points_error, self._exact_distance(row, step))
        self.points[row] = np.asarray(self.engine.positions())
        self.models[row] = self.engine.model
        return row

    def nearest(self, row: int) -> int:
        """The last row at or before one that was stepped; some have no state to step from."""
        while row > 0 and row not in self.points:
            row -= 1
        return row

    def _exact_distance(self, row: int, step: ReplayStep) -> float | None:
        """To the exact state of that row, when there is one and the hash differs: the engine holds it for a moment."""
        if step.matches is not False or row not in self._exact:
            return None
        here, points = self.engine.get_state(), np.asarray(self.engine.positions())
        try:
            self.engine.set_state(self.episode.keyframe(self._exact[row]))
            there = np.asarray(self.engine.positions())
        except ValueError:  # cut elsewhere
            return None
        finally:
            self.engine.set_state(here)
        return largest_distance(points, there)


def largest_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Of positions (P, 3) [m] point by point; NaN when they are not as many."""
    if a.shape != b.shape or not len(a):
        return float("nan")
    return float(np.sqrt(((a - b) ** 2).sum(axis=1)).max())
