"""Which surface lies under each point of a wound strip, and where on it the point sticks."""

from __future__ import annotations

import numpy as np

from engine.adhesion.sticking import START_REACH
from engine.mesh import proximity
from engine.tape.asset import Feet, RollAsset

FULL_TURN = 2.0 * np.pi


def find_feet(asset: RollAsset, reach: float | None = None) -> Feet:
    """Feet of the wound points, by winding angle: a point lies over the cell that is one turn further in.

    reach: points farther from their foot than this have none [m]; None = as far as an adhesive sticks at the start,
    which leaves out where the strip bridges the step at its own first edge.
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
    inner = (rows[~outer][:, None] * across + column).ravel()
    corners = np.vstack([_core_triangles(asset, inner), corners])
    on_core = np.arange(len(corners)) < len(inner)
    point = np.concatenate([inner, point])
    triangle = corner_positions(asset, corners, on_core)
    distance = proximity.point_triangle_distances(x[point], *triangle)
    if reach is None:
        reach = START_REACH * spec.contact.dhat + 2.0 * spec.contact.half_thickness
    place = anchor_coordinates(x[point], *triangle)
    near = distance <= reach
    return Feet(point[near], on_core[near], corners[near], place[near], distance[near])


def corner_positions(asset: RollAsset, corners: np.ndarray, on_core: np.ndarray) -> list[np.ndarray]:
    """Where the corners of feet lie in the roll frame: three arrays (F, 3) [m]."""
    core = core_positions(asset)
    return [
        np.where(on_core[:, None], core[np.where(on_core, ids, 0)], asset.vertices[np.where(on_core, 0, ids)])
        for ids in corners.T
    ]


def anchor_coordinates(y: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Host twin of `engine.adhesion.anchor.anchor_coordinates`, all (n, 3)."""
    e, f, d = b - a, c - a, y - a
    normal = np.cross(e, f)
    square = np.einsum("ij,ij->i", normal, normal)
    q1 = np.einsum("ij,ij->i", normal, np.cross(d, f)) / square
    q2 = np.einsum("ij,ij->i", normal, np.cross(e, d)) / square
    return np.stack([q1, q2, np.einsum("ij,ij->i", d, normal) / np.sqrt(square)], axis=1)


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


def _core_triangles(asset: RollAsset, points: np.ndarray) -> np.ndarray:
    """Closest triangle of the outer face to each point, (n, 3); a point over the rim is as near to the end face."""
    core, x = core_positions(asset), asset.vertices[points]
    lifted = np.linalg.norm(asset.hub_vertices[:, [0, 2]], axis=1) > 0.5 * (
        asset.spec.core_inner_radius + asset.spec.core_outer_radius
    )
    triangles = asset.hub_triangles[lifted[asset.hub_triangles].all(axis=1)]
    reach = 3.0 * asset.spec.layer_pitch + asset.spec.contact.dhat
    tree = proximity.BoxTree(*proximity.boxes(core, triangles, reach))
    pairs = tree.overlaps(x, x)
    corners = [core[triangles[pairs[:, 1], k]] for k in range(3)]
    distance = proximity.point_triangle_distances(x[pairs[:, 0]], *corners)
    order = np.lexsort((distance, pairs[:, 0]))
    first = order[np.unique(pairs[order, 0], return_index=True)[1]]
    if len(first) != len(points):
        raise ValueError(f"{len(points) - len(first)} points of the first turn lie more than {reach:g} m off the core")
    return triangles[pairs[first, 1]]
