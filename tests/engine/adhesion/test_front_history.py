"""The end of a step under the front law: handovers keep damage and energy, tape that is laid on stiffens."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.adhesion.front_history import launch_gate
from engine.energies.base import StepInputs
from engine.materials import FrontAdhesive
from engine.mesh import shapes
from tests.engine.adhesion.adhesion_scenes import CONTACT, GAP, SIZE, WORK, move, plate, stamp
from tests.engine.adhesion.test_front_cohesion import TAPE

CELL = SIZE / 2


def stored(engine: Engine, x: wp.array) -> float:
    """Energy of the bonds as they are now [J]."""
    term = engine.interfaces[0]
    inputs = StepInputs(x, x, wp.array([0.01], dtype=wp.float64))
    energy = wp.zeros(1, dtype=wp.float64)
    term.launch_begin_step(inputs)
    term.launch_value(inputs, energy)
    return float(energy.numpy()[0])


def lifted(engine: Engine, by) -> wp.array:
    x = engine.newton.system.points.numpy().copy()
    stamp_points = engine.model.meshes["stamp"].points
    x[stamp_points] += by
    return wp.array(x, dtype=wp.vec3d)


@pytest.mark.parametrize("opening", [0.003, 0.3, 1.9, 3.0])  # in cells
@pytest.mark.parametrize("active", [0, 1])
def test_a_change_of_shape_keeps_damage_and_energy(opening, active):
    """From behind the front to the front when a neighbour is free, and back (pressed, without free neighbours)."""
    if active == 1:
        opening *= 0.02  # what may go back is hardly open
    engine = stamp(cells=2)
    term = engine.interfaces[0]
    x = lifted(engine, opening * CELL * np.array([0.6, 0.0, 0.8]))
    state = term.get_state()
    centre = int(np.argmax(term.sticky.arrays.area.numpy()))
    if active == 0:
        state["triangle"][:] = np.where(np.arange(9)[:, None] == centre, state["triangle"], -1)
    state["active"][:], state["reached"][:], state["spent"][:] = active, opening * CELL, 0.0
    term.set_state(state)
    term.pressed.fill_(1)
    before, damage = stored(engine, x), term.damage()[centre]
    launch_gate(term, x)
    after = term.get_state()
    assert after["active"][centre] == 1 - active
    assert term.damage()[centre] == pytest.approx(damage, abs=1e-12)
    assert before > 0.0 and (damage > 0.0 or opening < 0.1)
    assert stored(engine, x) + after["spent"].sum() == pytest.approx(before, rel=1e-9)
    assert (after["spent"] >= 0.0).all()
    if opening < 1.0 and active == 0:
        assert after["spent"].sum() < 1e-9 * before  # all of it could be kept


def test_pressed_and_away_from_the_front_a_point_is_stiff_again():
    engine = stamp(cells=2)
    term = engine.interfaces[0]
    state = term.get_state()
    state["active"][:], state["reached"][:] = 1, 0.5 * CELL  # open once, without damage, and laid back
    term.set_state(state)
    move(engine, (0, 0, -1e-3), 1)
    assert (term.history.active.numpy()[:9] == 0).all()
    state = term.get_state()
    corner = int(np.argmin(term.sticky.arrays.area.numpy()))
    state["triangle"][corner], state["active"][:] = -1, 1
    term.set_state(state)
    term.pressed.fill_(1)
    launch_gate(term, engine.newton.system.points)
    first, last = term.sticky.arrays.neighbour_offset.numpy()[corner : corner + 2]
    near = term.sticky.arrays.neighbour.numpy()[first:last]
    active = term.history.active.numpy()[:9]
    assert (active[near] == 1).all() and active.sum() == len(near) + 1


def falling(side: str) -> Engine:
    """Nothing is stuck at the start; a sheet comes to rest on a plate."""
    builder = ModelBuilder()
    plate(builder)
    vertices, triangles = shapes.grid_mesh(SIZE, SIZE, 3, 3)
    builder.add_shell("sheet", vertices + (0, 0, GAP), triangles, TAPE, CONTACT)
    builder.add_adhesion("sheet", side, "plate", FrontAdhesive(work=WORK), stuck=False)
    return Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-4))


@pytest.mark.parametrize(("side", "number"), [("negative", 16), ("positive", 0), ("both", 16)])
def test_the_sticky_side_counts_while_it_runs(side, number):
    engine = falling(side)
    assert len(engine.interfaces[0].stuck_points()) == 0
    for _ in range(5):
        engine.step()
    assert engine.report.contacts > 0
    assert len(engine.interfaces[0].stuck_points()) == number


@pytest.mark.parametrize("order", [("plate", "liner"), ("liner", "plate")])
def test_the_nearest_surface_counts_while_it_runs(order):
    """Plates with a large dhat: both are in contact with the sheet."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    touch = ContactMaterial(dhat=0.5e-3)
    corners = np.array([[-0.1, -0.1, 0.0], [0.1, -0.1, 0.0], [0.1, 0.1, 0.0], [-0.1, 0.1, 0.0]]) + (0.0013, 0.0017, 0)
    for name in order:
        z = 0.0 if name == "plate" else 0.1e-3
        builder.add_static(name, corners + (0, 0, z), np.array([[0, 1, 2], [0, 2, 3]]), touch)
    vertices, triangles = shapes.box_surface((SIZE, SIZE, 0.004), (2, 2, 1))
    pose = np.eye(4)
    pose[2, 3] = 0.002 + 0.3e-3
    builder.add_body("stamp", vertices, triangles, touch, density=1000.0, transform=pose, driven=True, gravity=False)
    builder.add_adhesion("stamp", "positive", "plate", FrontAdhesive(), stuck=False)
    builder.add_adhesion("stamp", "positive", "liner", FrontAdhesive(work=0.0), stuck=False)
    engine = Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-4))
    for _ in range(3):
        engine.step()
    assert engine.report.contacts >= 18  # both plates
    assert len(engine.interfaces[0].stuck_points()) == 0
