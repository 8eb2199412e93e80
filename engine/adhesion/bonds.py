"""Releasable bonds as a stencil term: a spring between a sticky point and its anchor, instead of contact of the pair.

Energy  k/2 |u|^2 + G/2 max(0, 1 - 2 z/h)^2,  u the opening, k = kappa_b c, z the height of the point over the
triangle beyond both half-thicknesses, h the same when the bond was made. The second term stops a compressed bond: at
z = 0 it carries 100 kappa, kappa the pair's barrier stiffness. It is finite, so a compressed bond bounds nobody's step.
Made and released at the end of a step only.
See docs/physics/bonds.md.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.adhesion.anchor import (
    anchor_coordinates,
    anchor_gradient,
    anchor_place,
    anchor_weights,
    follow_anchor,
    unit_normal,
)
from engine.adhesion.anchored import AnchoredTerm
from engine.adhesion.sticking import NO_PAIR, material_of
from engine.adhesion.sticky_surface import StickyArrays
from engine.contact.narrow import CandidateArrays
from engine.contact.stencils import Turns
from engine.contact.term import MUTED
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference
from engine.mesh.proximity import point_triangle_distances

wp.set_module_options({"enable_backward": False})

MUTED_SEPARATION = wp.constant(wp.float64(MUTED))
CRUSH = wp.constant(wp.float64(100.0))  # pressure at which a bond is pressed flat, over kappa
INSIDE = wp.constant(wp.float64(-1.0e-9))  # barycentrics of a foot that counts as inside the triangle


@wp.struct
class BondHistory:
    """State by sticky point, (S,)."""

    triangle: wp.array(dtype=wp.vec3i)  # bonded to, global point ids, -1 = free
    place: wp.array(dtype=wp.vec3d)  # anchor over it
    reference: wp.array(dtype=wp.float64)  # distance at which the bond rests [m]
    row: wp.array(dtype=int)  # material
    ready: wp.array(dtype=int)  # may bond: has been away from every surface since its last bond ended
    released: wp.array(dtype=int)  # released by its load in the last step
    spent: wp.array(dtype=wp.float64)  # energy lost by releases so far [J]


@wp.struct
class BondMaterials:
    stiffness: wp.array(dtype=wp.float64)
    break_force: wp.array(dtype=wp.float64)
    strength: wp.array(dtype=wp.float64)  # 0 = break_force rules
    snap: wp.array(dtype=int)
    stick_speed: wp.array(dtype=wp.float64)


@wp.struct
class FrozenTies:
    """Rows as in the stencil blocks."""

    place: wp.array(dtype=wp.vec3d)
    spring: wp.array(dtype=wp.float64)  # [N/m]
    thickness: wp.array(dtype=wp.float64)  # both half-thicknesses [m]
    rest: wp.array(dtype=wp.float64)  # h: height of the anchor beyond them [m]
    guard: wp.array(dtype=wp.float64)  # G [J]
    world: wp.array(dtype=int)


@wp.func
def height(q: wp.vec3d, y: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.float64:
    """Height of y over the triangle's plane on the anchor's side [m]."""
    z = wp.dot(y - a, unit_normal(a, b, c))
    if q[2] < wp.float64(0.0):
        z = -z
    return z


@wp.kernel
def freeze_kernel(
    s: StickyArrays,
    h: BondHistory,
    m: BondMaterials,
    surface_kappa: wp.array(dtype=wp.float64),
    surface_half_thickness: wp.array(dtype=wp.float64),
    size: int,
    stride: int,
    # Out:
    frozen: FrozenTies,
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
            q = h.place[i]
            own = s.point_surface[s.point[i]]
            other = s.point_surface[t[0]]
            thickness = surface_half_thickness[own] + surface_half_thickness[other]
            rest = wp.abs(q[2]) - thickness
            points_out[k] = wp.vec4i(s.point[i], t[0], t[1], t[2])
            weights_out[k] = anchor_weights(q)
            first_side_out[k] = 1
            frozen.place[k] = q
            frozen.spring[k] = m.stiffness[h.row[i]] * s.cell[i]
            frozen.thickness[k] = thickness
            frozen.rest[k] = rest
            kappa = wp.min(surface_kappa[own], surface_kappa[other])
            frozen.guard[k] = CRUSH * kappa * s.area[i] * wp.float64(0.5) * rest
            frozen.world[k] = s.world[i]
        i += stride


@wp.kernel
def derivatives_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    f: FrozenTies,
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    block_out: wp.array(dtype=wp.mat33d),
    turns_out: Turns,
    gradient_out: wp.array2d(dtype=wp.vec3d),
):
    k = wp.tid()
    while k < count[0]:
        p = points[k]
        y = x[p[0]]
        a = x[p[1]]
        b = x[p[2]]
        c = x[p[3]]
        q = f.place[k]
        u = y - anchor_place(q, a, b, c)
        block = wp.identity(n=3, dtype=wp.float64) * f.spring[k]
        z = height(q, y, a, b, c) - f.thickness[k]
        reach = wp.float64(0.5) * f.rest[k]
        push = wp.vec3d()
        foot = wp.vec4d()
        if z < reach:
            n = unit_normal(a, b, c) * wp.sign(q[2])
            stiffness = f.guard[k] / (reach * reach)
            push = n * (stiffness * (z - reach))
            block = block + wp.outer(n, n) * stiffness
            foot = anchor_weights(anchor_coordinates(y, a, b, c))  # dz/dx = n on the point, -weights n on the corners
        block_out[k] = block
        follow_anchor(q, y, a, b, c, k, turns_out)
        for corner in range(4):
            spring = anchor_gradient(u * f.spring[k], q, a, b, c, corner)
            gradient_out[k, corner] = spring + push * foot[corner]
        k += stride


@wp.kernel
def value_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    f: FrozenTies,
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    world_energy_out: wp.array(dtype=wp.float64),
):
    k = wp.tid()
    while k < count[0]:
        p = points[k]
        q = f.place[k]
        u = x[p[0]] - anchor_place(q, x[p[1]], x[p[2]], x[p[3]])
        z = height(q, x[p[0]], x[p[1]], x[p[2]], x[p[3]]) - f.thickness[k]
        e = wp.float64(0.5) * f.spring[k] * wp.dot(u, u)
        reach = wp.float64(0.5) * f.rest[k]
        if z < reach:
            short = wp.float64(1.0) - z / reach
            e += wp.float64(0.5) * f.guard[k] * short * short
        wp.atomic_add(world_energy_out, f.world[k], e)
        k += stride


@wp.kernel
def mute_kernel(
    s: StickyArrays,
    h: BondHistory,
    c: CandidateArrays,
    surface_half_thickness: wp.array(dtype=wp.float64),
    stride: int,
):
    """The pair of a bond is no contact; every other pair of a sticky point is."""
    i = wp.tid()
    while i < c.count[0]:
        if c.kind[i] == 0:
            p = c.points[i]
            slot = s.slot[p[0]]
            if slot >= 0:
                t = h.triangle[slot]
                own = surface_half_thickness[s.point_surface[p[0]]] + surface_half_thickness[s.point_surface[p[1]]]
                if t[0] == p[1] and t[1] == p[2] and t[2] == p[3]:
                    c.min_separation[i] = MUTED_SEPARATION
                elif c.min_separation[i] == MUTED_SEPARATION:
                    c.min_separation[i] = own
        i += stride


@wp.kernel
def release_kernel(s: StickyArrays, m: BondMaterials, x: wp.array(dtype=wp.vec3d), h: BondHistory):
    """Only in tension: the true distance beyond the reference, and the spring's pull beyond what the bond holds."""
    i = wp.tid()
    t = h.triangle[i]
    h.released[i] = 0
    if t[0] >= 0:
        y = x[s.point[i]]
        a = x[t[0]]
        b = x[t[1]]
        c = x[t[2]]
        row = h.row[i]
        w = point_triangle_weights(y, a, b, c)
        distance = wp.length(weighted_difference(w, y, a, b, c))
        spring = m.stiffness[row] * s.cell[i]
        u = wp.length(y - anchor_place(h.place[i], a, b, c))
        holds = m.break_force[row]
        if m.strength[row] > wp.float64(0.0):
            holds = m.strength[row] * s.area[i]
        upright = height(h.place[i], y, a, b, c) > wp.float64(0.0)  # else contact would find it on the wrong side
        if upright and distance > h.reference[i] and spring * u > holds:
            h.triangle[i] = wp.vec3i(-1, -1, -1)
            h.released[i] = 1
            h.ready[i] = 0
            h.spent[i] = h.spent[i] + wp.float64(0.5) * spring * u * u


