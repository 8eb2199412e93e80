"""Which meshes touch or cross where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from engine.mesh import proximity
from engine.mesh.topology import edge_table, open_half_edges

MARGIN = 1e-6  # [m] beyond the half thicknesses that counts as touching


def touching_pairs(
    meshes: Mapping[str, tuple[np.ndarray, np.ndarray]],
    half_thickness: Mapping[str, float],
    pairs: Iterable[tuple[str, str]],
) -> list[tuple[str, str]]:
    """Those of `pairs` whose surfaces cross, are nearer than their half thicknesses, or lie one inside the other.

    meshes: name -> (vertices (n, 3) world [m], triangles (t, 3)); half_thickness [m] by name.
    """
    boxes = {name: (vertices.min(axis=0), vertices.max(axis=0)) for name, (vertices, _) in meshes.items()}
    edges = {name: edge_table(triangles).edges for name, (_, triangles) in meshes.items()}
    found = []
    for first, second in pairs:
        reach = half_thickness[first] + half_thickness[second] + MARGIN
        apart = np.maximum(boxes[first][0] - boxes[second][1], boxes[second][0] - boxes[first][1]).max()
        if apart <= reach and _touch(meshes[first], meshes[second], edges[first], edges[second], reach):
            found.append((first, second))
    return found


def _touch(first, second, edges_first, edges_second, reach: float) -> bool:
    for (x, triangles), (y, other), edges in ((first, second, edges_second), (second, first, edges_first)):
        if _crosses(x, triangles, y, edges) or _near(x, triangles, y, np.unique(other), reach):
            return True
        closed = len(open_half_edges(triangles)) == 0
        if closed and abs(proximity.winding_number(y[other[0, 0]], x, triangles)) > 0.5:
            return True
    both = np.vstack([first[0], second[0]])
    shifted = edges_second + len(first[0])
    one, two = _overlapping(both, edges_first, shifted, reach)
    distance = proximity.segment_segment_distances(*(both[i] for i in (*one.T, *two.T)))
    return bool((distance <= reach).any())


def _overlapping(x, queries, elements, margin: float):
    tree = proximity.BoxTree(*proximity.boxes(x, elements, margin))
    pairs = tree.overlaps(*proximity.boxes(x, queries))
    return queries[pairs[:, 0]], elements[pairs[:, 1]]


def _crosses(x, triangles, y, edges) -> bool:
    both = np.vstack([x, y])
    segments, faces = _overlapping(both, edges + len(x), triangles, 0.0)
    corners = [both[i] for i in (*segments.T, *faces.T)]
    return bool(len(segments)) and bool(proximity.segments_cross_triangles(*corners).any())


def _near(x, triangles, y, points, reach: float) -> bool:
    both = np.vstack([x, y])
    found, faces = _overlapping(both, points[:, None] + len(x), triangles, reach)
    if not len(found):
        return False
    corners = [both[i] for i in (*found.T, *faces.T)]
    return bool((proximity.point_triangle_distances(*corners) <= reach).any())
