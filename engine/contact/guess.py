"""Contact-aware start guess.

The guess x + dt v of a resting surface carries the noise that the last step's tolerance left in v. Followed blindly
it presses contacts ever deeper into the barrier, where Newton's updates are as small as the gap, so the stopping test
passes on a wrong state. So every active pair may lose at most a fifth of its gap in the guess; the rest of its
approach is taken out along the normal, from the free points of the pair.
"""

from __future__ import annotations

import warp as wp

from engine.contact.narrow import CandidateArrays, closest_weights
from engine.contact.stencils import Riders
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})

KEEP = wp.constant(wp.float64(0.8))  # share of the gap that the guess leaves


@wp.kernel
def soften_kernel(
    c: CandidateArrays,
    x: wp.array(dtype=wp.vec3d),
    active: wp.array(dtype=int),
    active_count: wp.array(dtype=int),
    r: Riders,
    stride: int,
    # In and out:
    dx: wp.array(dtype=wp.vec3d),
    node_dx: wp.array(dtype=wp.vec3d),
):
    k = wp.tid()
    while k < active_count[0]:
        i = active[k]
        p = c.points[i]
        w = closest_weights(c.kind[i], x[p[0]], x[p[1]], x[p[2]], x[p[3]])
        d = weighted_difference(w, x[p[0]], x[p[1]], x[p[2]], x[p[3]])
        distance = wp.length(d)
        n = d / distance
        approach = wp.float64(0.0)
        movable = wp.float64(0.0)
        for a in range(4):
            approach = approach + w[a] * wp.dot(n, dx[p[a]])
            if r.point_count[p[a]] == 1:
                movable = movable + w[a] * w[a]
        excess = -(wp.float64(1.0) - KEEP) * (distance - c.min_separation[i]) - approach
        if excess > wp.float64(0.0) and movable > wp.float64(0.0):
            for a in range(4):
                if r.point_count[p[a]] == 1:
                    change = n * (w[a] * excess / movable)
                    wp.atomic_add(dx, p[a], change)
                    wp.atomic_add(node_dx, r.point_node[p[a]], change)
        k += stride
