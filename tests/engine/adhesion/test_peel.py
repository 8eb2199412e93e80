"""Peeling a strip in 3D: the mean force is Kendall's, whatever the mesh. The whole table: bench case tape_peel."""

from __future__ import annotations

import numpy as np
import pytest

from bench.peel_problem import make_peel, measure_peel, restick_share
from engine.materials import FrontAdhesive


@pytest.mark.parametrize("cell", [3.2e-3, 8e-3])
def test_the_fixture_reads_its_force(cell):
    """19 mm, 180 degrees, 6 mm/s, W = 263 J/m2: 2.5 N, at fine and coarse cells."""
    peel = make_peel(cell, 180.0, stuck=0.04 + 10 * cell, dt=1 / 30)
    found = measure_peel(peel, settle=0.04, window=4 * cell)
    assert found.force == pytest.approx(2.5, rel=0.02)
    assert abs(found.error) < 0.01
    assert found.balance == pytest.approx(1.0, abs=0.01)
    assert found.swept == pytest.approx(1.0, abs=0.02)
    assert found.converged == 1.0 and found.ripple < 1.7


def test_at_a_right_angle_and_with_twice_the_work():
    peel = make_peel(6.3e-3, 90.0, stuck=0.09, dt=1 / 30, speed=9e-3, material=FrontAdhesive(work=526.0))
    found = measure_peel(peel, settle=0.04, window=4 * 6.3e-3)
    assert abs(found.error) < 0.02
    assert found.force > 8.0
    assert found.balance == pytest.approx(1.0, abs=0.01)


def test_pulled_sideways():
    peel = make_peel(6.3e-3, 90.0, stuck=0.09, dt=1 / 30, speed=9e-3, sideways=20.0)
    found = measure_peel(peel, settle=0.04, window=4 * 6.3e-3)
    assert abs(found.error) < 0.03


def test_a_layer_peels_off_a_layer_as_off_a_plate():
    """The partner is another strip, itself stuck to the plate; bonds reach 4 cells behind the fold."""
    found = []
    for layer in (2000.0, 0.0):
        peel = make_peel(6.3e-3, 180.0, stuck=0.08, dt=1 / 30, speed=9e-3, layer=layer)
        found.append(measure_peel(peel, settle=0.03, window=4 * 6.3e-3))
    assert found[0].force == pytest.approx(found[1].force, rel=0.01)
    assert found[0].balance == pytest.approx(1.0, abs=0.01)


def test_laid_back_and_pressed_the_strip_peels_again():
    assert restick_share(6.3e-3) == pytest.approx(1.0, abs=0.05)


def test_resume_in_the_middle_of_a_peel():
    first, second = (make_peel(6.3e-3, 120.0, stuck=0.05, dt=1 / 30, speed=2e-2) for _ in range(2))
    for _ in range(30):
        first.step()
    second.engine.set_state(first.engine.get_state())
    forces = np.array([(first.step(), second.step()) for _ in range(6)])
    assert np.linalg.norm(forces[-1, 0]) > 0.5
    assert np.array_equal(forces[:, 0], forces[:, 1])
    for name, values in first.engine.get_state().items():
        assert np.array_equal(second.engine.get_state()[name], values), name
