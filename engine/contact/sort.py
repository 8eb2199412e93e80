"""From found pairs to the sorted list: scatter by row, sort each row, fill what a pair needs."""

from __future__ import annotations

import warp as wp

from engine.contact.pair_filter import PairBuffer
from engine.distance.edge_edge import edge_edge_weights
from engine.distance.mollifier import mollifier_threshold
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})

POINT_TRIANGLE_SHARE = wp.constant(wp.float64(1.0 / 3.0))
EDGE_EDGE_SHARE = wp.constant(wp.float64(1.0 / 6.0))


@wp.struct
class SurfaceTable:
    """Contact numbers by surface id."""

    dhat: wp.array(dtype=wp.float64)  # [m]
    half_thickness: wp.array(dtype=wp.float64)  # [m]
    kappa: wp.array(dtype=wp.float64)  # [Pa]
    friction_mu: wp.array(dtype=wp.float64)  # [-]
    lip: wp.array(dtype=wp.float64)  # dhat between lips of a cut [m], 0 = the surface has none


@wp.func
def rest_distance(kind: int, p: wp.vec4i, rest: wp.array(dtype=wp.vec3d)) -> wp.float64:
    """Distance of the two elements in the rest shape [m]."""
    a = rest[p[0]]
    b = rest[p[1]]
    c = rest[p[2]]
    d = rest[p[3]]
    w = wp.vec4d()
    if kind == 0:
        w = point_triangle_weights(a, b, c, d)
    else:
        w = edge_edge_weights(a, b, c, d)
    return wp.length(weighted_difference(w, a, b, c, d))


@wp.struct
class CandidateArrays:
    """The list as `Candidates` publishes it."""

    points: wp.array(dtype=wp.vec4i)
    kind: wp.array(dtype=int)
    world: wp.array(dtype=int)
    dhat: wp.array(dtype=wp.float64)
    min_separation: wp.array(dtype=wp.float64)
    stiffness: wp.array(dtype=wp.float64)
    friction_mu: wp.array(dtype=wp.float64)
    mollifier_eps: wp.array(dtype=wp.float64)


@wp.kernel
def scatter_kernel(
    stride: int,
    buffer: PairBuffer,
    row_offset: wp.array(dtype=int),
    row_out: wp.array(dtype=int),
    column_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
):
    """Move pairs to their rows. After an overflow the list is empty until the caller has grown it and repeated."""
    n = buffer.total[0]
    if n > buffer.row.shape[0]:
        n = 0
    if wp.tid() == 0:
        count_out[0] = n
    for k in range(wp.tid(), n, stride):
        row = buffer.row[k]
        place = row_offset[row] + buffer.slot[k]
        row_out[place] = row
        column_out[place] = buffer.column[k]


@wp.kernel
def sort_rows_kernel(
    stride: int,
    count: wp.array(dtype=int),
    row_offset: wp.array(dtype=int),
    row_count: wp.array(dtype=int),
    column: wp.array(dtype=int),
):
    """Shell sort of each row: rows are short, and a fast crowded one must not cost the square of its length."""
    rows = row_count.shape[0]
    if count[0] == 0:
        rows = 0
    for row in range(wp.tid(), rows, stride):
        first = row_offset[row]
        n = row_count[row]
        gap = int(1)
        while gap < n / 3:
            gap = gap * 3 + 1
        while gap > 0:
            for i in range(gap, n):
                value = column[first + i]
                j = int(i)
                while j >= gap and column[first + j - gap] > value:
                    column[first + j] = column[first + j - gap]
                    j = j - gap
                column[first + j] = value
            gap = gap / 3


@wp.kernel
def fill_kernel(
    stride: int,
    count: wp.array(dtype=int),
    row: wp.array(dtype=int),
    column: wp.array(dtype=int),
    # Model:
    vertices: wp.array(dtype=int),
    edges: wp.array(dtype=wp.vec2i),
    triangles: wp.array(dtype=wp.vec3i),
    vertex_area: wp.array(dtype=wp.float64),
    edge_area: wp.array(dtype=wp.float64),
    edge_rest_length: wp.array(dtype=wp.float64),
    point_surface: wp.array(dtype=int),
    point_world: wp.array(dtype=int),
    point_rest: wp.array(dtype=wp.vec3d),
    surfaces: SurfaceTable,
    # Out:
    out: CandidateArrays,
):
    """Stencil and numbers of each pair. Areas: a third (vertex) or a sixth (edges) of the smaller one, see
    docs/physics/candidates.md."""
    num_vertices = vertices.shape[0]
    for k in range(wp.tid(), count[0], stride):
        r = row[k]
        c = column[k]
        stencil = wp.vec4i()
        area = wp.float64(0.0)
        eps = wp.float64(0.0)
        if r < num_vertices:
            p = vertices[r]
            t = triangles[c]
            stencil = wp.vec4i(p, t[0], t[1], t[2])
            foot_area = wp.max(wp.max(vertex_area[t[0]], vertex_area[t[1]]), vertex_area[t[2]])
            area = wp.min(vertex_area[p], foot_area) * POINT_TRIANGLE_SHARE
            out.kind[k] = 0
        else:
            i = r - num_vertices
            e = edges[i]
            f = edges[c]
            stencil = wp.vec4i(e[0], e[1], f[0], f[1])
            area = wp.min(edge_area[i], edge_area[c]) * EDGE_EDGE_SHARE
            eps = mollifier_threshold(edge_rest_length[i], edge_rest_length[c])
            out.kind[k] = 1
        a = point_surface[stencil[0]]
        b = point_surface[stencil[2]]
        dhat = wp.min(surfaces.dhat[a], surfaces.dhat[b])
        out.points[k] = stencil
        out.world[k] = point_world[stencil[0]]
        out.min_separation[k] = surfaces.half_thickness[a] + surfaces.half_thickness[b]
        if a == b and surfaces.lip[a] > wp.float64(0.0):
            # lips of a cut lie a hair apart at rest: they touch as thin sheets do, see docs/physics/cutting.md
            if rest_distance(out.kind[k], stencil, point_rest) < out.min_separation[k] + dhat:
                dhat = wp.min(dhat, surfaces.lip[a])
                out.min_separation[k] = wp.float64(0.0)
        out.dhat[k] = dhat
        out.stiffness[k] = wp.min(surfaces.kappa[a], surfaces.kappa[b]) * area * dhat
        out.friction_mu[k] = wp.sqrt(surfaces.friction_mu[a] * surfaces.friction_mu[b])
        out.mollifier_eps[k] = eps
