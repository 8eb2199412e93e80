"""Numbers given per element: checked, broadcast and uploaded in one place, so every energy refuses bad input alike."""

from __future__ import annotations

import numpy as np
import warp as wp


def per_element(owner: str, name: str, values, count: int, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Float64 array of shape (count, *shape); a value of shape `shape` is repeated for every element.

    Raises ValueError, naming the energy and the argument, when the shape does not fit or a value is NaN.
    """
    array = np.asarray(values, dtype=np.float64)
    wanted = (count, *shape)
    if array.shape == shape:
        array = np.broadcast_to(array, wanted)
    if array.shape != wanted:
        raise ValueError(f"{owner}: {name} has shape {array.shape}; it must be {wanted} or {shape}")
    bad = np.isnan(array).reshape(count, int(np.prod(shape))).any(axis=1)
    if bad.any():
        raise ValueError(f"{owner}: {name} of element {int(np.flatnonzero(bad)[0])} is NaN; it must be a number")
    return np.ascontiguousarray(array)


def non_negative(owner: str, name: str, array: np.ndarray) -> np.ndarray:
    """The array itself; raises ValueError naming the first element below zero."""
    bad = np.flatnonzero(array < 0.0)
    if len(bad):
        raise ValueError(f"{owner}: {name} of element {int(bad[0])} is {float(array[bad[0]])!r}; it must be at least 0")
    return array


def upload(array: np.ndarray, dtype, device: str) -> wp.array:
    """Device copy of a per-element array; dtype is a Warp scalar, vector or matrix type."""
    return wp.array(array, dtype=dtype, device=device)


def host_positions(x) -> np.ndarray:
    """Point positions as a NumPy array (P, 3), from a device array or anything array-like."""
    return x.numpy() if isinstance(x, wp.array) else np.asarray(x, dtype=np.float64)
