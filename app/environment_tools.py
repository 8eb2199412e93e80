"""Actions of a vector environment as targets of the scene's first tool, in all worlds at once."""

from __future__ import annotations

import numpy as np

from engine.types import mesh_pose

LEAD = 0.03  # [m] that a target may run ahead of a tool that is held back
LEAD_ANGLE = 0.3  # [rad]


class ToolDriver:
    """Integrates velocities into target poses and closures. One tool, W worlds.

    Args: scene, engine: with at least one tool. linear_speed [m/s], angular_speed [rad/s], gripper_speed [1/s] of a
    full action. Raises ValueError for a scene without a tool.
    """

    def __init__(self, scene, engine, linear_speed: float, angular_speed: float, gripper_speed: float):
        if not scene.tools:
            raise ValueError(f"scene '{scene.name}' has no tool to drive; give a body `tool: true`, or a gripper")
        self.tool, self.engine, self.dt = scene.tools[0], engine, float(scene.options.dt)
        self.speeds = (linear_speed, angular_speed, gripper_speed)
        self.row = engine.driven_bodies.index(self.tool.palm)
        self.columns = [engine.driven_joints.index(finger) for finger in self.tool.fingers]
        self.size = 7 if self.columns else 6
        self.pose = engine.control().body_transform[:, self.row].copy()  # (W, 4, 4)
        self.closure = np.zeros(engine.model.num_worlds)
        self.restart(np.arange(engine.model.num_worlds))

    def restart(self, worlds: np.ndarray) -> None:
        """Targets are where the tools are."""
        control = self.engine.control()
        self.pose[worlds] = control.body_transform[worlds, self.row]
        span = self.tool.closed_position - self.tool.open_position
        if self.columns and span:
            at = control.joint_target[worlds][:, self.columns].mean(axis=1)
            self.closure[worlds] = np.clip((at - self.tool.open_position) / span, 0.0, 1.0)

    def control(self, actions: np.ndarray, control):
        """`control` with the tool's targets moved on by one step; actions (W, size) in [-1, 1]."""
        linear, angular, gripper = self.speeds
        reached = self.reached()
        way = self.pose[:, :3, 3] + actions[:, :3] * linear * self.dt - reached[:, :3, 3]
        far = np.linalg.norm(way, axis=1, keepdims=True)
        self.pose[:, :3, 3] = reached[:, :3, 3] + way * np.minimum(1.0, LEAD / np.maximum(far, 1e-12))
        turned = rotations(actions[:, 3:6] * angular * self.dt) @ self.pose[:, :3, :3]
        ahead = np.einsum("wij,wij->w", turned, reached[:, :3, :3])  # trace of the way between: 1 + 2 cos
        near = 0.5 * (ahead - 1.0) > np.cos(LEAD_ANGLE)
        self.pose[near, :3, :3] = turned[near]
        control.body_transform[:, self.row] = self.pose
        if self.columns:
            self.closure = np.clip(self.closure + actions[:, 6] * gripper * self.dt, 0.0, 1.0)
            span = self.tool.closed_position - self.tool.open_position
            control.joint_target[:, self.columns] = (self.tool.open_position + span * self.closure)[:, None]
        return control

    def reached(self) -> np.ndarray:
        """World from the tool's mesh frame, (W, 4, 4)."""
        info = self.engine.model.bodies[self.tool.palm]
        x = self.engine.state.x.numpy().reshape(len(self.pose), -1, 3)
        return mesh_pose(info, x[:, info.node : info.node + 4])

    def observe(self) -> np.ndarray:
        """Place [m], first two columns of the rotation, closure: float32 (W, 10)."""
        pose = self.reached()
        columns = np.swapaxes(pose[:, :3, :2], 1, 2).reshape(len(pose), 6)
        return np.column_stack([pose[:, :3, 3], columns, self.closure]).astype(np.float32)


def rotations(vectors: np.ndarray) -> np.ndarray:
    """Rodrigues, (W, 3) [rad] -> (W, 3, 3)."""
    angle = np.linalg.norm(vectors, axis=1)
    axis = vectors / np.maximum(angle, 1e-300)[:, None]
    k = np.zeros((len(vectors), 3, 3))
    k[:, 0, 1], k[:, 0, 2], k[:, 1, 2] = -axis[:, 2], axis[:, 1], -axis[:, 0]
    k -= np.swapaxes(k, 1, 2).copy()
    return np.eye(3) + np.sin(angle)[:, None, None] * k + (1.0 - np.cos(angle))[:, None, None] * (k @ k)
