"""Numbers worth colouring a surface by, from positions and signals alone (numpy; no window)."""

from __future__ import annotations

import numpy as np


def rest_inverse(rest: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Inverse rest edge matrices in each triangle's own plane.

    Args:
        rest: rest vertices [m], (n, 3). triangles: (t, 3).

    Returns:
        Dm_inv [1/m], (t, 2, 2); zero rows for triangles without area.
    """
    a, b, c = (rest[triangles[:, k]] for k in range(3))
    e1, e2 = b - a, c - a
    length = np.linalg.norm(e1, axis=1)
    safe = np.where(length > 0, length, 1.0)
    u = e1 / safe[:, None]
    along = np.einsum("ij,ij->i", e2, u)
    across = np.linalg.norm(e2 - along[:, None] * u, axis=1)
    good = (length > 0) & (across > 1e-12 * safe)
    out = np.zeros((len(triangles), 2, 2))
    out[good, 0, 0] = 1.0 / length[good]
    out[good, 0, 1] = -along[good] / (length[good] * across[good])
    out[good, 1, 1] = 1.0 / across[good]
    return out


def largest_strain(x: np.ndarray, triangles: np.ndarray, dm_inv: np.ndarray) -> np.ndarray:
    """Largest absolute principal Green strain of each triangle [-], (t,): E = (F^T F - I) / 2."""
    a = x[triangles[:, 0]]
    edges = np.stack([x[triangles[:, 1]] - a, x[triangles[:, 2]] - a], axis=2)  # (t, 3, 2)
    f = edges @ dm_inv
    c = np.einsum("tki,tkj->tij", f, f)
    mean = 0.5 * (c[:, 0, 0] + c[:, 1, 1])
    radius = np.hypot(0.5 * (c[:, 0, 0] - c[:, 1, 1]), c[:, 0, 1])
    strain = 0.5 * np.maximum(np.abs(mean + radius - 1.0), np.abs(mean - radius - 1.0))
    strain[~dm_inv.any(axis=(1, 2))] = 0.0
    return strain


def to_vertices(values: np.ndarray, triangles: np.ndarray, count: int) -> np.ndarray:
    """Mean of the adjacent triangles' values at each vertex, (count,)."""
    total = np.zeros(count)
    weight = np.zeros(count)
    for k in range(3):
        total += np.bincount(triangles[:, k], values, count)
        weight += np.bincount(triangles[:, k], minlength=count)
    return total / np.maximum(weight, 1)


def nice_limit(value: float) -> float:
    """The next number of the series 1, 2, 5 at or above value; 1 for nothing to show."""
    if not np.isfinite(value) or value <= 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    for step in (1.0, 2.0, 5.0, 10.0):
        if value <= step * power * (1.0 + 1e-9):
            return float(step * power)
    return float(10.0 * power)
