"""Releasable bonds: derivatives, when they hold and let go, and the cases from the field about them."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.contact.term import MUTED
from engine.energies.base import StepInputs
from engine.materials import BondAdhesive, FrontAdhesive
from engine.mesh import shapes
from tests.engine.adhesion.adhesion_scenes import CONTACT, GAP, SIZE, move, separation_work, stamp
from tests.engine.adhesion.test_front_cohesion import TAPE
from tests.engine.adhesion.test_front_term import positions
from tests.finite_difference import assert_derivative

CELL = SIZE / 2
FORCE = 50.0
SPRING = 1e6 * CELL  # of one bond of a stamp with two cells a side [N/m]


def bonded(**material) -> Engine:
    return stamp(BondAdhesive(**material), cells=2)


class Probe:
    """One bond with its anchor 2 mm over a tilted triangle."""

    def __init__(self):
        engine = bonded()
        self.term = engine.interfaces[0]
        state = self.term.get_state()
        keep = np.flatnonzero(state["triangle"][:, 0] >= 0)[0]
        state["triangle"][np.arange(len(state["triangle"])) != keep] = -1
        state["place"][keep] = (0.2, 0.3, 2e-3)
        self.term.set_state(state)
        x = wp.zeros(engine.model.num_points, dtype=wp.vec3d)
        self.inputs = StepInputs(x, x, wp.array([0.01], dtype=wp.float64))
        self.term.launch_begin_step(self.inputs)
        self.points = self.term.blocks.points.numpy()[0]

    def value(self, x: np.ndarray) -> float:
        self.derivatives(x)
        energy = wp.zeros(1, dtype=wp.float64)
        self.term.launch_value(self.inputs, energy)
        return float(energy.numpy()[0])

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = self.inputs.x.numpy()
        values[self.points] = x
        self.inputs.x.assign(values)
        self.term.launch_derivatives(self.inputs)
        return self.term.blocks.gradient.numpy()[0].copy(), self.term.blocks.block.numpy()[0].copy()


@pytest.mark.parametrize("height", [1.5, 0.2, -0.4, -0.7])  # over the anchor, in its height: the last two are guarded
def test_gradient_is_that_of_the_value_and_balances(height):
    probe = Probe()
    x = positions((0, 0, 0))
    e, f = x[2] - x[1], x[3] - x[1]
    n = np.cross(e, f) / np.linalg.norm(np.cross(e, f))
    x[0] += height * 2e-3 * n + 3e-4 * e / np.linalg.norm(e)
    gradient, block = probe.derivatives(x)
    assert_derivative(probe.value, x, gradient, scale=1e-4)
    size = np.abs(gradient).max()
    assert np.abs(gradient.sum(axis=0)).max() < 1e-12 * size
    assert np.abs(np.cross(x, gradient).sum(axis=0)).max() < 1e-11 * size * SIZE

    def on_point(y):
        return probe.derivatives(np.vstack([y, x[1:]]))[0][0]

    assert_derivative(on_point, x[0], block, scale=1e-4)
    assert np.linalg.eigvalsh(block).min() > 0.0


def test_it_holds_up_to_its_force_and_takes_its_work():
    engine = bonded(break_force=0.5)
    opening = 0.5 / SPRING
    work = separation_work(engine, (0, 0, 1), 1.05 * opening, 1050)
    assert work == pytest.approx(9 * 0.5 * SPRING * opening**2, rel=0.01)
    assert engine.interfaces[0].spent_work()[0] == pytest.approx(work, rel=0.01)
    assert len(engine.interfaces[0].stuck_points()) == 0


def test_it_holds_below_its_force():
    engine = bonded(break_force=0.5)
    move(engine, (0, 0, 0.98 * 0.5 / SPRING / 0.1), 10)
    assert len(engine.interfaces[0].stuck_points()) == 9
    assert engine.signals().drive_force[0, 0, 2] == pytest.approx(9 * 0.49, rel=1e-3)
    move(engine, (0, 0, 0.04 * 0.5 / SPRING / 0.01), 1)
    assert len(engine.interfaces[0].stuck_points()) == 0
    assert len(engine.interfaces[0].released_points()) == 9
    move(engine, (0, 0, 0), 1)
    assert len(engine.interfaces[0].released_points()) == 0


def test_strength_is_a_force_by_area():
    engine = bonded(strength=1e4)  # 0.9 N inside, half at the sides, less in the corners
    move(engine, (0, 0, 0.5 / SPRING / 0.01), 1)
    stuck = engine.interfaces[0].stuck_points()
    assert 0 < len(stuck) < 9


def test_a_bond_replaces_the_contact_of_its_pair_and_gives_it_back():
    engine, plain = stamp_on_a_triangle(BondAdhesive()), stamp_on_a_triangle(FrontAdhesive(work=0.0))
    engine.step(), plain.step()
    assert engine.report.contacts == 0 and plain.report.contacts == 9
    system = engine.newton.system
    entries = system.list.min_separation.numpy()[: system.candidates.num_candidates]
    assert (entries == MUTED).sum() == 9
    engine.interfaces[0].clear()
    engine.step()
    assert engine.report.contacts == plain.report.contacts
    entries = system.list.min_separation.numpy()[: system.candidates.num_candidates]
    assert (entries == 0.0).all()


def stamp_on_a_triangle(law, more=None, **driven) -> Engine:
    """Nine points over one large triangle, so that each has one pair."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    large = np.array([[-0.1, -0.1, 0.0], [0.2, -0.1, 0.0], [-0.1, 0.2, 0.0]])
    builder.add_static("plate", large, np.array([[0, 1, 2]]), CONTACT)
    vertices, triangles = shapes.box_surface((SIZE, SIZE, 0.004), (2, 2, 1))
    pose = np.eye(4)
    pose[2, 3] = 0.002 + GAP
    builder.add_body("stamp", vertices, triangles, CONTACT, density=1000.0, transform=pose, driven=True, gravity=False,
                     **driven)  # fmt: skip
    builder.add_adhesion("stamp", "positive", "plate", law)
    if more is not None:
        more(builder)
    return Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-4))


