"""Poses of driven bodies over time, rotations, and choosing vertices."""

import math

import numpy as np
import pytest

from scenes.errors import SceneError
from scenes.motion import pose_at, rigid_transform, rotation_matrix
from scenes.placed import Region
from scenes.regions import on_side, vertices_in
from scenes.tables import Keyframe, Motion

X, Y, Z = np.eye(3)


def test_rotation_is_about_world_x_then_y_then_z():
    quarter = math.pi / 2
    assert np.array_equal(rotation_matrix((quarter, 0.0, 0.0)) @ Y, Z)
    assert np.array_equal(rotation_matrix((0.0, quarter, 0.0)) @ Z, X)
    assert np.array_equal(rotation_matrix((0.0, 0.0, quarter)) @ X, Y)
    both = rotation_matrix((quarter, 0.0, quarter))
    assert both @ Y == pytest.approx(Z) and both @ X == pytest.approx(Y)
    general = rotation_matrix((0.3, -0.7, 1.9))
    assert general @ general.T == pytest.approx(np.eye(3)) and np.linalg.det(general) == pytest.approx(1.0)


def motion(**changes):
    frames = (
        Keyframe(time=1.0),
        Keyframe(time=3.0, translation=(0.0, 0.0, 0.4), rotation=(0.0, 0.0, math.pi / 2)),
        Keyframe(time=4.0),
    )
    return Motion(**({"keyframes": frames} | changes))


def test_keyframes_before_between_and_after():
    start = rigid_transform((1.0, 2.0, 3.0), (0.0, math.pi / 2, 0.0))
    linear = motion(between="linear")
    assert np.array_equal(pose_at(linear, start, 0.0), start)
    quarter = pose_at(linear, start, 1.5)
    assert quarter[:3, 3] == pytest.approx([1.0, 2.0, 3.1])
    assert quarter[:3, :3] == pytest.approx(rotation_matrix((0, 0, math.pi / 8)) @ start[:3, :3])
    assert pose_at(linear, start, 3.0)[:3, 3] == pytest.approx([1.0, 2.0, 3.4])
    assert pose_at(linear, start, 99.0) == pytest.approx(start)
    smooth = [pose_at(motion(), start, t)[2, 3] - 3.0 for t in (1.5, 2.0, 2.5)]
    assert smooth == pytest.approx([0.4 * 0.15625, 0.2, 0.4 * 0.84375])


def test_loops_repeat_and_holds_stay():
    start = np.eye(4)
    looping = motion(after="loop", between="linear")
    for t in (1.2, 2.9, 3.5):
        assert pose_at(looping, start, t + 3.0) == pytest.approx(pose_at(looping, start, t))
        assert pose_at(looping, start, t + 30.0) == pytest.approx(pose_at(looping, start, t))
    still = Motion(keyframes=(Keyframe(time=0.0, translation=(0.0, 0.0, 1.0)),), after="loop")
    assert pose_at(still, start, 17.0)[2, 3] == 1.0


def test_regions_choose_vertices_or_say_where_the_mesh_lies():
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1.0]])
    assert vertices_in(Region(side="+x"), points, "a").tolist() == [1, 2]
    assert vertices_in(Region(side="+x", high=(2.0, 0.5, 1.0)), points, "a").tolist() == [1]
    assert vertices_in(Region(low=(-1.0, 0.5, -1.0)), points, "a").tolist() == [2, 3]
    assert vertices_in(Region(), points, "a").tolist() == [0, 1, 2, 3]
    assert on_side(points, "-z").tolist() == [True, True, True, False]
    with pytest.raises(
        SceneError, match=r"a: no vertex lies in this region; the mesh spans \(0, 0, 0\) to \(1, 1, 1\) m"
    ):
        vertices_in(Region(low=(5.0, 5.0, 5.0)), points, "a")
