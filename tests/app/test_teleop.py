from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from app.teleop import (
    FORCE_LIMITS,
    SURFACE_FORCE,
    SURFACE_SPEED,
    ToolLimits,
    closure_from_fingers,
    drive_tools,
    finger_targets,
    start_teleop,
    start_tool,
    to_control,
)
from devices.contract import Command, Health, Sample, Status
from devices.mapping import MappingSettings, start_mapping, to_command
from devices.rotations import matrix_from_quat, quat_from_vector, vector_from_quat

DT = 1.0 / 30.0
WIDE = ToolLimits(linear_speed=10.0, angular_speed=100.0, lead_distance=100.0, lead_angle=3.0)
TOOL = SimpleNamespace(fingers=["left", "right"], open_position=0.04, closed_position=0.002, home=np.eye(4))


def placed(position, turn=(0.0, 0.0, 0.0)) -> np.ndarray:
    transform = np.eye(4)
    transform[:3, 3] = position
    transform[:3, :3] = matrix_from_quat(quat_from_vector(np.array(turn, dtype=float)))
    return transform


def move(*twist, **fields) -> Command:
    return Command(twist=np.array([*twist, *[0.0] * (6 - len(twist))]), **fields)


def drive(command, state, steps=1, limits=WIDE, reached=None, dt=DT):
    target = None
    for _ in range(steps):
        state, target = to_control(command, state, dt, tool=TOOL, limits=limits, reached=reached)
    return state, target


def test_integrates_the_twist_about_world_axes():
    start = placed([0.1, 0.2, 0.3], [0, 0, np.pi / 2])
    state, target = drive(move(0.3, -0.6, 0.9, 0.5, 0, 0), start_tool(start), steps=30)
    np.testing.assert_allclose(target.transform[:3, 3], [0.4, -0.4, 1.2], atol=1e-12)
    # a turn about world x applied after the start's turn about z
    np.testing.assert_allclose(
        target.transform[:3, :3], placed([0] * 3, [0.5, 0, 0])[:3, :3] @ start[:3, :3], atol=1e-12
    )
    assert target.transform.shape == (4, 4) and target.limited == ()
    np.testing.assert_allclose(target.transform[3], [0, 0, 0, 1])
    assert np.linalg.norm(state.quaternion) == pytest.approx(1.0, abs=1e-14)


def test_starts_exactly_where_the_tool_is():
    start = placed([0.1, -0.4, 0.3], [1.0, -2.0, 0.4])
    _, target = drive(move(), start_tool(start))
    np.testing.assert_allclose(target.transform, start, atol=1e-14)
    with pytest.raises(ValueError, match=r"transform has shape \(3, 3\); legal: \(4, 4\)"):
        start_tool(np.eye(3))


def test_pure_rotation_leaves_the_pivot_in_place():
    limits = ToolLimits(linear_speed=10, angular_speed=100, pivot=(0.0, 0.02, -0.15))
    start = placed([0.1, 0.2, 0.3], [0.2, 0, 0])
    _, target = drive(move(0, 0, 0, 0.3, 1.0, -0.4), start_tool(start), steps=40, limits=limits)
    pivot = np.array([0.0, 0.02, -0.15, 1.0])
    np.testing.assert_allclose(target.transform @ pivot, start @ pivot, atol=1e-12)
    assert np.linalg.norm(target.transform[:3, 3] - start[:3, 3]) > 0.05


def test_speed_limits():
    limits = ToolLimits(linear_speed=0.5, angular_speed=2.0)
    state, target = drive(move(3, 4, 0, 0, 0, -10), start_tool(np.eye(4)), limits=limits)
    np.testing.assert_allclose(state.position, np.array([0.3, 0.4, 0]) * DT)
    np.testing.assert_allclose(vector_from_quat(state.quaternion), [0, 0, -2.0 * DT])
    assert target.limited == ("speed",)


def test_reach_box():
    limits = ToolLimits(reach_lower=(-0.1, -0.1, 0.05), reach_upper=(0.1, 0.1, 0.5), lead_distance=9)
    state, target = drive(move(0.5, 0.3, -0.9), start_tool(placed([0, 0, 0.2])), steps=30, limits=limits)
    np.testing.assert_allclose(state.position, [0.1, 0.1, 0.05])
    assert "reach" in target.limited
    state, target = drive(move(-0.3, 0, 0), state, limits=limits)  # it slides along the walls and leaves at once
    np.testing.assert_allclose(state.position, [0.09, 0.1, 0.05])
    assert target.limited == ()
    # a target that is outside is not thrown inside, cannot go further out, and may come back
    outside = start_tool(placed([0.3, 0, 0.2]))
    assert drive(move(), outside, limits=limits)[0].position[0] == 0.3
    assert drive(move(0.3, 0, 0), outside, limits=limits)[0].position[0] == 0.3
    assert drive(move(-0.3, 0, 0), outside, limits=limits)[0].position[0] == pytest.approx(0.29)


