"""Narrow phase: which candidates touch, their barrier energy, its derivatives, and the safe step.

A contact's energy is stiffness * m * b(gap / dhat) with gap = distance - min_separation (barrier.py) and m the
parallel-edge mollifier (1 for point-triangle pairs). Gradient: exact. Hessian used: the Gauss-Newton part
stiffness * m * b'' n n^T on the closest-point weights, positive semi-definite (Li et al. 2020 project the full one).
"""

from __future__ import annotations

import warp as wp

from engine.contact.barrier import barrier, barrier_gradient, barrier_hessian
from engine.contact.ccd import additive_ccd
from engine.distance.edge_edge import edge_edge_weights
from engine.distance.mollifier import (
    edge_cross_squared,
    edge_cross_squared_gradient,
    mollifier,
    mollifier_gradient,
)
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})


@wp.struct
class CandidateArrays:
    """The candidate list as kernels see it: see engine.contact.candidates.Candidates."""

    count: wp.array(dtype=int)
    points: wp.array(dtype=wp.vec4i)
    kind: wp.array(dtype=int)
    world: wp.array(dtype=int)
    dhat: wp.array(dtype=wp.float64)
    min_separation: wp.array(dtype=wp.float64)
    stiffness: wp.array(dtype=wp.float64)
    friction_mu: wp.array(dtype=wp.float64)
    mollifier_eps: wp.array(dtype=wp.float64)


def candidate_arrays(candidates) -> CandidateArrays:
    arrays = CandidateArrays()
    for name in CandidateArrays.vars:
        setattr(arrays, name, getattr(candidates, name))
    return arrays


