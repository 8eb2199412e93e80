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
MAX_ADVANCES = wp.constant(128)
# Share of the usable gap at which advancing stops: the rest would cost more advances than it is worth.
STOP_SHARE = wp.constant(wp.float64(0.1))
# Rounding of a triple product over the product of its factors' bounds, with a margin of ten.
ROUNDING = wp.constant(wp.float64(1.0e-14))


@wp.func
def closest_weights(kind: int, q1: wp.vec3d, q2: wp.vec3d, q3: wp.vec3d) -> wp.vec4d:
    """Weights of the closest difference; point 0 lies at the origin."""
    origin = wp.vec3d()
    w = wp.vec4d()
    if kind == EDGE_EDGE:
        w = edge_edge_weights(origin, q1, q2, q3)
    else:
        w = point_triangle_weights(origin, q1, q2, q3)
    return w


@wp.func
def fastest_approach(kind: int, e1: wp.vec3d, e2: wp.vec3d, e3: wp.vec3d) -> wp.float64:
    """Longest relative displacement of a corner of one feature against one of the other [m]: bounds all between them.

    Displacements are relative to point 0. Infinite when one of them is not finite.
    """
    squared = wp.max(wp.length_sq(e2), wp.length_sq(e3))
    if kind == EDGE_EDGE:
        squared = wp.max(squared, wp.max(wp.length_sq(e1 - e2), wp.length_sq(e1 - e3)))
    else:
        squared = wp.max(squared, wp.length_sq(e1))
    # a sum, because max drops what is not a number
    if not wp.length_sq(e1) + wp.length_sq(e2) + wp.length_sq(e3) < wp.float64(wp.inf):
        squared = wp.float64(wp.inf)
    return wp.sqrt(squared)


@wp.func
def corners_part(kind: int, n: wp.vec3d, e1: wp.vec3d, e2: wp.vec3d, e3: wp.vec3d) -> wp.float64:
    """1 when no corner of the first feature moves toward any of the other along n, else 0."""
    g1 = wp.dot(n, e1)
    closing = wp.max(wp.dot(n, e2), wp.dot(n, e3))
    if kind == EDGE_EDGE:
        closing = wp.max(closing, closing - g1)
    else:
        closing = wp.max(closing, g1)
    free = wp.float64(0.0)
    if closing <= wp.float64(0.0):
        free = wp.float64(1.0)
    return free


@wp.func
def time_to_floor(separation: wp.float64, rate: wp.float64, floor: wp.float64) -> wp.float64:
    """Time at which separation + rate * time reaches floor; infinite when it never falls, 0 when it is not above."""
    time = wp.float64(wp.inf)
    if separation <= floor:
        time = wp.float64(0.0)
    elif rate < wp.float64(0.0):
        time = (floor - separation) / rate
    return time


