"""One world of a batch seen as if it were alone."""

import numpy as np
import pytest

from app.shown_world import ShownWorld
from engine import Engine
from scenes.build import build_scene
from scenes.config import load_config

COARSE = ["left_pad.gel.cells=[2, 2, 1]", "right_pad.gel.cells=[2, 2, 1]"]


def test_a_shown_world_is_the_solo_run_in_all_that_is_read():
    config = load_config("peg_insertion", COARSE)
    batch, alone = build_scene(config, num_worlds=3), build_scene(config, num_worlds=1, first=1)
    shown, solo = ShownWorld(Engine(batch.model, batch.options), 1), Engine(alone.model, alone.options)
    for step in range(8):
        for engine in (shown, solo):
            control = engine.control()
            control.joint_target[:] = 1.5e-3 * step
            control.body_transform[:, :, 2, 3] += 1e-4
            engine.step(control)
    assert np.array_equal(shown.positions(), solo.positions())
    assert np.array_equal(shown.mesh_positions("peg"), solo.mesh_positions("peg"))
    assert np.array_equal(shown.body_transform("peg"), solo.body_transform("peg"))
    for name, value in vars(solo.signals()).items():
        assert np.allclose(getattr(shown.signals(), name), value, atol=1e-12), name
    kept, own = shown.solo_state(), solo.get_state()
    assert kept.keys() == own.keys() and all(np.array_equal(kept[name], own[name]) for name in own)
    shown.show(2)
    assert not np.array_equal(shown.positions(), solo.positions())
    assert np.array_equal(shown.whole.control().joint_target, np.full((3, 2), 1.5e-3 * 7)), "all are driven alike"
    with pytest.raises(ValueError, match=r"world is 3; this run has worlds 0\.\.2"):
        shown.show(3)
