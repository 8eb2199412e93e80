"""Mollifier of nearly parallel edges against ipctk and central differences."""

import ipctk
import numpy as np
import pytest
import warp as wp

from engine.distance.mollifier import (
    edge_cross_squared,
    edge_cross_squared_gradient,
    edge_cross_squared_hessian,
    mat43d,
    mollifier,
    mollifier_gradient,
    mollifier_hessian,
    mollifier_threshold,
)
from tests.engine.distance import pairs
from tests.engine.warp_eval import evaluate
from tests.finite_difference import assert_derivative

wp.set_module_options({"enable_backward": False})


@wp.kernel
def mollifier_kernel(c: wp.array(dtype=wp.float64), eps: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.vec3d)):
    """(value, gradient, Hessian)"""
    i = wp.tid()
    out[i] = wp.vec3d(mollifier(c[i], eps[i]), mollifier_gradient(c[i], eps[i]), mollifier_hessian(c[i], eps[i]))


@wp.kernel
def threshold_kernel(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = mollifier_threshold(a[i], b[i])


@wp.kernel
def cross_kernel(x: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = edge_cross_squared(x[i, 0], x[i, 1], x[i, 2], x[i, 3])


@wp.kernel
def cross_gradient_kernel(x: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=mat43d)):
    i = wp.tid()
    out[i] = edge_cross_squared_gradient(x[i, 0], x[i, 1], x[i, 2], x[i, 3])


@wp.kernel
def cross_hessian_kernel(x: wp.array2d(dtype=wp.vec3d), out: wp.array2d(dtype=wp.mat33d)):
    i, j = wp.tid()
    out[i, j] = edge_cross_squared_hessian(x[0, 0], x[0, 1], x[0, 2], x[0, 3], i, j)


def cross_hessian(x):
    """d2c/dx2 of one stencil, (4, 3, 4, 3)."""
    blocks = wp.zeros((4, 4), dtype=wp.mat33d, device="cpu")
    wp.launch(
        cross_hessian_kernel, dim=(4, 4), inputs=[wp.array(x[None], dtype=wp.vec3d, device="cpu"), blocks], device="cpu"
    )
    return blocks.numpy().transpose(0, 2, 1, 3)


def law(c, eps):
    c, eps = np.broadcast_arrays(np.asarray(c, dtype=float), eps)
    return evaluate(mollifier_kernel, wp.vec3d, c.ravel(), eps.ravel())


def test_pairs_match_ipctk():
    rng = np.random.default_rng(0)
    near = pairs.parallel_edges(rng, 1_000, 0.0) + 0.01 * rng.normal(size=(1_000, 4, 3))
    x = np.concatenate([pairs.random_pairs(rng, 10_000), near, pairs.degenerate_edges(rng, 1_000)])
    rest = x * rng.uniform(0.8, 1.2, size=(len(x), 1, 1))
    length = np.linalg.norm(rest[:, 1::2] - rest[:, ::2], axis=-1)
    eps = evaluate(threshold_kernel, wp.float64, length[:, 0], length[:, 1])
    expected_eps = np.array([ipctk.edge_edge_mollifier_threshold(*row) for row in rest])
    np.testing.assert_allclose(eps, expected_eps, rtol=1e-12)
    c = evaluate(cross_kernel, wp.float64, x)
    expected = np.array([ipctk.edge_edge_cross_squarednorm(*row) for row in x])
    assert (np.abs(c - expected) <= 1e-8 * np.maximum(expected, eps)).all()  # digits of c alone are rounding near 0
    lives = eps > 0.0  # edges of no length never pass the start checks
    m = law(c[lives], eps[lives])
    assert (m[:, 0] < 1.0).sum() > 500 and (m[:, 0] == 1.0).sum() > 500
    expected = [ipctk.edge_edge_mollifier(*row, e) for row, e in zip(x[lives], eps[lives], strict=True)]
    np.testing.assert_allclose(m[:, 0], expected, rtol=1e-8, atol=1e-20)
    gradient = m[:, 1, None, None] * evaluate(cross_gradient_kernel, mat43d, x[lives])
    expected = [ipctk.edge_edge_mollifier_gradient(*row, e) for row, e in zip(x[lives], eps[lives], strict=True)]
    expected = np.array(expected).reshape(-1, 4, 3)
    # m's gradient is of the order of 1 / length; far below that the digits of u x v are rounding
    size = np.maximum(np.abs(expected).max(axis=(1, 2)), 1e-3 / length[lives].min(axis=1))[:, None, None]
    assert (np.abs(gradient - expected) <= 1e-8 * size).all()


@pytest.mark.parametrize("eps", [1e-18, 1e-15, 1e-12, 1e-9, 1e-3, 1.0])
def test_law_derivatives_match_differences(eps):
    """Below the threshold; the kink of the second derivative at c = eps is skipped."""
    for y in (1e-3, 0.2, 0.7, 0.95):
        value, gradient, hessian = law(y * eps, eps)[0]
        scale = eps * min(y, 1.0 - y)
        assert_derivative(lambda c: law(c, eps)[:, 0], y * eps, gradient, scale, batched=True, label=f"m, y = {y}")
        assert_derivative(lambda c: law(c, eps)[:, 1], y * eps, hessian, scale, batched=True, label=f"m', y = {y}")


def test_law_is_smooth_at_its_ends():
    m = law([0.0, 1.0 - 1e-9, 1.0, 5.0], 1.0)
    np.testing.assert_allclose(m[:, 0], [0.0, 1.0, 1.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(m[:, 1], [2.0, 0.0, 0.0, 0.0], atol=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3])
def test_cross_derivatives_match_differences(scale):
    x = np.random.default_rng(3).normal(size=(4, 3)) * scale
    gradient = evaluate(cross_gradient_kernel, mat43d, x[None])[0]
    assert_derivative(lambda s: evaluate(cross_kernel, wp.float64, s), x, gradient, scale, batched=True, label="c")
    assert_derivative(
        lambda s: evaluate(cross_gradient_kernel, mat43d, s), x, cross_hessian(x), scale, batched=True, label="dc/dx"
    )


def test_gradient_vanishes_for_parallel_edges():
    x = pairs.parallel_edges(np.random.default_rng(4), 100)
    assert np.abs(evaluate(cross_gradient_kernel, mat43d, x)).max() < 1e-14
