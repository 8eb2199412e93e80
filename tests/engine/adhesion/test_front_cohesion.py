"""Front cohesion in the engine: work of separation, sticking rules, healing, state, worlds."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.adhesion.front import peel_tolerance
from engine.materials import FrontAdhesive
from engine.mesh import shapes
from tests.engine.adhesion.adhesion_scenes import CONTACT, GAP, SIZE, WORK, move, plate, separation_work, stamp

TAPE = ShellMaterial(young=1e8, poisson=0.45, thickness=0.178e-3, density=1300.0)


@pytest.mark.parametrize("cells", [1, 3, 6, 12])  # 19, 6.3, 3.2 and 1.6 mm
def test_flat_patch_takes_its_work_of_separation(cells):
    engine = stamp(cells=cells)
    term = engine.interfaces[0]
    assert len(term.stuck_points()) == (cells + 1) ** 2
    work = separation_work(engine, (0, 0, 1), 4.4 * SIZE / cells, 400)
    assert work == pytest.approx(WORK * SIZE**2, rel=0.01)
    assert term.spent_work()[0] == pytest.approx(WORK * SIZE**2, rel=1e-9)
    assert len(term.stuck_points()) == 0 and (term.damage() == 1.0).all()


def test_sliding_off_takes_the_same_work():
    engine = stamp(cells=3, gap=0.2e-3)  # in reach of the bond, out of contact's: pressed, it would heal as it slides
    assert separation_work(engine, (0.6, 0.8, 0), 0.03, 400) == pytest.approx(WORK * SIZE**2, rel=0.01)


def test_pressed_again_it_takes_the_same_work_again():
    engine = stamp(cells=3)
    first = separation_work(engine, (0, 0, 1), 0.03, 200)
    spent = engine.interfaces[0].spent_work()[0]
    move(engine, (0, 0, -0.15), 20)  # fast: it touches only when it has stopped
    assert len(engine.interfaces[0].stuck_points()) == 0
    move(engine, (0, 0, -0.002), 1)
    assert len(engine.interfaces[0].stuck_points()) == 16
    again = separation_work(engine, (0, 0, 1), 0.03, 200)
    assert again == pytest.approx(first, rel=0.01)
    assert engine.interfaces[0].spent_work()[0] == pytest.approx(2 * spent, rel=1e-6)


def test_half_opened_and_pressed_it_heals_and_loses_nothing():
    engine = stamp(cells=3)
    move(engine, (0, 0, 0.3), 5)  # 15 mm, beyond 2 c
    assert 0.1 < engine.interfaces[0].damage().min() < 1.0
    move(engine, (0, 0, -0.3), 5)
    move(engine, (0, 0, -0.001), 2)
    assert engine.interfaces[0].damage().max() == 0.0
    assert separation_work(engine, (0, 0, 1), 0.03, 200) == pytest.approx(WORK * SIZE**2, rel=0.01)


def test_unloading_follows_the_secant_and_gives_no_work_back_twice():
    engine = stamp(cells=3)
    out = move(engine, (0, 0, 0.05), 10)[:, 0]
    back = move(engine, (0, 0, -0.05), 9)[:, 0]
    assert out.sum() > -back.sum() > 0.0  # some of it was stored
    spent = engine.interfaces[0].spent_work()[0]
    move(engine, (0, 0, 0.05), 8)
    assert engine.interfaces[0].spent_work()[0] == spent  # below the opening reached nothing is spent


def test_work_grows_with_speed():
    works = []
    for steps in (400, 40):
        engine = stamp(FrontAdhesive(work=WORK, rate_exponent=0.3, rate_speed=0.02), cells=3)
        separation_work(engine, (0, 0, 1), 0.04, steps)
        works.append(engine.interfaces[0].spent_work()[0] / (WORK * SIZE**2))
    assert 1.0 < works[0] < works[1] < 3.0


def test_the_smoothed_speed_tends_to_the_speed():
    engine = stamp(FrontAdhesive(work=WORK, rate_exponent=0.3, rate_speed=0.02), cells=1)
    move(engine, (0, 0, 0.1), 40)
    speed = engine.interfaces[0].history.speed.numpy()[:4]
    assert (speed > 0.08).all() and (speed <= 0.1 * (1 + 1e-9)).all()


def test_dissipation_never_falls(seed: int = 5):
    engine = stamp(FrontAdhesive(work=WORK, rate_exponent=0.2), cells=4)
    rng = np.random.default_rng(seed)
    pose, spent = engine.control().body_transform[0, 0].copy(), [0.0]
    for step in range(60):
        control = engine.control()
        if step % 6 < 4:
            pose[:3, 3] = (*(0.004 * rng.normal(size=2)), 0.002 + GAP + abs(0.012 * rng.normal()))
        else:  # down, and still for a step, so that it sticks
            pose[2, 3] = 0.002 + GAP
        control.body_transform[0, 0] = pose
        engine.step(control)
        spent.append(engine.interfaces[0].spent_work()[0])
    assert (np.diff(spent) >= 0.0).all()
    assert spent[-1] > 2 * WORK * SIZE**2


# Where it sticks -----------------------------------------------------------------------------------------------------
def sheet(side) -> Engine:
    """A sheet just over a plate."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    plate(builder)
    vertices, triangles = shapes.grid_mesh(SIZE, SIZE, 3, 3)
    builder.add_shell("sheet", vertices + (0, 0, GAP), triangles, TAPE, CONTACT)
    builder.add_adhesion("sheet", side, "plate", FrontAdhesive())
    return Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-4))


