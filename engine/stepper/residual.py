"""True residual of the step: the unbalanced impulse as a velocity, beside the size of the update.

residual_w = h * sqrt(g^T M^-1 g / total mass) [m/s], over free nodes of a world: the mass-weighted root mean square
of the velocity error that the remaining gradient g would cause in one step.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.stepper.worlds import Worlds

wp.set_module_options({"enable_backward": False})


@wp.kernel
def residual_kernel(
    node_world: wp.array(dtype=int),
    node_body: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    node_mass: wp.array(dtype=wp.float64),
    body_inverse: wp.array(dtype=wp.mat44d),
    node_free: wp.array(dtype=int),
    gradient: wp.array(dtype=wp.vec3d),
    s: Worlds,
    residual_out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    w = node_world[i]
    # a converged world keeps the residual of its last linearisation
    if node_free[i] == 1 and s.active[w] == 1:
        b = node_body[i]
        value = wp.float64(0.0)
        if b < 0:
            value = wp.dot(gradient[i], gradient[i]) / node_mass[i]
        else:
            first = body_node[b]
            m = body_inverse[b]
            for k in range(int(4)):
                value = value + m[i - first, k] * wp.dot(gradient[i], gradient[first + k])
        wp.atomic_add(residual_out, w, value)


@wp.kernel
def clear_kernel(s: Worlds, residual_out: wp.array(dtype=wp.float64)):
    w = wp.tid()
    if s.active[w] == 1:
        residual_out[w] = wp.float64(0.0)


class Residual:
    def __init__(self, model):
        self.model, self.device = model, model.device
        bodies = model.num_worlds * model.bodies_per_world
        inverse = np.zeros((max(bodies, 1), 4, 4))
        massive = model.body_mass.numpy()[:bodies, 0, 0] > 0.0 if bodies else np.zeros(0, bool)
        inverse[np.flatnonzero(massive)] = np.linalg.inv(
            model.body_mass.numpy()[:bodies][massive]
        )  # carriers may be empty
        self.body_inverse = wp.array(inverse, dtype=wp.mat44d, device=self.device)
        self.squared = wp.zeros(model.num_worlds, dtype=wp.float64, device=self.device)
        mass = np.zeros(model.num_worlds)
        np.add.at(mass, model.node_world.numpy(), model.node_mass.numpy())
        if bodies:
            np.add.at(
                mass, model.node_world.numpy()[model.body_node.numpy()[:bodies]], model.body_mass.numpy()[:bodies, 0, 0]
            )
        self.total_mass = np.maximum(mass, 1e-300)

    def launch(self, gradient, node_free, worlds: Worlds) -> None:
        m = self.model
        wp.launch(clear_kernel, m.num_worlds, [worlds], [self.squared], device=self.device)
        wp.launch(
            residual_kernel,
            m.num_nodes,
            [m.node_world, m.node_body, m.body_node, m.node_mass, self.body_inverse, node_free, gradient, worlds],
            [self.squared],
            device=self.device,
        )

    def velocity(self, h: float) -> np.ndarray:
        """[m/s] (W,)"""
        return h * np.sqrt(np.maximum(self.squared.numpy(), 0.0) / self.total_mass)
