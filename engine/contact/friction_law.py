"""Smoothed Coulomb friction of a sliding distance u >= 0 within one step.

A contact's friction energy is friction_mu * normal_force * f0(|u|) [J] with u its tangential displacement in the step
and eps = epsv * h. Source: Li et al. 2020, Incremental Potential Contact, smoothed static friction:
f1(u) = 2 u/eps - (u/eps)^2 below eps, 1 above; f0 is its integral with f0(u) = u above eps.
Gradient and Hessian of f0(|u|): (f1/|u|) u  and  (f1/|u|)(I - n n^T) + f1' n n^T with n = u/|u|, both factors >= 0.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def friction_value(u: wp.float64, eps: wp.float64) -> wp.float64:
    """f0(u) [m]: eps/3 at rest, u from eps on; C2 at u = eps."""
    f = u
    if u < eps:
        y = u / eps
        f = eps * (y * y * (wp.float64(1.0) - y / wp.float64(3.0)) + wp.float64(1.0) / wp.float64(3.0))
    return f


@wp.func
def friction_over_u(u: wp.float64, eps: wp.float64) -> wp.float64:
    """f1(u) / u [1/m]: the factor of the gradient and of the Hessian across the sliding direction; 2/eps at rest."""
    f = wp.float64(0.0)
    if u < eps:
        f = (wp.float64(2.0) - u / eps) / eps
    else:
        f = wp.float64(1.0) / u
    return f


@wp.func
def friction_hessian_radial(u: wp.float64, eps: wp.float64) -> wp.float64:
    """f1'(u) [1/m]: the Hessian's eigenvalue along the sliding direction, 0 from eps on, never negative."""
    f = wp.float64(0.0)
    if u < eps:
        f = wp.float64(2.0) * (wp.float64(1.0) - u / eps) / eps
    return f
