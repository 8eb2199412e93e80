"""Quadratic ties, slides and dashpots: known forces, derivatives, Hessians."""

from __future__ import annotations

import numpy as np
import pytest

from engine.energies.damping import PointDamping
from engine.energies.slide import DirectionTie, Slide
from engine.energies.tie import PointTie
from tests.engine.energies import exact
from tests.engine.energies.harness import (
    Probe,
    difference_gradient,
    difference_hessian,
    lowest_eigenvalue,
    relative_error,
    stencils_for,
)


def tie_gradient(x, k):
    return k * np.stack([x[0] - x[1], x[1] - x[0]])


def direction_gradient(x, k):
    gap = x[1] - x[0] - x[3] + x[2]
    return k * np.stack([-gap, gap, gap, -gap])


def slide_gradient(x, k):
    d, u1, u2 = x[0] - x[1], x[2] - x[1], x[3] - x[1]
    r1, r2 = d @ u1, d @ u2
    return k * np.stack([r1 * u1 + r2 * u2, -r1 * (u1 + d) - r2 * (u2 + d), r1 * d, r2 * d])


LAWS = {
    "tie": (PointTie, 2, tie_gradient),
    "direction tie": (DirectionTie, 4, direction_gradient),
    "slide": (Slide, 4, slide_gradient),
}


@pytest.mark.parametrize("name", LAWS)
def test_derivatives_over_scales(device, name):
    kind, size, gradient_of = LAWS[name]
    rng = np.random.default_rng(1)
    scale = np.repeat(10.0 ** np.arange(-6, 2), 6)
    count = len(scale)
    x = rng.standard_normal((count, size, 3)) * scale[:, None, None]
    stiffness = 10.0 ** rng.uniform(0, 6, count)
    probe = Probe(kind(stencils_for(count, size), stiffness, np.arange(count), device))

    def gradient(e, y):
        return gradient_of(y, stiffness[e])

    analytic = probe.gradient(x)
    reference = exact.exact_hessians(gradient, x)
    assert np.all(np.linalg.norm(analytic, axis=(1, 2)) > 0.0)
    assert relative_error(analytic, np.stack([gradient(e, x[e]) for e in range(count)])).max() < 1e-12
    assert relative_error(difference_gradient(probe, x), analytic).max() < 1e-6
    assert relative_error(difference_hessian(probe, x), reference).max() < 1e-6
    hessian = probe.hessian(x)
    assert lowest_eigenvalue(hessian).min() > -1e-12
    if kind is not Slide:
        assert relative_error(hessian, reference).max() < 1e-12


def test_tie_pulls_its_points_together(device):
    probe = Probe(PointTie([[0, 1]], 100.0, [0], device))
    x = np.array([[[0.3, 0.0, 0.0], [0.1, 0.0, 0.0]]])
    assert probe.value(x) == pytest.approx([0.5 * 100 * 0.04])
    assert probe.gradient(x)[0, :, 0] == pytest.approx([20.0, -20.0])


def test_slide_is_free_along_its_axis(device):
    """Axis z, p1 - p0 = x, p2 - p0 = y: sliding costs nothing, 2 mm across costs k/2 (2 mm)^2."""
    frame = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    x = np.stack([np.vstack([[0.0, 0.0, 0.7], frame]), np.vstack([[0.002, 0.0, 0.7], frame])])
    probe = Probe(Slide(stencils_for(2, 4), 1e6, [0, 1], device))
    assert probe.value(x) == pytest.approx([0.0, 2.0])
    assert probe.gradient(x)[1, 0] == pytest.approx([2000.0, 0.0, 0.0])


def test_slide_gauss_newton_deviation():
    """What is left out is residual times a constant matrix: proportional to the distance from the axis."""
    rng = np.random.default_rng(2)
    frame = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for off in (0.0, 1e-4, 1e-2):
        c = np.column_stack([off * rng.choice([-1.0, 1.0], (20, 2)), rng.uniform(-0.1, 0.1, 20)])
        x = np.stack([np.vstack([point, frame]) for point in c])
        hessian = Probe(Slide(stencils_for(20, 4), 1e6, np.arange(20), "cpu")).hessian(x)
        reference = exact.exact_hessians(lambda e, y: slide_gradient(y, 1e6), x)
        deviation = relative_error(hessian, reference).max()
        print(f"slide, {off} m off its axis: deviation from the exact Hessian, worst {deviation:.1e}")
        assert deviation < 5.0 * off + 1e-12


def test_direction_tie_resists_turning_not_moving(device):
    x = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 5.0, 5.0], [6.0, 5.0, 5.0]]])
    probe = Probe(DirectionTie([[0, 1, 2, 3]], 10.0, [0], device))
    assert probe.value(x) == pytest.approx([0.0])
    x[0, 1] = [0.0, 1.0, 0.0]
    assert probe.value(x) == pytest.approx([0.5 * 10 * 2.0])
    assert probe.gradient(x)[0, 1] == pytest.approx([-10.0, 10.0, 0.0])


def test_damping_force_is_coefficient_times_velocity(device):
    start = np.array([[[1.0, 2.0, 3.0]], [[-4.0, 5.0, 6.0]]])
    x = start + np.array([[[0.01, 0.0, -0.02]], [[0.0, 0.0, 0.0]]])
    probe = Probe(PointDamping(stencils_for(2, 1), [3.0, 5.0], [0, 1], device), start, step_size=0.02)
    assert probe.value(x) == pytest.approx([3.0 / 0.04 * 5e-4, 0.0])
    assert probe.gradient(x)[0, 0] == pytest.approx([3.0 * 0.5, 0.0, -3.0])  # v = (0.5, 0, -1) m/s
    assert probe.hessian(x) == pytest.approx(np.stack([150.0 * np.eye(3), 250.0 * np.eye(3)]))


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="PointTie: stiffness of element 0 is -1.0; it must be at least 0"):
        PointTie([[0, 1]], -1.0, [0], "cpu")
    with pytest.raises(ValueError, match="PointDamping: coefficient of element 0 is NaN"):
        PointDamping([[0]], np.nan, [0], "cpu")
    for kind in (Slide, DirectionTie):
        with pytest.raises(ValueError, match=f"{kind.__name__}: stiffness has shape"):
            kind([[0, 1, 2, 3]], [1.0, 2.0], [0], "cpu")
