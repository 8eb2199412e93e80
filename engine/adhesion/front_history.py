"""How the front law's history advances at the end of a step: damage, sticking and healing, then who is at the front.

Order: every point alone (advance), then the front by neighbours (gate), which reads what all have become. Energy never
appears: what a change of anchor or shape loses is booked as spent, and handovers never gain.
"""

from __future__ import annotations

import warp as wp

from engine.adhesion.anchor import anchor_coordinates, anchor_place
from engine.adhesion.front_law import (
    front_corners,
    front_peak,
    front_rate_factor,
    front_reached,
    front_secant,
    front_spent,
)
from engine.adhesion.sticking import BESIDE, NO_PAIR, material_of
from engine.adhesion.sticky_surface import StickyArrays
from engine.contact.narrow import CandidateArrays
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})

OPENS = wp.constant(wp.float64(0.1))  # opening of an active neighbour, over the cell, that opens a point
CLOSES = wp.constant(wp.float64(0.08))  # opening below which a pressed point away from the front is stiff again
HEALS = wp.constant(wp.float64(0.01))  # spent share above which a pressed point sticks anew: healing every slightly
# loaded point would be creep


@wp.struct
class FrontHistory:
    """State by sticky point, (S,)."""

    triangle: wp.array(dtype=wp.vec3i)  # where it stuck, global point ids, -1 = free
    place: wp.array(dtype=wp.vec3d)  # anchor over the triangle, see engine.adhesion.anchor
    reached: wp.array(dtype=wp.float64)  # largest opening so far [m]
    active: wp.array(dtype=int)  # at the front
    row: wp.array(dtype=int)  # material
    spent: wp.array(dtype=wp.float64)  # work dissipated so far, over all bonds of the point [J]
    speed: wp.array(dtype=wp.float64)  # smoothed opening speed, for the rate option [m/s]


@wp.struct
class FrontMaterials:
    work: wp.array(dtype=wp.float64)
    rate_exponent: wp.array(dtype=wp.float64)
    rate_speed: wp.array(dtype=wp.float64)
    stick_speed: wp.array(dtype=wp.float64)


@wp.func
def handed_over(
    h: FrontHistory,
    i: int,
    y: wp.vec3d,
    a: wp.vec3d,
    b: wp.vec3d,
    c: wp.vec3d,
    area: wp.float64,
    stored: wp.float64,
    reached: wp.float64,
    peak: wp.float64,
    corners: wp.vec3d,
):
    """Point at y gets the history `reached` of a new shape; its anchor moves along the opening so that the stored
    energy [J/m2] is kept, or what cannot be kept is spent."""
    place = anchor_place(h.place[i], a, b, c)
    u = y - place
    length = wp.length(u)
    k = front_secant(reached, peak, corners)
    opening = wp.min(wp.sqrt(wp.float64(2.0) * stored / k), wp.max(reached, corners[0]))
    if length > wp.float64(0.0):
        h.place[i] = anchor_coordinates(y - u * (opening / length), a, b, c)
    lost = stored - wp.float64(0.5) * k * opening * opening
    h.spent[i] = h.spent[i] + area * wp.max(lost, wp.float64(0.0))
    h.reached[i] = reached


@wp.kernel
def advance_kernel(
    s: StickyArrays,
    m: FrontMaterials,
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    # In and out:
    h: FrontHistory,
    world_front_step: wp.array(dtype=wp.float64),
):
    """Damage by the opening reached, freedom at its end, and the smoothed rate."""
    i = wp.tid()
    t = h.triangle[i]
    if t[0] >= 0:
        a = x[t[0]]
        b = x[t[1]]
        c = x[t[2]]
        y = x[s.point[i]]
        u = y - anchor_place(h.place[i], a, b, c)
        before = x_start[s.point[i]] - anchor_place(h.place[i], x_start[t[0]], x_start[t[1]], x_start[t[2]])
        length = wp.length(u)
        row = h.row[i]
        corners = front_corners(h.active[i], s.cell[i])
        factor = front_rate_factor(h.speed[i], m.rate_exponent[row], m.rate_speed[row])
        peak = front_peak(m.work[row] * factor, corners)
        old = h.reached[i]
        reached = wp.max(old, length)
        h.spent[i] = h.spent[i] + s.area[i] * (front_spent(reached, peak, corners) - front_spent(old, peak, corners))
        h.reached[i] = reached
        if h.active[i] == 1:
            wp.atomic_max(world_front_step, s.world[i], (reached - old) / s.cell[i])
        if reached >= corners[2]:
            h.triangle[i] = wp.vec3i(-1, -1, -1)
            h.reached[i] = wp.float64(0.0)
            h.active[i] = 0
            h.speed[i] = wp.float64(0.0)
        elif m.rate_exponent[row] > wp.float64(0.0):
            moved = wp.length(u - before)
            share = moved / (moved + s.cell[i])
            h.speed[i] = h.speed[i] + share * (moved / dt - h.speed[i])
            stored = wp.float64(0.5) * front_secant(reached, peak, corners) * length * length
            factor = front_rate_factor(h.speed[i], m.rate_exponent[row], m.rate_speed[row])
            peak = front_peak(m.work[row] * factor, corners)
            handed_over(h, i, y, a, b, c, s.area[i], stored, reached, peak, corners)


