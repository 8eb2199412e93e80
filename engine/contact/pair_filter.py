"""Queries: which vertex-triangle and edge-edge pairs come within reach, box against box, in the partner's frame."""

from __future__ import annotations

import warp as wp

from engine.contact.bvh_boxes import offset3, round_down_vector, round_up_vector, widen
from engine.distance.edge_edge import edge_edge_weights
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})


@wp.struct
class Partners:
    """Device copy of parts.PartnerTable with the reach of each entry."""

    offset: wp.array(dtype=int)  # (parts + 1,)
    part: wp.array(dtype=int)  # partner part
    pair: wp.array(dtype=int)  # surface pair, -1 = same surface
    sign: wp.array(dtype=int)  # +1: c_self - c_partner lies in the pair's range, -1: its mirror
    reach: wp.array(dtype=wp.float64)  # dhat of the pair plus both half-thicknesses [m]
    pair_lower: wp.array(dtype=wp.vec3d)  # range of c_a - c_b [m], (pairs,)
    pair_upper: wp.array(dtype=wp.vec3d)
    querying: wp.array(dtype=int)  # the part that asks
    open: wp.array(dtype=int)  # whether the two parts as wholes come within reach


@wp.struct
class PairBuffer:
    """Pairs in the order they are found; `slot` is the pair's place within its row."""

    total: wp.array(dtype=int)  # (1,), counts past the capacity too
    row_count: wp.array(dtype=int)  # rows: vertices, then edges
    row: wp.array(dtype=int)  # (capacity,)
    column: wp.array(dtype=int)
    slot: wp.array(dtype=int)


@wp.func
def query_lower(partners: Partners, k: int, lower: wp.vec3) -> wp.vec3:
    """Lower corner of the query box for entry k in the partner's frame: y + (c_self - c_partner) - reach."""
    r = widen(lower) - offset3(partners.reach[k])
    pair = partners.pair[k]
    if pair >= 0:
        if partners.sign[k] > 0:
            r = r + partners.pair_lower[pair]
        else:
            r = r - partners.pair_upper[pair]
    return round_down_vector(r)


@wp.func
def query_upper(partners: Partners, k: int, upper: wp.vec3) -> wp.vec3:
    r = widen(upper) + offset3(partners.reach[k])
    pair = partners.pair[k]
    if pair >= 0:
        if partners.sign[k] > 0:
            r = r + partners.pair_upper[pair]
        else:
            r = r - partners.pair_lower[pair]
    return round_up_vector(r)


@wp.func
def frame_shift(partners: Partners, k: int) -> wp.vec3d:
    """Middle of the range of c_self - c_partner for entry k [m]."""
    pair = partners.pair[k]
    shift = wp.vec3d()
    if pair >= 0:
        shift = (partners.pair_lower[pair] + partners.pair_upper[pair]) * wp.float64(0.5)
        if partners.sign[k] < 0:
            shift = -shift
    return shift


@wp.func
def frame_shift_radius(partners: Partners, k: int) -> wp.float64:
    pair = partners.pair[k]
    radius = wp.float64(0.0)
    if pair >= 0:
        radius = wp.length(partners.pair_upper[pair] - partners.pair_lower[pair]) * wp.float64(0.5)
    return radius


@wp.kernel
def part_box_kernel(
    stride: int,
    part: wp.array(dtype=int),
    lower: wp.array(dtype=wp.vec3),
    upper: wp.array(dtype=wp.vec3),
    lower_out: wp.array(dtype=wp.vec3),
    upper_out: wp.array(dtype=wp.vec3),
):
    """Box of all elements of each part, in its surface's frame. Smallest and largest: any order gives the same."""
    for i in range(wp.tid(), part.shape[0], stride):
        g = part[i]
        if g >= 0:
            wp.atomic_min(lower_out, g, lower[i])
            wp.atomic_max(upper_out, g, upper[i])


@wp.kernel
def open_partners_kernel(
    stride: int,
    lower: wp.array(dtype=wp.vec3),
    upper: wp.array(dtype=wp.vec3),
    partner_lower: wp.array(dtype=wp.vec3),
    partner_upper: wp.array(dtype=wp.vec3),
    partners: Partners,
):
    """Most parts of a scene are far apart: one test spares a query of each of their elements."""
    for k in range(wp.tid(), partners.querying.shape[0], stride):
        g = partners.querying[k]
        h = partners.part[k]
        a = query_lower(partners, k, lower[g])
        b = query_upper(partners, k, upper[g])
        near = int(1)
        for i in range(3):
            if b[i] < partner_lower[h][i] or a[i] > partner_upper[h][i]:
                near = 0
        partners.open[k] = near


@wp.func
def append_pair(buffer: PairBuffer, row: int, column: int):
    slot = wp.atomic_add(buffer.row_count, row, 1)
    k = wp.atomic_add(buffer.total, 0, 1)
    if k < buffer.row.shape[0]:
        buffer.row[k] = row
        buffer.column[k] = column
        buffer.slot[k] = slot


