"""Robots under the operator's hand: end effectors, grippers, reach, state."""

from __future__ import annotations

import numpy as np
import pytest

from app.operator import Operator
from app.robots import press_share
from app.teleop import ToolLimits
from devices.contract import Command
from engine import Engine
from scenes import build_scene, load_config
from tests.app.fakes import FakeDevice
from tests.scenes.robot_files import ARM, TOOL, write_arm, write_scene

BALL = """  ball:
    type: body
    shape: {{type: box, size: [16 mm, {} mm, 16 mm]}}
    position: [0.43, 0, 0.05]
    density: 300 kg/m3
    gravity: false
    contact: {{friction_mu: 1}}
"""


def start(folder, lines: str = TOOL, more: str = "", text: str = ARM):
    write_arm(folder, text=text)
    scene = build_scene(load_config(str(write_scene(folder, lines, more))))
    engine, operator = Engine(scene.model, scene.options), Operator(FakeDevice())
    operator.settle(scene, engine)
    return scene, engine, operator


def push(operator, engine, steps: int, twist=(0.0,) * 6, gripper: float = 0.0, dt: float = 0.02):
    """Steps under one command; the last report."""
    command = Command(twist=np.array(twist, float), gripper_rate=gripper, engaged=True)
    for _ in range(steps):
        report = engine.step(operator.to_control(command, dt, engine))
    return report


def coordinates(scene, engine) -> np.ndarray:
    robot = scene.robots["r"]
    return robot.coordinates({name: engine.body_transform(name) for name in robot.bodies})[0]


def test_the_tool_goes_where_it_is_pushed_by_turning_the_joints(tmp_path):
    scene, engine, operator = start(tmp_path, f"joints: {{turn: -0.5, bend: 1.0}}\n{TOOL}")
    palm = scene.tools[0].palm
    assert palm == "r.fore" and scene.tools[0].pivot == pytest.approx((0.23, 0.0, 0.0))
    before = engine.body_transform(palm) @ [0.23, 0.0, 0.0, 1.0]
    push(operator, engine, 25, twist=(-0.1, 0.0, 0.0, 0.0, 0.0, 0.0))
    after = engine.body_transform(palm) @ [0.23, 0.0, 0.0, 1.0]
    # two joints cannot keep the heading too: the place counts more than a radian of 0.1 m
    assert after[0] - before[0] == pytest.approx(-0.05, abs=0.012)
    assert abs(after[1] - before[1]) < 0.02 and after[2] == pytest.approx(before[2])


def test_out_of_reach_is_told_and_the_target_waits_nearby(tmp_path):
    scene, engine, operator = start(tmp_path, TOOL)  # stretched along x already
    push(operator, engine, 40, twist=(0.3, 0.0, 0.0, 0.0, 0.0, 0.0))
    limited = operator.targets[0].limited
    assert "blocked" in limited and any(text.startswith("out of reach by") for text in limited)
    lead = operator.targets[0].transform[:3, 3] - engine.body_transform("r.fore")[:3, 3]
    assert np.linalg.norm(lead) <= ToolLimits().lead_distance + 1e-9
    assert np.abs(coordinates(scene, engine)[:2]).max() < 0.05


def test_joints_keep_their_speed(tmp_path):
    scene, engine, operator = start(tmp_path, f"joints: {{turn: -0.5, bend: 1.0}}\n{TOOL}")
    q = coordinates(scene, engine)
    for _ in range(10):
        push(operator, engine, 1, twist=(-1.0, 0.5, 0.0, 0.0, 0.0, 2.0))
        now = coordinates(scene, engine)
        assert (np.abs(now - q)[:2] <= 1.5 * 0.02 + 1e-9).all()
        q = now


def test_the_gripper_closes_its_mimicking_finger_too_and_opens(tmp_path):
    scene, engine, operator = start(tmp_path)
    push(operator, engine, 40, gripper=1.0)
    assert operator.closure == pytest.approx(0.8) and coordinates(scene, engine)[2] == pytest.approx(0.012, abs=1e-6)
    left, right = (engine.body_transform(f"r.{side}")[1, 3] for side in ("left", "right"))
    assert (left, right) == pytest.approx((0.008, -0.008), abs=1e-6)
    push(operator, engine, 40, gripper=-1.0)
    assert coordinates(scene, engine)[2] == pytest.approx(0.0, abs=1e-6)


