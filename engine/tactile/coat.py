"""The coat in its sensor's own frame: poses of the sensors, coat vertices, their normals."""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})

# [m] A vertex that has moved by less counts as unmoved, so that rounding in the motion of the holder leaves no trace
# in the image. A hundredth of what the finest sensors resolve.
RESOLUTION = 1e-9


@wp.kernel
def poses_kernel(
    x: wp.array(dtype=wp.vec3d),  # nodes of all worlds
    node: wp.array(dtype=int),  # first node of the holder in world 0, -1 for a pad pinned in the world
    nodes_per_world: int,
    holder_rotation: wp.array2d(dtype=wp.mat33d),  # sensor frame in the holder's frame
    holder_origin: wp.array2d(dtype=wp.vec3d),
    # Out:
    axes_out: wp.array2d(dtype=wp.mat33d),  # columns: axes of the sensor frame in the world
    inverse_out: wp.array2d(dtype=wp.mat33d),
    origin_out: wp.array2d(dtype=wp.vec3d),
):
    """The sensor rides on its holder as any point of it, the holder's tiny strain included: so does the bonded back of
    the gel, and an undeformed gel has exactly its rest coordinates."""
    w, s = wp.tid()
    axes = holder_rotation[w, s]
    origin = holder_origin[w, s]
    if node[s] >= 0:
        n = node[s] + w * nodes_per_world
        a = wp.matrix_from_cols(x[n + 1], x[n + 2], x[n + 3])
        axes = a * axes
        origin = a * origin + x[n]
    axes_out[w, s] = axes
    inverse_out[w, s] = wp.inverse(axes)
    origin_out[w, s] = origin


@wp.kernel
def vertices_kernel(
    points: wp.array(dtype=wp.vec3d),
    vertex_point: wp.array(dtype=int),  # point in world 0
    vertex_sensor: wp.array(dtype=int),
    points_per_world: int,
    inverse: wp.array2d(dtype=wp.mat33d),
    origin: wp.array2d(dtype=wp.vec3d),
    rest: wp.array(dtype=wp.vec3d),
    resolution: wp.float64,
    # Out:
    local_out: wp.array2d(dtype=wp.vec3d),  # [m] sensor frame
):
    w, v = wp.tid()
    s = vertex_sensor[v]
    p = inverse[w, s] * (points[vertex_point[v] + w * points_per_world] - origin[w, s])
    moved = wp.abs(p - rest[v])
    if wp.max(moved[0], wp.max(moved[1], moved[2])) < resolution:
        p = rest[v]
    local_out[w, v] = p


@wp.kernel
def normals_kernel(
    local: wp.array2d(dtype=wp.vec3d),
    triangles: wp.array(dtype=wp.vec3i),
    corner_start: wp.array(dtype=int),  # triangles around a vertex, by rows
    corner_triangle: wp.array(dtype=int),
    # Out:
    normal_out: wp.array2d(dtype=wp.vec3f),
):
    """Mean normal of the coat triangles around a vertex, weighted with the angle at it: the weight under which the
    normal of a curved surface does not depend on how it is cut into triangles (Thuermer and Wuethrich 1998)."""
    w, v = wp.tid()
    total = wp.vec3d()
    for k in range(corner_start[v], corner_start[v + 1]):
        t = triangles[corner_triangle[k]]
        a = local[w, v]
        b = local[w, t[1]]
        c = local[w, t[2]]
        if t[1] == v:
            b = local[w, t[2]]
            c = local[w, t[0]]
        elif t[2] == v:
            b = local[w, t[0]]
            c = local[w, t[1]]
        across = wp.cross(b - a, c - a)
        area = wp.length(across)
        if area > wp.float64(0.0):
            total += across * (wp.atan2(area, wp.dot(b - a, c - a)) / area)
    total = wp.normalize(total)
    normal_out[w, v] = wp.vec3f(wp.float32(total[0]), wp.float32(total[1]), wp.float32(total[2]))
