"""Which surface lies under each point of a wound strip: where it sticks, and what holds it while a roll settles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.mesh import proximity
from engine.tape.asset import RollAsset

FULL_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Feet:
    """For each wound point its foot on the surface beneath: the core under the first turn, the strip elsewhere. F feet."""

    point: np.ndarray  # vertex of the strip, int64 (F,)
    on_core: np.ndarray  # the foot lies on the core, bool (F,)
    corners: np.ndarray  # of the triangle under it, vertex ids of the core or the strip, int64 (F, 3)
    weights: np.ndarray  # barycentric [-], float64 (F, 3)
    offset: np.ndarray  # from foot to point, roll frame [m], float64 (F, 3)


def find_feet(asset: RollAsset, reach: float | None = None) -> Feet:
    """Feet of the wound points, by winding angle: a point lies over the cell that is one turn further in.

    reach: points farther from their foot than this have none [m]; None = a pitch and a half, which leaves out where the
    strip bridges the step at its own first edge. Good after settling too, where points have moved by a small part of a
    cell.
    """
    spec, across = asset.spec, asset.spec.cells_across + 1
    rows = np.arange(asset.num_wound_rows)
    outer = asset.row_angle[rows] >= FULL_TURN
    over = rows[outer]
    below = np.searchsorted(asset.row_angle[: len(rows)], asset.row_angle[over] - FULL_TURN, side="right") - 1
    column = np.arange(across)
    point = (over[:, None] * across + column).ravel()
    a = (below[:, None] * across + column).ravel()
    b = a + across  # next row, same place across: an edge of the mesh
    side = np.where(np.tile(column, len(over)) < spec.cells_across, 1, -1)
    corners = _with_third_corner(asset.triangles, a, b, side)
    x = asset.vertices
    along = x[b] - x[a]
    t = np.clip(np.einsum("ij,ij->i", x[point] - x[a], along) / np.einsum("ij,ij->i", along, along), 0.0, 1.0)
    weights = np.where(corners == a[:, None], 1.0 - t[:, None], np.where(corners == b[:, None], t[:, None], 0.0))
    inner = (rows[~outer][:, None] * across + column).ravel()
    core_corners, core_weights = _core_feet(asset, inner)
    core = core_positions(asset)
    corners, weights = np.vstack([core_corners, corners]), np.vstack([core_weights, weights])
    on_core = np.arange(len(corners)) < len(inner)
    places = np.where(on_core[:, None, None], core[np.where(on_core[:, None], corners, 0)],
                      x[np.where(on_core[:, None], 0, corners)])  # fmt: skip
    point = np.concatenate([inner, point])
    offset = x[point] - np.einsum("ij,ijk->ik", weights, places)
    near = np.linalg.norm(offset, axis=1) <= (1.5 * spec.layer_pitch if reach is None else reach)
    return Feet(point[near], on_core[near], corners[near], weights[near], offset[near])


def core_positions(asset: RollAsset) -> np.ndarray:
    """Vertices of the core in the roll frame [m], (h, 3)."""
    return asset.hub_vertices @ asset.hub_transform[:3, :3].T + asset.hub_transform[:3, 3]


def _with_third_corner(triangles: np.ndarray, a: np.ndarray, b: np.ndarray, side: np.ndarray) -> np.ndarray:
    """A triangle at each edge (a, b): the one whose third corner lies on the given side across (+1 or -1)."""
    edges: dict[tuple[int, int], list[np.ndarray]] = {}
    for t in triangles:
        for i, j in ((0, 1), (1, 2), (2, 0)):
            edges.setdefault((min(t[i], t[j]), max(t[i], t[j])), []).append(t)
    found = np.empty((len(a), 3), np.int64)
    for k, (i, j, s) in enumerate(zip(a.tolist(), b.tolist(), side.tolist(), strict=True)):
        pair = edges[(i, j)]  # rows ascend, so i < j
        middle = [t.sum() - i - j - (i if (t.sum() - i - j) < j else j) for t in pair]  # > 0: further across
        found[k] = pair[int(np.argmax(middle) if s > 0 else np.argmin(middle))]
    return found


def _core_feet(asset: RollAsset, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Closest core triangle of each point, and the barycentric weights of its foot."""
    core, triangles, x = core_positions(asset), asset.hub_triangles, asset.vertices[points]
    reach = 3.0 * asset.spec.layer_pitch + asset.spec.contact.dhat
    tree = proximity.BoxTree(*proximity.boxes(core, triangles, reach))
    pairs = tree.overlaps(x, x)
    corners = [core[triangles[pairs[:, 1], k]] for k in range(3)]
    distance = proximity.point_triangle_distances(x[pairs[:, 0]], *corners)
    order = np.lexsort((distance, pairs[:, 0]))
    first = order[np.unique(pairs[order, 0], return_index=True)[1]]
    if len(first) != len(points):
        raise ValueError(f"{len(points) - len(first)} points of the first turn are farther than {reach:g} m from the core")
    chosen = triangles[pairs[first, 1]]
    a, b, c = (core[chosen[:, k]] for k in range(3))
    return chosen, _barycentric(x, a, b, c)


def _barycentric(x, a, b, c) -> np.ndarray:
    """Weights of the projection on the plane, clipped to the triangle, (n, 3)."""
    n = np.cross(b - a, c - a)
    square = np.einsum("ij,ij->i", n, n)
    u = np.einsum("ij,ij->i", np.cross(x - a, c - a), n) / square
    v = np.einsum("ij,ij->i", np.cross(b - a, x - a), n) / square
    w = np.clip(np.column_stack([1.0 - u - v, u, v]), 0.0, 1.0)
    return w / w.sum(axis=1, keepdims=True)
