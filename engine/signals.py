"""Read-outs after a step: contact and friction force on every point, drives, joints."""

from __future__ import annotations

import numpy as np

from engine.asked import driven_joints
from engine.types import Signals


def read_signals(engine) -> Signals:
    """Forces are those on the points (minus the energies' gradients) at the end of the last step [N]."""
    model, system = engine.model, engine.newton.system
    worlds, points = model.num_worlds, model.points_per_world
    contact = friction = np.zeros((worlds, points, 3))
    count, gap = np.zeros(worlds, np.int64), np.full(worlds, np.inf)
    if system.has_contact:
        engine.read_contact()
        contact = _point_forces(system.contacts, engine)
        friction = _point_forces(system.friction.blocks, engine)
        active = system.active.numpy()[: int(system.active_count.numpy()[0])]
        count = np.bincount(system.candidates.world.numpy()[active], minlength=worlds)
        gap = system.worlds.min_gap.numpy().copy()
    drive_gap, drive_force = _drives(engine)
    joint_position, joint_force = _joints(engine)
    return Signals(contact, friction, drive_gap, drive_force, joint_position, joint_force, count, gap)


def _point_forces(blocks, engine) -> np.ndarray:
    n = int(blocks.count.numpy()[0])
    forces = np.zeros((engine.model.num_points, 3))
    if n:
        points = whole_ids(engine, blocks.points.numpy()[:n].reshape(-1))
        np.subtract.at(forces, points, blocks.gradient.numpy()[:n].reshape(-1, 3))
    return forces.reshape(engine.model.num_worlds, -1, 3)


def whole_ids(engine, points: np.ndarray) -> np.ndarray:
    """Point ids of the stepper's model in the whole model."""
    return points if engine.reduction is None else engine.reduction.points[points]


def _drives(engine) -> tuple[np.ndarray, np.ndarray]:
    """Gap: target minus reached origin. Force: what the body needs beside contact and its energies, by its balance of
    momentum, so it is right for a satisfied drive (which holds without a spring) as for a limited one."""
    drives, worlds = engine.newton.drives, engine.model.num_worlds
    gap, force = np.zeros((worlds, drives.count, 3)), np.zeros((worlds, drives.count, 3))
    if drives.energy is None:
        return gap, force
    x = engine.newton.state.x.numpy()
    target = drives.energy.target.numpy().reshape(worlds, drives.count, 4, 3)
    reaction = engine.newton.body_reaction()
    stepped = engine.newton.model
    rows = [list(stepped.bodies).index(body.name) for body in drives.infos]
    for w in range(worlds):
        for d, row in enumerate(rows):
            node = int(stepped.body_node.numpy()[w * stepped.bodies_per_world + row])
            gap[w, d] = target[w, d, 0] - x[node]
            force[w, d] = reaction[node]
    return gap, force


def _joints(engine) -> tuple[np.ndarray, np.ndarray]:
    joints, worlds = driven_joints(engine.model), engine.model.num_worlds
    position, force = np.zeros((worlds, len(joints))), np.zeros((worlds, len(joints)))
    x = engine.newton.system.points.numpy()
    for j, asked in enumerate(joints):
        joint = engine.newton.model.joints[asked.name]
        energy = joint.coordinate
        position[:, j] = energy.coordinate_host(x).reshape(worlds, -1)[:, joint.element]
        force[:, j] = energy.force_host(x).reshape(worlds, -1)[:, joint.element]
    return position, force


def touching_vertices(engine, meshes, world: int) -> dict[str, np.ndarray]:
    """Vertices of shells and solids in active contact with one of the named meshes, local ids by mesh."""
    system, model = engine.newton.system, engine.model
    unknown = [name for name in meshes if name not in model.meshes]
    if unknown:
        raise KeyError(f"no mesh '{unknown[0]}'; available: {', '.join(model.meshes)}")
    if not system.has_contact:
        return {}
    engine.read_contact()
    active = system.active.numpy()[: int(system.active_count.numpy()[0])]
    stencils = whole_ids(engine, system.candidates.points.numpy()[active]) - world * model.points_per_world

    def belongs(info):
        return (stencils >= info.points.start) & (stencils < info.points.stop)

    touched = np.zeros(len(stencils), bool)
    for name in meshes:
        touched |= belongs(model.meshes[name]).any(axis=1)
    found = {}
    for name, info in model.meshes.items():
        if info.kind in ("shell", "solid") and name not in meshes:
            vertices = np.unique(stencils[touched][belongs(info)[touched]]) - info.points.start
            if len(vertices):
                found[name] = vertices
    return found
