"""What sticks together moves together: a small coarse space beside the preconditioner.

The layers of a roll are stiff against each other. Contacts and bonds between them stay outside the preconditioner P,
which sees their stiffness on the diagonal only, as if each layer were held in place: it takes the motion of the whole
roll for stiff. PCG then finds that motion last, after a hundred iterations and more. So P is given those motions:

    z = P^-1 r + Z (Z^T A Z)^-1 Z^T r,    Z = (1 - P^-1 A) Z_0

Z_0: the twelve affine motions of all nodes that are stuck to something that moves, zero elsewhere. One smoothing step
fits the rest to them (smoothed aggregation; Vanek, Mandel and Brezina 1996). A sum of positive semi-definite parts, so
Z may be an older one: it is made once a step. What is stuck is read from the histories at the start of each step, by
world: the same state gives the same solve, alone, in a batch, and after it was loaded. A world whose stuck parts are in
balance when the step begins goes without: were inertia alone to hold its common motions back, their forces would move
it by less than IDLE of the Newton tolerance. Making the space costs half of such a step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import warp as wp

wp.set_module_options({"enable_backward": False})

MODES = wp.constant(12)
FEWEST = wp.constant(50)  # bonds between moving parts of a world from which on the modes pay
IDLE = wp.constant(wp.float64(0.1))  # common displacement over the Newton tolerance below which a world is in balance
SMALLEST = wp.constant(wp.float64(1e-10))  # pivot over its diagonal below which a mode depends on others


@wp.kernel
def member_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    stride: int,
    point_node: wp.array(dtype=int),
    point_count: wp.array(dtype=int),
    node_world: wp.array(dtype=int),
    member_out: wp.array(dtype=int),
    bonds_out: wp.array(dtype=int),
):
    """Marks the nodes that move what is stuck to something that moves; counts such bonds by world."""
    c = wp.tid()
    while c < count[0]:
        p = points[c]
        partner = point_count[p[1]] + point_count[p[2]] + point_count[p[3]]
        if point_count[p[0]] > 0 and partner > 0:
            wp.atomic_add(bonds_out, node_world[point_node[p[0]]], 1)
            for a in range(4):
                for k in range(point_count[p[a]]):
                    member_out[point_node[p[a]] + k] = 1
        c += stride


@wp.kernel
def middle_kernel(
    member: wp.array(dtype=int),
    node_world: wp.array(dtype=int),
    node_body: wp.array(dtype=int),
    bonds: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    sum_out: wp.array(dtype=wp.vec3d),
    number_out: wp.array(dtype=wp.float64),
):
    """Sum and number of the places that stick; worlds with too few bonds drop out."""
    i = wp.tid()
    w = node_world[i]
    if bonds[w] < FEWEST:
        member[i] = 0
    if member[i] == 1 and node_body[i] < 0:
        wp.atomic_add(sum_out, w, x[i])
        wp.atomic_add(number_out, w, wp.float64(1.0))


@wp.func
def place_over_size(
    i: int,
    w: int,
    node_body: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    sum_of_places: wp.array(dtype=wp.vec3d),
    number: wp.array(dtype=wp.float64),
    size: wp.float64,
) -> wp.vec4d:
    """What node i does in the modes: 1 (0 for a column of a body's matrix), then its coordinates over `size`."""
    one = wp.float64(1.0)
    place = (x[i] - sum_of_places[w] / wp.max(number[w], one)) / size
    b = node_body[i]
    if b >= 0 and i > body_node[b]:
        one = wp.float64(0.0)
        place = x[i] / size
    return wp.vec4d(one, place[0], place[1], place[2])


@wp.kernel
def push_kernel(
    member: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    node_body: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    body_mass: wp.array(dtype=wp.mat44d),
    node_mass: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.vec3d),
    node_world: wp.array(dtype=int),
    sum_of_places: wp.array(dtype=wp.vec3d),
    number: wp.array(dtype=wp.float64),
    size: wp.float64,
    gradient: wp.array(dtype=wp.vec3d),
    force_out: wp.array2d(dtype=wp.vec3d),
    mass_out: wp.array2d(dtype=wp.float64),
):
    """Force along the modes and mass that moves in them, (W, 4): three modes share a row."""
    i = wp.tid()
    if member[i] == 1 and node_free[i] == 1:
        w = node_world[i]
        b = node_body[i]
        mass = node_mass[i]
        if b >= 0:
            mass = body_mass[b][i - body_node[b], i - body_node[b]]
        along = place_over_size(i, w, node_body, body_node, x, sum_of_places, number, size)
        for j in range(4):
            wp.atomic_add(force_out, w, j, along[j] * gradient[i])
            wp.atomic_add(mass_out, w, j, mass * along[j] * along[j])


