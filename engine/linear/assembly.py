"""Gradient and matrix of the incremental potential from element contributions; the matrix-vector product."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.linear.pattern import Gather, Pattern

wp.set_module_options({"enable_backward": False})


@wp.kernel
def gather_matrix_kernel(
    # Pattern:
    upper_slot: wp.array(dtype=int),
    lower_slot: wp.array(dtype=int),
    mass: wp.array(dtype=wp.float64),
    gather_start: wp.array(dtype=int),
    gather_block: wp.array(dtype=int),
    gather_weight: wp.array(dtype=wp.float64),
    # In:
    element_blocks: wp.array(dtype=wp.mat33d),
    step_size: wp.array(dtype=wp.float64),
    # Out:
    values_out: wp.array(dtype=wp.mat33d),
):
    u = wp.tid()
    h = step_size[0]
    m = mass[u] / (h * h)
    z = wp.float64(0.0)
    total = wp.mat33d(m, z, z, z, m, z, z, z, m)
    for g in range(gather_start[u], gather_start[u + 1]):
        block = gather_block[g]
        if block >= 0:
            total = total + element_blocks[block] * gather_weight[g]
        else:
            total = total + wp.transpose(element_blocks[-1 - block]) * gather_weight[g]
    values_out[upper_slot[u]] = total
    if lower_slot[u] != upper_slot[u]:
        values_out[lower_slot[u]] = wp.transpose(total)


@wp.kernel
def gather_gradient_kernel(
    # Pattern:
    node_gather_start: wp.array(dtype=int),
    node_gather_slot: wp.array(dtype=int),
    node_gather_weight: wp.array(dtype=wp.float64),
    # In:
    element_gradient: wp.array(dtype=wp.vec3d),
    # Out:
    gradient_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    total = wp.vec3d()
    for g in range(node_gather_start[i], node_gather_start[i + 1]):
        total = total + element_gradient[node_gather_slot[g]] * node_gather_weight[g]
    gradient_out[i] = gradient_out[i] + total


@wp.kernel
def inertia_gradient_kernel(
    node_mass: wp.array(dtype=wp.float64),
    node_body: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    body_mass: wp.array(dtype=wp.mat44d),
    x: wp.array(dtype=wp.vec3d),
    x_tilde: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    gradient_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    h = step_size[0]
    body = node_body[i]
    if body < 0:
        gradient_out[i] = (x[i] - x_tilde[i]) * (node_mass[i] / (h * h))
    else:
        first = body_node[body]
        m = body_mass[body]
        total = wp.vec3d()
        for k in range(int(4)):
            total = total + (x[first + k] - x_tilde[first + k]) * m[i - first, k]
        gradient_out[i] = total / (h * h)


@wp.kernel
def inertia_value_kernel(
    node_mass: wp.array(dtype=wp.float64),
    node_body: wp.array(dtype=int),
    node_world: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    body_mass: wp.array(dtype=wp.mat44d),
    x: wp.array(dtype=wp.vec3d),
    x_tilde: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    world_energy_out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    h = step_size[0]
    body = node_body[i]
    d = x[i] - x_tilde[i]
    value = wp.float64(0.0)
    if body < 0:
        value = node_mass[i] * wp.dot(d, d)
    else:
        first = body_node[body]
        m = body_mass[body]
        for k in range(int(4)):
            value = value + m[i - first, k] * wp.dot(d, x[first + k] - x_tilde[first + k])
    wp.atomic_add(world_energy_out, node_world[i], value / (wp.float64(2.0) * h * h))


class Assembly:
    """Owns element scratch, the block matrix and the gradient of one model."""

    def __init__(self, model, energies, pattern: Pattern, gather: Gather):
        """The lists of `gather` are taken over: on the CPU they are not copied."""
        device = model.device
        self.model, self.energies, self.pattern, self.device = model, energies, pattern, device

        def array(a, dtype, copy=True):
            return wp.array(a, dtype=dtype, device=device, copy=copy)

        self.row_start = array(pattern.row_start, int)
        self.column = array(pattern.column, int)
        self.diagonal = array(pattern.diagonal, int)
        self.upper_slot, self.lower_slot = array(pattern.upper_slot, int), array(pattern.lower_slot, int)
        self.mass = array(pattern.mass, wp.float64)
        self.gather_start = array(gather.gather_start, int, copy=False)
        self.gather_block = array(gather.gather_block, int, copy=False)
        self.gather_weight = array(gather.gather_weight, wp.float64, copy=False)
        self.node_gather_start = array(gather.node_gather_start, int, copy=False)
        self.node_gather_slot = array(gather.node_gather_slot, int, copy=False)
        self.node_gather_weight = array(gather.node_gather_weight, wp.float64, copy=False)
        num_blocks = sum(e.num_elements * e.num_blocks for e in energies)
        num_gradients = sum(e.num_elements * e.stencil_size for e in energies)
        self.element_blocks = wp.zeros(max(num_blocks, 1), dtype=wp.mat33d, device=device)
        self.element_gradient = wp.zeros(max(num_gradients, 1), dtype=wp.vec3d, device=device)
        self.values = wp.zeros(max(len(pattern.column), 1), dtype=wp.mat33d, device=device)
        self.gradient = wp.zeros(model.num_nodes, dtype=wp.vec3d, device=device)
        self._views = []
        g = b = 0
        for energy in energies:
            ng, nb = energy.num_elements * energy.stencil_size, energy.num_elements * energy.num_blocks
            self._views.append((self.element_gradient[g : g + ng], self.element_blocks[b : b + nb]))
            g, b = g + ng, b + nb

    def launch(self, inputs, x_nodes, x_tilde) -> None:
        """Fill `gradient` [N] and `values` [N/m] at the positions in inputs.x; contact is added afterwards."""
        model = self.model
        for energy, (gradient, blocks) in zip(self.energies, self._views, strict=True):
            energy.launch_derivatives(inputs, gradient, blocks)
        wp.launch(
            inertia_gradient_kernel,
            model.num_nodes,
            [model.node_mass, model.node_body, model.body_node, model.body_mass, x_nodes, x_tilde, inputs.step_size],
            [self.gradient],
            device=self.device,
        )
        wp.launch(
            gather_gradient_kernel,
            model.num_nodes,
            [self.node_gather_start, self.node_gather_slot, self.node_gather_weight, self.element_gradient],
            [self.gradient],
            device=self.device,
        )
        wp.launch(
            gather_matrix_kernel,
            len(self.pattern.upper_slot),
            [
                self.upper_slot,
                self.lower_slot,
                self.mass,
                self.gather_start,
                self.gather_block,
                self.gather_weight,
                self.element_blocks,
                inputs.step_size,
            ],
            [self.values],
            device=self.device,
        )

    def launch_value(self, inputs, x_nodes, x_tilde, world_energy) -> None:
        """Add inertia and all element energies [J] to world_energy (W,)."""
        model = self.model
        wp.launch(
            inertia_value_kernel,
            model.num_nodes,
            [
                model.node_mass,
                model.node_body,
                model.node_world,
                model.body_node,
                model.body_mass,
                x_nodes,
                x_tilde,
                inputs.step_size,
            ],
            [world_energy],
            device=self.device,
        )
        for energy in self.energies:
            energy.launch_value(inputs, world_energy)

    def to_scipy(self):
        """The assembled part as a scipy BSR matrix (host copy; tests and the direct solver)."""
        import scipy.sparse as sp

        n = self.model.num_nodes
        nnz = len(self.pattern.column)
        return sp.bsr_matrix(
            (self.values.numpy()[:nnz], self.pattern.column, self.pattern.row_start), shape=(3 * n, 3 * n)
        )


def mass_matrix(pattern: Pattern, num_nodes: int):
    """Scalar mass matrix (N, N) in scipy CSR; each entry times the 3x3 identity is the node mass matrix."""
    import scipy.sparse as sp

    row = np.repeat(np.arange(num_nodes), np.diff(pattern.row_start))
    r, c = row[pattern.upper_slot], pattern.column[pattern.upper_slot]
    off = r != c
    return sp.csr_matrix(
        (
            np.concatenate([pattern.mass, pattern.mass[off]]),
            (np.concatenate([r, c[off]]), np.concatenate([c, r[off]])),
        ),
        shape=(num_nodes, num_nodes),
    )
