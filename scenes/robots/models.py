"""The robots that ship: a parallel gripper, a hand of four fingers and a thumb, and two arms with hands.

Frames: z leaves the palm towards the object (the approach axis). Phalanges run along their own z from joint to joint, x
faces the object, and joints flex about y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scenes.robots.parts import Joint, Link, RobotParts, Solid

MM = 1e-3
QUARTER = 0.5 * np.pi


# Parallel gripper ---------------------------------------------------------------------------------------------------
def parallel_gripper() -> RobotParts:
    """Two fingers that close along x by 40 mm each, with a GelSight-Mini-like pad on each."""
    robot = RobotParts("parallel_gripper")
    robot.links.append(Link("palm", [
        Solid("box", (0.150, 0.062, 0.060), 0.014, (0.0, 0.0, -0.034)),
        Solid("rod", (0.034, 0.050), 0.004, (0.0, 0.0, -0.080), collides=False),
        Solid("box", (0.144, 0.026, 0.010), 0.003, (0.0, 0.0, -0.002), collides=False),
    ], "shell", mesh="gripper_palm"))  # fmt: skip
    finger = [
        Solid("box", (0.020, 0.030, 0.028), 0.004, (0.013, 0.0, 0.018)),
        Solid("box", (0.010, 0.030, 0.062), 0.004, (0.018, 0.0, 0.058)),
        Solid("box", (0.008, 0.024, 0.030), 0.0025, (0.0115, 0.0, 0.075)),
    ]
    robot.links += [Link(f"finger_{side}", finger, "bone", mesh="gripper_finger") for side in ("left", "right")]
    robot.joints += [
        Joint("left_slide", "prismatic", "palm", "finger_left", (0.004, 0.0, 0.004), axis=(1.0, 0.0, 0.0),
              limits=(0.0, 0.040), velocity=0.2, effort=40.0),
        Joint("right_slide", "prismatic", "palm", "finger_right", (-0.004, 0.0, 0.004), (0.0, 0.0, np.pi),
              axis=(1.0, 0.0, 0.0), limits=(0.0, 0.040), velocity=0.2, effort=40.0, mimic=("left_slide", 1.0)),
    ]  # fmt: skip
    for side in ("left", "right"):
        robot.sensors[f"pad_{side}"] = (
            f"link: finger_{side}, preset: gelsight_mini, position: [5.5 mm, 0, 75 mm], rotation: [0, -90 deg, 0]"
        )
    return robot


# Hand ---------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Digit:
    """A finger: place and yaw of its base on the palm, lengths of its three phalanges, its width [m]."""

    name: str
    base: tuple[float, float, float]
    yaw: float
    lengths: tuple[float, float, float]
    width: float


DIGITS = (
    Digit("index", (0.040, 0.033, -0.004), np.pi, (0.044, 0.030, 0.026), 0.017),
    Digit("middle", (0.040, 0.011, -0.001), np.pi, (0.044, 0.030, 0.026), 0.017),
    Digit("ring", (0.040, -0.011, -0.004), np.pi, (0.044, 0.030, 0.026), 0.017),
    Digit("little", (0.040, -0.033, -0.004), np.pi, (0.038, 0.026, 0.026), 0.017),
)
THUMB = Digit("thumb", (0.0, 0.0, 0.010), 0.0, (0.040, 0.034, 0.030), 0.021)
DEPTH = 0.013  # [m] of a phalanx, across the palm's side and its back
AXIS = 0.0015  # [m] how far the joints lie towards the object from the middle of a phalanx
CLEAR = 0.0082  # [m] between a joint and the pads beside it: they stay apart when it is bent by 90 degrees
GEL = 0.003  # [m] thickness of the pads on the fingers


def hand() -> RobotParts:
    """Four fingers of three joints, the last of which follows the one before, an opposed thumb that also turns, and
    pads on the palm and on all phalanges: 17 links, 11 free joints, 16 pads."""
    robot = RobotParts("hand")
    robot.links.append(Link("palm", [
        Solid("box", (0.098, 0.094, 0.026), 0.010, (-0.002, 0.0, -0.017)),
        Solid("rod", (0.032, 0.030), 0.004, (0.0, 0.0, -0.042), collides=False),
        *(Solid("rod", (0.0085, 0.0185), 0.002, (d.base[0], d.base[1], d.base[2]), (QUARTER, 0.0, 0.0), False)
          for d in DIGITS),
    ], "shell", mesh="hand_palm"))  # fmt: skip
    robot.sensors["palm_pad"] = (
        "link: palm, gel: {type: box, size: [42 mm, 76 mm, 4 mm], cells: [4, 6, 2]}, position: [-4 mm, 0, -2 mm], "
        "markers: {rows: 7, columns: 4, pitch: 9 mm}"
    )
    for digit in DIGITS:
        _add_digit(robot, "palm", digit, (-0.35, 1.6))
    robot.links.append(Link("thumb_base", [
        Solid("rod", (0.0125, 0.020), 0.003, (0.0, 0.0, 0.0)),
        Solid("rod", (0.0095, 0.024), 0.002, (0.0, 0.0, 0.010), (QUARTER, 0.0, 0.0), False),
    ], "joint"))  # fmt: skip
    robot.joints.append(
        Joint("thumb_turn", "revolute", "palm", "thumb_base", (-0.044, 0.0, -0.012), limits=(-0.9, 0.9))
    )
    _add_digit(robot, "thumb_base", THUMB, (-0.5, 1.4))
    return robot


def _add_digit(robot: RobotParts, parent: str, digit: Digit, first: tuple[float, float]) -> None:
    """Phalanges NAME_1 .. NAME_3, joints NAME_flex, NAME_curl and NAME_tip, which follows the curl."""
    joints = (("flex", first, None), ("curl", (0.0, 1.6), None), ("tip", (0.0, 1.3), (f"{digit.name}_curl", 0.8)))
    position, rotation = digit.base, (0.0, 0.0, digit.yaw)
    for number, (length, (joint, limits, mimic)) in enumerate(zip(digit.lengths, joints, strict=True), 1):
        link = f"{digit.name}_{number}"
        robot.links.append(_phalanx(link, digit, length, last=number == 3))
        robot.joints.append(Joint(
            f"{digit.name}_{joint}", "revolute", parent, link, position, rotation, (0.0, 1.0, 0.0), limits, mimic=mimic
        ))  # fmt: skip
        robot.sensors[f"{link}_pad"] = _phalanx_pad(link, digit, length, last=number == 3)
        parent, position, rotation = link, (0.0, 0.0, length), (0.0, 0.0, 0.0)


def _phalanx(name: str, digit: Digit, length: float, last: bool) -> Link:
    """A rounded bar from joint to joint, with the knuckle of the next joint; the last one ends in a round tip."""
    end = length if last else length - 0.0015
    bar = Solid("box", (DEPTH, digit.width, end - 0.002), 0.0055, (-AXIS, 0.0, 0.5 * end + 0.001))
    knuckle = Solid("rod", (0.0072, digit.width + 0.001), 0.0015, rotation=(QUARTER, 0.0, 0.0), collides=False)
    mesh = f"phalanx_{1e3 * length:.0f}_{1e3 * digit.width:.0f}{'_tip' if last else ''}"
    return Link(name, [bar, knuckle], "bone", mesh=mesh)


def _phalanx_pad(link: str, digit: Digit, length: float, last: bool) -> str:
    """A pad on the side that faces the object; curved across, and along as well at the tip."""
    low, high = CLEAR, length - (0.0008 if last else CLEAR)
    middle, along, across = 0.5 * (low + high), high - low, digit.width - 0.003
    cells = f"[{max(2, round(along / 0.0045))}, 4, 2]"
    radius_x = "60 mm" if last else "none"
    gel = (
        f"{{type: shell, size: [{1e3 * along:.4g} mm, {1e3 * across:.4g} mm], thickness: {1e3 * GEL:.4g} mm, "
        f"radius_x: {radius_x}, radius_y: 16 mm, cells: {cells}}}"
    )
    top = 0.5 * DEPTH - AXIS + GEL
    pitch = 1e3 * min(along / 4.5, across / 3.5)
    dots = f"markers: {{rows: 3, columns: 4, pitch: {pitch:.3g} mm}}"
    place = f"position: [{1e3 * top:.4g} mm, 0, {1e3 * middle:.4g} mm], rotation: [0, 90 deg, 0]"
    return f"link: {link}, gel: {gel}, {dots}, {place}"


# Arms ---------------------------------------------------------------------------------------------------------------
def arm() -> RobotParts:
    """Six joints, reach 0.68 m to the flange: yaw, shoulder, elbow, forearm, wrist, flange."""
    robot = RobotParts("arm")
    rod, across = "rod", (QUARTER, 0.0, 0.0)
    robot.links += [
        Link("base", [Solid(rod, (0.062, 0.090), 0.010, (0.0, 0.0, 0.045))], "joint"),
        Link("shoulder", [Solid(rod, (0.054, 0.090), 0.016, (0.0, 0.0, 0.045)),
                          Solid(rod, (0.050, 0.116), 0.014, (0.0, 0.0, 0.070), across)], "shell"),
        Link("upper", [Solid(rod, (0.044, 0.250), 0.030, (0.0, 0.0, 0.130)),
                       Solid(rod, (0.046, 0.104), 0.014, (0.0, 0.0, 0.270), across)], "shell"),
        Link("fore", [Solid(rod, (0.038, 0.140), 0.026, (0.0, 0.0, 0.075)),
                      Solid(rod, (0.040, 0.086), 0.012, (0.0, 0.0, 0.0), across, False)], "shell"),
        Link("roll", [Solid(rod, (0.034, 0.100), 0.020, (0.0, 0.0, 0.055)),
                      Solid(rod, (0.036, 0.080), 0.012, (0.0, 0.0, 0.120), across)], "shell"),
        Link("wrist", [Solid(rod, (0.032, 0.060), 0.012, (0.0, 0.0, 0.030))], "joint"),
        Link("flange", [Solid(rod, (0.033, 0.016), 0.004, (0.0, 0.0, 0.008))], "accent"),
    ]  # fmt: skip
    z, y = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    robot.joints += [
        Joint("yaw", "revolute", "base", "shoulder", (0.0, 0.0, 0.092), axis=z, limits=(-2.9, 2.9), velocity=2.5),
        Joint("shoulder_pitch", "revolute", "shoulder", "upper", (0.0, 0.0, 0.070), axis=y, limits=(-2.0, 2.0),
              velocity=2.5),
        Joint("elbow", "revolute", "upper", "fore", (0.0, 0.0, 0.270), axis=y, limits=(-2.5, 2.5), velocity=2.5),
        Joint("forearm_roll", "revolute", "fore", "roll", (0.0, 0.0, 0.147), axis=z, limits=(-2.9, 2.9)),
        Joint("wrist_pitch", "revolute", "roll", "wrist", (0.0, 0.0, 0.120), axis=y, limits=(-2.1, 2.1)),
        Joint("flange_roll", "revolute", "wrist", "flange", (0.0, 0.0, 0.062), axis=z, limits=(-2.9, 2.9)),
    ]  # fmt: skip
    return robot


def two_arms() -> RobotParts:
    """Two arms on one torso, half a metre apart, a hand on each."""
    robot = RobotParts("two_arms")
    robot.links.append(Link("torso", [
        Solid("box", (0.150, 0.280, 0.420), 0.050, (0.0, 0.0, 0.250)),
        Solid("rod", (0.060, 0.520), 0.020, (0.0, 0.0, 0.410), (QUARTER, 0.0, 0.0)),
        Solid("box", (0.320, 0.320, 0.040), 0.012, (0.0, 0.0, 0.020)),
    ], "shell"))  # fmt: skip
    for side, sign in (("left", 1.0), ("right", -1.0)):
        place = (0.0, sign * 0.262, 0.410), (-sign * QUARTER, 0.0, 0.0)
        robot.include(arm(), f"{side}_", Joint(f"{side}_mount", "fixed", "torso", f"{side}_base", *place))
        palm = Joint(f"{side}_palm_mount", "fixed", f"{side}_flange", f"{side}_palm", (0.0, 0.0, 0.073))
        robot.include(hand(), f"{side}_", palm)
    return robot


ROBOTS = {"parallel_gripper": parallel_gripper, "hand": hand, "two_arms": two_arms}
