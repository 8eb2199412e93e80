"""Closest points of two segments, as stencil weights."""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def edge_edge_weights(a0: wp.vec3d, a1: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d) -> wp.vec4d:
    """Weights (1-s, s, t-1, -t) of the closest difference r = a0 + s (a1-a0) - b0 - t (b1-b0) [m], s and t in [0, 1].

    Source: Ericson, Real-Time Collision Detection, 5.1.9, with the line-line parameter taken from the cross product
    n = u x v. Its square is the determinant of the 2x2 system without the cancellation of |u|^2 |v|^2 - (u.v)^2, which
    loses every digit below an angle of 1e-8; and where n too is rounding, s may be anything: t is then the best for
    that s and s the best for that t, which along parallel edges is a closest pair. Parallel, collinear, touching and
    zero-length edges give finite weights and the true distance, to a few roundings of the longer edge's length (tested
    against exact arithmetic). Where the closest pair is not unique (parallel overlap) one is returned; the mollifier
    takes its force to zero.
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
    return wp.vec4d(one - s, s, t - one, -t)
