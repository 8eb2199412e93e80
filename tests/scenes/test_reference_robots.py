"""The reference robots beside the checkout: kinematics, pads that feel, a few strides. All of it: bench robots."""

from __future__ import annotations

import numpy as np
import pytest
import yourdfpy

from bench.robot_problem import CASES, sweep, touch, write_scene
from engine import Engine
from engine.robots.inverse import InverseOptions, PoseTarget, solve_inverse
from engine.robots.kinematics import Kinematics
from engine.tactile.array import TactileArray
from scenes import SceneError, build_scene, load_config
from scenes.mesh_files import read_surface
from scenes.urdf import read_urdf
from tests.shared_data import shared_path

DATA = shared_path("data", "taccel")
pytestmark = pytest.mark.skipif(DATA is None, reason="the reference data are not beside the checkout")
SHARES = {"panda": 0.99, "allegro": 0.99, "f_tac": 0.99, "robotiq_3f": 0.2}  # of its last joint; there two pads meet
PADS = {"panda": 2, "allegro": 4, "f_tac": 17, "robotiq_3f": 7}


@pytest.mark.parametrize("name", CASES)
def test_forward_kinematics_equal_those_of_the_library(name):
    path = DATA / CASES[name].urdf
    k = Kinematics(read_urdf(path).robot)
    oracle = yourdfpy.URDF.load(str(path), load_meshes=False)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q = rng.uniform(k.lower, k.upper)
        oracle.update_cfg(dict(zip(k.names, q, strict=True)))
        for row, pose in enumerate(k.forward(q)):
            np.testing.assert_allclose(oracle.get_transform(k.links[row]), pose, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_every_tip_is_reached_by_inverse_kinematics(name):
    k = Kinematics(read_urdf(DATA / CASES[name].urdf).robot)
    rng = np.random.default_rng(2)
    for _ in range(5):
        tip = k.links[-1]
        wanted = k.forward(rng.uniform(k.lower, k.upper))[k.link_index(tip)]
        start = k.clip(np.zeros(k.size))
        found = solve_inverse(k, [PoseTarget(tip, wanted, lever=0.05)], start, options=InverseOptions(attempts=6))
        assert found.reached and ((found.q >= k.lower) & (found.q <= k.upper)).all()


@pytest.mark.parametrize("name", CASES)
def test_pads_feel_and_strides_leave_no_intersection(tmp_path, name):
    scene = build_scene(load_config(str(write_scene(CASES[name], DATA, tmp_path))))
    engine = Engine(scene.model, scene.options)
    assert len(scene.pads) == PADS[name]
    pad = scene.pads[-1].name
    felt = touch(scene, engine, TactileArray(engine, tuple(scene.pads), ("indentation", "forces")), pad)
    assert felt.converged and 3e-4 < felt.depth < 8e-4 and felt.force > 0.1 and felt.quiet < 1e-5
    engine.reset()
    joints = [scene.robots["robot"].kinematics.size - 1]
    swept = sweep(scene, engine, joints)
    assert swept.intersecting == 0 and swept.unconverged == 0 and swept.reached[joints[0]] > SHARES[name]


def test_a_mesh_that_is_not_there_is_named(tmp_path):
    """The Robotiq's URDF names a folder that the data lack."""
    from dataclasses import replace

    case = replace(CASES["robotiq_3f"], extra="")
    with pytest.raises(SceneError) as caught:
        build_scene(load_config(str(write_scene(case, DATA, tmp_path))))
    text = str(caught.value)
    assert "collision of link 'palm': mesh 'meshes/robotiq-3f-gripper_articulated/mujoco/palm.stl' is not there" in text
    assert "there is no folder" in text and "collision, visual" in text


def test_the_inside_out_gel_is_named_and_repaired():
    path = DATA / "allegro" / "meshes" / "digit_gel.stl"
    wrong = read_surface(path, "m")
    assert [defect.kind for defect in wrong.defects] == ["inside-out"]
    mended = read_surface(path, "m", repair=True)
    assert not mended.defects and any("turned to face outwards" in note for note in mended.notes)
