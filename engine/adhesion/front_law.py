"""Traction of the front law: a trapezoid over the opening, its height set by the work W and the local cell.

Per unit area, opening u = |x - anchor| [m], cell length c [m], corners a = (p1 c, p2 c, p3 c):

    t(u) = T u/a1 (u < a1),  T (u < a2),  T (a3 - u)/(a3 - a2) (u < a3),  0 beyond;   T = 2 W / (a3 + a2 - a1)

so the area under it is W. Below the largest opening so far, r, the traction follows the secant t(r)/r (a1 at least).
Energy inside a step, with r frozen:  e(u) = t(r) r/2 + integral_r^u t  for u > r, the secant parabola below. Spent for
good:  D(r) = integral_0^r t - t(r) r/2, which is 0 below a1, then linear in r piece by piece, and W at a3.
Source: docs/physics/cohesion_front.md; a cohesive zone as in Ortiz & Pandolfi 1999, with a length tied to the mesh.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})

ACTIVE = wp.constant(wp.vec3d(2.0, 2.0, 4.0))  # corners over c of a point at the front: soft, so that cells do not snap
INACTIVE = wp.constant(wp.vec3d(0.005, 2.0, 4.0))  # far behind it: stiff, yet fails on its own with exactly W


@wp.func
def front_corners(active: int, cell: wp.float64) -> wp.vec3d:
    """a1, a2, a3 [m]."""
    corners = INACTIVE * cell
    if active == 1:
        corners = ACTIVE * cell
    return corners


@wp.func
def front_peak(work: wp.float64, a: wp.vec3d) -> wp.float64:
    """T [Pa]."""
    return wp.float64(2.0) * work / (a[2] + a[1] - a[0])


@wp.func
def front_traction(u: wp.float64, peak: wp.float64, a: wp.vec3d) -> wp.float64:
    """Envelope t(u) [Pa]."""
    t = wp.float64(0.0)
    if u < a[0]:
        t = peak * u / a[0]
    elif u <= a[1]:
        t = peak
    elif u < a[2]:
        t = peak * (a[2] - u) / (a[2] - a[1])
    return t


@wp.func
def front_secant(reached: wp.float64, peak: wp.float64, a: wp.vec3d) -> wp.float64:
    """Stiffness below the largest opening so far [Pa/m]."""
    r = wp.max(reached, a[0])
    return front_traction(r, peak, a) / r


@wp.func
def front_value(u: wp.float64, reached: wp.float64, peak: wp.float64, a: wp.vec3d) -> wp.float64:
    """e(u) with r frozen [J/m2]."""
    half = wp.float64(0.5)
    r = wp.max(reached, a[0])
    e = half * front_secant(reached, peak, a) * u * u
    if u > r:
        e = half * front_traction(r, peak, a) * r
        if r < a[1]:
            e += peak * (wp.min(u, a[1]) - r)
        if u > a[1] and r < a[2]:
            from_a3 = a[2] - wp.max(r, a[1])
            to_a3 = a[2] - wp.min(u, a[2])
            e += half * peak * (from_a3 * from_a3 - to_a3 * to_a3) / (a[2] - a[1])
    return e


@wp.func
def front_over_u(u: wp.float64, reached: wp.float64, peak: wp.float64, a: wp.vec3d) -> wp.float64:
    """e'(u)/u [Pa/m], finite at u = 0."""
    k = front_secant(reached, peak, a)
    if u > wp.max(reached, a[0]):
        k = front_traction(u, peak, a) / u
    return k


@wp.func
def front_radial(u: wp.float64, reached: wp.float64, peak: wp.float64, a: wp.vec3d) -> wp.float64:
    """max(0, e''(u)) [Pa/m]: the secant below r, 0 on the plateau and the falling branch."""
    k = wp.float64(0.0)
    if u <= wp.max(reached, a[0]):
        k = front_secant(reached, peak, a)
    return k


@wp.func
def front_spent(reached: wp.float64, peak: wp.float64, a: wp.vec3d) -> wp.float64:
    """D(r) [J/m2]."""
    half = wp.float64(0.5)
    d = wp.float64(0.0)
    if reached > a[0]:
        if reached <= a[1]:
            d = half * peak * (reached - a[0])
        else:
            left = wp.max(a[2] - reached, wp.float64(0.0))
            d = half * peak * (a[2] + a[1] - a[0] - left * a[2] / (a[2] - a[1]))
    return d


@wp.func
def front_reached(spent: wp.float64, peak: wp.float64, a: wp.vec3d) -> wp.float64:
    """The r with D(r) = spent [m]; 0 for none. Inverse of `front_spent`."""
    two = wp.float64(2.0)
    r = wp.float64(0.0)
    if spent > wp.float64(0.0):
        if spent < wp.float64(0.5) * peak * (a[1] - a[0]):
            r = a[0] + two * spent / peak
        else:
            r = a[2] - (a[2] + a[1] - a[0] - two * spent / peak) * (a[2] - a[1]) / a[2]
    return r


@wp.func
def front_rate_factor(speed: wp.float64, exponent: wp.float64, reference: wp.float64) -> wp.float64:
    """(1 + speed / v_ref)^m [-]: 1 when slow, so that W stays the work of a slow separation."""
    f = wp.float64(1.0)
    if exponent > wp.float64(0.0):
        f = wp.pow(wp.float64(1.0) + speed / reference, exponent)
    return f
