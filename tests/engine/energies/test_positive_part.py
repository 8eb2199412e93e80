"""Bounds that keep Hessians positive semi-definite without eigen-solvers, against NumPy's eigenvalues."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.energies.neo_hookean import largest_eigenvalue_bound, rotation_factor
from engine.energies.positive_part import positive_part_2d, positive_part_bound
from tests.engine.energies.harness import random_rotations

wp.set_module_options({"enable_backward": False})


@wp.kernel
def bounds_of(
    m: wp.array(dtype=wp.mat33d), positive: wp.array(dtype=wp.mat33d), largest: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    positive[i] = positive_part_bound(m[i], wp.float64(1e-300))
    largest[i] = largest_eigenvalue_bound(m[i])


@wp.kernel
def packed_positive_part(s: wp.array(dtype=wp.vec3d), positive: wp.array(dtype=wp.vec3d)):
    positive[wp.tid()] = positive_part_2d(s[wp.tid()])


@wp.kernel
def rotations_of(f: wp.array(dtype=wp.mat33d), rotation: wp.array(dtype=wp.mat33d)):
    i = wp.tid()
    rotation[i] = rotation_factor(f[i], wp.transpose(wp.inverse(f[i])))


def symmetric(rng, values):
    q = random_rotations(rng, len(values))
    return np.einsum("eik,ek,ejk->eij", q, values, q)


def run_bounds(m, device):
    positive = wp.zeros(len(m), dtype=wp.mat33d, device=device)
    largest = wp.zeros(len(m), dtype=wp.float64, device=device)
    wp.launch(bounds_of, len(m), [wp.array(m, dtype=wp.mat33d, device=device), positive, largest], device=device)
    return positive.numpy(), largest.numpy()


def test_3d_bounds_are_never_below(device):
    rng = np.random.default_rng(1)
    values = rng.standard_normal((400, 3)) * 10.0 ** rng.uniform(-6, 6, (400, 1))
    values[:100, 1:] *= 1e-3
    m = symmetric(rng, values)
    positive, largest = run_bounds(m, device)
    size = np.abs(values).max(axis=1)
    assert np.all(largest >= values.max(axis=1) - 1e-9 * size)
    assert np.all(np.linalg.eigvalsh(positive)[:, 0] >= -1e-15 * size)
    assert np.all(np.linalg.eigvalsh(positive - m)[:, 0] >= -1e-13 * size)
    excess = np.linalg.eigvalsh(positive)[:, -1] - np.maximum(values.max(axis=1), 0.0)
    assert np.all(excess <= 0.13 * size)


def test_3d_bounds_where_they_are_exact(device):
    rng = np.random.default_rng(2)
    values = np.array([[2.0, 2.0, 2.0], [-3.0, -3.0, -3.0], [5.0, -5.0, 5.0], [4.0, 1.0, 1.0]])
    m = symmetric(rng, values)
    positive, largest = run_bounds(m, device)
    expected = np.sort(np.maximum(values[:3], 0.0), axis=1)
    assert np.allclose(np.linalg.eigvalsh(positive[:3]), expected, atol=1e-12)
    assert np.allclose(largest[[0, 1, 3]], [2.0, -3.0, 4.0])  # two equal smaller ones: the bound is reached


def test_2d_positive_part_is_exact(device):
    rng = np.random.default_rng(3)
    s = rng.standard_normal((300, 3))
    s[0] = 0.0
    s[1] = [1.0, 1.0, 0.0]
    s[2] = [-1.0, -1.0, 0.0]
    out = wp.zeros(len(s), dtype=wp.vec3d, device=device)
    wp.launch(packed_positive_part, len(s), [wp.array(s, dtype=wp.vec3d, device=device), out], device=device)
    values, vectors = np.linalg.eigh(s[:, [0, 2, 2, 1]].reshape(-1, 2, 2))
    expected = np.einsum("eik,ek,ejk->eij", vectors, np.maximum(values, 0.0), vectors)
    assert np.allclose(out.numpy()[:, [0, 2, 2, 1]].reshape(-1, 2, 2), expected, atol=1e-13)


def test_rotation_factor(device):
    """Polar rotation at condition numbers up to 1e8."""
    rng = np.random.default_rng(4)
    u, v = random_rotations(rng, 200), random_rotations(rng, 200)
    stretches = 10.0 ** rng.uniform(-4, 4, (200, 3)) * 10.0 ** rng.uniform(-3, 3, (200, 1))
    stretches[:50] = 1.0 + 1e-9 * rng.standard_normal((50, 3))
    f = np.einsum("eik,ek,ejk->eij", u, stretches, v)
    out = wp.zeros(200, dtype=wp.mat33d, device=device)
    wp.launch(rotations_of, 200, [wp.array(f, dtype=wp.mat33d, device=device), out], device=device)
    error = np.abs(out.numpy() - u @ v.transpose(0, 2, 1)).max(axis=(1, 2))
    assert np.all(error < 1e-15 * stretches.max(axis=1) / stretches.min(axis=1) * 10.0 + 1e-13)
