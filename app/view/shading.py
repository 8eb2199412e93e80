"""Draw-only geometry: split normals at sharp edges, and thin sheets drawn with a thickness one can see. numpy only."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components


def split_sharp_edges(
    vertices: np.ndarray, triangles: np.ndarray, angle: float = 40.0
) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates vertices along edges sharper than an angle, so that smooth shading stays smooth only where it should.

    Args:
        vertices: [m], (n, 3). triangles: (t, 3). angle: [deg] between neighbouring normals.

    Returns:
        source: drawn vertex -> vertex it copies, (m,); and the triangles in drawn vertices, (t, 3).
    """
    t = len(triangles)
    corners = triangles.reshape(-1)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    # corners of two triangles belong together when the triangles share an edge that is not sharp
    tail = np.concatenate([np.arange(t) * 3 + k for k in range(3)])
    head = np.concatenate([np.arange(t) * 3 + (k + 1) % 3 for k in range(3)])
    low, high = np.minimum(corners[tail], corners[head]), np.maximum(corners[tail], corners[head])
    order = np.lexsort((high, low))
    same = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    first, second = order[:-1][same], order[1:][same]
    smooth = np.einsum("ij,ij->i", normal[tail[first] // 3], normal[tail[second] // 3]) > np.cos(np.radians(angle))
    first, second = first[smooth], second[smooth]
    pairs = []
    for one in (tail[first], head[first]):
        for other in (tail[second], head[second]):
            match = corners[one] == corners[other]
            pairs.append((one[match], other[match]))
    rows = np.concatenate([p[0] for p in pairs])
    cols = np.concatenate([p[1] for p in pairs])
    graph = coo_matrix((np.ones(len(rows)), (rows, cols)), shape=(3 * t, 3 * t))
    count, label = connected_components(graph, directed=False)
    source = np.zeros(count, int)
    source[label] = corners
    return source, label.reshape(-1, 3)


class Slab:
    """A sheet drawn as a slab: both faces offset along the normals, rims closed.

    A tape lying 0.1 mm above a table would flicker against it (the depth buffer cannot tell them apart); drawn with a
    thickness it reads as a sheet from every side.
    """

    def __init__(self, triangles: np.ndarray, count: int):
        """Args: triangles: (t, 3). count: vertices of the sheet."""
        t = len(triangles)
        self.count = count
        self._triangles = triangles
        self._gather = csr_matrix(
            (np.ones(3 * t), (triangles.reshape(-1), np.repeat(np.arange(t), 3))), shape=(count, t)
        )
        edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        key = np.sort(edges, axis=1)
        _, inverse, number = np.unique(key, axis=0, return_inverse=True, return_counts=True)
        rim = edges[number[inverse.reshape(-1)] == 1]
        # the rim has its own vertices, so that its normals do not bend those of the faces
        rim_vertices, local = np.unique(rim, return_inverse=True)
        local = local.reshape(-1, 2)
        low = 2 * count + local
        high = 2 * count + len(rim_vertices) + local
        walls = np.concatenate(
            [np.stack([low[:, 0], low[:, 1], high[:, 1]], 1), np.stack([low[:, 0], high[:, 1], high[:, 0]], 1)]
        )
        self.triangles = np.concatenate([triangles, triangles[:, ::-1] + count, walls])
        self.source = np.concatenate([np.arange(count), np.arange(count), rim_vertices, rim_vertices])
        self._side = np.concatenate(
            [np.ones(count), -np.ones(count), -np.ones(len(rim_vertices)), np.ones(len(rim_vertices))]
        )

    def positions(self, x: np.ndarray, half: float) -> np.ndarray:
        """Drawn vertices [m], (m, 3), from sheet vertices x (n, 3) and half the drawn thickness [m]."""
        a, b, c = (x[self._triangles[:, k]] for k in range(3))
        normal = self._gather @ np.cross(b - a, c - a)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        return x[self.source] + (half * self._side)[:, None] * normal[self.source]
