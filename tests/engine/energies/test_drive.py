"""Body drives: Huber spring on the mean displacement, multiplier, force limit, read-outs."""

from __future__ import annotations

import numpy as np
import pytest

from engine.energies.drive import BodyDrive
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

BOX = np.diag([1.0, 0.04**2 / 12, 0.06**2 / 12, 0.02**2 / 12])  # mass matrix over mass of a 4 x 6 x 2 cm box


def drives(count, stiffness, limit, metric=BOX, device="cpu"):
    return BodyDrive(stencils_for(count, 4), metric, stiffness, limit, np.arange(count), device)


def poses(rng, count, offset):
    """x and target (count, 4, 3): the same rotation, x moved by `offset` in origin and columns."""
    target = np.concatenate([rng.standard_normal((count, 1, 3)), random_rotations(rng, count)], axis=1)
    step = rng.standard_normal((count, 4, 3)) * np.broadcast_to(offset, count)[:, None, None]
    return target + step, target


def set_target(energy, target, multiplier=None):
    energy.target.assign(target)
    if multiplier is not None:
        energy.multiplier.assign(multiplier)


def references(energy, x, target, multiplier):
    metric, stiffness, limit = energy.metric.numpy(), energy.stiffness.numpy(), energy.force_limit.numpy()

    def gradient(e, y):
        return exact.drive_gradient(y, metric[e], stiffness[e], limit[e], target[e], multiplier[e])

    return exact.exact_hessians(gradient, x), np.stack([gradient(e, x[e]).real for e in range(len(x))])


def test_translation_is_a_huber_spring(device):
    """k = 1000 N/m, limit 5 N: the spring saturates at 5 mm; gradient is minus the pull on the origin."""
    energy = drives(4, 1000.0, [5.0, 5.0, np.inf, 0.0], device=device)
    target = np.tile(np.concatenate([np.zeros((1, 3)), np.eye(3)]), (4, 1, 1))
    set_target(energy, target)
    x = target.copy()
    x[:, 0, 0] = [0.003, 0.02, 0.02, 0.02]
    probe = Probe(energy)
    assert probe.value(x) == pytest.approx([0.5 * 1000 * 0.003**2, 5 * 0.02 - 25 / 2000, 0.2, 0.0], rel=1e-12)
    assert probe.gradient(x)[:, 0, 0] == pytest.approx([3.0, 5.0, 20.0, 0.0], rel=1e-12)
    assert energy.force_host(x.reshape(-1, 3))[:, 0] == pytest.approx([-3.0, -5.0, -20.0, 0.0], rel=1e-12)
    assert energy.gap_host(x.reshape(-1, 3)) == pytest.approx([0.003, 0.02, 0.02, 0.02], rel=1e-12)


def test_rotation_counts_by_the_inertia_of_the_body(device):
    """A turn by alpha about z moves the matter by alpha times the radius of gyration about z."""
    energy = drives(1, 1000.0, np.inf, device=device)
    target = np.concatenate([np.zeros((1, 3)), np.eye(3)])[None]
    set_target(energy, target)
    alpha = 1e-4
    turn = np.array([[np.cos(alpha), -np.sin(alpha), 0], [np.sin(alpha), np.cos(alpha), 0], [0, 0, 1]])
    x = np.concatenate([np.zeros((1, 3)), turn.T])[None]
    gyration = np.sqrt(BOX[1, 1] + BOX[2, 2])
    assert energy.gap_host(x.reshape(-1, 3)) == pytest.approx([alpha * gyration], rel=1e-6)
    assert Probe(energy).value(x) == pytest.approx([500.0 * (alpha * gyration) ** 2], rel=1e-6)


def test_on_target_and_switched_off(device):
    energy = drives(2, [1000.0, 0.0], [5.0, np.inf], device=device)
    x, target = poses(np.random.default_rng(0), 2, [0.0, 1.0])
    set_target(energy, target)
    probe = Probe(energy)
    assert np.all(probe.value(x) == 0.0) and np.all(probe.gradient(x) == 0.0)
    hessian = probe.hessian(x)
    assert hessian[0, 0, 0] == 1000.0 and np.all(hessian[1] == 0.0)


