"""Boxes of swept points and elements, and the test whether they still hold.

Every surface has a frame: a translation c, the mean of a few of its points. Boxes are kept relative to it, so what a
surface does as a whole (a sheet falling at 10 m/s) widens no box of a pair within it; pairs of two surfaces add the
range of c_a - c_b. Any c is correct, since distances do not change under a common translation; a good one keeps lists
short and fp32 boxes sharp far from the origin. Boxes are fp32 because `wp.Bvh` is; they are rounded outward, and the
test compares fp64 positions with the stored fp32 numbers, so the boxes are the contract.

All kernels stride over their items: launch one thread on CPU, many on CUDA.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


STRAY = wp.constant(wp.float64(0.25))  # slack of a swept box over the length of the sweep
FLUTTER = wp.constant(wp.float64(2.0))  # the same while that is less than `room`: small motions come again and again


@wp.func
def round_down(value: wp.float64) -> wp.float32:
    """An fp32 number at or below `value` [same unit]: nearest, then two ulp (2^-23 relative) down."""
    near = wp.float32(value)
    return near - wp.abs(near) * wp.float32(2.4e-7) - wp.float32(1.0e-37)


@wp.func
def round_up(value: wp.float64) -> wp.float32:
    """An fp32 number at or above `value`."""
    near = wp.float32(value)
    return near + wp.abs(near) * wp.float32(2.4e-7) + wp.float32(1.0e-37)


@wp.func
def round_down_vector(v: wp.vec3d) -> wp.vec3:
    return wp.vec3(round_down(v[0]), round_down(v[1]), round_down(v[2]))


@wp.func
def round_up_vector(v: wp.vec3d) -> wp.vec3:
    return wp.vec3(round_up(v[0]), round_up(v[1]), round_up(v[2]))


@wp.func
def widen(v: wp.vec3) -> wp.vec3d:
    return wp.vec3d(wp.float64(v[0]), wp.float64(v[1]), wp.float64(v[2]))


@wp.func
def inside(v: wp.vec3d, lower: wp.vec3d, upper: wp.vec3d) -> bool:
    """Written so that NaN is outside."""
    return (
        v[0] >= lower[0] and v[1] >= lower[1] and v[2] >= lower[2]
        and v[0] <= upper[0] and v[1] <= upper[1] and v[2] <= upper[2]
    )


@wp.func
def offset3(s: wp.float64) -> wp.vec3d:
    return wp.vec3d(s, s, s)


@wp.kernel
def surface_frame_kernel(
    stride: int,
    # Model:
    sample_offset: wp.array(dtype=int),
    sample_point: wp.array(dtype=int),
    # In:
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    fraction: wp.array(dtype=wp.float64),
    # Out:
    start_out: wp.array(dtype=wp.vec3d),
    end_out: wp.array(dtype=wp.vec3d),
):
    """Frame of each surface at both ends of the motion: the mean of its sample points."""
    f = fraction[0]
    for s in range(wp.tid(), start_out.shape[0], stride):
        a = wp.vec3d()
        b = wp.vec3d()
        first = sample_offset[s]
        last = sample_offset[s + 1]
        for k in range(first, last):
            p = sample_point[k]
            a = a + x[p]
            b = b + x[p] + dx[p] * f
        if last > first:
            w = wp.float64(1.0) / wp.float64(last - first)
            a = a * w
            b = b * w
        start_out[s] = a
        end_out[s] = b


@wp.kernel
def check_pairs_kernel(
    stride: int,
    surface_pair: wp.array(dtype=wp.vec2i),
    surfaces_per_world: int,
    frame_start: wp.array(dtype=wp.vec3d),
    frame_end: wp.array(dtype=wp.vec3d),
    pair_lower: wp.array(dtype=wp.vec3d),
    pair_upper: wp.array(dtype=wp.vec3d),
    # Out:
    world_dirty_out: wp.array(dtype=int),
    any_dirty_out: wp.array(dtype=int),
):
    """Mark worlds where two surfaces move against each other beyond the range their pairs were listed for."""
    for k in range(wp.tid(), surface_pair.shape[0], stride):
        s = surface_pair[k]
        a = frame_start[s[0]] - frame_start[s[1]]
        b = frame_end[s[0]] - frame_end[s[1]]
        if not (inside(a, pair_lower[k], pair_upper[k]) and inside(b, pair_lower[k], pair_upper[k])):
            world_dirty_out[s[0] / surfaces_per_world] = 1
            any_dirty_out[0] = 1


@wp.kernel
def check_points_kernel(
    stride: int,
    # Model:
    check_point: wp.array(dtype=int),
    point_surface: wp.array(dtype=int),
    point_world: wp.array(dtype=int),
    # In:
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    fraction: wp.array(dtype=wp.float64),
    frame_start: wp.array(dtype=wp.vec3d),
    frame_end: wp.array(dtype=wp.vec3d),
    point_lower: wp.array(dtype=wp.vec3),
    point_upper: wp.array(dtype=wp.vec3),
    # Out:
    world_dirty_out: wp.array(dtype=int),
    any_dirty_out: wp.array(dtype=int),
):
    """Mark worlds where a point leaves its box. A box is convex: both ends inside means the whole motion inside."""
    f = fraction[0]
    for k in range(wp.tid(), check_point.shape[0], stride):
        p = check_point[k]
        s = point_surface[p]
        lower = widen(point_lower[p])
        upper = widen(point_upper[p])
        a = x[p] - frame_start[s]
        b = x[p] + dx[p] * f - frame_end[s]
        if not (inside(a, lower, upper) and inside(b, lower, upper)):
            world_dirty_out[point_world[p]] = 1
            any_dirty_out[0] = 1


@wp.kernel
def pair_range_kernel(
    stride: int,
    surface_pair: wp.array(dtype=wp.vec2i),
    surfaces_per_world: int,
    slack: wp.float64,
    frame_start: wp.array(dtype=wp.vec3d),
    frame_end: wp.array(dtype=wp.vec3d),
    world_dirty: wp.array(dtype=int),
    # Out:
    lower_out: wp.array(dtype=wp.vec3d),
    upper_out: wp.array(dtype=wp.vec3d),
):
    """Range of c_a - c_b over the motion, inflated by the slack; worlds that are still valid keep theirs."""
    for k in range(wp.tid(), surface_pair.shape[0], stride):
        s = surface_pair[k]
        if world_dirty[s[0] / surfaces_per_world] != 0:
            a = frame_start[s[0]] - frame_start[s[1]]
            b = frame_end[s[0]] - frame_end[s[1]]
            lower_out[k] = wp.min(a, b) - offset3(slack)
            upper_out[k] = wp.max(a, b) + offset3(slack)


@wp.kernel
def point_box_kernel(
    stride: int,
    # Model:
    collide_point: wp.array(dtype=int),
    point_surface: wp.array(dtype=int),
    point_world: wp.array(dtype=int),
    surface_slack: wp.array(dtype=wp.float64),
    room: wp.float64,
    # In:
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    fraction: wp.array(dtype=wp.float64),
    frame_start: wp.array(dtype=wp.vec3d),
    frame_end: wp.array(dtype=wp.vec3d),
    world_dirty: wp.array(dtype=int),
    # Out:
    lower_out: wp.array(dtype=wp.vec3),
    upper_out: wp.array(dtype=wp.vec3),
    centre_out: wp.array(dtype=wp.vec3d),
    radius_out: wp.array(dtype=wp.float64),
):
    """Box of a point's motion in its surface's frame, inflated by the slack; valid worlds keep their boxes, so that
    the list of a world never depends on another world's motion."""
    f = fraction[0]
    for k in range(wp.tid(), collide_point.shape[0], stride):
        p = collide_point[k]
        if world_dirty[point_world[p]] != 0:
            s = point_surface[p]
            a = x[p] - frame_start[s]
            b = x[p] + dx[p] * f - frame_end[s]
            # Newton strays from a long guess by a share of it: a list that allows for that is made once a step
            sweep = wp.length(b - a)
            r = offset3(surface_slack[s] + wp.max(STRAY * sweep, wp.min(FLUTTER * sweep, room)))
            lower = round_down_vector(wp.min(a, b) - r)
            upper = round_up_vector(wp.max(a, b) + r)
            if not (wp.isfinite(lower) and wp.isfinite(upper)):  # NaN would corrupt the tree; the check keeps failing
                lower = wp.vec3()
                upper = wp.vec3()
            lower_out[p] = lower
            upper_out[p] = upper
            half = (widen(upper) - widen(lower)) * wp.float64(0.5)
            centre_out[p] = widen(lower) + half
            radius_out[p] = wp.length(half)  # no place in the box is farther from its centre [m]