def test_blocked_ghost_does_not_run_away():
    limits = ToolLimits(lead_distance=0.05, lead_angle=0.4)
    reached = placed([0, 0, 0.2])
    state, target = drive(move(0.3, 0, 0, 0, 2.0, 0), start_tool(reached), steps=300, limits=limits, reached=reached)
    np.testing.assert_allclose(state.position, [0.05, 0, 0.2], atol=1e-12)
    np.testing.assert_allclose(vector_from_quat(state.quaternion), [0, 0.4, 0], atol=1e-12)
    assert target.limited == ("blocked",)
    state, target = drive(move(-0.3, 0, 0, 0, -2.0, 0), state, limits=limits, reached=reached)  # answers at once
    np.testing.assert_allclose(state.position, [0.04, 0, 0.2], atol=1e-12)
    np.testing.assert_allclose(vector_from_quat(state.quaternion), [0, 0.4 - 2.0 * DT, 0], atol=1e-12)
    assert target.limited == ()


def test_ghost_slides_along_what_blocks_it():
    reached = placed([0, 0, 0])
    state = start_tool(placed([0.05, 0, 0]))
    state, _ = drive(move(0, 0.3, 0), state, limits=ToolLimits(lead_distance=0.05), reached=reached)
    assert np.linalg.norm(state.position) <= 0.05 + 1e-12 and state.position[1] > 0.009
    _, target = drive(move(0.3, 0, 0), state, limits=ToolLimits(lead_distance=0.05), reached=reached)
    assert target.limited == ("blocked",)  # by distance alone


def test_a_tool_that_is_pushed_away_does_not_drag_its_target():
    limits = ToolLimits(lead_distance=0.05)
    pushed = placed([-0.2, 0, 0], [0, 0, 1.0])
    start = start_tool(np.eye(4))
    for command in (move(), move(0.3, 0, 0)):
        state, _ = drive(command, start, limits=limits, reached=pushed)
        np.testing.assert_allclose(state.position, np.zeros(3), atol=1e-12)
    state, _ = drive(move(-0.3, 0, 0), start, limits=limits, reached=pushed)
    np.testing.assert_allclose(state.position, [-0.01, 0, 0], atol=1e-12)


def test_affine_reached_pose_is_read_as_its_nearest_rotation():
    reached = placed([0, 0, 0], [0.3, 0, 0])
    reached[:3, :3] = reached[:3, :3] @ np.diag([1.001, 0.999, 1.0])
    limits = ToolLimits(lead_angle=0.2)
    state, _ = drive(move(0, 0, 0, 1, 0, 0), start_tool(reached), steps=60, limits=limits, reached=reached)
    np.testing.assert_allclose(vector_from_quat(state.quaternion), [0.5, 0, 0], atol=1e-9)


def test_nothing_moves_while_not_engaged():
    start = start_tool(placed([0.1, 0, 0]))
    state, target = drive(move(1, 1, 1, 1, 1, 1, engaged=False, gripper_rate=1.0, gripper_target=1.0), start)
    np.testing.assert_array_equal(state.position, start.position)
    np.testing.assert_array_equal(state.quaternion, start.quaternion)
    assert state.closure == 0.0
    np.testing.assert_allclose(target.fingers, [0.04, 0.04])


def test_gripper_rate_toggle_and_target():
    limits = ToolLimits(gripper_speed=2.0)
    start = start_tool(np.eye(4))
    state, target = drive(move(gripper_rate=1.0), start, steps=15, limits=limits)
    assert state.closure == pytest.approx(0.5)
    np.testing.assert_allclose(target.fingers, [0.021, 0.021])
    assert closure_from_fingers(TOOL, target.fingers) == pytest.approx(0.5)
    # a toggle closes at the limit, goes on without being asked again, and ends exactly closed
    state, _ = drive(move(verbs=("grip_toggle",)), start, limits=limits)
    assert state.closure == pytest.approx(2.0 * DT)
    state, target = drive(move(), state, steps=20, limits=limits)
    assert state.closure == 1.0
    np.testing.assert_allclose(target.fingers, [0.002, 0.002])
    state, _ = drive(move(verbs=("grip_toggle",), engaged=False), state, limits=limits)  # with the clutch out too
    state, _ = drive(move(engaged=False), state, steps=20, limits=limits)
    assert state.closure == 0.0
    # two taps within one slow step are none; a rate takes over from a toggle
    state, _ = drive(move(verbs=("grip_toggle", "grip_toggle")), start, limits=limits)
    assert state.closure == 0.0
    state, _ = drive(move(verbs=("grip_toggle",)), start, limits=limits)
    state, _ = drive(move(gripper_rate=-1.0), state, limits=limits)
    state, _ = drive(move(), state, steps=20, limits=limits)
    assert state.closure == pytest.approx(DT)
    state, _ = drive(move(gripper_target=0.25), start, steps=20, limits=limits)
    assert state.closure == pytest.approx(0.25)
    assert drive(move(gripper_rate=9.0), start, limits=limits)[0].closure == pytest.approx(2.0 * DT)


