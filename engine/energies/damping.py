"""Velocity damping of a point: E = c/(2 h) |x - x_start|^2, h the effective step.

Its gradient is the force c v of a dashpot to the world, v = (x - x_start)/h; docs/physics/damping.md.
"""

from __future__ import annotations

import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.per_element import non_negative, per_element, upload

wp.set_module_options({"enable_backward": False})


@wp.kernel
def damping_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    coefficient: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    moved = x[stencils[e, 0]] - x_start[stencils[e, 0]]
    value = wp.float64(0.5) * coefficient[e] / step_size[0] * wp.dot(moved, moved)
    wp.atomic_add(world_energy, element_world[e], value)


@wp.kernel
def damping_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    coefficient: wp.array(dtype=wp.float64),
    # In:
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    rate = coefficient[e] / step_size[0]
    gradient[e] = rate * (x[stencils[e, 0]] - x_start[stencils[e, 0]])
    blocks[e] = rate * wp.identity(n=3, dtype=wp.float64)


class PointDamping(Energy):
    """Dashpots between points and the world; quadratic, the Hessian is exact."""

    name = "damping"
    stencil_size = 1

    def __init__(self, stencils, coefficient, element_world, device):
        """stencils (E, 1) point ids; coefficient (E,) [N s/m]; element_world (E,)."""
        super().__init__(stencils, element_world, device)
        dashpot = per_element("PointDamping", "coefficient", coefficient, self.num_elements)
        self.coefficient = upload(non_negative("PointDamping", "coefficient", dashpot), wp.float64, device)

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            damping_value,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.element_world, self.coefficient, inputs.x, inputs.x_start, inputs.step_size,
                world_energy,
            ],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            damping_derivatives,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.coefficient, inputs.x, inputs.x_start, inputs.step_size, gradient, blocks,
            ],
            device=self.device,
        )
