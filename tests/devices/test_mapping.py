from __future__ import annotations

import numpy as np
import pytest

from devices.contract import Health, Kind, Sample, Status
from devices.mapping import (
    Frames,
    MappingSettings,
    MappingState,
    require_rest,
    shaped,
    start_mapping,
    to_command,
)
from devices.rotations import quat_from_matrix, quat_from_vector, quat_multiply, vector_from_quat

OK = Status(Health.OK)
DT = 1.0 / 30.0
PLAIN = MappingSettings(deadband=0.0, expo=0.0, ramp_time=0.0)


def rate(*twist, t=0.0, **fields) -> Sample:
    return Sample(twist=np.array([*twist, *[0.0] * (6 - len(twist))]), t_receive=t, **fields)


def pose(position, turn=(0, 0, 0), t=0.0, **fields) -> Sample:
    where = np.array([*position, *quat_from_vector(np.array(turn, dtype=float))])
    return Sample(kind=Kind.POSE, pose=where, t_receive=t, **fields)


def run(samples, settings=PLAIN, state=None, status=OK, now=0.0, dt=DT, frames=None, dt_wall=None):
    """Commands of a run of samples that are all fresh, and the last state."""
    state = start_mapping(settings) if state is None else state
    commands = []
    for sample in samples:
        command, state = to_command(sample, status, settings, state, now=now, dt=dt, frames=frames, dt_wall=dt_wall)
        commands.append(command)
    return commands, state


def test_shape_is_zero_in_the_deadband_and_full_at_the_end():
    t = np.linspace(-1.2, 1.2, 241)
    out = shaped(t, 0.1, 0.4)
    assert np.all(out[np.abs(t) <= 0.1] == 0.0)
    np.testing.assert_allclose(out[np.abs(t) >= 1.0 - 1e-12], np.sign(t[np.abs(t) >= 1.0 - 1e-12]))
    assert np.all(np.diff(out) >= 0.0) and np.max(np.diff(out)) < 0.03  # rises without a step at the deadband
    np.testing.assert_allclose(out, -out[::-1], atol=1e-12)
    u = (0.55 - 0.1) / 0.9
    np.testing.assert_allclose(shaped(np.array([0.55]), 0.1, 0.4), [0.6 * u + 0.4 * u**3])


def test_speeds_gain_and_fine():
    settings = MappingSettings(deadband=0, expo=0, ramp_time=0, linear_speed=0.2, angular_speed=3.0, gripper_speed=4.0)
    (full,), state = run([rate(1, 0, -0.5, 0, 1, 0, gripper=-0.5)], settings)
    np.testing.assert_allclose(full.twist, [0.2, 0, -0.1, 0, 3.0, 0])
    assert full.gripper_rate == -2.0 and full.gripper_target is None and full.engaged
    (half, fine), _ = run(
        [rate(1, pressed=("gain_down",)), rate(1, 0, 0, 1, buttons=frozenset({"fine"}))], settings, state
    )
    np.testing.assert_allclose([half.twist[0], fine.twist[0], fine.twist[3]], [0.1, 0.02, 0.3])
    # taps within one slow step all count, and the gains end where they end
    _, low = run([rate(pressed=("gain_down",) * 9)], settings)
    _, high = run([rate(pressed=("gain_up",) * 9)], settings)
    assert (low.gain_index, high.gain_index) == (0, 4)


