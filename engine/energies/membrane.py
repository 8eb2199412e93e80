"""Membrane of a thin sheet: St. Venant-Kirchhoff triangles in plane stress.

    E = h A (mu |G|^2 + lambda/2 tr(G)^2),   G = (F^T F - I)/2,   F = [x1 - x0, x2 - x0] Dm_inv   (3x2)

with lame_mu = E/2(1+nu) and the plane-stress lame_lambda = E nu/(1-nu^2). Source: TapeSim, section III-A; Hessian by
clamping the second Piola stress, see docs/physics/membrane.md. Symmetric 2x2 tensors are packed (00, 11, 01).
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.per_element import non_negative, per_element, upload
from engine.energies.positive_part import positive_part_2d

wp.set_module_options({"enable_backward": False})


# Scalar law --------------------------------------------------------------------------------------------------------
@wp.func
def green_strain(f0: wp.vec3d, f1: wp.vec3d) -> wp.vec3d:
    """G = (F^T F - I)/2 from the two columns of F [-]."""
    half = wp.float64(0.5)
    one = wp.float64(1.0)
    return half * wp.vec3d(wp.dot(f0, f0) - one, wp.dot(f1, f1) - one, wp.dot(f0, f1))


@wp.func
def stvk_density(g: wp.vec3d, lame_mu: wp.float64, lame_lambda: wp.float64) -> wp.float64:
    """mu |G|^2 + lambda/2 tr(G)^2 [Pa]."""
    trace = g[0] + g[1]
    square = g[0] * g[0] + g[1] * g[1] + wp.float64(2.0) * g[2] * g[2]
    return lame_mu * square + wp.float64(0.5) * lame_lambda * trace * trace


@wp.func
def stvk_stress(g: wp.vec3d, lame_mu: wp.float64, lame_lambda: wp.float64) -> wp.vec3d:
    """Second Piola stress S = 2 mu G + lambda tr(G) I [Pa]; linear in G, so S also maps dG to C:dG."""
    pressure = lame_lambda * (g[0] + g[1])
    return wp.float64(2.0) * lame_mu * g + wp.vec3d(pressure, pressure, wp.float64(0.0))


@wp.func
def triangle_columns(
    x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), dm_inv: wp.mat22d, e: int
) -> wp.mat33d:
    """Rows 0 and 1: the columns f0, f1 of F (of dF when x holds displacements). Row 2 is zero."""
    x0 = x[stencils[e, 0]]
    d1 = x[stencils[e, 1]] - x0
    d2 = x[stencils[e, 2]] - x0
    f0 = d1 * dm_inv[0, 0] + d2 * dm_inv[1, 0]
    f1 = d1 * dm_inv[0, 1] + d2 * dm_inv[1, 1]
    return wp.matrix_from_rows(f0, f1, wp.vec3d())


@wp.func
def shape_gradient(dm_inv: wp.mat22d, a: int) -> wp.vec2d:
    """Rest-space gradient b_a of corner a's shape function [1/m]: F = sum_a x_a b_a^T."""
    b1 = wp.vec2d(dm_inv[0, 0], dm_inv[0, 1])
    b2 = wp.vec2d(dm_inv[1, 0], dm_inv[1, 1])
    b = -b1 - b2
    if a == 1:
        b = b1
    if a == 2:
        b = b2
    return b


# Kernels -----------------------------------------------------------------------------------------------------------
@wp.kernel
def membrane_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    dm_inv: wp.array(dtype=wp.mat22d),
    volume: wp.array(dtype=wp.float64),
    lame_mu: wp.array(dtype=wp.float64),
    lame_lambda: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    f = triangle_columns(x, stencils, dm_inv[e], e)
    density = stvk_density(green_strain(f[0], f[1]), lame_mu[e], lame_lambda[e])
    wp.atomic_add(world_energy, element_world[e], volume[e] * density)


