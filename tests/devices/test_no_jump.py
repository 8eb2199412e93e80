"""Random sequences of everything that can interrupt driving: nothing jumps when it goes on."""

from __future__ import annotations

import numpy as np
import pytest

from devices.contract import Health, Kind, Sample, Status
from devices.mapping import Frames, MappingSettings, start_mapping, to_command
from devices.rotations import matrix_from_quat, quat_from_vector, quat_normalised

DT = 1.0 / 30.0
OK, LOST = Status(Health.OK), Status(Health.LOST, "pulled out")
MODES = ("frame_next", "axis_lock", "gain_up", "gain_down")


def rotation(rng) -> np.ndarray:
    return matrix_from_quat(quat_normalised(rng.normal(size=4)))


def interruption(rng, kind: str) -> dict:
    """Fields of a sample (or a status) that stop a device from driving."""
    return {
        "clutch": {"buttons": frozenset({"clutch"})},
        "tapped": {"pressed": ("clutch",), "released": ("clutch",)},
        "invalid": {"valid": False},
        "lost": {"status": LOST},
        "stale": {"age": 2.0},
    }[kind]


def sequence(rng, frames: int, kinds: tuple[str, ...]):
    """(fields of the sample, status, age [s], interrupted?) for every frame."""
    left, fields = 0, {}
    for _ in range(frames):
        if left == 0:
            fields = interruption(rng, str(rng.choice(kinds))) if rng.random() < 0.2 else {}
            left = int(rng.integers(1, 12))
        left -= 1
        now = dict(fields)
        if rng.random() < 0.15:
            now["pressed"] = (*now.get("pressed", ()), str(rng.choice(MODES)))
        yield now, now.pop("status", OK), now.pop("age", 0.0), bool(fields)


@pytest.mark.parametrize("seed", range(5))
def test_a_hand_that_comes_back_anywhere_moves_nothing_until_it_moves(seed):
    rng = np.random.default_rng(seed)
    settings = MappingSettings(pose_lag_limit=0.05)
    state, most = start_mapping(settings), max(settings.gains) * settings.pose_scale
    place, turn = rng.normal(size=3), rng.normal(size=4)
    engaged_before, moved, way, engagements, teleports = False, 0.0, 0.0, 0, 0
    for index, (fields, status, age, interrupted) in enumerate(
        sequence(rng, 600, ("clutch", "tapped", "invalid", "lost", "stale"))
    ):
        now = 100.0 + index * DT
        teleport = rng.random() < 0.03
        if interrupted or teleport:  # the hand is anywhere; a tracker that finds it anew says so without a warning
            place, turn = place + rng.normal(size=3), rng.normal(size=4)
            teleports += teleport
            step = 0.0
        else:
            delta = rng.normal(size=3) * 0.004
            place, step = place + delta, float(np.linalg.norm(delta))
        sample = Sample(
            kind=Kind.POSE, pose=np.array([*place, *quat_normalised(turn)]), t_receive=now - age, **fields
        )
        frames = Frames(rotation(rng), rotation(rng))
        command, state = to_command(sample, status, settings, state, now=now, dt=DT, frames=frames)
        if interrupted:
            assert not command.engaged and not command.twist.any()
        elif not engaged_before:
            engagements += 1
            assert command.engaged and not command.twist.any(), "the first reading is a reference, not a motion"
            moved = way = 0.0
        moved += float(np.linalg.norm(command.twist[:3])) * DT
        way += step if command.engaged and engaged_before else 0.0
        assert moved <= most * way + 1e-9, "the tool never moves further than the hand asked"
        assert np.linalg.norm(command.twist[:3]) <= settings.pose_linear_limit + 1e-9
        assert np.linalg.norm(command.twist[3:]) <= settings.pose_angular_limit + 1e-9
        engaged_before = command.engaged
    assert engagements > 10 and teleports > 5