def test_the_gripper_stops_when_contact_resists_with_its_effort(tmp_path):
    soft = TOOL.replace("position:", "effort: {slide: 2 N}, closing_time: 4 s, position:")
    gel = "gel: {type: box, size: [20 mm, 8 mm, 3 mm], cells: [4, 2, 2]}"
    pads = "sensors:\n"
    for side, sign in (("left", -1), ("right", 1)):
        place = f"position: [0, {sign * 4.5} mm, 0], rotation: [{-90 * sign} deg, 0, 0]"
        pads += f"  {side}_pad: {{link: {side}, {gel}, {place}}}\n"
    (tmp_path / "pads.yaml").write_text(pads)
    scene, engine, operator = start(tmp_path, f"sensors: pads.yaml\n{soft}", BALL.format(16))
    push(operator, engine, 120, gripper=1.0)
    q = coordinates(scene, engine)[2]
    assert q < 0.0145, "it went on to its closed end"
    load = abs(operator._robots[0].resistance(engine)[2])
    assert 2.0 * 0.5 < load < 2.0 * 1.4
    assert "gripping" in operator.targets[0].limited
    push(operator, engine, 20)
    assert coordinates(scene, engine)[2] == pytest.approx(q, abs=2e-4)  # a grasp comes to rest


def test_resistance_is_the_moment_of_what_pushes(tmp_path):
    """A wall pushes the forearm: J^T F from the forces that contact reports."""
    wall = BALL.format(16).replace("body", "static").replace("0.43, 0, 0.05", "0.3, 0.0235, 0.05")
    wall = wall.replace("    density: 300 kg/m3\n    gravity: false\n", "")
    scene, engine, operator = start(tmp_path, f"force_limits: {{fore: 5 N}}\n{TOOL}", wall)
    push(operator, engine, 3, twist=(0.0, 0.02, 0.0, 0.0, 0.0, 0.1))
    signals, x = engine.signals(), engine.positions()
    on = scene.model.meshes["r.fore"].points
    force = (signals.contact_force[0] + signals.friction_force[0])[on]
    assert np.linalg.norm(force.sum(axis=0)) > 0.1
    elbow = engine.body_transform("r.fore")[:3, 3]
    expected = [np.cross(x[on] - origin, force).sum(axis=0)[2] for origin in (np.array([0.0, 0.0, 0.05]), elbow)]
    np.testing.assert_allclose(operator._robots[0].resistance(engine)[:2], expected, rtol=0.05)


def test_targets_come_back_with_a_state(tmp_path):
    scene, engine, operator = start(tmp_path, f"joints: {{turn: -0.5, bend: 1.0}}\n{TOOL}")
    push(operator, engine, 10, twist=(-0.1, 0.05, 0.0, 0.0, 0.0, 0.0), gripper=0.5)
    state, q = engine.get_state(), operator._robots[0].q.copy()
    push(operator, engine, 10, twist=(0.1, 0.05, 0.0, 0.0, 0.0, 0.0), gripper=-1.0)
    engine.set_state(state)
    operator.settle(scene, engine)
    np.testing.assert_allclose(operator._robots[0].q, q, atol=1e-12)
    assert operator.closure == pytest.approx(0.1, abs=1e-9)


def test_a_hand_without_an_arm_moves_as_a_whole(tmp_path):
    lines = "base: moved\nend_effectors: {hand: {link: base, open: {slide: 0}, closed: {slide: 15 mm}}}"
    scene, engine, operator = start(tmp_path, lines)
    before = {name: engine.body_transform(name) for name in scene.robots["r"].bodies}
    push(operator, engine, 10, twist=(0.0, 0.0, 0.1, 0.0, 0.0, 1.0))
    turn = engine.body_transform("r.base") @ np.linalg.inv(before["r.base"])
    assert turn[2, 3] == pytest.approx(0.02, abs=1e-9) and turn[1, 0] == pytest.approx(np.sin(0.2), abs=1e-9)
    for name, pose in before.items():
        np.testing.assert_allclose(engine.body_transform(name), turn @ pose, atol=1e-7)


def test_a_joint_slows_down_stops_and_gives_way_by_its_load():
    np.testing.assert_allclose(press_share([-1.0, 0.0, 0.5, 0.7, 0.9, 1.2, 1.3, 1.4, 9.0]),
                               [1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0, -0.25, -0.5])  # fmt: skip
