"""The problems of `tactile_forces`, once each and small."""

from __future__ import annotations

import numpy as np
import pytest

from bench.tactile_problem import PressedPads, Slip, named, pull_bar, weigh
from engine.tactile.array import TactileArray


def test_a_pulled_bar_sticks_then_slips_at_the_friction_coefficient():
    slip = pull_bar(0.3, seconds=0.72)
    assert slip.slip_ratio == pytest.approx(0.3, rel=0.05)
    assert slip.marker_rises and 0.1 < slip.time[slip.slips_from] < 0.4
    assert (np.diff(slip.ratio[: slip.slips_from]) > 0.0).all(), "it sticks: the pull grows"
    follow = np.diff(slip.marker[:3]) / np.diff(slip.time[:3]) / slip.speed
    assert follow == pytest.approx(1.0, abs=0.05), "while it sticks the dots under it go along"
    assert np.abs(slip.marker[slip.slips_from + 5 :] / slip.marker[slip.slips_from] - 1.0).max() < 0.1


def test_the_onset_of_slip_is_where_the_markers_stay_behind():
    time = 0.02 * (1 + np.arange(60))
    marker = np.minimum(2e-3 * time, 8e-4)
    slip = Slip(time, np.minimum(time, 0.4), marker, np.ones(60), 2e-3, True)
    assert slip.time[slip.slips_from] == pytest.approx(0.4, abs=0.021) and slip.marker_rises
    assert slip.slip_ratio == pytest.approx(0.4)
    sticking = Slip(time, time, 2e-3 * time, np.ones(60), 2e-3, True)
    assert sticking.slips_from == 60 and np.isnan(sticking.slip_ratio)


def test_a_weight_is_read_within_a_percent():
    force, converged = weigh(0.1, steps=30)
    assert converged and force == pytest.approx(0.981, rel=0.01)


def test_two_pads_are_pressed():
    scene = PressedPads()
    scene.step(6)
    tactile = TactileArray(scene.engine, scene.pads)
    tactile.update()
    for pad in scene.pads:
        assert (pad.camera.width, pad.camera.height) == (160, 120)
        assert 2e-4 < tactile.numpy("indentation", pad.name).max() < 8e-4
        assert tactile.numpy("contact", pad.name).any()
    assert named("digit").camera.resolution == (160, 120)
