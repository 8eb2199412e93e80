"""Flat meshes and what tests ask of a cut one."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from engine.cutting.path import plan_paths
from engine.cutting.surgery import Surgery, operate
from engine.mesh import shapes
from engine.mesh.topology import edge_table, vertex_neighbours

KERF = 1e-5


def strip(pattern: str = "zigzag_rows", length: float = 0.06, cells: int = 6):
    vertices, triangles = shapes.strip_mesh(length, 0.019, cells, pattern)
    return vertices[:, :2].copy(), triangles


def cut_mesh(points, triangles, *lines, clearance: float = 0.36e-3, kerf: float = KERF, seam=None) -> Surgery:
    paths = [p for line in lines for p in plan_paths(points, triangles, np.asarray(line, float), clearance)]
    return operate(points, triangles, np.arange(len(points)) if seam is None else seam, paths, kerf)


def pieces(triangles: np.ndarray) -> int:
    """Connected parts, joined over sides or corners."""
    used, local = np.unique(triangles, return_inverse=True)
    return connected_components(vertex_neighbours(local.reshape(-1, 3), len(used)))[0]


def areas(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Signed, (t,)."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def is_manifold(triangles: np.ndarray) -> bool:
    """No side with more than two triangles, and around every vertex one fan."""
    if (edge_table(triangles).edge_count > 2).any():
        return False
    for v in np.unique(triangles):
        ring = triangles[(triangles == v).any(axis=1)]
        after = {}
        for row in ring.tolist():
            k = row.index(v)
            after[row[(k + 1) % 3]] = row[(k + 2) % 3]
        start = set(after) - set(after.values())
        at = start.pop() if start else next(iter(after))
        seen = 0
        while at in after:
            at, seen = after.pop(at), seen + 1
        if start or seen != len(ring):
            return False
    return True
