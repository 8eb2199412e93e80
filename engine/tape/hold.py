"""Springs that hold each wound point over its foot while a roll settles without an adhesive.

    E = k A/2 |x - anchor|^2      for each foot: point x with area A, its anchor where it stood at first

The anchor turns with the triangle under it (engine.adhesion.anchor). This stands in for the adhesive, which holds a
layer by the same kind of spring (docs/physics/roll.md).
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.adhesion.anchor import anchor_coordinates, anchor_gradient, anchor_place, anchor_weights
from engine.contact.stencils import StencilBlocks, stride_of
from engine.contact.term import StencilTerm
from engine.energies.base import StepInputs

wp.set_module_options({"enable_backward": False})


@wp.func
def opening(p: wp.vec4i, q: wp.vec3d, x: wp.array(dtype=wp.vec3d)) -> wp.vec3d:
    return x[p[0]] - anchor_place(q, x[p[1]], x[p[2]], x[p[3]])


@wp.kernel
def stick_kernel(
    points: wp.array(dtype=wp.vec4i),
    x: wp.array(dtype=wp.vec3d),
    # Out:
    anchor_out: wp.array(dtype=wp.vec3d),
    weights_out: wp.array(dtype=wp.vec4d),
):
    c = wp.tid()
    p = points[c]
    q = anchor_coordinates(x[p[0]], x[p[1]], x[p[2]], x[p[3]])
    anchor_out[c] = q
    weights_out[c] = anchor_weights(q)


@wp.kernel
def hold_derivatives_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    anchor: wp.array(dtype=wp.vec3d),
    stiffness: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    # Out:
    block_out: wp.array(dtype=wp.mat33d),
    gradient_out: wp.array2d(dtype=wp.vec3d),
):
    c = wp.tid()
    while c < count[0]:
        p = points[c]
        q = anchor[c]
        force = opening(p, q, x) * stiffness[c]
        block_out[c] = wp.identity(n=3, dtype=wp.float64) * stiffness[c]
        for a in range(4):
            gradient_out[c, a] = anchor_gradient(force, q, x[p[1]], x[p[2]], x[p[3]], a)
        c += stride


@wp.kernel
def hold_value_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    anchor: wp.array(dtype=wp.vec3d),
    stiffness: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    # Out:
    world_energy_out: wp.array(dtype=wp.float64),
):
    c = wp.tid()
    while c < count[0]:
        u = opening(points[c], anchor[c], x)
        wp.atomic_add(world_energy_out, 0, wp.float64(0.5) * stiffness[c] * wp.dot(u, u))
        c += stride


class Hold(StencilTerm):
    """One world only."""

    name = "hold"

    def __init__(self, stencils, stiffness, positions, device: str):
        """stencils (F, 4) global point ids: the held point, then the triangle under it; stiffness (F,) [N/m]; positions
        (P, 3) at which all springs are without force [m]."""
        count = len(stencils)
        self.device, self.stride = device, stride_of(device)
        self.blocks = b = StencilBlocks(max(count, 1), device)
        b.points.assign(np.ascontiguousarray(stencils, np.int32))
        b.first_side.fill_(1)
        b.count.fill_(count)
        self.anchor = wp.zeros(count, dtype=wp.vec3d, device=device)
        self.stiffness = wp.array(np.ascontiguousarray(stiffness, float), dtype=wp.float64, device=device)
        x = wp.array(np.ascontiguousarray(positions, float), dtype=wp.vec3d, device=device)
        wp.launch(stick_kernel, count, [b.points, x], [self.anchor, b.weights], device=device)

    def launch_begin_step(self, inputs: StepInputs) -> None:
        pass  # the feet stay

    def launch_derivatives(self, inputs: StepInputs) -> None:
        b = self.blocks
        wp.launch(
            hold_derivatives_kernel,
            self.stride,
            [b.count, b.points, self.anchor, self.stiffness, inputs.x, self.stride],
            [b.block, b.gradient],
            device=self.device,
        )

    def launch_value(self, inputs: StepInputs, world_energy) -> None:
        b = self.blocks
        wp.launch(
            hold_value_kernel,
            self.stride,
            [b.count, b.points, self.anchor, self.stiffness, inputs.x, self.stride],
            [world_energy],
            device=self.device,
        )

    def launch_end_step(self, system) -> None:
        pass  # no history

    def get_state(self) -> dict[str, np.ndarray]:
        return {}

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        pass

    def reset(self, world: int | None = None) -> None:
        pass
