"""Positions of all points, row by row: row 0 before the first step, row r after step r."""

from __future__ import annotations

from collections.abc import Iterator

import h5py
import numpy as np

from app.record.chunked import LayoutError, read_array, read_rows
from app.record.points import BLOCK, decode_rows, to_metres


class PositionRows:
    """`rows[r]` -> positions [m] (P, 3), exact to 0.5 um; lost coordinates are NaN. A block is decoded at a time.

    Args: code: points/code (T + 1, 3, P); count: points/count, None when the number of points never changes.
    Raises LayoutError for shapes that do not fit.
    """

    def __init__(self, code: h5py.Dataset, count: h5py.Dataset | None):
        if code.ndim != 3 or code.shape[1] != 3:
            raise LayoutError(f"points/code has shape {code.shape}, expected (T + 1, 3, P)")
        self._code = code
        self._counts = None if count is None else self._read_counts(count)
        self._block: tuple[int, np.ndarray] | None = None

    def __len__(self) -> int:
        """T + 1 in a whole episode."""
        return self._code.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> np.ndarray:
        if not 0 <= row < len(self):
            raise IndexError(f"positions end before row {row}")
        first, stop = self._stretch(row)
        if self._block is None or self._block[0] != first:
            codes = read_rows(self._code, first, stop)[:, :, : self.points_at(row)]
            self._block = (first, decode_rows(codes.astype(np.uint32, copy=False)))
        return to_metres(self._block[1][row - first])

    @property
    def num_points(self) -> int:
        """Of the row that has most; a cut adds some."""
        return self._code.shape[2]

    def points_at(self, row: int) -> int:
        return self.num_points if self._counts is None else int(self._counts[row])

    def _read_counts(self, dataset: h5py.Dataset) -> np.ndarray:
        """Number of points by row (T + 1,)."""
        counts, most = read_array(dataset), self._code.shape[2]
        if counts.shape != self._code.shape[:1] or counts.min(initial=1) < 1 or counts.max(initial=1) > most:
            raise LayoutError(
                f"points/count must hold one number from 1 to {most} for each of {self._code.shape[0]} rows"
            )
        return counts

    def _stretch(self, row: int) -> tuple[int, int]:
        """Rows around one that are decoded together: a block, or what a change of the number of points leaves of it."""
        first = row - row % BLOCK
        stop = min(first + BLOCK, len(self))
        if self._counts is not None:
            changes = first + 1 + np.flatnonzero(np.diff(self._counts[first:stop]))
            first = max([first, *changes[changes <= row].tolist()])
            stop = min([stop, *changes[changes > row].tolist()])
        return first, stop
