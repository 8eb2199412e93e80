"""Pull of an affine body to a target pose: a spring on its mean displacement, with an optional force limit, and a
multiplier for the augmented Lagrangian.

    e_k = y_k - target_k (k = origin, three columns),   delta^2 = sum_kl metric_kl e_k.e_l   [m2]
    E = Huber(delta) + sum_kl metric_kl multiplier_k.e_l
    Huber(delta) = k/2 delta^2 while k delta <= limit, else limit delta - limit^2/(2k)

metric = (4x4 mass matrix)/mass, so that delta is the root mean square displacement of the body's matter and k acts on
a pure translation as an ordinary spring. Sources: Huber 1964 for the limit; Nocedal and Wright 2006, section 17.3, for
the augmented Lagrangian; docs/physics/drives.md.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.per_element import host_positions, non_negative, per_element, upload

wp.set_module_options({"enable_backward": False})


# Scalar law: Huber, shared with the joint drives -------------------------------------------------------------------
@wp.func
def huber(distance: wp.float64, stiffness: wp.float64, limit: wp.float64) -> wp.float64:
    """Energy [J] of a spring whose force saturates at `limit` (inf = never); distance >= 0."""
    value = wp.float64(0.5) * stiffness * distance * distance
    if stiffness * distance > limit:
        value = limit * distance - wp.float64(0.5) * limit * limit / stiffness
    return value


@wp.func
def huber_secant(distance: wp.float64, stiffness: wp.float64, limit: wp.float64) -> wp.float64:
    """Force over distance [N/m]: the derivative is secant * distance."""
    secant = stiffness
    if stiffness * distance > limit:
        secant = limit / distance
    return secant


@wp.func
def frame_error(
    x: wp.array(dtype=wp.vec3d),
    stencils: wp.array2d(dtype=wp.int32),
    target: wp.array2d(dtype=wp.vec3d),
    metric: wp.mat44d,
    e: int,
    k: int,
) -> wp.vec3d:
    """(metric e)_k = sum_l metric_kl (y_l - target_l)."""
    error = wp.vec3d()
    for m in range(wp.int32(4)):
        error += metric[k, m] * (x[stencils[e, m]] - target[e, m])
    return error


# Kernels -----------------------------------------------------------------------------------------------------------
@wp.kernel
def drive_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    metric: wp.array(dtype=wp.mat44d),
    force_limit: wp.array(dtype=wp.float64),
    # Control:
    target: wp.array2d(dtype=wp.vec3d),
    multiplier: wp.array2d(dtype=wp.vec3d),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    square = wp.float64(0.0)
    linear = wp.float64(0.0)
    for k in range(wp.int32(4)):
        weighted = frame_error(x, stencils, target, metric[e], e, k)
        square += wp.dot(weighted, x[stencils[e, k]] - target[e, k])
        linear += wp.dot(weighted, multiplier[e, k])
    distance = wp.sqrt(wp.max(square, wp.float64(0.0)))
    wp.atomic_add(world_energy, element_world[e], huber(distance, stiffness[e], force_limit[e]) + linear)


@wp.kernel
def drive_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    metric: wp.array(dtype=wp.mat44d),
    force_limit: wp.array(dtype=wp.float64),
    # Control:
    target: wp.array2d(dtype=wp.vec3d),
    multiplier: wp.array2d(dtype=wp.vec3d),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    m = metric[e]
    square = wp.float64(0.0)
    for k in range(wp.int32(4)):
        square += wp.dot(frame_error(x, stencils, target, m, e, k), x[stencils[e, k]] - target[e, k])
    distance = wp.sqrt(wp.max(square, wp.float64(0.0)))
    secant = huber_secant(distance, stiffness[e], force_limit[e])
    # The secant in every direction, the radial one too: it bounds the Huber energy from above. The exact radial part of
    # a saturated spring is zero, and Newton would throw a light hand half a metre past its target.
    identity = wp.identity(n=3, dtype=wp.float64)
    slot = int(10 * e)
    for a in range(wp.int32(4)):
        error_a = frame_error(x, stencils, target, m, e, a)
        pull = wp.vec3d()
        for b in range(wp.int32(4)):
            pull += m[a, b] * multiplier[e, b]
        gradient[4 * e + a] = secant * error_a + pull
        for b in range(a, wp.int32(4)):
            blocks[slot] = (secant * m[a, b]) * identity
            slot += 1


class BodyDrive(Energy):
    """Drives affine bodies to target poses. `target`, `multiplier` (vec3d (E, 4): origin [m] and columns) and
    `stiffness` (float64 (E,) [N/m]) are device arrays that the stepper writes; targets start at zero."""

    name = "drive"
    stencil_size = 4

    def __init__(self, stencils, metric, stiffness, force_limit, element_world, device):
        """stencils (E, 4) frame points [origin, three columns of A]; metric (E, 4, 4) mass matrix over mass [1, m, m2];
        stiffness (E,) [N/m]; force_limit (E,) [N], inf = none; element_world (E,)."""
        super().__init__(stencils, element_world, device)
        count = self.num_elements
        self.metric_host = per_element("BodyDrive", "metric", metric, count, (4, 4))
        self.metric = upload(self.metric_host, wp.mat44d, device)
        spring = non_negative("BodyDrive", "stiffness", per_element("BodyDrive", "stiffness", stiffness, count))
        self.stiffness = upload(spring, wp.float64, device)
        limit = per_element("BodyDrive", "force_limit", force_limit, count)
        self.force_limit = upload(non_negative("BodyDrive", "force_limit", limit), wp.float64, device)
        self.target = wp.zeros((count, 4), dtype=wp.vec3d, device=device)
        self.multiplier = wp.zeros((count, 4), dtype=wp.vec3d, device=device)

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            drive_value,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.element_world, self.metric, self.force_limit, self.target, self.multiplier,
                self.stiffness, inputs.x, world_energy,
            ],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            drive_derivatives,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.metric, self.force_limit, self.target, self.multiplier, self.stiffness, inputs.x,
                gradient, blocks,
            ],
            device=self.device,
        )

    def gap_host(self, x) -> np.ndarray:
        """Root mean square distance between each body and its target, delta (E,) [m]."""
        error = self._error_host(x)
        square = np.einsum("ekl,eki,eli->e", self.metric_host, error, error)
        return np.sqrt(np.maximum(square, 0.0))

    def force_host(self, x) -> np.ndarray:
        """Resultant force with which the drive pulls each body (E, 3) [N], world frame."""
        stiffness, limit = self.stiffness.numpy(), self.force_limit.numpy()
        gap = self.gap_host(x)
        saturated = stiffness * gap > limit
        secant = np.where(saturated, limit / np.where(saturated, gap, 1.0), stiffness)
        pull = secant[:, None, None] * self._error_host(x) + self.multiplier.numpy().reshape(-1, 4, 3)
        return -np.einsum("el,eli->ei", self.metric_host[:, 0], pull)

    def _error_host(self, x) -> np.ndarray:
        return host_positions(x)[self.stencils_host] - self.target.numpy().reshape(-1, 4, 3)
