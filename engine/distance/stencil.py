"""Differences over a stencil of four points."""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def weighted_difference(weights: wp.vec4d, x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> wp.vec3d:
    """sum_i w_i x_i [m] for weights that sum to zero.

    Taken relative to x0, so a common translation of the points costs no digits of a small difference.
    """
    return weights[1] * (x1 - x0) + weights[2] * (x2 - x0) + weights[3] * (x3 - x0)


@wp.func
def segment_parameter(p: wp.vec3d, a: wp.vec3d, b: wp.vec3d) -> wp.float64:
    """Parameter in [0, 1] of the point of segment a-b closest to p; 0 when the segment has no length."""
    e = b - a
    length_squared = wp.dot(e, e)
    s = wp.float64(0.0)
    if length_squared > wp.float64(0.0):
        s = wp.clamp(wp.dot(p - a, e) / length_squared, wp.float64(0.0), wp.float64(1.0))
    return s
