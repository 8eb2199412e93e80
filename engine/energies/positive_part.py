"""Positive semi-definite parts of small symmetric stresses, without eigen-solvers.

The geometric term of an elastic Hessian is stress x identity; replacing the stress by its positive part (or by anything
above it) makes that term positive semi-definite. In 2D the positive part is closed form. In 3D we use a rational
bound that is never below it: |x| <= y = (x^2/t + t)/2 for every t > 0, and again |x| <= (y + x^2/y)/2 (Heron's
iteration for a square root approaches from above); max(x, 0) = (x + |x|)/2, eigenvalue by eigenvalue.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def positive_part_2d(s: wp.vec3d) -> wp.vec3d:
    """Positive part of [[s0, s2], [s2, s1]], exact, in the same packing (s0, s1, s2)."""
    mean = wp.float64(0.5) * (s[0] + s[1])
    half_difference = wp.float64(0.5) * (s[0] - s[1])
    radius = wp.sqrt(half_difference * half_difference + s[2] * s[2])
    result = s
    if mean + radius <= wp.float64(0.0):
        result = wp.vec3d()
    elif mean - radius < wp.float64(0.0):
        # one positive eigenvalue: keep largest * v v^T, v v^T = (I + (s - mean I)/radius) / 2; radius > 0 here
        half_largest = wp.float64(0.5) * (mean + radius)
        c = half_difference / radius
        result = half_largest * wp.vec3d(wp.float64(1.0) + c, wp.float64(1.0) - c, s[2] / radius)
    return result


@wp.func
def positive_part_bound(m: wp.mat33d, floor: wp.float64) -> wp.mat33d:
    """A symmetric positive semi-definite matrix at or above the positive part of the symmetric m.

    Exact when the eigenvalues of m share one magnitude (zero for -I, m for +I); at most t/8 above it for an eigenvalue
    0, with t = |m|_F / sqrt(3). `floor` > 0, in the unit of m, keeps t away from zero.
    """
    t = wp.sqrt(wp.ddot(m, m) / wp.float64(3.0)) + floor
    half = wp.float64(0.5)
    square = m * m
    identity = wp.identity(n=3, dtype=wp.float64)
    magnitude = (half / t) * square + (half * t) * identity
    magnitude = half * (magnitude + square * wp.inverse(magnitude))  # Heron: from above, closer
    quarter = wp.float64(0.25)
    lift = wp.float64(1e-14) * t  # covers the rounding of the sum where m is negative
    return half * m + quarter * (magnitude + wp.transpose(magnitude)) + lift * identity
