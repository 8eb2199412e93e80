"""Contacts and friction as seen by the linear system: four points, weights, one 3x3 block.

A stencil contributes  J^T B J  with  J dx = sum_a w_a dx_point(a). Stencils whose node pairs all lie in the matrix
pattern (a cloth on a table: the other side does not move) are folded into the matrix, so that the factor sees them;
the others stay matrix-free and add their diagonal to the preconditioner.

Terms whose displacement is measured against a surface that turns have  J dx = sum_a (w_a I + turn_a n^T) dx_point(a)
with one unit normal n a stencil and turn_a across it (engine.contact.turning). Stencils without leave both out.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})

MAX_ENTRIES = 16
entry_nodes = wp.types.vector(length=16, dtype=int)
entry_weights = wp.types.vector(length=16, dtype=wp.float64)


@wp.struct
class Riders:
    """Embedding and freedom of nodes, as the fold needs them."""

    point_node: wp.array(dtype=int)
    point_count: wp.array(dtype=int)
    point_weights: wp.array(dtype=wp.vec4d)
    node_free: wp.array(dtype=int)
    node_body: wp.array(dtype=int)
    body_node: wp.array(dtype=int)


@wp.struct
class MatrixTarget:
    """Where folded blocks go: the matrix by rows, the diagonals of the preconditioner, the band."""

    row_start: wp.array(dtype=int)
    column: wp.array(dtype=int)
    values: wp.array(dtype=wp.mat33d)
    extra: wp.array(dtype=wp.mat33d)
    body_extra: wp.array2d(dtype=wp.mat33d)
    component_of: wp.array(dtype=int)
    position_of: wp.array(dtype=int)
    width: wp.array(dtype=int)
    storage: wp.array(dtype=int)
    band: wp.array(dtype=wp.mat33d)


@wp.func
def find_slot(row_start: wp.array(dtype=int), column: wp.array(dtype=int), i: int, j: int) -> int:
    """Slot of block (i, j), -1 when it is not in the pattern."""
    lo = row_start[i]
    hi = row_start[i + 1] - 1
    found = int(-1)
    while lo <= hi:
        mid = (lo + hi) // 2
        c = column[mid]
        if c == j:
            found = mid
            lo = hi + 1
        elif c < j:
            lo = mid + 1
        else:
            hi = mid - 1
    return found


@wp.kernel
def scatter_gradient_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    gradient: wp.array2d(dtype=wp.vec3d),
    r: Riders,
    stride: int,
    node_gradient_out: wp.array(dtype=wp.vec3d),
):
    c = wp.tid()
    while c < count[0]:
        p = points[c]
        for a in range(4):
            point = p[a]
            w = r.point_weights[point]
            for k in range(r.point_count[point]):
                wp.atomic_add(node_gradient_out, r.point_node[point] + k, gradient[c, a] * w[k])
        c += stride


@wp.struct
class Turns:
    """How stencils follow the turn of a surface; arrays without entries where they do not."""

    turn: wp.array2d(dtype=wp.vec3d)  # by corner [-], across the normal, (C, 4)
    normal: wp.array(dtype=wp.vec3d)  # (C,)
    free: wp.array(dtype=int)  # the stencil behind each one that stays matrix-free, (C,)
    entry: wp.array2d(dtype=wp.vec3d)  # of those, by entry: `turn_of_node`, which PCG would gather again and again [-]


@wp.func
def turn_of_node(t: Turns, c: int, p: wp.vec4i, r: Riders, node: int) -> wp.vec3d:
    """Of stencil c, gathered from the points that ride on the node [-]."""
    total = wp.vec3d()
    for a in range(4):
        k = node - r.point_node[p[a]]
        if k >= 0 and k < r.point_count[p[a]]:
            w = r.point_weights[p[a]]
            total = total + t.turn[c, a] * w[k]
    return total


@wp.func
def turning_pair(
    b: wp.mat33d, wi: wp.float64, wj: wp.float64, ti: wp.vec3d, tj: wp.vec3d, n: wp.vec3d
) -> wp.mat33d:
    """(wi I + ti n^T)^T B (wj I + tj n^T)."""
    bj = b * tj
    across = wp.outer(bj, n) * wi + wp.outer(n, wp.transpose(b) * ti) * wj
    return b * (wi * wj) + across + wp.outer(n, n) * wp.dot(ti, bj)


@wp.kernel
def fold_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    weights: wp.array(dtype=wp.vec4d),
    block: wp.array(dtype=wp.mat33d),
    t: Turns,
    first_side: wp.array(dtype=int),
    r: Riders,
    m: MatrixTarget,
    stride: int,
    # Out: stencils that stay matrix-free
    free_count: wp.array(dtype=int),
    entries_out: wp.array(dtype=int),
    node_out: wp.array2d(dtype=int),
    coefficient_out: wp.array2d(dtype=wp.float64),
    free_block_out: wp.array(dtype=wp.mat33d),
):
    c = wp.tid()
    turning = t.normal.shape[0] > 0
    while c < count[0]:
        nodes = entry_nodes()
        coefs = entry_weights()
        sides = entry_nodes()
        n = int(0)
        p = points[c]
        w = weights[c]
        for a in range(4):
            point = p[a]
            if turning or w[a] != wp.float64(0.0):  # a corner of no weight may turn the surface
                pw = r.point_weights[point]
                for k in range(r.point_count[point]):
                    node = r.point_node[point] + k
                    if r.node_free[node] == 1:
                        at = int(-1)
                        for e in range(n):
                            if nodes[e] == node:
                                at = e
                        if at < 0:
                            at = n
                            n = n + 1
                            nodes[at] = node
                            coefs[at] = wp.float64(0.0)
                            sides[at] = int(0)
                            if a >= first_side[c]:
                                sides[at] = int(1)
                        coefs[at] = coefs[at] + w[a] * pw[k]
        b = block[c]
        normal = wp.vec3d()
        ti = wp.vec3d()
        if turning:
            normal = t.normal[c]
        inside = int(1)
        for i in range(n):
            for j in range(i):
                if inside == 1 and find_slot(m.row_start, m.column, nodes[i], nodes[j]) < 0:
                    inside = 0
        if inside == 1:
            for i in range(n):
                if turning:
                    ti = turn_of_node(t, c, p, r, nodes[i])
                for j in range(n):
                    slot = find_slot(m.row_start, m.column, nodes[i], nodes[j])
                    pair = b * (coefs[i] * coefs[j])
                    if turning:
                        tj = turn_of_node(t, c, p, r, nodes[j])
                        pair = turning_pair(b, coefs[i], coefs[j], ti, tj, normal)
                    wp.atomic_add(m.values, slot, pair)
        else:
            at = wp.atomic_add(free_count, 0, 1)
            # A band or body block may take the pairs of one side only: dropping some off-diagonal blocks of a positive
            # semi-definite stencil and keeping others would make the preconditioner indefinite.
            entries_out[at] = n
            free_block_out[at] = b
            if turning:
                t.free[at] = c
                for i in range(n):
                    t.entry[at, i] = turn_of_node(t, c, p, r, nodes[i])
            for i in range(n):
                node_out[at, i] = nodes[i]
                coefficient_out[at, i] = coefs[i]
                if turning:
                    ti = t.entry[at, i]
                ni = nodes[i]
                bi = r.node_body[ni]
                for j in range(n):
                    nj = nodes[j]
                    bj = r.node_body[nj]
                    comp = m.component_of[ni]
                    d = int(0)
                    if comp >= 0 and m.component_of[nj] == comp and sides[i] == sides[j]:
                        d = m.position_of[ni] - m.position_of[nj]
                        if d >= m.width[comp]:
                            d = int(0)
                    if ni == nj or (bi >= 0 and bj == bi) or d > 0:  # most pairs go nowhere
                        pair = b * (coefs[i] * coefs[j])
                        if turning:
                            pair = turning_pair(b, coefs[i], coefs[j], ti, t.entry[at, j], normal)
                        if bi >= 0:
                            first = r.body_node[bi]
                            wp.atomic_add(m.body_extra, bi, (ni - first) * 4 + nj - first, pair)
                        elif ni == nj:
                            wp.atomic_add(m.extra, ni, pair)
                        else:
                            wp.atomic_add(m.band, m.storage[comp] + m.position_of[nj] * m.width[comp] + d, pair)
        c += stride


@wp.kernel
def clamp_count_kernel(found: wp.array(dtype=int), capacity: int, count_out: wp.array(dtype=int)):
    """What fits of what was found: the caller looks, lengthens the arrays and does it again."""
    count_out[0] = wp.min(found[0], capacity)


class StencilBlocks:
    """Arrays of one kind of stencils (contacts, or friction) at capacity, and their folded / matrix-free split.

    turning: they follow the turn of a surface; who fills the stencils fills `turns.turn` and `turns.normal` as well.
    """

    def __init__(self, capacity: int, device: str, turning: bool = False):
        self.capacity, self.device = capacity, device
        zeros = lambda shape, dtype: wp.zeros(shape, dtype=dtype, device=device)  # noqa: E731
        self.count = zeros(1, int)
        self.points = zeros(capacity, wp.vec4i)
        self.weights = zeros(capacity, wp.vec4d)
        self.block = zeros(capacity, wp.mat33d)
        self.gradient = zeros((capacity, 4), wp.vec3d)
        self.first_side = zeros(capacity, int)  # corners on the first side: 1 point-triangle, 2 edge-edge
        self.free_count = zeros(1, int)
        self.entries = zeros(capacity, int)
        self.node = zeros((capacity, MAX_ENTRIES), int)
        self.coefficient = zeros((capacity, MAX_ENTRIES), wp.float64)
        self.free_block = zeros(capacity, wp.mat33d)
        self.turning, self.turns, rows = turning, Turns(), capacity if turning else 0
        self.turns.turn, self.turns.normal = zeros((rows, 4), wp.vec3d), zeros(rows, wp.vec3d)
        self.turns.free, self.turns.entry = zeros(rows, int), zeros((rows, MAX_ENTRIES), wp.vec3d)
        self.stride = stride_of(device)

    def launch_take_count(self, found) -> None:
        """count = found (1,), or the capacity where that is less."""
        wp.launch(clamp_count_kernel, 1, [found, self.capacity], [self.count], device=self.device)

    def launch_scatter_gradient(self, riders: Riders, node_gradient) -> None:
        wp.launch(
            scatter_gradient_kernel,
            self.stride,
            [self.count, self.points, self.gradient, riders, self.stride],
            [node_gradient],
            device=self.device,
        )

    def launch_fold(self, riders: Riders, target: MatrixTarget) -> None:
        self.free_count.zero_()
        wp.launch(
            fold_kernel,
            self.stride,
            [self.count, self.points, self.weights, self.block, self.turns, self.first_side]
            + [riders, target, self.stride],
            [self.free_count, self.entries, self.node, self.coefficient, self.free_block],
            device=self.device,
        )


def stride_of(device: str) -> int:
    """Threads of a grid-stride launch: one on the CPU (serial and in order), many on a GPU."""
    return 1 if wp.get_device(device).is_cpu else 32768
