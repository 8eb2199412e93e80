"""The polynomial table of Taxim, for comparison.

Z. Si, W. Yuan, "Taxim: an example-based simulation model for GelSight tactile sensors", IEEE Robotics and Automation
Letters 7 (2022) 2361-2368: the coat's gradient is sorted into bins of magnitude and direction; in each bin the change
of each colour over the untouched picture is a polynomial of second degree in the pixel's place, fitted to presses of a
ball. Bins that no press filled take the nearest filled one's. Their shadows, attached by measured masks, are left out.
Written from the paper's description.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt

BINS = 125
TERMS = 6
RIDGE = 1e-4  # a bin with few pixels has no curvature of its own


class TaximTable:
    """Args: places (n, 2) field coordinates, tilt (n, 2) x and y of normals, change (n, 3) of the colours."""

    def __init__(self, places: np.ndarray, tilt: np.ndarray, change: np.ndarray):
        at = _bins(tilt)
        terms = _terms(places)
        count = BINS * BINS
        normal, right = np.empty((count, TERMS, TERMS)), np.empty((count, TERMS, 3))
        for i in range(TERMS):
            for j in range(TERMS):
                normal[:, i, j] = np.bincount(at, terms[:, i] * terms[:, j], count)
            for c in range(3):
                right[:, i, c] = np.bincount(at, terms[:, i] * change[:, c], count)
        filled = normal[:, 0, 0] > 0.0
        ridge = RIDGE * np.maximum(normal[:, :1, :1], 1.0) * np.eye(TERMS)
        fitted = np.linalg.solve(normal + ridge, right).reshape(BINS, BINS, TERMS, 3)
        nearest = distance_transform_edt(~filled.reshape(BINS, BINS), return_distances=False, return_indices=True)
        self.coefficients = fitted[tuple(nearest)].reshape(count, TERMS, 3)

    def change(self, places: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """Change of the colours (n, 3); 0 where the coat is flat."""
        value = (_terms(places)[:, :, None] * self.coefficients[_bins(tilt)]).sum(axis=1)
        return np.where((tilt == 0.0).all(axis=1)[:, None], 0.0, value)

    def image(self, reference: np.ndarray, places: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """(height, width, 3) uint8."""
        value = reference + 255.0 * self.change(places, tilt).reshape(reference.shape)
        return np.rint(np.clip(value, 0.0, 255.0)).astype(np.uint8)


def _bins(tilt: np.ndarray) -> np.ndarray:
    """Bin of each tilt: angle of the slope from 0 to 90 degrees, direction all around."""
    steepness = np.arcsin(np.minimum(np.linalg.norm(tilt, axis=1), 1.0)) / (0.5 * np.pi)
    direction = np.arctan2(tilt[:, 1], tilt[:, 0]) / (2.0 * np.pi) + 0.5
    rows, columns = (np.minimum((s * BINS).astype(int), BINS - 1) for s in (steepness, direction))
    return rows * BINS + columns


def _terms(places: np.ndarray) -> np.ndarray:
    x, y = places.T
    return np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])
