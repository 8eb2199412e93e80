"""Scalar law of a joint: its coordinate q, the potential of q, and how its spring gives way. docs/physics/joints.md.

A spring that yields is elastic and perfectly plastic, stiffness k and yield force F: a crease that keeps its fold,
Coulomb friction in a bearing. It is implicit in the step: Huber(|q - target|; k, F) is minimised with the target
frozen, and at the end of the step the target follows until |q - target| <= F/k, the return mapping of rate-independent
plasticity (Simo and Hughes 1998, 1.4.2). Turned on and on it resists with F; let go, it springs back by F/k.
"""

from __future__ import annotations

import warp as wp

from engine.energies.drive import huber, huber_secant

wp.set_module_options({"enable_backward": False})

mat43d = wp.types.matrix(shape=(4, 3), dtype=wp.float64)


@wp.struct
class JointLaw:
    """Numbers of one joint coordinate; slide units, for angles N m in place of N and rad in place of m."""

    offset: wp.array(dtype=wp.float64)  # q where the joint was assembled [m]
    stiffness: wp.array(dtype=wp.float64)  # [N/m]
    damping: wp.array(dtype=wp.float64)  # [N s/m]
    target: wp.array(dtype=wp.float64)  # [m]
    force_limit: wp.array(dtype=wp.float64)  # of the spring, inf = none [N]
    lower: wp.array(dtype=wp.float64)  # [m]
    upper: wp.array(dtype=wp.float64)  # [m]
    limit_stiffness: wp.array(dtype=wp.float64)  # [N/m]
    yields: wp.array(dtype=wp.float64)  # 1: the target follows a spring that carries force_limit [-]


# Scalar law --------------------------------------------------------------------------------------------------------
@wp.func
def joint_potential(
    law: JointLaw, e: int, q: wp.float64, error: wp.float64, moved: wp.float64, h: wp.float64
) -> wp.vec3d:
    """(E, dE/dq, d2E/dq2) at q, with error = q - target and moved = q - q_start; the last is never negative."""
    half = wp.float64(0.5)
    distance = wp.abs(error)
    rate = law.damping[e] / h
    value = huber(distance, law.stiffness[e], law.force_limit[e]) + half * rate * moved * moved
    slope = huber_secant(distance, law.stiffness[e], law.force_limit[e]) * error + rate * moved
    # the secant, not the exact zero, of a saturated spring: see drive.py
    curvature = huber_secant(distance, law.stiffness[e], law.force_limit[e]) + rate
    beyond = wp.float64(0.0)
    if q < law.lower[e]:
        beyond = q - law.lower[e]
    if q > law.upper[e]:
        beyond = q - law.upper[e]
    if beyond != wp.float64(0.0):
        k = law.limit_stiffness[e]
        value += half * k * beyond * beyond
        slope += k * beyond
        curvature += k
    return wp.vec3d(value, slope, curvature)


@wp.func
def slide_coordinate(x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), e: int) -> wp.float64:
    """(c - p0).(p1 - p0) [m]."""
    p0 = x[stencils[e, 1]]
    return wp.dot(x[stencils[e, 0]] - p0, x[stencils[e, 2]] - p0)


@wp.func
def slide_gradient(x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), e: int) -> wp.mat33d:
    """dq/d(c, p0, p1) in rows."""
    p0 = x[stencils[e, 1]]
    d = x[stencils[e, 0]] - p0
    u = x[stencils[e, 2]] - p0
    return wp.matrix_from_rows(u, -u - d, d)


@wp.func
def angle_coordinate(x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), e: int) -> wp.float64:
    """atan2((c1 - p0).(p2 - p0), (c1 - p0).(p1 - p0)) [rad]."""
    p0 = x[stencils[e, 0]]
    v = x[stencils[e, 3]] - p0
    return wp.atan2(wp.dot(v, x[stencils[e, 2]] - p0), wp.dot(v, x[stencils[e, 1]] - p0))


@wp.func
def angle_gradient(x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), e: int) -> mat43d:
    """dq/d(p0, p1, p2, c1) in rows [rad/m]; zero where c1 lies on the axis, where the angle has no meaning."""
    p0 = x[stencils[e, 0]]
    u1 = x[stencils[e, 1]] - p0
    u2 = x[stencils[e, 2]] - p0
    v = x[stencils[e, 3]] - p0
    s = wp.dot(v, u2)
    c = wp.dot(v, u1)
    square = wp.max(s * s + c * c, wp.float64(1e-300))
    g = mat43d()
    g[1] = (-s / square) * v
    g[2] = (c / square) * v
    g[3] = (c / square) * u2 - (s / square) * u1
    g[0] = -g[1] - g[2] - g[3]
    return g


@wp.func
def yielded(law: JointLaw, e: int, error: wp.float64) -> wp.float64:
    """By how much the target follows, error = q - target [m or rad]; 0 for a spring that does not yield."""
    if law.yields[e] <= wp.float64(0.0):
        return wp.float64(0.0)
    elastic = law.force_limit[e] / law.stiffness[e]
    return wp.sign(error) * wp.max(wp.abs(error) - elastic, wp.float64(0.0))
