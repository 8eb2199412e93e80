"""Soft solids: neo-Hookean tetrahedra with a log barrier against inversion.

    Psi = mu/2 (|F|^2 - 3) - mu log J + lambda/2 (log J)^2,    F = [x1 - x0, x2 - x0, x3 - x0] Dm_inv,   J = det F
    P   = mu F + (lambda log J - mu) F^-T
    P:dP = mu |dF|^2 + c tr((F^-1 dF)^2) + lambda tr(F^-1 dF)^2,    c = mu - lambda log J

Source: Bonet and Wood 2008 (section 6.4.3); Taccel, section 3. The Hessian that the solver gets replaces the one
indefinite term, c tr((F^-1 dF)^2), by a term that is never below it and keeps the sum positive semi-definite; the proof
is in docs/physics/neo_hookean.md.
"""

from __future__ import annotations

import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.per_element import non_negative, per_element, upload
from engine.energies.positive_part import positive_part_bound

wp.set_module_options({"enable_backward": False})

BISECTIONS = wp.constant(48)
POLAR_ITERATIONS = wp.constant(20)  # a cap: 3 to 5 are usual, 9 enough at a condition number of 1e16


# Scalar law --------------------------------------------------------------------------------------------------------
@wp.func
def edge_matrix(x: wp.array(dtype=wp.vec3d), stencils: wp.array2d(dtype=wp.int32), e: int) -> wp.mat33d:
    """Columns x1 - x0, x2 - x0, x3 - x0 [m]."""
    x0 = x[stencils[e, 0]]
    return wp.matrix_from_cols(x[stencils[e, 1]] - x0, x[stencils[e, 2]] - x0, x[stencils[e, 3]] - x0)


@wp.func
def neo_hookean_density(f: wp.mat33d, lame_mu: wp.float64, lame_lambda: wp.float64) -> wp.float64:
    """Psi [Pa]; infinite for an inverted element, which a line search then refuses."""
    density = wp.float64(wp.inf)
    j = wp.determinant(f)
    if j > wp.float64(0.0):
        log_j = wp.log(j)
        half = wp.float64(0.5)
        density = half * lame_mu * (wp.ddot(f, f) - wp.float64(3.0)) - lame_mu * log_j
        density += half * lame_lambda * log_j * log_j
    return density


@wp.func
def corner_gradient(dm_inv: wp.mat33d, a: int) -> wp.vec3d:
    """Rest-space gradient b_a of corner a's shape function [1/m]: F = sum_a x_a b_a^T."""
    b = -dm_inv[0] - dm_inv[1] - dm_inv[2]
    if a > 0:
        b = dm_inv[a - 1]
    return b


@wp.func
def rotation_factor(f: wp.mat33d, f_inverse_t: wp.mat33d) -> wp.mat33d:
    """R of the polar decomposition F = V R, det F > 0: Newton iteration with norm scaling (Higham 1986)."""
    r = f
    inverse_t = f_inverse_t
    half = wp.float64(0.5)
    for _i in range(POLAR_ITERATIONS):
        scale = wp.sqrt(wp.sqrt(wp.ddot(inverse_t, inverse_t) / wp.ddot(r, r)))
        if wp.abs(scale - wp.float64(1.0)) < wp.float64(1e-2):
            scale = wp.float64(1.0)  # close by: the plain iteration is quadratic
        improved = (half * scale) * r + (half / scale) * inverse_t
        change = improved - r
        r = improved
        if wp.ddot(change, change) < wp.float64(1e-14):
            break  # the next change would be of order 1e-14
        inverse_t = wp.transpose(wp.inverse(r))
    return r


@wp.func
def spin_stiffness(left_stretch: wp.mat33d, j: wp.float64, lame_mu: wp.float64, c: wp.float64) -> wp.mat33d:
    """Gamma for c >= 0: adding w^T Gamma w, w the axial vector of dF R^T, lifts the negative modes to zero [Pa]."""
    half = wp.float64(0.5)
    surplus = (half * c / j) * left_stretch - (half * lame_mu) * wp.identity(n=3, dtype=wp.float64)
    return positive_part_bound(surplus, wp.float64(1e-9) * lame_mu)