@wp.func
def turning_plane_time(
    kind: int,
    q1: wp.vec3d,
    q2: wp.vec3d,
    q3: wp.vec3d,
    e1: wp.vec3d,
    e2: wp.vec3d,
    e3: wp.vec3d,
    floor: wp.float64,
) -> wp.float64:
    """A time, 1 at most, in which the distance between the features' parallel planes stays above floor; 0 if unknown.

    The planes turn with the features, so pairs that roll past each other at a small gap need not creep. With edges
    u, v and w from the second feature to the first, N = u x v and f = w.N, the distance is at least |f| / |N|. From the
    cubic f and |N + x| <= |N| + x.N/|N| + |x|^2 / 2|N| follows a quadratic c0 + c1 t + c2 t^2 <= |f| - floor |N| on
    [0, 1], whose first root is returned.
    """
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    u = q1
    v = q3 - q2
    w = -q2
    du = e1
    dv = e3 - e2
    dw = -e2
    if kind == POINT_TRIANGLE:
        u = q2 - q1
        v = q3 - q1
        w = -q1
        du = e2 - e1
        dv = e3 - e1
        dw = -e1
    n0 = wp.cross(u, v)
    n1 = wp.cross(u, dv) + wp.cross(du, v)
    n2 = wp.cross(du, dv)
    size = wp.length(n0)
    if size == zero:
        return zero
    # the plane's normal, pointing to the first feature, and the planes' distance along it
    n = n0 / size
    height = wp.dot(w, n)
    sign = one
    if height < zero:
        sign = -one
    spread = wp.length(n1) + wp.length(n2)
    # Nearly parallel edges leave N, thus the plane, to rounding: what rounding may shift f and N by is given up.
    extent = (wp.length_sq(w) + wp.length_sq(dw)) * (wp.length_sq(u) + wp.length_sq(du))
    rounding = ROUNDING * wp.sqrt(extent * (wp.length_sq(v) + wp.length_sq(dv))) / size
    c0 = sign * height - floor - rounding
    c1 = sign * (wp.dot(dw, n0) + wp.dot(w, n1)) / size - floor * wp.dot(n, n1) / size
    c2 = sign * (wp.dot(dw, n1) + wp.dot(w, n2)) / size + wp.min(sign * wp.dot(dw, n2) / size, zero)
    c2 = c2 - floor * (wp.dot(n, n2) / size + wp.float64(0.5) * spread * spread / (size * size))
    if c0 <= zero:
        return zero
    c2 = wp.min(c2, zero)
    root = wp.sqrt(c1 * c1 - wp.float64(4.0) * c2 * c0)
    time = one
    if c1 < zero:
        time = wp.float64(2.0) * c0 / (root - c1)
    elif c2 < zero:
        time = wp.float64(-0.5) * (c1 + root) / c2
    return wp.min(time, one)


@wp.func
def corners_time(
    kind: int,
    n: wp.vec3d,
    q1: wp.vec3d,
    q2: wp.vec3d,
    q3: wp.vec3d,
    e1: wp.vec3d,
    e2: wp.vec3d,
    e3: wp.vec3d,
    floor: wp.float64,
) -> wp.float64:
    """Time in which all corners of the first feature stay farther than floor, along n, from all of the other."""
    h1 = wp.dot(n, q1)
    h2 = wp.dot(n, q2)
    h3 = wp.dot(n, q3)
    g1 = wp.dot(n, e1)
    g2 = wp.dot(n, e2)
    g3 = wp.dot(n, e3)
    time = wp.min(time_to_floor(-h2, -g2, floor), time_to_floor(-h3, -g3, floor))
    if kind == EDGE_EDGE:
        time = wp.min(time, time_to_floor(h1 - h2, g1 - g2, floor))
        time = wp.min(time, time_to_floor(h1 - h3, g1 - g3, floor))
    else:
        time = wp.min(time, time_to_floor(-h1, -g1, floor))
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
    is. A pair that starts at or below min_separation may only move apart (1, else 0); touching features (distance 0)
    and a motion that is not finite give 0.
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
    speed = fastest_approach(kind, e1, e2, e3)
    if not speed < wp.float64(wp.inf):
        return zero
    if speed == zero:
        return one
    toi = zero
    floor = zero
    stop = zero
    advance = wp.int32(0)  # a Warp variable, not a compile-time constant
    while advance < MAX_ADVANCES and toi < one:
        q1 = y1 + toi * e1
        q2 = y2 + toi * e2
        q3 = y3 + toi * e3
        w = closest_weights(kind, q1, q2, q3)
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
        if distance <= min_separation:  # only at the start
            return corners_part(kind, n, e1, e2, e3)
        step = corners_time(kind, n, q1, q2, q3, e1, e2, e3, floor)
        if advance > 0 and toi + step < one:
            step = wp.max(step, turning_plane_time(kind, q1, q2, q3, e1, e2, e3, floor))
        # The plain bound is never the larger one, save for rounding in n at gaps near rounding itself.
        toi = toi + wp.max(step, (distance - floor) / speed)
        advance = advance + 1
    return wp.min(toi, one)
