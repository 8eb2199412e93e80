"""What presses and shears the gel: forces on its vertices, traction over its coat, wrench about the sensor's origin."""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def gather_forces_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    gradient: wp.array2d(dtype=wp.vec3d),
    point_slot: wp.array(dtype=int),  # gel vertex of a stepped point, counted over all worlds; -1 for others
    stride: int,
    # Out:
    force_out: wp.array(dtype=wp.vec3d),  # [N] world frame
):
    """Contact, friction and adhesion alike: a stencil pulls its four points with minus its gradient."""
    k = wp.tid()
    while k < count[0]:
        p = points[k]
        for a in range(4):
            slot = point_slot[p[a]]
            if slot >= 0:
                wp.atomic_add(force_out, slot, -gradient[k, a])
        k += stride


@wp.kernel
def traction_kernel(
    force: wp.array2d(dtype=wp.vec3d),
    vertex_gel: wp.array(dtype=int),  # gel vertex of a coat vertex
    vertex_sensor: wp.array(dtype=int),
    vertex_area: wp.array(dtype=wp.float64),  # share of the undeformed coat [m2]
    axes: wp.array2d(dtype=wp.mat33d),
    normal: wp.array2d(dtype=wp.vec3f),
    # Out:
    traction_out: wp.array2d(dtype=wp.vec3f),  # [Pa] pressure, and shear along the sensor's x and y
):
    w, v = wp.tid()
    f = wp.transpose(axes[w, vertex_sensor[v]]) * force[w, vertex_gel[v]] / vertex_area[v]
    t = wp.vec3f(wp.float32(f[0]), wp.float32(f[1]), wp.float32(f[2]))
    outwards = wp.dot(t, normal[w, v])
    shear = t - normal[w, v] * outwards
    traction_out[w, v] = wp.vec3f(-outwards, shear[0], shear[1])


@wp.kernel
def wrench_kernel(
    force: wp.array2d(dtype=wp.vec3d),
    points: wp.array(dtype=wp.vec3d),
    gel_point: wp.array(dtype=int),
    gel_start: wp.array(dtype=int),  # by sensor
    points_per_world: int,
    axes: wp.array2d(dtype=wp.mat33d),
    origin: wp.array2d(dtype=wp.vec3d),
    # Out:
    wrench_out: wp.array3d(dtype=wp.float64),  # force [N], torque about the sensor's origin [N m]; sensor frame
):
    """One thread a sensor, in order: the same sum on every device."""
    w, s = wp.tid()
    total = wp.vec3d()
    moment = wp.vec3d()
    for g in range(gel_start[s], gel_start[s + 1]):
        f = force[w, g]
        total += f
        moment += wp.cross(points[gel_point[g] + w * points_per_world] - origin[w, s], f)
    turn = wp.transpose(axes[w, s])
    total = turn * total
    moment = turn * moment
    for k in range(3):
        wrench_out[w, s, k] = total[k]
        wrench_out[w, s, 3 + k] = moment[k]
