"""Central differences for testing derivatives of laws and energies.

A single step size hides mistakes: too large truncates, too small rounds. Every check here tries several and keeps the
best, so a wrong sign or factor cannot pass and a right derivative passes at every scale. Steps are relative to `scale`,
the size [in the units of x] over which the function varies.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

RELATIVE_STEPS = (1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)


def central_difference(function: Callable, x: np.ndarray, step: float, batched: bool = False) -> np.ndarray:
    """Jacobian of `function` at x by fourth-order central differences, shape f(x).shape + x.shape.

    `function` maps an array of x's shape to a scalar or an array. With `batched` it is called once with a stack
    (k, *x.shape) and returns (k, ...): one launch instead of 4 n.
    """
    x = np.asarray(x, dtype=np.float64)
    offsets = np.array([-2.0, -1.0, 1.0, 2.0]) * step
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * step)
    probes = np.broadcast_to(x.ravel(), (x.size, 4, x.size)).copy()
    for i in range(x.size):
        probes[i, :, i] += offsets
    stack = probes.reshape(-1, *x.shape)
    values = np.asarray(function(stack) if batched else [function(probe) for probe in stack], dtype=np.float64)
    values = values.reshape(x.size, 4, *values.shape[1:])
    columns = np.tensordot(weights, values, axes=(0, 1))  # (n, ...)
    return np.asarray(np.moveaxis(columns, 0, -1)).reshape(columns.shape[1:] + x.shape)


def best_relative_error(
    function: Callable, x: np.ndarray, derivative: np.ndarray, scale: float = 1.0, batched: bool = False
) -> float:
    """Smallest, over RELATIVE_STEPS, of |difference - derivative|_max / |derivative|_max.

    derivative: shape f(x).shape + x.shape, so a gradient for a scalar function, a Hessian for a gradient.
    """
    derivative = np.asarray(derivative, dtype=np.float64)
    size = np.abs(derivative).max()
    errors = []
    for step in RELATIVE_STEPS:
        difference = central_difference(function, x, step * scale, batched)
        if difference.shape != derivative.shape:
            raise ValueError(f"derivative has shape {derivative.shape}; the function's is {difference.shape}")
        error = np.abs(difference - derivative).max()
        errors.append(error / size if size > 0.0 else np.inf)
    finite = [e for e in errors if np.isfinite(e)]
    return min(finite) if finite else float("inf")


def assert_derivative(
    function: Callable,
    x: np.ndarray,
    derivative: np.ndarray,
    scale: float = 1.0,
    tolerance: float = 1e-6,
    batched: bool = False,
    label: str = "",
) -> None:
    """Fail unless `derivative` is non-zero, finite and agrees with central differences within `tolerance`."""
    derivative = np.asarray(derivative, dtype=np.float64)
    assert np.isfinite(derivative).all(), f"{label}: derivative is not finite at x = {x!r}"
    assert np.abs(derivative).max() > 0.0, f"{label}: derivative is zero at x = {x!r}; the check would prove nothing"
    error = best_relative_error(function, x, derivative, scale, batched)
    assert error < tolerance, f"{label}: relative error {error:.2e}, tolerance {tolerance:.0e}, at x = {x!r}"
