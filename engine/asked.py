"""State and Control of a model at its start, and a Control that was asked for: checked, handed to the energies."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.types import Control, Model, State, mesh_pose


def initial_state(model: Model, dt: float) -> State:
    """Everything where the builder put it, at time 0."""
    x, v = model.node_start.numpy(), model.node_start_velocity.numpy()

    def array(values):
        return wp.array(values, dtype=wp.vec3d, device=model.device)

    return State(
        x=array(x),
        v=array(v),
        x_prev=array(x - dt * v),
        v_prev=array(v),
        step_index=np.zeros(model.num_worlds, np.int64),
        time=np.zeros(model.num_worlds),
    )


def driven_bodies(model: Model) -> list:
    """Rows of Control.body_transform: BodyInfo."""
    return [body for body in model.bodies.values() if body.driven]


def driven_joints(model: Model) -> list:
    """Columns of Control.joint_target: JointInfo."""
    return [joint for joint in model.joints.values() if joint.drive is not None]


def initial_control(model: Model) -> Control:
    """Driven bodies stay where they start, driven joints too."""
    worlds, driven, joints = model.num_worlds, driven_bodies(model), driven_joints(model)
    x = model.node_start.numpy().reshape(worlds, -1, 3)
    transforms = np.tile(np.eye(4), (worlds, len(driven), 1, 1))
    for d, body in enumerate(driven):
        transforms[:, d] = mesh_pose(body, x[:, body.node : body.node + 4])
    targets = np.zeros((worlds, len(joints)))
    for j, joint in enumerate(joints):
        values = joint.coordinate.parameters["target"].reshape(worlds, -1)  # the device array has today's
        targets[:, j] = values[:, joint.element]
    return Control(transforms, targets)


def checked_control(control: Control, model: Model) -> Control:
    """A copy. Raises ValueError for arrays of another shape, or not finite."""
    driven, joints = ([part.name for part in parts] for parts in (driven_bodies(model), driven_joints(model)))
    shapes = {
        "body_transform": (model.num_worlds, len(driven), 4, 4), "joint_target": (model.num_worlds, len(joints))
    }  # fmt: skip
    for name, shape in shapes.items():
        value = np.asarray(getattr(control, name), float)
        if value.shape != shape:
            raise ValueError(
                f"Control.{name} has shape {value.shape}; this model needs {shape} "
                f"(driven bodies: {driven}, driven joints: {joints})"
            )
        if not np.isfinite(value).all():
            raise ValueError(f"Control.{name} holds values that are not finite")
    return Control(np.array(control.body_transform, float), np.array(control.joint_target, float))


def write_joint_targets(model: Model, joint_target: np.ndarray) -> None:
    """joint_target (W, J) into the energies of `model`, which may be a reduced one."""
    by_energy: dict[int, tuple] = {}
    for j, joint in enumerate(driven_joints(model)):
        by_energy.setdefault(id(joint.coordinate), (joint.coordinate, []))[1].append((joint.element, j))
    for energy, rows in by_energy.values():
        values = energy.target.numpy().copy().reshape(model.num_worlds, -1)
        for element, j in rows:
            values[:, element] = joint_target[:, j]
        energy.target.assign(values.reshape(-1))