@wp.kernel
def bond_kernel(
    s: StickyArrays,
    m: BondMaterials,
    candidates: CandidateArrays,
    pair: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    h: BondHistory,
):
    i = wp.tid()
    t = h.triangle[i]
    if t[0] < 0:
        if pair[i] == NO_PAIR:
            if h.released[i] == 0:
                h.ready[i] = 1
        elif h.ready[i] == 1:
            p = candidates.points[pair[i]]
            row = material_of(s, p)
            if row >= 0:
                a = x[p[1]]
                b = x[p[2]]
                c = x[p[3]]
                y = x[p[0]]
                w = point_triangle_weights(y, a, b, c)
                moved = wp.vec3d()
                for k in range(4):
                    moved = moved + (x[p[k]] - x_start[p[k]]) * w[k]
                here = anchor_coordinates(y, a, b, c)
                inside = here[0] >= INSIDE and here[1] >= INSIDE and here[0] + here[1] <= wp.float64(1.0) - INSIDE
                if inside and wp.length(moved) < m.stick_speed[row] * dt:
                    distance = wp.abs(here[2])
                    if m.snap[row] == 1:
                        e = pair[i]
                        distance = candidates.min_separation[e] + wp.float64(0.5) * candidates.dhat[e]
                        here = wp.vec3d(here[0], here[1], wp.sign(here[2]) * distance)
                    h.triangle[i] = wp.vec3i(p[1], p[2], p[3])
                    h.place[i] = here
                    h.reference[i] = distance
                    h.row[i] = row