def test_only_the_sticky_side_sticks():
    assert len(sheet("negative").interfaces[0].stuck_points()) == 16
    assert len(sheet("both").interfaces[0].stuck_points()) == 16
    assert len(sheet("positive").interfaces[0].stuck_points()) == 0


def test_side_by_triangle():
    side = np.zeros(18, int)
    side[:6] = -1
    assert len(sheet(side).interfaces[0].stuck_points()) == 8


@pytest.mark.parametrize("stuck", [True, False])
def test_no_sticking_through_a_layer(stuck):
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    vertices, triangles = shapes.grid_mesh(SIZE, SIZE, 3, 3)
    touch = ContactMaterial(dhat=0.5e-3)
    builder.add_shell("sheet", vertices + (0, 0, 0.3e-3), triangles, TAPE, touch)
    corners = np.array([[-0.1, -0.1, 0.0], [0.1, -0.1, 0.0], [0.1, 0.1, 0.0], [-0.1, 0.1, 0.0]])
    for name, z in (("liner", 0.15e-3), ("plate", 0.0)):
        builder.add_static(name, corners + (0.0013, 0.0017, z), np.array([[0, 1, 2], [0, 2, 3]]), touch)
    builder.add_adhesion("sheet", "negative", "plate", FrontAdhesive(), stuck=stuck)
    engine = Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-4))
    for _ in range(3):
        engine.step()
    assert engine.report.contacts > 0
    assert len(engine.interfaces[0].stuck_points()) == 0


def test_a_later_call_rules_a_pair_and_other_meshes_do_not_stick():
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    plate(builder)
    vertices, triangles = shapes.grid_mesh(SIZE, SIZE, 3, 3)
    builder.add_shell("sheet", vertices + (0, 0, GAP), triangles, TAPE, CONTACT)
    builder.add_adhesion("sheet", "negative", "all", FrontAdhesive(work=100.0))
    builder.add_adhesion("sheet", "negative", "plate", FrontAdhesive(work=0.0))
    term = Engine(builder.finalize()).interfaces[0]
    assert sorted(m.work for m in term.sticky.materials) == [0.0, 100.0]
    assert len(term.stuck_points()) == 0


def test_a_material_can_be_edited_between_steps():
    engine = stamp(cells=3)
    term = engine.interfaces[0]
    engine.step()
    term.set_material("stamp", "plate", FrontAdhesive(work=2 * WORK))
    assert separation_work(engine, (0, 0, 1), 0.03, 200) == pytest.approx(2 * WORK * SIZE**2, rel=0.01)
    with pytest.raises(KeyError, match="'plate' does not stick to 'stamp' by this law; pairs: stamp to plate"):
        term.set_material("plate", "stamp", FrontAdhesive())
    with pytest.raises(ValueError, match="needs one of the law 'front'"):
        term.set_material("stamp", "plate", CONTACT)


def test_it_does_not_stick_while_it_slides():
    engine = stamp(cells=3, gap=GAP + 1e-3)
    move(engine, (0, 0, -1e-3 / 0.01), 1)
    assert len(engine.interfaces[0].stuck_points()) == 0  # came down at 0.1 m/s
    move(engine, (0.05, 0, 0), 3)
    assert len(engine.interfaces[0].stuck_points()) == 0
    move(engine, (0, 0, 0), 1)
    assert len(engine.interfaces[0].stuck_points()) == 16


def test_wrong_declarations_are_named():
    builder = ModelBuilder()
    plate(builder)
    vertices, triangles = shapes.grid_mesh(SIZE, SIZE, 3, 3)
    builder.add_shell("sheet", vertices + (0, 0, GAP), triangles, TAPE, CONTACT)
    with pytest.raises(ValueError, match="side is 'up'; legal values: positive, negative, both"):
        builder.add_adhesion("sheet", "up", "plate", FrontAdhesive())
    with pytest.raises(ValueError, match="no mesh named 'table'; available: plate, sheet"):
        builder.add_adhesion("sheet", "both", ["table"], FrontAdhesive())
    with pytest.raises(ValueError, match=r"must have shape \(18,\)"):
        builder.add_adhesion("sheet", np.ones(4), "plate", FrontAdhesive())
    with pytest.raises(ValueError, match="its law must be one of: front, rcc, bond"):
        builder.add_adhesion("sheet", "both", "plate", CONTACT)
    with pytest.raises(ValueError, match="FrontAdhesive.work is -1.0; it must be at least 0"):
        FrontAdhesive(work=-1.0)
    builder.add_adhesion("sheet", "negative", "plate", FrontAdhesive())
    with pytest.raises(ValueError, match="a mesh has one sticky side"):
        builder.add_adhesion("sheet", "positive", "plate", FrontAdhesive())


