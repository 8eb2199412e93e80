"""Interface terms on a reduced model (engine.reduce): the same records, in the stepper's numbering of points.

Records whose point and triangle all ride on one body cannot change: they are set aside. A slot set aside looks free to
the kernels and is nobody's neighbour; its history is kept, and comes back when its row is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

if TYPE_CHECKING:  # the reduction stands above the interfaces; only its arrays are read here
    from engine.reduce import Reduction


def moving_points(term, carrier: np.ndarray) -> np.ndarray:
    """Points (whole numbering) of the records whose four points do not ride alike, int. carrier: int (P,), see
    engine.reduce.carriers."""
    stencils = _records(term)
    stencils = stencils[(stencils >= 0).all(axis=1)]
    carried = carrier[stencils]
    alike = (carried == carried[:, :1]).all(axis=1) & (carried[:, 0] > -2)
    return np.unique(stencils[~alike])


def _records(term) -> np.ndarray:
    """(S, 4) whole ids: sticky point and the triangle it is stuck to, -1 where free."""
    return np.column_stack([term.sticky.points, whole_state(term)["triangle"][: term.sticky.size]])


def whole_state(term, host=None) -> dict[str, np.ndarray]:
    """The term's history with whole point ids, whatever numbering it is in now. `host` (warp array -> numpy array)
    gives views where it can; without it the arrays are copies."""
    views = None if host is None else getattr(term, "views", None)
    arrays = term.get_state() if views is None else views(host)
    numbering = getattr(term, "numbering", None)
    return arrays if numbering is None else numbering.to_whole(arrays)


def adopt_state(term, arrays: dict[str, np.ndarray]) -> None:
    """Set a history with whole point ids; the term is in the whole numbering afterwards: renumber it next."""
    _restore(term)
    term.set_state(arrays)


def renumber(term, reduction: Reduction | None, surface: wp.array | None = None) -> None:
    """Bring the term into the numbering of `reduction` (None: the whole model).

    surface: the reduced collision geometry's point_surface.
    """
    arrays = whole_state(term)
    _restore(term)
    if reduction is None:
        term.set_state(arrays)
        return
    term.numbering = Numbering(term, reduction, arrays["triangle"], surface)
    term.set_state(term.numbering.to_reduced(arrays))


def _restore(term) -> None:
    """Back to the whole model's arrays; the history is left as it is."""
    numbering = getattr(term, "numbering", None)
    if numbering is not None:
        for name, array in numbering.whole_arrays.items():
            setattr(term.sticky.arrays, name, array)
        term.numbering = None


class Numbering:
    """Arrays of one term in a reduction's numbering, and the way back."""

    RENUMBERED = ("point", "triangle_offset", "triangle", "neighbour_offset", "neighbour", "slot", "point_surface")

    def __init__(self, term, reduction: Reduction, triangle: np.ndarray, surface: wp.array):
        s, self.map, self.back = term.sticky.arrays, reduction.point_map, reduction.points
        self.whole_arrays = {name: getattr(s, name) for name in self.RENUMBERED}
        size = term.sticky.size
        points = self.map[term.sticky.points]
        partner = triangle[:size]
        partner_there = np.where(partner >= 0, self.map[np.maximum(partner, 0)] >= 0, True).all(axis=1)
        self.present = (points >= 0) & partner_there
        self.aside = np.where(self.present[:, None], -1, partner)  # triangles of records set aside, whole ids
        device = s.point.device

        def put(values, dtype):
            return wp.array(np.ascontiguousarray(values), dtype=dtype, device=device)

        slot = np.full(len(reduction.points), -1, np.int32)
        slot[points[self.present]] = np.flatnonzero(self.present)
        s.point = put(np.where(self.present, points, 0).astype(np.int32), wp.int32)
        s.slot = put(slot, wp.int32)
        s.point_surface = surface
        corners = self.map[self.whole_arrays["triangle"].numpy().reshape(-1, 3)]
        offset, kept = _filtered(self.whole_arrays["triangle_offset"].numpy(), self.present, (corners >= 0).all(axis=1))
        s.triangle_offset, s.triangle = put(offset, wp.int32), put(corners[kept].astype(np.int32), wp.vec3i)
        near = self.whole_arrays["neighbour"].numpy()
        offset, kept = _filtered(self.whole_arrays["neighbour_offset"].numpy(), self.present, self.present[near])
        s.neighbour_offset, s.neighbour = put(offset, wp.int32), put(near[kept], wp.int32)

    def to_reduced(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        triangle = arrays["triangle"].copy()
        own = triangle[: len(self.present)]
        stuck = self.present[:, None] & (own >= 0)
        triangle[: len(self.present)] = np.where(stuck, self.map[np.maximum(own, 0)], -1)
        return {**arrays, "triangle": triangle}

    def to_whole(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        triangle = arrays["triangle"].copy()
        own = triangle[: len(self.present)]
        back = np.where(own >= 0, self.back[np.clip(own, 0, len(self.back) - 1)], -1)
        triangle[: len(self.present)] = np.where(self.present[:, None], back, self.aside)
        return {**arrays, "triangle": triangle}


def _filtered(offset: np.ndarray, rows: np.ndarray, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and indices of a CSR list without the rows and entries that are left out."""
    owner = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    kept = np.flatnonzero(rows[owner] & entries)
    counts = np.bincount(owner[kept], minlength=len(offset) - 1)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), kept
