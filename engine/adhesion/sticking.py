"""Where a sticky point touches: the nearest surface that its sticky side faces, or none.

The nearest counts whatever it is made of, so a liner, or a layer of tape, in between keeps the point from sticking
through it. Contact pairs are read at the end of a step; ties go to the earlier pair, so the choice does not depend on
the order of threads.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.adhesion.sticky_surface import StickyArrays, StickySurface
from engine.contact.narrow import CandidateArrays
from engine.contact.stencils import stride_of
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference
from engine.mesh.proximity import BoxTree, boxes, point_triangle_distances

wp.set_module_options({"enable_backward": False})

FACING = wp.constant(wp.float64(0.5))  # cosine between the sticky side's normal and the way to the partner: 60 degrees
BESIDE = wp.constant(wp.float64(0.87))  # height over distance below which the foot lies beside the triangle
FAR = wp.constant(wp.float64(1.0e30))
NO_PAIR = wp.constant(2147483647)
START_REACH = 1.3  # in dhat: at the start points within this gap are stuck


@wp.kernel
def sticky_normal_kernel(s: StickyArrays, x: wp.array(dtype=wp.vec3d), normal_out: wp.array(dtype=wp.vec3d)):
    """Area-weighted unit normal of the sticky side."""
    i = wp.tid()
    n = wp.vec3d()
    for k in range(s.triangle_offset[i], s.triangle_offset[i + 1]):
        t = s.triangle[k]
        n = n + wp.cross(x[t[1]] - x[t[0]], x[t[2]] - x[t[0]])
    normal_out[i] = wp.normalize(n)


@wp.func
def facing_distance(
    s: StickyArrays, slot: int, p: wp.vec4i, x: wp.array(dtype=wp.vec3d), normal: wp.array(dtype=wp.vec3d)
) -> wp.float64:
    """Distance of the pair [m], FAR when the point's sticky side does not face the triangle."""
    w = point_triangle_weights(x[p[0]], x[p[1]], x[p[2]], x[p[3]])
    r = weighted_difference(w, x[p[0]], x[p[1]], x[p[2]], x[p[3]])
    distance = wp.length(r)
    facing = -wp.dot(normal[slot], r)
    if s.two_sided[slot] == 1:
        facing = wp.abs(facing)
    if facing < FACING * distance:
        distance = FAR
    return distance


@wp.kernel
def clear_kernel(distance_out: wp.array(dtype=wp.float64), pair_out: wp.array(dtype=int)):
    i = wp.tid()
    distance_out[i] = FAR
    pair_out[i] = NO_PAIR


@wp.kernel
def nearest_distance_kernel(
    c: CandidateArrays,
    active: wp.array(dtype=int),
    active_count: wp.array(dtype=int),
    s: StickyArrays,
    x: wp.array(dtype=wp.vec3d),
    normal: wp.array(dtype=wp.vec3d),
    stride: int,
    distance_out: wp.array(dtype=wp.float64),
):
    k = wp.tid()
    while k < active_count[0]:
        i = active[k]
        p = c.points[i]
        slot = s.slot[p[0]]
        if c.kind[i] == 0 and slot >= 0:
            wp.atomic_min(distance_out, slot, facing_distance(s, slot, p, x, normal))
        k += stride


@wp.kernel
def nearest_pair_kernel(
    c: CandidateArrays,
    active: wp.array(dtype=int),
    active_count: wp.array(dtype=int),
    s: StickyArrays,
    x: wp.array(dtype=wp.vec3d),
    normal: wp.array(dtype=wp.vec3d),
    distance: wp.array(dtype=wp.float64),
    stride: int,
    pair_out: wp.array(dtype=int),
):
    k = wp.tid()
    while k < active_count[0]:
        i = active[k]
        p = c.points[i]
        slot = s.slot[p[0]]
        if c.kind[i] == 0 and slot >= 0:
            d = facing_distance(s, slot, p, x, normal)
            if d < FAR and d == distance[slot]:
                wp.atomic_min(pair_out, slot, i)
        k += stride


@wp.func
def material_of(s: StickyArrays, p: wp.vec4i) -> int:
    """Row of the law's material table for a point-triangle pair, -1 when they do not stick."""
    a = s.surface_local[s.point_surface[p[0]]]
    b = s.surface_local[s.point_surface[p[1]]]
    row = s.material[a, b]
    slot = s.slot[p[0]]
    if row >= 0 and slot >= 0:
        row += s.rows_per_world * s.world[slot]
    return row


