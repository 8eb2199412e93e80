"""A recorded hand moves the fingers of a robot hand through the operator's own path, to the targets of its links."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from app.hand_following import HandFollowing, fingertip, hand_map
from app.robots import RobotDriver
from devices import hand_geometry as hg
from engine.robots.kinematics import Kinematics
from scenes.robot import Robot, RobotTool
from scenes.urdf import read_urdf
from tests.devices.test_hands import openxr_stream

ROOT = Path(__file__).resolve().parents[2]
DT = 1.0 / 30.0


class Stage:
    """The hand that ships, its links where they are told to be, nothing touches."""

    def __init__(self, name: str = "hand.urdf"):
        kinematics = Kinematics(read_urdf(ROOT / "assets" / "robots" / name).robot)
        fingers = np.array([i for i, n in enumerate(kinematics.names) if n.endswith(("flex", "curl"))], int)
        start = kinematics.vector({})
        tool = RobotTool(
            "palm", kinematics.links[0], np.eye(4), kinematics.links[0], np.zeros(0, int), True, fingers,
            start[fingers], np.full(len(fingers), 0.5), effort=np.ones(len(fingers)), closing_time=1.0,
        )  # fmt: skip
        bodies = {link: link for link in kinematics.links}
        self.robot = Robot("hand", kinematics, np.eye(4), start, bodies, (tool,), 0.5, {})
        post = np.array([[x, y, z] for x in (-0.01, 0.01) for y in (-0.01, 0.01) for z in (0.0, 0.024)])
        self.model = SimpleNamespace(meshes={link: SimpleNamespace(rest=post) for link in kinematics.links})
        self.driver = RobotDriver(self.robot, [(0, tool)], list(bodies))
        self.driver.resistance = lambda engine: np.zeros(kinematics.size)
        self.control = SimpleNamespace(body_transform=np.zeros((1, len(bodies), 4, 4)))
        self.rows = {body: i for i, body in enumerate(bodies)}
        self.driver.write(self.control)

    def body_transform(self, body):
        return self.control.body_transform[0, self.rows[body]]

    def step(self, hands: dict, following: HandFollowing) -> None:
        asked = following.follow(self.driver, hands, self)
        self.driver.command([self.body_transform(self.robot.kinematics.links[0])], [0.0], DT, self, asked)
        self.driver.write(self.control)

    def tips(self, fit) -> np.ndarray:
        ends = zip(fit.links, fit.points, strict=True)
        return np.array([(self.body_transform(link) @ [*point, 1.0])[:3] for link, point in ends])


def test_a_recorded_stream_moves_the_links_and_keeps_the_pinch():
    """The stream of an OpenXR runtime at half of its speed (joints turn at 3 rad/s at most); targets of the links as
    the engine gets them."""
    stage, following = Stage(), HandFollowing()
    fit = hand_map(stage.robot, stage.model, "right")
    np.testing.assert_allclose(fit.points, [[0, 0, 0.024]] * 5, atol=1e-9)
    frames, worst, moved = list(openxr_stream())[::3], [], []
    for _ in range(40):  # from where the robot starts to where the hand is
        stage.step({0: (frames[0][1], True, "right")}, following)
    for _, joints in frames:
        for _ in range(4):
            stage.step({0: (joints, True, "right")}, following)
        tips = stage.tips(fit)
        worst.append(abs(np.linalg.norm(tips[1] - tips[0]) - hg.pinch_distance(hg.landmarks_of(joints))))
        moved.append(stage.driver.q.copy())
    assert np.median(worst) < 0.002 and np.mean(np.array(worst) < 0.005) > 0.9
    assert np.sum(np.ptp(moved, axis=0) > 0.3) >= 4


def test_joints_never_move_faster_than_they_can():
    stage, following = Stage(), HandFollowing()
    before = stage.driver.q.copy()
    for _, joints in list(openxr_stream())[::10]:
        stage.step({0: (joints, True, "right")}, following)
        assert np.abs(stage.driver.q - before).max() <= 3.0 * DT + 1e-9
        before = stage.driver.q.copy()


def test_a_hand_that_does_not_drive_leaves_the_fingers_where_they_are():
    stage, following = Stage(), HandFollowing()
    frames = [joints for _, joints in openxr_stream()]
    for joints in frames[:20]:
        stage.step({0: (joints, True, "right")}, following)
    for _ in range(30):
        stage.step({0: (frames[19], True, "right")}, following)
    held = stage.driver.q.copy()
    for joints in frames[20:]:
        stage.step({0: (joints, False, "right")}, following)  # the clutch is out, or the hand out of sight
    np.testing.assert_allclose(stage.driver.q, held, atol=1e-9)
    stage.step({0: (frames[-1], True, "right")}, following)
    assert np.abs(stage.driver.q - held).max() <= 3.0 * DT + 1e-9, "no jump when it drives again"
    following.forget()
    assert following.follow(stage.driver, {}, stage) == {}


def test_a_gripper_is_no_hand():
    stage = Stage("parallel_gripper.urdf") if (ROOT / "assets/robots/parallel_gripper.urdf").exists() else None
    if stage is None:
        pytest.skip("no gripper ships")
    assert hand_map(stage.robot, stage.model, "right") is None
    assert HandFollowing().follow(stage.driver, {0: (np.zeros((21, 3)), True, "right")}, stage) == {}


def test_the_fingertip_is_the_far_end_of_a_link():
    box = np.array([[x, y, z] for x in (-0.01, 0.01) for y in (0.0, 0.04) for z in (-0.005, 0.005)])
    np.testing.assert_allclose(fingertip(box), [0, 0.04, 0], atol=1e-12)
    np.testing.assert_array_equal(fingertip(np.array([[1.0, 0, 0], [-1, 0, 0]])), np.zeros(3))