def test_toggle_goes_to_the_farther_end():
    for closure, end in ((0.49, 1.0), (0.51, 0.0)):
        state, _ = drive(move(verbs=("grip_toggle",)), start_tool(np.eye(4), closure))
        state, _ = drive(move(), state, steps=30)
        assert state.closure == end


def test_tools_take_turns_in_order():
    tools, limits = [TOOL] * 3, [WIDE] * 3
    state, order = start_teleop(tools), []
    for _ in range(3):
        state, _ = drive_tools(move(verbs=("next_tool",)), state, DT, tools=tools, limits=limits)
        order.append(state.active)
    assert order == [1, 2, 0]


def test_fingers_of_different_range():
    tool = SimpleNamespace(fingers=["a", "b"], open_position=[0.0, 0.0], closed_position=[0.03, -0.03])
    np.testing.assert_allclose(finger_targets(tool, 0.5), [0.015, -0.015])
    assert closure_from_fingers(tool, [0.03, -0.03]) == 1.0


def test_a_tool_without_fingers():
    tool = SimpleNamespace(fingers=(), open_position=0.0, closed_position=0.0)
    assert finger_targets(tool, 0.5).shape == (0,) and closure_from_fingers(tool, []) == 0.0
    _, target = to_control(move(0.3, verbs=("grip_toggle",)), start_tool(np.eye(4)), DT, tool=tool, limits=WIDE)
    assert target.fingers.shape == (0,) and target.transform[0, 3] == pytest.approx(0.01)


def test_two_tools_switch_without_a_jump():
    """Trap 22: each tool keeps its own target and grip; a toggle goes to the tool driven when it was pressed."""
    tools = [TOOL, SimpleNamespace(**{**vars(TOOL), "home": placed([1.0, 0, 0], [0, 0, 1.0])})]
    limits = [WIDE, WIDE]
    state = start_teleop(tools)
    state, _ = drive_tools(move(0.3, 0, 0, verbs=("grip_toggle",)), state, DT, tools=tools, limits=limits)
    before = [tool.position.copy() for tool in state.tools]
    switch = move(verbs=("next_tool",))
    state, targets = drive_tools(switch, state, DT, tools=tools, limits=limits, reached=[np.eye(4), tools[1].home])
    assert state.active == 1
    np.testing.assert_allclose(targets[0].transform[:3, 3], before[0])
    np.testing.assert_allclose(targets[1].transform, tools[1].home, atol=1e-14)
    state, targets = drive_tools(move(0, 0.3, 0), state, DT, tools=tools, limits=limits)
    np.testing.assert_allclose(targets[1].transform[:3, 3], [1.0, 0.01, 0], atol=1e-12)
    np.testing.assert_allclose(targets[0].transform[:3, 3], before[0])
    for _ in range(30):  # the grip that was under way on the first tool ends closed, the second stays open
        state, targets = drive_tools(move(), state, DT, tools=tools, limits=limits)
    assert (state.tools[0].closure, state.tools[1].closure) == (1.0, 0.0)
    both = move(0.3, 0, 0, verbs=("grip_toggle", "next_tool", "next_tool", "next_tool"))
    state, _ = drive_tools(both, state, DT, tools=tools, limits=limits)
    assert state.active == 0 and state.tools[1].closure > 0 and state.tools[0].closure == 1.0
    with pytest.raises(ValueError, match="has no tool; legal: one or more"):
        start_teleop([])


def test_unplug_holds_the_target_through_the_whole_chain():
    """Trap 18: the target stays where it was while the device is away, and when it comes back."""
    settings = MappingSettings(rest_time=0.05)
    mapping, tool = start_mapping(settings), start_tool(placed([0, 0, 0.2]))
    push = Sample(twist=np.array([1.0, 0, 0, 0, 0, 0]))
    ok, lost = Status(Health.OK), Status(Health.LOST, "gone")
    track = []
    for frame in range(90):
        status = lost if 30 <= frame < 60 else ok
        command, mapping = to_command(push, status, settings, mapping, now=0.0, dt=DT)
        tool, _ = to_control(command, tool, DT, tool=TOOL, limits=WIDE)
        track.append(tool.position[0])
    assert track[29] == pytest.approx(0.15)
    assert track[-1] == track[29]  # pushed all along: it waits to be let go


