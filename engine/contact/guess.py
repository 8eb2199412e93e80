"""Contact-aware start guess.

The guess x + dt v of a resting surface carries the noise that the last step's tolerance left in v. Followed blindly
it presses contacts ever deeper into the barrier, where Newton's updates are as small as the gap, so the stopping test
passes on a wrong state. And one pair that is about to touch would hold back the guess of its whole world. So a pair
that would lose more than a fifth of its gap (of dhat, for one that is still farther) keeps its tangential motion and
loses the rest of its approach from where it touches on, taken out along the normal from its free points.
"""

from __future__ import annotations

import warp as wp

from engine.contact.ccd import additive_ccd
from engine.contact.narrow import CandidateArrays, closest_weights
from engine.contact.stencils import Riders
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})

KEEP = wp.constant(wp.float64(0.8))  # share of the gap, or of dhat, that the guess leaves


@wp.kernel
def soften_kernel(
    c: CandidateArrays,
    x: wp.array(dtype=wp.vec3d),
    near: wp.array(dtype=int),
    near_count: wp.array(dtype=int),
    r: Riders,
    stride: int,
    # In and out:
    dx: wp.array(dtype=wp.vec3d),
    node_dx: wp.array(dtype=wp.vec3d),
):
    """In order of the list, each pair seeing what earlier ones left: Gauss-Seidel on one thread, Jacobi on many."""
    k = wp.tid()
    while k < near_count[0]:
        i = near[k]
        p = c.points[i]
        movable = int(0)
        for a in range(4):
            if r.point_count[p[a]] == 1:
                movable = movable + 1
        if movable > 0:
            x0 = x[p[0]]
            x1 = x[p[1]]
            x2 = x[p[2]]
            x3 = x[p[3]]
            d0 = dx[p[0]]
            d1 = dx[p[1]]
            d2 = dx[p[2]]
            d3 = dx[p[3]]
            kind = c.kind[i]
            sep = c.min_separation[i]
            w = closest_weights(kind, x0, x1, x2, x3)
            gap = wp.length(weighted_difference(w, x0, x1, x2, x3)) - sep
            share = wp.float64(1.0) - KEEP * wp.min(c.dhat[i] / gap, wp.float64(1.0))
            toi = additive_ccd(kind, x0, x1, x2, x3, d0, d1, d2, d3, sep, share)
            if toi < wp.float64(1.0):
                w = closest_weights(kind, x0 + d0 * toi, x1 + d1 * toi, x2 + d2 * toi, x3 + d3 * toi)
                n = wp.normalize(weighted_difference(w, x0 + d0 * toi, x1 + d1 * toi, x2 + d2 * toi, x3 + d3 * toi))
                rest = wp.float64(1.0) - toi
                approach = wp.dot(n, d0 * w[0] + d1 * w[1] + d2 * w[2] + d3 * w[3]) * rest
                weight = wp.float64(0.0)
                for a in range(4):
                    if r.point_count[p[a]] == 1:
                        weight = weight + w[a] * w[a]
                if approach < wp.float64(0.0) and weight > wp.float64(0.0):
                    for a in range(4):
                        if r.point_count[p[a]] == 1:
                            change = n * (-w[a] * approach / weight)
                            wp.atomic_add(dx, p[a], change)
                            wp.atomic_add(node_dx, r.point_node[p[a]], change)
        k += stride