@wp.func
def largest_eigenvalue_bound(m: wp.mat33d) -> wp.float64:
    """At least the largest eigenvalue of a symmetric m: mean + sqrt(2) standard deviation (Wolkowicz, Styan 1980)."""
    third = wp.float64(1.0 / 3.0)
    mean = third * wp.trace(m)
    variance = wp.max(third * wp.ddot(m, m) - mean * mean, wp.float64(0.0))
    return mean + wp.sqrt(wp.float64(2.0) * variance)


@wp.func
def safe_fraction(c1: wp.float64, c2: wp.float64, c3: wp.float64, keep: wp.float64) -> wp.float64:
    """Largest t in [0, 1] with 1 + c1 s + c2 s^2 + c3 s^3 >= keep for every s in [0, t] [-].

    The cubic is monotone between the roots of its derivative; the first piece that ends below `keep` is bisected and
    the lower end returned, so the answer errs on the safe side.
    """
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    base = one - keep
    # Bernstein coefficients on [0, 1]: all non-negative means that there is no root
    third = wp.float64(1.0 / 3.0)
    smallest = wp.min(base + third * c1, base + third * (wp.float64(2.0) * c1 + c2))
    fraction = one
    if wp.min(smallest, base + c1 + c2 + c3) < zero:
        # roots of c1 + 2 c2 t + 3 c3 t^2 in the order of t, without cancellation
        k0 = one
        k1 = one
        discriminant = c2 * c2 - wp.float64(3.0) * c1 * c3
        if discriminant >= zero:
            root = wp.sqrt(discriminant)
            q = -(c2 + root)
            if c2 < zero:
                q = root - c2
            r0 = one
            r1 = one
            if c3 != zero:
                r0 = q / (wp.float64(3.0) * c3)
            if q != zero:
                r1 = c1 / q
            k0 = wp.clamp(wp.min(r0, r1), zero, one)
            k1 = wp.clamp(wp.max(r0, r1), zero, one)
        lower = zero
        upper = k0
        if base + k0 * (c1 + k0 * (c2 + k0 * c3)) >= zero:
            lower = k0
            upper = k1
            if base + k1 * (c1 + k1 * (c2 + k1 * c3)) >= zero:
                lower = k1
                upper = one
        if base + upper * (c1 + upper * (c2 + upper * c3)) < zero:
            for _i in range(BISECTIONS):
                middle = wp.float64(0.5) * (lower + upper)
                if base + middle * (c1 + middle * (c2 + middle * c3)) >= zero:
                    lower = middle
                else:
                    upper = middle
            fraction = lower
    return fraction


# Kernels -----------------------------------------------------------------------------------------------------------
@wp.kernel
def neo_hookean_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    dm_inv: wp.array(dtype=wp.mat33d),
    rest_volume: wp.array(dtype=wp.float64),
    lame_mu: wp.array(dtype=wp.float64),
    lame_lambda: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    f = edge_matrix(x, stencils, e) * dm_inv[e]
    density = neo_hookean_density(f, lame_mu[e], lame_lambda[e])
    wp.atomic_add(world_energy, element_world[e], rest_volume[e] * density)


