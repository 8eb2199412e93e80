"""The contract every input device fulfils: hardware in, plain Sample out.

A device never knows physics, robots or windows. The shared mapping stage (`devices.mapping`) turns a Sample into a
Command; the application turns a Command into the engine's Control.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np


class Kind(str, Enum):
    """What the numbers of a Sample mean."""

    RATE = "rate"  # twist in [-1, 1] per axis: a push, integrated over time
    POSE = "pose"  # a tracked pose in the device's own frame
    JOINTS = "joints"  # a hand: joint positions


class Health(str, Enum):
    OK = "OK"
    STALE = "STALE"  # it is there but has not spoken for longer than its own limit
    LOST = "LOST"  # it was there and went away
    NO_PERMISSION = "NO_PERMISSION"
    NO_LIBRARY = "NO_LIBRARY"
    NOT_FOUND = "NOT_FOUND"


@dataclass(frozen=True)
class Status:
    """Health and the one sentence that says what is wrong and how to mend it."""

    health: Health
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.health is Health.OK


def _zeros(n: int):
    return lambda: np.zeros(n)


@dataclass(frozen=True)
class Sample:
    """One reading. Times are monotonic seconds (`time.monotonic()` clock for t_receive)."""

    kind: Kind = Kind.RATE
    t_device: float | None = None  # [s] the device's own clock, None when it has none
    t_receive: float = 0.0  # [s] monotonic clock at receipt
    sequence: int = 0  # counts readings of this device since open()
    twist: np.ndarray = field(default_factory=_zeros(6))  # [-] (6,) vx vy vz wx wy wz in [-1, 1], z up, right-handed
    pose: np.ndarray | None = None  # [m, -] (7,) x y z qx qy qz qw, device frame
    joints: np.ndarray | None = None  # (n,) or (n, 3), meaning given by describe()
    gripper: float = 0.0  # [-] closing speed in [-1, 1] for RATE (+ closes); closure in [0, 1] for POSE and JOINTS
    buttons: frozenset[str] = frozenset()  # verbs held now, e.g. "clutch", "record"
    pressed: tuple[str, ...] = ()  # press edges since the last poll, in order: a tap inside a slow step counts once
    released: tuple[str, ...] = ()  # release edges since the last poll
    valid: bool = True  # False: do not drive from this reading
    confidence: float = 1.0  # [0, 1]
    raw: dict[str, Any] = field(default_factory=dict)  # what the hardware said, for the device screen and the recording


@dataclass(frozen=True)
class Feedback:
    """What a device may give back to the hand: contact force felt, gripper force, short events."""

    force: float = 0.0  # [N] magnitude of the force that blocks the tool
    grip_force: float = 0.0  # [N]
    events: tuple[str, ...] = ()  # "touch" and "blocked" while they last; "cut", "stage" once


class Device(Protocol):
    """open / close / poll / status / feedback / describe."""

    name: str

    def open(self) -> Status: ...
    def close(self) -> None: ...
    def poll(self, now: float) -> Sample: ...
    def status(self) -> Status: ...
    def feedback(self, feedback: Feedback) -> None: ...
    def describe(self) -> dict[str, Any]: ...


# Verbs that devices may put in `buttons` / `pressed` / `released`. Every device fills what it can.
VERBS = (
    "clutch",  # held: the device moves freely, the tool does not follow
    "fine",  # held: a fraction of the gain, for the last millimetre
    "grip_toggle",  # open <-> close
    "grasp_assist",  # toggle the optional grasp constraint
    "arm_cut",  # show where a cut would run; again: where it would run now
    "confirm_cut",  # make the armed cut
    "disarm_cut",
    "dispense",  # held: the tool draws back along its own axis, which takes tape off the roll that it holds
    "press",  # held: the tool advances along its own axis, to press tape down
    "pause",
    "step",
    "reset",
    "reload",
    "slow",
    "record",  # start / stop
    "label_success",
    "label_failure",
    "discard",
    "undo",
    "checkpoint",
    "load_checkpoint",
    "rewind",  # back by two seconds
    "last_stage",  # back to where the last stage of the task was reached
    "next_tool",
    "gain_up",
    "gain_down",
    "frame_next",  # world -> camera -> tool
    "axis_lock",  # none -> translation -> rotation
    "to_surface",  # the tool keeps to what lies before it, along its own axis, with a set force; again: no more
    "force_limit",  # the tool pushes no harder than: anything -> 5 N -> 10 N -> 20 N
    "help",
)


@dataclass(frozen=True)
class Command:
    """The operator's intent for one frame, after clutch, deadband, expo, gain and frame. Robot-free and pure."""

    twist: np.ndarray = field(default_factory=_zeros(6))  # [m/s, rad/s] (6,) world frame, linear then angular
    pose_delta: np.ndarray | None = None  # [m, -] (7,) pose devices: motion since engagement, world frame
    gripper_rate: float = 0.0  # [1/s] + closes
    gripper_target: float | None = None  # [0, 1] closure asked by an absolute device, None = keep
    engaged: bool = True  # False while the clutch is out, the sample is invalid or the device is not OK
    verbs: tuple[str, ...] = ()  # press edges to act on, in order
    held: frozenset[str] = frozenset()
