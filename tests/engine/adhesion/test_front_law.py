"""The front law as a function: area, derivatives, spent work and its inverse, over cells and shapes."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine.adhesion import front_law as law
from tests.engine.warp_eval import evaluate

wp.set_module_options({"enable_backward": False})

WORK = 263.0
CELLS = (1.6e-3, 6.3e-3)


@wp.kernel
def probe(
    u: wp.array(dtype=wp.float64),
    reached: wp.array(dtype=wp.float64),
    active: wp.array(dtype=int),
    cell: wp.array(dtype=wp.float64),
    work: wp.float64,
    out: wp.array2d(dtype=wp.float64),
):
    i = wp.tid()
    a = law.front_corners(active[i], cell[i])
    peak = law.front_peak(work, a)
    out[i, 0] = law.front_value(u[i], reached[i], peak, a)
    out[i, 1] = law.front_over_u(u[i], reached[i], peak, a) * u[i]
    out[i, 2] = law.front_radial(u[i], reached[i], peak, a)
    out[i, 3] = law.front_spent(reached[i], peak, a)
    out[i, 4] = law.front_reached(law.front_spent(reached[i], peak, a), peak, a)
    out[i, 5] = law.front_traction(u[i], peak, a)
    out[i, 6] = law.front_secant(reached[i], peak, a)


def table(u, reached, active: int, cell: float) -> np.ndarray:
    """Rows of `probe`, (n, 7)."""
    u = np.atleast_1d(np.asarray(u, float))
    reached = np.broadcast_to(np.asarray(reached, float), u.shape)
    out = wp.zeros((len(u), 7), dtype=wp.float64)
    fixed = [wp.array(v, dtype=wp.float64) for v in (u, reached.copy())]
    wp.launch(probe, len(u), [*fixed, wp.array(np.full(len(u), active), dtype=int),
                              wp.array(np.full(len(u), cell), dtype=wp.float64), wp.float64(WORK)], [out])
    return out.numpy()


def corners(active: int, cell: float) -> np.ndarray:
    return cell * np.array([2.0, 2.0, 4.0] if active else [0.005, 2.0, 4.0])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("active", [0, 1])
def test_the_area_under_the_envelope_is_the_work(active, cell):
    u = np.linspace(0.0, 4.5 * cell, 200_001)
    t = table(u, 0.0, active, cell)[:, 5]
    assert np.trapezoid(t, u) == pytest.approx(WORK, rel=1e-6)
    assert t[-1] == 0.0
    assert t.max() == pytest.approx(WORK / (2.0 * cell) if active else WORK / (cell * 2.9975), rel=1e-4)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("active", [0, 1])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 0.99])
def test_derivatives_match_differences(active, cell, share):
    """Kinks skipped: the corners and the largest opening so far, where the traction's slope jumps."""
    a = corners(active, cell)
    reached = share * a[2]
    u = np.linspace(1e-4, 1.2, 137) * a[2]
    step = 1e-7 * cell
    kinks = np.array([*a, max(reached, a[0])])
    u = u[(np.abs(u[:, None] - kinks) > 10 * step).all(axis=1)]
    high, low, here = (table(v, reached, active, cell) for v in (u + step, u - step, u))
    slope = (high[:, 0] - low[:, 0]) / (2 * step)
    assert np.abs(here[:, 1]).max() > 0.0
    assert np.allclose(slope, here[:, 1], rtol=1e-6, atol=1e-6 * np.abs(here[:, 1]).max())
    curvature = (high[:, 1] - low[:, 1]) / (2 * step)
    scale = np.abs(curvature).max()
    assert np.allclose(np.maximum(curvature, 0.0), here[:, 2], rtol=1e-5, atol=1e-6 * scale)
    assert (here[:, 2] >= 0.0).all() and (here[:, 1] >= 0.0).all()


@pytest.mark.parametrize("active", [0, 1])
def test_loading_work_is_stored_plus_spent(active):
    cell = 3.2e-3
    reached = np.linspace(1e-4, 0.999, 60) * corners(active, cell)[2]
    rows = table(reached, reached, active, cell)
    loading = table(reached, 0.0, active, cell)[:, 0]  # one step from the unloaded state
    stored = 0.5 * rows[:, 6] * reached**2
    assert np.allclose(loading, stored + rows[:, 3], rtol=1e-9, atol=1e-9 * WORK)
    assert (np.diff(rows[:, 3]) >= -1e-12).all()


@pytest.mark.parametrize("active", [0, 1])
def test_spent_work_has_an_inverse(active):
    cell = 3.2e-3
    a = corners(active, cell)
    reached = np.linspace(a[0] * 1.001, a[2], 50)
    rows = table(np.zeros(50), reached, active, cell)
    assert np.allclose(rows[:, 4], reached, rtol=1e-9)
    assert rows[-1, 3] == pytest.approx(WORK, rel=1e-12)
    assert table(0.0, 0.5 * a[0], active, cell)[0, 3] == 0.0


def test_work_grows_with_rate():
    @wp.kernel
    def factor(speed: wp.array(dtype=wp.float64), m: wp.float64, out: wp.array(dtype=wp.float64)):
        i = wp.tid()
        out[i] = law.front_rate_factor(speed[i], m, wp.float64(0.01))

    speed = np.array([0.0, 1e-3, 1e-2, 1e-1])
    values = evaluate(factor, wp.float64, speed, wp.float64(0.3))
    assert values[0] == 1.0 and values[2] == pytest.approx(2.0**0.3)
    assert (np.diff(values) > 0.0).all()
    assert (evaluate(factor, wp.float64, speed, wp.float64(0.0)) == 1.0).all()
