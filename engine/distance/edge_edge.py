"""Closest points of two segments, as stencil weights."""

from __future__ import annotations

import warp as wp

from engine.distance.stencil import segment_parameter

wp.set_module_options({"enable_backward": False})

# sin^2 of the angle between the edges below which the four point-edge pairs are compared with the line-line solution
NEARLY_PARALLEL = wp.constant(wp.float64(1.0e-10))


@wp.func
def edge_edge_weights(a0: wp.vec3d, a1: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d) -> wp.vec4d:
    """Weights (1-s, s, t-1, -t) of the closest difference r = a0 + s (a1-a0) - b0 - t (b1-b0) [m], s and t in [0, 1].

    Source: Ericson, Real-Time Collision Detection, 5.1.9, with the line-line parameters taken from the cross product
    n = u x v: its square is the determinant of the 2x2 system without the cancellation of |u|^2 |v|^2 - (u.v)^2, which
    loses every digit below an angle of 1e-8. Under 1e-5 the closest pair is also sought among the four point-edge
    pairs. Parallel, collinear, touching and zero-length edges give finite weights and the true distance; where the
    closest pair is not unique (parallel overlap) one of them is returned, and the mollifier takes its force to zero.
    """
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    u = a1 - a0
    v = b1 - b0
    w = a0 - b0
    uu = wp.dot(u, u)
    vv = wp.dot(v, v)
    n = wp.cross(u, v)
    nn = wp.dot(n, n)
    s = zero
    if nn > zero:
        s = wp.clamp(wp.dot(wp.cross(v, w), n) / nn, zero, one)
    t = zero
    if vv > zero:
        t = wp.clamp(wp.dot(w + s * u, v) / vv, zero, one)
    if uu > zero:
        s = wp.clamp(wp.dot(t * v - w, u) / uu, zero, one)
    if nn <= NEARLY_PARALLEL * uu * vv:
        r = w + s * u - t * v
        best_squared = wp.dot(r, r)
        trial = segment_parameter(a0, b0, b1)
        r = w - trial * v
        squared = wp.dot(r, r)
        if squared < best_squared:
            best_squared = squared
            s = zero
            t = trial
        trial = segment_parameter(a1, b0, b1)
        r = w + u - trial * v
        squared = wp.dot(r, r)
        if squared < best_squared:
            best_squared = squared
            s = one
            t = trial
        trial = segment_parameter(b0, a0, a1)
        r = w + trial * u
        squared = wp.dot(r, r)
        if squared < best_squared:
            best_squared = squared
            s = trial
            t = zero
        trial = segment_parameter(b1, a0, a1)
        r = w + trial * u - v
        squared = wp.dot(r, r)
        if squared < best_squared:
            s = trial
            t = one
    return wp.vec4d(one - s, s, t - one, -t)
