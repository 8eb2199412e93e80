"""Which surfaces touch or cross: an axis-aligned box tree in numpy, segment-triangle tests and exact distances.

Used once, before the first step, on the CPU; the engine's own search is `engine.contact.candidates`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


class BoxTree:
    """Balanced binary tree over boxes sorted along a Morton curve. Levels are stored from the leaves up."""

    def __init__(self, low: np.ndarray, high: np.ndarray):
        """low, high: corners of the boxes, float64 (n, 3)."""
        self.order = np.argsort(_morton(0.5 * (low + high)), kind="stable")
        size = 1 << max(0, (len(low) - 1).bit_length())
        padded_low, padded_high = np.full((size, 3), np.inf), np.full((size, 3), -np.inf)
        padded_low[: len(low)], padded_high[: len(low)] = low[self.order], high[self.order]
        self.levels = [(padded_low, padded_high)]
        while len(self.levels[-1][0]) > 1:
            lo, hi = self.levels[-1]
            self.levels.append((np.minimum(lo[::2], lo[1::2]), np.maximum(hi[::2], hi[1::2])))

    def overlaps(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Pairs (query, box) whose boxes overlap or touch, int64 (k, 2), sorted. low, high: query boxes (m, 3)."""
        low_of, high_of = np.ascontiguousarray(low.T), np.ascontiguousarray(high.T)
        query = np.arange(len(low))
        node = np.zeros(len(low), dtype=np.int64)
        for depth, (lo, hi) in enumerate(reversed(self.levels)):
            if depth:
                query, node = np.repeat(query, 2), np.repeat(2 * node, 2)
                node[1::2] += 1
            for k in range(3):  # an axis at a time: the first one already leaves few
                hit = (low_of[k][query] <= hi[:, k][node]) & (lo[:, k][node] <= high_of[k][query])
                query, node = query[hit], node[hit]
        pairs = np.column_stack([query, self.order[node]])
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _morton(centres: np.ndarray) -> np.ndarray:
    """30-bit Morton codes, int64 (n,)."""
    span = np.ptp(centres, axis=0)
    cells = ((centres - centres.min(axis=0)) / np.where(span > 0.0, span, 1.0) * 1023.0).astype(np.int64)
    code = np.zeros(len(centres), dtype=np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return code


def boxes(positions: np.ndarray, elements: np.ndarray, margin=0.0) -> tuple[np.ndarray, np.ndarray]:
    """Low and high corners of each element's box grown by margin (scalar or (m,)), float64 (m, 3) each."""
    corners = positions[elements]
    grow = np.broadcast_to(np.asarray(margin, dtype=np.float64), (len(elements),))[:, None]
    return corners.min(axis=1) - grow, corners.max(axis=1) + grow


def segments_cross_triangles(p, q, a, b, c) -> np.ndarray:
    """Whether segment p-q meets triangle a-b-c, borders included, bool (m,). All (m, 3).

    Signed volumes (Guigue & Devillers 2003 style): the ends lie on different sides (or on) and the line passes inside.
    A segment in the triangle's plane counts as not crossing: its distance is zero and is found by the distance tests.
    """
    normal = np.cross(b - a, c - a)
    side_p, side_q = _dot(p - a, normal), _dot(q - a, normal)
    straddles = (side_p * side_q <= 0.0) & ((side_p != 0.0) | (side_q != 0.0))
    d = q - p
    v0, v1, v2 = _dot(np.cross(a - p, b - p), d), _dot(np.cross(b - p, c - p), d), _dot(np.cross(c - p, a - p), d)
    inside = ((v0 >= 0.0) & (v1 >= 0.0) & (v2 >= 0.0)) | ((v0 <= 0.0) & (v1 <= 0.0) & (v2 <= 0.0))
    return straddles & inside & ((v0 != 0.0) | (v1 != 0.0) | (v2 != 0.0))


def crossing_depth(p, q, a, b, c) -> np.ndarray:
    """Shortest shift that takes a segment off a triangle it crosses [m], (m,).

    Separating axes of two convex shapes: the triangle's normal and the cross products of the segment with its sides
    (Gottschalk et al. 1996). About zero where they only graze.
    """
    d = q - p
    depth = np.full(len(p), np.inf)
    for axis in (np.cross(b - a, c - a), np.cross(d, b - a), np.cross(d, c - b), np.cross(d, a - c)):
        length = np.linalg.norm(axis, axis=1)
        segment = np.stack([_dot(x - a, axis) for x in (p, q)])
        triangle = np.stack([_dot(x - a, axis) for x in (a, b, c)])
        overlap = np.minimum(segment.max(0) - triangle.min(0), triangle.max(0) - segment.min(0))
        usable = length > 1e-9 * np.maximum(_dot(d, d), _dot(b - a, b - a))  # parallel to a side: no axis there
        depth = np.where(usable, np.minimum(depth, overlap / np.where(usable, length, 1.0)), depth)
    return np.maximum(depth, 0.0)


def crossing_points(p, q, a, b, c) -> np.ndarray:
    """Where crossing segments meet the triangles' planes [m], (m, 3)."""
    normal = np.cross(b - a, c - a)
    side_p, side_q = _dot(p - a, normal), _dot(q - a, normal)
    return p + (side_p / (side_p - side_q))[:, None] * (q - p)


def point_triangle_distances(p, a, b, c) -> np.ndarray:
    """Distances [m] between points and triangles, float64 (m,). All (m, 3)."""
    normal = np.cross(b - a, c - a)
    square = np.maximum(_dot(normal, normal), 1e-300)
    inside = np.ones(len(p), dtype=bool)
    for start, end in ((a, b), (b, c), (c, a)):
        inside &= _dot(np.cross(end - start, p - start), normal) >= 0.0
    plane = np.abs(_dot(p - a, normal)) / np.sqrt(square)
    border = np.min([point_segment_distances(p, s, e) for s, e in ((a, b), (b, c), (c, a))], axis=0)
    return np.where(inside, plane, border)


def point_segment_distances(p, a, b) -> np.ndarray:
    """Distances [m] between points and segments, float64 (m,)."""
    u = b - a
    t = np.clip(_dot(p - a, u) / np.maximum(_dot(u, u), 1e-300), 0.0, 1.0)
    return np.linalg.norm(p - a - t[:, None] * u, axis=1)


def segment_segment_distances(a0, a1, b0, b1) -> np.ndarray:
    """Distances [m] between segments, float64 (m,): the interior solution where there is one, else the best of the four
    end-against-segment distances (which covers parallel segments)."""
    u, v, w = a1 - a0, b1 - b0, b0 - a0
    uu, uv, vv, uw, vw = _dot(u, u), _dot(u, v), _dot(v, v), _dot(u, w), _dot(v, w)
    det = uu * vv - uv * uv
    regular = det > 1e-14 * uu * vv
    safe = np.where(regular, det, 1.0)
    s, t = (uw * vv - vw * uv) / safe, (uw * uv - vw * uu) / safe
    interior = regular & (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    line = np.linalg.norm(w + t[:, None] * v - s[:, None] * u, axis=1)
    ends = np.min(
        [
            point_segment_distances(a0, b0, b1), point_segment_distances(a1, b0, b1),
            point_segment_distances(b0, a0, a1), point_segment_distances(b1, a0, a1),
        ],
        axis=0,
    )  # fmt: skip
    return np.where(interior, np.minimum(line, ends), ends)


def vertices_on_edges(positions: np.ndarray, vertices: np.ndarray, edges: np.ndarray, relative: float) -> np.ndarray:
    """Pairs (vertex id, edge row) where a vertex lies in the inside of an edge it does not belong to, within
    relative * edge length, int64 (k, 2)."""
    if len(edges) == 0 or len(vertices) == 0:
        return np.zeros((0, 2), dtype=np.int64)
    length = np.linalg.norm(positions[edges[:, 1]] - positions[edges[:, 0]], axis=1)
    tree = BoxTree(*boxes(positions, edges, relative * length))
    pairs = tree.overlaps(positions[vertices], positions[vertices])
    vertex, edge = vertices[pairs[:, 0]], pairs[:, 1]
    apart = (edges[edge] != vertex[:, None]).all(axis=1)
    vertex, edge = vertex[apart], edge[apart]
    distance = point_segment_distances(positions[vertex], positions[edges[edge, 0]], positions[edges[edge, 1]])
    near = distance <= relative * length[edge]
    return np.column_stack([vertex[near], edge[near]])


def winding_number(point: np.ndarray, positions: np.ndarray, triangles: np.ndarray) -> float:
    """How often a closed surface winds around a point, about 1 inside and 0 outside (Jacobson et al. 2013)."""
    a, b, c = (positions[triangles[:, k]] - point for k in range(3))
    la, lb, lc = (np.linalg.norm(r, axis=1) for r in (a, b, c))
    numerator = _dot(a, np.cross(b, c))
    denominator = la * lb * lc + _dot(a, b) * lc + _dot(b, c) * la + _dot(c, a) * lb
    return float(np.arctan2(numerator, denominator).sum() / (2.0 * np.pi))


@dataclass(frozen=True)
class Touch:
    """One pair of elements that crosses or is too close. Point ids are those of the arrays that were searched."""

    kind: str  # "crossing" (edge through triangle) or "touching" (point-triangle or edge-edge)
    first: tuple[int, ...]  # point ids of the first element
    second: tuple[int, ...]
    position: np.ndarray  # [m], (3,)
    depth: float  # [m] crossing: shift that would part them; touching: half thicknesses minus distance


def _dot(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", u, v)
