"""Inverse kinematics: reachable targets are reached, others approached and reported, limits and speeds kept."""

from __future__ import annotations

import numpy as np
import pytest

from engine.robots.inverse import InverseOptions, PoseTarget, pose_error, solve_inverse
from engine.robots.kinematics import Kinematics
from tests.engine.robots.chains import mixed, planar


def test_reachable_targets_are_reached_within_limits():
    rng = np.random.default_rng(1)
    k = Kinematics(planar((0.3, 0.25, 0.2, 0.1), lower=-1.5, upper=1.5))
    for _ in range(20):
        wanted = k.forward(rng.uniform(k.lower, k.upper))[k.link_index("tip")]
        found = solve_inverse(k, [PoseTarget("tip", wanted)], np.zeros(4), options=InverseOptions(attempts=6))
        assert found.reached and found.sentence() == ""
        assert ((found.q >= k.lower) & (found.q <= k.upper)).all()
        np.testing.assert_allclose(k.forward(found.q)[k.link_index("tip")], wanted, atol=2e-5)


def test_a_target_too_far_is_approached_as_far_as_it_goes_and_told():
    k = Kinematics(planar((0.3, 0.2)))
    wanted = np.eye(4)
    wanted[:3, 3] = 0.6, 0.8, 0.0  # a metre away, half a metre out of reach
    many = InverseOptions(iterations=200)
    found = solve_inverse(k, [PoseTarget("tip", wanted, lever=0.0)], np.array([0.1, 0.2]), options=many)
    assert not found.reached
    assert found.position_error == pytest.approx(0.5, abs=1e-5)
    np.testing.assert_allclose(found.q, [np.arctan2(0.8, 0.6), 0.0], atol=1e-2)
    assert found.sentence().startswith("out of reach by 500.")


def test_a_limit_that_keeps_from_the_target_is_named():
    k = Kinematics(planar((0.3, 0.2), lower=-0.5, upper=0.5))
    wanted = np.eye(4)
    wanted[:3, 3] = 0.0, 0.5, 0.0
    found = solve_inverse(k, [PoseTarget("tip", wanted, lever=0.0)], np.zeros(2))
    np.testing.assert_allclose(found.q, [0.5, 0.5], atol=1e-9)
    assert found.at_limit == ("j1", "j2") and "at their limits: j1, j2" in found.sentence()


def test_a_step_keeps_the_speed_of_each_joint_and_leaves_still_what_may_not_move():
    k = Kinematics(planar((0.3, 0.2, 0.1)))
    start = np.array([0.1, 0.4, -0.2])
    wanted = k.forward(np.array([1.0, -1.0, 0.8]))[k.link_index("tip")]
    reach = np.array([0.05, 0.0, 0.02])
    found = solve_inverse(k, [PoseTarget("tip", wanted)], start, reach=reach)
    assert (np.abs(found.q - start) <= reach + 1e-12).all() and found.q[1] == start[1]
    far = k.forward(start)[k.link_index("tip")]
    assert np.linalg.norm(wanted[:3, 3] - far[:3, 3]) > found.position_error + 1e-3  # it came nearer


def test_what_the_target_leaves_free_goes_to_the_posture():
    k = Kinematics(planar((0.3, 0.25, 0.2, 0.1)))
    posture = np.array([0.9, -0.6, 0.5, 0.3])
    wanted = k.forward(np.array([0.2, 0.3, 0.2, 0.4]))[k.link_index("tip")]
    target = PoseTarget("tip", wanted, lever=0.0)
    options = InverseOptions(iterations=300)
    near, far = (solve_inverse(k, [target], np.zeros(4), posture=p, options=options) for p in (posture, -posture))
    assert near.reached and far.reached
    assert np.linalg.norm(near.q - posture) < np.linalg.norm(far.q - posture)


def test_small_moves_of_a_target_move_the_joints_little():
    """Smoothness: without a posture the start is one, so a redundant arm does not wander."""
    k = Kinematics(planar((0.3, 0.25, 0.2, 0.1)))
    q, largest = np.array([0.2, 0.8, 0.7, -0.4]), 0.0
    pose = k.forward(q)[k.link_index("tip")]
    for step in range(50):
        moved = pose.copy()
        moved[:3, 3] += 0.05 * np.array([np.sin(0.1 * step), 1.0 - np.cos(0.1 * step), 0.0])
        found = solve_inverse(k, [PoseTarget("tip", moved)], q)
        assert found.reached
        largest, q = max(largest, float(np.abs(found.q - q).max())), found.q
    assert largest < 0.1  # 5 mm a step at arms of 0.1 m and more


def test_two_frames_on_one_robot_are_reached_together():
    rng = np.random.default_rng(1)
    k = Kinematics(mixed())
    frame = np.eye(4)
    frame[:3, 3] = 0.0, 0.02, 0.01
    q = rng.uniform(-0.05, 0.25, k.size)
    poses = k.forward(q)
    tip = poses[k.link_index("tip")] @ frame
    targets = [PoseTarget("l3", poses[k.link_index("l3")]), PoseTarget("tip", tip, frame)]
    found = solve_inverse(k, targets, np.zeros(k.size), options=InverseOptions(attempts=8, iterations=100))
    assert found.reached
    np.testing.assert_allclose(k.forward(found.q)[k.link_index("tip")], poses[k.link_index("tip")], atol=1e-5)


def test_pose_error_is_the_rotation_vector_up_to_half_a_turn():
    for angle in (0.0, 1e-9, 0.3, 3.0, np.pi - 1e-9, np.pi):
        target = np.eye(4)
        c, s = np.cos(angle), np.sin(angle)
        target[:3, :3] = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
        move, turn = pose_error(np.eye(4), target)
        assert np.abs(turn) == pytest.approx([0.0, 0.0, angle], abs=1e-7) and not move.any()


def test_bad_input_is_named():
    k = Kinematics(planar())
    with pytest.raises(KeyError, match="has no link 'hand'"):
        solve_inverse(k, [PoseTarget("hand", np.eye(4))], np.zeros(2))
    with pytest.raises(ValueError, match=r"start has shape \(3,\); legal: \(2,\) finite"):
        solve_inverse(k, [], np.zeros(3))
    with pytest.raises(ValueError, match="target pose of link 'tip' must be a finite"):
        solve_inverse(k, [PoseTarget("tip", np.full((4, 4), np.nan))], np.zeros(2))
