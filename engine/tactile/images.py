"""From the triangle that each pixel sees to its images: shape, forces, cloud; all that is asked for in one pass."""

from __future__ import annotations

import warp as wp

from engine.tactile.raster import NOTHING, TRIANGLE_BITS, Cameras, hit_weights

wp.set_module_options({"enable_backward": False})

TRIANGLE = wp.constant(wp.int64((1 << TRIANGLE_BITS) - 1))  # the bits of a key that number the triangle


@wp.struct
class Coat:
    """The coats as the pixels meet them."""

    seen: wp.array2d(dtype=wp.vec3d)  # [m] camera frame
    normal: wp.array2d(dtype=wp.vec3f)  # sensor frame
    traction: wp.array2d(dtype=wp.vec3f)  # [Pa] pressure, shear along x, shear along y; empty when not asked for
    triangles: wp.array(dtype=wp.vec3i)
    triangle_start: wp.array(dtype=int)


@wp.struct
class Images:
    """What is written; an empty array is not. See signal_table."""

    depth: wp.array2d(dtype=wp.float32)
    normal: wp.array2d(dtype=wp.vec3f)
    indentation: wp.array2d(dtype=wp.float32)
    pressure: wp.array2d(dtype=wp.float32)
    shear: wp.array2d(dtype=wp.vec2f)
    contact: wp.array2d(dtype=wp.uint8)
    points: wp.array2d(dtype=wp.vec3f)
    world_points: wp.array2d(dtype=wp.vec3f)


@wp.struct
class Reference:
    """depth of the undeformed coats [m]; facing by sensor: 1 when its camera looks out through the coat, -1 when it
    looks at it from outside."""

    depth: wp.array(dtype=wp.float32)
    facing: wp.array(dtype=wp.float32)


@wp.func
def blend(h: wp.vec3f, a: wp.vec3f, b: wp.vec3f, c: wp.vec3f) -> wp.vec3f:
    return a * h[0] + b * h[1] + c * h[2]


@wp.kernel
def images_kernel(
    # In:
    key: wp.array2d(dtype=wp.int64),
    pixel_sensor: wp.array(dtype=int),
    pixel_ray: wp.array(dtype=wp.vec2d),
    cameras: Cameras,
    coat: Coat,
    reference: Reference,
    axes: wp.array2d(dtype=wp.mat33d),
    origin: wp.array2d(dtype=wp.vec3d),
    contact_pressure: wp.float32,
    stride: int,
    # Out:
    out: Images,
):
    w, p = wp.tid()
    while p < pixel_sensor.shape[0]:
        s = pixel_sensor[p]
        found = key[w, p]
        depth = wp.float32(0.0)
        normal = wp.vec3f()
        traction = wp.vec3f()
        touched = wp.uint8(0)
        place = wp.vec3d(wp.float64(wp.nan), wp.float64(wp.nan), wp.float64(wp.nan))
        if found != NOTHING:
            corner = coat.triangles[coat.triangle_start[s] + int(found & TRIANGLE)]
            a = coat.seen[w, corner[0]]
            b = coat.seen[w, corner[1]]
            c = coat.seen[w, corner[2]]
            ray = pixel_ray[p]
            weights = hit_weights(cameras.parallel[s], ray, a, b, c)
            z = weights[0] * a[2] + weights[1] * b[2] + weights[2] * c[2]
            depth = wp.float32(z)
            h = wp.vec3f(wp.float32(weights[0]), wp.float32(weights[1]), wp.float32(weights[2]))
            n = blend(h, coat.normal[w, corner[0]], coat.normal[w, corner[1]], coat.normal[w, corner[2]])
            normal = n * (wp.float32(1.0) / wp.length(n))
            if coat.traction.shape[0] > 0:
                t0 = coat.traction[w, corner[0]]
                traction = blend(h, t0, coat.traction[w, corner[1]], coat.traction[w, corner[2]])
                if traction[0] > contact_pressure:
                    touched = wp.uint8(1)
            if out.points.shape[0] > 0:
                if cameras.parallel[s] == 0:
                    ray = ray * z
                place = cameras.axes[s] * wp.vec3d(ray[0], ray[1], z) + cameras.origin[s]
        if out.depth.shape[0] > 0:
            out.depth[w, p] = depth
            out.normal[w, p] = normal
        if out.indentation.shape[0] > 0:
            pushed = wp.float32(0.0)
            if found != NOTHING and reference.depth[p] > wp.float32(0.0):
                pushed = (reference.depth[p] - depth) * reference.facing[s]
            out.indentation[w, p] = pushed
        if out.pressure.shape[0] > 0:
            out.pressure[w, p] = traction[0]
            out.shear[w, p] = wp.vec2f(traction[1], traction[2])
            out.contact[w, p] = touched
        if out.points.shape[0] > 0:
            world = axes[w, s] * place + origin[w, s]
            out.points[w, p] = wp.vec3f(wp.float32(place[0]), wp.float32(place[1]), wp.float32(place[2]))
            out.world_points[w, p] = wp.vec3f(wp.float32(world[0]), wp.float32(world[1]), wp.float32(world[2]))
        p += stride
