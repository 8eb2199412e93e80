"""Stiffness of an affine body: keeps the matrix A of x = c + A X close to a rotation.

    E = s |A^T A - I|^2,   s = kappa_s V [J]

The three columns of A are the positions of the body's frame points 1 to 3; frame point 0 is the origin and feels
nothing. Source: affine body dynamics (Lan et al. 2022); docs/physics/affine_body.md.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.per_element import non_negative, per_element, upload
from engine.energies.positive_part import positive_part_bound

wp.set_module_options({"enable_backward": False})


FLOOR = wp.constant(wp.float64(1e-15))  # strain below which the positive part is not resolved [-]


# Scalar law --------------------------------------------------------------------------------------------------------
@wp.func
def frame_columns(x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), e: int) -> wp.mat33d:
    """A, its columns being frame points 1 to 3 [-]."""
    return wp.matrix_from_cols(x[stencils[e, 1]], x[stencils[e, 2]], x[stencils[e, 3]])


@wp.func
def orthogonality_strain(a: wp.mat33d) -> wp.mat33d:
    """C = A^T A - I [-]; the energy is s |C|^2, its gradient by A is 4 s A C."""
    return wp.transpose(a) * a - wp.identity(n=3, dtype=wp.float64)


# Kernels -----------------------------------------------------------------------------------------------------------
@wp.kernel
def orthogonality_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    c = orthogonality_strain(frame_columns(x, stencils, e))
    wp.atomic_add(world_energy, element_world[e], stiffness[e] * wp.ddot(c, c))


@wp.kernel
def orthogonality_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    hessian_strain: wp.array(dtype=wp.mat33d),
    extrapolate: wp.array(dtype=wp.int32),
    kept: wp.array(dtype=wp.float64),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    four_s = wp.float64(4.0) * stiffness[e]
    a = frame_columns(x, stencils, e)
    c = orthogonality_strain(a)
    first = a * c  # dE/dA over 4 s
    geometric = c
    if extrapolate[0] != 0:
        geometric = hessian_strain[e]
    geometric = kept[e] * positive_part_bound(geometric, FLOOR)
    left = a * wp.transpose(a)
    identity = wp.identity(n=3, dtype=wp.float64)
    gradient[4 * e] = wp.vec3d()
    columns = wp.transpose(a)  # row i is the column a_i
    slot = int(10 * e)
    for _i in range(wp.int32(4)):  # pairs (0, b): the origin
        blocks[slot] = wp.mat33d()
        slot += 1
    for i in range(wp.int32(3)):
        gradient[4 * e + 1 + i] = four_s * wp.vec3d(first[0, i], first[1, i], first[2, i])
        for k in range(i, wp.int32(3)):
            h = geometric[i, k] * identity + wp.outer(columns[k], columns[i])
            if i == k:
                h += left
            blocks[slot] = four_s * h
            slot += 1


@wp.kernel
def orthogonality_strain_at(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    hessian_strain: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    hessian_strain[e] = orthogonality_strain(frame_columns(x, stencils, e))


@wp.kernel
def orthogonality_strain_extrapolated(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    # In:
    world_active: wp.array(dtype=wp.int32),
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    # Out:
    hessian_strain: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    if world_active[element_world[e]] == 0:
        return
    da = frame_columns(dx, stencils, e)
    # linear along the update: C(A_old) + A_old^T dA + dA^T A_old = C(A_new) - dA^T dA
    hessian_strain[e] = orthogonality_strain(frame_columns(x, stencils, e)) - wp.transpose(da) * da


@wp.kernel
def orthogonality_stress_sum(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    hessian_strain: wp.array(dtype=wp.mat33d),
    chosen: wp.array(dtype=int),
    # Out:
    whole: wp.array(dtype=wp.float64),
    positive: wp.array(dtype=wp.float64),
):
    """4 s A C A^T: the strain's square weighs the columns as S weighs those of F in a membrane."""
    e = wp.tid()
    if chosen[e] == 1:
        a = frame_columns(x, stencils, e)
        square = wp.transpose(a) * a
        c = hessian_strain[e]
        four_s = wp.float64(4.0) * stiffness[e]
        w = element_world[e]
        wp.atomic_add(whole, w, four_s * wp.ddot(c, square))
        wp.atomic_add(positive, w, four_s * wp.ddot(positive_part_bound(c, FLOOR), square))


class Orthogonality(Energy):
    """Orthogonality of affine bodies. The Hessian keeps dC:dC and a positive part of the geometric term C, the latter
    extrapolated linearly along the last update as in Membrane: a rotating body stretches its A by the square of the
    angle within one Newton update, and must not be stiffened by that."""

    name = "orthogonality"
    stencil_size = 4

    def __init__(self, stencils, stiffness, element_world, device, extrapolate=True):
        """stencils (E, 4) frame points [origin, three columns of A]; stiffness (E,) = kappa_s * volume [J];
        element_world (E,)."""
        super().__init__(stencils, element_world, device)
        count = self.num_elements
        checked = per_element("Orthogonality", "stiffness", stiffness, count)
        self.stiffness = upload(non_negative("Orthogonality", "stiffness", checked), wp.float64, device)
        self.hessian_strain = wp.zeros(count, dtype=wp.mat33d, device=device)
        self.kept = wp.ones(count, dtype=wp.float64, device=device)
        self.extrapolate = wp.array(np.array([int(extrapolate)]), dtype=wp.int32, device=device)

    def set_extrapolation(self, on: bool) -> None:
        """Switch the extrapolated geometric term on or off; a device flag, so captured graphs follow."""
        self.extrapolate.fill_(int(on))

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            orthogonality_value,
            dim=self.num_elements,
            inputs=[self.stencils, self.element_world, self.stiffness, inputs.x, world_energy],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            orthogonality_derivatives,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.stiffness, inputs.x, self.hessian_strain, self.extrapolate, self.kept, gradient,
                blocks,
            ],
            device=self.device,
        )

    def launch_stress(self, inputs: StepInputs, chosen: wp.array, whole: wp.array, positive: wp.array) -> None:
        wp.launch(
            orthogonality_stress_sum,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.element_world, self.stiffness, inputs.x, self.hessian_strain, chosen, whole,
                positive,
            ],
            device=self.device,
        )

    def begin_step(self, inputs: StepInputs) -> None:
        wp.launch(
            orthogonality_strain_at,
            dim=self.num_elements,
            inputs=[self.stencils, inputs.x, self.hessian_strain],
            device=self.device,
        )

    def launch_after_update(self, inputs: StepInputs, dx: wp.array, world_active: wp.array) -> None:
        wp.launch(
            orthogonality_strain_extrapolated,
            dim=self.num_elements,
            inputs=[self.stencils, self.element_world, world_active, inputs.x, dx, self.hessian_strain],
            device=self.device,
        )
