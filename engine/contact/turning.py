"""The turn of the surface that a pair's normal belongs to: what a displacement across a distance is measured against.

Two points a distance d apart along the unit normal n that turn together part by d times the turn of n, and have not
slid. With displacements u_i, closest-point weights w_i and T = I - n n^T what slides is

    T [ sum_i w_i u_i - d dn ],    dn = - sum_i g_i (n . u_i)

linearised in u. The g_i [1/m] lie across n, with sum_i g_i = 0 and sum_i g_i (x_i . t) = t for every t across n. So a
rigid turn slides nothing, and the forces A_i^T f, A_i = w_i I + d g_i n^T, f across n, have no sum and no moment:
sum_i x_i x A_i^T f = d n x f + d f x n. Point over triangle: the g_i are the gradients of the triangle's shape
functions and -dn is the slope of its displacement along n. Two edges: the g_i are the ends' shares in the basis dual to
both edges, and n turns as their cross product does. Both in the plane across n, whichever features are closest.
"""

from __future__ import annotations

import warp as wp

from engine.distance.mollifier import mat43d

wp.set_module_options({"enable_backward": False})

FACING = wp.constant(wp.float64(0.5))  # cosine between n and the plane's own normal from which on the plane carries n
FLAT = wp.constant(wp.float64(1.0e-3))  # sin^2 between its edges below which there is no plane, as of mollified edges


@wp.func
def first_edge(kind: int, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> wp.vec3d:
    e = x2 - x1
    if kind == 1:
        e = x1 - x0
    return e


@wp.func
def second_edge(kind: int, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> wp.vec3d:
    f = x3 - x1
    if kind == 1:
        f = x3 - x2
    return f


@wp.func
def spans_plane(kind: int, n: wp.vec3d, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> bool:
    """Whether triangle or edges span a plane that faces along n."""
    e = first_edge(kind, x0, x1, x2, x3)
    f = second_edge(kind, x0, x1, x2, x3)
    plane = wp.cross(e, f)
    size = wp.dot(plane, plane)
    along = wp.dot(n, plane)
    return size > FLAT * wp.dot(e, e) * wp.dot(f, f) and along * along >= FACING * FACING * size


@wp.func
def turn_gradients(kind: int, n: wp.vec3d, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> mat43d:
    """g_i by row [1/m]. kind 0: point and triangle, 1: two edges. Needs a plane that does not contain n."""
    e = first_edge(kind, x0, x1, x2, x3)
    f = second_edge(kind, x0, x1, x2, x3)
    area = wp.dot(n, wp.cross(e, f))
    a = wp.cross(f, n) / area  # dual to e and f in the plane across n
    b = wp.cross(n, e) / area
    c = -a - b
    z = wp.float64(0.0)
    g = mat43d(z, z, z, c[0], c[1], c[2], a[0], a[1], a[2], b[0], b[1], b[2])
    if kind == 1:
        g = mat43d(-a[0], -a[1], -a[2], a[0], a[1], a[2], -b[0], -b[1], -b[2], b[0], b[1], b[2])
    return g


@wp.func
def across(n: wp.vec3d, e: wp.vec3d) -> wp.vec3d:
    """Part of an edge across n; zero for an edge that is steep to the plane across n."""
    flat = e - n * wp.dot(n, e)
    if wp.dot(flat, flat) < FACING * FACING * wp.dot(e, e):
        flat = wp.vec3d()
    return flat


@wp.func
def edges_carry(
    k: int, n: wp.vec3d, d: wp.float64, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d,
    turn_out: wp.array2d(dtype=wp.vec3d),
) -> int:  # fmt: skip
    """Two edges that seem parallel along n: their sum m = a + b carries the turn along itself."""
    zero = wp.float64(0.0)
    a = across(n, x1 - x0)
    b = across(n, x3 - x2)
    sign = wp.where(wp.dot(a, b) < zero, wp.float64(-1.0), wp.float64(1.0))
    m = a + b * sign
    if wp.dot(m, m) > zero:
        share = m * (d / wp.dot(m, m))
        if wp.dot(a, a) > zero:
            turn_out[k, 0] = -share
            turn_out[k, 1] = share
        if wp.dot(b, b) > zero:
            turn_out[k, 2] = share * -sign
            turn_out[k, 3] = share * sign
    return 0


@wp.func
def side_carries(
    k: int, w: wp.vec4d, n: wp.vec3d, d: wp.float64, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d,
    turn_out: wp.array2d(dtype=wp.vec3d),
) -> int:  # fmt: skip
    """A triangle met from its side: the touched edge carries the turn along itself, a touched corner none."""
    zero = wp.float64(0.0)
    i = int(1)
    j = int(2)
    edge = x2 - x1
    if w[1] == zero:
        i = int(2)
        j = int(3)
        edge = x3 - x2
    elif w[2] == zero:
        j = int(3)
        edge = x3 - x1
    m = across(n, edge)
    if w[i] != zero and w[j] != zero and wp.dot(m, m) > zero:
        share = m * (d / wp.dot(m, m))
        turn_out[k, i] = -share
        turn_out[k, j] = share
    return 0


@wp.func
def write_turn(
    k: int, kind: int, w: wp.vec4d, n: wp.vec3d, d: wp.float64, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d,
    turn_out: wp.array2d(dtype=wp.vec3d),
) -> int:  # fmt: skip
    """d g_i of pair k by corner [-]; w: its closest-point weights.

    Where no plane faces along n, touched edges carry the turn along themselves: the g_i then have
    sum_i g_i (x_i . t) = v (v . t), v along the edge, and a turn about the edge still counts as slip: the faces around,
    which would tell, are not the pair's.
    """
    for i in range(4):
        turn_out[k, i] = wp.vec3d()
    if spans_plane(kind, n, x0, x1, x2, x3):
        g = turn_gradients(kind, n, x0, x1, x2, x3)
        for i in range(4):
            turn_out[k, i] = g[i] * d
    elif kind == 1:
        edges_carry(k, n, d, x0, x1, x2, x3, turn_out)
    else:
        side_carries(k, w, n, d, x1, x2, x3, turn_out)
    return 0
