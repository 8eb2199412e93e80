"""Mollifier that takes the force of an edge-edge pair smoothly to zero as the edges become parallel.

c = |u x v|^2 with u = a1 - a0, v = b1 - b0 [m4]; m(c) = (c/eps)(2 - c/eps) below the threshold eps, 1 above.
Source: Li et al. 2020, Incremental Potential Contact, on the differentiability of edge-edge distances (e_kl, eps_x).
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})

mat43d = wp.types.matrix(shape=(4, 3), dtype=wp.float64)


@wp.func
def mollifier_threshold(rest_length_a: wp.float64, rest_length_b: wp.float64) -> wp.float64:
    """eps = 1e-3 La^2 Lb^2 [m4]: edges nearer to parallel than asin(sqrt(1e-3)) = 1.8 degrees are mollified."""
    return wp.float64(1.0e-3) * rest_length_a * rest_length_a * rest_length_b * rest_length_b


@wp.func
def edge_cross_squared(a0: wp.vec3d, a1: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d) -> wp.float64:
    """c = |(a1-a0) x (b1-b0)|^2 [m4]."""
    n = wp.cross(a1 - a0, b1 - b0)
    return wp.dot(n, n)


@wp.func
def mollifier(c: wp.float64, eps: wp.float64) -> wp.float64:
    """m(c) in [0, 1] [-]; C1 at c = eps."""
    m = wp.float64(1.0)
    if c < eps:
        y = c / eps
        m = y * (wp.float64(2.0) - y)
    return m


@wp.func
def mollifier_gradient(c: wp.float64, eps: wp.float64) -> wp.float64:
    """dm/dc [1/m4]."""
    g = wp.float64(0.0)
    if c < eps:
        g = wp.float64(2.0) * (wp.float64(1.0) - c / eps) / eps
    return g


@wp.func
def mollifier_hessian(c: wp.float64, eps: wp.float64) -> wp.float64:
    """d2m/dc2 [1/m8], negative below eps, with a jump at eps."""
    h = wp.float64(0.0)
    if c < eps:
        h = wp.float64(-2.0) / (eps * eps)
    return h


@wp.func
def edge_cross_squared_gradient(a0: wp.vec3d, a1: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d) -> mat43d:
    """dc/dx, row i for the point i of (a0, a1, b0, b1) [m3]: dc/du = 2 v x (u x v), dc/dv = 2 (u x v) x u."""
    u = a1 - a0
    v = b1 - b0
    n = wp.cross(u, v)
    gu = wp.float64(2.0) * wp.cross(v, n)
    gv = wp.float64(2.0) * wp.cross(n, u)
    return mat43d(-gu[0], -gu[1], -gu[2], gu[0], gu[1], gu[2], -gv[0], -gv[1], -gv[2], gv[0], gv[1], gv[2])


@wp.func
def edge_cross_squared_hessian(a0: wp.vec3d, a1: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d, i: int, j: int) -> wp.mat33d:
    """d2c/dx_i dx_j [m2] for points i, j of (a0, a1, b0, b1).

    From d2c/du2 = 2 (|v|^2 I - v v^T), d2c/dv2 = 2 (|u|^2 I - u u^T), d2c/du dv = 2 (2 u v^T - v u^T - (u.v) I).
    """
    two = wp.float64(2.0)
    u = a1 - a0
    v = b1 - b0
    identity = wp.identity(n=3, dtype=wp.float64)
    block = two * (wp.dot(u, u) * identity - wp.outer(u, u))
    if i < 2 and j < 2:
        block = two * (wp.dot(v, v) * identity - wp.outer(v, v))
    elif i < 2:
        block = two * (two * wp.outer(u, v) - wp.outer(v, u) - wp.dot(u, v) * identity)
    elif j < 2:
        block = two * (two * wp.outer(v, u) - wp.outer(u, v) - wp.dot(u, v) * identity)
    if (i + j) % 2 == 1:
        block = -block
    return block
