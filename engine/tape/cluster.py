"""The wound part of a roll as a rigid cluster, with a deformable collar behind the front (paper T, III-C).

Rows of the strip run across it; row 0 is the inner end. Rows below `front` ride on the roll's carrier; the collar, the
`collar_rows` rows from `front` on, is always deformable; beyond lies the free region. When the collar's outermost row
has left its place on the cluster by more than `release_distance` it joins the free region, and the cluster gives its
outermost row to the collar, with the place and the velocity that the row had on the body. Only rows of the embedding
table change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.edits import Grasp, Release


@dataclass(frozen=True)
class ClusterSpec:
    """Where a roll lies in the model. Lengths in metres, rows counted from the inner end.

    mesh: the strip's shell, points row by row; carrier: body made by `ModelBuilder.add_carrier`; columns: points a row;
    wound_rows: rows that start on the roll; collar_rows: paper T's N = 10; release_distance: paper T's 5 dhat;
    cover_rows: outermost cluster rows whose faces stay in contact (a turn and a bit).
    """

    mesh: str
    carrier: str
    rows: int
    columns: int
    wound_rows: int
    release_distance: float
    cover_rows: int
    collar_rows: int = 10

    def __post_init__(self):
        if not 0 < self.wound_rows <= self.rows:
            raise ValueError(f"ClusterSpec.wound_rows is {self.wound_rows!r}; it must lie in 1..{self.rows}")
        if self.collar_rows < 1 or self.cover_rows < 1 or self.columns < 2:
            raise ValueError("ClusterSpec: collar_rows and cover_rows must be at least 1, columns at least 2")
        if not self.release_distance > 0.0:
            raise ValueError(f"ClusterSpec.release_distance is {self.release_distance!r}; it must be greater than 0")


def _flat(places: np.ndarray) -> bool:
    """Coplanar riders would give the carrier a singular mass matrix: they stay free."""
    if len(places) < 4:
        return True
    spread = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(spread[2] < 1e-6 * spread[0])


MIN_ROWS = 3  # a cluster of fewer rows dissolves: its mass matrix would be nearly singular


class RollCluster:
    """Membership of one roll in every world; part of the engine's state."""

    def __init__(self, spec: ClusterSpec, model):
        self.spec, self.model = spec, model
        info = model.meshes.get(spec.mesh)
        if info is None:
            raise KeyError(f"roll: no mesh '{spec.mesh}'; available: {', '.join(model.meshes)}")
        size = info.points.stop - info.points.start
        whole = size if info.cut is None else info.cut.vertices  # points that cuts have made come after the rows
        if whole != spec.rows * spec.columns:
            raise ValueError(
                f"roll: mesh '{spec.mesh}' has {size} points; {spec.rows} rows of {spec.columns} need "
                f"{spec.rows * spec.columns}"
            )
        worlds = model.num_worlds
        self.front = np.zeros(worlds, np.int64)  # rows below ride on the carrier
        self.place = np.zeros(
            (worlds, size, 3)
        )  # of every point in the carrier's frame when the cluster was formed [m]

    def initial_front(self) -> int:
        front = self.spec.wound_rows - self.spec.collar_rows
        return front if front >= MIN_ROWS else 0

    def form(self, world: int, positions: np.ndarray, carrier: np.ndarray) -> list[Grasp]:
        """Edits that put the deep rows on the carrier. positions (rows * columns, 3) [m]; carrier (4, 4) pose."""
        self.front[world] = self.initial_front()
        self.place[world] = (positions - carrier[:3, 3]) @ np.linalg.inv(carrier[:3, :3]).T
        if _flat(self.place[world, : self.front[world] * self.spec.columns]):
            self.front[world] = 0
        rows = range(int(self.front[world]) * self.spec.columns)
        return [Grasp(self.spec.mesh, tuple(rows), self.spec.carrier, world)] if len(rows) else []

    def advance(self, world: int, positions: np.ndarray, carrier: np.ndarray) -> list[Release]:
        """Edits after a step: rows that the cluster gives up because the collar's outermost rows have left it."""
        columns, front = self.spec.columns, int(self.front[world])
        if front == 0:
            return []
        row = front + self.spec.collar_rows - 1
        while front > 0:
            points = slice(row * columns, (row + 1) * columns)
            carried = self.place[world, points] @ carrier[:3, :3].T + carrier[:3, 3]
            if np.linalg.norm(positions[points] - carried, axis=1).min() <= self.spec.release_distance:
                break
            row, front = row - 1, front - 1
            if front < MIN_ROWS:
                front = 0
        released = range(front * columns, int(self.front[world]) * columns)
        self.front[world] = front
        return [Release(self.spec.mesh, tuple(released), world)] if len(released) else []

    def buried(self) -> np.ndarray:
        """Points of the whole model whose faces lie under a turn of cluster, bool (P,)."""
        mask = np.zeros(self.model.num_points, bool)
        start = self.model.meshes[self.spec.mesh].points.start
        for world, front in enumerate(self.front):
            deep = max(int(front) - self.spec.cover_rows, 0) * self.spec.columns
            first = start + world * self.model.points_per_world
            mask[first : first + deep] = True
        return mask

    def regions(self, world: int = 0) -> np.ndarray:
        """0 cluster, 1 collar, 2 free by vertex of the strip, int (rows * columns,): for colours and tests."""
        row = np.arange(self.spec.rows).repeat(self.spec.columns)
        if self.place.shape[1] > len(row):  # a point made by a cut goes by its neighbours' rows, the outermost counts
            row = np.concatenate([row, self._cut_rows(row)])
        front = int(self.front[world])
        collar = self.spec.collar_rows if front > 0 else 0
        return np.where(row < front, 0, np.where(row < front + collar, 1, 2))

    def _cut_rows(self, row: np.ndarray) -> np.ndarray:
        """Rows of the points behind the original ones, int."""
        triangles = self.model.meshes[self.spec.mesh].triangles
        whole, size = len(row), self.place.shape[1]
        found = np.full(size, -1)
        found[:whole] = row
        while (found < 0).any():
            best = np.where((found[triangles] < 0).all(axis=1), -1, found[triangles].max(axis=1))
            spread = found.copy()
            np.maximum.at(spread, triangles.reshape(-1), np.repeat(best, 3))
            if (spread[whole:] == found[whole:]).all():
                found[found < 0] = self.spec.rows - 1
                break
            found[whole:] = np.where(found[whole:] < 0, spread[whole:], found[whole:])
        return found[whole:]

    def get_state(self) -> dict[str, np.ndarray]:
        return {"front": self.front.copy(), "place": self.place.copy()}

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        self.front[:] = arrays["front"]
        self.place[:] = arrays["place"]
