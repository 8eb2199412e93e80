"""Edge-edge distance against ipctk and against exact rational arithmetic."""

import ipctk
import numpy as np
import pytest
import warp as wp

from engine.distance.edge_edge import edge_edge_weights
from engine.distance.stencil import weighted_difference
from tests.engine.distance import exact_distance, pairs
from tests.engine.warp_eval import evaluate
from tests.finite_difference import assert_derivative

wp.set_module_options({"enable_backward": False})


@wp.kernel
def weights_kernel(x: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.vec4d)):
    i = wp.tid()
    out[i] = edge_edge_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])


@wp.kernel
def distance_kernel(x: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    w = edge_edge_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    out[i] = wp.length(weighted_difference(w, x[i, 0], x[i, 1], x[i, 2], x[i, 3]))


def distances(x):
    return evaluate(distance_kernel, wp.float64, x)


def exact(x):
    return exact_distance.distances(exact_distance.edge_edge_squared, x)


def gradients(x):
    """dd/dx_i = w_i r / |r|, (n, 4, 3)."""
    w = evaluate(weights_kernel, wp.vec4d, x)
    r = np.einsum("ni,nik->nk", w, x - x[:, :1])
    return w[:, :, None] * pairs.unit(r)[:, None, :]


def test_random_pairs_match_ipctk():
    x = pairs.random_pairs(np.random.default_rng(0), 10_000)
    expected = np.sqrt([ipctk.edge_edge_distance(*row) for row in x])
    np.testing.assert_allclose(distances(x), expected, rtol=1e-8)
    squared_gradient = np.array([ipctk.edge_edge_distance_gradient(*row) for row in x]).reshape(-1, 4, 3)
    np.testing.assert_allclose(gradients(x), squared_gradient / (2.0 * expected[:, None, None]), atol=1e-8)


def test_degenerate_pairs_match_exact_arithmetic():
    """ipctk is no oracle here: it loses digits between 1e-5 and 1e-10 rad and is misled by an edge of no length."""
    x = pairs.degenerate_edges(np.random.default_rng(1), 1_000)
    np.testing.assert_allclose(distances(x), exact(x), rtol=1e-8)


def test_exactly_parallel_and_collinear_pairs_match_ipctk():
    rng = np.random.default_rng(2)
    ahead = rng.uniform(1.1, 1.5, size=(300, 1))
    x = np.concatenate([pairs.parallel_edges(rng, 300), pairs.parallel_edges(rng, 300, 0.0, 0.0, shift=ahead)])
    np.testing.assert_allclose(distances(x), np.sqrt([ipctk.edge_edge_distance(*row) for row in x]), rtol=1e-8)


@pytest.mark.parametrize("angle", [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-4, 1e-2])
def test_close_nearly_parallel_edges_keep_their_digits(angle):
    """Edges 1 m long and 1e-4 m apart: an error along the edge costs most here."""
    x = pairs.parallel_edges(np.random.default_rng(3), 200, angle, offset=1e-4)
    np.testing.assert_allclose(distances(x), exact(x), rtol=1e-10)


def test_weights_are_those_of_points_of_the_edges():
    rng = np.random.default_rng(4)
    x = np.concatenate([pairs.random_pairs(rng, 1_000), pairs.degenerate_edges(rng, 1_000)])
    w = evaluate(weights_kernel, wp.vec4d, x)
    assert np.isfinite(w).all()
    assert (w[:, :2] >= 0.0).all() and (w[:, 2:] <= 0.0).all()
    np.testing.assert_allclose(w[:, :2].sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(w[:, 2:].sum(axis=1), -1.0, atol=1e-15)


def test_degenerate_gradients_are_finite_and_balanced():
    """Trap: parallel, collinear and zero-length edges. No component exceeds 1 and the four sum to zero."""
    x = pairs.degenerate_edges(np.random.default_rng(5), 1_000)
    g = gradients(x)
    assert np.isfinite(g).all() and np.abs(g).max() <= 1.0 + 1e-12
    np.testing.assert_allclose(g.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(g[:, :2].sum(axis=1), axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("case", ["crossing", "end to edge", "end to end", "parallel, ends apart"])
def test_gradient_matches_differences(case):
    """Skipped kink: overlapping parallel edges, whose closest points, and so the gradient, jump."""
    x = {
        "crossing": [[-1, 0.1, 0], [1, 0, 0.2], [0.2, -1, 0.5], [0, 1, 0.7]],
        "end to edge": [[-1, 0, 0], [1, 0, 0], [0.2, 0.5, 0.1], [0.3, 1.5, 0.7]],
        "end to end": [[-1, 0, 0], [1, 0, 0.1], [1.3, 0.5, 0.1], [2, 1.5, 0.7]],
        "parallel, ends apart": [[-1, 0, 0], [1, 0, 0], [1.5, 0.4, 0.1], [2.5, 0.4, 0.1]],
    }[case]
    x = np.array(x, dtype=np.float64)
    assert_derivative(distances, x, gradients(x[None])[0], scale=0.3, batched=True, label=case)
