"""Barrier law against ipctk, by itself and on pairs, and against central differences."""

import ipctk
import numpy as np
import pytest
import warp as wp

from engine.contact.barrier import barrier, barrier_gradient, barrier_hessian
from engine.distance.edge_edge import edge_edge_weights
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference
from tests.engine.distance import pairs
from tests.engine.warp_eval import evaluate
from tests.finite_difference import assert_derivative

wp.set_module_options({"enable_backward": False})


@wp.kernel
def barrier_kernel(gap: wp.array(dtype=wp.float64), dhat: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.vec3d)):
    """(value, gradient, Hessian)"""
    i = wp.tid()
    out[i] = wp.vec3d(barrier(gap[i], dhat[i]), barrier_gradient(gap[i], dhat[i]), barrier_hessian(gap[i], dhat[i]))


mat53d = wp.types.matrix(shape=(5, 3), dtype=wp.float64)


@wp.kernel
def pair_kernel(
    kind: int,
    x: wp.array2d(dtype=wp.vec3d),
    dhat: wp.array(dtype=wp.float64),
    min_separation: wp.array(dtype=wp.float64),
    out: wp.array(dtype=mat53d),
):
    """Rows 0 to 3: gradient of b(distance - min_separation) by the stencil's points; row 4: (b, distance, 0)."""
    i = wp.tid()
    w = point_triangle_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    if kind == 1:
        w = edge_edge_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    r = weighted_difference(w, x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    distance = wp.length(r)
    gap = distance - min_separation[i]
    rows = mat53d()
    for k in range(4):
        rows[k] = (w[k] * barrier_gradient(gap, dhat[i]) / distance) * r
    rows[4] = wp.vec3d(barrier(gap, dhat[i]), distance, wp.float64(0.0))
    out[i] = rows


def law(gap, dhat):
    gap, dhat = np.broadcast_arrays(np.asarray(gap, dtype=float), dhat)
    return evaluate(barrier_kernel, wp.vec3d, gap.ravel(), dhat.ravel())


def test_law_matches_ipctk():
    rng = np.random.default_rng(0)
    dhat = 10.0 ** rng.uniform(-6, 0, size=10_000)
    gap = dhat * np.concatenate([10.0 ** rng.uniform(-9, 0, size=5_000), rng.uniform(0.0, 1.5, size=5_000)])
    found = law(gap, dhat)
    for column, oracle in enumerate((ipctk.barrier, ipctk.barrier_first_derivative, ipctk.barrier_second_derivative)):
        expected = np.array([oracle(g, d) for g, d in zip(gap, dhat, strict=True)])
        np.testing.assert_allclose(found[:, column], expected / dhat**2, rtol=1e-8)


@pytest.mark.parametrize("kind", [pairs.POINT_TRIANGLE, pairs.EDGE_EDGE])
@pytest.mark.parametrize("degenerate", [False, True])
def test_pairs_match_ipctk(kind, degenerate):
    """Value and gradient of b on 10,000 random and 1,000 degenerate pairs. Skipped: pairs whose closest
    points are not unique (overlapping parallel edges, triangles without area), pairs on which ipctk loses digits."""
    rng = np.random.default_rng(1 + kind)
    if not degenerate:
        x = pairs.random_pairs(rng, 10_000)
    elif kind == pairs.POINT_TRIANGLE:
        x = pairs.degenerate_triangles(rng, 1_000, slivers=False)
    else:
        apart = np.where(rng.random((1_000, 1)) < 0.5, 1.0, -4.0) * rng.uniform(1.1, 1.3, size=(1_000, 1))
        x = pairs.parallel_edges(rng, 1_000, 0.0, rng.choice([0.0, 0.1, 0.5], size=(1_000, 1)), shift=apart)
    if kind == pairs.POINT_TRIANGLE:
        distance, gradient = ipctk.point_triangle_distance, ipctk.point_triangle_distance_gradient
    else:
        distance, gradient = ipctk.edge_edge_distance, ipctk.edge_edge_distance_gradient
    expected_distance = np.sqrt([distance(*row) for row in x])
    min_separation = expected_distance * rng.uniform(0.0, 0.9, size=len(x))
    gap = expected_distance - min_separation
    dhat = gap * rng.uniform(0.5, 10.0, size=len(x))
    found = evaluate(pair_kernel, mat53d, kind, x, dhat, min_separation)
    expected = np.array([ipctk.barrier(g, d) for g, d in zip(gap, dhat, strict=True)]) / dhat**2
    # relative to the slope: a gap that is a small remainder of the distance carries the distance's rounding
    slope = np.array([ipctk.barrier_first_derivative(g, d) for g, d in zip(gap, dhat, strict=True)]) / dhat**2
    assert (expected > 0.0).sum() > 0.9 * len(x)
    assert (np.abs(found[:, 4, 0] - expected) <= 1e-8 * expected).all()
    squared_gradient = np.array([gradient(*row) for row in x]).reshape(-1, 4, 3)
    expected = slope[:, None, None] * squared_gradient / (2.0 * expected_distance[:, None, None])
    size = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert (np.abs(found[:, :4] - expected) <= 1e-8 * size).all()


@pytest.mark.parametrize("dhat", [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0])
def test_derivatives_match_differences(dhat):
    """Skipped kink: the third derivative at gap = dhat."""
    for u in (1e-6, 1e-4, 1e-2, 0.1, 0.5, 0.9, 0.99):
        gap = u * dhat
        value, gradient, hessian = law(gap, dhat)[0]
        scale = min(gap, dhat - gap)
        assert_derivative(lambda g: law(g, dhat)[:, 0], gap, gradient, scale, batched=True, label=f"b, u = {u}")
        assert_derivative(lambda g: law(g, dhat)[:, 1], gap, hessian, scale, batched=True, label=f"b', u = {u}")


def test_signs_and_ends():
    """Never negative, repulsive, convex; smooth at dhat; infinite at and below touch, so that no search accepts it."""
    u = np.concatenate([np.geomspace(1e-12, 0.999999, 1_000), [1.0, 1.5, 1e3]])
    b = law(u * 1e-3, 1e-3)
    assert np.isfinite(b).all()
    inside = u < 1.0
    assert (b[inside, 0] > 0.0).all() and (b[inside, 1] < 0.0).all() and (b[inside, 2] > 0.0).all()
    assert (b[~inside] == 0.0).all()
    assert abs(law(1.0 - 1e-9, 1.0)[0]).max() < 1e-8
    assert np.isposinf(law([0.0, -1e-6], 1e-3)[:, 0]).all()


def test_is_dimensionless():
    """b depends on gap / dhat alone: -(u-1)^2 ln u, by hand at u = 1/2."""
    np.testing.assert_allclose(law([0.5e-6, 0.5, 50.0], [1e-6, 1.0, 100.0])[:, 0], 0.25 * np.log(2.0), rtol=1e-14)
