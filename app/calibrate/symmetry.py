"""The middle of a round press, from its picture alone.

Around the axis of a round press the tilt turns with the direction, so on each ring about the true middle the change of
colour is a mean and a first harmonic; about any other middle it is not.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from app.calibrate.presses import Press, distance_from

RING = 3.0  # [pixel] width
LOOK = 3.0  # contact radii around the table's middle in which the press is looked for
SEEN = 0.15  # of the largest change, above which a pixel belongs to the press


def middle_of_change(press: Press, background: np.ndarray) -> np.ndarray:
    """Column and row [pixel], (2,)."""
    change = press.image.astype(float) - background
    near = distance_from(press, background.shape) < LOOK * press.radius
    strength = np.abs(change).sum(axis=2) * near
    weight = np.maximum(strength - SEEN * strength.max(), 0.0)
    rows, columns = np.mgrid[: background.shape[0], : background.shape[1]]
    start = np.array([(weight * columns).sum(), (weight * rows).sum()]) / max(weight.sum(), 1e-12)
    seen = weight > 0.0
    reach = np.sqrt(seen.sum() / np.pi) * 1.5
    x, y = columns[near].astype(float), rows[near].astype(float)
    values = change[near]

    def misfit(middle):
        return _misfit(x - middle[0], y - middle[1], values, reach)

    options = {"xatol": 0.1, "fatol": 1e-3, "initial_simplex": start + np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])}
    return minimize(misfit, start, method="Nelder-Mead", options=options).x


def _misfit(dx: np.ndarray, dy: np.ndarray, values: np.ndarray, reach: float) -> float:
    """Mean square of what rings of mean and first harmonic leave unexplained within `reach`."""
    r = np.hypot(dx, dy)
    inside = r < reach
    r, values = r[inside], values[inside]
    ring = (r / RING).astype(int)
    turn = np.column_stack([np.ones_like(r), dx[inside] / np.maximum(r, 1e-9), dy[inside] / np.maximum(r, 1e-9)])
    count = ring.max() + 1
    normal, right = np.empty((count, 3, 3)), np.empty((count, 3, values.shape[1]))
    for i in range(3):
        for j in range(3):
            normal[:, i, j] = np.bincount(ring, turn[:, i] * turn[:, j], count)
        for c in range(values.shape[1]):
            right[:, i, c] = np.bincount(ring, turn[:, i] * values[:, c], count)
    found = np.linalg.solve(normal + 1e-6 * np.eye(3), right)
    left = values - (turn[:, :, None] * found[ring]).sum(axis=1)
    return float((left**2).mean())
