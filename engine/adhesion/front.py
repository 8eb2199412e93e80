"""The front law as a stencil term: anchors frozen inside a step, damage, handover and healing at its end.

See docs/physics/cohesion_front.md. One record a sticky point; kernels of the end of a step are in front_history.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from engine.adhesion.anchor import anchor_gradient, anchor_place, anchor_weights
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
from engine.adhesion.sticking import Touch, start_positions, touch_at_start
from engine.adhesion.sticky_surface import AdhesionPart, StickyArrays, sticky_surface
from engine.contact.stencils import StencilBlocks, stride_of
from engine.contact.term import StencilTerm
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
    gradient_out: wp.array2d(dtype=wp.vec3d),
):
    """Block: radial max(0, e''), tangential e'/u. It leaves out the turn of the partner's normal (small: the anchor's
    height over its triangle's size), the gradient does not."""
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


class FrontCohesion(StencilTerm):
    """All `cohesion: front` interfaces of a model."""

    name = "cohesion_front"

    def __init__(self, model: Model, parts: Sequence[AdhesionPart]):
        self.device, self.num_worlds = model.device, model.num_worlds
        self.sticky = sticky_surface(model, list(parts), "front")
        self.size = size = self.sticky.size
        self.stride = stride_of(self.device)
        self.blocks = StencilBlocks(max(size, 1), self.device)
        self.touch = Touch(self.sticky, self.device)
        self.history, self.frozen = FrontHistory(), FrozenBonds()
        for struct, kind in ((self.history, FrontHistory), (self.frozen, FrozenBonds)):
            for name, var in kind.vars.items():
                setattr(struct, name, wp.zeros(max(size, 1), dtype=var.type.dtype, device=self.device))
        self.pressed = wp.zeros(max(size, 1), dtype=int, device=self.device)
        self.next_active = wp.zeros(max(size, 1), dtype=int, device=self.device)
        self.front_step = wp.zeros(model.num_worlds, dtype=wp.float64, device=self.device)
        self.materials = FrontMaterials()
        for name in FrontMaterials.vars:
            values = [getattr(m, name) for m in self.sticky.materials]
            setattr(self.materials, name, wp.array(values or [1.0], dtype=wp.float64, device=self.device))
        self._warned = False
        self._start(model)

    def _start(self, model: Model) -> None:
        """Points in reach at the start are stuck, unloaded; the front is where their neighbours are not."""
        slot, triangles, row = touch_at_start(model, self.sticky)
        work = self.materials.work.numpy()
        slot, triangles, row = (v[work[row] > 0.0] for v in (slot, triangles, row))
        x = start_positions(model)
        all_triangles = np.full((self.num_worlds, self.sticky.per_world, 3), -1, np.int32)
        rows = np.zeros((self.num_worlds, self.sticky.per_world), np.int32)
        place = np.zeros((self.num_worlds, self.sticky.per_world, 3))
        for w in range(self.num_worlds):
            all_triangles[w, slot] = triangles + w * model.points_per_world
        rows[:, slot] = row
        if len(slot):
            place[:, slot] = _coordinates(x[self.sticky.points[slot]], *(x[triangles[:, k]] for k in range(3)))
        if self.size:
            h = self.history
            h.triangle.assign(all_triangles.reshape(-1, 3))
            h.row.assign(rows.reshape(-1))
            h.place.assign(place.reshape(-1, 3))
            launch_gate(self, wp.array(x, dtype=wp.vec3d, device=self.device))
        self._initial = self.get_state()

    # the step -------------------------------------------------------------------------------------------------------
    def launch_begin_step(self, inputs) -> None:
        b = self.blocks
        b.count.zero_()
        wp.launch(
            freeze_kernel,
            self.stride,
            [self.sticky.arrays, self.history, self.materials, self.size, self.stride],
            [self.frozen, b.points, b.weights, b.first_side, b.count],
            device=self.device,
        )

    def launch_derivatives(self, inputs) -> None:
        b = self.blocks
        wp.launch(
            derivatives_kernel,
            self.stride,
            [b.count, b.points, self.frozen, inputs.x, self.stride],
            [b.block, b.gradient],
            device=self.device,
        )

    def launch_value(self, inputs, world_energy) -> None:
        b = self.blocks
        wp.launch(
            value_kernel,
            self.stride,
            [b.count, b.points, self.frozen, inputs.x, self.stride],
            [world_energy],
            device=self.device,
        )

    def launch_end_step(self, system) -> None:
        if self.size == 0:
            return
        self.touch.launch(system)
        launch_advance(self, system)
        launch_gate(self, system.points)

    # history --------------------------------------------------------------------------------------------------------
    def get_state(self) -> dict[str, np.ndarray]:
        return {name: getattr(self.history, name).numpy().copy() for name in FrontHistory.vars}

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        for name in FrontHistory.vars:
            getattr(self.history, name).assign(np.ascontiguousarray(arrays[name]))

    def reset(self, world: int | None = None) -> None:
        n = self.sticky.per_world
        rows = slice(None) if world is None else slice(world * n, (world + 1) * n)
        state = self.get_state()
        for name, values in state.items():
            values[rows] = self._initial[name][rows]
        self.set_state(state)

    # reading --------------------------------------------------------------------------------------------------------
    def stuck_points(self) -> np.ndarray:
        """Global ids of the points that are stuck now, int."""
        return self.sticky.points[self.history.triangle.numpy()[: self.size, 0] >= 0]

    def damage(self) -> np.ndarray:
        """Spent share of the work by sticky point, 0 intact to 1 free [-], (S,) in the order of `sticky.points`."""
        out = wp.zeros(max(self.size, 1), dtype=wp.float64, device=self.device)
        wp.launch(damage_kernel, self.size, [self.sticky.arrays, self.history], [out], device=self.device)
        return out.numpy()[: self.size]

    def spent_work(self) -> np.ndarray:
        """Work dissipated so far [J], (W,)."""
        if self.size == 0:
            return np.zeros(self.num_worlds)
        return self.history.spent.numpy()[: self.size].reshape(self.num_worlds, -1).sum(axis=1)

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


def _coordinates(y: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Host twin of `anchor.anchor_coordinates`, all (n, 3)."""
    e, f, d = b - a, c - a, y - a
    normal = np.cross(e, f)
    square = np.einsum("ij,ij->i", normal, normal)
    q1 = np.einsum("ij,ij->i", normal, np.cross(d, f)) / square
    q2 = np.einsum("ij,ij->i", normal, np.cross(e, d)) / square
    return np.stack([q1, q2, np.einsum("ij,ij->i", d, normal) / np.sqrt(square)], axis=1)
