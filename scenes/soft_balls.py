"""Tetrahedra of a soft body made of ellipsoids that run into each other: toys, fruit, sacks.

The body is cut out of a body-centred lattice, whose tetrahedra are all alike and well shaped, and the outer vertices
are drawn onto the surface as far as the tetrahedra stay sound (isosurface stuffing, Labelle and Shewchuk 2007, in its
simplest form).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from engine.mesh.topology import boundary_of_tets

BLEND = 0.35  # of the cell: how far seams between ellipsoids are rounded
REACH = 0.2  # of the cell: how far outside the surface a lattice vertex may lie
FLAKE = 0.3  # of the lattice's volume: below this a tetrahedron of the surface is left out
LEAST = 0.1  # of the lattice's volume that a tetrahedron keeps when its corners are drawn to the surface


def distance(points: np.ndarray, centres: np.ndarray, radii: np.ndarray, blend: float) -> np.ndarray:
    """Signed distance to first order, negative inside (n,) [m]; seams rounded over `blend` [m]."""
    way = points[:, None] - centres
    scaled = way / radii
    length = np.linalg.norm(scaled, axis=2)
    slope = np.linalg.norm(scaled / radii, axis=2)
    each = np.where(slope > 0.0, length * (length - 1.0) / np.maximum(slope, 1e-300), -radii.min(axis=1))
    if blend <= 0.0:
        return each.min(axis=1)
    low = each.min(axis=1)
    return low - blend * np.log(np.exp(-(each - low[:, None]) / blend).sum(axis=1))


def lattice(low: np.ndarray, high: np.ndarray, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Body-centred lattice over a box: vertices (n, 3), tetrahedra (m, 4), positively oriented."""
    counts = np.ceil((high - low) / cell).astype(int) + 1
    grid = np.stack(np.meshgrid(*(np.arange(c + 1) for c in counts), indexing="ij"), axis=-1)
    middles = np.stack(np.meshgrid(*(np.arange(c) for c in counts), indexing="ij"), axis=-1)
    corners = low + cell * (grid.reshape(-1, 3) - 0.5)
    centres = low + cell * middles.reshape(-1, 3)
    corner_id = np.arange(len(corners)).reshape(counts + 1)
    centre_id = len(corners) + np.arange(len(centres)).reshape(counts)
    found = []
    for axis in range(3):  # two neighbouring centres, and each side of the face between them
        along, u, v = axis, (axis + 1) % 3, (axis + 2) % 3
        place = np.argwhere(np.ones([c - (k == along) for k, c in enumerate(counts)], bool))
        step = np.eye(3, dtype=int)
        a, b = centre_id[tuple(place.T)], centre_id[tuple((place + step[along]).T)]
        face = [place + step[along] + s for s in (0 * step[u], step[u], step[u] + step[v], step[v])]
        ring = [corner_id[tuple(f.T)] for f in face]
        for k in range(4):
            found.append(np.column_stack([a, b, ring[k], ring[(k + 1) % 4]]))
    vertices, tets = np.vstack([corners, centres]), np.concatenate(found)
    flip = volumes(vertices, tets) < 0.0
    tets[flip, 2:] = tets[flip, :1:-1]
    return vertices, tets


def volumes(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Signed, (m,) [m3]."""
    a, b, c, d = (vertices[tets[:, k]] for k in range(4))
    return np.einsum("ti,ti->t", b - a, np.cross(c - a, d - a)) / 6.0


def soft_balls(centres, radii, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) [m] and tetrahedra (m, 4) of the union of ellipsoids.

    centres, radii: (k, 3) [m]; cell: edge of the lattice's cubes [m]. Raises ValueError when the cell is too coarse for
    anything to be left.
    """
    centres, radii = np.asarray(centres, float).reshape(-1, 3), np.asarray(radii, float).reshape(-1, 3)
    vertices, tets = lattice((centres - radii).min(axis=0) - cell, (centres + radii).max(axis=0) + cell, cell)

    def phi(points: np.ndarray) -> np.ndarray:
        return distance(points, centres, radii, BLEND * cell)

    value = phi(vertices)
    tets = tets[(value[tets] < REACH * cell).all(axis=1) & ((value[tets] < 0.0).sum(axis=1) >= 2)]
    if len(tets) < 8:
        raise ValueError(f"cell is {cell:g} m: too coarse for ellipsoids of radius {radii.min():g} m; halve it")
    whole = volumes(vertices, tets).max()
    for _ in range(4):  # a tetrahedron with all corners on the surface becomes a flake: it goes
        moved, outer = _drawn(vertices, tets, phi, cell)
        flake = np.isin(tets, outer).all(axis=1) & (volumes(moved, tets) < FLAKE * whole)
        if not flake.any():
            break
        tets = tets[~flake]
    tets = _largest_piece(tets)
    used, tets = np.unique(tets, return_inverse=True)
    tets, start = tets.reshape(-1, 4), vertices[used]
    away = _drawn(start, tets, phi, cell)[0] - start
    share = np.ones(len(start))
    for _ in range(12):  # half the way back where a tetrahedron would become flat
        flat = volumes(start + share[:, None] * away, tets) < LEAST * whole
        if not flat.any():
            break
        share[np.unique(tets[flat])] *= 0.5
    else:
        share[:] = 0.0
    return start + share[:, None] * away, tets


def _drawn(vertices: np.ndarray, tets: np.ndarray, phi, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices with the outer ones drawn onto the surface, and which are outer."""
    outer, moved, step = np.unique(boundary_of_tets(tets)), vertices.copy(), 1e-4 * cell
    for _ in range(4):  # Newton along the gradient
        here = moved[outer]
        gradient = np.stack([(phi(here + step * e) - phi(here - step * e)) / (2.0 * step) for e in np.eye(3)], axis=1)
        moved[outer] -= (phi(here) / np.maximum((gradient**2).sum(axis=1), 1e-12))[:, None] * gradient
    return moved, outer


def _largest_piece(tets: np.ndarray) -> np.ndarray:
    """Tetrahedra that hang together by faces."""
    faces = np.sort(tets[:, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]], axis=2).reshape(-1, 3)
    _, face = np.unique(faces, axis=0, return_inverse=True)
    owner = np.repeat(np.arange(len(tets)), 4)
    order = np.argsort(face.reshape(-1), kind="stable")
    same = np.diff(face.reshape(-1)[order]) == 0
    pairs = (owner[order][:-1][same], owner[order][1:][same])
    links = coo_matrix((np.ones(len(pairs[0])), pairs), shape=(len(tets), len(tets)))
    piece = connected_components(links, directed=False)[1]
    return tets[piece == np.bincount(piece).argmax()]
