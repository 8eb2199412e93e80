"""Polygons of more than three corners, as they stand in OBJ files, cut into triangles by ear clipping."""

from __future__ import annotations

import numpy as np


def triangulate(points: np.ndarray) -> list[tuple[int, int, int]] | None:
    """Triangles (local corner ids) of a simple polygon, convex or not, nearly planar; same winding as given.

    points: (k, 3) corners in order [m]. None when no ear can be cut: the polygon crosses itself. One whose corners
    lie on a line is fanned, and the search for defects names the triangles.
    """
    centred = points - points.mean(axis=0)
    normal = np.cross(centred, np.roll(centred, -1, axis=0)).sum(axis=0)  # Newell: twice the area vector
    if np.linalg.norm(normal) <= 1e-12 * (centred**2).sum():
        on_a_line = np.linalg.matrix_rank(centred, tol=1e-9 * np.abs(centred).max()) <= 1
        return [(0, i, i + 1) for i in range(1, len(points) - 1)] if on_a_line else None
    normal = normal / np.linalg.norm(normal)
    left, triangles = list(range(len(points))), []
    while len(left) > 3:
        for k in range(len(left)):
            ear = (left[k - 1], left[k], left[(k + 1) % len(left)])
            if _is_ear(points, ear, left, normal):
                triangles.append(ear)
                del left[k]
                break
        else:
            return None
    a, b, c = points[left]
    return [*triangles, tuple(left)] if np.dot(np.cross(b - a, c - a), normal) >= 0.0 else None


def _is_ear(points: np.ndarray, ear: tuple[int, int, int], left: list[int], normal: np.ndarray) -> bool:
    a, b, c = points[list(ear)]
    if np.dot(np.cross(b - a, c - b), normal) <= 0.0:
        return False
    for other in left:
        if other in ear:
            continue
        p = points[other]
        sides = [np.dot(np.cross(v - u, p - u), normal) for u, v in ((a, b), (b, c), (c, a))]
        if min(sides) >= 0.0:
            return False
    return True