@wp.kernel
def neo_hookean_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    dm_inv: wp.array(dtype=wp.mat33d),
    rest_volume: wp.array(dtype=wp.float64),
    lame_mu: wp.array(dtype=wp.float64),
    lame_lambda: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    inverse = dm_inv[e]
    volume = rest_volume[e]
    mu = volume * lame_mu[e]
    lam = volume * lame_lambda[e]
    f = edge_matrix(x, stencils, e) * inverse
    j = wp.determinant(f)
    f_inverse_t = wp.transpose(wp.inverse(f))
    c = mu - lam * wp.log(j)
    # c tr((F^-1 dF)^2): `kept` is the share of c that stays; gamma, on the axial vector of dF R^T, makes up for it
    rotation = rotation_factor(f, f_inverse_t)
    left_stretch = f * wp.transpose(rotation)
    kept = c
    gamma = wp.mat33d()
    if c >= wp.float64(0.0):
        gamma = spin_stiffness(left_stretch, j, mu, c)
    else:
        # mu |dF|^2 outweighs kept tr((F^-1 dF)^2) while |kept| times the largest eigenvalue of (F F^T)^-1 is below mu
        kept = -wp.min(-c, mu / largest_eigenvalue_bound(f_inverse_t * wp.transpose(f_inverse_t)))
        gamma = (wp.float64(0.5) * (kept - c) / j) * left_stretch
    identity = wp.identity(n=3, dtype=wp.float64)
    slot = int(10 * e)
    for a in range(wp.int32(4)):
        ba = corner_gradient(inverse, a)
        qa = f * ba
        ga = f_inverse_t * ba
        gradient[4 * e + a] = mu * qa - c * ga
        spin_a = wp.skew(rotation * ba)
        for b in range(a, wp.int32(4)):
            bb = corner_gradient(inverse, b)
            gb = f_inverse_t * bb
            h = (mu * wp.dot(ba, bb)) * identity + wp.outer(kept * gb, ga) + wp.outer(lam * ga, gb)
            blocks[slot] = h - spin_a * (gamma * wp.skew(rotation * bb))  # the transpose of skew is -skew
            slot += 1


@wp.kernel
def inversion_bound(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    keep: wp.float64,
    # In:
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    # Out:
    world_bound: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    # det(D + t dD)/det(D) = 1 + c1 t + c2 t^2 + c3 t^3, the invariants of dD D^-1: no unit, no absolute tolerance
    rate = edge_matrix(dx, stencils, e) * wp.inverse(edge_matrix(x, stencils, e))
    c1 = wp.trace(rate)
    c2 = wp.float64(0.5) * (c1 * c1 - wp.trace(rate * rate))
    fraction = safe_fraction(c1, c2, wp.determinant(rate), keep)
    if fraction < wp.float64(1.0):
        wp.atomic_min(world_bound, element_world[e], fraction)


class NeoHookean(Energy):
    """Neo-Hookean tetrahedra; positions must not be inverted (the energy of an inverted element is infinite).

    `volume_share` (class attribute): share of its volume that a tetrahedron keeps at least in one accepted step.
    """

    name = "neo_hookean"
    stencil_size = 4
    volume_share = 0.1

    def __init__(self, stencils, dm_inv, rest_volume, lame_mu, lame_lambda, element_world, device):
        """stencils (E, 4) point ids, positively oriented; dm_inv (E, 3, 3) inverse of the rest edge matrix [columns
        x1-x0, x2-x0, x3-x0] [1/m]; rest_volume (E,) [m3]; lame_mu, lame_lambda (E,) [Pa]; element_world (E,)."""
        super().__init__(stencils, element_world, device)
        count = self.num_elements
        self.dm_inv = upload(per_element("NeoHookean", "dm_inv", dm_inv, count, (3, 3)), wp.mat33d, device)
        volume = per_element("NeoHookean", "rest_volume", rest_volume, count)
        self.rest_volume = upload(non_negative("NeoHookean", "rest_volume", volume), wp.float64, device)
        self.lame_mu = upload(per_element("NeoHookean", "lame_mu", lame_mu, count), wp.float64, device)
        self.lame_lambda = upload(per_element("NeoHookean", "lame_lambda", lame_lambda, count), wp.float64, device)

    def _material(self) -> list:
        return [self.dm_inv, self.rest_volume, self.lame_mu, self.lame_lambda]

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            neo_hookean_value,
            dim=self.num_elements,
            inputs=[self.stencils, self.element_world, *self._material(), inputs.x, world_energy],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            neo_hookean_derivatives,
            dim=self.num_elements,
            inputs=[self.stencils, *self._material(), inputs.x, gradient, blocks],
            device=self.device,
        )

    def launch_step_bound(self, inputs: StepInputs, dx: wp.array, world_bound: wp.array) -> None:
        wp.launch(
            inversion_bound,
            dim=self.num_elements,
            inputs=[self.stencils, self.element_world, self.volume_share, inputs.x, dx, world_bound],
            device=self.device,
        )
