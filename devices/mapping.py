"""The shared mapping stage: Sample -> Command. Pure: no clock, no robot, no window; what it remembers is a small
immutable MappingState that the caller carries along.

A rate device (keyboard, SpaceMouse) pushes: its twist is deadbanded, shaped, scaled, turned into the world frame and
integrated by the application in simulated time. A pose device (VR controller, tracked hand) is followed through its
increments with a speed limit. Increments only, never differences to a stored origin of the tool, are why nothing can
jump when the clutch, the gain, the frame or the device changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from devices.contract import Command, Kind, Sample, Status
from devices.rotations import (
    IDENTITY_QUATERNION,
    quat_conjugate,
    quat_from_vector,
    quat_multiply,
    quat_normalised,
    vector_from_quat,
)

FRAMES = ("world", "camera", "tool")
AXIS_LOCKS = ("none", "translation", "rotation")  # the one named is what still moves; "none" locks nothing
TIME_BASES = ("simulated", "wall")
CLUTCH_MODES = ("hold_out", "hold_in", "toggle")
AXIS_NAMES = ("x", "y", "z", "rx", "ry", "rz")
MAPPED_VERBS = ("gain_up", "gain_down", "frame_next", "axis_lock")  # spent here, not passed on in Command.verbs


@dataclass(frozen=True)
class MappingSettings:
    """How a hand's push becomes a motion. Raises ValueError naming the field, its value and the legal ones."""

    linear_speed: float = 0.15  # [m/s] of a full push at gain 1
    angular_speed: float = 1.0  # [rad/s]
    gripper_speed: float = 1.0  # [1/s] closure per second of a full push
    deadband: float = 0.05  # [-] of the axis range; the rest is stretched so that motion starts from zero
    expo: float = 0.3  # [-] 0 straight, 1 cubic; a full push stays a full push
    gains: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0)  # [-] from fine to coarse, rising
    gain_start: int = 3  # index into gains
    fine_factor: float = 0.2  # [-] on top of the gain while the verb "fine" is held
    axes: tuple[str, ...] = AXIS_NAMES  # output x y z rx ry rz is taken from this device axis; "-y" turns it round
    frame: str = "world"
    clutch_mode: str = "hold_out"  # held: out; "hold_in": held to drive (dead man); "toggle": press to change
    time_basis: str = "simulated"  # "wall": a push moves with the wall clock, also when the simulation is slow
    wall_ratio_limit: float = 4.0  # [-] at most this many times dt in one step with time_basis "wall"
    stale_after: float = 0.5  # [s] a reading older than this does not drive
    ramp_time: float = 0.1  # [s, simulated] a push grows to its full value after engaging, 0 = at once
    rest_time: float = 0.1  # [s, wall] after a reconnect the device must have been at rest this long
    pose_scale: float = 1.0  # [-] motion of the tool per motion of the hand, times the gain
    pose_linear_limit: float = 0.5  # [m/s] how fast a pose device is followed
    pose_angular_limit: float = 3.0  # [rad/s]
    pose_lag_limit: float = 0.1  # [m] and [rad]: motion that lags further behind than this is forgotten

    def __post_init__(self):
        for name in (
            "linear_speed",
            "angular_speed",
            "gripper_speed",
            "fine_factor",
            "stale_after",
            "pose_scale",
            "pose_linear_limit",
            "pose_angular_limit",
            "pose_lag_limit",
            "wall_ratio_limit",
        ):
            _check(name, getattr(self, name), _finite(getattr(self, name)) and getattr(self, name) > 0.0, "above 0")
        for name in ("ramp_time", "rest_time"):
            _check(name, getattr(self, name), _finite(getattr(self, name)) and getattr(self, name) >= 0.0, "0 or above")
        _check("deadband", self.deadband, 0.0 <= self.deadband < 1.0, "in [0, 1)")
        _check("expo", self.expo, 0.0 <= self.expo <= 1.0, "in [0, 1]")
        rising = all(a < b for a, b in zip(self.gains, self.gains[1:], strict=False))
        _check("gains", self.gains, len(self.gains) > 0 and self.gains[0] > 0.0 and rising, "above 0 and rising")
        _check("gain_start", self.gain_start, 0 <= self.gain_start < len(self.gains), f"0 to {len(self.gains) - 1}")
        for name, legal in (("frame", FRAMES), ("clutch_mode", CLUTCH_MODES), ("time_basis", TIME_BASES)):
            _check(name, getattr(self, name), getattr(self, name) in legal, ", ".join(legal))
        legal_axes = [sign + axis for sign in ("", "+", "-") for axis in AXIS_NAMES]
        good = len(self.axes) == 6 and all(axis in legal_axes for axis in self.axes)
        _check("axes", self.axes, good, "six of " + ", ".join(AXIS_NAMES) + ", each with an optional sign")

    def with_advice(self, advice: dict) -> MappingSettings:
        """These settings with what a device recommends (`describe()["mapping"]`) put in. Raises ValueError."""
        legal = [f.name for f in fields(self)]
        for name in advice:
            _check("mapping setting", name, name in legal, ", ".join(legal))
        return replace(self, **advice)


