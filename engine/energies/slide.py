"""What a prismatic joint leaves out: motion across its axis (Slide) and turning (DirectionTie).

    Slide:        E = k/2 [((c - p0).(p1 - p0))^2 + ((c - p0).(p2 - p0))^2]
    DirectionTie: E = k/2 |(c1 - c0) - (p1 - p0)|^2

p0 lies on the axis, on the parent; p1 - p0 and p2 - p0 are about unit vectors across it; c rides on the child.
docs/physics/joints.md.
"""

from __future__ import annotations

import warp as wp

from engine.energies.springs import Springs

wp.set_module_options({"enable_backward": False})

mat43d = wp.types.matrix(shape=(4, 3), dtype=wp.float64)


# Scalar law of Slide: r = (c - p0).(p_k - p0), k = 1, 2 -------------------------------------------------------------
@wp.func
def offset_along(c: wp.vec3d, p0: wp.vec3d, pk: wp.vec3d) -> wp.float64:
    """r [m, for a unit direction]."""
    return wp.dot(c - p0, pk - p0)


@wp.func
def offset_gradient(c: wp.vec3d, p0: wp.vec3d, pk: wp.vec3d, k: int) -> mat43d:
    """dr/d(c, p0, p1, p2) in rows; the row of the direction that takes no part is zero."""
    d = c - p0
    u = pk - p0
    g = mat43d()
    g[0] = u
    g[1] = -u - d
    g[1 + k] = d
    return g


# Kernels -----------------------------------------------------------------------------------------------------------
@wp.kernel
def slide_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    c = x[stencils[e, 0]]
    p0 = x[stencils[e, 1]]
    r1 = offset_along(c, p0, x[stencils[e, 2]])
    r2 = offset_along(c, p0, x[stencils[e, 3]])
    wp.atomic_add(world_energy, element_world[e], wp.float64(0.5) * stiffness[e] * (r1 * r1 + r2 * r2))


@wp.kernel
def slide_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    k = stiffness[e]
    c = x[stencils[e, 0]]
    p0 = x[stencils[e, 1]]
    p1 = x[stencils[e, 2]]
    p2 = x[stencils[e, 3]]
    r1 = k * offset_along(c, p0, p1)
    r2 = k * offset_along(c, p0, p2)
    g1 = offset_gradient(c, p0, p1, 1)
    g2 = offset_gradient(c, p0, p2, 2)
    slot = int(10 * e)
    for a in range(wp.int32(4)):
        gradient[4 * e + a] = r1 * g1[a] + r2 * g2[a]
        for b in range(a, wp.int32(4)):
            blocks[slot] = wp.outer(k * g1[a], g1[b]) + wp.outer(k * g2[a], g2[b])
            slot += 1


@wp.func
def corner_sign(a: int) -> wp.float64:
    """Weights of (c0, c1, p0, p1) in (c1 - c0) - (p1 - p0)."""
    sign = wp.float64(1.0)
    if a == 0 or a == 3:
        sign = wp.float64(-1.0)
    return sign


@wp.func
def direction_gap(x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), e: int) -> wp.vec3d:
    """(c1 - c0) - (p1 - p0) [m]."""
    return (x[stencils[e, 1]] - x[stencils[e, 0]]) - (x[stencils[e, 3]] - x[stencils[e, 2]])


@wp.kernel
def direction_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    gap = direction_gap(x, stencils, e)
    wp.atomic_add(world_energy, element_world[e], wp.float64(0.5) * stiffness[e] * wp.dot(gap, gap))


@wp.kernel
def direction_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    pull = stiffness[e] * direction_gap(x, stencils, e)
    slot = int(10 * e)
    for a in range(wp.int32(4)):
        gradient[4 * e + a] = corner_sign(a) * pull
        for b in range(a, wp.int32(4)):
            blocks[slot] = (corner_sign(a) * corner_sign(b) * stiffness[e]) * wp.identity(n=3, dtype=wp.float64)
            slot += 1


class Slide(Springs):
    """Keeps a child's point on the axis of its parent. Gauss-Newton Hessian: what is left out is the residual (zero on
    the axis) times a constant matrix."""

    name = "slide"
    stencil_size = 4  # [c, p0, p1, p2]
    kernels = slide_value, slide_derivatives


class DirectionTie(Springs):
    """Keeps a direction of the child equal to one of the parent; linear in the points, the Hessian is exact."""

    name = "direction_tie"
    stencil_size = 4  # [c0, c1, p0, p1]
    kernels = direction_value, direction_derivatives
