"""Command -> targets of a tool: pure integration of the target pose and the gripper, inside limits.

The target is a ghost that the engine's drive pulls the tool towards. It never leaves the reach box, never moves faster
than the limits, and never runs away from a tool that is blocked: otherwise the operator would have to drive all the
way back before anything answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from devices.contract import Command
from devices.rotations import (
    matrix_from_quat,
    nearest_rotation,
    quat_conjugate,
    quat_from_matrix,
    quat_from_vector,
    quat_multiply,
    quat_normalised,
    vector_from_quat,
)

SURFACE_FORCE = 5.0  # [N] with which a tool that keeps to a surface presses on it
SURFACE_SPEED = 0.01  # [m/s] at which it comes to it
FORCE_LIMITS = (None, 5.0, 10.0, 20.0)  # [N] that the operator may choose: the tool pushes no harder


@dataclass(frozen=True)
class ToolLimits:
    """Bounds on the target of one tool. Raises ValueError naming the field, its value and the legal ones."""

    reach_lower: tuple[float, float, float] = (-np.inf,) * 3  # [m] world frame, of the tool's origin
    reach_upper: tuple[float, float, float] = (np.inf,) * 3  # [m]
    linear_speed: float = 1.0  # [m/s]
    angular_speed: float = 4.0  # [rad/s]
    gripper_speed: float = 2.0  # [1/s] of closure
    lead_distance: float = 0.05  # [m] target ahead of the reached pose; keep it above linear_speed * dt
    lead_angle: float = 0.5  # [rad]
    pivot: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m] tool frame: the point that a rotation leaves in place

    def __post_init__(self):
        for name in ("linear_speed", "angular_speed", "gripper_speed", "lead_distance", "lead_angle"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"ToolLimits.{name} = {getattr(self, name)!r}; legal: above 0")
        if not np.all(np.asarray(self.reach_lower) <= np.asarray(self.reach_upper)):
            raise ValueError(
                f"ToolLimits.reach_lower = {self.reach_lower!r}; legal: not above reach_upper = {self.reach_upper!r}"
            )


@dataclass(frozen=True, eq=False)
class ToolState:
    """Target of one tool between frames. Immutable; `to_control` returns the next one."""

    position: np.ndarray  # [m] (3,) world, origin of the tool
    quaternion: np.ndarray  # [-] (4,) x y z w, world from tool
    closure: float = 0.0  # [-] 0 open, 1 closed
    closure_goal: float | None = None  # [-] where a toggle or an absolute device wants it, None: stay
    to_surface: bool = False  # keeps to what lies before it, along its own -z, with SURFACE_FORCE
    force_limit: float | None = None  # [N] of FORCE_LIMITS


@dataclass(frozen=True, eq=False)
class ToolTarget:
    """What is asked of the engine for one tool in this step."""

    transform: np.ndarray  # (4, 4) world from tool: row of Control.body_transform
    fingers: np.ndarray  # [m] (n,) joint targets: entries of Control.joint_target
    limited: tuple[str, ...] = ()  # of "speed", "reach", "blocked", "force": what held the target back


def start_tool(transform: np.ndarray, closure: float = 0.0) -> ToolState:
    """Target where the tool is: (4, 4) world from tool. For the start, a reset, and after a checkpoint is loaded."""
    transform = np.asarray(transform, dtype=float)
    if transform.shape != (4, 4):
        raise ValueError(f"transform has shape {transform.shape}; legal: (4, 4)")
    return ToolState(transform[:3, 3].copy(), quat_from_matrix(nearest_rotation(transform)), float(closure))


def closure_from_fingers(tool: Any, joints: Sequence[float]) -> float:
    """Closure [0, 1] of the fingers as they are, the inverse of `finger_targets` (their mean). joints [m] (n,).

    0 for a tool without fingers, or with fingers that have nowhere to go.
    """
    opened, closed = _finger_range(tool)
    if not np.all(opened != closed) or len(opened) == 0:
        return 0.0
    return float(np.clip(np.mean((np.asarray(joints, dtype=float) - opened) / (closed - opened)), 0.0, 1.0))


def finger_targets(tool: Any, closure: float) -> np.ndarray:
    """Joint targets [m] (n,) for a closure, linear from tool.open_position to tool.closed_position."""
    opened, closed = _finger_range(tool)
    return opened + (closed - opened) * closure


def _finger_range(tool: Any) -> tuple[np.ndarray, np.ndarray]:
    opened = np.broadcast_to(np.asarray(tool.open_position, dtype=float), (len(tool.fingers),))
    return opened, np.broadcast_to(np.asarray(tool.closed_position, dtype=float), (len(tool.fingers),))


def to_control(
    command: Command,
    state: ToolState,
    dt: float,
    *,
    tool: Any,
    limits: ToolLimits,
    reached: np.ndarray | None = None,
    force: np.ndarray | None = None,
) -> tuple[ToolState, ToolTarget]:
    """One step of a tool's target.

    Args: command: velocities in the world frame. dt [s] simulated. tool: anything with `fingers`, `open_position` and
    `closed_position` [m], such as scenes.Tool. reached: where the tool is, (4, 4) world from tool, None: unknown.
    force: of the drive on the tool after the last step, (3,) world [N], None: unknown.
    Raises ValueError for a command that is not finite, naming it.
    """
    if not np.all(np.isfinite(command.twist)) or not np.isfinite(command.gripper_rate):
        raise ValueError(
            f"command twist {np.asarray(command.twist).tolist()}, gripper_rate {command.gripper_rate}; legal: finite"
        )
    limited: list[str] = []
    state = _helped(command, state)
    if command.engaged and dt > 0.0:
        twist = _with_feeling(command.twist, state, np.zeros(3) if force is None else np.asarray(force), limited)
        position, quaternion = _moved(twist, state, dt, limits, limited)
        if reached is not None:
            position, quaternion = _kept_near(position, quaternion, state, np.asarray(reached), limits, limited)
    else:
        position, quaternion = state.position, state.quaternion
    closure, goal = _gripped(command, state, dt, limits)
    state = replace(state, position=position, quaternion=quaternion, closure=closure, closure_goal=goal)
    return state, ToolTarget(_transform(state), finger_targets(tool, closure), tuple(limited))


def _helped(command: Command, state: ToolState) -> ToolState:
    """Helps that were switched, each press once."""
    on = state.to_surface ^ bool(command.verbs.count("to_surface") % 2)
    place = FORCE_LIMITS.index(state.force_limit) + command.verbs.count("force_limit")
    return replace(state, to_surface=on, force_limit=FORCE_LIMITS[place % len(FORCE_LIMITS)])


def _with_feeling(twist: np.ndarray, state: ToolState, force: np.ndarray, limited: list[str]) -> np.ndarray:
    """The twist after the helps that feel, (6,). Keeping to a surface: along the tool's -z it advances at a constant
    speed, slows down as the push nears SURFACE_FORCE and gives way beyond. Force limit: no further the way the drive
    pushes."""
    linear = twist[:3].copy()
    if state.to_surface:
        ahead = -matrix_from_quat(state.quaternion)[:, 2]
        missing = (SURFACE_FORCE - float(force @ ahead)) / SURFACE_FORCE
        linear += ahead * (SURFACE_SPEED * float(np.clip(missing, -1.0, 1.0)) - float(linear @ ahead))
    push = float(np.linalg.norm(force))
    if state.force_limit is not None and push >= state.force_limit:
        further = float(linear @ force) / push
        if further > 0.0:
            linear -= further * force / push
            limited.append("force")
    return np.concatenate([linear, twist[3:]])


def _transform(state: ToolState) -> np.ndarray:
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = matrix_from_quat(state.quaternion), state.position
    return transform


def _moved(
    twist: np.ndarray, state: ToolState, dt: float, limits: ToolLimits, limited: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Integrate the twist (rotation about the pivot), then the reach box."""
    linear, angular = _shortened(twist[:3], limits.linear_speed), _shortened(twist[3:], limits.angular_speed)
    if not np.array_equal(np.concatenate([linear, angular]), twist):
        limited.append("speed")
    quaternion = quat_normalised(quat_multiply(quat_from_vector(angular * dt), state.quaternion))
    pivot = np.asarray(limits.pivot, dtype=float)
    swing = (matrix_from_quat(state.quaternion) - matrix_from_quat(quaternion)) @ pivot
    wished = state.position + linear * dt + swing
    # A target that is outside already (a moved box, a loaded state) may stay or come back, it is not thrown inside.
    lower = np.minimum(limits.reach_lower, state.position)
    upper = np.maximum(limits.reach_upper, state.position)
    position = np.clip(wished, lower, upper)
    if not np.array_equal(position, wished):
        limited.append("reach")
    return position, quaternion


