"""A point tied to another: E = k/2 |xa - xb|^2. Fixed, spherical and revolute joints are made of these.

Linear in the points, so the Hessian is exact and constant; docs/physics/joints.md.
"""

from __future__ import annotations

import warp as wp

from engine.energies.springs import Springs

wp.set_module_options({"enable_backward": False})


@wp.kernel
def tie_value(
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
    gap = x[stencils[e, 0]] - x[stencils[e, 1]]
    wp.atomic_add(world_energy, element_world[e], wp.float64(0.5) * stiffness[e] * wp.dot(gap, gap))


@wp.kernel
def tie_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    pull = stiffness[e] * (x[stencils[e, 0]] - x[stencils[e, 1]])
    gradient[2 * e] = pull
    gradient[2 * e + 1] = -pull
    h = stiffness[e] * wp.identity(n=3, dtype=wp.float64)
    blocks[3 * e] = h
    blocks[3 * e + 1] = -h
    blocks[3 * e + 2] = h


class PointTie(Springs):
    """Ties pairs of points."""

    name = "tie"
    stencil_size = 2
    kernels = tie_value, tie_derivatives
