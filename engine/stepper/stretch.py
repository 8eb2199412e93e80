"""Longer steps where Newton's are too short: Aitken's extrapolation along the last update.

The Hessian in use is stiffer than the true one where it is clamped (compressed membranes, turning contacts), so updates
follow each other in one direction, each a share rho of the one before. The rest of that series is rho + rho^2 + .. =
1/(1 - rho) times the present update. Stretching by it costs two dot products, CCD and line search bound it as any
step, and the size of the stretched update is an honest measure of the distance to go.
"""

from __future__ import annotations

import warp as wp

from engine.stepper.worlds import Worlds

wp.set_module_options({"enable_backward": False})

LEAST = wp.constant(wp.float64(0.2))  # share below which updates count as independent
MOST = wp.constant(wp.float64(0.6))  # share that the stretch trusts: 2.5 times the update


@wp.kernel
def clear_kernel(s: Worlds):
    w = wp.tid()
    s.along[w] = wp.float64(0.0)
    s.before[w] = wp.float64(0.0)


@wp.kernel
def dot_kernel(
    s: Worlds,
    node_world: wp.array(dtype=int),
    node_mass: wp.array(dtype=wp.float64),
    dx: wp.array(dtype=wp.vec3d),
    last: wp.array(dtype=wp.vec3d),
):
    """Over free vertices, weighed by mass; bodies follow the same factor."""
    i = wp.tid()
    m = node_mass[i]
    if m > wp.float64(0.0):
        wp.atomic_add(s.along, node_world[i], m * wp.dot(dx[i], last[i]))
        wp.atomic_add(s.before, node_world[i], m * wp.dot(last[i], last[i]))


@wp.kernel
def factor_kernel(s: Worlds):
    """Only after a whole step: a shortened one says nothing about the series."""
    w = wp.tid()
    factor = wp.float64(1.0)
    if s.iterations[w] > 0 and s.taken[w] >= wp.float64(1.0) and s.before[w] > wp.float64(0.0):
        share = s.along[w] / s.before[w]
        if share > LEAST:
            factor = wp.float64(1.0) / (wp.float64(1.0) - wp.min(share, MOST))
    s.stretch[w] = factor


@wp.kernel
def scale_kernel(s: Worlds, node_world: wp.array(dtype=int), dx: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    dx[i] = dx[i] * s.stretch[node_world[i]]