def _kept_near(
    position: np.ndarray,
    quaternion: np.ndarray,
    state: ToolState,
    reached: np.ndarray,
    limits: ToolLimits,
    limited: list[str],
) -> tuple[np.ndarray, np.ndarray]:
    """Take back the part of this step's motion that would lead the tool by more than the limits.

    Only motion of this step is taken back: a target that leads further already (the tool was pushed away) stays where
    it is, so a released operator's ghost is never dragged along by the load.
    """
    blocked = False
    here = reached[:3, 3]
    allowed = max(limits.lead_distance, float(np.linalg.norm(state.position - here)))
    lead = position - here
    if np.linalg.norm(lead) > allowed:
        position, blocked = here + _shortened(lead, allowed), True
    turned = quat_from_matrix(nearest_rotation(reached))
    angle_before = np.linalg.norm(vector_from_quat(quat_multiply(state.quaternion, quat_conjugate(turned))))
    lead_turn = vector_from_quat(quat_multiply(quaternion, quat_conjugate(turned)))
    allowed_turn = max(limits.lead_angle, float(angle_before))
    if np.linalg.norm(lead_turn) > allowed_turn:
        quaternion = quat_normalised(quat_multiply(quat_from_vector(_shortened(lead_turn, allowed_turn)), turned))
        blocked = True
    if blocked:
        limited.append("blocked")
    return position, quaternion