# Boxes of long or slanted elements overlap far more often than the elements meet: of a cloth's pairs with itself nearly
# all are topological neighbours. A pair is dropped when even the features through the boxes' centres are farther apart
# than all their points can move inside the boxes, plus the reach (the last factor covers rounding).
ROUNDING = wp.constant(wp.float64(1.000001))


@wp.func
def triangle_in_reach(
    t: wp.vec3i,
    place: wp.vec3d,
    slack: wp.float64,
    centre: wp.array(dtype=wp.vec3d),
    radius: wp.array(dtype=wp.float64),
) -> bool:
    a = centre[t[0]]
    b = centre[t[1]]
    c = centre[t[2]]
    spread = wp.max(radius[t[0]], wp.max(radius[t[1]], radius[t[2]]))
    w = point_triangle_weights(place, a, b, c)
    return wp.length(weighted_difference(w, place, a, b, c)) <= (slack + spread) * ROUNDING


@wp.func
def edge_in_reach(
    f: wp.vec2i,
    a0: wp.vec3d,
    a1: wp.vec3d,
    slack: wp.float64,
    centre: wp.array(dtype=wp.vec3d),
    radius: wp.array(dtype=wp.float64),
) -> bool:
    b0 = centre[f[0]]
    b1 = centre[f[1]]
    w = edge_edge_weights(a0, a1, b0, b1)
    spread = wp.max(radius[f[0]], radius[f[1]])
    return wp.length(weighted_difference(w, a0, a1, b0, b1)) <= (slack + spread) * ROUNDING


@wp.kernel
def query_triangles_kernel(
    stride: int,
    bvh: wp.uint64,
    root: wp.array(dtype=int),
    partners: Partners,
    vertices: wp.array(dtype=int),
    vertex_part: wp.array(dtype=int),
    triangles: wp.array(dtype=wp.vec3i),
    point_lower: wp.array(dtype=wp.vec3),
    point_upper: wp.array(dtype=wp.vec3),
    centre: wp.array(dtype=wp.vec3d),
    radius: wp.array(dtype=wp.float64),
    buffer: PairBuffer,
):
    for i in range(wp.tid(), vertices.shape[0], stride):
        part = vertex_part[i]
        if part >= 0:
            p = vertices[i]
            for k in range(partners.offset[part], partners.offset[part + 1]):
                if partners.open[k] == 0:
                    continue
                lower = query_lower(partners, k, point_lower[p])
                upper = query_upper(partners, k, point_upper[p])
                place = centre[p] + frame_shift(partners, k)
                slack = radius[p] + frame_shift_radius(partners, k) + partners.reach[k]
                query = wp.bvh_query_aabb(bvh, lower, upper, root[partners.part[k]])
                j = int(0)
                while wp.bvh_query_next(query, j):
                    t = triangles[j]
                    if t[0] != p and t[1] != p and t[2] != p:
                        if triangle_in_reach(t, place, slack, centre, radius):
                            append_pair(buffer, i, j)


@wp.kernel
def query_edges_kernel(
    stride: int,
    bvh: wp.uint64,
    root: wp.array(dtype=int),
    partners: Partners,
    edges: wp.array(dtype=wp.vec2i),
    edge_part: wp.array(dtype=int),
    edge_lower: wp.array(dtype=wp.vec3),
    edge_upper: wp.array(dtype=wp.vec3),
    centre: wp.array(dtype=wp.vec3d),
    radius: wp.array(dtype=wp.float64),
    first_row: int,
    buffer: PairBuffer,
):
    """Each unordered pair once: within a part by index, between parts because only one of them queries."""
    for i in range(wp.tid(), edges.shape[0], stride):
        part = edge_part[i]
        if part >= 0:
            e = edges[i]
            for k in range(partners.offset[part], partners.offset[part + 1]):
                if partners.open[k] == 0:
                    continue
                partner = partners.part[k]
                lower = query_lower(partners, k, edge_lower[i])
                upper = query_upper(partners, k, edge_upper[i])
                shift = frame_shift(partners, k)
                a0 = centre[e[0]] + shift
                a1 = centre[e[1]] + shift
                slack = frame_shift_radius(partners, k) + partners.reach[k] + wp.max(radius[e[0]], radius[e[1]])
                query = wp.bvh_query_aabb(bvh, lower, upper, root[partner])
                j = int(0)
                while wp.bvh_query_next(query, j):
                    if j > i or partner != part:
                        f = edges[j]
                        if f[0] != e[0] and f[0] != e[1] and f[1] != e[0] and f[1] != e[1]:
                            if edge_in_reach(f, a0, a1, slack, centre, radius):
                                append_pair(buffer, first_row + wp.min(i, j), wp.max(i, j))