@wp.kernel
def membrane_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    dm_inv: wp.array(dtype=wp.mat22d),
    volume: wp.array(dtype=wp.float64),
    lame_mu: wp.array(dtype=wp.float64),
    lame_lambda: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    hessian_stress: wp.array(dtype=wp.vec3d),
    extrapolate: wp.array(dtype=wp.int32),
    kept: wp.array(dtype=wp.float64),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    inverse = dm_inv[e]
    v = volume[e]
    mu = v * lame_mu[e]
    lam = v * lame_lambda[e]
    f = triangle_columns(x, stencils, inverse, e)
    stress = stvk_stress(green_strain(f[0], f[1]), mu, lam)
    geometric = stress
    if extrapolate[0] != 0:
        geometric = v * hessian_stress[e]
    geometric = kept[e] * positive_part_2d(geometric)
    left = wp.outer(f[0], f[0]) + wp.outer(f[1], f[1])  # F F^T
    identity = wp.identity(n=3, dtype=wp.float64)
    slot = int(6 * e)
    for a in range(wp.int32(3)):
        ba = shape_gradient(inverse, a)
        qa = f[0] * ba[0] + f[1] * ba[1]
        s0 = stress[0] * ba[0] + stress[2] * ba[1]
        s1 = stress[2] * ba[0] + stress[1] * ba[1]
        gradient[3 * e + a] = f[0] * s0 + f[1] * s1
        g0 = geometric[0] * ba[0] + geometric[2] * ba[1]
        g1 = geometric[2] * ba[0] + geometric[1] * ba[1]
        for b in range(a, wp.int32(3)):
            bb = shape_gradient(inverse, b)
            qb = f[0] * bb[0] + f[1] * bb[1]
            # geometric term, then dG:C:dG = lambda tr tr + 2 mu sym:sym written for u_a b_a^T and u_b b_b^T
            h = (g0 * bb[0] + g1 * bb[1]) * identity
            h += wp.outer(lam * qa, qb) + wp.outer(mu * qb, qa) + (mu * wp.dot(ba, bb)) * left
            blocks[slot] = h
            slot += 1


@wp.kernel
def membrane_stress(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    dm_inv: wp.array(dtype=wp.mat22d),
    lame_mu: wp.array(dtype=wp.float64),
    lame_lambda: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    hessian_stress: wp.array(dtype=wp.vec3d),
):
    e = wp.tid()
    f = triangle_columns(x, stencils, dm_inv[e], e)
    hessian_stress[e] = stvk_stress(green_strain(f[0], f[1]), lame_mu[e], lame_lambda[e])


@wp.kernel
def membrane_stress_extrapolated(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    dm_inv: wp.array(dtype=wp.mat22d),
    lame_mu: wp.array(dtype=wp.float64),
    lame_lambda: wp.array(dtype=wp.float64),
    element_world: wp.array(dtype=wp.int32),
    # In:
    world_active: wp.array(dtype=wp.int32),
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    # Out:
    hessian_stress: wp.array(dtype=wp.vec3d),
):
    e = wp.tid()
    if world_active[element_world[e]] == 0:
        return
    f = triangle_columns(x, stencils, dm_inv[e], e)
    df = triangle_columns(dx, stencils, dm_inv[e], e)
    # linear along the update: G(x_old) + sym(F_old^T dF) = G(x_new) - dF^T dF / 2
    half = wp.float64(0.5)
    square = wp.vec3d(wp.dot(df[0], df[0]), wp.dot(df[1], df[1]), wp.dot(df[0], df[1]))
    g = green_strain(f[0], f[1]) - half * square
    hessian_stress[e] = stvk_stress(g, lame_mu[e], lame_lambda[e])


@wp.func
def trace_in_space(s: wp.vec3d, f0: wp.vec3d, f1: wp.vec3d) -> wp.float64:
    """tr(F S F^T)."""
    return s[0] * wp.dot(f0, f0) + s[1] * wp.dot(f1, f1) + wp.float64(2.0) * s[2] * wp.dot(f0, f1)