@wp.kernel
def needed_kernel(
    force: wp.array2d(dtype=wp.vec3d),
    mass: wp.array2d(dtype=wp.float64),
    tolerance: wp.array(dtype=wp.float64),
    step_size: wp.array(dtype=wp.float64),
    bonds: wp.array(dtype=int),
    needed_out: wp.array(dtype=int),
):
    w = wp.tid()
    needed_out[w] = 0
    for j in range(4):
        moved = wp.length(force[w, j]) * step_size[0] * step_size[0]
        if moved > IDLE * tolerance[0] * mass[w, j] and bonds[w] >= FEWEST:
            needed_out[w] = 1


@wp.kernel
def seed_kernel(
    member: wp.array(dtype=int),
    needed: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    node_body: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    node_world: wp.array(dtype=int),
    sum_of_places: wp.array(dtype=wp.vec3d),
    number: wp.array(dtype=wp.float64),
    size: wp.float64,
    modes_out: wp.array2d(dtype=wp.vec3d),
):
    """Mode 3 j + k: component k of every node moves by 1 (j = 0) or by coordinate j - 1 over `size`."""
    i = wp.tid()
    for m in range(MODES):
        modes_out[m, i] = wp.vec3d()
    w = node_world[i]
    if member[i] == 1 and node_free[i] == 1 and needed[w] == 1:
        along = place_over_size(i, w, node_body, body_node, x, sum_of_places, number, size)
        for k in range(3):
            unit = wp.vec3d()
            unit[k] = wp.float64(1.0)
            for j in range(4):
                modes_out[3 * j + k, i] = unit * along[j]


