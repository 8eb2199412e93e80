"""Banded block Cholesky of narrow components (strips): nearly exact as a preconditioner, one thread a component.

Nodes of a component are ordered row by row (or by reverse Cuthill-McKee when that is narrower). With every contact
against static or driven geometry folded into the matrix the factor is exact and PCG needs one or two iterations
(`python -m bench stiff_strip`: block Jacobi needs hundreds to over a thousand on a stiff strip).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import warp as wp
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

wp.set_module_options({"enable_backward": False})

# Cost model, measured on one CPU core: a factor takes 1.1 ns W^2 a node, a PCG iteration 50 ns a node, and block Jacobi
# needs about 24 sqrt(c h / cell) iterations at 1e-3 (c the speed of sound; seen: 65 at c h / cell = 8.5, 260 at 105,
# 1,700 at 5,100), where 2 (c h / cell)^2 is the elastic over the inertial diagonal.
FACTOR_COST = 2.2  # twice the measured cost: contacts left out of the factor cost iterations again
ITERATION_COST = 50.0
ITERATIONS = 24.0
MAX_HALF_BAND = 160  # blocks: memory grows with it


@wp.func
def cholesky3(a: wp.mat33d) -> wp.mat33d:
    """Inverse of the lower Cholesky factor of a 3x3 block."""
    one = wp.float64(1.0)
    z = wp.float64(0.0)
    tiny = wp.float64(1e-300)
    l00 = wp.sqrt(wp.max(a[0, 0], tiny))
    i00 = one / l00
    l10 = a[1, 0] * i00
    l20 = a[2, 0] * i00
    l11 = wp.sqrt(wp.max(a[1, 1] - l10 * l10, tiny))
    i11 = one / l11
    l21 = (a[2, 1] - l20 * l10) * i11
    l22 = wp.sqrt(wp.max(a[2, 2] - l20 * l20 - l21 * l21, tiny))
    i22 = one / l22
    i10 = -l10 * i00 * i11
    i21 = -l21 * i11 * i22
    i20 = -(l20 * i00 + l21 * i10) * i22
    return wp.mat33d(i00, z, z, i10, i11, z, i20, i21, i22)


@wp.kernel
def fill_kernel(
    source: wp.array(dtype=int),
    target: wp.array(dtype=int),
    values: wp.array(dtype=wp.mat33d),
    band_out: wp.array(dtype=wp.mat33d),
):
    k = wp.tid()
    band_out[target[k]] = band_out[target[k]] + values[source[k]]


@wp.kernel
def fill_extra_kernel(
    order: wp.array(dtype=int),
    diagonal_target: wp.array(dtype=int),
    extra: wp.array(dtype=wp.mat33d),
    band_out: wp.array(dtype=wp.mat33d),
):
    k = wp.tid()
    band_out[diagonal_target[k]] = band_out[diagonal_target[k]] + extra[order[k]]


@wp.kernel
def factor_kernel(
    first: wp.array(dtype=int),
    size: wp.array(dtype=int),
    width: wp.array(dtype=int),
    storage: wp.array(dtype=int),
    band: wp.array(dtype=wp.mat33d),
    inverse_diagonal: wp.array(dtype=wp.mat33d),
):
    """In place: band[j, d] = block (j+d, j) of L for d > 0; inverse_diagonal[j] = inverse of L_jj. Right-looking."""
    c = wp.tid()
    n = size[c]
    w = width[c]
    o = storage[c]
    for j in range(n):
        row = o + j * w
        il = cholesky3(band[row])
        inverse_diagonal[first[c] + j] = il
        ilt = wp.transpose(il)
        m = wp.min(w, n - j)
        for d in range(1, m):
            band[row + d] = band[row + d] * ilt
        for d in range(1, m):
            t = wp.transpose(band[row + d])
            base = o + (j + d) * w - d
            for e in range(d, m):
                band[base + e] = band[base + e] - band[row + e] * t


@wp.kernel
def solve_kernel(
    first: wp.array(dtype=int),
    size: wp.array(dtype=int),
    width: wp.array(dtype=int),
    storage: wp.array(dtype=int),
    order: wp.array(dtype=int),
    band: wp.array(dtype=wp.mat33d),
    inverse_diagonal: wp.array(dtype=wp.mat33d),
    node_free: wp.array(dtype=int),
    r: wp.array(dtype=wp.vec3d),
    y: wp.array(dtype=wp.vec3d),
    z_out: wp.array(dtype=wp.vec3d),
):
    c = wp.tid()
    n = size[c]
    w = width[c]
    o = storage[c]
    f = first[c]
    if node_free[order[f]] == 0:  # a component's nodes are free together: its world has converged
        return
    for j in range(n):
        y[f + j] = r[order[f + j]]
    for j in range(n):
        t = inverse_diagonal[f + j] * y[f + j]
        y[f + j] = t
        m = wp.min(w, n - j)
        for d in range(1, m):
            y[f + j + d] = y[f + j + d] - band[o + j * w + d] * t
    for k in range(n):
        j = n - 1 - k
        s = y[f + j]
        m = wp.min(w, n - j)
        for d in range(1, m):
            s = s - wp.transpose(band[o + j * w + d]) * y[f + j + d]
        t = wp.transpose(inverse_diagonal[f + j]) * s
        y[f + j] = t
        z_out[order[f + j]] = t


class BandFactor:
    """Factors of all narrow components. `available` is False when the model has none."""

    def __init__(
        self, model, assembly, stiffness_ratio: np.ndarray, always: bool = False, wanted: bool = True
    ):  # fmt: skip
        """stiffness_ratio: elastic over inertial diagonal of each node (N,), by which a component's PCG cost is
        estimated; always: factor every component up to the memory limit; wanted: False factors none, takes no
        memory."""
        self.model, self.assembly, self.device = model, assembly, model.device
        components = narrow_components(model, assembly.pattern, stiffness_ratio, always) if wanted else []
        self.available = bool(components)
        self.num_components = len(components)
        n = model.num_nodes
        component_of, position_of = np.full(n, -1, np.int32), np.zeros(n, np.int32)
        first, size, width, storage = [], [], [], []
        used = slots = 0
        for c, (nodes, w) in enumerate(components):
            component_of[nodes], position_of[nodes] = c, np.arange(len(nodes))
            first.append(used), size.append(len(nodes)), width.append(w), storage.append(slots)
            used, slots = used + len(nodes), slots + len(nodes) * w
        order = np.concatenate([nodes for nodes, _ in components]) if components else np.zeros(0, np.int64)
        source, target = _fill_map(assembly.pattern, component_of, position_of, storage, width)
        self.half_band = max(width, default=0)

        def array(a, dtype=int):
            return wp.array(np.asarray(a, np.int32), dtype=dtype, device=self.device)

        self.component_of, self.position_of = array(component_of), array(position_of)
        self.first, self.size, self.width, self.storage = array(first), array(size), array(width), array(storage)
        self.order, self.source, self.target = array(order), array(source), array(target)
        diagonal = [storage[component_of[i]] + position_of[i] * width[component_of[i]] for i in order]
        self.diagonal_target = array(diagonal)
        self.band = wp.zeros(max(slots, 1), dtype=wp.mat33d, device=self.device)
        self.inverse_diagonal = wp.zeros(max(used, 1), dtype=wp.mat33d, device=self.device)
        self.y = wp.zeros(max(used, 1), dtype=wp.vec3d, device=self.device)
        self.used = used

    def launch_clear(self) -> None:
        if self.available:
            self.band.zero_()

    def launch_factor(self, extra) -> None:
        """`extra`: node-diagonal contributions of matrix-free stencils (their in-band pairs are there already)."""
        if not self.available:
            return
        wp.launch(
            fill_kernel,
            len(self.source),
            [self.source, self.target, self.assembly.values],
            [self.band],
            device=self.device,
        )
        wp.launch(
            fill_extra_kernel, self.used, [self.order, self.diagonal_target, extra], [self.band], device=self.device
        )
        wp.launch(
            factor_kernel,
            self.num_components,
            [self.first, self.size, self.width, self.storage, self.band, self.inverse_diagonal],
            device=self.device,
        )

    def launch_apply(self, r, z, node_free) -> None:
        """z on the components' nodes; other nodes are left as they are."""
        if not self.available:
            return
        wp.launch(
            solve_kernel,
            self.num_components,
            [
                self.first,
                self.size,
                self.width,
                self.storage,
                self.order,
                self.band,
                self.inverse_diagonal,
                node_free,
                r,
                self.y,
            ],
            [z],
            device=self.device,
        )