@wp.func
def closest_weights(kind: int, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> wp.vec4d:
    w = wp.vec4d()
    if kind == 0:
        w = point_triangle_weights(x0, x1, x2, x3)
    else:
        w = edge_edge_weights(x0, x1, x2, x3)
    return w


@wp.func
def box_separation(kind: int, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> wp.float64:
    """Largest gap of the features' boxes along an axis [m], negative when they overlap: bounds the distance cheaply."""
    lo = wp.min(x2, x3)
    hi = wp.max(x2, x3)
    alo = x0
    ahi = x0
    if kind == 0:
        lo = wp.min(lo, x1)
        hi = wp.max(hi, x1)
    else:
        alo = wp.min(x0, x1)
        ahi = wp.max(x0, x1)
    u = alo - hi
    v = lo - ahi
    return wp.max(wp.max(wp.max(u[0], u[1]), u[2]), wp.max(wp.max(v[0], v[1]), v[2]))


# A pair's gap cannot have shrunk by more than its points have moved since it was measured. `travel` counts by world how
# far any point may have moved since the counter began; a pair stores its gap with the count at that moment, and is
# measured again only when what is left of the gap no longer proves it inactive.
SPREAD = wp.constant(wp.float64(1.7320508075688774))  # length of a vector over its largest component, at most
FORGOTTEN = -1.0e30  # a gap that proves nothing


@wp.func
def gap_bound(gap: wp.float64, seen: wp.float64, travel: wp.float64) -> wp.float64:
    return gap - wp.float64(2.0) * (travel - seen)


@wp.kernel
def detect_kernel(
    c: CandidateArrays,
    x: wp.array(dtype=wp.vec3d),
    travel: wp.array(dtype=wp.float64),
    stride: int,
    # In and out:
    gap: wp.array(dtype=wp.float64),
    seen: wp.array(dtype=wp.float64),
    # Out:
    active_out: wp.array(dtype=int),
    active_count: wp.array(dtype=int),
    world_min_gap: wp.array(dtype=wp.float64),
):
    """Gaps of candidates that may be active, lower bounds for far ones; active ones are listed in candidate order."""
    i = wp.tid()
    while i < c.count[0]:
        world = c.world[i]
        dhat = c.dhat[i]
        if gap_bound(gap[i], seen[i], travel[world]) <= dhat:
            p = c.points[i]
            x0 = x[p[0]]
            x1 = x[p[1]]
            x2 = x[p[2]]
            x3 = x[p[3]]
            sep = c.min_separation[i]
            bound = box_separation(c.kind[i], x0, x1, x2, x3) - sep
            if bound < dhat:
                w = closest_weights(c.kind[i], x0, x1, x2, x3)
                bound = wp.length(weighted_difference(w, x0, x1, x2, x3)) - sep
                if bound < dhat:
                    active_out[wp.atomic_add(active_count, 0, 1)] = i
                    wp.atomic_min(world_min_gap, world, bound)
            gap[i] = bound
            seen[i] = travel[world]
        i += stride


@wp.kernel
def pad_active_kernel(
    active_count: wp.array(dtype=int), active_out: wp.array(dtype=int), order_out: wp.array(dtype=int)
):
    """Entries behind the count sort to the end."""
    k = wp.tid()
    order_out[k] = k
    if k >= active_count[0]:
        active_out[k] = 2147483647


@wp.kernel
def derivatives_kernel(
    c: CandidateArrays,
    x: wp.array(dtype=wp.vec3d),
    active: wp.array(dtype=int),
    active_count: wp.array(dtype=int),
    stride: int,
    # Out:
    points_out: wp.array(dtype=wp.vec4i),
    weights_out: wp.array(dtype=wp.vec4d),
    block_out: wp.array(dtype=wp.mat33d),
    gradient_out: wp.array2d(dtype=wp.vec3d),
    force_out: wp.array(dtype=wp.float64),
    first_side_out: wp.array(dtype=int),
):
    k = wp.tid()
    while k < active_count[0]:
        i = active[k]
        p = c.points[i]
        x0 = x[p[0]]
        x1 = x[p[1]]
        x2 = x[p[2]]
        x3 = x[p[3]]
        w = closest_weights(c.kind[i], x0, x1, x2, x3)
        r = weighted_difference(w, x0, x1, x2, x3)
        distance = wp.length(r)
        n = r / distance
        gap = distance - c.min_separation[i]
        dhat = c.dhat[i]
        m = wp.float64(1.0)
        eps = c.mollifier_eps[i]
        cross = wp.float64(0.0)
        if eps > wp.float64(0.0):
            cross = edge_cross_squared(x0, x1, x2, x3)
            m = mollifier(cross, eps)
        slope = c.stiffness[i] * m * barrier_gradient(gap, dhat)
        curvature = c.stiffness[i] * m * barrier_hessian(gap, dhat)
        points_out[k] = p
        weights_out[k] = w
        block_out[k] = wp.outer(n, n) * curvature
        force_out[k] = -slope
        first_side_out[k] = 1 + c.kind[i]
        for a in range(4):
            gradient_out[k, a] = n * (slope * w[a])
        if eps > wp.float64(0.0) and cross < eps:
            scale = c.stiffness[i] * barrier(gap, dhat) * mollifier_gradient(cross, eps)
            g = edge_cross_squared_gradient(x0, x1, x2, x3)
            for a in range(4):
                gradient_out[k, a] = gradient_out[k, a] + wp.vec3d(g[a, 0], g[a, 1], g[a, 2]) * scale
        k += stride


@wp.kernel
def force_change_kernel(
    c: CandidateArrays,
    active: wp.array(dtype=int),
    active_count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    weights: wp.array(dtype=wp.vec4d),
    block: wp.array(dtype=wp.mat33d),
    force: wp.array(dtype=wp.float64),
    dx: wp.array(dtype=wp.vec3d),
    stride: int,
    world_force_out: wp.array(dtype=wp.float64),
    world_change_out: wp.array(dtype=wp.float64),
):
    """Sums by world of the normal forces and of their first-order change by the update dx [N]."""
    k = wp.tid()
    while k < active_count[0]:
        p = points[k]
        w = weights[k]
        u = dx[p[0]] * w[0] + dx[p[1]] * w[1] + dx[p[2]] * w[2] + dx[p[3]] * w[3]
        world = c.world[active[k]]
        wp.atomic_add(world_force_out, world, force[k])
        wp.atomic_add(world_change_out, world, wp.length(block[k] * u))
        k += stride


@wp.func
def pair_travel(kind: int, d0: wp.vec3d, d1: wp.vec3d, d2: wp.vec3d, d3: wp.vec3d) -> wp.float64:
    """How much the gap of a pair may shrink under a motion [m]. Only relative motion closes it: a sheet that flies as a
    whole keeps its list short."""
    mean = (d0 + d1 + d2 + d3) * wp.float64(0.25)
    l0 = wp.length(d0 - mean)
    l1 = wp.length(d1 - mean)
    far = wp.max(wp.length(d2 - mean), wp.length(d3 - mean))
    travel = wp.max(l0, l1) + far
    if kind == 0:
        travel = l0 + wp.max(l1, far)
    return travel


@wp.kernel
def near_kernel(
    c: CandidateArrays,
    gap: wp.array(dtype=wp.float64),
    seen: wp.array(dtype=wp.float64),
    travel: wp.array(dtype=wp.float64),
    longest: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    stride: int,
    near_out: wp.array(dtype=int),
    near_count: wp.array(dtype=int),
):
    """Candidates that may touch, or be touched, within the update dx: only these enter the line search. longest: bound
    of the components of dx by world."""
    i = wp.tid()
    while i < c.count[0]:
        world = c.world[i]
        dhat = c.dhat[i]
        bound = gap_bound(gap[i], seen[i], travel[world])
        if bound - wp.float64(2.0) * SPREAD * longest[world] < dhat:
            p = c.points[i]
            move = pair_travel(c.kind[i], dx[p[0]], dx[p[1]], dx[p[2]], dx[p[3]])
            if bound - move < dhat and seen[i] != travel[world]:
                fresh = box_separation(c.kind[i], x[p[0]], x[p[1]], x[p[2]], x[p[3]]) - c.min_separation[i]
                bound = wp.max(bound, fresh)
            if bound - move < dhat:
                near_out[wp.atomic_add(near_count, 0, 1)] = i
        i += stride


@wp.kernel
def value_kernel(
    c: CandidateArrays,
    x: wp.array(dtype=wp.vec3d),
    near: wp.array(dtype=int),
    near_count: wp.array(dtype=int),
    stride: int,
    world_energy_out: wp.array(dtype=wp.float64),
):
    k = wp.tid()
    while k < near_count[0]:
        i = near[k]
        p = c.points[i]
        x0 = x[p[0]]
        x1 = x[p[1]]
        x2 = x[p[2]]
        x3 = x[p[3]]
        dhat = c.dhat[i]
        if box_separation(c.kind[i], x0, x1, x2, x3) < dhat + c.min_separation[i]:
            w = closest_weights(c.kind[i], x0, x1, x2, x3)
            gap = wp.length(weighted_difference(w, x0, x1, x2, x3)) - c.min_separation[i]
            if gap < dhat:
                m = wp.float64(1.0)
                if c.mollifier_eps[i] > wp.float64(0.0):
                    m = mollifier(edge_cross_squared(x0, x1, x2, x3), c.mollifier_eps[i])
                if m > wp.float64(0.0) or gap <= wp.float64(0.0):
                    value = barrier(gap, dhat)
                    if gap > wp.float64(0.0):
                        value = value * m
                    wp.atomic_add(world_energy_out, c.world[i], c.stiffness[i] * value)
        k += stride


# Positions are rounded. A pair pressed to a gap of that size may cross in the next update, so none may come so near: by
# then the barrier pushes with a million times kappa, and more than rounding of the distance is left.
CLOSEST = wp.constant(wp.float64(1.0e-6))  # least gap over dhat
ROUNDING = wp.constant(wp.float64(1.0e-14))  # and over the coordinates
CLOSE = wp.constant(wp.float64(100.0))  # least gaps from which on it is looked after


@wp.func
def least_gap(dhat: wp.float64, x: wp.vec3d) -> wp.float64:
    """Gap that no update may use up [m]. x: a point of the pair."""
    far = wp.max(wp.max(wp.abs(x[0]), wp.abs(x[1])), wp.abs(x[2]))
    return wp.max(CLOSEST * dhat, ROUNDING * far)


@wp.kernel
def step_bound_kernel(
    c: CandidateArrays,
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    near: wp.array(dtype=int),
    near_count: wp.array(dtype=int),
    conservative: wp.float64,
    stride: int,
    world_bound_out: wp.array(dtype=wp.float64),
):
    """A pair may lose the share `conservative` of its gap, a far one of dhat: so a pair that limits the step comes
    within dhat, every valid candidate list holds it, and the bound does not depend on which list was kept. A pair that
    is nearly touching keeps its least gap as well; one that is closer still may only part."""
    k = wp.tid()
    while k < near_count[0]:
        i = near[k]
        p = c.points[i]
        x0 = x[p[0]]
        x1 = x[p[1]]
        x2 = x[p[2]]
        x3 = x[p[3]]
        w = closest_weights(c.kind[i], x0, x1, x2, x3)
        gap = wp.length(weighted_difference(w, x0, x1, x2, x3)) - c.min_separation[i]
        share = conservative
        if gap > c.dhat[i]:
            share = wp.float64(1.0) - (wp.float64(1.0) - conservative) * c.dhat[i] / gap
        separation = c.min_separation[i]
        least = least_gap(c.dhat[i], x0)
        if gap < CLOSE * least:
            separation = separation + least
        toi = additive_ccd(
            c.kind[i], x0, x1, x2, x3, dx[p[0]], dx[p[1]], dx[p[2]], dx[p[3]], separation, share
        )
        wp.atomic_min(world_bound_out, c.world[i], toi)
        k += stride