@wp.kernel
def membrane_stress_sum(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    dm_inv: wp.array(dtype=wp.mat22d),
    volume: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    hessian_stress: wp.array(dtype=wp.vec3d),
    chosen: wp.array(dtype=int),
    # Out:
    whole: wp.array(dtype=wp.float64),
    positive: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    if chosen[e] == 1:
        f = triangle_columns(x, stencils, dm_inv[e], e)
        s = hessian_stress[e]
        w = element_world[e]
        wp.atomic_add(whole, w, volume[e] * trace_in_space(s, f[0], f[1]))
        wp.atomic_add(positive, w, volume[e] * trace_in_space(positive_part_2d(s), f[0], f[1]))


class Membrane(Energy):
    """St. Venant-Kirchhoff triangles.

    The Hessian uses the stress extrapolated linearly along the last accepted update, S(x_old) + C:sym(F_old^T dF), with
    its negative eigenvalues clamped (mixed integration point Newton, Magisano et al. 2017): without it a rotation that
    overshoots leaves a fake tension that stiffens the next updates and lets a stiff strip converge falsely. Energy and
    gradient do not depend on it.
    """

    name = "membrane"
    stencil_size = 3

    def __init__(
        self, stencils, dm_inv, rest_area, thickness, lame_mu, lame_lambda, element_world, device, extrapolate=True
    ):
        """stencils (E, 3) point ids; dm_inv (E, 2, 2) inverse of the rest edge matrix [columns x1-x0, x2-x0] [1/m];
        rest_area (E,) [m2]; thickness (E,) [m]; lame_mu, lame_lambda (E,) [Pa], plane stress; element_world (E,)."""
        super().__init__(stencils, element_world, device)
        count = self.num_elements
        area = non_negative("Membrane", "rest_area", per_element("Membrane", "rest_area", rest_area, count))
        full = non_negative("Membrane", "thickness", per_element("Membrane", "thickness", thickness, count))
        self.dm_inv = upload(per_element("Membrane", "dm_inv", dm_inv, count, (2, 2)), wp.mat22d, device)
        self.volume = upload(area * full, wp.float64, device)  # [m3]
        self.lame_mu = upload(per_element("Membrane", "lame_mu", lame_mu, count), wp.float64, device)
        self.lame_lambda = upload(per_element("Membrane", "lame_lambda", lame_lambda, count), wp.float64, device)
        self.hessian_stress = wp.zeros(count, dtype=wp.vec3d, device=device)  # second Piola (00, 11, 01) [Pa]
        self.kept = wp.ones(count, dtype=wp.float64, device=device)
        self.extrapolate = wp.array(np.array([int(extrapolate)]), dtype=wp.int32, device=device)

    def set_extrapolation(self, on: bool) -> None:
        """Switch the extrapolated stress on or off; a device flag, so captured graphs follow."""
        self.extrapolate.fill_(int(on))

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            membrane_value,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.element_world, self.dm_inv, self.volume, self.lame_mu, self.lame_lambda, inputs.x,
                world_energy,
            ],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            membrane_derivatives,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.dm_inv, self.volume, self.lame_mu, self.lame_lambda, inputs.x, self.hessian_stress,
                self.extrapolate, self.kept, gradient, blocks,
            ],
            device=self.device,
        )

    def launch_stress(self, inputs: StepInputs, chosen: wp.array, whole: wp.array, positive: wp.array) -> None:
        wp.launch(
            membrane_stress_sum,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.element_world, self.dm_inv, self.volume, inputs.x, self.hessian_stress, chosen,
                whole, positive,
            ],
            device=self.device,
        )

    def begin_step(self, inputs: StepInputs) -> None:
        wp.launch(
            membrane_stress,
            dim=self.num_elements,
            inputs=[self.stencils, self.dm_inv, self.lame_mu, self.lame_lambda, inputs.x, self.hessian_stress],
            device=self.device,
        )

    def launch_after_update(self, inputs: StepInputs, dx: wp.array, world_active: wp.array) -> None:
        wp.launch(
            membrane_stress_extrapolated,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.dm_inv, self.lame_mu, self.lame_lambda, self.element_world, world_active, inputs.x,
                dx, self.hessian_stress,
            ],
            device=self.device,
        )
