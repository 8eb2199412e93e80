"""Affine-body orthogonality: derivatives, rotations cost nothing, positive semi-definite Hessian, extrapolation."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine.energies.orthogonality import Orthogonality
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

STIFFNESS = 2.0e4


def orthogonality(count, device="cpu", extrapolate=False, stiffness=STIFFNESS):
    return Orthogonality(stencils_for(count, 4), stiffness, np.arange(count), device, extrapolate)


def frames(a, rng):
    """Frame points (E, 4, 3): a random origin and the columns of a (E, 3, 3)."""
    return np.concatenate([rng.standard_normal((len(a), 1, 3)), a.transpose(0, 2, 1)], axis=1)


def references(x, stiffness=STIFFNESS):
    def gradient(e, y):
        return exact.orthogonality_gradient(y, np.broadcast_to(stiffness, len(x))[e])

    return exact.exact_hessians(gradient, x), np.stack([gradient(e, x[e]).real for e in range(len(x))])


def test_zero_for_rotations(device):
    rng = np.random.default_rng(0)
    x = frames(random_rotations(rng, 30), rng)
    probe = Probe(orthogonality(30, device))
    assert probe.value(x).max() < 1e-28 * STIFFNESS
    assert np.abs(probe.gradient(x)).max() < 1e-13 * STIFFNESS


def test_known_stretch(device):
    """A = diag(1 + s, 1, 1): E = s_ ((1 + s)^2 - 1)^2; a shear g in the off-diagonal counts twice."""
    stretch = frames(np.diag([1.1, 1.0, 1.0])[None], np.random.default_rng(1))
    shear = frames(np.array([[[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]), np.random.default_rng(1))
    value = Probe(orthogonality(2, device)).value(np.concatenate([stretch, shear]))
    assert value == pytest.approx([STIFFNESS * 0.21**2, STIFFNESS * (2 * 0.1**2 + 0.01**2)], rel=1e-12)
    gradient = Probe(orthogonality(1, device)).gradient(stretch)[0]
    assert gradient[1, 0] == pytest.approx(4.0 * STIFFNESS * 0.21 * 1.1, rel=1e-12)
    assert np.all(gradient[0] == 0.0)  # the origin feels nothing


def test_derivatives_over_scales(device):
    """Columns have no unit, so the scales are those of the stiffness and of the departure from a rotation."""
    rng = np.random.default_rng(2)
    departure = np.repeat(10.0 ** np.arange(-6.0, 0.5), 8)
    stiffness = np.tile(10.0 ** np.arange(-2.0, 6.0), 7)
    count = len(departure)
    a = random_rotations(rng, count) + departure[:, None, None] * rng.standard_normal((count, 3, 3))
    x = frames(a, rng)
    probe = Probe(orthogonality(count, device, stiffness=stiffness))
    hessian, gradient = references(x, stiffness)
    analytic = probe.gradient(x)
    assert np.all(np.linalg.norm(analytic, axis=(1, 2)) > 0.0)
    assert relative_error(analytic, gradient).max() < 1e-9
    far = departure > 1e-4  # nearer to a rotation the value is rounding and its differences say nothing
    assert relative_error(difference_gradient(probe, x), analytic)[far].max() < 1e-6
    assert relative_error(difference_hessian(probe, x), hessian).max() < 1e-6


@pytest.mark.parametrize("departure, bound", [(1e-4, 5e-4), (1e-2, 5e-2), (1e-1, 0.5), (1.0, 1.5)])
def test_hessian_is_positive_semidefinite(departure, bound):
    rng = np.random.default_rng(3)
    a = random_rotations(rng, 300) + departure * rng.uniform(-1.0, 1.0, (300, 3, 3))
    x = frames(a, rng)
    hessian = Probe(orthogonality(300)).hessian(x)
    reference = references(x)[0]
    assert lowest_eigenvalue(hessian).min() > -1e-12
    assert lowest_eigenvalue(hessian - reference).min() > -1e-9  # never below the exact one
    deviation = relative_error(hessian, reference)
    print(f"orthogonality, departure {departure}: deviation from the exact Hessian, worst {deviation.max():.1e}")
    assert deviation.max() < bound


def test_crushed_and_mirrored_bodies_stay_semidefinite():
    rng = np.random.default_rng(4)
    scale = 10.0 ** rng.uniform(-6, 1, (300, 1, 3)) * rng.choice([-1.0, 1.0], (300, 1, 3))
    x = frames(random_rotations(rng, 300) * scale @ random_rotations(rng, 300), rng)
    assert lowest_eigenvalue(Probe(orthogonality(300)).hessian(x)).min() > -1e-12


def test_extrapolation(device):
    """Linear along the update; energy and gradient untouched; a linearised turn leaves no fake tension."""
    rng = np.random.default_rng(5)
    a = random_rotations(rng, 20) + 0.05 * rng.standard_normal((20, 3, 3))
    x = frames(a, rng)
    energy, plain = orthogonality(20, device, extrapolate=True), Probe(orthogonality(20, device))
    probe = Probe(energy)
    probe.begin_step(x)
    assert np.allclose(energy.hessian_strain.numpy(), a.transpose(0, 2, 1) @ a - np.eye(3), atol=1e-14)
    assert relative_error(probe.hessian(x), plain.hessian(x)).max() < 1e-12
    dx = 0.2 * rng.standard_normal(x.shape)
    probe.after_update(x, dx)
    linear = a.transpose(0, 2, 1) @ dx[:, 1:].transpose(0, 2, 1)
    expected = a.transpose(0, 2, 1) @ a - np.eye(3) + linear + linear.transpose(0, 2, 1)
    assert np.allclose(energy.hessian_strain.numpy(), expected, atol=1e-13)
    y = x + dx
    assert np.array_equal(probe.value(y), plain.value(y)) and np.array_equal(probe.gradient(y), plain.gradient(y))
    assert lowest_eigenvalue(probe.hessian(y)).min() > -1e-12
    assert relative_error(probe.hessian(y), plain.hessian(y)).max() > 1e-3
    energy.set_extrapolation(False)
    assert np.array_equal(probe.hessian(y), plain.hessian(y))

    x = frames(random_rotations(rng, 20), rng)
    turn = np.cross([0.3, -0.2, 0.4], x)
    probe.after_update(x, turn)
    assert np.abs(energy.hessian_strain.numpy()).max() < 1e-14


def test_launches_can_be_captured():
    """One graph holds begin, derivatives and value; replayed, it follows the positions."""
    rng = np.random.default_rng(6)
    energy = orthogonality(3, extrapolate=True)
    probe = Probe(energy)
    x = frames(random_rotations(rng, 3) * 1.1, rng)
    probe.place(x)
    probe.value(x)  # load the module outside the capture
    with wp.ScopedCapture(device="cpu") as capture:
        probe.world_energy.zero_()
        energy.begin_step(probe.inputs)
        energy.launch_derivatives(probe.inputs, probe.gradient_device, probe.blocks)
        energy.launch_value(probe.inputs, probe.world_energy)
    y = frames(random_rotations(rng, 3) * 1.2, rng)
    probe.place(y)
    wp.capture_launch(capture.graph)
    assert probe.world_energy.numpy() == pytest.approx([STIFFNESS * 3 * 0.44**2] * 3, rel=1e-12)
