"""An operator's hand moves the fingers of a robot hand: which robot hand can, where its fingertips are, what is asked.

Hands without thumb and index finger (grippers) are closed by the pinch instead, as by any absolute gripper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from app.retarget import HandMap, Retargeter, find_fingertips, fit_hand

FINGERTIP = 0.06  # share of a link's length, from its end, whose vertices are the fingertip


class HandFollowing:
    """Keeps one `Retargeter` a tool of a robot with fingers."""

    def __init__(self):
        self._followers: dict[tuple[int, int, str], Retargeter | None] = {}
        self._asked: dict[int, np.ndarray] = {}  # by tool: the last coordinates, NaN = not asked

    def forget(self) -> None:
        """Another scene, or a reset: the next hand starts from where the robot is."""
        self._followers.clear()
        self._asked.clear()

    def follow(self, driver: Any, hands: dict[int, tuple[Any, bool, str]], engine) -> dict[int, np.ndarray]:
        """Tool -> coordinates (n,) for its fingers. driver: app.robots.RobotDriver. hands: tool -> (joints, does it
        drive now, side). A hand that does not drive leaves the fingers where they are."""
        for number, _ in driver.tools:
            if number not in hands:
                self._asked.pop(number, None)
                continue
            joints, engaged, side = hands[number]
            follower = self._follower(driver, number, side, engine)
            if follower is None:
                continue
            if engaged:
                asked = np.full(driver.robot.kinematics.size, np.nan)
                asked[follower.joints] = follower(joints).q[follower.joints]
                self._asked[number] = asked
        own = {number for number, _ in driver.tools}
        return {number: asked for number, asked in self._asked.items() if number in own}

    def _follower(self, driver: Any, number: int, side: str, engine) -> Retargeter | None:
        key = (id(driver), number, side)
        if key not in self._followers:
            fit = hand_map(driver.robot, engine.model, side)
            self._followers[key] = None if fit is None else Retargeter(driver.robot.kinematics, fit, driver.q)
        return self._followers[key]


def hand_map(robot: Any, model: Any, side: str) -> HandMap | None:
    """The map of a scene's robot (scenes.robot.Robot), its fingertips read off its meshes; None when it is no hand."""
    kinematics = robot.kinematics
    try:
        tips = find_fingertips(kinematics)
    except ValueError:
        return None
    bodies = {link: body for body, link in robot.bodies.items()}
    points = {
        finger: fingertip(np.asarray(model.meshes[bodies[link]].rest))
        for finger, link in tips.items()
        if link in bodies and model.meshes[bodies[link]].rest is not None
    }
    return fit_hand(kinematics, tips, points, robot.start, side)


def fingertip(vertices: np.ndarray) -> np.ndarray:
    """(3,) the end of a link (n, 3) [m] that is furthest from its joint, which is the origin of its frame."""
    along = vertices.mean(axis=0)
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return np.zeros(3)
    height = vertices @ (along / length)
    return vertices[height >= height.max() - FINGERTIP * max(float(np.ptp(height)), 1e-9)].mean(axis=0)
