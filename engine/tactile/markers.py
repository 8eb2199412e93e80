"""Dots on the coat: each keeps its barycentric place in its triangle, so it moves exactly with the gel."""

from __future__ import annotations

import warp as wp

from engine.tactile.raster import Cameras, pixel_of

wp.set_module_options({"enable_backward": False})


@wp.kernel
def markers_kernel(
    local: wp.array2d(dtype=wp.vec3d),
    marker_corner: wp.array(dtype=wp.vec3i),  # coat vertices
    marker_weights: wp.array(dtype=wp.vec3d),
    marker_sensor: wp.array(dtype=int),
    cameras: Cameras,
    axes: wp.array2d(dtype=wp.mat33d),
    origin: wp.array2d(dtype=wp.vec3d),
    # Out:
    marker_out: wp.array2d(dtype=wp.vec3d),  # [m] sensor frame
    world_marker_out: wp.array2d(dtype=wp.vec3d),  # [m] world frame
    pixel_out: wp.array2d(dtype=wp.vec2d),  # column, row [pixel]
):
    w, m = wp.tid()
    s = marker_sensor[m]
    c = marker_corner[m]
    h = marker_weights[m]
    x = local[w, c[0]] * h[0] + local[w, c[1]] * h[1] + local[w, c[2]] * h[2]
    marker_out[w, m] = x
    world_marker_out[w, m] = axes[w, s] * x + origin[w, s]
    seen = wp.transpose(cameras.axes[s]) * (x - cameras.origin[s])
    half = wp.float64(0.5)
    middle = wp.vec2d(half * wp.float64(cameras.width[s] - 1), half * wp.float64(cameras.height[s] - 1))
    pixel_out[w, m] = pixel_of(cameras.parallel[s], cameras.step[s], seen) + middle


@wp.kernel
def flow_kernel(
    marker: wp.array2d(dtype=wp.vec3d),
    pixel: wp.array2d(dtype=wp.vec2d),
    rest: wp.array(dtype=wp.vec3d),
    rest_pixel: wp.array(dtype=wp.vec2d),
    # Out:
    flow_out: wp.array2d(dtype=wp.vec3d),  # [m] sensor frame
    pixel_flow_out: wp.array2d(dtype=wp.vec2d),  # [pixel]
):
    w, m = wp.tid()
    flow_out[w, m] = marker[w, m] - rest[m]
    pixel_flow_out[w, m] = pixel[w, m] - rest_pixel[m]
