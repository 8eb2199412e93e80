"""Who is next to whom: unique edges, hinges, boundary of tetrahedra, adjacency. Local vertex ids throughout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

# Faces of a positively oriented tetrahedron (a, b, c, d), det(b-a, c-a, d-a) > 0, wound outward.
TET_FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@dataclass(frozen=True)
class EdgeTable:
    """Unique edges of a triangle mesh and what lies beside them."""

    edges: np.ndarray  # vertex ids, smaller first, lexicographically sorted, int (ne, 2)
    triangle_edges: np.ndarray  # edge of each triangle side (0-1, 1-2, 2-0), int (nt, 3)
    edge_count: np.ndarray  # triangles at each edge, int (ne,)


def half_edges(triangles: np.ndarray) -> np.ndarray:
    """Directed sides (a, b) of each triangle in its own winding, int (3 nt, 2); row 3 t + s is side s of triangle t."""
    t = np.asarray(triangles).reshape(-1, 3)
    return np.stack([t, np.roll(t, -1, axis=1)], axis=2).reshape(-1, 2)


def edge_table(triangles: np.ndarray) -> EdgeTable:
    """Unique undirected edges of `triangles`, int (nt, 3)."""
    sides = np.sort(half_edges(triangles), axis=1)
    edges, inverse, count = np.unique(sides, axis=0, return_inverse=True, return_counts=True)
    return EdgeTable(edges.astype(np.int64), inverse.reshape(-1, 3), count)


def hinges(triangles: np.ndarray) -> np.ndarray:
    """Interior edges with their two opposite vertices, int (nh, 4): [edge0, edge1, wing0, wing1].

    (edge0, edge1, wing0) is a triangle in its own winding and so is (edge1, edge0, wing1): with n0 and n1 the normals
    of these two, theta = atan2((n0 x n1) . e / |e|, n0 . n1), e = edge1 - edge0, is positive where the surface folds
    away from its normals (a convex edge of an outward surface). Edges of one triangle or of more than two are left
    out: `checks` refuses the latter. Sorted by (smaller edge vertex, larger edge vertex).
    """
    t = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    if len(t) == 0:
        return np.zeros((0, 4), dtype=np.int64)
    table = edge_table(t)
    side_edge = table.triangle_edges.reshape(-1)
    order = np.argsort(side_edge, kind="stable")
    first = np.concatenate([[0], np.cumsum(table.edge_count)[:-1]])
    pairs = table.edge_count == 2
    s0, s1 = order[first[pairs]], order[first[pairs] + 1]
    directed = half_edges(t)
    opposite = np.roll(t, -2, axis=1).reshape(-1)  # the vertex that side s of triangle t does not touch
    # The triangle that runs along the edge from the smaller to the larger id is wing 0, so the order is unique.
    swap = directed[s0, 0] > directed[s0, 1]
    s0, s1 = np.where(swap, s1, s0), np.where(swap, s0, s1)
    return np.column_stack([directed[s0], opposite[s0], opposite[s1]])


def boundary_of_tets(tets: np.ndarray) -> np.ndarray:
    """Faces that belong to one tetrahedron only, wound outward for positively oriented tets, int (nf, 3)."""
    tets = np.asarray(tets, dtype=np.int64).reshape(-1, 4)
    faces = tets[:, TET_FACES].reshape(-1, 3)
    _, inverse, count = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
    return faces[count[inverse.reshape(-1)] == 1]


def boundary_edges(triangles: np.ndarray) -> np.ndarray:
    """Edges of exactly one triangle, int (nb, 2)."""
    table = edge_table(triangles)
    return table.edges[table.edge_count == 1]


def open_half_edges(triangles: np.ndarray) -> np.ndarray:
    """Indices of directed sides that no opposite side cancels, int (k,), into `half_edges(triangles)`.

    Empty exactly when the surface encloses a volume consistently: each edge is run through equally often both ways
    (an edge shared by two boxes that touch there is fine).
    """
    directed = half_edges(triangles)
    if len(directed) == 0:
        return np.zeros(0, dtype=np.int64)
    n = int(directed.max()) + 1
    key, back = directed[:, 0] * n + directed[:, 1], directed[:, 1] * n + directed[:, 0]
    keys, count = np.unique(key, return_counts=True)
    position = np.minimum(np.searchsorted(keys, back), len(keys) - 1)
    reverse_count = np.where(keys[position] == back, count[position], 0)
    own_count = count[np.searchsorted(keys, key)]
    return np.flatnonzero(own_count != reverse_count)


def vertex_neighbours(elements: np.ndarray, num_vertices: int) -> csr_matrix:
    """Vertices that share an element, as a boolean sparse matrix (n, n) without the diagonal."""
    e = np.asarray(elements, dtype=np.int64)
    k = e.shape[1]
    rows = np.repeat(e, k, axis=1).reshape(-1)
    cols = np.tile(e, (1, k)).reshape(-1)
    keep = rows != cols
    ones = np.ones(int(keep.sum()), dtype=bool)
    return coo_matrix((ones, (rows[keep], cols[keep])), shape=(num_vertices, num_vertices)).tocsr()


def vertex_triangles(triangles: np.ndarray, num_vertices: int) -> csr_matrix:
    """Triangles at each vertex, as a boolean sparse matrix (num_vertices, nt)."""
    t = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    cols = np.repeat(np.arange(len(t)), 3)
    return coo_matrix((np.ones(len(cols), dtype=bool), (t.reshape(-1), cols)), shape=(num_vertices, len(t))).tocsr()
