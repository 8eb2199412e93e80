"""From the targets of a robot's end effectors to the poses of all its links: inverse kinematics, grippers, limits.

The coordinates that are asked for are not kept anywhere else than in the targets of the links, from which they are read
back: so a checkpoint or a state that is loaded brings them along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.robots.inverse import InverseOptions, PoseTarget, solve_inverse

EVERY_STEP = InverseOptions(tolerance=1e-6, angle_tolerance=1e-5, iterations=12, posture_gain=0.02)
OUT_OF_REACH, OUT_OF_ANGLE = 1e-3, 1e-2  # [m], [rad] short of its target that is told


def press_share(load: np.ndarray) -> np.ndarray:
    """Share of its speed with which a joint goes on closing, by the load that it feels over its effort: 1 up to half
    of it, 0 from 0.9 to 1.3 (so that a grasp comes to rest), and back at up to half of its speed above."""
    load = np.asarray(load, dtype=np.float64)
    return np.where(load < 0.9, np.clip((0.9 - load) / 0.4, 0.0, 1.0), np.clip((1.3 - load) / 0.4, -0.5, 0.0))


class RobotDriver:
    """Targets of one robot that has end effectors.

    Args:
        robot: scenes.robot.Robot. tools: its tools among the operator's, (number of the tool, scenes.robot.RobotTool).
        driven: names of the rows of Control.body_transform.
    """

    def __init__(self, robot: Any, tools: Sequence[tuple[int, Any]], driven: Sequence[str]):
        self.robot, self.tools = robot, list(tools)
        self._rows = {body: list(driven).index(body) for body in robot.bodies}
        self._posture = robot.start
        self.q, self.base = robot.start.copy(), robot.base.copy()
        k = robot.kinematics
        fingers = [tool.fingers for _, tool in self.tools]
        self._fingers = np.unique(np.concatenate(fingers)) if fingers else np.zeros(0, int)
        arm = [tool.arm for _, tool in self.tools if not tool.moves_base]
        self._arm = np.unique(np.concatenate(arm)) if arm else np.zeros(0, int)
        self._speed = np.where(np.isfinite(k.velocity), k.velocity, 10.0)  # [rad/s, m/s] where the file says nothing

    def settle(self, control) -> None:
        """The coordinates of the targets in `control`."""
        self.q, self.base = self.robot.coordinates(
            {body: control.body_transform[0, row] for body, row in self._rows.items()}
        )

    def closure(self, tool: Any) -> float:
        """How far the gripper of a tool is closed by its targets, 0 to 1; 0 without fingers."""
        span = tool.closed - tool.opened
        moves = span != 0.0
        if not moves.any():
            return 0.0
        share = (self.q[tool.fingers] - tool.opened)[moves] / span[moves]
        return float(np.clip(share.mean(), 0.0, 1.0))

    def command(
        self,
        targets: Sequence,
        closures: Sequence[float],
        dt: float,
        engine,
        hands: dict[int, np.ndarray] | None = None,
    ) -> dict[int, tuple[str, ...]]:
        """One step of the coordinates. targets: (4, 4) world from palm, by number of the tool; closures likewise.
        hands: coordinates (n,) that an operator's hand asks of a tool, in place of its closure; NaN = not asked.

        Returns what held a tool back, by its number.
        """
        held: dict[int, tuple[str, ...]] = {number: () for number, _ in self.tools}
        hands = hands or {}
        if (len(self._fingers) or hands) and dt > 0.0:
            reached = self.robot.coordinates({body: engine.body_transform(body) for body in self._rows})[0]
            self._close(closures, reached, self.resistance(engine), dt, held, hands)
            self._follow(reached, dt, hands)
        self._move_base(targets)
        self._move_arms(targets, dt, held)
        return held

    def write(self, control) -> None:
        """The link poses into world 0 of a Control."""
        for body, pose in self.robot.transforms(self.q, self.base).items():
            control.body_transform[0, self._rows[body]] = pose

    def resistance(self, engine) -> np.ndarray:
        """Force or moment with which contact pushes each coordinate, (n,) [N or N m]: J^T of what touches links and
        their gels, at the end of the last step in world 0."""
        signals, x, k = engine.signals(), engine.positions(), self.robot.kinematics
        force = signals.contact_force[0] + signals.friction_force[0]
        poses, total = k.forward(self.q), np.zeros(k.size)
        turn = self.base[:3, :3].T  # world to base
        for mesh, body in (*((body, body) for body in self.robot.bodies), *self.robot.gels.items()):
            points = engine.model.meshes[mesh].points
            pushes = force[points]
            if not pushes.any():
                continue
            link = self.robot.bodies[body]
            origin = poses[k.link_index(link)][:3, 3]
            arm = x[points] - (self.base[:3, :3] @ origin + self.base[:3, 3])
            jacobian = k.jacobian(poses, link, origin)
            total += jacobian[:3].T @ (turn @ pushes.sum(axis=0))
            total += jacobian[3:].T @ (turn @ np.cross(arm, pushes).sum(axis=0))
        return total

    def _follow(self, reached: np.ndarray, dt: float, hands: dict[int, np.ndarray]) -> None:
        """Joints that a hand moves and a gripper does not (a thumb's turn), at their speed and within their lead."""
        for number, tool in self.tools:
            asked = hands.get(number)
            if asked is None:
                continue
            i = np.setdiff1d(np.flatnonzero(np.isfinite(asked)), tool.fingers)
            step = np.clip(asked[i] - self.q[i], -self._speed[i] * dt, self._speed[i] * dt)
            ahead = np.maximum(self.robot.lead, np.abs(self.q[i] - reached[i]))
            q = self.q.copy()
            q[i] = np.clip(self.q[i] + step, reached[i] - ahead, reached[i] + ahead)
            self.q = self.robot.kinematics.clip(q)

    def _close(self, closures, reached: np.ndarray, pushed: np.ndarray, dt: float, held: dict, hands: dict) -> None:
        """Gripper joints go towards their closure until contact resists with their effort: each finger closes until it
        touches and then presses. Where a drive is held back, the target stays within the robot's lead of the joint."""
        for number, tool in self.tools:
            i, travel = tool.fingers, tool.closed - tool.opened
            if not len(i):
                continue
            inwards, speed = np.sign(travel), np.minimum(self._speed[i], np.abs(travel) / tool.closing_time)
            wished = tool.opened + travel * closures[number]
            if number in hands:
                speed, wished = self._speed[i], np.where(np.isfinite(hands[number][i]), hands[number][i], wished)
            step = wished - self.q[i]
            most = np.where(step * inwards > 0.0, speed, self._speed[i]) * dt  # it opens as fast as it can
            step = np.clip(step, -most, most)
            share = press_share(-inwards * pushed[i] / tool.effort)
            step = np.where(step * inwards > 0.0, step * share, step)
            # Held at its closure, a joint that is pressed too hard gives way.
            step = np.where((share < 0.0) & (step * inwards >= 0.0), share * inwards * speed * dt, step)
            ahead = np.maximum(self.robot.lead, np.abs(self.q[i] - reached[i]))
            asked = np.clip(self.q[i] + step, reached[i] - ahead, reached[i] + ahead)
            if (share < 1.0).any():
                held[number] += ("gripping",)
            q = self.q.copy()
            q[i] = asked
            self.q = self.robot.kinematics.clip(q)

    def _move_base(self, targets) -> None:
        for number, tool in self.tools:
            if tool.moves_base:
                k = self.robot.kinematics
                poses = k.forward(self.q)
                self.base = targets[number] @ np.linalg.inv(poses[k.link_index(self.robot.bodies[tool.body])])

    def _move_arms(self, targets, dt: float, held: dict) -> None:
        arms = [(number, tool) for number, tool in self.tools if not tool.moves_base]
        if not arms or dt <= 0.0:
            return
        k, world = self.robot.kinematics, np.linalg.inv(self.base)
        poses = k.forward(self.q)
        asked = []
        for number, tool in arms:
            head = poses[k.link_index(self.robot.bodies[tool.body])]
            palm_from_tool = np.linalg.inv(head) @ poses[k.link_index(tool.link)] @ tool.frame
            pose = world @ targets[number] @ palm_from_tool
            asked.append(PoseTarget(tool.link, pose, tool.frame, tool.lever))
        reach = np.zeros(k.size)
        reach[self._arm] = self._speed[self._arm] * dt
        found = solve_inverse(k, asked, self.q, self._posture, reach, EVERY_STEP)
        self.q = found.q
        if found.position_error > OUT_OF_REACH or found.angle_error > OUT_OF_ANGLE:
            for number, _ in arms:
                held[number] += (found.sentence(),)
