"""Runs one energy on elements that share no point, each in a world of its own, and compares with finite differences."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.energies.base import Energy, StepInputs


def stencils_for(count: int, size: int) -> np.ndarray:
    """(count, size) stencils without shared points."""
    return np.arange(count * size, dtype=np.int32).reshape(count, size)


class Probe:
    """Device arrays for one energy; positions are given and returned per element, (E, k, 3)."""

    def __init__(self, energy: Energy, x_start: np.ndarray | None = None, step_size: float = 0.01):
        self.energy = energy
        points = energy.num_elements * energy.stencil_size
        self.x = wp.zeros(points, dtype=wp.vec3d, device=energy.device)
        start = np.zeros((points, 3)) if x_start is None else x_start.reshape(-1, 3)
        h = wp.array(np.array([step_size]), dtype=wp.float64, device=energy.device)
        self.inputs = StepInputs(self.x, wp.array(start, dtype=wp.vec3d, device=energy.device), h)
        self.world_energy = wp.zeros(energy.num_elements, dtype=wp.float64, device=energy.device)
        self.gradient_device = wp.zeros(points, dtype=wp.vec3d, device=energy.device)
        slots = energy.num_elements * energy.num_blocks
        self.blocks = wp.zeros(slots, dtype=wp.mat33d, device=energy.device)

    def place(self, x: np.ndarray) -> None:
        self.x.assign(np.ascontiguousarray(x.reshape(-1, 3)))

    def value(self, x: np.ndarray) -> np.ndarray:
        """(E,) [J]."""
        self.place(x)
        self.world_energy.zero_()
        self.energy.launch_value(self.inputs, self.world_energy)
        return self.world_energy.numpy().copy()

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """(E, k, 3) [N]. Outputs are poisoned first: every slot must be written."""
        return self._derivatives(x)[0]

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """(E, 3k, 3k) [N/m], symmetric, assembled from the upper blocks."""
        return self._derivatives(x)[1]

    def _derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.place(x)
        self.gradient_device.fill_(wp.vec3d(np.nan, np.nan, np.nan))
        self.blocks.fill_(wp.mat33d(*([np.nan] * 9)))
        self.energy.launch_derivatives(self.inputs, self.gradient_device, self.blocks)
        k, count = self.energy.stencil_size, self.energy.num_elements
        gradient = self.gradient_device.numpy().reshape(count, k, 3).copy()
        packed = self.blocks.numpy().reshape(count, -1, 3, 3)
        dense = np.zeros((count, k, 3, k, 3))
        for slot, (a, b) in enumerate(zip(*np.triu_indices(k), strict=True)):
            dense[:, a, :, b, :] = packed[:, slot]
            dense[:, b, :, a, :] = packed[:, slot].transpose(0, 2, 1)
        dense = dense.reshape(count, 3 * k, 3 * k)
        assert np.isfinite(gradient).all() and np.isfinite(dense).all()
        return gradient, dense

    def after_update(self, x_old: np.ndarray, dx: np.ndarray) -> None:
        """An accepted update: positions become x_old + dx, then the hook runs."""
        self.place(x_old + dx)
        update = wp.array(dx.reshape(-1, 3), dtype=wp.vec3d, device=self.energy.device)
        everywhere = wp.ones(int(self.energy.element_world.numpy().max()) + 1, dtype=int, device=self.energy.device)
        self.energy.launch_after_update(self.inputs, update, everywhere)

    def begin_step(self, x: np.ndarray) -> None:
        self.place(x)
        self.energy.begin_step(self.inputs)


def sizes(x: np.ndarray) -> np.ndarray:
    """Length scale of each element (E,) [m]: the spread of its points."""
    return np.ptp(x, axis=1).max(axis=1)


def difference_gradient(probe: Probe, x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """Fourth-order central differences of the value, (E, k, 3); `step` in shares of each element's size."""
    return _differences(probe.value, x, step)


def difference_hessian(probe: Probe, x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """Fourth-order central differences of the gradient, (E, 3k, 3k)."""
    columns = _differences(lambda y: probe.gradient(y).reshape(len(y), -1), x, step)  # (E, k, 3, 3k)
    count, k = x.shape[:2]
    return columns.reshape(count, 3 * k, 3 * k).transpose(0, 2, 1)


def _differences(function, x: np.ndarray, step: float) -> np.ndarray:
    h = step * sizes(x)
    result = []
    for a in range(x.shape[1]):
        for i in range(3):
            total = 0.0
            for offset, weight in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)):
                y = x.copy()
                y[:, a, i] += offset * h
                total = total + weight * function(y)
            result.append(total / h.reshape(-1, *([1] * (np.ndim(total) - 1))))
    stacked = np.stack(result, axis=1)  # (E, 3k, ...)
    return stacked.reshape(len(x), x.shape[1], 3, *stacked.shape[2:])


def relative_error(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Per element: Frobenius norm of the difference over that of the expected, (E,)."""
    count = len(expected)
    difference = np.linalg.norm((actual - expected).reshape(count, -1), axis=1)
    return difference / np.linalg.norm(expected.reshape(count, -1), axis=1)


def lowest_eigenvalue(hessian: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue over the largest magnitude, (E,); zero matrices give 0."""
    values = np.linalg.eigvalsh(hessian)
    return values[:, 0] / np.maximum(np.abs(values).max(axis=1), 1e-300)


def random_rotations(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 3, 3) uniform rotations."""
    q, r = np.linalg.qr(rng.standard_normal((count, 3, 3)))
    q = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return q