# State ---------------------------------------------------------------------------------------------------------------
def falling_sheet(adhesive: FrontAdhesive | None, worlds: int = 1) -> Engine:
    builder = ModelBuilder()
    plate(builder)
    vertices, triangles = shapes.grid_mesh(0.03, 0.03, 5, 5)
    tilt = vertices.copy()
    tilt[:, 2] = 2e-3 + 0.1 * vertices[:, 0]
    builder.add_shell("sheet", tilt, triangles, TAPE, CONTACT)
    if adhesive is not None:
        builder.add_adhesion("sheet", "negative", "plate", adhesive)
    return Engine(builder.finalize(worlds), Options(dt=0.01, newton_tolerance=1e-4))


def test_cohesion_off_is_plain_contact_bit_for_bit():
    off, plain, on = falling_sheet(FrontAdhesive(work=0.0)), falling_sheet(None), falling_sheet(FrontAdhesive())
    for _ in range(15):
        for engine in (off, plain, on):
            engine.step()
    assert np.array_equal(off.state.x.numpy(), plain.state.x.numpy())
    assert np.array_equal(off.state.v.numpy(), plain.state.v.numpy())
    assert plain.report.contacts > 0
    assert len(on.interfaces[0].stuck_points()) > 0
    assert not np.array_equal(on.state.x.numpy(), plain.state.x.numpy())


def test_resume_is_bit_for_bit(tmp_path):
    engine, other = (stamp(FrontAdhesive(rate_exponent=0.2), cells=3) for _ in range(2))
    velocity = (0.05, 0.0, 0.12)
    move(engine, velocity, 8)
    engine.save(tmp_path / "state.npz")
    move(other, (0, 0, 0.5), 3)
    other.load(tmp_path / "state.npz")
    for name, values in engine.interfaces[0].get_state().items():
        assert np.array_equal(other.interfaces[0].get_state()[name], values), name
    first, second = move(engine, velocity, 5), move(other, velocity, 5)
    assert np.array_equal(first, second)
    for name, values in engine.get_state().items():
        assert np.array_equal(other.get_state()[name], values), name


def test_reset_restores_what_stuck_at_the_start():
    engine = stamp(cells=3, worlds=2)
    before = engine.get_state()
    move(engine, (0, 0, 0.5), 8)
    assert len(engine.interfaces[0].stuck_points()) == 0
    engine.reset(world=1)
    assert len(engine.interfaces[0].stuck_points()) == 16
    assert (engine.interfaces[0].stuck_points() >= engine.model.points_per_world).all()
    engine.reset()
    for name, values in before.items():
        assert np.array_equal(engine.get_state()[name], values), name


def test_worlds_evolve_as_they_would_alone():
    pair, alone, still = stamp(cells=3, worlds=2), stamp(cells=3), stamp(cells=3)
    moved = move(pair, (0, 0, 0.15), 12, world=1)
    single = move(alone, (0, 0, 0.15), 12)
    move(still, (0, 0, 0), 12)
    assert np.array_equal(moved[:, 1], single[:, 0])
    spent = pair.interfaces[0].spent_work()
    assert spent[0] == 0.0 and spent[1] == alone.interfaces[0].spent_work()[0] > 0.0
    n = pair.model.points_per_world
    assert np.array_equal(pair.positions(1), alone.positions())
    assert np.array_equal(pair.positions(0), still.positions())
    assert len(pair.interfaces[0].damage()) == 2 * 16 and n == pair.positions(0).shape[0]


def test_a_front_that_runs_too_fast_is_named():
    engine = stamp(cells=6)
    term = engine.interfaces[0]
    state = term.get_state()
    state["active"][:] = 1
    term.set_state(state)
    move(engine, (0, 0, 0.3), 1)
    assert any("peel front opened by 0.9" in m and "Options.dt below" in m for m in engine.report.messages)


def test_the_tolerance_that_peeling_needs():
    assert peel_tolerance(np.array([3e-3, 6e-3]), 0.01) == pytest.approx(1e-3)
    engine = stamp(cells=6, newton_tolerance=0.1)
    state = engine.interfaces[0].get_state()
    state["active"][:] = 1
    engine.interfaces[0].set_state(state)
    move(engine, (0, 0, 0.01), 1)
    said = "newton_tolerance is 0.1 m/s, loose for a peel front; exact peel forces take 0.0011 m/s"
    assert any(said in m for m in engine.report.messages)
    move(engine, (0, 0, 0.01), 1)
    assert not any("newton_tolerance" in m for m in engine.report.messages)  # said once
