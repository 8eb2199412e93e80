"""Four scenes that press, crumple, pull and drop: 100 steps each without an intersection, by an independent test.

The benchmark `python -m bench stress` runs 1,000 steps of the same.
"""

from __future__ import annotations

import pytest

from bench.stress_run import EVERY, SCENES, IntersectionOracle, run_stress
from tests.engine.models import sheet_on_ground

STEPS = 100


@pytest.mark.parametrize("name", SCENES)
def test_stress_scene_never_intersects(name):
    result = run_stress(name, STEPS)
    assert result.steps == STEPS
    assert result.looks >= STEPS // EVERY
    assert result.impacts > 0, "a stress scene without an impact proves nothing"
    assert result.intersecting == []
    assert result.active_share >= 0.8
    assert result.smallest_gap > 0.0


def test_the_oracle_sees_an_intersection():
    engine = sheet_on_ground(cells=4)
    positions = engine.positions()
    oracle = IntersectionOracle(engine.model, positions)
    assert not oracle.intersects(positions)
    sheet = engine.model.meshes["sheet"].points
    pushed = positions.copy()
    pushed[sheet.start, 2] = -0.01  # one corner through the ground
    assert oracle.intersects(pushed)