@wp.kernel
def edge_box_kernel(
    stride: int,
    edges: wp.array(dtype=wp.vec2i),
    point_lower: wp.array(dtype=wp.vec3),
    point_upper: wp.array(dtype=wp.vec3),
    lower_out: wp.array(dtype=wp.vec3),
    upper_out: wp.array(dtype=wp.vec3),
):
    for i in range(wp.tid(), edges.shape[0], stride):
        e = edges[i]
        lower_out[i] = wp.min(point_lower[e[0]], point_lower[e[1]])
        upper_out[i] = wp.max(point_upper[e[0]], point_upper[e[1]])


@wp.kernel
def triangle_box_kernel(
    stride: int,
    triangles: wp.array(dtype=wp.vec3i),
    point_lower: wp.array(dtype=wp.vec3),
    point_upper: wp.array(dtype=wp.vec3),
    lower_out: wp.array(dtype=wp.vec3),
    upper_out: wp.array(dtype=wp.vec3),
):
    for i in range(wp.tid(), triangles.shape[0], stride):
        t = triangles[i]
        lower_out[i] = wp.min(wp.min(point_lower[t[0]], point_lower[t[1]]), point_lower[t[2]])
        upper_out[i] = wp.max(wp.max(point_upper[t[0]], point_upper[t[1]]), point_upper[t[2]])


@wp.kernel
def group_root_kernel(stride: int, bvh: wp.uint64, root_out: wp.array(dtype=int)):
    """Subtree root of each part; -1 where the part has no element of this kind."""
    for g in range(wp.tid(), root_out.shape[0], stride):
        root_out[g] = wp.bvh_get_group_root(bvh, g)
