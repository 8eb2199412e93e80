"""Devices in their roles: two hands, a camera, pedals; profiles by device; a test that moves nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from app.operator import Operator
from app.profiles import device_key, profile_of
from app.scripted import open_input
from app.seats import ROLES, Seat, other_tool, parse_inputs
from devices.contract import Health, Kind, Sample, Status
from devices.mapping_settings import MappingSettings
from tests.app.fakes import FakeDevice, make_loop

DT = 1.0 / 30.0


class Strings(FakeDevice):
    """Also holds buttons and hands, and has a name."""

    def __init__(self, twist=(0.0,) * 6, name="strings", **fields):
        super().__init__(twist)
        self.name, self.fields, self.sequence, self.held = name, fields, 0, frozenset()

    def poll(self, now):
        self.sequence += 1
        sample = replace(super().poll(now), buttons=self.held, sequence=self.sequence)
        return replace(sample, **{k: v() if callable(v) else v for k, v in self.fields.items()})


class TwoArms:
    """A scene with two driven palms, and an engine whose palms are where they were told to be."""

    def __init__(self, names=("right_hand", "left_hand")):
        self.tools = [
            SimpleNamespace(name=n, palm=f"palm{i}", fingers=(), open_position=0.0, closed_position=0.0, home=np.eye(4))
            for i, n in enumerate(names)
        ]
        bodies = {tool.palm: SimpleNamespace(driven=True) for tool in self.tools}
        self.model = SimpleNamespace(bodies=bodies, joints={})
        self.robots = {}
        self.transforms = np.tile(np.eye(4), (1, len(names), 1, 1))

    def control(self):
        return SimpleNamespace(body_transform=self.transforms.copy(), joint_target=np.zeros((1, 0)))

    def body_transform(self, palm):
        return self.transforms[0, int(palm[4:])]


def step(operator: Operator, scene: TwoArms, now: float) -> tuple:
    sample, status = operator.poll(now, now)
    command = operator.to_command(sample, status, now, DT, DT, None, scene)
    scene.transforms = operator.to_control(command, DT, scene).body_transform
    return sample, status, command


def places(scene) -> np.ndarray:
    return scene.transforms[0, :, :3, 3].copy()


def test_roles_on_the_command_line():
    assert parse_inputs("spacemouse:123") == {"right": "spacemouse:123"}
    assert parse_inputs("right=xr,left=xr:left,pedal=gamepad:A=B") == {
        "right": "xr", "left": "xr:left", "pedal": "gamepad:A=B",
    }  # fmt: skip
    assert parse_inputs("scripted:a=b.yaml") == {"right": "scripted:a=b.yaml"}
    for text, wrong in (
        ("foot=gamepad", "unknown role 'foot'; legal: right, left, camera, pedal"),
        ("right=xr,gamepad", "'gamepad'; legal: ROLE=DEVICE"),
        ("right=xr,right=gamepad", "right is given twice"),
        ("left=xr", "nobody drives the tool in use"),
    ):
        with pytest.raises(ValueError, match=wrong):
            parse_inputs(text)
    with pytest.raises(ValueError, match="role 'foot'; legal: right"):
        Seat("foot", Strings())
    assert set(ROLES) == {"right", "left", "camera", "pedal"}


def test_two_hands_drive_two_tools_at_once():
    scene = TwoArms()
    operator = Operator(Strings((1, 0, 0, 0, 0, 0)), others={"left": Strings((0, 1, 0, 0, 0, 0))})
    operator.settle(scene, scene)
    for k in range(10):
        step(operator, scene, 1.0 + k * DT)
    way = 10 * DT * 0.15
    np.testing.assert_allclose(places(scene), [[way, 0, 0], [0, way, 0]], atol=1e-12)
    # the next tool for the right hand: the left one gives way to it
    operator.device.pressed = ["next_tool"]
    before = places(scene)
    step(operator, scene, 2.0)
    moved = places(scene) - before
    np.testing.assert_allclose(moved[1], [way / 10, 0, 0], atol=1e-12)
    assert [other_tool(scene.tools, active) for active in (0, 1)] == [1, 0] and other_tool(scene.tools[:1], 0) is None


def test_two_scripts_drive_two_tools_at_simulated_time(tmp_path):
    places_asked = {"right": [1, 0, 0, 0, 0, 0], "left": [0, 0, 1, 0, 0, 0]}
    scripts = {}
    for role, twist in places_asked.items():
        (tmp_path / f"{role}.yaml").write_text(f"segments:\n  - {{for: 1.0, twist: {twist}}}\n")
        scripts[role] = open_input(f"scripted:{tmp_path / role}.yaml")
    scene = TwoArms()
    operator = Operator(scripts["right"], others={"left": scripts["left"]})
    operator.settle(scene, scene)
    for k in range(10):
        step(operator, scene, k * DT)
    moved = places(scene)
    assert moved[0, 0] == pytest.approx(moved[1, 2]) and moved[0, 0] > 0.5 * 10 * DT * 0.15
    assert np.count_nonzero(np.abs(moved) > 1e-9) == 2


def test_each_hand_has_its_own_clutch_gain_and_grip():
    scene = TwoArms()
    right, left = Strings((1, 0, 0, 0, 0, 0)), Strings((1, 0, 0, 0, 0, 0))
    operator = Operator(right, others={"left": left})
    operator.settle(scene, scene)
    left.held, right.pressed = frozenset({"clutch"}), ["gain_down"]
    left.pressed = ["grip_toggle"]
    sample, _, _ = step(operator, scene, 1.0)
    np.testing.assert_allclose(places(scene)[:, 0], [0.5 * 0.15 * DT, 0.0], atol=1e-12)
    assert "grip_toggle" not in sample.pressed, "it closes the left hand's own tool"
    closures = [state.closure for state in operator.teleop.tools]
    assert closures[0] == 0.0 and closures[1] > 0.0
    assert operator.seats["left"].mapping.gain_index == 3
    assert sample.raw["others"]["left"]["pressed"] == ["grip_toggle"]


def test_pedals_hold_the_clutch_and_press_verbs_for_both_hands():
    scene = TwoArms()
    pedal = Strings()
    operator = Operator(Strings((1, 0, 0, 0, 0, 0)), others={"left": Strings((1, 0, 0, 0, 0, 0)), "pedal": pedal})
    operator.settle(scene, scene)
    pedal.held, pedal.pressed = frozenset({"clutch"}), ["record"]
    sample, _, command = step(operator, scene, 1.0)
    assert not command.engaged and "record" in sample.pressed and not places(scene).any()
    pedal.held = frozenset()
    step(operator, scene, 1.1)
    assert places(scene)[0, 0] > 0.0 and places(scene)[1, 0] > 0.0


def test_held_keys_count_beside_another_device():
    scene = TwoArms(("gripper",))
    keys = Strings(name="keyboard")
    operator = Operator(Strings((1, 0, 0, 0, 0, 0)), keyboard=keys)
    operator.settle(scene, scene)
    keys.held = frozenset({"clutch", "pause"})
    sample, _, command = step(operator, scene, 1.0)
    assert not command.engaged and sample.buttons == {"clutch"}
    keys.held = frozenset({"press"})
    _, _, command = step(operator, scene, 1.1)
    assert command.twist[2] == pytest.approx(-0.02)


def test_a_device_for_the_view_moves_the_view_alone():
    scene = TwoArms(("gripper",))
    operator = Operator(Strings(), others={"camera": Strings((0, 0, 1, 0, 0, 0))})
    operator.settle(scene, scene)
    step(operator, scene, 1.0)
    assert operator.camera_twist[2] == pytest.approx(0.15) and not places(scene).any()


def test_any_device_that_is_lost_stops_both_and_is_named():
    scene = TwoArms()
    left = Strings()
    loop = make_loop(Strings((1, 0, 0, 0, 0, 0)))
    loop.operator.seats["left"] = Seat("left", left)
    left.health = Status(Health.LOST, "it went away. Plug it in again.")
    loop.frame_once()
    assert loop.paused and loop.paused_reason == "left, strings: it went away. Plug it in again."
    left.health = Status(Health.OK)
    loop.frame_once()
    assert not loop.paused and scene.tools


def test_profiles_are_kept_by_device():
    a, b = Strings(name="a"), Strings(name="b")
    operator = Operator(a, profile={"gain_index": 1, "frame": "tool", "axis_lock": "fly"})  # a table of before
    m = operator.mapping
    assert (m.gain_index, m.frame, m.axis_lock) == (1, "tool", "none")
    operator.seats["right"].change(axes=("-x", "y", "z", "rx", "ry", "rz"), deadband=0.2)
    operator.use(b)
    assert operator.settings.deadband == 0.0 and operator.settings.axes[0] == "x"
    table = operator.profile()
    assert table["a"]["mapping"] == {"axes": ["-x", "y", "z", "rx", "ry", "rz"], "deadband": 0.2}
    assert table["b"]["mapping"] == {} and table["a"]["frame"] == "tool"
    again = Operator(a, profile=table)
    assert again.settings.axes[0] == "-x" and again.settings.deadband == 0.2
    spoilt = {"a": {"mapping": {"axes": ["q"] * 6, "deadband": 7, "stale_after": 9, "expo": 0.7}, "gain_index": 99}}
    kept = Operator(a, profile=spoilt)
    assert kept.settings.axes == MappingSettings().axes and kept.settings.expo == 0.7
    assert kept.settings.stale_after == 0.5 and kept.mapping.gain_index == 3
    assert device_key({"name": "xr", "side": "left", "product": "Monado"}) == "xr/left"
    assert profile_of({"x": {"frame": "tool"}}, "y") == {}


def test_a_change_of_settings_waits_for_rest():
    scene = TwoArms(("gripper",))
    device = Strings((1, 0, 0, 0, 0, 0))
    operator = Operator(device)
    operator.settle(scene, scene)
    step(operator, scene, 1.0)
    before = places(scene)
    operator.seats["right"].change(axes=("y", "x", "z", "rx", "ry", "rz"))
    step(operator, scene, 1.1)
    assert not (places(scene) - before).any() and "let go" in operator.mapping.reason
    with pytest.raises(ValueError, match="MappingSettings.deadband = 3"):
        operator.seats["right"].change(deadband=3)


def test_testing_shows_everything_and_moves_nothing():
    scene = TwoArms(("gripper",))
    device = Strings((1, 0, 0, 0, 0, 0))
    operator = Operator(device)
    operator.settle(scene, scene)
    operator.seats["right"].testing = True
    device.pressed = ["record", "grip_toggle"]
    sample, _, command = step(operator, scene, 1.0)
    assert not command.engaged and sample.pressed == () and not places(scene).any()
    seat = operator.seats["right"]
    assert seat.tested == ("record", "grip_toggle") and seat.command.twist[0] == pytest.approx(0.15)
    operator.press("record")  # a button of the window still counts
    assert step(operator, scene, 1.1)[0].pressed == ("record",)


def test_rate_of_readings():
    seat = Seat("right", Strings())
    for k in range(100):
        seat.poll(0.02 * k)
    assert seat.rate == pytest.approx(50.0, rel=0.05)


def test_a_hand_hands_its_joints_to_the_tool_in_use():
    scene = TwoArms()
    joints = np.arange(63.0).reshape(21, 3)
    pose = np.array([0, 0, 0, 0, 0, 0, 1.0])
    hand = Strings(kind=Kind.JOINTS, joints=lambda: joints, pose=pose)
    operator = Operator(hand)
    operator.settle(scene, scene)
    step(operator, scene, 1.0)
    number, (seen, engaged, side) = next(iter(operator._hands_seen().items()))
    assert number == 0 and seen is joints and engaged and side == "right"
    hand.held = frozenset({"clutch"})
    step(operator, scene, 1.1)
    assert operator._hands_seen()[0][1] is False
    assert Sample().joints is None
