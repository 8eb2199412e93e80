"""Images of the coat: every pixel's ray meets the coat's triangles at exact barycentric weights.

First every triangle offers itself to the pixels that it covers, and the nearest is kept: an atomic minimum over
(distance, number of the triangle), whose result does not depend on the order of threads. Then every pixel reads its
triangle. Weights are w_i ~ d . (x_j x x_k) for a pinhole's ray d, and the planar ones for parallel rays; both are
linear in the corners, so neither has an error of perspective.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})

FARTHEST = 8.0  # [m] that the key can hold
KEY_UNIT = 1e-12  # [m] distances that differ by less are equal: the triangle of the smaller number is seen
TRIANGLE_BITS = 20
MAX_TRIANGLES = 1 << TRIANGLE_BITS
NOTHING = wp.constant(wp.int64(0x7FFFFFFFFFFFFFFF))
SHIFT = wp.constant(wp.int64(MAX_TRIANGLES))
STEPS = wp.constant(wp.float64(1.0 / KEY_UNIT))
FAR = wp.constant(wp.float64(FARTHEST))
RIM = wp.constant(wp.float64(-1e-9))  # [-] smallest weight that counts as inside: no ray slips between two triangles


@wp.struct
class Cameras:
    """By sensor."""

    width: wp.array(dtype=int)  # [pixel]
    height: wp.array(dtype=int)
    parallel: wp.array(dtype=int)  # 1 orthographic, 0 pinhole
    step: wp.array(dtype=wp.float64)  # from pixel to pixel: [m], or [-] at distance 1
    axes: wp.array(dtype=wp.mat33d)  # columns: camera axes in the sensor frame
    origin: wp.array(dtype=wp.vec3d)  # [m]
    pixel_start: wp.array(dtype=int)  # first pixel of the sensor in a world's row


@wp.func
def ray_place(cameras: Cameras, s: int, column: int, row: int) -> wp.vec2d:
    """Where a pixel's ray crosses the plane z = 0 (parallel) or z = 1 (pinhole) of the camera."""
    half = wp.float64(0.5)
    x = (wp.float64(column) - half * wp.float64(cameras.width[s] - 1)) * cameras.step[s]
    y = (wp.float64(row) - half * wp.float64(cameras.height[s] - 1)) * cameras.step[s]
    return wp.vec2d(x, y)


@wp.func
def edge_weight(parallel: int, p: wp.vec2d, a: wp.vec3d, b: wp.vec3d) -> wp.float64:
    if parallel == 1:
        return (a[0] - p[0]) * (b[1] - p[1]) - (a[1] - p[1]) * (b[0] - p[0])
    return wp.dot(wp.vec3d(p[0], p[1], wp.float64(1.0)), wp.cross(a, b))


@wp.func
def hit_weights(parallel: int, p: wp.vec2d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.vec3d:
    """Barycentric weights of the ray's point in the plane of a triangle given in camera frame; (-1, ..) for none."""
    e = wp.vec3d(edge_weight(parallel, p, b, c), edge_weight(parallel, p, c, a), edge_weight(parallel, p, a, b))
    total = e[0] + e[1] + e[2]
    if total == wp.float64(0.0):
        return wp.vec3d(wp.float64(-1.0), wp.float64(-1.0), wp.float64(-1.0))
    return e * (wp.float64(1.0) / total)


@wp.kernel
def camera_frame_kernel(
    local: wp.array2d(dtype=wp.vec3d),
    vertex_sensor: wp.array(dtype=int),
    cameras: Cameras,
    seen_out: wp.array2d(dtype=wp.vec3d),  # [m] camera frame
):
    w, v = wp.tid()
    s = vertex_sensor[v]
    seen_out[w, v] = wp.transpose(cameras.axes[s]) * (local[w, v] - cameras.origin[s])


@wp.func
def pixel_of(parallel: int, step: wp.float64, p: wp.vec3d) -> wp.vec2d:
    """Columns and rows from the middle of the image."""
    if parallel == 1:
        return wp.vec2d(p[0] / step, p[1] / step)
    return wp.vec2d(p[0] / (p[2] * step), p[1] / (p[2] * step))


@wp.kernel
def cover_kernel(
    seen: wp.array2d(dtype=wp.vec3d),
    triangles: wp.array(dtype=wp.vec3i),
    triangle_sensor: wp.array(dtype=int),
    triangle_start: wp.array(dtype=int),  # by sensor
    cameras: Cameras,
    # Out:
    key_out: wp.array2d(dtype=wp.int64),
):
    w, t = wp.tid()
    s = triangle_sensor[t]
    corner = triangles[t]
    a = seen[w, corner[0]]
    b = seen[w, corner[1]]
    c = seen[w, corner[2]]
    parallel = cameras.parallel[s]
    width = cameras.width[s]
    height = cameras.height[s]
    column0 = int(0)
    column1 = width - 1
    row0 = int(0)
    row1 = height - 1
    nearest = wp.min(a[2], wp.min(b[2], c[2]))
    farthest = wp.max(a[2], wp.max(b[2], c[2]))
    if farthest <= wp.float64(0.0) or farthest >= FAR:
        return
    if parallel == 1 or nearest > wp.float64(1.0e-9):  # else it reaches behind the pinhole: try every pixel
        pa = pixel_of(parallel, cameras.step[s], a)
        pb = pixel_of(parallel, cameras.step[s], b)
        pc = pixel_of(parallel, cameras.step[s], c)
        slack = wp.float64(1.0e-6)
        middle_x = wp.float64(0.5) * wp.float64(width - 1)
        middle_y = wp.float64(0.5) * wp.float64(height - 1)
        x0 = wp.ceil(wp.min(pa[0], wp.min(pb[0], pc[0])) + middle_x - slack)
        x1 = wp.floor(wp.max(pa[0], wp.max(pb[0], pc[0])) + middle_x + slack)
        y0 = wp.ceil(wp.min(pa[1], wp.min(pb[1], pc[1])) + middle_y - slack)
        y1 = wp.floor(wp.max(pa[1], wp.max(pb[1], pc[1])) + middle_y + slack)
        column0 = int(wp.max(x0, wp.float64(0.0)))
        column1 = int(wp.min(x1, wp.float64(width - 1)))
        row0 = int(wp.max(y0, wp.float64(0.0)))
        row1 = int(wp.min(y1, wp.float64(height - 1)))
    number = wp.int64(t - triangle_start[s])
    start = cameras.pixel_start[s]
    for row in range(row0, row1 + 1):
        for column in range(column0, column1 + 1):
            h = hit_weights(parallel, ray_place(cameras, s, column, row), a, b, c)
            if h[0] >= RIM and h[1] >= RIM and h[2] >= RIM:
                z = h[0] * a[2] + h[1] * b[2] + h[2] * c[2]
                if z > wp.float64(0.0):
                    wp.atomic_min(key_out, w, start + row * width + column, wp.int64(z * STEPS) * SHIFT + number)
