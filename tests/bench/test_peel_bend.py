"""The elastica behind the payout bench, against its differential equation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bench.peel_bend import angle_on_roll, bend_beyond, bend_excess, bend_length, bend_offset, zone_bend


@pytest.mark.parametrize("angle", [0.3, 0.5 * np.pi, 3.0])
def test_excess_and_offset_are_those_of_the_integrated_elastica(angle):
    lam = bend_length(5.9e-5, 20.0)

    def along(s, state):
        theta, curvature = state[0], state[1]
        return [curvature, np.sin(theta) / lam**2, 1.0 - np.cos(theta), np.sin(theta)]

    # second order, so that the first integral is tested too; the growing solution limits the way
    start = [angle, -2.0 / lam * np.sin(0.5 * angle), 0.0, 0.0]
    end = solve_ivp(along, (0.0, 12.0 * lam), start, rtol=1e-12, atol=1e-15).y[:, -1]
    assert abs(end[0]) < 1e-3
    assert end[2] == pytest.approx(bend_excess(lam, angle), rel=1e-5)
    assert end[3] == pytest.approx(bend_offset(lam, angle), rel=1e-3)


def test_the_pull_of_a_free_roll_passes_through_its_axle():
    lam, radius = 1.7e-3, 0.027
    angle = angle_on_roll(lam, radius)
    assert radius * np.cos(angle) == pytest.approx(bend_offset(lam, angle), rel=1e-9)
    assert np.degrees(angle) == pytest.approx(85.0, abs=1.0)
    assert angle_on_roll(1e-9, radius) == pytest.approx(0.5 * np.pi, abs=1e-6)


def test_beyond_the_layer_it_is_the_whole_bend_less_the_start():
    lam, radius = 1.7e-3, 0.027
    angle = angle_on_roll(lam, radius)
    whole = bend_excess(lam, angle) + radius - radius * np.sin(angle)  # the front lies a little below the pull's line
    assert bend_beyond(lam, radius, 0.0) == pytest.approx(whole, rel=1e-3)
    assert 0.0 < bend_beyond(lam, radius, 5e-4) < bend_beyond(lam, radius, 1e-4) < whole


def test_a_strip_held_by_the_front_law_is_pulled_by_its_work_and_bends_over_cells():
    """The pull is no input: it comes out of the traction as W b (Rivlin at a right angle)."""
    cell, radius = 3.17e-3, 0.0275
    longer, pull = zone_bend(cell, radius, 5e-4, work=20.0)
    assert pull == pytest.approx(1.0, rel=1e-5)
    assert zone_bend(cell, radius, 5e-4, work=263.0)[0] == pytest.approx(longer, rel=1e-4)
    assert 0.5 * cell < longer < 2.0 * cell
    half, same = zone_bend(0.5 * cell, 0.5 * radius, 2.5e-4)  # lengths scale with the cell
    assert half == pytest.approx(0.5 * longer, rel=1e-3) and same == pytest.approx(1.0, rel=1e-5)