def _finite(value: float) -> bool:
    return bool(np.isfinite(value))


def _check(name: str, value: object, good: bool, legal: str) -> None:
    if not good:
        raise ValueError(f"MappingSettings.{name} = {value!r}; legal: {legal}")


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
    pose_goal: np.ndarray = field(default_factory=_identity_pose)  # (7,) motion asked since engagement, world frame
    pose_followed: np.ndarray = field(default_factory=_identity_pose)  # (7,) the part handed on so far

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
    return replace(state, engaged=False, rest_needed=True, rest_since=None, pose_last=None)


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
    if sample.kind is Kind.POSE:
        twist, delta, state = _pose_twist(sample, settings, state, frames, dt)
        gripper_rate, gripper_target = 0.0, (float(sample.gripper) if state.engaged else None)
    else:
        twist, state = _rate_twist(sample, settings, state, frames, now, dt, dt_wall)
        fresh = state.engaged and sample.kind is Kind.RATE and now - sample.t_receive <= settings.stale_after
        gripper_rate = float(np.clip(sample.gripper, -1.0, 1.0)) * settings.gripper_speed if fresh else 0.0
        gripper_target, delta = None, None
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
    reading = sample.twist if sample.kind is Kind.RATE else sample.pose
    usable = sample.valid and (reading is None or bool(np.all(np.isfinite(reading))))
    if not status.ok or not usable:
        message = status.message if not status.ok else "the device has no valid reading"
        # a pose device looks away often and its increments cannot jump; a pushed cap after a replug can
        return replace(
            state,
            engaged=False,
            reason=message or status.health.value,
            rest_needed=state.rest_needed or (not status.ok and sample.kind is Kind.RATE),
            rest_since=None,
            pose_last=None,
        )
    if state.rest_needed and sample.kind is Kind.RATE:
        at_rest = bool(np.all(np.abs(sample.twist) <= settings.deadband)) and sample.gripper == 0.0
        since = (now if state.rest_since is None else state.rest_since) if at_rest else None
        if since is None or now - since < settings.rest_time:
            reason = "let go of the device once: waiting for it to be at rest"
            return replace(state, engaged=False, reason=reason, rest_since=since)
    held = "clutch" in sample.buttons
    out = {"hold_out": held, "hold_in": not held, "toggle": state.clutch_out}[settings.clutch_mode]
    if settings.clutch_mode != "toggle" and "clutch" in sample.pressed and not held:
        out = settings.clutch_mode == "hold_out"  # tapped inside one slow step: out for this frame, a new reference
    if out:
        return replace(state, engaged=False, reason="clutch out", rest_needed=False, rest_since=None, pose_last=None)
    ramp = _ramp_start(settings) if (not state.engaged and state.started) else state.ramp
    return replace(state, engaged=True, reason="", rest_needed=False, rest_since=None, ramp=ramp)


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
    now: float,
    dt: float,
    dt_wall: float | None,
) -> tuple[np.ndarray, MappingState]:
    fresh = now - sample.t_receive <= settings.stale_after
    if not state.engaged or not fresh or sample.kind is not Kind.RATE:
        return np.zeros(6), state
    # the mean of the ramp over the step, so that the distance does not hang on dt
    ramp_end = min(1.0, state.ramp + dt / settings.ramp_time) if settings.ramp_time > 0.0 else 1.0
    scale = gain_of(settings, state, sample.buttons) * 0.5 * (state.ramp + ramp_end)
    if settings.time_basis == "wall" and dt_wall is not None:
        scale *= min(max(dt_wall, 0.0) / dt, settings.wall_ratio_limit)
    push = _locked(shaped(_permuted(sample.twist, settings.axes), settings.deadband, settings.expo), state.axis_lock)
    rotation = frames.rotation(state.frame)
    linear = rotation @ push[:3] * (settings.linear_speed * scale)
    angular = rotation @ push[3:] * (settings.angular_speed * scale)
    return np.concatenate([linear, angular]), replace(state, ramp=ramp_end)


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
    if state.pose_last is not None:
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
    state = replace(state, pose_last=pose, pose_goal=goal, pose_followed=followed)
    return np.concatenate([move, turn]) / dt, followed.copy(), state


def _shortened(vector: np.ndarray, limit: float) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector if length <= limit else vector * (limit / length)
