"""What a robot may not be, and which links are one piece."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.robots.description import Mimic, RobotDescription, RobotLink
from engine.robots.kinematics import Kinematics
from tests.engine.robots.chains import joint, mixed, planar


def changed(**joints) -> RobotDescription:
    """The two-joint arm with other joints: j1={"upper": ..}."""
    robot = planar()
    return replace(robot, joints=tuple(replace(j, **joints.get(j.name, {})) for j in robot.joints))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: changed(j2={"parent": "nowhere"}), "joint 'j2' has the parent 'nowhere'; links: base, l1, l2, tip"),
        (lambda: changed(j2={"kind": "screw"}), "joint 'j2' is of the kind 'screw'; legal kinds: fixed, revolute"),
        (lambda: changed(j2={"child": "l1"}), "link 'l1' is the child of several joints: 'j1', 'j2'"),
        (lambda: RobotDescription("two", (RobotLink("a"), RobotLink("b")), ()), "without a parent), it has 2: a, b"),
        (lambda: changed(j1={"lower": 1.0, "upper": -1.0}), "joint 'j1' has the limits 1 to -1"),
        (lambda: changed(j1={"axis": np.zeros(3)}), "joint 'j1' has the axis [0.0, 0.0, 0.0]"),
        (lambda: changed(j1={"mimic": Mimic("end")}), "joint 'j1' mimics 'end', which does not move; moving: j2"),
        (lambda: changed(j1={"mimic": Mimic("j2")}, j2={"mimic": Mimic("j1")}), "joint 'j1' mimics itself"),
        (lambda: changed(j1={"name": "j2"}), "two joints are called 'j2'"),
        (lambda: RobotDescription("empty", (), ()), "robot 'empty': it has no link"),
    ],
)
def test_a_robot_must_be_a_tree_of_known_parts(make, text):
    with pytest.raises(ValueError) as caught:
        make()
    assert text in str(caught.value)


def test_a_loop_is_found():
    links = tuple(map(RobotLink, ("root", "a", "b")))
    with pytest.raises(ValueError, match="its joints form a loop"):
        RobotDescription("ring", links, (joint("x", "a", "b"), joint("y", "b", "a")))


def test_fixed_joints_make_one_piece():
    assert mixed().rigid_groups()["l5"] == ["l5", "l6"]
    assert planar().rigid_groups() == {"base": ["base"], "l1": ["l1"], "l2": ["l2", "tip"]}


def test_limits_of_a_mimic_narrow_those_of_its_leader():
    k = Kinematics(mixed())
    # d = 0.2 - a/2 and e = 2 d - 0.1 = 0.3 - a, all within -3..3
    assert k.names == ["a", "b", "c", "g"]
    assert (k.lower[0], k.upper[0]) == pytest.approx((-2.7, 3.0))
    assert np.isinf(k.lower[2])
    robot = changed(j2={"mimic": Mimic("j1", -4.0), "velocity": 2.0})
    tight = Kinematics(robot)
    assert (tight.lower[0], tight.upper[0]) == pytest.approx((-0.75, 0.75))
    assert tight.velocity[0] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="the limits of 'j1' and of what mimics it do not overlap"):
        Kinematics(changed(j2={"mimic": Mimic("j1", 1.0, 10.0)}))


def test_unknown_names_are_told_with_the_known_ones():
    k = Kinematics(mixed())
    with pytest.raises(KeyError, match="has no free joint 'd'; it follows 'a'; joints: a, b, c, g"):
        k.index("d")
    with pytest.raises(KeyError, match="has no link 'hand'; links: base, l1"):
        k.link_index("hand")