@pytest.mark.parametrize("seed", range(5))
def test_a_push_held_through_an_interruption_or_a_change_of_mode_grows_from_zero(seed):
    """Rate devices: no frame's speed exceeds the last one's by more than the ramp allows."""
    rng = np.random.default_rng(seed)
    settings = MappingSettings(deadband=0.0, expo=0.0, ramp_time=0.2, rest_time=0.0)
    state = start_mapping(settings)
    push = np.array([1.0, 0, 0, 0, 0, 0])
    before, engaged_before, started, locked = np.zeros(3), False, False, "none"
    rises = 0
    for index, (fields, status, age, interrupted) in enumerate(sequence(rng, 600, ("clutch", "tapped", "invalid"))):
        now = 100.0 + index * DT
        sample = Sample(twist=push, t_receive=now - age, **fields)
        command, state = to_command(sample, status, settings, state, now=now, dt=DT)
        speed = command.twist[:3]
        if interrupted:
            assert not speed.any() and not command.engaged
        elif started:
            gain = settings.gains[state.gain_index] * settings.linear_speed
            changed = not engaged_before or any(v in ("frame_next", "axis_lock") for v in sample.pressed)
            allowed = gain * DT / settings.ramp_time
            if changed:
                rises += 1
                assert np.linalg.norm(speed) <= 0.5 * allowed + 1e-12, "from zero, whatever it was before"
            elif state.axis_lock == locked and not sample.pressed:
                assert np.linalg.norm(speed) - np.linalg.norm(before) <= allowed + 1e-12
        before, engaged_before, locked = speed, command.engaged, state.axis_lock
        started = started or command.engaged
    assert rises > 10


@pytest.mark.parametrize("seed", range(5))
def test_a_cap_that_was_lost_while_pushed_never_drives_before_it_rested(seed):
    rng = np.random.default_rng(seed)
    settings = MappingSettings(rest_time=0.1)
    state, owed, rested, lost, drove = start_mapping(settings), False, 0.0, False, 0
    for index in range(800):
        now = 100.0 + index * DT
        if rng.random() < 0.03:
            lost = not lost
        if index % 7 == 0:
            value = float(rng.choice((0.0, 0.0, 1.0, -1.0)))
        sample = Sample(twist=np.array([value, 0, 0, 0, 0, 0]), t_receive=now)
        command, state = to_command(sample, LOST if lost else OK, settings, state, now=now, dt=DT)
        rested = rested + DT if value == 0.0 and not lost else 0.0
        if lost:
            owed = True
        elif owed and rested >= settings.rest_time + DT + 1e-9:
            owed = False
        if lost or (owed and value != 0.0):
            assert not command.twist.any()
        drove += bool(command.twist.any())
    assert drove > 20


@pytest.mark.parametrize("mode", ["proportional", "switch"])
@pytest.mark.parametrize("seed", range(3))
def test_a_trigger_takes_over_only_where_the_gripper_is(seed, mode):
    rng = np.random.default_rng(seed)
    settings = MappingSettings(gripper_mode=mode)
    state = start_mapping(settings)
    value, last, before, interrupted_since, pickups = 0.0, None, None, False, 0
    for index, (fields, status, age, interrupted) in enumerate(
        sequence(rng, 900, ("clutch", "tapped", "invalid", "lost", "stale"))
    ):
        now = 100.0 + index * DT
        value = float(rng.random()) if interrupted else float(np.clip(value + rng.normal() * 0.06, 0.0, 1.0))
        sample = Sample(kind=Kind.POSE, pose=np.array([0, 0, 0, 0, 0, 0, 1.0]), gripper=value, t_receive=now - age)
        sample = Sample(**{**vars(sample), **fields})
        command, state = to_command(sample, status, settings, state, now=now, dt=DT)
        target = command.gripper_target
        interrupted_since = interrupted_since or interrupted
        if interrupted:
            assert target is None
        if target is not None:
            if interrupted_since and last is not None:
                near = abs(target - last) <= settings.gripper_takeover
                crossed = before is not None and (before - last) * (value - last) < 0.0
                switched = mode == "switch" and target in (0.0, 1.0)
                assert near or crossed or switched, (last, before, value, target)
                pickups += 1
            last, interrupted_since = target, False
        before = None if interrupted else value
    assert pickups > 5


