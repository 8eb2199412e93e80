"""St. Venant-Kirchhoff membrane: derivatives, known answers, positive semi-definite Hessian, stress extrapolation."""

from __future__ import annotations

import numpy as np
import pytest

from engine.energies.membrane import Membrane
from tests.engine.energies import exact
from tests.engine.energies.harness import (
    Probe,
    difference_gradient,
    difference_hessian,
    lowest_eigenvalue,
    random_rotations,
    relative_error,
    stencils_for,
)

YOUNG, POISSON = 1.5e9, 0.35
LAME_MU = YOUNG / (2.0 * (1.0 + POISSON))
LAME_LAMBDA = YOUNG * POISSON / (1.0 - POISSON**2)


def states(rng, count, low=0.6, high=1.5, scale=None):
    """Triangles of random shape, stretched by `low`..`high` along random axes, sheared and rotated.

    Returns x (E, 3, 3), dm_inv (E, 2, 2), rest_area, thickness.
    """
    scale = np.ones(count) if scale is None else scale
    rest = np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 0.8]]) + 0.2 * rng.standard_normal((count, 3, 2))
    rest *= scale[:, None, None]
    dm = np.stack([rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]], axis=2)
    turn = rng.uniform(0.0, np.pi, count)
    u = np.stack([np.cos(turn), -np.sin(turn), np.sin(turn), np.cos(turn)], axis=1).reshape(-1, 2, 2)
    stretch = np.zeros((count, 2, 2))
    stretch[:, 0, 0], stretch[:, 1, 1] = rng.uniform(low, high, (2, count))
    f2 = u @ stretch @ u.transpose(0, 2, 1)
    flat = np.zeros((count, 3, 3))
    flat[:, :, :2] = rest @ f2.transpose(0, 2, 1)
    x = flat @ random_rotations(rng, count).transpose(0, 2, 1)
    return x, np.linalg.inv(dm), 0.5 * np.abs(np.linalg.det(dm)), 1e-3 * scale


def membrane(dm_inv, area, thickness, device="cpu", extrapolate=False):
    count = len(area)
    return Membrane(
        stencils_for(count, 3), dm_inv, area, thickness, LAME_MU, LAME_LAMBDA, np.arange(count), device, extrapolate
    )


def exact_hessian(x, dm_inv, area, thickness):
    def gradient(e, y):
        return exact.membrane_gradient(y, dm_inv[e], area[e] * thickness[e], LAME_MU, LAME_LAMBDA)

    return exact.exact_hessians(gradient, x), np.stack([gradient(e, x[e]).real for e in range(len(x))])


def test_derivatives_over_scales(device):
    rng = np.random.default_rng(1)
    scale = np.repeat(10.0 ** np.arange(-6, 2), 10)
    x, dm_inv, area, thickness = states(rng, len(scale), scale=scale)
    probe = Probe(membrane(dm_inv, area, thickness, device))
    hessian, gradient = exact_hessian(x, dm_inv, area, thickness)
    analytic = probe.gradient(x)
    assert np.all(np.linalg.norm(analytic, axis=(1, 2)) > 0.0)
    assert relative_error(analytic, gradient).max() < 1e-12
    assert relative_error(difference_gradient(probe, x), analytic).max() < 1e-6
    assert relative_error(difference_hessian(probe, x), hessian).max() < 1e-6


@pytest.mark.parametrize(
    "low, high, bound", [(1.0, 1.5, 1e-12), (0.999, 1.001, 3e-3), (0.9, 1.1, 0.3), (0.5, 1.5, 2.0), (0.02, 0.3, 25.0)]
)
def test_hessian_is_positive_semidefinite_and_near_the_exact_one(low, high, bound):
    """In tension it is exact; otherwise it exceeds the exact one by the geometric term of the compressive stress."""
    x, dm_inv, area, thickness = states(np.random.default_rng(2), 200, low, high)
    hessian = Probe(membrane(dm_inv, area, thickness)).hessian(x)
    reference = exact_hessian(x, dm_inv, area, thickness)[0]
    assert lowest_eigenvalue(hessian).min() > -1e-12
    deviation = relative_error(hessian, reference)
    print(f"membrane, stretch {low}..{high}: deviation from the exact Hessian, worst {deviation.max():.2e}")
    assert deviation.max() < bound

    values, vectors = np.linalg.eigh(stress_of(green(x, dm_inv)[0]))
    compressive = np.einsum("eik,ek,ejk->eij", vectors, np.minimum(values, 0.0), vectors)
    corner = np.concatenate([-dm_inv.sum(axis=1, keepdims=True), dm_inv], axis=1)
    dropped = np.einsum("eai,eij,ebj->eab", corner, compressive, corner) * (area * thickness)[:, None, None]
    dropped = np.einsum("eab,ij->eaibj", dropped, np.eye(3)).reshape(-1, 9, 9)
    assert relative_error(hessian + dropped, reference).max() < 1e-10


