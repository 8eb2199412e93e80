"""Moments to go back to: asked for by the operator, and taken by themselves every second and at each stage of a task.

Going back starts another branch: what was done since then is no longer behind the operator. `rewind` and `last_stage`
follow the branch in hand alone, so they never land in something that was taken back; `find` reaches all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

AUTOMATIC_EVERY = 1.0  # [s] of simulated time
RECENT_KEPT = 4  # automatic ones, one beside the other
SPARSE_EVERY = 4.0  # [s] between older ones
SPARSE_KEPT = 8
OTHERS_KEPT = 12  # of those kept for undo, and of stages, each
REWIND = 2.0  # [s]
AGAIN = 1.0  # [s] after a stage within which another wish means the one before it
STAGE = "stage "  # a label that begins so is that of a stage


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A complete state and what the operator's side remembers beside it."""

    number: int
    label: str
    time: float  # [s] simulated
    index: int  # steps since reset
    automatic: bool
    state: dict[str, np.ndarray]
    teleop: Any = None
    beside: Any = None  # what else of the loop goes on from here, see `FrameLoop._beside`
    line: tuple[int, ...] = ()  # numbers of those before it on its branch


class Checkpoints:
    """Taken in memory; those that the operator asks for are written to a folder too.

    Args:
        get_state: `engine.get_state`.
        save: `engine.save`, None to keep everything in memory.
        folder: where to.
    """

    def __init__(
        self,
        get_state: Callable[[], dict[str, np.ndarray]],
        save: Callable[[Path], None] | None = None,
        folder: Path | None = None,
    ):
        self._get_state = get_state
        self._save = save
        self._folder = folder
        self._all: list[Checkpoint] = []
        self._count = 0
        self._asked = 0
        self._last_automatic = -np.inf
        self._line: tuple[int, ...] = ()  # numbers of the branch in hand

    def __iter__(self):
        return iter(sorted(self._all, key=lambda c: (c.time, c.number)))

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, number: int) -> bool:
        return any(point.number == number for point in self._all)

    def take(
        self, time: float, index: int, teleop: Any = None, label: str = "", automatic: bool = False, beside: Any = None
    ) -> Checkpoint:
        """Remembers this moment. Raises OSError when its file cannot be written (it is kept in memory all the same)."""
        self._count += 1
        if not automatic:
            self._asked += 1
            label = label or f"checkpoint {self._asked}"
        state = {name: np.array(values, copy=True) for name, values in self._get_state().items()}
        label = label or "automatic"
        point = Checkpoint(self._count, label, time, index, automatic, state, teleop, beside, self._line)
        self._line = (*self._line, point.number)
        self._all.append(point)
        self._drop_surplus()
        if not automatic and self._save is not None and self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._save(self._folder / f"{point.label.replace(' ', '_')}_{time:.2f}s.npz")
        return point

    def _drop_surplus(self) -> None:
        """Of automatic ones the last few, then one every few seconds; of those for undo and of stages the last ones."""
        plain = [c for c in self._all if c.automatic and c.label == "automatic"]
        sparse: list[Checkpoint] = []
        for point in plain[:-RECENT_KEPT]:
            if not sparse or abs(point.time - sparse[-1].time) > SPARSE_EVERY - 1e-9:
                sparse.append(point)
        for_undo = [c for c in self._all if c.label.startswith("before ")]
        stages = [c for c in self._all if c.label.startswith(STAGE)]
        kept = {*plain[-RECENT_KEPT:], *sparse[-SPARSE_KEPT:], *for_undo[-OTHERS_KEPT:], *stages[-OTHERS_KEPT:]}
        self._all = [c for c in self._all if c in kept or not (c in plain or c in for_undo or c in stages)]

    def take_when_due(self, time: float, index: int, teleop: Any = None, beside: Any = None) -> None:
        """An automatic one when the last lies `AUTOMATIC_EVERY` back, or the clock was set back."""
        if time - self._last_automatic > AUTOMATIC_EVERY - 1e-9 or time < self._last_automatic:
            self.take(time, index, teleop, automatic=True, beside=beside)
            self._last_automatic = time

    def restored(self, point: Checkpoint) -> None:
        """The state is that of `point` now: its branch is the one in hand."""
        self._line = (*point.line, point.number)
        self._last_automatic = point.time

    def rewind(self, time: float, by: float = REWIND) -> Checkpoint:
        """The last one on the branch in hand that lies at least `by` [s] before `time`, else the first there is.

        Raises KeyError: there is none yet.
        """
        behind = self._behind()
        early = [c for c in behind if c.time <= time - by + 1e-9]
        return max(early, key=lambda c: c.time) if early else min(behind, key=lambda c: c.time)

    def last_stage(self, time: float) -> Checkpoint:
        """Where the last stage of the task was reached on the branch in hand (the start counts as one); when that is
        less than AGAIN [s] before `time`, the one before it. Raises KeyError: there is none yet."""
        stages = [c for c in self._behind() if c.label.startswith(STAGE) or c.label == "start"]
        if not stages:
            raise KeyError("no stage has been reached yet")
        earlier = [c for c in stages if c.time <= time - AGAIN]
        return (earlier or stages[:1])[-1]

    def _behind(self) -> list[Checkpoint]:
        """Those of the branch in hand that were not taken for undo, in the order of time."""
        mine = set(self._line)
        found = [c for c in self if c.number in mine and not c.label.startswith("before ")]
        if not found:
            raise KeyError("there is no checkpoint yet")
        return found

    def find(self, number: int | None = None) -> Checkpoint:
        """The one of that number; None: the one taken last, those of the operator before automatic ones; never one that
        was only kept for undo ("before ...").

        Raises:
            KeyError: there is none; the message lists those there are.
        """
        if number is not None:
            for point in self._all:
                if point.number == number:
                    return point
            listed = ", ".join(f"{c.number} ({c.label})" for c in self) or "none yet"
            raise KeyError(f"no checkpoint {number!r}; there are: {listed}")
        asked = [c for c in self._all if not c.automatic]
        usual = [c for c in self._all if not c.label.startswith("before ")]
        if not usual:
            raise KeyError("there is no checkpoint yet")
        return (asked or usual)[-1]

    def clear(self) -> None:
        """Another scene: nothing fits any more."""
        self._all.clear()
        self._line = ()
        self._last_automatic = -np.inf