def test_frames_turn_both_halves():
    camera = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # the camera's right is world y
    tool = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # the tool's y is world z
    frames = Frames(camera, tool)
    push = rate(1, 0, 0, 0, 1, 0)
    commands, state = run(
        [push, rate(1, 0, 0, 0, 1, 0, pressed=("frame_next",)), rate(0, 1, pressed=("frame_next",))], frames=frames
    )
    np.testing.assert_allclose(commands[0].twist, [0.15, 0, 0, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(commands[1].twist, [0, 0.15, 0, -1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(commands[2].twist, [0, 0, 0.15, 0, 0, 0], atol=1e-12)
    assert state.frame == "tool"
    assert all("frame_next" not in c.verbs for c in commands)


def test_axis_lock_keeps_the_named_half():
    push = (1, 1, 1, 1, 1, 1)
    lock = {"pressed": ("axis_lock", "record")}
    (free, shift, turn, again), _ = run([rate(*push), rate(*push, **lock), rate(*push, **lock), rate(*push, **lock)])
    assert np.all(free.twist != 0) and np.all(again.twist != 0)
    assert np.all(shift.twist[:3] != 0) and np.all(shift.twist[3:] == 0)
    assert np.all(turn.twist[:3] == 0) and np.all(turn.twist[3:] != 0)
    assert shift.verbs == ("record",)


def test_axes_are_permuted_and_turned_round():
    settings = MappingSettings(deadband=0, expo=0, ramp_time=0, axes=("-y", "x", "+z", "rz", "ry", "-rx"))
    (command,), _ = run([rate(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)], settings)
    np.testing.assert_allclose(command.twist, [-0.03, 0.015, 0.045, 0.6, 0.5, -0.4])


def test_a_push_of_one_second_moves_the_same_distance_on_any_machine():
    settings = MappingSettings()

    def distance(steps, dt_wall):
        commands, _ = run([rate(1)] * steps, settings, dt=1.0 / steps, dt_wall=dt_wall)
        return sum(c.twist[0] for c in commands) / steps

    np.testing.assert_allclose([distance(30, 0.5), distance(100, 0.001)], 0.15, rtol=1e-12)
    wall = MappingSettings(deadband=0, expo=0, ramp_time=0, time_basis="wall")
    (slow, fast, leap), _ = [run([rate(1)], wall, dt_wall=t)[0][0] for t in (2 * DT, 0.5 * DT, 100 * DT)], None
    np.testing.assert_allclose([slow.twist[0], fast.twist[0], leap.twist[0]], [0.3, 0.075, 0.6])


def test_stale_rate_is_zero_at_once():
    """Trap 18."""
    state = start_mapping(PLAIN)
    command, state = to_command(rate(1, gripper=1, t=10.0), OK, PLAIN, state, now=10.5, dt=DT)
    assert command.twist[0] > 0 and command.gripper_rate > 0
    command, state = to_command(rate(1, gripper=1, t=10.0), OK, PLAIN, state, now=10.5001, dt=DT)
    assert not command.twist.any() and command.gripper_rate == 0.0


@pytest.mark.parametrize("health", [Health.LOST, Health.STALE])
def test_a_device_that_comes_back_must_rest_first(health):
    """Trap 18: no jump when it is plugged in with the cap pushed."""
    settings = MappingSettings(rest_time=0.1, ramp_time=0.0)
    state = start_mapping(settings)
    command, state = to_command(rate(1), OK, settings, state, now=0.0, dt=DT)
    assert command.twist[0] > 0
    gone = Status(health, "SpaceMouse went away")
    command, state = to_command(rate(1, t=0.03), gone, settings, state, now=0.03, dt=DT)
    assert not command.engaged and not command.twist.any() and state.reason == "SpaceMouse went away"
    moved = []
    # pushed, at rest for too short a time, pushed again, at rest for long enough, pushed
    for now, push in [
        (1.0, 1),
        (1.1, 0),
        (1.15, 0),
        (1.19, 0.5),
        (1.2, 0),
        (1.29, 0),
        (1.295, 0.2),
        (1.3, 0),
        (1.41, 0),
        (1.42, 1),
    ]:
        command, state = to_command(rate(push, t=now), OK, settings, state, now=now, dt=DT)
        moved.append(command.twist[0])
    assert moved[:-1] == [0.0] * 9 and moved[-1] > 0.0


def test_resume_after_a_pause_waits_for_rest_too():
    state = require_rest(run([rate(1)])[1])
    assert not state.engaged
    command, state = to_command(rate(1), OK, PLAIN, state, now=0.0, dt=DT)
    assert not command.twist.any() and "let go" in state.reason


def test_invalid_and_not_finite_readings_do_not_drive():
    (bad, nan), state = run([rate(1, valid=False), rate(np.nan)])
    assert not bad.twist.any() and not nan.twist.any() and not nan.engaged
    assert state.reason == "the device has no valid reading"
    (after,), _ = run([rate(1)], state=state)
    assert after.twist[0] > 0


def test_clutch_modes():
    held, free = {"buttons": frozenset({"clutch"})}, {}
    (out, engaged), _ = run([rate(1, **held), rate(1, **free)])
    assert not out.engaged and not out.twist.any() and engaged.engaged
    dead_man = MappingSettings(deadband=0, expo=0, ramp_time=0, clutch_mode="hold_in")
    (engaged, out), _ = run([rate(1, **held), rate(1, **free)], dead_man)
    assert engaged.engaged and not out.engaged
    toggle = MappingSettings(deadband=0, expo=0, ramp_time=0, clutch_mode="toggle")
    tap = {"pressed": ("clutch",), "released": ("clutch",)}
    (a, b, c, d), _ = run([rate(1), rate(1, **tap), rate(1), rate(1, **tap)], toggle)
    assert [x.engaged for x in (a, b, c, d)] == [True, False, False, True]
    # an even number of taps within one slow step is none
    (e,), _ = run([rate(1, pressed=("clutch", "clutch"))], toggle)
    assert e.engaged
    # the clutch held by a device that reports the press as well: out now, in again when it is let go
    press = {"pressed": ("clutch",), **held}
    (f, g), state = run([rate(1, **press), rate(1)])
    assert not f.engaged and g.engaged and not state.clutch_out


def test_soft_start_after_the_clutch_and_after_a_change_of_frame():
    """Trap 22 for rate devices: the speed grows from zero, steadily."""
    settings = MappingSettings(ramp_time=4 * DT)
    out = rate(1, buttons=frozenset({"clutch"}))
    commands, state = run([rate(1), out, *[rate(1)] * 6], settings)
    speeds = [c.twist[0] / 0.15 for c in commands]
    np.testing.assert_allclose(speeds, [1, 0, 0.125, 0.375, 0.625, 0.875, 1, 1])  # the very first push is not softened
    commands, _ = run([rate(1, pressed=("frame_next",)), rate(1)], settings, state)
    np.testing.assert_allclose([c.twist[0] / 0.15 for c in commands], [0.125, 0.375])


def test_verbs_for_others_pass_in_order():
    pressed = ("record", "gain_up", "grip_toggle", "record", "frame_next", "next_tool")
    (command,), _ = run([rate(pressed=pressed, buttons=frozenset({"fine"}))])
    assert command.verbs == ("record", "grip_toggle", "record", "next_tool") and command.held == {"fine"}


# ---- pose devices


def follow(commands) -> np.ndarray:
    return sum(c.twist for c in commands) * DT


def test_pose_motion_is_followed_from_the_first_reading():
    start, step = np.array([5.0, -2.0, 1.0]), np.array([0.003, 0.0, -0.002])
    commands, _ = run([pose(start + k * step, (0, 0, 0.02 * k)) for k in range(6)])
    assert not commands[0].twist.any()  # wherever the hand is, the tool starts from where it is
    np.testing.assert_allclose(follow(commands), [*(5 * step), 0, 0, 0.1], atol=1e-12)
    np.testing.assert_allclose(commands[-1].pose_delta[:3], 5 * step, atol=1e-12)
    np.testing.assert_allclose(vector_from_quat(commands[-1].pose_delta[3:]), [0, 0, 0.1], atol=1e-12)


def test_pose_reclutch_invalid_and_lost_do_not_jump():
    """Trap 22: the hand moves half a metre while the tool does not follow."""
    far = (0.5, 0.2, 0.1)
    for between, status in [
        (pose(far, (1, 0, 0), buttons=frozenset({"clutch"})), OK),
        (pose(far, (1, 0, 0), valid=False), OK),
        (pose(far, (1, 0, 0)), Status(Health.LOST, "gone")),
        (pose(far, (1, 0, 0), pressed=("clutch",), released=("clutch",)), OK),  # tapped within one slow step
    ]:
        before, state = run([pose((0, 0, 0)), pose((0.001, 0, 0))])
        gap, state = run([between], state=state, status=status)
        after, _ = run([pose(far, (1, 0, 0)), pose((0.502, 0.2, 0.1), (1, 0, 0))], state=state)
        assert not gap[0].twist.any() and not gap[0].engaged and not after[0].twist.any()
        np.testing.assert_allclose(follow(before + gap + after), [0.003, 0, 0, 0, 0, 0], atol=1e-12)


def test_pose_frame_and_gain_changes_do_not_jump():
    camera = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    frames = Frames(world_from_camera=camera)
    commands, state = run([pose((0, 0, 0)), pose((0.01, 0, 0), (0.01, 0, 0))], frames=frames)
    commands2, _ = run(
        [
            pose((0.01, 0, 0), (0.01, 0, 0), pressed=("frame_next", "gain_down")),
            pose((0.02, 0, 0), (0.02, 0, 0)),
        ],
        state=state,
        frames=frames,
    )
    assert not commands2[0].twist.any()
    np.testing.assert_allclose(commands2[1].twist * DT, [0, 0.005, 0, 0, 0.005, 0], atol=1e-12)


def test_pose_speed_limit_and_lag_limit():
    """A slow step never turns into a leap: the tool follows at its limit and forgets what lags too far behind."""
    settings = MappingSettings(pose_linear_limit=0.3, pose_angular_limit=1.5, pose_lag_limit=0.05)
    samples = [pose((0, 0, 0)), *[pose((1.0, 0, 0), (0, 0, 1.0), t=0.5)] * 30]  # one slow step of half a second
    commands, _ = run(samples, settings)
    speeds = np.array([np.linalg.norm(c.twist[:3]) for c in commands])
    turns = np.array([np.linalg.norm(c.twist[3:]) for c in commands])
    assert speeds.max() <= 0.3 + 1e-12 and turns.max() <= 1.5 + 1e-12
    np.testing.assert_allclose(follow(commands), [0.3 * DT + 0.05, 0, 0, 0, 0, 1.5 * DT + 0.05], atol=1e-9)
    assert not commands[-1].twist.any()


def test_pose_gripper_is_absolute_only_while_engaged():
    (closed, out), _ = run([pose((0, 0, 0), gripper=0.7), pose((0, 0, 0), gripper=0.1, buttons=frozenset({"clutch"}))])
    assert closed.gripper_target == 0.7 and out.gripper_target is None


def test_big_wrist_turns_add_up_about_world_axes():
    turns = [0.05 * k for k in range(20)]
    about_z = [pose((0, 0, 0), (0, 0, a)) for a in turns]
    last = quat_from_vector(np.array([0, 0, turns[-1]]))
    about_x = [
        Sample(kind=Kind.POSE, pose=np.array([0, 0, 0, *quat_multiply(quat_from_vector(np.array([a, 0, 0])), last)]))
        for a in turns
    ]
    commands, state = run(about_z + about_x)
    expected = quat_multiply(quat_from_vector(np.array([turns[-1], 0, 0])), last)
    np.testing.assert_allclose(state.pose_followed[3:], expected, atol=1e-9)


# ---- bad input


@pytest.mark.parametrize(
    ("field", "value", "legal"),
    [
        ("deadband", 1.0, r"in \[0, 1\)"),
        ("expo", -0.1, r"in \[0, 1\]"),
        ("linear_speed", 0.0, "above 0"),
        ("linear_speed", float("nan"), "above 0"),
        ("ramp_time", float("inf"), "0 or above"),
        ("rest_time", -1.0, "0 or above"),
        ("gains", (1.0, 0.5), "above 0 and rising"),
        ("gain_start", 7, "0 to 4"),
        ("frame", "base", "world, camera, tool"),
        ("time_basis", "real", "simulated, wall"),
        ("clutch_mode", "foot", "hold_out, hold_in, toggle"),
        ("axes", ("x", "y", "z", "rx", "ry", "q"), "six of x, y, z, rx, ry, rz"),
    ],
)
def test_settings_name_the_field_the_value_and_what_is_legal(field, value, legal):
    with pytest.raises(ValueError, match=rf"MappingSettings\.{field} = .*; legal: {legal}"):
        MappingSettings(**{field: value})


def test_advice_of_a_device():
    assert MappingSettings().with_advice({"frame": "camera", "expo": 0.0}).frame == "camera"
    with pytest.raises(ValueError, match="mapping setting = 'speed'; legal: linear_speed, angular_speed"):
        MappingSettings().with_advice({"speed": 2})


def test_a_frame_that_does_not_step_is_refused():
    with pytest.raises(ValueError, match=r"dt = 0.0 s; legal: above 0"):
        to_command(rate(1), OK, PLAIN, MappingState(3, "world"), now=0.0, dt=0.0)


def test_to_command_is_pure():
    settings, state = MappingSettings(), start_mapping(MappingSettings())
    sample = pose((0.1, 0, 0))
    first = to_command(sample, OK, settings, state, now=0.0, dt=DT)[1]
    again = to_command(pose((0.2, 0, 0)), OK, settings, first, now=0.0, dt=DT)[0]
    np.testing.assert_array_equal(
        again.twist, to_command(pose((0.2, 0, 0)), OK, settings, first, now=0.0, dt=DT)[0].twist
    )
    assert state.pose_last is None and not first.pose_followed[:3].any()
    assert quat_from_matrix(np.eye(3))[3] == 1.0