@pytest.mark.parametrize("command", [move(np.nan), move(0, 0, 0, np.inf), move(gripper_rate=np.nan)])
def test_a_command_that_is_not_finite_is_refused(command):
    with pytest.raises(ValueError, match="command twist .* legal: finite"):
        drive(command, start_tool(np.eye(4)))


def test_limits_are_checked():
    with pytest.raises(ValueError, match=r"ToolLimits.linear_speed = 0.0; legal: above 0"):
        ToolLimits(linear_speed=0.0)
    with pytest.raises(ValueError, match=r"ToolLimits.reach_lower = \(1, 0, 0\); legal: not above reach_upper"):
        ToolLimits(reach_lower=(1, 0, 0), reach_upper=(0, 1, 1))


# helps that feel: forces are those of the drive on the tool, so pushing down on a table it points down


def test_to_surface_comes_at_a_constant_speed_and_settles_at_its_force():
    """A table at 1 cm below, felt through a drive of 8 kN/m; pushed sideways and up meanwhile. `up` does not count."""
    state, table, stiffness = start_tool(placed([0.0, 0.0, 0.05])), 0.04, 8e3
    state, _ = drive(move(verbs=("to_surface",)), state)
    heights, pushes = [], []
    for _ in range(90):
        z = state.position[2]
        push = stiffness * max(table - z, 0.0)
        state, _ = to_control(
            move(0.02, 0.0, 0.1), state, DT, tool=TOOL, limits=WIDE, force=np.array([0.0, 0.0, -push])
        )
        heights.append(state.position[2])
        pushes.append(push)
    assert np.diff(heights[:20]) == pytest.approx(-SURFACE_SPEED * DT)
    assert pushes[-1] == pytest.approx(SURFACE_FORCE, rel=1e-3) and max(pushes) < 1.3 * SURFACE_FORCE
    assert state.position[0] == pytest.approx(0.02 * 90 * DT)
    state, _ = drive(move(verbs=("to_surface",)), state)
    lifted, _ = drive(move(0, 0, 0.1), state)
    assert lifted.position[2] == pytest.approx(state.position[2] + 0.1 * DT)


def test_to_surface_gives_way_when_pressed_harder_and_follows_the_tool_not_the_world():
    tilted = start_tool(placed([0.0, 0.0, 0.0], [0.0, np.pi / 2, 0.0]))  # its -z is the world's -x
    state, _ = drive(move(verbs=("to_surface",)), tilted)
    assert state.position == pytest.approx([-SURFACE_SPEED * DT, 0.0, 0.0])
    back, _ = to_control(move(), state, DT, tool=TOOL, limits=WIDE, force=np.array([-4.0 * SURFACE_FORCE, 0.0, 0.0]))
    assert back.position[0] - state.position[0] == pytest.approx(SURFACE_SPEED * DT)


def test_force_limit_stops_the_push_and_nothing_else():
    state, push = start_tool(placed([0.0, 0.0, 0.0])), np.array([0.0, 0.0, -6.0])
    for expected in (*FORCE_LIMITS[1:], None):
        state, _ = drive(move(verbs=("force_limit",)), state)
        assert state.force_limit == expected
    state, _ = drive(move(verbs=("force_limit",)), state)  # 5 N
    held, target = to_control(move(0.1, 0.0, -0.1), state, DT, tool=TOOL, limits=WIDE, force=push)
    assert held.position == pytest.approx([0.1 * DT, 0.0, 0.0]) and "force" in target.limited
    for force, way in ((push, 0.1), (0.5 * push, -0.1)):  # away from it; below the limit
        moved, target = to_control(move(0, 0, way), state, DT, tool=TOOL, limits=WIDE, force=force)
        assert moved.position[2] == pytest.approx(way * DT) and "force" not in target.limited


def test_helps_are_the_tools_own():
    tools = [TOOL, TOOL]
    state = start_teleop(tools, [placed([0, 0, 0]), placed([1, 0, 0])])
    command = move(0, 0, -0.3, verbs=("next_tool", "to_surface"))
    state, _ = drive_tools(command, state, DT, tools=tools, limits=[WIDE, WIDE], forces=[np.zeros(3)] * 2)
    assert [tool.to_surface for tool in state.tools] == [False, True]
    assert state.tools[1].position == pytest.approx([1.0, 0.0, -SURFACE_SPEED * DT])
