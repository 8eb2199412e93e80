"""The assembled system: its gradient is that of its value, its product is that of its matrix, PCG solves it."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.linear.direct import stencil_matrix
from engine.mesh import shapes
from tests.engine.models import SOFT_SHEET, add_ground, block, rotation_about, soft_pad


def crowded_engine(**options) -> Engine:
    """Shell on shell, on a body, on a gel block, on the ground, all within reach, with a jointed driven body."""
    contact = ContactMaterial(dhat=2e-3, friction_mu=0.4)
    builder = ModelBuilder()
    add_ground(builder, dhat=2e-3, friction_mu=0.4)
    soft_pad(builder, cells=(3, 3, 1), size=(0.03, 0.03, 0.006), at=(0, 0, 0.0045), contact=contact)
    tilt = rotation_about((1, 1, 0), 0.02)
    block(builder, size=(0.025, 0.02, 0.01), at=(0.001, 0.002, 0.0142), rotation=tilt, contact=contact)
    sheet, triangles = shapes.grid_mesh(0.05, 0.05, 5, 5)
    builder.add_shell("lower", sheet + (0.002, 0.001, 0.0215), triangles, SOFT_SHEET, contact)
    builder.add_shell(
        "upper", sheet @ rotation_about((0, 0, 1), 0.3).T + (0, 0, 0.0229), triangles, SOFT_SHEET, contact
    )
    block(builder, "hand", size=(0.01, 0.01, 0.01), at=(0.05, 0, 0.04), driven=True, force_limit=5.0, contact=contact)
    block(builder, "finger", size=(0.01, 0.01, 0.01), at=(0.07, 0, 0.04), contact=contact)
    builder.add_joint("hinge", "revolute", "hand", "finger", anchor=(0.06, 0, 0.04), axis=(0, 1, 0))
    options = {"dt": 0.01, "newton_tolerance": 1e-3, "linear_tolerance": 1e-10, **options}
    return Engine(builder.finalize(), Options(**options))


@pytest.fixture(scope="module")
def crowded() -> Engine:
    engine = crowded_engine()
    for _ in range(12):
        report = engine.step()
    assert report.contacts > 50
    engine.newton.on_iteration = None
    return engine


def linearised(engine: Engine, jitter: float, seed: int = 0):
    """Predict a step, move all nodes a little off the start, linearise. Returns the system."""
    newton, s = engine.newton, engine.newton.system
    newton.stages.run("predict")
    s.candidates.update(s.points, s.points_dx)
    newton.stages.run("detect")
    newton.stages.run("soften")
    newton.stages.run("start")
    x = engine.state.x.numpy()
    x = x + jitter * np.random.default_rng(seed).normal(size=x.shape)
    set_positions(engine, x)
    for energy in s.energies:
        energy.begin_step(s.inputs)
    newton.stages.run("linearise")
    return s


def set_positions(engine: Engine, x: np.ndarray) -> None:
    s = engine.newton.system
    engine.state.x.assign(x)
    s.map.launch_positions(engine.state.x, s.points)
    s.points_dx.zero_()
    s.candidates.update(s.points, s.points_dx)
    s.forget_gaps()
    s.detect()
    s.bound_step()


def value(engine: Engine, x: np.ndarray) -> float:
    set_positions(engine, x)
    engine.newton.system.evaluate_current()
    return float(engine.newton.system.worlds.energy.numpy()[0])


def test_gradient_is_that_of_the_value(crowded):
    """Inertia, elasticity, bodies, joints, drives, barrier, mollified edges and friction together."""
    state = crowded.get_state()
    s = linearised(crowded, 2e-6)
    x = crowded.state.x.numpy().copy()
    gradient = s.assembly.gradient.numpy().copy()
    assert s.friction.blocks.count.numpy()[0] > 20 and s.contacts.count.numpy()[0] > 50
    assert s.worlds.bound.numpy()[0] == 1.0
    rng = np.random.default_rng(1)
    for _ in range(4):
        direction = rng.normal(size=x.shape)
        slope = (gradient * direction).sum()
        errors = []
        for size in (1e-8, 1e-7, 1e-6):
            difference = (value(crowded, x + size * direction) - value(crowded, x - size * direction)) / (2 * size)
            errors.append(abs(difference - slope) / abs(slope))
        assert min(errors) < 1e-6
    crowded.set_state(state)


def full_matrix(s) -> np.ndarray:
    n = s.model.num_nodes
    total = s.assembly.to_scipy().tocsr()
    for blocks in (s.contacts, s.friction.blocks):
        total = total + stencil_matrix(blocks, n)
    return total.toarray()


def test_operator_is_the_matrix_and_the_matrix_is_positive_definite(crowded):
    state = crowded.get_state()
    s = linearised(crowded, 2e-6)
    assert s.contacts.free_count.numpy()[0] > 0  # some contacts stay matrix-free
    assert s.contacts.free_count.numpy()[0] < s.contacts.count.numpy()[0]  # and some are folded
    matrix = full_matrix(s)
    assert np.abs(matrix - matrix.T).max() < 1e-9 * np.abs(matrix).max()
    scale = 1.0 / np.sqrt(np.diag(matrix))
    assert np.linalg.eigvalsh(matrix * scale[:, None] * scale[None, :]).min() > 0.0
    p = np.random.default_rng(2).normal(size=(s.model.num_nodes, 3))
    s.cg.p.assign(p)
    s.multiply(s.cg.p, s.cg.ap)
    assert np.allclose(
        s.cg.ap.numpy().ravel(), matrix @ p.ravel(), rtol=1e-10, atol=1e-10 * np.abs(matrix @ p.ravel()).max()
    )
    crowded.set_state(state)


@pytest.mark.parametrize("solver", ["pcg", "band", "direct"])
def test_solvers_agree(solver):
    engine = crowded_engine(linear_solver=solver)
    s = linearised(engine, 2e-6)
    if solver == "direct":
        engine.newton._solve_direct()
    else:
        engine.newton.stages.run_joined("factor", "solve")
    expected = np.linalg.solve(full_matrix(s), -s.assembly.gradient.numpy().ravel())
    dx = s.cg.x.numpy().ravel()
    assert np.abs(dx - expected).max() < 1e-6 * np.abs(expected).max()


def test_band_factor_is_exact_for_static_contact():
    """A strip on a table: with its contacts folded in, the factor needs at most two PCG iterations (1e-3)."""
    builder = ModelBuilder()
    vertices, triangles = shapes.strip_mesh(0.2, 0.03, 6)
    builder.add_shell("strip", vertices + (0, 0, 8e-4), triangles, SOFT_SHEET, ContactMaterial())
    add_ground(builder)
    engine = Engine(builder.finalize(), Options(dt=0.01))
    report = engine.step()
    assert report.linear_solver == "band" and report.contacts > 100
    assert report.linear_iterations <= 2 * report.newton_iterations


def test_exhausted_pcg_falls_back_to_a_factorisation_and_says_so():
    engine = crowded_engine(linear_solver="pcg", linear_max_iterations=2)
    report = engine.step()
    assert report.linear_solver == "direct (PCG ran out of iterations)"
    exact = crowded_engine(linear_solver="direct")
    exact.step()
    assert np.abs(engine.positions() - exact.positions()).max() < 1e-6


def test_sorting_of_active_pairs_restores_candidate_order(crowded):
    """The path that only GPUs take, run here: a shuffled list comes back in order."""
    import warp as wp

    s = crowded.newton.system
    state = crowded.get_state()
    s.detect()
    count = int(s.active_count.numpy()[0])
    ordered = s.active.numpy()[:count].copy()
    shuffled = s.active.numpy().copy()
    shuffled[:count] = np.random.default_rng(0).permutation(ordered)
    s.active.assign(shuffled)
    s.active_order = wp.zeros(len(s.active), dtype=int, device=s.device)
    s._sort_active()
    assert count > 50 and np.array_equal(s.active.numpy()[:count], ordered)
    crowded.set_state(state)


# newton: plain --------------------------------------------------------------------------------------------------
def thrown_strip(**options) -> Engine:
    """A soft strip held at one end, falling and moving sideways, above the ground."""
    builder = ModelBuilder()
    vertices, triangles = shapes.strip_mesh(0.1, 0.02, 4)
    builder.add_shell("strip", vertices + (0, 0, 0.03), triangles, SOFT_SHEET, ContactMaterial())
    block(builder, "hand", size=(0.01, 0.02, 0.01), at=(-0.055, 0, 0.03), driven=True)
    builder.attach("strip", np.flatnonzero(vertices[:, 0] < -0.0499), "hand")
    add_ground(builder)
    settings = {"dt": 0.01, "newton_tolerance": 1e-6, "linear_tolerance": 1e-10, **options}
    return Engine(builder.finalize(), Options(**settings))


def test_plain_newton_starts_from_the_position_and_the_default_does_not():
    for newton, moved in (("plain", False), ("guided", True)):
        engine = thrown_strip(newton=newton)
        for _ in range(4):
            engine.step()
        s, x = engine.newton.system, engine.state.x.numpy().copy()
        engine.newton.stages.run("predict")
        guess = s.dx.numpy()
        fall = 4 * 9.81 * 0.01**2  # a free point has fallen about that much in the last step
        if moved:
            assert guess[:, 2].min() == pytest.approx(-fall, rel=0.1)
        else:
            assert (guess == 0.0).all()
        assert np.array_equal(engine.state.x.numpy(), x)


def test_plain_newton_takes_every_update_as_it_comes_and_stops_on_its_size_alone():
    """The last update is below the tolerance, whatever the contact forces do; none was stretched."""
    plain, guided = (crowded_engine(newton=n, newton_tolerance=1e-2) for n in ("plain", "guided"))
    updates = []

    def look(engine):
        s = engine.newton.system
        length = np.abs(s.dx.numpy() - s.cg.x.numpy()).max()
        updates.append((float(s.worlds.update.numpy()[0]), length <= 1e-15 * np.abs(s.dx.numpy()).max()))

    for _ in range(6):
        updates.clear()
        plain.step(on_iteration=lambda: look(plain))
        sizes = [size / 0.01 for size, _ in updates]
        assert sizes[-1] <= 1e-2 < min(sizes[:-1], default=np.inf)  # at the first small one, not before, not after
        assert all(as_it_came for _, as_it_came in updates)
    updates.clear()
    for _ in range(6):
        guided.step(on_iteration=lambda: look(guided))
    assert not all(as_it_came for _, as_it_came in updates)


def test_plain_and_default_newton_agree_when_both_are_solved_to_the_end():
    plain, guided = thrown_strip(newton="plain"), thrown_strip()
    apart = []
    for _ in range(8):
        plain.step()
        guided.step()
        assert plain.report.converged and guided.report.converged
        apart.append(np.abs(plain.positions() - guided.positions()).max())
    fallen = thrown_strip().positions()[:, 2] - guided.positions()[:, 2]
    assert fallen.max() > 1e-3 and max(apart) < 1e-6


def test_plain_newton_overrules_what_it_stands_for_and_nothing_else():
    asked = Options(newton="plain", newton_tolerance=3e-3, contact_tolerance=0.01, linear_solver="pcg")
    ruling = asked.in_force()
    assert (ruling.start, ruling.membrane_extrapolation, ruling.contact_tolerance) == ("position", False, np.inf)
    assert ruling.newton_tolerance == 3e-3 and ruling.linear_solver == "pcg"
    assert Options().in_force() == Options()
    with pytest.raises(ValueError, match="Options.newton is 'exact'; legal values: guided, plain"):
        Options(newton="exact")