@wp.kernel
def subtract_kernel(t: wp.array(dtype=wp.vec3d), mode: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    mode[i] = mode[i] - t[i]


@wp.kernel
def gram_kernel(
    node_world: wp.array(dtype=int),
    modes: wp.array2d(dtype=wp.vec3d),
    products: wp.array2d(dtype=wp.vec3d),
    gram_out: wp.array3d(dtype=wp.float64),
):
    i = wp.tid()
    w = node_world[i]
    for m in range(MODES):
        for k in range(m + 1):
            wp.atomic_add(gram_out, w, m, k, wp.dot(modes[m, i], products[k, i]))


@wp.kernel
def factor_kernel(gram: wp.array3d(dtype=wp.float64)):
    """Cholesky in place, by world; dependent modes get a zero row."""
    w = wp.tid()
    for m in range(MODES):
        whole = gram[w, m, m]
        for k in range(m + 1):
            value = gram[w, m, k]
            for n in range(k):
                value = value - gram[w, m, n] * gram[w, k, n]
            if k < m:
                pivot = gram[w, k, k]
                if pivot > wp.float64(0.0):
                    gram[w, m, k] = value / pivot
                else:
                    gram[w, m, k] = wp.float64(0.0)
            elif value > SMALLEST * whole:
                gram[w, m, m] = wp.sqrt(value)
            else:
                gram[w, m, m] = wp.float64(0.0)


@wp.kernel
def project_kernel(
    node_world: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    modes: wp.array2d(dtype=wp.vec3d),
    r: wp.array(dtype=wp.vec3d),
    y_out: wp.array2d(dtype=wp.float64),
):
    i = wp.tid()
    if node_free[i] == 1:
        for m in range(MODES):
            wp.atomic_add(y_out, node_world[i], m, wp.dot(modes[m, i], r[i]))


@wp.kernel
def solve_kernel(gram: wp.array3d(dtype=wp.float64), y: wp.array2d(dtype=wp.float64)):
    w = wp.tid()
    for m in range(MODES):
        value = y[w, m]
        for k in range(m):
            value = value - gram[w, m, k] * y[w, k]
        pivot = gram[w, m, m]
        y[w, m] = wp.where(pivot > wp.float64(0.0), value / wp.max(pivot, wp.float64(1e-300)), wp.float64(0.0))
    for n in range(MODES):
        m = MODES - 1 - n
        value = y[w, m]
        for k in range(m + 1, MODES):
            value = value - gram[w, k, m] * y[w, k]
        pivot = gram[w, m, m]
        y[w, m] = wp.where(pivot > wp.float64(0.0), value / wp.max(pivot, wp.float64(1e-300)), wp.float64(0.0))


@wp.kernel
def add_kernel(
    node_world: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    modes: wp.array2d(dtype=wp.vec3d),
    y: wp.array2d(dtype=wp.float64),
    z: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    if node_free[i] == 1:
        w = node_world[i]
        for m in range(MODES):
            z[i] = z[i] + modes[m, i] * y[w, m]


class CommonMotion:
    """Coarse space of a model. `possible`: something may stick; `active`: enough does in this step, see `read`;
    `needed`: by world, whether it is out of balance, see `read_needed`."""

    def __init__(self, model, terms: tuple, stride: int):
        """terms: interfaces (engine.contact.term.StencilTerm) whose stencils are bonds; stride: threads over them."""
        self.model, self.device, self.terms, self.stride = model, model.device, terms, stride
        self.possible, self.active = bool(terms), False
        if not self.possible:
            return
        n, w = model.num_nodes, model.num_worlds
        places = model.node_start.numpy()[model.node_body.numpy() < 0]
        reach = float(np.ptp(places, axis=0).max()) if len(places) else 0.0  # none: bodies alone
        self.size = wp.float64(max(reach, 1e-9))
        self.member, self.bonds = (wp.zeros(k, dtype=int, device=self.device) for k in (n, w))
        self.middle = wp.zeros(w, dtype=wp.vec3d, device=self.device)
        self.number = wp.zeros(w, dtype=wp.float64, device=self.device)
        self.modes = wp.zeros((MODES, n), dtype=wp.vec3d, device=self.device)
        self.products = wp.zeros((MODES, n), dtype=wp.vec3d, device=self.device)
        self.rows = [(self.modes[m], self.products[m]) for m in range(MODES)]
        self.gram = wp.zeros((w, MODES, MODES), dtype=wp.float64, device=self.device)
        self.force = wp.zeros((w, 4), dtype=wp.vec3d, device=self.device)
        self.mass = wp.zeros((w, 4), dtype=wp.float64, device=self.device)
        self.needed = wp.zeros(w, dtype=int, device=self.device)
        self.y = wp.zeros((w, MODES), dtype=wp.float64, device=self.device)
        self.smooth = wp.zeros(n, dtype=wp.vec3d, device=self.device)

    def launch_members(self, x) -> None:
        """Who is stuck, once the terms have begun the step at node positions x."""
        m, e = self.model, self.model.embedding
        for array in (self.member, self.bonds, self.middle, self.number):
            array.zero_()
        for term in self.terms:
            wp.launch(
                member_kernel, self.stride,
                [term.blocks.count, term.blocks.points, self.stride, e.point_node, e.point_count, m.node_world],
                [self.member, self.bonds], device=self.device,
            )  # fmt: skip
        wp.launch(
            middle_kernel, m.num_nodes, [self.member, m.node_world, m.node_body, self.bonds, x],
            [self.middle, self.number], device=self.device,
        )  # fmt: skip

    def read(self) -> bool:
        """Once a step, after `launch_members`: whether the modes pay in any world."""
        self.active = self.possible and int(self.bonds.numpy().max()) >= FEWEST
        return self.active

    def launch_push(self, x, node_free, gradient, tolerance, step_size) -> None:
        """At the first linearisation of a step. gradient [N] (N,), tolerance [m] (1,), step_size [s] (1,)."""
        m = self.model
        self.force.zero_()
        self.mass.zero_()
        wp.launch(
            push_kernel, m.num_nodes,
            [self.member, node_free, m.node_body, m.body_node, m.body_mass, m.node_mass, x, m.node_world, self.middle,
             self.number, self.size, gradient],
            [self.force, self.mass], device=self.device,
        )  # fmt: skip
        wp.launch(
            needed_kernel, m.num_worlds, [self.force, self.mass, tolerance, step_size, self.bonds], [self.needed],
            device=self.device,
        )  # fmt: skip

    def read_needed(self) -> bool:
        """After `launch_push`: whether any world is out of balance; the others go without."""
        return bool(self.needed.numpy().any())

    def launch_make(self, x, node_free, multiply: Callable, precondition: Callable) -> None:
        """Z and the factor of Z^T A Z. multiply(p, ap), precondition(r, z): launchers of A and P^-1."""
        m = self.model
        wp.launch(
            seed_kernel, m.num_nodes,
            [self.member, self.needed, node_free, m.node_body, m.body_node, x, m.node_world, self.middle, self.number,
             self.size],
            [self.modes], device=self.device,
        )  # fmt: skip
        for mode, product in self.rows:
            multiply(mode, product)
            precondition(product, self.smooth)
            wp.launch(subtract_kernel, m.num_nodes, [self.smooth], [mode], device=self.device)
            multiply(mode, product)
        self.gram.zero_()
        wp.launch(
            gram_kernel, m.num_nodes, [m.node_world, self.modes, self.products], [self.gram], device=self.device
        )
        wp.launch(factor_kernel, m.num_worlds, [self.gram], device=self.device)

    def launch_add(self, r, z, node_free) -> None:
        """z += Z (Z^T A Z)^-1 Z^T r."""
        m = self.model
        self.y.zero_()
        wp.launch(project_kernel, m.num_nodes, [m.node_world, node_free, self.modes, r], [self.y], device=self.device)
        wp.launch(solve_kernel, m.num_worlds, [self.gram, self.y], device=self.device)
        wp.launch(add_kernel, m.num_nodes, [m.node_world, node_free, self.modes, self.y], [z], device=self.device)
