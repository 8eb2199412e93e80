"""Closest point of a triangle to a point, as stencil weights.

The distance is d = |r| with r = sum_i w_i x_i; its gradient is dd/dx_i = w_i r / d, because the weights of a closest
point are stationary (envelope theorem); these are the case-wise gradients of Li et al. 2020, Incremental Potential
Contact, in one formula.
"""

from __future__ import annotations

import warp as wp

from engine.distance.stencil import segment_parameter

wp.set_module_options({"enable_backward": False})

# sin^2 of the corner angle below which barycentrics have lost digits and all three edges are tried as well
SLIVER = wp.constant(wp.float64(1.0e-10))


@wp.func
def point_triangle_weights(p: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.vec4d:
    """Weights (1, -wa, -wb, -wc) of the closest difference r = p - (wa a + wb b + wc c) [m].

    The nearest point of a convex polygon lies inside it or on an edge whose outer side sees the point, so only edges
    opposite to a negative barycentric are tried; all three, and the inside as well, when the triangle is a sliver, a
    segment or a point. Finite for every finite input. Source: Ericson, Real-Time Collision Detection, 5.1.5, with
    barycentrics from cross products (no cancellation for points far to the side).
    """
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    ab = b - a
    ac = c - a
    ap = p - a
    normal = wp.cross(ab, ac)
    normal_squared = wp.dot(normal, normal)
    bound = wp.dot(ab, ab) * wp.dot(ac, ac)
    sliver = normal_squared <= SLIVER * bound
    wb = zero
    wc = zero
    if normal_squared > zero:
        wb = wp.dot(normal, wp.cross(ap, ac)) / normal_squared
        wc = wp.dot(normal, wp.cross(ab, ap)) / normal_squared
    wa = one - wb - wc
    inside = normal_squared > zero and wa >= zero and wb >= zero and wc >= zero
    best = wp.vec4d(one, -wa, -wb, -wc)
    if sliver or not inside:
        best_squared = wp.float64(wp.inf)
        if inside:
            r = ap - wb * ab - wc * ac
            best_squared = wp.dot(r, r)
        if sliver or wc < zero:
            s = segment_parameter(p, a, b)
            r = ap - s * ab
            squared = wp.dot(r, r)
            if squared < best_squared:
                best_squared = squared
                best = wp.vec4d(one, s - one, -s, zero)
        if sliver or wb < zero:
            s = segment_parameter(p, a, c)
            r = ap - s * ac
            squared = wp.dot(r, r)
            if squared < best_squared:
                best_squared = squared
                best = wp.vec4d(one, s - one, zero, -s)
        if sliver or wa < zero:
            s = segment_parameter(p, b, c)
            r = (p - b) - s * (c - b)
            squared = wp.dot(r, r)
            if squared < best_squared:
                best = wp.vec4d(one, zero, s - one, -s)
    return best
