"""Moments to go back to: asked for by the operator, and taken by themselves every few seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

AUTOMATIC_EVERY = 4.0  # [s] of simulated time
AUTOMATIC_KEPT = 8


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

    def __iter__(self):
        return iter(sorted(self._all, key=lambda c: (c.time, c.number)))

    def __len__(self) -> int:
        return len(self._all)

    def take(self, time: float, index: int, teleop: Any = None, label: str = "", automatic: bool = False) -> Checkpoint:
        """Remembers this moment. Raises OSError when its file cannot be written (it is kept in memory all the same)."""
        self._count += 1
        if not automatic:
            self._asked += 1
            label = label or f"checkpoint {self._asked}"
        state = {name: np.array(values, copy=True) for name, values in self._get_state().items()}
        point = Checkpoint(self._count, label or "automatic", time, index, automatic, state, teleop)
        self._all.append(point)
        surplus = [c for c in self._all if c.automatic and c.label == "automatic"][:-AUTOMATIC_KEPT]
        self._all = [c for c in self._all if c not in surplus]
        if not automatic and self._save is not None and self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._save(self._folder / f"{point.label.replace(' ', '_')}_{time:.2f}s.npz")
        return point

    def take_when_due(self, time: float, index: int, teleop: Any = None) -> None:
        """An automatic one when the last lies `AUTOMATIC_EVERY` back, or the clock was set back."""
        if time - self._last_automatic >= AUTOMATIC_EVERY or time < self._last_automatic:
            self.take(time, index, teleop, automatic=True)
            self._last_automatic = time

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
        self._last_automatic = -np.inf
