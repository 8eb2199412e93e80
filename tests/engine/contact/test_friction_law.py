"""Smoothed friction against ipctk, central differences and Coulomb's law."""

import ipctk
import numpy as np
import pytest
import warp as wp

from engine.contact.friction_law import friction_hessian_radial, friction_over_u, friction_value
from tests.engine.warp_eval import evaluate
from tests.finite_difference import assert_derivative

wp.set_module_options({"enable_backward": False})

EPS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


@wp.kernel
def friction_kernel(u: wp.array(dtype=wp.float64), eps: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.vec3d)):
    """(f0, f1 / u, f1')"""
    i = wp.tid()
    out[i] = wp.vec3d(
        friction_value(u[i], eps[i]), friction_over_u(u[i], eps[i]), friction_hessian_radial(u[i], eps[i])
    )


def law(u, eps):
    u, eps = np.broadcast_arrays(np.asarray(u, dtype=float), eps)
    return evaluate(friction_kernel, wp.vec3d, u.ravel(), eps.ravel())


def energy(slide, eps):
    """f0(|u|) for sliding vectors (n, 2)."""
    return law(np.linalg.norm(slide, axis=-1), eps)[:, 0]


def energy_gradient(slide, eps):
    return law(np.linalg.norm(slide, axis=-1), eps)[:, 1, None] * slide


def test_matches_ipctk():
    rng = np.random.default_rng(0)
    eps = 10.0 ** rng.uniform(-8, -2, size=10_000)
    u = eps * np.concatenate([rng.uniform(0.0, 2.0, size=5_000), 10.0 ** rng.uniform(-6, 6, size=5_000)])
    found = law(u, eps)
    for column, oracle in enumerate(
        (ipctk.smooth_friction_f0, ipctk.smooth_friction_f1_over_x, ipctk.smooth_friction_f2)
    ):
        expected = np.array([oracle(a, b) for a, b in zip(u, eps, strict=True)])
        np.testing.assert_allclose(found[:, column], expected, rtol=1e-8, atol=1e-8 / eps.max())


@pytest.mark.parametrize("eps", EPS)
def test_derivatives_match_differences(eps):
    """Value against gradient, gradient against Hessian, in the sliding plane. Skipped: u = eps, f1' has a kink."""
    direction = np.array([0.6, -0.8])
    across = np.array([0.8, 0.6])
    for y in (1e-2, 0.3, 0.9, 1.5, 30.0):
        slide = y * eps * direction
        _, over_u, radial = law(y * eps, eps)[0]
        scale = eps * min(y, abs(1.0 - y))
        hessian = over_u * np.outer(across, across) + radial * np.outer(direction, direction)
        assert_derivative(lambda s: energy(s, eps), slide, over_u * slide, scale, batched=True, label=f"f0, y = {y}")
        assert_derivative(lambda s: energy_gradient(s, eps), slide, hessian, scale, batched=True, label=f"f1, y = {y}")
        assert over_u > 0.0 and radial >= 0.0  # so the Hessian is positive semi-definite unprojected


@pytest.mark.parametrize("eps", EPS)
def test_force_is_continuous_with_its_slope(eps):
    """C1: f1 and f1' have no jump at eps, nor at rest, where f1 / u tends to f1'(0) = 2 / eps."""
    below, at, above = law(eps * np.array([1.0 - 1e-9, 1.0, 1.0 + 1e-9]), eps)
    for value in (below, above):
        np.testing.assert_allclose(value[0], at[0], rtol=3e-9)
        np.testing.assert_allclose(value[1], at[1], rtol=3e-9)
        np.testing.assert_allclose(value[2], at[2], atol=3e-9 / eps)
    np.testing.assert_allclose(law(0.0, eps)[0], [eps / 3.0, 2.0 / eps, 2.0 / eps], rtol=1e-14)


@pytest.mark.parametrize("eps", EPS)
def test_slides_with_the_whole_force(eps):
    """Coulomb: f1 = 1 when sliding, rises with u below, never above 1."""
    u = eps * np.linspace(0.0, 3.0, 301)
    force = law(u, eps)[:, 1] * u
    np.testing.assert_allclose(force[u >= eps], 1.0, rtol=1e-14)
    assert (np.diff(force[u <= eps]) > 0.0).all() and force.max() <= 1.0 + 1e-14
