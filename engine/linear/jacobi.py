"""Block Jacobi: inverse 3x3 blocks of free nodes, inverse 12x12 blocks of affine bodies."""

from __future__ import annotations

import numpy as np
import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def invert_nodes_kernel(
    node_body: wp.array(dtype=int),
    diagonal: wp.array(dtype=int),
    values: wp.array(dtype=wp.mat33d),
    extra: wp.array(dtype=wp.mat33d),
    inverse_out: wp.array(dtype=wp.mat33d),
):
    i = wp.tid()
    if node_body[i] < 0:
        inverse_out[i] = wp.inverse(values[diagonal[i]] + extra[i])


@wp.kernel
def invert_bodies_kernel(
    body_slot: wp.array2d(dtype=int),
    values: wp.array(dtype=wp.mat33d),
    extra: wp.array2d(dtype=wp.mat33d),
    inverse_out: wp.array2d(dtype=wp.mat33d),
):
    """Gauss-Jordan on 3x3 blocks; the matrix is positive definite, so its pivot blocks are invertible in order."""
    b = wp.tid()
    for k in range(int(16)):
        inverse_out[b, k] = values[body_slot[b, k]] + extra[b, k]
    for p in range(int(4)):
        pivot = wp.inverse(inverse_out[b, p * 4 + p])
        for j in range(int(4)):
            if j != p:
                inverse_out[b, p * 4 + j] = pivot * inverse_out[b, p * 4 + j]
        for i in range(int(4)):
            if i != p:
                left = inverse_out[b, i * 4 + p]
                for j in range(int(4)):
                    if j != p:
                        inverse_out[b, i * 4 + j] = inverse_out[b, i * 4 + j] - left * inverse_out[b, p * 4 + j]
                inverse_out[b, i * 4 + p] = -left * pivot
        inverse_out[b, p * 4 + p] = pivot


@wp.kernel
def apply_kernel(
    node_body: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    inverse: wp.array(dtype=wp.mat33d),
    body_inverse: wp.array2d(dtype=wp.mat33d),
    r: wp.array(dtype=wp.vec3d),
    z_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    z = wp.vec3d()
    if node_free[i] == 1:
        b = node_body[i]
        if b < 0:
            z = inverse[i] * r[i]
        else:
            first = body_node[b]
            for k in range(int(4)):
                z = z + body_inverse[b, (i - first) * 4 + k] * r[first + k]
    z_out[i] = z


class BlockJacobi:
    def __init__(self, model, assembly):
        device = model.device
        self.model, self.assembly, self.device = model, assembly, device
        bodies = model.num_worlds * model.bodies_per_world
        slots = np.zeros((max(bodies, 1), 16), np.int32)
        pattern = assembly.pattern
        for b, first in enumerate(model.body_node.numpy()[:bodies] if bodies else ()):
            for i in range(4):
                row = slice(pattern.row_start[first + i], pattern.row_start[first + i + 1])
                start = pattern.row_start[first + i] + np.searchsorted(pattern.column[row], first)
                slots[b, i * 4 : i * 4 + 4] = start + np.arange(4)
        self.num_bodies = bodies
        self.body_slot = wp.array(slots, dtype=int, device=device)
        self.inverse = wp.zeros(model.num_nodes, dtype=wp.mat33d, device=device)
        self.body_inverse = wp.zeros((max(bodies, 1), 16), dtype=wp.mat33d, device=device)
        # contributions of stencils that stay matrix-free
        self.extra = wp.zeros(model.num_nodes, dtype=wp.mat33d, device=device)
        self.body_extra = wp.zeros((max(bodies, 1), 16), dtype=wp.mat33d, device=device)

    def launch_clear(self) -> None:
        self.extra.zero_()
        self.body_extra.zero_()

    def launch_factor(self) -> None:
        a, m = self.assembly, self.model
        wp.launch(
            invert_nodes_kernel,
            m.num_nodes,
            [m.node_body, a.diagonal, a.values, self.extra],
            [self.inverse],
            device=self.device,
        )
        if self.num_bodies:
            wp.launch(
                invert_bodies_kernel,
                self.num_bodies,
                [self.body_slot, a.values, self.body_extra],
                [self.body_inverse],
                device=self.device,
            )

    def launch_apply(self, r, z, node_free) -> None:
        m = self.model
        wp.launch(
            apply_kernel,
            m.num_nodes,
            [m.node_body, node_free, m.body_node, self.inverse, self.body_inverse, r],
            [z],
            device=self.device,
        )
