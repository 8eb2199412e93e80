"""Forward kinematics against formulas and against finite differences of itself."""

from __future__ import annotations

import numpy as np
import pytest

from engine.robots.kinematics import Kinematics
from tests.engine.robots.chains import mixed, planar


def test_a_planar_arm_is_where_trigonometry_puts_it():
    k = Kinematics(planar((0.3, 0.2)))
    a, b = 0.4, -1.1
    tip = k.forward(np.array([a, b]))[k.link_index("tip")]
    place = [0.3 * np.cos(a) + 0.2 * np.cos(a + b), 0.3 * np.sin(a) + 0.2 * np.sin(a + b), 0.0]
    assert tip[:3, 3] == pytest.approx(place)
    assert tip[:2, 0] == pytest.approx([np.cos(a + b), np.sin(a + b)])


def test_mimicking_joints_follow_through_a_chain():
    k = Kinematics(mixed())
    a = 0.7
    values = dict(zip([j.name for j in mixed().ordered_joints() if j.kind != "fixed"], k.joint_values(
        k.vector({"a": a, "g": 0.3})), strict=True))  # fmt: skip
    assert values["d"] == pytest.approx(0.2 - 0.5 * a)
    assert values["e"] == pytest.approx(2.0 * (0.2 - 0.5 * a) - 0.1)
    assert values["g"] == 0.3


def test_many_configurations_at_once_equal_one_by_one():
    rng = np.random.default_rng(1)
    k = Kinematics(mixed())
    q = rng.uniform(-0.1, 0.3, (3, 2, k.size))
    together = k.forward(q)
    assert together.shape == (3, 2, 8, 4, 4)
    np.testing.assert_allclose(together[2, 1], k.forward(q[2, 1]), atol=1e-15)


@pytest.mark.parametrize("link", ["l1", "l3", "l6", "tip"])
def test_jacobian_is_the_derivative_of_a_carried_point(link):
    rng = np.random.default_rng(1)
    k = Kinematics(mixed())
    q, h = rng.uniform(-0.1, 0.3, k.size), 1e-6
    poses = k.forward(q)
    carried = poses[k.link_index(link)]
    local = np.array([0.03, -0.02, 0.05, 1.0])
    jacobian = k.jacobian(poses, link, (carried @ local)[:3])
    assert np.abs(jacobian).max() > 0.01
    for i in range(k.size):
        step = np.zeros(k.size)
        step[i] = h
        ahead, behind = (k.forward(q + s)[k.link_index(link)] for s in (step, -step))
        np.testing.assert_allclose((ahead @ local - behind @ local)[:3] / (2 * h), jacobian[:3, i], atol=1e-8)
        spin = (ahead[:3, :3] - behind[:3, :3]) / (2 * h) @ carried[:3, :3].T
        np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], jacobian[3:, i], atol=1e-8)


def test_coordinates_are_read_back_from_poses():
    rng = np.random.default_rng(1)
    k = Kinematics(mixed())
    for _ in range(5):
        q = rng.uniform(np.maximum(k.lower, -9.0), np.minimum(k.upper, 9.0))  # `c` turns without limit
        np.testing.assert_allclose(k.coordinates(k.forward(q), near=q + 0.5), q, atol=1e-12)