# Cases from the field ------------------------------------------------------------------------------------------------
def test_a_compressed_bond_does_not_release_and_nothing_passes_through():
    """Trap 13, first half: pressed with 200 times what it holds in tension."""
    engine = bonded(break_force=1e-3)
    for _ in range(10):
        move(engine, (0, 0, -GAP / 10 / 0.01 * 0.95), 1)
        assert len(engine.interfaces[0].stuck_points()) == 9
    assert engine.mesh_positions("stamp")[:, 2].min() > 0.0
    assert engine.signals().drive_force[0, 0, 2] < -0.2 * 9


def test_a_bond_that_slid_off_its_triangle_releases():
    """Trap 13, second half: measured to the plane, the distance of a point beside the triangle would never grow."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    small = np.array([[-0.0101, -0.0102, 0.0], [0.0103, -0.0101, 0.0], [0.0102, 0.0104, 0.0], [-0.0104, 0.0101, 0.0]])
    builder.add_static("plate", small, np.array([[0, 1, 2], [0, 2, 3]]), CONTACT)
    vertices, triangles = shapes.box_surface((SIZE, SIZE, 0.004), (2, 2, 1))
    pose = np.eye(4)
    pose[2, 3] = 0.002 + GAP
    builder.add_body("stamp", vertices, triangles, CONTACT, density=1000.0, transform=pose, driven=True, gravity=False)
    builder.add_adhesion("stamp", "positive", "plate", BondAdhesive(stiffness=1e4))
    engine = Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-5))
    assert len(engine.interfaces[0].stuck_points()) == 9
    move(engine, (0.2, 0.0, 0.0), 10)  # 20 mm to the side, at the same height
    assert len(engine.interfaces[0].stuck_points()) <= 3
    assert len(engine.interfaces[0].stuck_points()) == 0 or engine.mesh_positions("stamp")[:, 2].min() > 0.0


def test_a_released_bond_does_not_form_again_where_it_let_go():
    """Trap 14: only after the point has been away from the surface."""
    engine = bonded(break_force=0.05)
    opening = 0.05 / SPRING  # 5 um: the point stays within dhat when it lets go
    for _ in range(6):
        move(engine, (0, 0, 1.1 * opening / 0.01), 1)
        assert len(engine.interfaces[0].stuck_points()) == 0
        assert engine.report.contacts > 0 or engine.mesh_positions("stamp")[:, 2].min() > 0.18e-3
        move(engine, (0, 0, 0), 1)
        assert len(engine.interfaces[0].stuck_points()) == 0
        move(engine, (0, 0, -1.1 * opening / 0.01), 1)
        assert len(engine.interfaces[0].stuck_points()) == 0
    move(engine, (0, 0, 0.01), 1)  # 0.1 mm away: out of contact
    move(engine, (0, 0, -0.01), 1)
    assert len(engine.interfaces[0].stuck_points()) == 9


def test_a_compressed_bond_does_not_bound_the_step_of_others():
    """Trap 16: a flying sheet keeps its whole step while a bonded stamp is squeezed elsewhere in its world."""

    def sheet(builder):
        vertices, t = shapes.grid_mesh(SIZE, SIZE, 3, 3)
        velocity = np.tile([1.0, 0, 0], (len(vertices), 1))
        builder.add_shell("sheet", vertices + (0, 0, 0.1), t, TAPE, ContactMaterial(), velocity=velocity)

    bounds = {}
    for law in (BondAdhesive(), FrontAdhesive(work=0.0)):
        engine = stamp_on_a_triangle(law, sheet, force_limit=FORCE)
        start = engine.mesh_positions("sheet")[:, 0].mean()
        bounds[law.law] = []
        for _ in range(8):
            control = engine.control()
            control.body_transform[0, 0, 2, 3] = 0.001  # through the plate, as hard as it may
            engine.step(control)
            bounds[law.law].append(engine.report.step_bound)
            assert engine.report.converged
        assert engine.mesh_positions("sheet")[:, 0].mean() - start == pytest.approx(0.08, rel=1e-6)
        assert engine.mesh_positions("stamp")[:, 2].min() > 0.0
    assert min(bounds["bond"]) == 1.0 > min(bounds["front"])


def test_clearing_by_hand_is_no_release_and_reset_restores_all():
    """Trap 17."""
    engine = stamp(BondAdhesive(), cells=2, worlds=2)
    term, before = engine.interfaces[0], engine.get_state()
    term.clear(term.sticky.points[:4])
    assert len(term.stuck_points()) == 14
    for _ in range(3):
        engine.step()
        assert len(term.released_points()) == 0
        assert len(term.stuck_points()) == 14  # not made again in place
    assert term.spent_work().sum() == 0.0
    engine.reset(world=0)
    assert len(term.stuck_points()) == 18
    engine.reset()
    for name, values in before.items():
        assert np.array_equal(engine.get_state()[name], values), name


def test_resume_is_bit_for_bit():
    engine, other = (bonded(strength=1e4) for _ in range(2))
    move(engine, (1e-3, 0, 5e-3), 3)
    other.set_state(engine.get_state())
    first, second = move(engine, (0, 0, 5e-3), 5), move(other, (0, 0, 5e-3), 5)
    assert np.array_equal(first, second)
    for name, values in engine.get_state().items():
        assert np.array_equal(other.get_state()[name], values), name


def test_snapping_rests_the_bond_inside_the_band():
    engine = stamp(BondAdhesive(snap=True), cells=2, gap=GAP + 1e-3)
    move(engine, (0, 0, -0.1), 1)
    move(engine, (0, 0, 0), 1)
    assert len(engine.interfaces[0].stuck_points()) == 9
    assert engine.interfaces[0].history.reference.numpy()[:9] == pytest.approx(0.09e-3)
    move(engine, (0, 0, 0), 1)
    assert engine.signals().drive_force[0, 0, 2] > 0.1  # pulled in


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="BondAdhesive.strength is 0; it must be greater than 0"):
        BondAdhesive(strength=0)
