"""Rest measures of triangles, hinges and tetrahedra. Vertices are (n, 3) in metres unless said otherwise."""

from __future__ import annotations

import numpy as np


def triangle_normals(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(b - a) x (c - a) of each triangle: length twice the area [m2], float64 (nt, 3)."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def triangle_areas(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Areas [m2], float64 (nt,)."""
    return 0.5 * np.linalg.norm(triangle_normals(vertices, triangles), axis=1)


def shell_dm_inv(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Inverse rest edge matrix of each triangle in a local isometric frame [1/m], float64 (nt, 2, 2).

    Axis 1 runs along b - a, axis 2 in the triangle's plane at a right angle to it, so Dm = [b - a, c - a] is upper
    triangular. With Ds = [xb - xa, xc - xa] (3x2), F = Ds Dm_inv is the 3x2 deformation gradient, and F^T F = 1 at
    rest wherever the triangle lies in space. Raises ZeroDivisionError for a triangle without area.
    """
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    u, w = b - a, c - a
    length = np.linalg.norm(u, axis=1)
    height2 = np.linalg.norm(np.cross(u, w), axis=1)  # twice the area
    if len(length) and not (np.all(length > 0.0) and np.all(height2 > 0.0)):
        raise ZeroDivisionError(f"triangle {int(np.argmin(height2))} has no area: it has no inverse rest edge matrix")
    along = np.einsum("ij,ij->i", u, w) / length
    across = height2 / length
    dm_inv = np.zeros((len(triangles), 2, 2))
    dm_inv[:, 0, 0] = 1.0 / length
    dm_inv[:, 0, 1] = -along / (length * across)
    dm_inv[:, 1, 1] = 1.0 / across
    return dm_inv


def tet_volumes(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Signed volumes det(b - a, c - a, d - a) / 6 [m3], float64 (m,)."""
    a, b, c, d = (vertices[tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def tet_dm_inv(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Inverse of Dm = [b - a, c - a, d - a] (columns) [1/m], float64 (m, 3, 3)."""
    a = vertices[tets[:, 0]]
    dm = np.stack([vertices[tets[:, k]] - a for k in (1, 2, 3)], axis=2)
    return np.linalg.inv(dm)


def hinge_angles(vertices: np.ndarray, hinges: np.ndarray) -> np.ndarray:
    """Signed dihedral angles of `topology.hinges` [rad], float64 (nh,); 0 is flat.

    theta = atan2((n0 x n1) . e / |e|, n0 . n1), n0 = e x (wing0 - edge0), n1 = (wing1 - edge0) x e, e = edge1 - edge0
    (Bridson et al. 2003, signed as in Grinspun et al. 2003).
    """
    x0, x1, x2, x3 = (vertices[hinges[:, k]] for k in range(4))
    e = x1 - x0
    n0, n1 = np.cross(e, x2 - x0), np.cross(x3 - x0, e)
    sine = np.einsum("ij,ij->i", np.cross(n0, n1), e) / np.linalg.norm(e, axis=1)
    return np.arctan2(sine, np.einsum("ij,ij->i", n0, n1))


def hinge_shape(vertices: np.ndarray, hinges: np.ndarray) -> np.ndarray:
    """L^2 / (A1 + A2) of each hinge [-], float64 (nh,): rest edge length squared over its two rest areas.

    Bending energy is (D/2) * shape * (theta - theta_rest)^2 with D = E h^3 / 12 (1 - nu^2): reproduces plate theory's
    1/2 D kappa^2 along the axes of structured meshes. Grinspun et al. (2003) use three times this weight.
    """
    x0, x1, x2, x3 = (vertices[hinges[:, k]] for k in range(4))
    e = x1 - x0
    areas = 0.5 * (np.linalg.norm(np.cross(e, x2 - x0), axis=1) + np.linalg.norm(np.cross(e, x3 - x0), axis=1))
    return np.einsum("ij,ij->i", e, e) / areas


def vertex_areas(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """A third of the adjacent triangle areas [m2], float64 (n,); sums to the surface's area."""
    third = np.repeat(triangle_areas(vertices, triangles) / 3.0, 3)
    return np.bincount(triangles.reshape(-1), weights=third, minlength=len(vertices))


def edge_areas(vertices: np.ndarray, triangles: np.ndarray, triangle_edges: np.ndarray, num_edges: int) -> np.ndarray:
    """A third of the adjacent triangle areas [m2], float64 (num_edges,); sums to the surface's area."""
    third = np.repeat(triangle_areas(vertices, triangles) / 3.0, 3)
    return np.bincount(triangle_edges.reshape(-1), weights=third, minlength=num_edges)
