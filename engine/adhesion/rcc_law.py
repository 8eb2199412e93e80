"""The law of Raous, Cangemi & Cocou (1999): a spring whose stiffness falls with the intensity of adhesion beta.

Per area (or per pair, in paper scaling), u_n > 0 the opening along the partner's normal, u_t the slip:

    psi = beta^2/2 (C_n u_n^2 + C_t |u_t|^2),  beta frozen in the step

At its end  beta <- min(beta, (b beta/dt + W)/(b/dt + C_n u_n^2 + C_t |u_t|^2)),  implicit in beta and dissipative
for any step. In contact beta grows:  beta <- (beta + gamma dt target)/(1 + gamma dt),  target = min(1, p/p_0), or 1.
With b = 0 a slow pull is elastic up to C u^2 = W, then beta = W/(C u^2): half of W is spent before and half after the
peak W/u. Source: Raous, Cangemi & Cocou 1999; Fang et al. 2023 for the frozen beta.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def rcc_strain(u: wp.vec3d, n: wp.vec3d, stiffness_n: wp.float64, stiffness_t: wp.float64) -> wp.float64:
    """C_n u_n^2 + C_t |u_t|^2; n: unit normal towards the sticky point."""
    un = wp.dot(u, n)
    ut = u - n * un
    apart = wp.max(un, wp.float64(0.0))
    return stiffness_n * apart * apart + stiffness_t * wp.dot(ut, ut)


@wp.func
def rcc_gradient(u: wp.vec3d, n: wp.vec3d, stiffness_n: wp.float64, stiffness_t: wp.float64) -> wp.vec3d:
    """Half the gradient of rcc_strain by u: the traction over beta^2."""
    un = wp.dot(u, n)
    return (u - n * un) * stiffness_t + n * (wp.max(un, wp.float64(0.0)) * stiffness_n)


@wp.func
def rcc_turn(u: wp.vec3d, n: wp.vec3d, stiffness_n: wp.float64, stiffness_t: wp.float64) -> wp.vec3d:
    """Half the gradient of rcc_strain by n, at fixed u."""
    un = wp.dot(u, n)
    return u * (wp.max(un, wp.float64(0.0)) * stiffness_n - un * stiffness_t)


@wp.func
def rcc_block(u: wp.vec3d, n: wp.vec3d, stiffness_n: wp.float64, stiffness_t: wp.float64) -> wp.mat33d:
    """Half the Hessian of rcc_strain by u: positive semi-definite."""
    k = wp.float64(0.0)
    if wp.dot(u, n) > wp.float64(0.0):
        k = stiffness_n
    return wp.identity(n=3, dtype=wp.float64) * stiffness_t + wp.outer(n, n) * (k - stiffness_t)


@wp.func
def rcc_weakened(
    beta: wp.float64, strain: wp.float64, work: wp.float64, viscosity: wp.float64, dt: wp.float64
) -> wp.float64:
    """beta at the end of a step."""
    rate = viscosity / dt
    return wp.min(beta, (rate * beta + work) / wp.max(rate + strain, wp.float64(1.0e-300)))


@wp.func
def rcc_bonded(beta: wp.float64, target: wp.float64, bonding_rate: wp.float64, dt: wp.float64) -> wp.float64:
    """beta after a step in contact: never falls."""
    grown = (beta + bonding_rate * dt * target) / (wp.float64(1.0) + bonding_rate * dt)
    return wp.max(beta, grown)