class Touch:
    """Nearest faced contact of every sticky point, filled by `launch`."""

    def __init__(self, sticky: StickySurface, device: str):
        self.sticky, self.device, self.stride = sticky, device, stride_of(device)
        size = max(sticky.size, 1)
        self.normal = wp.zeros(size, dtype=wp.vec3d, device=device)
        self.distance = wp.zeros(size, dtype=wp.float64, device=device)
        self.pair = wp.zeros(size, dtype=int, device=device)  # candidate index, NO_PAIR = touches nothing

    def launch(self, system) -> None:
        """Read system.list and its active pairs at system.points."""
        s, x, size = self.sticky.arrays, system.points, self.sticky.size
        wp.launch(sticky_normal_kernel, size, [s, x], [self.normal], device=self.device)
        wp.launch(clear_kernel, size, [self.distance, self.pair], device=self.device)
        pairs = [system.list, system.active, system.active_count, s, x, self.normal]
        wp.launch(
            nearest_distance_kernel, self.stride, [*pairs, self.stride], [self.distance], device=self.device
        )
        wp.launch(
            nearest_pair_kernel, self.stride, [*pairs, self.distance, self.stride], [self.pair], device=self.device
        )


def start_positions(model) -> np.ndarray:
    """Initial position of every point [m], (P, 3)."""
    e = model.embedding
    node, count, weights = e.point_node.numpy(), e.point_count.numpy(), e.point_weights.numpy()
    x, nodes = e.point_offset.numpy().copy(), model.node_start.numpy()
    for k in range(4):
        rides = count > k
        x[rides] = (0.0 if k == 0 else x[rides]) + weights[rides, k, None] * nodes[node[rides] + k]
    return x


def stuck_at_start(model, sticky: StickySurface) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slots of world 0 that start stuck, their triangles (global ids) and their material rows: those that were given,
    and of the others those in touch."""
    slot, triangles, row = touch_at_start(model, sticky)
    given = sticky.start[np.isin(sticky.start[:, 0], sticky.points)]
    if not len(given):
        return slot, triangles, row
    mine = np.searchsorted(sticky.points[: sticky.per_world], given[:, 0])
    surface = model.collision.point_surface.numpy()
    others = ~np.isin(slot, mine)
    given_row = sticky.table[surface[given[:, 0]], surface[given[:, 1]]].astype(np.int64)
    return (
        np.concatenate([slot[others], mine]),
        np.concatenate([triangles[others], given[:, 1:]]),
        np.concatenate([row[others], given_row]),
    )


def touch_at_start(model, sticky: StickySurface) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by touch alone.

    By the rule of `Touch`, with the reach START_REACH * dhat; searched on the host, once.
    """
    x, c, per_world = start_positions(model), model.collision, sticky.per_world
    none = np.zeros(0, np.int64), np.zeros((0, 3), np.int64), np.zeros(0, np.int64)
    if per_world == 0 or not sticky.start_stuck.any():
        return none
    triangles = c.triangles.numpy()[: len(c.triangles) // model.num_worlds].reshape(-1, 3).astype(np.int64)
    points = sticky.points[:per_world]
    surface, dhat, half = c.point_surface.numpy(), c.surface_dhat.numpy(), c.surface_half_thickness.numpy()
    ignored = c.ignored.numpy()
    mine = surface[points]
    reach = START_REACH * dhat[mine] + half[mine] + half.max()
    tree = BoxTree(*boxes(x, triangles))
    pairs = tree.overlaps(x[points] - reach[:, None], x[points] + reach[:, None])
    slot, t = pairs[:, 0], triangles[pairs[:, 1]]
    other = surface[t[:, 0]]
    distance = point_triangle_distances(x[points[slot]], *(x[t[:, k]] for k in range(3)))
    gap = distance - half[mine[slot]] - half[other]
    near = gap < START_REACH * np.minimum(dhat[mine[slot]], dhat[other])
    near &= (t != points[slot][:, None]).all(axis=1) & (ignored[mine[slot], other] == 0)
    slot, t, other, distance = slot[near], t[near], other[near], distance[near]
    normal = _normals(x, sticky.normal_triangles)
    n = np.cross(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    height = np.einsum("ij,ij->i", n, x[points[slot]] - x[t[:, 0]])
    facing = -np.einsum("ij,ij->i", normal[slot], n) * np.sign(height)
    facing = np.where(sticky.two_sided[slot], np.abs(facing), facing)
    keep = (facing > float(FACING)) & (np.abs(height) > float(BESIDE) * distance)
    slot, t, other, distance = slot[keep], t[keep], other[keep], distance[keep]
    order = np.lexsort((np.arange(len(slot)), distance, slot))
    first = order[np.unique(slot[order], return_index=True)[1]]
    row = sticky.table[mine[slot[first]], other[first]]
    stuck = (row >= 0) & sticky.start_stuck[mine[slot[first]], other[first]]
    return slot[first][stuck], t[first][stuck], row[stuck].astype(np.int64)


def _normals(x: np.ndarray, fans: list[np.ndarray]) -> np.ndarray:
    """Mean normal of each fan of triangles (k, 3), weighted by area, (S, 3)."""
    a, b, c = (x[corner] for corner in np.concatenate(fans).T)
    n = np.zeros((len(fans), 3))
    np.add.at(n, np.repeat(np.arange(len(fans)), [len(fan) for fan in fans]), np.cross(b - a, c - a))
    return n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