def _gripped(command: Command, state: ToolState, dt: float, limits: ToolLimits) -> tuple[float, float | None]:
    """(closure, goal). A toggle flips each time it was pressed, with the clutch out too; a rate takes over from it."""
    goal = state.closure_goal
    if command.gripper_target is not None and command.engaged:
        goal = float(np.clip(command.gripper_target, 0.0, 1.0))
    for _ in range(command.verbs.count("grip_toggle")):
        goal = 0.0 if (state.closure if goal is None else goal) >= 0.5 else 1.0
    most = limits.gripper_speed * max(dt, 0.0)
    if command.engaged and command.gripper_rate != 0.0:
        step = float(np.clip(command.gripper_rate * dt, -most, most))
        return float(np.clip(state.closure + step, 0.0, 1.0)), None
    if goal is None:
        return state.closure, None
    if abs(goal - state.closure) <= most:
        return goal, goal
    return state.closure + float(np.copysign(most, goal - state.closure)), goal


def _shortened(vector: np.ndarray, limit: float) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector if length <= limit else vector * (limit / length)


@dataclass(frozen=True, eq=False)
class TeleopState:
    """Targets of all tools of a scene; one of them is driven, the others hold theirs."""

    tools: tuple[ToolState, ...]
    active: int = 0


def start_teleop(tools: Sequence[Any], transforms: Sequence[np.ndarray] | None = None) -> TeleopState:
    """All tools where they are; transforms (4, 4) each, None: their `home`. Raises ValueError without any tool."""
    if not tools:
        raise ValueError("a scene to teleoperate has no tool; legal: one or more under `tools`")
    transforms = [tool.home for tool in tools] if transforms is None else transforms
    return TeleopState(tuple(start_tool(transform) for transform in transforms))


def drive_tools(
    command: Command,
    state: TeleopState,
    dt: float,
    *,
    tools: Sequence[Any],
    limits: Sequence[ToolLimits],
    reached: Sequence[np.ndarray] | None = None,
    forces: Sequence[np.ndarray] | None = None,
    others: Mapping[int, Command] | None = None,
) -> tuple[TeleopState, tuple[ToolTarget, ...]]:
    """One step of every tool. Verb "next_tool" hands the command to the next one, which starts from its own target;
    a grip toggle goes to the tool that was driven when it was pressed. forces: of the drives, (3,) [N] each. others:
    commands of further devices by tool; one for the tool in use does not count."""
    active = state.active
    verbs: list[list[str]] = [[] for _ in tools]
    for verb in command.verbs:
        if verb == "next_tool":
            active = (active + 1) % len(tools)
        else:
            verbs[active].append(verb)
    states, targets = list(state.tools), []
    for index, tool in enumerate(tools):
        own = replace(command, verbs=tuple(verbs[index]))
        if index != active and others and index in others:
            own = replace(others[index], verbs=tuple(v for v in others[index].verbs if v != "next_tool"))
        elif index != active:  # it holds its pose; a grip on its way to its goal goes on
            own = replace(own, twist=np.zeros(6), gripper_rate=0.0, gripper_target=None, engaged=False)
        at = reached[index] if reached is not None else None
        states[index], target = to_control(
            own, states[index], dt, tool=tool, limits=limits[index], reached=at,
            force=None if forces is None else forces[index],
        )  # fmt: skip
        targets.append(target)
    return TeleopState(tuple(states), active), tuple(targets)