def band_pays(width: int, stiffness_ratio: float) -> bool:
    """Whether factoring a band of `width` blocks is cheaper than the PCG iterations it saves."""
    iterations = ITERATIONS * max(0.5 * stiffness_ratio, 1e-12) ** 0.25
    return FACTOR_COST * width**2 < ITERATION_COST * iterations


def narrow_components(model, pattern, stiffness_ratio: np.ndarray, always: bool) -> list[tuple[np.ndarray, int]]:
    """(nodes in band order, width in blocks including the diagonal) of each free component worth a factor."""
    n = model.num_nodes
    free = model.node_body.numpy() < 0
    row = np.repeat(np.arange(n), np.diff(pattern.row_start))
    keep = free[row] & free[pattern.column]
    graph = sp.csr_matrix((np.ones(keep.sum()), (row[keep], pattern.column[keep])), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    by_label = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[by_label], np.arange(count + 1))
    found = []
    cache: dict[tuple, tuple[np.ndarray, int]] = {}
    for c in range(count):
        nodes = by_label[starts[c] : starts[c + 1]]
        if len(nodes) < 3 or not free[nodes[0]]:
            continue
        local = graph[nodes][:, nodes].tocsr()
        key = (len(nodes), local.indices.tobytes())  # worlds are copies: order one, reuse for all
        if key not in cache:
            cache[key] = _narrowest_order(local)
        order, width = cache[key]
        if width <= MAX_HALF_BAND and (always or band_pays(width, float(np.median(stiffness_ratio[nodes])))):
            found.append((nodes[order], width))
    return found


def _narrowest_order(graph) -> tuple[np.ndarray, int]:
    natural = np.arange(graph.shape[0])
    candidates = [natural, np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True))]
    best = None
    coo = graph.tocoo()
    for order in candidates:
        position = np.empty_like(natural)
        position[order] = natural
        width = int(np.abs(position[coo.row] - position[coo.col]).max(initial=0)) + 1
        if best is None or width < best[1]:
            best = (order, width)
    return best


def _fill_map(pattern, component_of, position_of, storage, width):
    n = len(component_of)
    row = np.repeat(np.arange(n), np.diff(pattern.row_start))
    col = pattern.column
    keep = (component_of[row] >= 0) & (component_of[row] == component_of[col]) & (position_of[row] >= position_of[col])
    slot = np.flatnonzero(keep)
    r, c = row[slot], col[slot]
    storage, width = np.asarray(storage, np.int64), np.asarray(width, np.int64)
    if not len(slot):
        return slot, slot
    comp = component_of[r]
    return slot, storage[comp] + position_of[c] * width[comp] + (position_of[r] - position_of[c])
