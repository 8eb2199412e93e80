"""The operator's side of a frame: a device, the mapping, the targets of the tools. Knows no window and no loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from app.cues import feedback_of
from app.hand_following import HandFollowing
from app.robots import RobotDriver
from app.seats import HELD_BESIDE, OWN_VERBS, Seat, frames_of, other_tool
from app.teleop import ToolLimits, ToolTarget, closure_from_fingers, drive_tools, start_teleop
from devices.contract import Command, Device, Health, Sample, Status
from devices.mapping import FRAMES, MappingSettings, MappingState, gain_of
from devices.rotations import nearest_rotation, quat_from_matrix


class Operator:
    """Turns what devices say into an engine's Control.

    Args:
        device: drives the tool in use. keyboard: its verbs (record, pause, ...) count also when another device drives;
            may be the device itself or None.
        profile: remembered choices by device, see `app.profiles`.
        others: devices in other roles of `app.seats.ROLES`.
    """

    def __init__(
        self,
        device: Device,
        keyboard: Device | None = None,
        profile: dict[str, Any] | None = None,
        others: dict[str, Device] | None = None,
    ):
        self.keyboard = keyboard
        self.tools: list = []
        self.teleop = None
        self.targets: tuple[ToolTarget, ...] = ()
        self.camera_twist = np.zeros(6)  # [m/s, rad/s] world, asked of the view by the device in the role "camera"
        self.felt: np.ndarray | None = None  # forces of all drives after the last step, (D, 3) [N]; set by the loop
        self._limits: list[ToolLimits] = []
        self._rows: list[int] = []  # row of each tool's palm in Control.body_transform
        self._joints: list[list[int]] = []  # columns of each tool's fingers in Control.joint_target
        self._robots: list[RobotDriver] = []
        self._hands = HandFollowing()
        self._injected: list[str] = []
        self._held_beside: frozenset[str] = frozenset()
        self._other_commands: dict[int, Command] = {}  # by tool
        self._profiles = dict(profile or {})
        self.seats = {role: Seat(role, other, self._profiles) for role, other in (others or {}).items()}
        self.use(device)

    def use(self, device: Device) -> None:
        """Another device drives the tool in use."""
        if "right" in self.seats:
            self._keep_profiles()
        self.seats = {"right": Seat("right", device, self._profiles)} | {
            role: seat for role, seat in self.seats.items() if role != "right"
        }

    def sit(self, role: str, device: Device) -> None:
        """A device takes a role beside "right"; what it pushes must be let go first."""
        self.seats[role] = Seat(role, device, self._profiles)
        self.seats[role].hold_until_rest()

    def free(self, role: str) -> Device | None:
        """Nobody has the role any more; returns the device that had it."""
        self._keep_profiles()
        seat = self.seats.pop(role, None)
        return None if seat is None else seat.device

    @property
    def _seat(self) -> Seat:
        return self.seats["right"]

    @property
    def device(self) -> Device:
        return self._seat.device

    @property
    def settings(self) -> MappingSettings:
        return self._seat.settings

    @property
    def scripted(self) -> bool:
        return self._seat.scripted

    @property
    def mapping(self) -> MappingState:
        return self._seat.mapping

    @mapping.setter
    def mapping(self, mapping: MappingState) -> None:
        self._seat.mapping = mapping

    def _keep_profiles(self) -> None:
        self._profiles |= {seat.key: seat.profile() for seat in self.seats.values() if not seat.scripted}

    def profile(self) -> dict[str, Any]:
        """What to remember for the next start, by device."""
        self._keep_profiles()
        return dict(self._profiles)

    def set_frame(self, frame: str) -> None:
        if frame not in FRAMES:
            raise ValueError(f"frame {frame!r}; legal: {', '.join(FRAMES)}")
        self.mapping = replace(self.mapping, frame=frame)

    def press(self, verb: str) -> None:
        """A verb from a button of the window, to be treated like the device's own at the next poll."""
        self._injected.append(verb)

    def settle(self, scene, engine) -> None:
        """The tools' targets are where the tools are: at the start, after a reset, after a checkpoint."""
        self.tools = list(getattr(scene, "tools", ()) or ())
        driven = [name for name, body in scene.model.bodies.items() if body.driven]
        joints = [name for name, joint in scene.model.joints.items() if joint.drive is not None]
        for tool in self.tools:
            if tool.palm not in driven:
                raise ValueError(
                    f"tool {tool.name!r} moves {tool.palm!r}, which is not driven; driven: {', '.join(driven)}"
                )
        self._rows = [driven.index(tool.palm) for tool in self.tools]
        self._joints = [[joints.index(finger) for finger in tool.fingers] for tool in self.tools]
        self._limits = [
            getattr(tool, "limits", None) or ToolLimits(pivot=getattr(tool, "pivot", (0.0, 0.0, 0.0)))
            for tool in self.tools
        ]
        self.targets, self._robots = (), []
        self._hands.forget()
        if not self.tools:
            self.teleop = None
            return
        control = engine.control()
        for name, robot in (getattr(scene, "robots", None) or {}).items():
            own = {tool.name: tool for tool in robot.tools}
            tools = enumerate(self.tools)
            mine = [(i, own[t.name]) for i, t in tools if getattr(t, "robot", None) == name]
            if mine:
                self._robots.append(RobotDriver(robot, mine, driven))
                self._robots[-1].settle(control)
        start = start_teleop(self.tools, [control.body_transform[0, row] for row in self._rows])
        closed = [
            replace(state, closure=closure_from_fingers(tool, control.joint_target[0, columns])) if columns else state
            for state, tool, columns in zip(start.tools, self.tools, self._joints, strict=True)
        ]
        for robot in self._robots:
            for number, tool in robot.tools:
                closed[number] = replace(closed[number], closure=robot.closure(tool))
        self.teleop = replace(start, tools=tuple(closed), active=min(self._active, len(self.tools) - 1))

    @property
    def _active(self) -> int:
        return self.teleop.active if self.teleop is not None else 0

    @property
    def tool_in_hand(self) -> str | None:
        """Name of the driven tool, None without one."""
        return self.tools[self._active].name if self.tools else None

    @property
    def closure(self) -> float:
        """Target of the driven tool's fingers, 0 open to 1 closed; 0 without a tool."""
        return self.teleop.tools[self._active].closure if self.teleop is not None else 0.0

    def hold_until_rest(self) -> None:
        """After a pause: what is still held down must be let go once before it drives. Scripts know no rest."""
        for seat in self.seats.values():
            seat.hold_until_rest()

    def poll(self, now: float, time_sim: float) -> tuple[Sample, Status]:
        """One reading of the device that drives, with the verbs of keyboard, window and other devices in it. The status
        is that of the first device that is lost, else its own."""
        for seat in self.seats.values():
            if seat.scripted:
                seat.device.set_simulated_time(time_sim)
        sample, status = self._seat.poll(now)
        pressed, held = [*sample.pressed], set()
        if self.keyboard is not None and all(self.keyboard is not seat.device for seat in self.seats.values()):
            keys = self.keyboard.poll(now)
            pressed += keys.pressed
            held |= keys.buttons & HELD_BESIDE
        for role, seat in self.seats.items():
            if role == "right":
                continue
            other, its_status = seat.poll(now)
            own = OWN_VERBS if role != "pedal" else ()
            pressed += [verb for verb in other.pressed if verb not in own]
            held |= other.buttons & HELD_BESIDE if role == "pedal" and not seat.quiet else set()
            if lost(its_status) and not lost(status):
                text = its_status.message or its_status.health.value
                status = replace(its_status, message=f"{role}, {seat.device.name}: {text}")
        pressed += self._injected
        self._injected = []
        raw = sample.raw
        if len(self.seats) > 1:
            raw = {**raw, "others": {role: seat.brief() for role, seat in self.seats.items() if role != "right"}}
        self._held_beside = frozenset(held)
        if len(pressed) > len(sample.pressed) or held or raw is not sample.raw:
            sample = replace(sample, pressed=tuple(pressed), buttons=sample.buttons | self._held_beside, raw=raw)
        return sample, status

    def to_command(
        self, sample: Sample, status: Status, now: float, dt: float, dt_wall: float, camera: np.ndarray | None, engine
    ) -> Command:
        """The mapping stage of every device. camera: world from camera (3, 3), None = world."""
        clocks = {"now": now, "dt": dt, "dt_wall": dt_wall}
        command = self._seat.to_command(
            sample, status, frames=frames_of(self._rotation(self._active, engine), camera), **clocks
        )
        self._other_commands: dict[int, Command] = {}
        self.camera_twist = np.zeros(6)
        for role, seat in self.seats.items():
            if role == "camera":
                made = seat.to_command(seat.sample, seat.status, frames=frames_of(np.eye(3), camera), **clocks)
                self.camera_twist = made.twist if made.engaged else np.zeros(6)
            elif role == "left" and (number := other_tool(self.tools, self._active)) is not None:
                own = replace(seat.sample, buttons=seat.sample.buttons | self._held_beside)
                frames = frames_of(self._rotation(number, engine), camera)
                self._other_commands[number] = seat.to_command(own, seat.status, frames=frames, **clocks)
        return command

    def _rotation(self, number: int, engine) -> np.ndarray:
        """World from tool (3, 3)."""
        if not self.tools:
            return np.eye(3)
        return nearest_rotation(engine.body_transform(self.tools[number].palm))

    def to_control(self, command: Command, dt: float, engine, base=None):
        """Targets for the step: the tools' rows replaced, everything else from `base` (None: as it was)."""
        control = base if base is not None else engine.control()
        if self.teleop is None:
            return control
        reached = [engine.body_transform(tool.palm) for tool in self.tools]
        self.teleop, self.targets = drive_tools(
            command, self.teleop, dt, tools=self.tools, limits=self._limits, reached=reached,
            forces=None if self.felt is None else [self.felt[row] for row in self._rows], others=self._other_commands,
        )  # fmt: skip
        for row, columns, target in zip(self._rows, self._joints, self.targets, strict=True):
            control.body_transform[0, row] = target.transform
            if columns:
                control.joint_target[0, columns] = target.fingers
        self._drive_robots(control, dt, engine)
        return control

    def _drive_robots(self, control, dt: float, engine) -> None:
        """Rows of all links of the robots whose end effectors are tools."""
        poses = [target.transform for target in self.targets]
        closures = [tool.closure for tool in self.teleop.tools]
        hands = self._hands_seen()
        for robot in self._robots:
            fingers = self._hands.follow(robot, hands, engine)
            held = robot.command(poses, closures, dt, engine, fingers)
            robot.write(control)
            self.targets = tuple(
                replace(target, limited=(*target.limited, *held.get(number, ())))
                for number, target in enumerate(self.targets)
            )

    def _hands_seen(self) -> dict[int, tuple[Any, bool, str]]:
        """Tool -> (joints of the hand that drives it, does it drive now, its side), for devices that see a hand."""
        seen = {}
        for role, number in (("right", self._active), ("left", other_tool(self.tools, self._active))):
            seat = self.seats.get(role)
            if seat is None or number is None or seat.sample.joints is None:
                continue
            engaged = seat.command is not None and seat.command.engaged and not seat.quiet
            seen[number] = (seat.sample.joints, engaged, seat.device.describe().get("side", "right"))
        return seen

    def read_tools(self, engine) -> dict[str, dict[str, Any]]:
        """Where the tools are, for `Frame.extra["tools"]`: pose (7,) x y z [m] qx qy qz qw in the world, and the
        closure that is asked of the fingers, 0 open to 1 closed."""
        out = {}
        for number, tool in enumerate(self.tools):
            transform = engine.body_transform(tool.palm)
            pose = np.concatenate([transform[:3, 3], quat_from_matrix(nearest_rotation(transform))])
            out[tool.name] = {"pose": pose, "closure": float(self.teleop.tools[number].closure)}
        return out

    def read_robots(self, engine) -> dict[str, dict[str, np.ndarray]]:
        """Joint coordinates of robots, for `Frame.extra["robots"]`: asked, those of the targets of this step; reached,
        those of the links as they are, (n,) each [rad or m]."""
        out = {}
        for driver in self._robots:
            reached, _ = driver.robot.coordinates({body: engine.body_transform(body) for body in driver.robot.bodies})
            out[driver.robot.name] = {"asked": driver.q.copy(), "reached": reached}
        return out

    def feel(self, frame, cues: dict[str, tuple[str, ...]], blocked: bool) -> None:
        """Hands each device what its tool feels after a step. cues: by tool; blocked: the tool in use is held back."""
        for role, number in (("right", self._active), ("left", other_tool(self.tools, self._active))):
            seat = self.seats.get(role)
            if seat is not None and number is not None:
                own = cues.get(self.tools[number].name, ()) + (("blocked",) if role == "right" and blocked else ())
                seat.device.feedback(feedback_of(frame, self._rows[number], own))

    def row_of_active(self) -> int | None:
        """Row of the driven tool in the Signals' drive arrays."""
        return self._rows[self._active] if self.tools else None

    def about(self, signals=None) -> dict[str, Any]:
        """For the teleop panel: numbers in SI units."""
        gain = gain_of(self.settings, self.mapping)
        info: dict[str, Any] = {
            "linear_speed": self.settings.linear_speed * gain,
            "angular_speed": self.settings.angular_speed * gain,
            "frame": self.mapping.frame,
            "axis_lock": self.mapping.axis_lock,
            "reason": self.mapping.reason,
        }
        if self.tools:
            tool, state = self.tools[self._active], self.teleop.tools[self._active]
            info["tool"] = tool.name
            info["closure"] = state.closure
            info["to_surface"], info["force_limit"] = state.to_surface, state.force_limit
            limited = self.targets[self._active].limited if self.targets else ()
            info["limited"] = ", ".join(limited)
            columns = self._joints[self._active]
            if signals is not None:
                info["drive_force"] = float(np.linalg.norm(signals.drive_force[0, self._rows[self._active]]))
                if columns:
                    info["opening"] = float(2.0 * np.mean(signals.joint_position[0, columns]))
                    info["grip_force"] = float(np.mean(np.abs(signals.joint_force[0, columns])))
        return info


def lost(status: Status) -> bool:
    """The device cannot drive until somebody does something (a stale one only pauses its own push)."""
    return status.health not in (Health.OK, Health.STALE)
