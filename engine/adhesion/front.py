"""The front law as a stencil term: anchors frozen inside a step, damage, handover and healing at its end.

See docs/physics/cohesion_front.md. One record a sticky point; kernels of the end of a step are in front_history.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from engine.adhesion.anchor import anchor_gradient, anchor_place, anchor_weights, follow_anchor
from engine.adhesion.anchored import AnchoredTerm
from engine.adhesion.front_history import FrontHistory, FrontMaterials, launch_advance, launch_gate
from engine.adhesion.front_law import (
    front_corners,
    front_over_u,
    front_peak,
    front_radial,
    front_rate_factor,
    front_spent,
    front_value,
)
from engine.adhesion.sticky_surface import AdhesionPart, StickyArrays
from engine.contact.stencils import Turns
from engine.types import Model

wp.set_module_options({"enable_backward": False})

UPDATE_SHARE = 1.0 / 300.0  # Newton update over the cell at which mean peel forces have settled to 0.1 %
LOOSE_SHARE = 0.1  # and above which a warning is due: at 1/10 they were off by less than 1 %
FRONT_SHARE = 0.6  # largest opening a step, over the cell, before the front outruns the law


@wp.struct
class FrozenBonds:
    """What a step needs of the stuck points, as it was at its beginning; rows as in the stencil blocks."""

    place: wp.array(dtype=wp.vec3d)
    corners: wp.array(dtype=wp.vec3d)
    peak: wp.array(dtype=wp.float64)
    reached: wp.array(dtype=wp.float64)
    area: wp.array(dtype=wp.float64)
    world: wp.array(dtype=int)


@wp.kernel
def freeze_kernel(
    s: StickyArrays,
    h: FrontHistory,
    m: FrontMaterials,
    size: int,
    stride: int,
    # Out:
    frozen: FrozenBonds,
    points_out: wp.array(dtype=wp.vec4i),
    weights_out: wp.array(dtype=wp.vec4d),
    first_side_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
):
    i = wp.tid()
    while i < size:
        t = h.triangle[i]
        if t[0] >= 0:
            k = wp.atomic_add(count_out, 0, 1)
            row = h.row[i]
            corners = front_corners(h.active[i], s.cell[i])
            factor = front_rate_factor(h.speed[i], m.rate_exponent[row], m.rate_speed[row])
            points_out[k] = wp.vec4i(s.point[i], t[0], t[1], t[2])
            weights_out[k] = anchor_weights(h.place[i])
            first_side_out[k] = 1
            frozen.place[k] = h.place[i]
            frozen.corners[k] = corners
            frozen.peak[k] = front_peak(m.work[row] * factor, corners)
            frozen.reached[k] = h.reached[i]
            frozen.area[k] = s.area[i]
            frozen.world[k] = s.world[i]
        i += stride


@wp.kernel
def derivatives_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    f: FrozenBonds,
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    block_out: wp.array(dtype=wp.mat33d),
    turns_out: Turns,
    gradient_out: wp.array2d(dtype=wp.vec3d),
):
    """Block: radial max(0, e''), tangential e'/u. With the turn of the partner: Gauss-Newton, what is left out is the
    force times the curvature of the anchor's way."""
    k = wp.tid()
    while k < count[0]:
        p = points[k]
        a = x[p[1]]
        b = x[p[2]]
        c = x[p[3]]
        q = f.place[k]
        u = x[p[0]] - anchor_place(q, a, b, c)
        length = wp.length(u)
        over_u = f.area[k] * front_over_u(length, f.reached[k], f.peak[k], f.corners[k])
        block = wp.identity(n=3, dtype=wp.float64) * over_u
        if length > wp.float64(0.0):
            n = u / length
            radial = f.area[k] * front_radial(length, f.reached[k], f.peak[k], f.corners[k])
            block = block + wp.outer(n, n) * (radial - over_u)
        block_out[k] = block
        follow_anchor(q, x[p[0]], a, b, c, k, turns_out)
        for corner in range(4):
            gradient_out[k, corner] = anchor_gradient(u * over_u, q, a, b, c, corner)
        k += stride


