"""Steady forces on bodies from outside: how hard something holds is found by pulling at it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import warp as wp

from engine.types import Model


def pushed(model: Model, forces: dict[tuple[str, int], np.ndarray]) -> Model:
    """`model` with forces (3,) [N], world frame, at the centres of mass of bodies, by (body, world): they act as
    acceleration beside gravity. The model itself when there are none."""
    if not forces:
        return model
    gravity = model.node_gravity.numpy().copy()
    per_world = len(model.body_node) // model.num_worlds
    for (name, world), force in forces.items():
        row = world * per_world + list(model.bodies).index(name)
        gravity[model.body_node.numpy()[row]] += force / model.bodies[name].mass
    return replace(model, node_gravity=wp.array(gravity, dtype=wp.vec3d, device=model.device))
