"""The shared mapping stage: Sample -> Command. Pure: no clock, no robot, no window; what it remembers is a small
immutable MappingState that the caller carries along.

A rate device (keyboard, SpaceMouse) pushes: its twist is deadbanded, shaped, scaled, turned into the world frame and
integrated by the application in simulated time. A pose device (VR controller, tracked hand) is followed through its
increments with a speed limit. Increments only, never differences to a stored origin of the tool, are why nothing can
jump when the clutch, the gain, the frame or the device changes. An absolute gripper (trigger, pinch) takes over softly:
after an interruption it counts only once the hand has come to where the gripper is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from devices.contract import Command, Kind, Sample, Status
from devices.mapping_settings import AXIS_LOCKS, AXIS_NAMES, FRAMES, MappingSettings
from devices.rotations import (
    IDENTITY_QUATERNION,
    quat_conjugate,
    quat_from_vector,
    quat_multiply,
    quat_normalised,
    vector_from_quat,
)

MAPPED_VERBS = ("gain_up", "gain_down", "frame_next", "axis_lock")  # spent here, not passed on in Command.verbs


def _identity_pose() -> np.ndarray:
    return np.array([0.0, 0.0, 0.0, *IDENTITY_QUATERNION])


@dataclass(frozen=True, eq=False)
class MappingState:
    """What the mapping remembers from frame to frame. `reason` says in words why the tool does not follow."""

    gain_index: int
    frame: str
    axis_lock: str = "none"
    engaged: bool = False
    reason: str = ""  # "", "clutch out", "waiting for the device to be at rest", or the device's own message
    clutch_out: bool = False  # of clutch_mode "toggle"
    ramp: float = 1.0  # [-] share of a full push that passes
    rest_needed: bool = False  # after a reconnect: nothing passes until the device has been at rest
    rest_since: float | None = None  # [s, monotonic] since when it has been
    pose_last: np.ndarray | None = None  # (7,) last device pose while engaged, None = no reference
    pose_time: float = 0.0  # [s, monotonic] when it was received
    pose_goal: np.ndarray = field(default_factory=_identity_pose)  # (7,) motion asked since engagement, world frame
    pose_followed: np.ndarray = field(default_factory=_identity_pose)  # (7,) the part handed on so far
    gripper: float | None = None  # [0, 1] closure handed on last by an absolute gripper, None = none yet
    gripper_away: float | None = None  # [0, 1] last reading while it must be picked up first, None = it counts
    gripper_switched: bool = False  # of gripper_mode "switch"

    @property
    def started(self) -> bool:
        return self.engaged or self.reason != ""


@dataclass(frozen=True)
class Frames:
    """Rotations of this frame, (3, 3) each, columns in world coordinates; see `rotations.camera_rotation` and
    `rotations.nearest_rotation` (the tool's body is affine)."""

    world_from_camera: np.ndarray = field(default_factory=lambda: np.eye(3))
    world_from_tool: np.ndarray = field(default_factory=lambda: np.eye(3))

    def rotation(self, frame: str) -> np.ndarray:
        return {"world": np.eye(3), "camera": self.world_from_camera, "tool": self.world_from_tool}[frame]


def start_mapping(settings: MappingSettings) -> MappingState:
    return MappingState(gain_index=settings.gain_start, frame=settings.frame)


def require_rest(state: MappingState) -> MappingState:
    """Nothing passes until the device has been at rest: for a resume after a pause, or another device."""
    return replace(_let_go(state), rest_needed=True)


def _let_go(state: MappingState, **changes) -> MappingState:
    """Not engaged: the next engagement starts with a new reference, and the gripper must be picked up again."""
    changes = {"engaged": False, "rest_since": None, "pose_last": None, "gripper_away": state.gripper} | changes
    return replace(state, **changes)


def gain_of(settings: MappingSettings, state: MappingState, held: frozenset[str] = frozenset()) -> float:
    return settings.gains[state.gain_index] * (settings.fine_factor if "fine" in held else 1.0)


def shaped(twist: np.ndarray, deadband: float, expo: float) -> np.ndarray:
    """Deadband and expo per axis: with u = (|t| - d)/(1 - d), sign(t) ((1 - e) u + e u^3). (n,) in [-1, 1]."""
    u = np.clip((np.minimum(np.abs(twist), 1.0) - deadband) / (1.0 - deadband), 0.0, 1.0)
    return np.sign(twist) * ((1.0 - expo) * u + expo * u**3)


def to_command(
    sample: Sample,
    status: Status,
    settings: MappingSettings,
    state: MappingState,
    *,
    now: float,
    dt: float,
    dt_wall: float | None = None,
    frames: Frames | None = None,
) -> tuple[Command, MappingState]:
    """One frame of the mapping.

    Args: now [s] monotonic; dt [s] simulated length of the step to come; dt_wall [s] wall time since the last frame,
    for time_basis "wall" (None: dt). The Command's twist is a velocity in simulated time: the application moves the
    target by twist * dt. In `verbs` stay those for others to act on, `grip_toggle` among them.
    """
    if dt <= 0.0:
        raise ValueError(f"dt = {dt!r} s; legal: above 0 (do not map a frame that does not step)")
    frames = frames or Frames()
    state = _apply_verbs(sample.pressed, settings, state)
    state = _engage(sample, status, settings, state, now)
    gripper_rate, gripper_target, delta = 0.0, None, None
    if sample.kind is Kind.RATE:
        fresh = state.engaged and now - sample.t_receive <= settings.stale_after
        twist, state = _rate_twist(sample, settings, state, frames, fresh, dt, dt_wall)
        gripper_rate = float(np.clip(sample.gripper, -1.0, 1.0)) * settings.gripper_speed if fresh else 0.0
    else:
        twist, delta, state = _pose_twist(sample, settings, state, frames, dt)
        gripper_target, state = _gripper_target(sample, settings, state)
        twist = twist + _along_tool(sample, settings, state, frames) * float(state.engaged)
    command = Command(
        twist=twist,
        pose_delta=delta,
        gripper_rate=gripper_rate,
        gripper_target=gripper_target,
        engaged=state.engaged,
        verbs=tuple(verb for verb in sample.pressed if verb not in MAPPED_VERBS),
        held=sample.buttons,
    )
    return command, state


def _apply_verbs(pressed: tuple[str, ...], settings: MappingSettings, state: MappingState) -> MappingState:
    """Every press counts, in order, whatever the number within one slow step."""
    for verb in pressed:
        if verb == "gain_up":
            state = replace(state, gain_index=min(state.gain_index + 1, len(settings.gains) - 1))
        elif verb == "gain_down":
            state = replace(state, gain_index=max(state.gain_index - 1, 0))
        elif verb == "frame_next":
            state = replace(state, frame=_next(FRAMES, state.frame), ramp=_ramp_start(settings))
        elif verb == "axis_lock":
            state = replace(state, axis_lock=_next(AXIS_LOCKS, state.axis_lock), ramp=_ramp_start(settings))
        elif verb == "clutch" and settings.clutch_mode == "toggle":
            state = replace(state, clutch_out=not state.clutch_out)
    return state


def _next(values: tuple[str, ...], value: str) -> str:
    return values[(values.index(value) + 1) % len(values)]


def _ramp_start(settings: MappingSettings) -> float:
    return 0.0 if settings.ramp_time > 0.0 else 1.0


def _engage(sample: Sample, status: Status, settings: MappingSettings, state: MappingState, now: float) -> MappingState:
    """Decide whether this reading drives, and prepare a start without a jump when it begins to."""
    problem = _unusable(sample, status, settings, now)
    if problem:
        # a pose device looks away often and its increments cannot jump; a pushed cap after a replug can
        rest_needed = state.rest_needed or (not status.ok and sample.kind is Kind.RATE)
        return _let_go(state, reason=problem, rest_needed=rest_needed)
    if state.rest_needed and sample.kind is Kind.RATE:
        at_rest = bool(np.all(np.abs(calibrated(sample.twist, settings)) <= settings.deadband))
        at_rest = at_rest and sample.gripper == 0.0
        since = (now if state.rest_since is None else state.rest_since) if at_rest else None
        if since is None or now - since < settings.rest_time:
            reason = "let go of the device once: waiting for it to be at rest"
            return _let_go(state, reason=reason, rest_since=since)
    held = "clutch" in sample.buttons
    out = {"hold_out": held, "hold_in": not held, "toggle": state.clutch_out}[settings.clutch_mode]
    if settings.clutch_mode != "toggle" and "clutch" in sample.pressed and not held:
        out = settings.clutch_mode == "hold_out"  # tapped inside one slow step: out for this frame, a new reference
    if out:
        return _let_go(state, reason="clutch out", rest_needed=False)
    ramp = _ramp_start(settings) if (not state.engaged and state.started) else state.ramp
    return replace(state, engaged=True, reason="", rest_needed=False, rest_since=None, ramp=ramp)


def _unusable(sample: Sample, status: Status, settings: MappingSettings, now: float) -> str:
    """Why this reading may not drive, in words; "" when it may."""
    if not status.ok:
        return status.message or status.health.value
    rate = sample.kind is Kind.RATE
    reading = sample.twist if rate else sample.pose
    if not sample.valid or (reading is not None and not np.all(np.isfinite(reading))):
        return "the device has no valid reading"
    if not rate and now - sample.t_receive > settings.stale_after:  # a silent cap is a cap at rest, a hand is not
        return f"no reading for {now - sample.t_receive:.1f} s"
    return ""


def calibrated(twist: np.ndarray, settings: MappingSettings) -> np.ndarray:
    """Device axes with their rest at 0 and a full push at 1: (t - centre) / span, within [-1, 1]. (6,)"""
    return np.clip((np.asarray(twist, dtype=float) - settings.centre) / settings.span, -1.0, 1.0)


def _locked(twist: np.ndarray, axis_lock: str) -> np.ndarray:
    twist = twist.copy()
    if axis_lock == "translation":
        twist[3:] = 0.0
    elif axis_lock == "rotation":
        twist[:3] = 0.0
    return twist


def _permuted(vector: np.ndarray, axes: tuple[str, ...]) -> np.ndarray:
    index = [AXIS_NAMES.index(axis.lstrip("+-")) for axis in axes]
    sign = np.array([-1.0 if axis.startswith("-") else 1.0 for axis in axes])
    return sign * np.asarray(vector, dtype=float)[index]


def _rate_twist(
    sample: Sample,
    settings: MappingSettings,
    state: MappingState,
    frames: Frames,
    fresh: bool,
    dt: float,
    dt_wall: float | None,
) -> tuple[np.ndarray, MappingState]:
    if not fresh:
        return np.zeros(6), state
    # the mean of the ramp over the step, so that the distance does not hang on dt
    ramp_end = min(1.0, state.ramp + dt / settings.ramp_time) if settings.ramp_time > 0.0 else 1.0
    soft = 0.5 * (state.ramp + ramp_end)
    scale = gain_of(settings, state, sample.buttons) * soft
    if settings.time_basis == "wall" and dt_wall is not None:
        scale *= min(max(dt_wall, 0.0) / dt, settings.wall_ratio_limit)
    axes = _permuted(calibrated(sample.twist, settings), settings.axes)
    push = _locked(shaped(axes, settings.deadband, settings.expo), state.axis_lock)
    rotation = frames.rotation(state.frame)
    linear = rotation @ push[:3] * (settings.linear_speed * scale)
    angular = rotation @ push[3:] * (settings.angular_speed * scale)
    twist = np.concatenate([linear, angular]) + soft * _along_tool(sample, settings, state, frames)
    return twist, replace(state, ramp=ramp_end)


def _along_tool(sample: Sample, settings: MappingSettings, state: MappingState, frames: Frames) -> np.ndarray:
    """Motion asked by the verbs "press" (forwards, the tool's -z) and "dispense" (backwards, drawing tape off what the
    tool holds), whatever frame is on. A tap within one slow step counts for this frame. (6,) [m/s, rad/s]"""
    asked = sample.buttons.union(sample.pressed)
    speed = settings.dispense_speed * ("dispense" in asked) - settings.press_speed * ("press" in asked)
    if speed == 0.0 or state.axis_lock == "rotation":
        return np.zeros(6)
    speed *= gain_of(settings, state, sample.buttons)
    return np.concatenate([frames.world_from_tool[:, 2] * speed, np.zeros(3)])


def _pose_twist(
    sample: Sample, settings: MappingSettings, state: MappingState, frames: Frames, dt: float
) -> tuple[np.ndarray, np.ndarray | None, MappingState]:
    """Follow the hand's increments; what the speed limit holds back is caught up later, up to the lag limit."""
    if not state.engaged or sample.pose is None:
        # a new engagement starts from here: no lag is carried over the clutch
        reset = replace(state, pose_last=None, pose_goal=_identity_pose(), pose_followed=_identity_pose())
        return np.zeros(6), None, reset
    pose = np.concatenate([np.asarray(sample.pose[:3], dtype=float), quat_normalised(sample.pose[3:])])
    goal, followed = state.pose_goal.copy(), state.pose_followed.copy()
    if state.pose_last is not None and _reachable(pose, sample.t_receive, settings, state):
        # Device axes are mapped as those of a rate device are; the hand's rotation is read as a rotation vector.
        turn = vector_from_quat(quat_multiply(pose[3:], quat_conjugate(state.pose_last[3:])))
        step = np.concatenate([pose[:3] - state.pose_last[:3], turn])
        step = _locked(_permuted(step, settings.axes), state.axis_lock)
        rotation = frames.rotation(state.frame)
        gain = settings.pose_scale * gain_of(settings, state, sample.buttons)
        goal[:3] += rotation @ step[:3] * gain
        # Rotations are not scaled up by a coarse gain: a wrist cannot follow more than itself.
        goal[3:] = quat_multiply(quat_from_vector(rotation @ step[3:] * min(gain, 1.0)), goal[3:])
    behind = goal[:3] - followed[:3]
    behind_turn = vector_from_quat(quat_multiply(goal[3:], quat_conjugate(followed[3:])))
    move = _shortened(behind, settings.pose_linear_limit * dt)
    turn = _shortened(behind_turn, settings.pose_angular_limit * dt)
    followed[:3] += move
    followed[3:] = quat_normalised(quat_multiply(quat_from_vector(turn), followed[3:]))
    goal[:3] = followed[:3] + _shortened(behind - move, settings.pose_lag_limit)
    goal[3:] = quat_multiply(quat_from_vector(_shortened(behind_turn - turn, settings.pose_lag_limit)), followed[3:])
    state = replace(state, pose_last=pose, pose_time=sample.t_receive, pose_goal=goal, pose_followed=followed)
    return np.concatenate([move, turn]) / dt, followed.copy(), state


def _reachable(pose: np.ndarray, time: float, settings: MappingSettings, state: MappingState) -> bool:
    """Could a hand have come here since the last reading? If not, the tracker has found it anew: a new reference."""
    seconds = max(time - state.pose_time, 0.0) + 0.01  # readings jitter
    turn = vector_from_quat(quat_multiply(pose[3:], quat_conjugate(state.pose_last[3:])))
    way = float(np.linalg.norm(pose[:3] - state.pose_last[:3]))
    return way <= settings.pose_hand_speed * seconds and np.linalg.norm(turn) <= settings.pose_hand_turn * seconds


def _gripper_target(
    sample: Sample, settings: MappingSettings, state: MappingState
) -> tuple[float | None, MappingState]:
    """Closure asked by a trigger or a pinch, None while it does not count."""
    reading = float(np.clip(sample.gripper, 0.0, 1.0)) if np.isfinite(sample.gripper) else None
    if not state.engaged or reading is None:
        return None, state
    if settings.gripper_mode == "switch":
        switched = reading > (settings.gripper_open_at if state.gripper_switched else settings.gripper_close_at)
        state, reading = replace(state, gripper_switched=switched), float(switched)
    if "grip_toggle" in sample.pressed:  # closed or opened by a button: the hand must come to it
        odd = sample.pressed.count("grip_toggle") % 2
        now = reading if state.gripper is None else state.gripper
        state = replace(state, gripper=float(now < 0.5) if odd else now, gripper_away=reading)
    if state.gripper_away is not None and state.gripper is not None:
        before, goal = state.gripper_away, state.gripper
        crossed = (before - goal) * (reading - goal) < 0.0
        if not crossed and abs(reading - goal) > settings.gripper_takeover:
            return None, replace(state, gripper_away=reading)
    return reading, replace(state, gripper=reading, gripper_away=None)


def _shortened(vector: np.ndarray, limit: float) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector if length <= limit else vector * (limit / length)
