"""Point-triangle distance against ipctk and against exact rational arithmetic."""

import ipctk
import numpy as np
import pytest
import warp as wp

from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference
from tests.engine.distance import exact_distance, pairs
from tests.engine.distance.pairs import unit
from tests.engine.warp_eval import evaluate
from tests.finite_difference import assert_derivative

wp.set_module_options({"enable_backward": False})


@wp.kernel
def weights_kernel(x: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.vec4d)):
    i = wp.tid()
    out[i] = point_triangle_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])


@wp.kernel
def distance_kernel(x: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    w = point_triangle_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    out[i] = wp.length(weighted_difference(w, x[i, 0], x[i, 1], x[i, 2], x[i, 3]))


def distances(x):
    return evaluate(distance_kernel, wp.float64, x)


def gradients(x):
    """dd/dx_i = w_i r / |r|, (n, 4, 3)."""
    w = evaluate(weights_kernel, wp.vec4d, x)
    r = np.einsum("ni,nik->nk", w, x - x[:, :1])
    return w[:, :, None] * unit(r)[:, None, :]


def test_random_pairs_match_ipctk():
    x = pairs.random_pairs(np.random.default_rng(0), 10_000)
    expected = np.sqrt([ipctk.point_triangle_distance(*row) for row in x])
    np.testing.assert_allclose(distances(x), expected, rtol=1e-8)
    squared_gradient = np.array([ipctk.point_triangle_distance_gradient(*row) for row in x]).reshape(-1, 4, 3)
    np.testing.assert_allclose(gradients(x), squared_gradient / (2.0 * expected[:, None, None]), atol=1e-8)


def test_degenerate_pairs_match_ipctk_and_exact_arithmetic():
    x = pairs.degenerate_triangles(np.random.default_rng(1), 1_000)
    found = distances(x)
    np.testing.assert_allclose(found, exact_distance.distances(exact_distance.point_triangle_squared, x), rtol=1e-8)
    np.testing.assert_allclose(found, np.sqrt([ipctk.point_triangle_distance(*row) for row in x]), rtol=1e-8)


def test_weights_are_those_of_a_point_of_the_triangle():
    rng = np.random.default_rng(2)
    x = np.concatenate([pairs.random_pairs(rng, 1_000), pairs.degenerate_triangles(rng, 1_000)])
    w = evaluate(weights_kernel, wp.vec4d, x)
    assert np.isfinite(w).all()
    assert (w[:, 0] == 1.0).all() and (w[:, 1:] <= 0.0).all() and (w[:, 1:] >= -1.0).all()
    np.testing.assert_allclose(w.sum(axis=1), 0.0, atol=1e-15)


def test_slivers_down_to_rounding_match_exact_arithmetic():
    """Altitudes from 1e-17 to 1e-4 of the length, points from 1e-10 to 0.1 away, above and beside: barycentrics alone
    would be wrong by 1e-5. What remains is the altitude of slivers at the edge of rounding."""
    rng = np.random.default_rng(3)
    count = 3_000
    t = rng.normal(size=(count, 3, 3))
    s = rng.uniform(-1.0, 2.0, size=(count, 1))
    t[:, 2] = t[:, 0] * (1.0 - s) + s * t[:, 1] + 10.0 ** rng.uniform(-17, -4, size=(count, 1)) * t[:, 2]
    foot = np.einsum("ni,nik->nk", 2.0 * rng.dirichlet([1, 1, 1], size=count) - 1.0 / 3.0, t)
    away = 10.0 ** rng.uniform(-10, -1, size=(count, 1)) * unit(rng.normal(size=(count, 3)))
    x = np.concatenate([(foot + away)[:, None], t], axis=1)
    expected = exact_distance.distances(exact_distance.point_triangle_squared, x)
    np.testing.assert_allclose(distances(x), expected, rtol=1e-8, atol=2e-8)


@pytest.mark.parametrize("foot", ["face", "edge", "vertex", "above the edge", "above the vertex"])
def test_gradient_matches_differences(foot):
    """Also exactly above edges and vertices, where the closest feature changes but the gradient does not jump."""
    a, b, c = np.array([0.0, 0.0, 0.0]), np.array([1.0, 0.1, 0.0]), np.array([0.2, 0.9, 0.3])
    normal = unit(np.cross(b - a, c - a))
    p = {
        "face": (a + b + c) / 3 + 0.2 * normal,
        "edge": 0.4 * a + 0.6 * b - 0.3 * np.cross(normal, b - a) + 0.2 * normal,
        "vertex": 1.3 * c + 0.2 * normal,
        "above the edge": 0.4 * a + 0.6 * b + 0.2 * normal,
        "above the vertex": a + 0.2 * normal,
    }[foot]
    x = np.stack([p, a, b, c])
    # at a change of feature the second derivative jumps, so differences converge to first order only
    tolerance = 2e-5 if foot.startswith("above") else 1e-6
    assert_derivative(distances, x, gradients(x[None])[0], scale=0.2, tolerance=tolerance, batched=True, label=foot)