@wp.kernel
def value_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    f: FrozenBonds,
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    world_energy_out: wp.array(dtype=wp.float64),
):
    k = wp.tid()
    while k < count[0]:
        p = points[k]
        length = wp.length(x[p[0]] - anchor_place(f.place[k], x[p[1]], x[p[2]], x[p[3]]))
        e = f.area[k] * front_value(length, f.reached[k], f.peak[k], f.corners[k])
        wp.atomic_add(world_energy_out, f.world[k], e)
        k += stride


@wp.kernel
def damage_kernel(s: StickyArrays, h: FrontHistory, damage_out: wp.array(dtype=wp.float64)):
    """Spent share of the work [-]: 0 intact, 1 free."""
    i = wp.tid()
    damage = wp.float64(1.0)
    if h.triangle[i][0] >= 0:
        corners = front_corners(h.active[i], s.cell[i])
        one = wp.float64(1.0)
        damage = front_spent(h.reached[i], front_peak(one, corners), corners)
    damage_out[i] = damage


class FrontCohesion(AnchoredTerm):
    """All `cohesion: front` interfaces of a model."""

    name = "cohesion_front"

    law = "front"
    History, Frozen, Materials = FrontHistory, FrozenBonds, FrontMaterials
    kernels = freeze_kernel, derivatives_kernel, value_kernel

    def __init__(self, model: Model, parts: Sequence[AdhesionPart]):
        size = max(sum(m.points.stop - m.points.start for m in model.meshes.values()) * model.num_worlds, 1)
        self.pressed = wp.zeros(size, dtype=int, device=model.device)
        self.next_active = wp.zeros(size, dtype=int, device=model.device)
        self.front_step = wp.zeros(model.num_worlds, dtype=wp.float64, device=model.device)
        self._warned = False
        super().__init__(model, parts)

    def after_start(self, x: wp.array) -> None:
        launch_gate(self, x)  # the front is where neighbours are not stuck

    # the step -------------------------------------------------------------------------------------------------------
    def launch_end_step(self, system) -> None:
        if self.size == 0:
            return
        self.touch.launch(system)
        launch_advance(self, system)
        launch_gate(self, system.points)

    # reading --------------------------------------------------------------------------------------------------------
    def damage(self) -> np.ndarray:
        """Spent share of the work by sticky point, 0 intact to 1 free [-], (S,) in the order of `sticky.points`."""
        out = wp.zeros(max(self.size, 1), dtype=wp.float64, device=self.device)
        wp.launch(damage_kernel, self.size, [self.sticky.arrays, self.history], [out], device=self.device)
        return out.numpy()[: self.size]

    def messages(self, options) -> list[str]:
        """What the last step did that the law cannot follow; see `peel_limits`."""
        found, moved = [], float(self.front_step.numpy().max(initial=0.0))
        if moved == 0.0 or self.size == 0:
            return found
        if moved > FRONT_SHARE:
            found.append(
                f"peel front opened by {moved:.2g} cells in one step (at most {FRONT_SHARE:g}): peel forces are too "
                f"high; pull slower or take Options.dt below {options.dt * FRONT_SHARE / moved:.2g} s"
            )
        tolerance = peel_tolerance(self.sticky.cells, options.dt)
        if options.newton_tolerance > tolerance * LOOSE_SHARE / UPDATE_SHARE and not self._warned:
            self._warned = True
            found.append(
                f"Options.newton_tolerance is {options.newton_tolerance:g} m/s, loose for a peel front; exact peel "
                f"forces take {tolerance:.2g} m/s (cell length / 300 / dt)"
            )
        return found


def peel_tolerance(cells: np.ndarray, dt: float) -> float:
    """Options.newton_tolerance for exact peel forces [m/s]: updates under cell / 300 a step."""
    return float(UPDATE_SHARE * np.min(cells) / dt) if len(cells) else np.inf
