"""From the triangle that each pixel sees to its colour and its depth: one pass over the pixels.

Light: a sky that is brighter above, one distant lamp with a shadow, a highlight of Blinn and Phong (1977). Colours are
linear until the end, then encoded by a square root. Both sides of a triangle are lit alike: tape has no inside.
"""

from __future__ import annotations

import warp as wp

from engine.tactile.images import TRIANGLE, blend
from engine.tactile.raster import NOTHING, Cameras, hit_weights, ray_place

wp.set_module_options({"enable_backward": False})

SKY = wp.constant(wp.vec3f(0.46, 0.47, 0.49))  # irradiance from above, and half of it from below [-]
LAMP = wp.constant(wp.float32(0.62))  # of the lamp, face on [-]
BACKDROP = wp.constant(wp.vec3f(0.80, 0.82, 0.84))  # where nothing is seen
SHADOW_BIAS = wp.constant(wp.float64(1.5e-3))  # [m] by which a caster must be nearer to the lamp


@wp.struct
class Lamp:
    """A distant lamp and what it sees of the casters: `key` is an image by parallel rays along -toward."""

    toward: wp.vec3d  # unit vector to the lamp, world
    axes: wp.mat33d  # columns: axes of that image in the world
    origin: wp.vec3d  # its middle [m]
    step: wp.float64  # [m] from pixel to pixel
    side: int  # [pixel]; 0: no shadow
    key: wp.array(dtype=wp.int64)


@wp.struct
class Faces:
    """What is seen. V vertices, T triangles."""

    seen: wp.array2d(dtype=wp.vec3d)  # (1, V) camera axes [m]
    normal: wp.array(dtype=wp.vec3f)  # (V,) world, unit
    triangles: wp.array(dtype=wp.vec3i)  # (T,)
    color: wp.array(dtype=wp.vec3f)  # (T,) linear
    gloss: wp.array(dtype=wp.vec2f)  # (T,) strength of the highlight, and how often it is squared


@wp.func
def nearest_caster(lamp: Lamp, column: int, row: int) -> wp.float64:
    """Distance of the lamp's image plane to the first caster in one of its pixels [m]; beyond the image none."""
    if column < 0 or row < 0 or column >= lamp.side or row >= lamp.side:
        return wp.float64(1.0e9)
    found = lamp.key[row * lamp.side + column]
    if found == NOTHING:
        return wp.float64(1.0e9)
    return wp.float64(found >> wp.int64(20)) * wp.float64(1.0e-12)  # TRIANGLE_BITS and KEY_UNIT of the rasteriser


@wp.func
def lit_share(lamp: Lamp, place: wp.vec3d) -> wp.float32:
    """Share of four pixels of the lamp's image, weighted by nearness, that see `place` [0, 1]."""
    if lamp.side == 0:
        return wp.float32(1.0)
    p = wp.transpose(lamp.axes) * (place - lamp.origin)
    middle = wp.float64(0.5) * wp.float64(lamp.side - 1)
    x = p[0] / lamp.step + middle
    y = p[1] / lamp.step + middle
    column = int(wp.floor(x))
    row = int(wp.floor(y))
    fx = wp.float32(x - wp.floor(x))
    fy = wp.float32(y - wp.floor(y))
    share = wp.float32(0.0)
    for dy in range(2):
        for dx in range(2):
            weight = wp.abs(wp.float32(1 - dx) - fx) * wp.abs(wp.float32(1 - dy) - fy)
            if nearest_caster(lamp, column + dx, row + dy) > p[2] - SHADOW_BIAS:
                share += weight
    return share


@wp.func
def lit(color: wp.vec3f, gloss: wp.vec2f, normal: wp.vec3f, to_eye: wp.vec3f, to_lamp: wp.vec3f, share: wp.float32):
    """Linear light that leaves a surface towards the eye, (3,)."""
    above = wp.float32(0.75) + wp.float32(0.25) * normal[2]
    facing = wp.max(wp.dot(normal, to_lamp), wp.float32(0.0)) * share
    half = wp.normalize(to_eye + to_lamp)
    highlight = wp.max(wp.dot(normal, half), wp.float32(0.0))
    for _ in range(int(gloss[1])):
        highlight = highlight * highlight
    highlight = highlight * gloss[0] * share
    light = SKY * above + wp.vec3f(LAMP * facing, LAMP * facing, LAMP * facing)
    return wp.cw_mul(color, light) + wp.vec3f(highlight, highlight, highlight)


@wp.func
def encoded(value: wp.float32) -> wp.float32:
    return wp.float32(255.0) * wp.sqrt(wp.clamp(value, wp.float32(0.0), wp.float32(1.0)))


@wp.kernel
def shade_kernel(
    # In:
    key: wp.array2d(dtype=wp.int64),
    cameras: Cameras,
    axes: wp.mat33d,  # columns: camera axes in the world
    eye: wp.vec3d,
    faces: Faces,
    lamp: Lamp,
    # Out:
    light_out: wp.array(dtype=wp.vec3f),  # encoded, 0 to 255
    depth_out: wp.array(dtype=wp.float32),  # along the camera's z [m], 0: nothing
):
    p = wp.tid()
    width = cameras.width[0]
    ray = ray_place(cameras, 0, p % width, p / width)
    found = key[0, p]
    depth = wp.float32(0.0)
    light = BACKDROP
    if found != NOTHING:
        t = int(found & TRIANGLE)
        corner = faces.triangles[t]
        a = faces.seen[0, corner[0]]
        b = faces.seen[0, corner[1]]
        c = faces.seen[0, corner[2]]
        weights = hit_weights(0, ray, a, b, c)
        z = weights[0] * a[2] + weights[1] * b[2] + weights[2] * c[2]
        depth = wp.float32(z)
        away = axes * wp.vec3d(ray[0], ray[1], wp.float64(1.0))
        h = wp.vec3f(wp.float32(weights[0]), wp.float32(weights[1]), wp.float32(weights[2]))
        n = blend(h, faces.normal[corner[0]], faces.normal[corner[1]], faces.normal[corner[2]])
        to_eye = -wp.normalize(wp.vec3f(wp.float32(away[0]), wp.float32(away[1]), wp.float32(away[2])))
        n = wp.normalize(n)
        if wp.dot(n, to_eye) < wp.float32(0.0):
            n = -n
        to_lamp = wp.vec3f(
            wp.float32(lamp.toward[0]), wp.float32(lamp.toward[1]), wp.float32(lamp.toward[2])
        )
        share = lit_share(lamp, eye + z * away)
        light = lit(faces.color[t], faces.gloss[t], n, to_eye, to_lamp, share)
    light_out[p] = wp.vec3f(encoded(light[0]), encoded(light[1]), encoded(light[2]))
    depth_out[p] = depth


@wp.kernel
def average_kernel(
    light: wp.array(dtype=wp.vec3f),
    width: int,
    samples: int,  # along each side of a pixel
    # Out:
    rgb_out: wp.array(dtype=wp.vec3ub),
):
    p = wp.tid()
    column = (p % width) * samples
    row = (p / width) * samples
    sum = wp.vec3f()
    for dy in range(samples):
        for dx in range(samples):
            sum += light[(row + dy) * width * samples + column + dx]
    sum = sum / wp.float32(samples * samples) + wp.vec3f(0.5, 0.5, 0.5)
    rgb_out[p] = wp.vec3ub(wp.uint8(sum[0]), wp.uint8(sum[1]), wp.uint8(sum[2]))