class Bonds(AnchoredTerm):
    """All releasable bonds of a model."""

    name = "bonds"
    law = "bond"
    History, Frozen, Materials = BondHistory, FrozenTies, BondMaterials
    kernels = freeze_kernel, derivatives_kernel, value_kernel

    def __init__(self, model, parts):
        self.surface_kappa = model.collision.surface_kappa
        self.surface_half_thickness = model.collision.surface_half_thickness
        super().__init__(model, parts)

    def parameter(self, material, name: str):
        value = getattr(material, name)
        return int(value) if name == "snap" else (0.0 if value is None else value)

    def sticks_at_all(self) -> np.ndarray:
        return np.ones(len(self.materials.stiffness), bool)

    def start_bonds(self, x, points, triangles) -> dict[str, np.ndarray]:
        return {"reference": point_triangle_distances(x[points], *(x[triangles[:, k]] for k in range(3)))}

    def after_start(self, x: wp.array) -> None:
        self.history.ready.fill_(1)

    # the step -------------------------------------------------------------------------------------------------------
    def freeze_inputs(self) -> list:
        return [self.surface_kappa, self.surface_half_thickness]

    def launch_mute(self, candidates) -> None:
        wp.launch(
            mute_kernel,
            self.stride,
            [self.sticky.arrays, self.history, candidates, self.surface_half_thickness, self.stride],
            device=self.device,
        )

    def launch_end_step(self, system) -> None:
        if self.size == 0:
            return
        self.touch.launch(system)
        s, m, h, dt = self.sticky.arrays, self.materials, self.history, wp.float64(system.options.dt)
        wp.launch(release_kernel, self.size, [s, m, system.points], [h], device=self.device)
        wp.launch(
            bond_kernel,
            self.size,
            [s, m, system.list, self.touch.pair, system.points, system.points_start, dt],
            [h],
            device=self.device,
        )

    # reading and editing --------------------------------------------------------------------------------------------
    def damage(self) -> np.ndarray:
        return (self.history.triangle.numpy()[: self.size, 0] < 0).astype(float)

    def released_points(self) -> np.ndarray:
        """Global ids of the points that their load released in the last step; never those cleared by hand."""
        return self.sticky.points[self.history.released.numpy()[: self.size] == 1]

    def clear(self, points=None) -> None:
        """Take bonds away between steps: of these points (global ids), or all. No release event; such a point bonds
        again only after it has left the surface."""
        chosen = np.ones(self.size, bool) if points is None else np.isin(self.sticky.points, points)
        state = self.get_state()
        chosen = np.flatnonzero(chosen & (state["triangle"][: self.size, 0] >= 0))
        state["triangle"][chosen] = -1
        state["ready"][chosen] = 0
        state["released"][chosen] = 0
        self.set_state(state)