@pytest.mark.parametrize("stretch", [0.9, 1.001, 1.3, 1.9])
def test_uniaxial_stretch_follows_the_stvk_curve(device, stretch):
    """Force per rest cross-section E l (l^2 - 1)/2 with free sides, l the stretch."""
    width, length, thickness = 0.02, 0.05, 1e-4
    rest = np.array([[0.0, 0.0], [length, 0.0], [length, width], [0.0, width]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    lateral = np.sqrt(1.0 - POISSON * (stretch**2 - 1.0))  # G22 = -nu G11 leaves no transverse stress
    x = np.zeros((4, 3))
    x[:, 0], x[:, 2] = stretch * rest[:, 0], lateral * rest[:, 1]
    corners = rest[triangles]
    dm = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], axis=2)
    probe = Probe(membrane(np.linalg.inv(dm), 0.5 * np.abs(np.linalg.det(dm)), [thickness, thickness], device))
    forces = np.zeros((4, 3))
    np.add.at(forces, triangles, probe.gradient(x[triangles]))
    stress = forces[[1, 2], 0].sum() / (width * thickness)
    assert stress == pytest.approx(0.5 * YOUNG * stretch * (stretch**2 - 1.0), rel=1e-9)
    assert np.abs(forces[:, 1:]).max() < 1e-9 * np.abs(forces).max()
    strain = 0.5 * (stretch**2 - 1.0)
    assert probe.value(x[triangles]).sum() == pytest.approx(
        0.5 * YOUNG * strain**2 * width * length * thickness, rel=1e-9
    )


def test_rigid_motion_costs_nothing():
    rng = np.random.default_rng(3)
    x, dm_inv, area, thickness = states(rng, 20, 1.0, 1.0)
    probe = Probe(membrane(dm_inv, area, thickness))
    assert probe.value(x + 3.0).max() < 1e-24 * YOUNG
    assert np.abs(probe.gradient(x)).max() < 1e-12 * YOUNG * 1e-3


def green(x, dm_inv):
    f = np.stack([x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]], axis=2) @ dm_inv
    return 0.5 * (f.transpose(0, 2, 1) @ f - np.eye(2)), f


def stress_of(g):
    return 2.0 * LAME_MU * g + LAME_LAMBDA * np.trace(g, axis1=1, axis2=2)[:, None, None] * np.eye(2)


def packed(s):
    return np.stack([s[:, 0, 0], s[:, 1, 1], s[:, 0, 1]], axis=1)


def test_stress_extrapolation(device):
    rng = np.random.default_rng(4)
    x, dm_inv, area, thickness = states(rng, 30, 0.9, 1.2)
    energy = membrane(dm_inv, area, thickness, device, extrapolate=True)
    plain = Probe(membrane(dm_inv, area, thickness, device))
    probe = Probe(energy)
    g, f = green(x, dm_inv)

    probe.begin_step(x)
    assert np.allclose(energy.hessian_stress.numpy(), packed(stress_of(g)), rtol=1e-12, atol=1e-6 * YOUNG * 1e-9)
    assert relative_error(probe.hessian(x), plain.hessian(x)).max() < 1e-12

    probe.after_update(x, np.zeros_like(x))  # no update: the exact stress
    assert relative_error(energy.hessian_stress.numpy(), packed(stress_of(g))).max() < 1e-12

    dx = 0.3 * rng.standard_normal(x.shape)
    probe.after_update(x, dx)
    df = np.stack([dx[:, 1] - dx[:, 0], dx[:, 2] - dx[:, 0]], axis=2) @ dm_inv
    linear = f.transpose(0, 2, 1) @ df
    expected = stress_of(g) + stress_of(0.5 * (linear + linear.transpose(0, 2, 1)))
    assert relative_error(energy.hessian_stress.numpy(), packed(expected)).max() < 1e-11

    y = x + dx
    assert np.array_equal(probe.value(y), plain.value(y))
    assert np.array_equal(probe.gradient(y), plain.gradient(y))
    assert lowest_eigenvalue(probe.hessian(y)).min() > -1e-12
    assert relative_error(probe.hessian(y), plain.hessian(y)).max() > 1e-3  # it does act on the Hessian
    energy.set_extrapolation(False)
    assert np.array_equal(probe.hessian(y), plain.hessian(y))
    energy.set_extrapolation(True)
    assert not np.array_equal(probe.hessian(y), plain.hessian(y))


def test_rotation_overshoot_leaves_no_fake_tension():
    """A linearised rotation by 0.5 rad stretches the triangle by 12 %; the extrapolated stress stays zero."""
    x, dm_inv, area, thickness = states(np.random.default_rng(5), 5, 1.0, 1.0)
    energy = membrane(dm_inv, area, thickness, extrapolate=True)
    probe = Probe(energy)
    dx = np.cross([0.3, -0.3, 0.26], x)
    probe.after_update(x, dx)
    assert np.abs(stress_of(green(x + dx, dm_inv)[0])).max() > 0.05 * YOUNG
    assert np.abs(energy.hessian_stress.numpy()).max() < 1e-12 * YOUNG


def test_errors_name_the_argument():
    x, dm_inv, area, thickness = states(np.random.default_rng(6), 3)
    with pytest.raises(ValueError, match=r"Membrane: thickness has shape \(2,\); it must be \(3,\) or \(\)"):
        membrane(dm_inv, area, [1e-3, 1e-3])
    with pytest.raises(ValueError, match="Membrane: rest_area of element 1 is -1.0; it must be at least 0"):
        membrane(dm_inv, [1.0, -1.0, 1.0], thickness)
    with pytest.raises(ValueError, match="Membrane: dm_inv of element 2 is NaN"):
        membrane(np.where(np.arange(3)[:, None, None] == 2, np.nan, dm_inv), area, thickness)


def test_no_elements_is_no_work(device):
    energy = Membrane(np.zeros((0, 3)), np.zeros((0, 2, 2)), 1.0, 1e-3, LAME_MU, LAME_LAMBDA, [], device)
    probe = Probe(energy)
    nothing = np.zeros((0, 3, 3))
    assert energy.num_elements == 0 and probe.value(nothing).shape == (0,)
    probe.begin_step(nothing)
