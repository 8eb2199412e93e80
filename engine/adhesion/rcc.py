"""Cohesion by the law of Raous, Cangemi & Cocou as a stencil term; see docs/physics/cohesion_rcc.md."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.adhesion.anchor import (
    anchor_coordinates,
    anchor_gradient_turning,
    anchor_place,
    anchor_weights,
    follow_anchor,
    unit_normal,
)
from engine.adhesion.anchored import AnchoredTerm
from engine.adhesion.rcc_law import rcc_block, rcc_bonded, rcc_gradient, rcc_strain, rcc_turn, rcc_weakened
from engine.adhesion.sticking import BESIDE, NO_PAIR, material_of
from engine.adhesion.sticky_surface import StickyArrays
from engine.contact.barrier import barrier_gradient
from engine.contact.narrow import CandidateArrays
from engine.contact.stencils import Turns
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})

FADED = wp.constant(wp.float64(0.01))  # beta at which a point is free: all but half a percent of W is spent by then


@wp.struct
class RccHistory:
    """State by sticky point, (S,)."""

    triangle: wp.array(dtype=wp.vec3i)  # global point ids, -1 = free
    place: wp.array(dtype=wp.vec3d)  # anchor over it
    beta: wp.array(dtype=wp.float64)  # intensity of adhesion [-]
    row: wp.array(dtype=int)  # material
    spent: wp.array(dtype=wp.float64)  # work dissipated so far [J]


@wp.struct
class RccMaterials:
    work: wp.array(dtype=wp.float64)
    stiffness_normal: wp.array(dtype=wp.float64)
    stiffness_tangential: wp.array(dtype=wp.float64)
    viscosity: wp.array(dtype=wp.float64)
    bonding_rate: wp.array(dtype=wp.float64)
    bonding_pressure: wp.array(dtype=wp.float64)
    stick_speed: wp.array(dtype=wp.float64)
    paper: wp.array(dtype=int)  # scaling by pair, and cut off at dhat


@wp.struct
class FrozenRcc:
    """Rows as in the stencil blocks."""

    place: wp.array(dtype=wp.vec3d)
    stiffness_normal: wp.array(dtype=wp.float64)  # beta^2 C_n times the measure [N/m]
    stiffness_tangential: wp.array(dtype=wp.float64)
    world: wp.array(dtype=int)


@wp.func
def measure(s: StickyArrays, m: RccMaterials, i: int, row: int, dhat: wp.float64) -> wp.float64:
    """From the law's energy to joules: the point's area, or 1/(2 dhat) in paper scaling."""
    scale = s.area[i]
    if m.paper[row] == 1:
        scale = wp.float64(0.5) / dhat
    return scale


@wp.func
def pair_dhat(s: StickyArrays, surface_dhat: wp.array(dtype=wp.float64), point: int, other: int) -> wp.float64:
    return wp.min(surface_dhat[s.point_surface[point]], surface_dhat[s.point_surface[other]])


@wp.func
def sided_normal(q: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.vec3d:
    """Unit normal of the triangle on the side of the anchor."""
    n = unit_normal(a, b, c)
    if q[2] < wp.float64(0.0):
        n = -n
    return n


@wp.kernel
def freeze_kernel(
    s: StickyArrays,
    h: RccHistory,
    m: RccMaterials,
    surface_dhat: wp.array(dtype=wp.float64),
    size: int,
    stride: int,
    # Out:
    frozen: FrozenRcc,
    points_out: wp.array(dtype=wp.vec4i),
    weights_out: wp.array(dtype=wp.vec4d),
    first_side_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
):
    i = wp.tid()
    while i < size:
        t = h.triangle[i]
        if t[0] >= 0 and h.beta[i] > wp.float64(0.0):
            k = wp.atomic_add(count_out, 0, 1)
            row = h.row[i]
            scale = measure(s, m, i, row, pair_dhat(s, surface_dhat, s.point[i], t[0])) * h.beta[i] * h.beta[i]
            points_out[k] = wp.vec4i(s.point[i], t[0], t[1], t[2])
            weights_out[k] = anchor_weights(h.place[i])
            first_side_out[k] = 1
            frozen.place[k] = h.place[i]
            frozen.stiffness_normal[k] = scale * m.stiffness_normal[row]
            frozen.stiffness_tangential[k] = scale * m.stiffness_tangential[row]
            frozen.world[k] = s.world[i]
        i += stride


@wp.kernel
def derivatives_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    f: FrozenRcc,
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    block_out: wp.array(dtype=wp.mat33d),
    turns_out: Turns,
    gradient_out: wp.array2d(dtype=wp.vec3d),
):
    k = wp.tid()
    while k < count[0]:
        p = points[k]
        a = x[p[1]]
        b = x[p[2]]
        c = x[p[3]]
        q = f.place[k]
        u = x[p[0]] - anchor_place(q, a, b, c)
        n = sided_normal(q, a, b, c)
        sign = wp.sign(wp.dot(n, unit_normal(a, b, c)))
        g = rcc_gradient(u, n, f.stiffness_normal[k], f.stiffness_tangential[k])
        turn = rcc_turn(u, n, f.stiffness_normal[k], f.stiffness_tangential[k]) * sign
        block_out[k] = rcc_block(u, n, f.stiffness_normal[k], f.stiffness_tangential[k])
        follow_anchor(q, x[p[0]], a, b, c, k, turns_out)
        for corner in range(4):
            gradient_out[k, corner] = anchor_gradient_turning(g, turn, q, a, b, c, corner)
        k += stride


@wp.kernel
def value_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    f: FrozenRcc,
    x: wp.array(dtype=wp.vec3d),
    stride: int,
    world_energy_out: wp.array(dtype=wp.float64),
):
    k = wp.tid()
    while k < count[0]:
        p = points[k]
        q = f.place[k]
        u = x[p[0]] - anchor_place(q, x[p[1]], x[p[2]], x[p[3]])
        n = sided_normal(q, x[p[1]], x[p[2]], x[p[3]])
        strain = rcc_strain(u, n, f.stiffness_normal[k], f.stiffness_tangential[k])
        wp.atomic_add(world_energy_out, f.world[k], wp.float64(0.5) * strain)
        k += stride


@wp.kernel
def weaken_kernel(
    s: StickyArrays,
    m: RccMaterials,
    surface_dhat: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    h: RccHistory,
):
    i = wp.tid()
    t = h.triangle[i]
    if t[0] >= 0:
        row = h.row[i]
        q = h.place[i]
        u = x[s.point[i]] - anchor_place(q, x[t[0]], x[t[1]], x[t[2]])
        n = sided_normal(q, x[t[0]], x[t[1]], x[t[2]])
        dhat = pair_dhat(s, surface_dhat, s.point[i], t[0])
        half = wp.float64(0.5) * measure(s, m, i, row, dhat)
        strain = rcc_strain(u, n, m.stiffness_normal[row], m.stiffness_tangential[row])
        old = h.beta[i]
        beta = rcc_weakened(old, strain, m.work[row], m.viscosity[row], dt)
        free = beta < FADED and beta < old
        if m.paper[row] == 1 and wp.length(u) > dhat:
            free = True
        if free:
            beta = wp.float64(0.0)
            h.triangle[i] = wp.vec3i(-1, -1, -1)
        h.beta[i] = beta
        h.spent[i] = h.spent[i] + half * (old * old - beta * beta) * strain


@wp.kernel
def bond_kernel(
    s: StickyArrays,
    m: RccMaterials,
    candidates: CandidateArrays,
    pair: wp.array(dtype=int),
    surface_kappa: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    h: RccHistory,
):
    """In contact beta grows; the anchor follows, so that the stored energy does not."""
    i = wp.tid()
    if pair[i] != NO_PAIR:
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
            distance = wp.length(weighted_difference(w, y, a, b, c))
            here = anchor_coordinates(y, a, b, c)
            slow = wp.length(moved) < m.stick_speed[row] * dt
            if m.work[row] > wp.float64(0.0) and slow and wp.abs(here[2]) > BESIDE * distance:
                target = wp.float64(1.0)
                if m.bonding_pressure[row] > wp.float64(0.0):
                    e = pair[i]
                    dhat = candidates.dhat[e]
                    kappa = wp.min(surface_kappa[s.point_surface[p[0]]], surface_kappa[s.point_surface[p[1]]])
                    pressure = -kappa * dhat * barrier_gradient(distance - candidates.min_separation[e], dhat)
                    target = wp.min(wp.float64(1.0), pressure / m.bonding_pressure[row])
                t = h.triangle[i]
                old = h.beta[i]
                if t[0] < 0:
                    old = wp.float64(0.0)
                    h.triangle[i] = wp.vec3i(p[1], p[2], p[3])
                    h.place[i] = here
                    h.row[i] = row
                beta = rcc_bonded(old, target, m.bonding_rate[row], dt)
                if t[0] >= 0 and beta > old:
                    place = anchor_place(h.place[i], x[t[0]], x[t[1]], x[t[2]])
                    place = y - (y - place) * (old / beta)
                    h.place[i] = anchor_coordinates(place, x[t[0]], x[t[1]], x[t[2]])
                h.beta[i] = beta


class RccCohesion(AnchoredTerm):
    """All `cohesion: rcc` interfaces of a model."""

    name = "cohesion_rcc"
    law = "rcc"
    History, Frozen, Materials = RccHistory, FrozenRcc, RccMaterials
    kernels = freeze_kernel, derivatives_kernel, value_kernel

    def __init__(self, model, parts):
        self.surface_dhat, self.surface_kappa = model.collision.surface_dhat, model.collision.surface_kappa
        super().__init__(model, parts)

    def parameter(self, material, name: str):
        return int(material.scaling == "paper") if name == "paper" else getattr(material, name)

    def start_bonds(self, x, points, triangles) -> dict[str, np.ndarray]:
        return {"beta": np.ones(len(points))}

    def freeze_inputs(self) -> list:
        return [self.surface_dhat]

    def launch_end_step(self, system) -> None:
        if self.size == 0:
            return
        self.touch.launch(system)
        s, m, h, dt = self.sticky.arrays, self.materials, self.history, wp.float64(system.options.dt)
        x = system.points
        wp.launch(weaken_kernel, self.size, [s, m, self.surface_dhat, x, dt], [h], device=self.device)
        wp.launch(
            bond_kernel,
            self.size,
            [s, m, system.list, self.touch.pair, self.surface_kappa, x, system.points_start, dt],
            [h],
            device=self.device,
        )

    def damage(self) -> np.ndarray:
        return 1.0 - self.history.beta.numpy()[: self.size]
