"""Anchors: a place fixed to a triangle, where a point stuck, and the opening from it.

Coordinates q = (q1, q2, h) of a place y over the triangle (a, b, c):  y = a + q1 (b - a) + q2 (c - a) + h n, n the unit
normal. So the opening u = x - y is zero where the point stuck, at a distance as it was, and turns with the partner. q1,
q2 may leave the triangle a little. The gradient of any psi(u) with g = dpsi/du is exact: on x it is g, on the corners
-(1 - q1 - q2) g, -q1 g, -q2 g and the pull-back of -h g.n, so forces and moments balance.
"""

from __future__ import annotations

import warp as wp

from engine.contact.stencils import Turns
from engine.contact.turning import turn_gradients

wp.set_module_options({"enable_backward": False})


@wp.func
def unit_normal(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.vec3d:
    return wp.normalize(wp.cross(b - a, c - a))


@wp.func
def anchor_place(q: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.vec3d:
    """[m]"""
    return a + (b - a) * q[0] + (c - a) * q[1] + unit_normal(a, b, c) * q[2]


@wp.func
def anchor_coordinates(y: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.vec3d:
    """q of the place y: inverse of `anchor_place`. Needs a triangle with area."""
    e = b - a
    f = c - a
    d = y - a
    normal = wp.cross(e, f)
    square = wp.dot(normal, normal)
    q1 = wp.dot(normal, wp.cross(d, f)) / square
    q2 = wp.dot(normal, wp.cross(e, d)) / square
    return wp.vec3d(q1, q2, wp.dot(d, normal) / wp.sqrt(square))


@wp.func
def anchor_weights(q: wp.vec3d) -> wp.vec4d:
    """Stencil weights of u over (x, a, b, c), the turn of the normal left out [-]."""
    one = wp.float64(1.0)
    return wp.vec4d(one, q[0] + q[1] - one, -q[0], -q[1])


@wp.func
def follow_anchor(
    q: wp.vec3d, x: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, k: int, turns: Turns
) -> int:
    """Write the turn of stencil k, so that du = sum_i (w_i I + turn_i n^T) dx_i is the opening's exact change."""
    n = unit_normal(a, b, c)
    g = turn_gradients(0, n, x, a, b, c)
    turns.normal[k] = n
    for corner in range(4):
        turns.turn[k, corner] = g[corner] * q[2]
    return 0


@wp.func
def anchor_gradient(
    g: wp.vec3d, q: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, corner: int
) -> wp.vec3d:
    """Gradient on the point (corner 0) or a corner of its triangle (1, 2, 3) for g = dpsi/du, in units of g."""
    w = anchor_weights(q)
    e = b - a
    f = c - a
    normal = wp.cross(e, f)
    size = wp.length(normal)
    n = normal / size
    tilt = (g - n * wp.dot(g, n)) * (q[2] / size)  # h d(g.n)/d(normal)
    on_b = wp.cross(f, tilt)
    on_c = wp.cross(tilt, e)
    result = g * w[0]
    if corner == 1:
        result = g * w[1] + on_b + on_c
    elif corner == 2:
        result = g * w[2] - on_b
    elif corner == 3:
        result = g * w[3] - on_c
    return result


@wp.func
def anchor_gradient_turning(
    g: wp.vec3d, turn: wp.vec3d, q: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, corner: int
) -> wp.vec3d:
    """As `anchor_gradient`, for psi(u, n) that also depends on the unit normal: turn = dpsi/dn at fixed u."""
    e = b - a
    f = c - a
    normal = wp.cross(e, f)
    size = wp.length(normal)
    n = normal / size
    tilt = (turn - n * wp.dot(turn, n)) / size
    on_b = wp.cross(f, tilt)
    on_c = wp.cross(tilt, e)
    result = anchor_gradient(g, q, a, b, c, corner)
    if corner == 1:
        result = result - on_b - on_c
    elif corner == 2:
        result = result + on_b
    elif corner == 3:
        result = result + on_c
    return result
