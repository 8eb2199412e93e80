"""Queries: which vertex-triangle and edge-edge pairs come within reach, box against box, in the partner's frame."""

from __future__ import annotations

import warp as wp

from engine.contact.bvh_boxes import offset3, round_down_vector, round_up_vector, widen

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
def append_pair(buffer: PairBuffer, row: int, column: int):
    slot = wp.atomic_add(buffer.row_count, row, 1)
    k = wp.atomic_add(buffer.total, 0, 1)
    if k < buffer.row.shape[0]:
        buffer.row[k] = row
        buffer.column[k] = column
        buffer.slot[k] = slot


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
    buffer: PairBuffer,
):
    for i in range(wp.tid(), vertices.shape[0], stride):
        part = vertex_part[i]
        if part >= 0:
            p = vertices[i]
            for k in range(partners.offset[part], partners.offset[part + 1]):
                lower = query_lower(partners, k, point_lower[p])
                upper = query_upper(partners, k, point_upper[p])
                query = wp.bvh_query_aabb(bvh, lower, upper, root[partners.part[k]])
                j = int(0)
                while wp.bvh_query_next(query, j):
                    t = triangles[j]
                    if t[0] != p and t[1] != p and t[2] != p:
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
    first_row: int,
    buffer: PairBuffer,
):
    """Each unordered pair once: within a part by index, between parts because only one of them queries."""
    for i in range(wp.tid(), edges.shape[0], stride):
        part = edge_part[i]
        if part >= 0:
            e = edges[i]
            for k in range(partners.offset[part], partners.offset[part + 1]):
                partner = partners.part[k]
                lower = query_lower(partners, k, edge_lower[i])
                upper = query_upper(partners, k, edge_upper[i])
                query = wp.bvh_query_aabb(bvh, lower, upper, root[partner])
                j = int(0)
                while wp.bvh_query_next(query, j):
                    if j > i or partner != part:
                        f = edges[j]
                        if f[0] != e[0] and f[0] != e[1] and f[1] != e[0] and f[1] != e[1]:
                            append_pair(buffer, first_row + wp.min(i, j), wp.max(i, j))