def test_multiplier_adds_a_constant_pull(device):
    energy = drives(1, 0.0, np.inf, device=device)
    x, target = poses(np.random.default_rng(1), 1, 0.1)
    multiplier = np.zeros((1, 4, 3))
    multiplier[0, 0] = [7.0, 0.0, -2.0]
    set_target(energy, target, multiplier)
    probe = Probe(energy)
    assert probe.gradient(x)[0, 0] == pytest.approx([7.0, 0.0, -2.0])
    assert probe.value(x) == pytest.approx([np.dot([7.0, 0.0, -2.0], (x - target)[0, 0])])
    assert energy.force_host(x.reshape(-1, 3))[0] == pytest.approx([-7.0, 0.0, 2.0])


def skewed_metric(rng, count):
    """Metrics of open or asymmetric bodies: any positive definite 4x4 with 1 in front."""
    half = np.eye(4) + 0.4 * rng.standard_normal((count, 4, 4))
    metric = half @ half.transpose(0, 2, 1)
    return metric / metric[:, :1, :1]


def test_derivatives_over_scales(device):
    """Kink skipped: spring force within 1 % of the limit (the second derivative jumps there)."""
    rng = np.random.default_rng(2)
    offset = np.repeat(10.0 ** np.arange(-6.0, 1.0), 12)
    count = len(offset)
    x, target = poses(rng, count, offset)
    stiffness = 10.0 ** rng.uniform(1, 6, count)
    limit = stiffness * offset * np.tile([0.3, 100.0, np.inf, 1.0], count // 4)
    multiplier = rng.standard_normal((count, 4, 3)) * (stiffness * offset)[:, None, None]
    energy = drives(count, stiffness, limit, skewed_metric(rng, count), device)
    set_target(energy, target, multiplier)
    ratio = stiffness * energy.gap_host(x.reshape(-1, 3)) / limit
    keep = np.abs(ratio - 1.0) > 0.01
    assert np.count_nonzero(ratio[keep] > 1.0) > 20 and np.count_nonzero(ratio[keep] < 1.0) > 20
    probe = Probe(energy)
    hessian, gradient = references(energy, x, target, multiplier)
    analytic = probe.gradient(x)
    assert np.all(np.linalg.norm(analytic, axis=(1, 2)) > 0.0)
    assert relative_error(analytic, gradient).max() < 1e-9

    # Far from the origin of coordinates a micrometre offset leaves 10 digits, so differences are taken about the target
    energy.target.zero_()
    near = x - target
    assert relative_error(difference_gradient(probe, near), probe.gradient(near))[keep].max() < 1e-6
    assert relative_error(difference_hessian(probe, near), hessian)[keep].max() < 1e-6
    # the solver's Hessian is the secant: exact while the spring is not saturated, above the exact one where it is
    solver, free = probe.hessian(near), keep & (ratio < 1.0)
    assert relative_error(solver, hessian)[free].max() < 1e-9
    lowest = np.linalg.eigvalsh((solver - hessian).reshape(count, 12, 12)[keep])[:, 0]
    assert np.all(lowest > -1e-9 * np.abs(solver).reshape(count, -1).max(axis=1)[keep])
    assert relative_error(solver, hessian)[keep].max() < 1.0
    print("drive: deviation from the exact Hessian at rounding level")


def test_hessian_is_positive_semidefinite():
    rng = np.random.default_rng(3)
    x, target = poses(rng, 300, 10.0 ** rng.uniform(-6, 0, 300))
    energy = drives(300, 1e3, 10.0 ** rng.uniform(-3, 3, 300), skewed_metric(rng, 300))
    set_target(energy, target)
    assert lowest_eigenvalue(Probe(energy).hessian(x)).min() > -1e-12


def test_settable_arrays_keep_their_place():
    """The stepper writes targets in place: captured graphs hold the pointers."""
    energy = drives(2, 1e3, np.inf)
    pointers = energy.target.ptr, energy.multiplier.ptr, energy.stiffness.ptr
    set_target(energy, np.ones((2, 4, 3)), np.ones((2, 4, 3)))
    energy.stiffness.assign(np.array([1.0, 2.0]))
    assert pointers == (energy.target.ptr, energy.multiplier.ptr, energy.stiffness.ptr)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="BodyDrive: force_limit of element 0 is -1.0; it must be at least 0"):
        drives(1, 1e3, -1.0)
    with pytest.raises(ValueError, match=r"BodyDrive: metric has shape \(3, 3\); it must be \(1, 4, 4\) or \(4, 4\)"):
        drives(1, 1e3, 1.0, np.eye(3))
