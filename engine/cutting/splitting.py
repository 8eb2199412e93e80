"""A triangle split by one chord between two places on its border, and how good the pieces are.

A place (node) is a vertex (i, i, 0.0) or lies on the edge i < j at share t from i: (i, j, t).
"""

from __future__ import annotations

import math

import numpy as np

MIN_ANGLE = np.radians(12.0)  # of a piece; kept a little above the 10 degrees that are promised

Node = tuple[int, int, float]


def vertex_node(vertex: int) -> Node:
    return (int(vertex), int(vertex), 0.0)


def edge_node(a: int, b: int, t: float) -> Node:
    """At share t from a to b."""
    return (int(a), int(b), float(t)) if a < b else (int(b), int(a), 1.0 - float(t))


def is_vertex(node: Node) -> bool:
    return node[0] == node[1]


def node_place(points: np.ndarray, node: Node) -> np.ndarray:
    """Where it lies; points (n, d)."""
    a, b, t = node
    return points[a] if a == b else (1.0 - t) * points[a] + t * points[b]


def split_triangle(points: np.ndarray, corners, first: Node, second: Node) -> list[tuple[Node, Node, Node]]:
    """Pieces of the triangle `corners` (three vertex ids) cut from `first` to `second`, wound like it.

    A chord along a side splits nothing. Of the two ways to split the four-sided piece the better one is taken.
    """
    if is_vertex(first) and is_vertex(second):
        return [tuple(vertex_node(c) for c in corners)]
    if is_vertex(second):
        first, second = second, first
    ring = [int(c) for c in corners]
    if is_vertex(first):
        k = ring.index(first[0])
        a, b = vertex_node(ring[(k + 1) % 3]), vertex_node(ring[(k + 2) % 3])
        return [(first, a, second), (first, second, b)]
    shared = ({first[0], first[1]} & {second[0], second[1]}).pop()
    k = ring.index(shared)
    p, q, r = (vertex_node(ring[(k + s) % 3]) for s in (2, 0, 1))
    if p[0] not in (first[0], first[1]):
        first, second = second, first  # `first` lies on p-q, `second` on q-r
    tip = (first, q, second)
    ways = [(p, first, second), (p, second, r)], [(p, first, r), (first, second, r)]
    return [tip, *max(ways, key=lambda pieces: quality(points, pieces)[0])]


def quality(points: np.ndarray, pieces) -> tuple[float, float]:
    """Smallest angle [rad] and smallest height [m] of the pieces; points (n, 2). In plain numbers: it is called for
    every chord that a path might take."""
    angle = height = math.inf
    for piece in pieces:
        (ax, ay), (bx, by), (cx, cy) = (_plain_place(points, node) for node in piece)
        a, b, c = math.hypot(cx - bx, cy - by), math.hypot(ax - cx, ay - cy), math.hypot(bx - ax, by - ay)
        double_area = abs((bx - ax) * (cy - ay) - (by - ay) * (cx - ax))
        short, _, long = sorted((a, b, c))
        other = a + b + c - short - long
        height = min(height, double_area / max(long, 1e-300))
        angle = min(angle, math.asin(min(1.0, double_area / max(other * long, 1e-300))))  # opposite the shortest side
    return angle, height


def _plain_place(points: np.ndarray, node: Node) -> tuple[float, float]:
    a, b, t = node
    ax, ay = points[a].tolist()
    if a == b:
        return ax, ay
    bx, by = points[b].tolist()
    return (1.0 - t) * ax + t * bx, (1.0 - t) * ay + t * by


def smallest_angle(corners: np.ndarray) -> float:
    """[rad]; corners (k, 3, d)."""
    angles = []
    for i in range(3):
        u, w = corners[:, (i + 1) % 3] - corners[:, i], corners[:, (i + 2) % 3] - corners[:, i]
        cosine = np.einsum("ij,ij->i", u, w) / np.maximum(np.linalg.norm(u, axis=1) * np.linalg.norm(w, axis=1), 1e-300)
        angles.append(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return float(np.min(angles))


def smallest_height(corners: np.ndarray) -> float:
    """[m]; corners (k, 3, d)."""
    sides = np.stack([np.linalg.norm(corners[:, (i + 1) % 3] - corners[:, i], axis=1) for i in range(3)], axis=1)
    u, w = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    square = np.einsum("ij,ij->i", u, u) * np.einsum("ij,ij->i", w, w) - np.einsum("ij,ij->i", u, w) ** 2
    return float(np.min(np.sqrt(np.maximum(square, 0.0)) / np.maximum(sides.max(axis=1), 1e-300)))
