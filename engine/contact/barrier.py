"""Logarithmic barrier on the gap beyond the minimum separation, dimensionless.

b(u) = -(u - 1)^2 ln u with u = gap / dhat, for 0 < u < 1, and 0 for u >= 1. A pair's energy is stiffness * b [J] with
stiffness = kappa dhat A. Source: Li et al. 2020, Incremental Potential Contact, eq. 6, made dimensionless in distance
(not in squared distance) so that the pressure does not depend on thickness over dhat.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def barrier(gap: wp.float64, dhat: wp.float64) -> wp.float64:
    """b [-]: 0 from gap = dhat on, infinite at gap <= 0 (so that a line search rejects such a state)."""
    one = wp.float64(1.0)
    b = wp.float64(0.0)
    if gap < dhat:
        b = wp.float64(wp.inf)
        if gap > wp.float64(0.0):
            u = gap / dhat
            b = -(u - one) * (u - one) * wp.log(u)
    return b


@wp.func
def barrier_gradient(gap: wp.float64, dhat: wp.float64) -> wp.float64:
    """db/dgap = [2 (1 - u) ln u - (u - 1)^2 / u] / dhat [1/m], never positive. For gap > 0 only."""
    one = wp.float64(1.0)
    g = wp.float64(0.0)
    if gap < dhat:
        u = gap / dhat
        g = (one - u) * (wp.float64(2.0) * wp.log(u) - (one - u) / u) / dhat
    return g


@wp.func
def barrier_hessian(gap: wp.float64, dhat: wp.float64) -> wp.float64:
    """d2b/dgap2 = [-2 ln u + (1 - u)(1 + 3 u) / u^2] / dhat^2 [1/m2], never negative. For gap > 0 only."""
    one = wp.float64(1.0)
    h = wp.float64(0.0)
    if gap < dhat:
        u = gap / dhat
        h = ((one - u) * (one + wp.float64(3.0) * u) / (u * u) - wp.float64(2.0) * wp.log(u)) / (dhat * dhat)
    return h
