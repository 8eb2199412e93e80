"""Robots of a few lines, for tests."""

from __future__ import annotations

import numpy as np

from engine.robots.description import Mimic, RobotDescription, RobotJoint, RobotLink


def shifted(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def joint(name: str, parent: str, child: str, **keys) -> RobotJoint:
    values = {"kind": "revolute", "origin": shifted(), "axis": np.array([0.0, 0.0, 1.0]), "lower": -3.0, "upper": 3.0}
    values |= keys
    return RobotJoint(name=name, parent=parent, child=child, **values)


def planar(lengths=(0.3, 0.2), **limits) -> RobotDescription:
    """An arm in the x-y plane: joints j1, j2, .. about z; its last link is `tip`, at the end."""
    names = ["base", *(f"l{i + 1}" for i in range(len(lengths))), "tip"]
    origins = [shifted(), *(shifted(x) for x in lengths)]
    joints = [
        joint(f"j{i + 1}", names[i], names[i + 1], origin=origins[i], **limits) for i in range(len(lengths))
    ]  # fmt: skip
    joints.append(joint("end", names[-2], "tip", kind="fixed", origin=origins[-1]))
    return RobotDescription("planar", tuple(map(RobotLink, names)), tuple(joints))


def mixed() -> RobotDescription:
    """Six joints of all kinds on skewed axes, two of which mimic: a chain of mimics and one with an offset."""
    turn = np.eye(4)
    turn[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    joints = (
        joint("a", "base", "l1", axis=np.array([1.0, 2.0, -0.5]), origin=shifted(0.1, 0.0, 0.2)),
        joint("b", "l1", "l2", kind="prismatic", axis=np.array([0.0, 3.0, 4.0]), lower=-0.1, upper=0.3),
        joint("c", "l2", "l3", kind="continuous", axis=np.array([0.0, 1.0, 0.0]), origin=turn @ shifted(0.2)),
        joint("d", "l3", "l4", mimic=Mimic("a", -0.5, 0.2), axis=np.array([1.0, 0.0, 0.0]), origin=shifted(0.0, 0.1)),
        joint("e", "l4", "l5", mimic=Mimic("d", 2.0, -0.1), axis=np.array([0.0, 1.0, 1.0]), origin=shifted(0.05)),
        joint("f", "l5", "l6", kind="fixed", origin=shifted(0.02, 0.03, 0.04)),
        joint("g", "l6", "tip", axis=np.array([0.0, 0.0, -2.0]), origin=turn),
    )
    names = ("base", "l1", "l2", "l3", "l4", "l5", "l6", "tip")
    return RobotDescription("mixed", tuple(map(RobotLink, names)), joints)
