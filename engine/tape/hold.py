"""Springs that hold each wound point over its foot while a roll settles without an adhesive.

    E = k A/2 |x - anchor|^2      for each foot: point x with area A, its anchor where it stood at first

The anchor turns with the triangle under it (engine.adhesion.anchor). This stands in for the adhesive, which holds a
layer by the same kind of spring (docs/physics/roll.md).
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.adhesion.anchor import anchor_gradient, anchor_place, follow_anchor
from engine.contact.stencils import StencilBlocks, Turns, stride_of
from engine.contact.term import StencilTerm
from engine.energies.base import StepInputs

wp.set_module_options({"enable_backward": False})


@wp.func
def opening(p: wp.vec4i, q: wp.vec3d, x: wp.array(dtype=wp.vec3d)) -> wp.vec3d:
    return x[p[0]] - anchor_place(q, x[p[1]], x[p[2]], x[p[3]])


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
    turns_out: Turns,
    gradient_out: wp.array2d(dtype=wp.vec3d),
):
    c = wp.tid()
    while c < count[0]:
        p = points[c]
        q = anchor[c]
        force = opening(p, q, x) * stiffness[c]
        block_out[c] = wp.identity(n=3, dtype=wp.float64) * stiffness[c]
        follow_anchor(q, x[p[0]], x[p[1]], x[p[2]], x[p[3]], c, turns_out)
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

    def __init__(self, stencils, place, stiffness, device: str):
        """stencils (F, 4) global point ids: the held point, then the triangle under it; place (F, 3): its anchor in the
        coordinates of engine.adhesion.anchor; stiffness (F,) [N/m]."""
        count, place = len(stencils), np.asarray(place, float)
        self.device, self.stride = device, stride_of(device)
        self.blocks = b = StencilBlocks(max(count, 1), device, turning=True)
        b.points.assign(np.ascontiguousarray(stencils, np.int32))
        b.weights.assign(np.column_stack([np.ones(count), place[:, 0] + place[:, 1] - 1.0, -place[:, :2]]))
        b.first_side.fill_(1)
        b.count.fill_(count)
        self.anchor = wp.array(np.ascontiguousarray(place), dtype=wp.vec3d, device=device)
        self.stiffness = wp.array(np.ascontiguousarray(stiffness, float), dtype=wp.float64, device=device)

    def launch_begin_step(self, inputs: StepInputs) -> None:
        pass  # the feet stay

    def launch_derivatives(self, inputs: StepInputs) -> None:
        b = self.blocks
        wp.launch(
            hold_derivatives_kernel,
            self.stride,
            [b.count, b.points, self.anchor, self.stiffness, inputs.x, self.stride],
            [b.block, b.turns, b.gradient],
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