@wp.kernel
def stick_kernel(
    s: StickyArrays,
    m: FrontMaterials,
    candidates: CandidateArrays,
    pair: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    # In and out:
    h: FrontHistory,
    pressed_out: wp.array(dtype=int),
):
    """A slow point in contact sticks when it is free, and anew when it is damaged."""
    i = wp.tid()
    pressed_out[i] = 0
    if pair[i] != NO_PAIR:
        p = candidates.points[pair[i]]
        row = material_of(s, p)
        if row >= 0:
            w = point_triangle_weights(x[p[0]], x[p[1]], x[p[2]], x[p[3]])
            moved = wp.vec3d()
            for k in range(4):
                moved = moved + (x[p[k]] - x_start[p[k]]) * w[k]
            distance = wp.length(weighted_difference(w, x[p[0]], x[p[1]], x[p[2]], x[p[3]]))
            place = anchor_coordinates(x[p[0]], x[p[1]], x[p[2]], x[p[3]])
            above = wp.abs(place[2]) > BESIDE * distance
            if m.work[row] > wp.float64(0.0) and above and wp.length(moved) < m.stick_speed[row] * dt:
                pressed_out[i] = 1
                t = h.triangle[i]
                sticks = t[0] < 0
                if not sticks:
                    corners = front_corners(h.active[i], s.cell[i])
                    own = h.row[i]
                    factor = front_rate_factor(h.speed[i], m.rate_exponent[own], m.rate_speed[own])
                    peak = front_peak(m.work[own] * factor, corners)
                    u = wp.length(x[p[0]] - anchor_place(h.place[i], x[t[0]], x[t[1]], x[t[2]]))
                    sticks = front_spent(h.reached[i], peak, corners) > HEALS * m.work[own] * factor
                    if sticks:
                        lost = wp.float64(0.5) * front_secant(h.reached[i], peak, corners) * u * u
                        h.spent[i] = h.spent[i] + s.area[i] * lost
                    elif h.reached[i] <= corners[0]:
                        h.reached[i] = u  # no damage yet: only the present opening counts for the front
                if sticks:
                    h.triangle[i] = wp.vec3i(p[1], p[2], p[3])
                    h.place[i] = place
                    h.reached[i] = wp.float64(0.0)
                    h.active[i] = 0
                    h.row[i] = row
                    h.speed[i] = wp.float64(0.0)


@wp.kernel
def gate_kernel(
    s: StickyArrays,
    h: FrontHistory,
    x: wp.array(dtype=wp.vec3d),
    pressed: wp.array(dtype=int),
    next_active_out: wp.array(dtype=int),
):
    """A point is at the front when a mesh neighbour is free, or at the front and open by OPENS."""
    i = wp.tid()
    t = h.triangle[i]
    active = h.active[i]
    if t[0] >= 0:
        opened = int(0)
        for k in range(s.neighbour_offset[i], s.neighbour_offset[i + 1]):
            j = s.neighbour[k]
            if h.triangle[j][0] < 0 or (h.active[j] == 1 and h.reached[j] > OPENS * s.cell[j]):
                opened = 1
        if opened == 1:
            active = 1
        elif active == 1 and pressed[i] == 1:
            u = wp.length(x[s.point[i]] - anchor_place(h.place[i], x[t[0]], x[t[1]], x[t[2]]))
            if u <= CLOSES * s.cell[i] and h.reached[i] <= CLOSES * s.cell[i]:
                active = 0
    next_active_out[i] = active


@wp.kernel
def switch_kernel(
    s: StickyArrays,
    m: FrontMaterials,
    x: wp.array(dtype=wp.vec3d),
    next_active: wp.array(dtype=int),
    h: FrontHistory,
):
    """Change of shape, damage and stored energy kept."""
    i = wp.tid()
    t = h.triangle[i]
    if t[0] >= 0 and next_active[i] != h.active[i]:
        a = x[t[0]]
        b = x[t[1]]
        c = x[t[2]]
        y = x[s.point[i]]
        row = h.row[i]
        work = m.work[row] * front_rate_factor(h.speed[i], m.rate_exponent[row], m.rate_speed[row])
        old = front_corners(h.active[i], s.cell[i])
        new = front_corners(next_active[i], s.cell[i])
        old_peak = front_peak(work, old)
        new_peak = front_peak(work, new)
        u = wp.length(y - anchor_place(h.place[i], a, b, c))
        stored = wp.float64(0.5) * front_secant(h.reached[i], old_peak, old) * u * u
        reached = front_reached(front_spent(h.reached[i], old_peak, old), new_peak, new)
        h.active[i] = next_active[i]
        handed_over(h, i, y, a, b, c, s.area[i], stored, reached, new_peak, new)


def launch_advance(term, system) -> None:
    """Each point alone, at system.points; `term` is a FrontCohesion."""
    s, m, h, dt = term.sticky.arrays, term.materials, term.history, wp.float64(system.options.dt)
    x, x_start = system.points, system.points_start
    term.front_step.zero_()
    wp.launch(advance_kernel, term.size, [s, m, x, x_start, dt], [h, term.front_step], device=term.device)
    wp.launch(
        stick_kernel,
        term.size,
        [s, m, system.list, term.touch.pair, x, x_start, dt],
        [h, term.pressed],
        device=term.device,
    )


def launch_gate(term, x) -> None:
    """The front by neighbours, at the points x."""
    s, m, h = term.sticky.arrays, term.materials, term.history
    wp.launch(gate_kernel, term.size, [s, h, x, term.pressed], [term.next_active], device=term.device)
    wp.launch(switch_kernel, term.size, [s, m, x, term.next_active], [h], device=term.device)
