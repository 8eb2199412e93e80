"""Additive continuous collision detection with a minimum separation.

Source: Li et al. 2021, Codimensional Incremental Potential Contact (additive CCD): advance by a lower bound
of the time to touch, measure again, add. Their bound divides the gap by the fastest relative displacement. Here it is
taken along the line between the closest points (as conservative advancement does: Mirtich 1996; Tang et al. 2009):
for any unit normal n the distance of two convex features is at least min over their corners of n.(a_i - b_j), which is
linear in time. That is never worse, exact for a pair that approaches along n, and does not slow down pairs that slide.
"""

from __future__ import annotations

import warp as wp

from engine.distance.edge_edge import edge_edge_weights
from engine.distance.point_triangle import point_triangle_weights

wp.set_module_options({"enable_backward": False})

POINT_TRIANGLE = wp.constant(0)
EDGE_EDGE = wp.constant(1)

# Advances at most; a pair that runs out returns the safe time reached.
MAX_ADVANCES = wp.constant(64)
# Share of the usable gap at which advancing stops: the rest would cost more advances than it is worth.
STOP_SHARE = wp.constant(wp.float64(0.1))


@wp.func
def time_to_floor(separation: wp.float64, rate: wp.float64, floor: wp.float64) -> wp.float64:
    """Time at which separation + rate * time reaches floor; infinite when it never falls, 0 when it is below."""
    time = wp.float64(wp.inf)
    if rate < wp.float64(0.0):
        time = wp.max((floor - separation) / rate, wp.float64(0.0))
    return time


@wp.func
def additive_ccd(
    kind: int,
    x0: wp.vec3d,
    x1: wp.vec3d,
    x2: wp.vec3d,
    x3: wp.vec3d,
    d0: wp.vec3d,
    d1: wp.vec3d,
    d2: wp.vec3d,
    d3: wp.vec3d,
    min_separation: wp.float64,
    conservative: wp.float64,
) -> wp.float64:
    """Safe share toi of the motion x_i + t d_i, t in [0, 1] [-].

    kind: 0 point-triangle (p, a, b, c), 1 edge-edge (a0, a1, b0, b1). For every t <= toi the gap (distance -
    min_separation) stays at or above (1 - conservative) of what it is at t = 0, to rounding of the coordinates
    relative to x0. Only relative motion counts; 1 when the gap never falls that far. Greater than 0 whenever the gap
    is. A pair that starts at or below min_separation may only move apart (else 0), and a motion that is not finite
    gives 0.
    """
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    # Relative to point 0, which then rests at the origin: no digits lost to where the pair is or to common motion.
    y1 = x1 - x0
    y2 = x2 - x0
    y3 = x3 - x0
    e1 = d1 - d0
    e2 = d2 - d0
    e3 = d3 - d0
    origin = wp.vec3d(zero, zero, zero)
    fastest = wp.length_sq(e1) + wp.length_sq(e2) + wp.length_sq(e3)
    if fastest == zero:
        return one
    if not fastest < wp.float64(wp.inf):
        return zero
    toi = zero
    floor = zero
    stop = zero
    advance = wp.int32(0)  # a Warp variable, not a compile-time constant
    while advance < MAX_ADVANCES:
        q1 = y1 + toi * e1
        q2 = y2 + toi * e2
        q3 = y3 + toi * e3
        w = wp.vec4d()
        if kind == EDGE_EDGE:
            w = edge_edge_weights(origin, q1, q2, q3)
        else:
            w = point_triangle_weights(origin, q1, q2, q3)
        r = w[1] * q1 + w[2] * q2 + w[3] * q3
        distance = wp.length(r)
        if advance == 0:
            gap = distance - min_separation
            floor = min_separation + (one - conservative) * gap
            stop = floor + STOP_SHARE * conservative * gap
        elif distance <= stop:
            break
        if distance == zero:
            break
        n = r / distance
        h1 = wp.dot(n, q1)
        h2 = wp.dot(n, q2)
        h3 = wp.dot(n, q3)
        g1 = wp.dot(n, e1)
        g2 = wp.dot(n, e2)
        g3 = wp.dot(n, e3)
        step = wp.min(time_to_floor(-h2, -g2, floor), time_to_floor(-h3, -g3, floor))
        if kind == EDGE_EDGE:
            step = wp.min(step, time_to_floor(h1 - h2, g1 - g2, floor))
            step = wp.min(step, time_to_floor(h1 - h3, g1 - g3, floor))
        else:
            step = wp.min(step, time_to_floor(-h1, -g1, floor))
        toi = toi + step
        if toi >= one:
            return one
        advance = advance + 1
    return toi
