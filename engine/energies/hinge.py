"""Bending of a thin sheet: one spring on the dihedral angle of each interior edge.

    E = w/2 wrap(theta - theta_rest)^2,    theta = atan2((n0 x n1).e/|e|, n0.n1)

e = x1 - x0 the edge, n0 = e x (x2 - x0) and n1 = (x3 - x0) x e the normals of the two wings. A flat sheet has theta 0;
theta is positive when the wings fold away from the side to which n0 and n1 point. With w = D L^2/(A0 + A1),
D = E h^3/12(1 - nu^2), the energy reproduces plate theory (docs/physics/bending.md). Source: TapeSim, section III-A;
angle gradient after Bridson, Marino, Fedkiw 2003.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.per_element import non_negative, per_element, upload

wp.set_module_options({"enable_backward": False})

mat43d = wp.types.matrix(shape=(4, 3), dtype=wp.float64)

PI = wp.constant(wp.float64(np.pi))
TWO_PI = wp.constant(wp.float64(2.0 * np.pi))
# A wing flatter than this (height/length, squared) gets a bounded gradient instead of an infinite one.
FLAT_WING = wp.constant(wp.float64(1.0e-24))


# Scalar law --------------------------------------------------------------------------------------------------------
@wp.func
def wrap_angle(angle: wp.float64) -> wp.float64:
    """The same angle in (-pi, pi] [rad]."""
    return angle - TWO_PI * wp.ceil((angle - PI) / TWO_PI)


@wp.func
def dihedral_angle(x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> wp.float64:
    """theta in (-pi, pi] [rad]; 0 for a flat pair. Undefined (0) where the edge or a wing has collapsed."""
    e = x1 - x0
    n0 = wp.cross(e, x2 - x0)
    n1 = wp.cross(x3 - x0, e)
    return wp.atan2(wp.dot(wp.cross(n0, n1), e), wp.length(e) * wp.dot(n0, n1))


@wp.func
def dihedral_gradient(x0: wp.vec3d, x1: wp.vec3d, x2: wp.vec3d, x3: wp.vec3d) -> mat43d:
    """d theta / d x_a in row a [rad/m]. Each wing tip turns its own normal: -|e| n/|n|^2; the edge ends balance it."""
    e = x1 - x0
    a = x2 - x0
    b = x3 - x0
    n0 = wp.cross(e, a)
    n1 = wp.cross(b, e)
    square = wp.dot(e, e)
    length = wp.sqrt(square)
    floor = FLAT_WING * square * square + wp.float64(1.0e-300)
    g2 = n0 * (-length / wp.max(wp.dot(n0, n0), floor))
    g3 = n1 * (-length / wp.max(wp.dot(n1, n1), floor))
    one = wp.float64(1.0)
    inverse = one / wp.max(square, wp.float64(1.0e-300))
    s2 = wp.dot(a, e) * inverse
    s3 = wp.dot(b, e) * inverse
    g0 = (s2 - one) * g2 + (s3 - one) * g3
    g1 = -s2 * g2 - s3 * g3
    return mat43d(
        g0[0], g0[1], g0[2], g1[0], g1[1], g1[2], g2[0], g2[1], g2[2], g3[0], g3[1], g3[2]
    )


# Kernels -----------------------------------------------------------------------------------------------------------
@wp.kernel
def hinge_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    rest_angle: wp.array(dtype=wp.float64),
    weight: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    theta = dihedral_angle(x[stencils[e, 0]], x[stencils[e, 1]], x[stencils[e, 2]], x[stencils[e, 3]])
    angle = wrap_angle(theta - rest_angle[e])
    wp.atomic_add(world_energy, element_world[e], wp.float64(0.5) * weight[e] * angle * angle)


@wp.kernel
def hinge_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    rest_angle: wp.array(dtype=wp.float64),
    weight: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    x0 = x[stencils[e, 0]]
    x1 = x[stencils[e, 1]]
    x2 = x[stencils[e, 2]]
    x3 = x[stencils[e, 3]]
    w = weight[e]
    moment = w * wrap_angle(dihedral_angle(x0, x1, x2, x3) - rest_angle[e])
    g = dihedral_gradient(x0, x1, x2, x3)
    slot = int(10 * e)
    for a in range(wp.int32(4)):
        gradient[4 * e + a] = moment * g[a]
        wg = w * g[a]
        for b in range(a, wp.int32(4)):
            blocks[slot] = wp.outer(wg, g[b])
            slot += 1


class Hinge(Energy):
    """Dihedral springs with the Gauss-Newton Hessian w grad(theta) grad(theta)^T (rank one; the term
    w (theta - theta_rest) d2 theta, indefinite, is left out: its share grows with the angle away from rest)."""

    name = "hinge"
    stencil_size = 4

    def __init__(self, stencils, rest_angle, weight, element_world, device):
        """stencils (E, 4) point ids [edge0, edge1, wing0, wing1]; rest_angle (E,) [rad]; weight (E,) [J];
        element_world (E,)."""
        super().__init__(stencils, element_world, device)
        count = self.num_elements
        self.rest_angle = upload(per_element("Hinge", "rest_angle", rest_angle, count), wp.float64, device)
        stiffness = non_negative("Hinge", "weight", per_element("Hinge", "weight", weight, count))
        self.weight = upload(stiffness, wp.float64, device)

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            hinge_value,
            dim=self.num_elements,
            inputs=[self.stencils, self.element_world, self.rest_angle, self.weight, inputs.x, world_energy],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            hinge_derivatives,
            dim=self.num_elements,
            inputs=[self.stencils, self.rest_angle, self.weight, inputs.x, gradient, blocks],
            device=self.device,
        )