def test_hysteresis_of_a_pinch():
    settings = MappingSettings(gripper_mode="switch", gripper_close_at=0.65, gripper_open_at=0.35)
    state, targets = start_mapping(settings), []
    for index, value in enumerate((0.1, 0.6, 0.66, 0.5, 0.36, 0.34, 0.5, 0.64, 0.7, float("nan"))):
        sample = Sample(kind=Kind.POSE, pose=np.array([0, 0, 0, 0, 0, 0, 1.0]), gripper=value, t_receive=index * DT)
        command, state = to_command(sample, OK, settings, state, now=index * DT, dt=DT)
        targets.append(command.gripper_target)
    assert targets == [0, 0, 1, 1, 1, 0, 0, 0, 1, None]


def test_a_switched_gripper_keeps_what_it_holds_until_the_hand_closes_on_it_again():
    settings = MappingSettings(gripper_mode="switch")
    state, targets = start_mapping(settings), []
    open_, closed = 0.0, 1.0
    readings = [(closed, OK), (closed, LOST), (open_, OK), (open_, OK), (closed, OK), (open_, OK)]
    for index, (value, status) in enumerate(readings):
        sample = Sample(kind=Kind.POSE, pose=np.array([0, 0, 0, 0, 0, 0, 1.0]), gripper=value, t_receive=index * DT)
        command, state = to_command(sample, status, settings, state, now=index * DT, dt=DT)
        targets.append(command.gripper_target)
    assert targets == [1.0, None, None, None, 1.0, 0.0]
    # closed by a key meanwhile: the open hand does not open it again
    sample = Sample(kind=Kind.POSE, pose=np.array([0, 0, 0, 0, 0, 0, 1.0]), gripper=open_, t_receive=1.0)
    command, state = to_command(
        Sample(**{**vars(sample), "pressed": ("grip_toggle",)}), OK, settings, state, now=1.0, dt=DT
    )
    assert command.gripper_target is None and "grip_toggle" in command.verbs
    command, state = to_command(sample, OK, settings, state, now=1.0, dt=DT)
    assert command.gripper_target is None


def test_press_and_dispense_follow_the_tools_own_axis():
    tool = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # the tool's z is world -y
    settings = MappingSettings(ramp_time=0.0, press_speed=0.03, dispense_speed=0.07)
    state = start_mapping(settings)

    def drive(state, kind=Kind.RATE, **fields):
        sample = Sample(kind=kind, pose=np.array([0, 0, 0, 0, 0, 0, 1.0]), t_receive=1.0, **fields)
        return to_command(sample, OK, settings, state, now=1.0, dt=DT, frames=Frames(world_from_tool=tool))

    for kind in (Kind.RATE, Kind.POSE):
        press, _ = drive(state, kind, buttons=frozenset({"press"}))
        np.testing.assert_allclose(press.twist, [0, 0.03, 0, 0, 0, 0], atol=1e-12)
        draw, _ = drive(state, kind, buttons=frozenset({"dispense", "fine"}))
        np.testing.assert_allclose(draw.twist, [0, -0.014, 0, 0, 0, 0], atol=1e-12)
        tap, _ = drive(state, kind, pressed=("press",), released=("press",))
        np.testing.assert_allclose(tap.twist, press.twist)
        out, _ = drive(state, kind, buttons=frozenset({"press", "clutch"}))
        assert not out.twist.any()


def test_calibration_moves_the_rest_and_stretches_the_ends():
    settings = MappingSettings(deadband=0.0, expo=0.0, ramp_time=0.0, centre=(0.1,) * 6, span=(0.8,) * 6)
    state = start_mapping(settings)
    for raw, want in ((0.1, 0.0), (0.9, 1.0), (-0.7, -1.0), (1.0, 1.0), (0.5, 0.5)):
        command, _ = to_command(Sample(twist=np.full(6, raw), t_receive=1.0), OK, settings, state, now=1.0, dt=DT)
        np.testing.assert_allclose(command.twist[:3], 0.15 * want, atol=1e-12)
        np.testing.assert_allclose(command.twist[3:], want, atol=1e-12)


def test_a_frozen_tracker_does_not_drive_and_says_for_how_long():
    settings = MappingSettings(stale_after=0.5)
    sample = Sample(kind=Kind.POSE, pose=np.array([quat_from_vector(np.zeros(3))[3] * 0, 0, 0, 0, 0, 0, 1.0]))
    command, state = to_command(sample, OK, settings, start_mapping(settings), now=0.8, dt=DT)
    assert not command.engaged and state.reason == "no reading for 0.8 s"
