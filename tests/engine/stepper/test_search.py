"""The search without the barrier: halves what the line search would refuse, touches nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh import shapes
from tests.engine.models import SOFT_SHEET


def two_strips() -> Engine:
    """Two worlds of a strip that falls freely."""
    builder = ModelBuilder()
    vertices, triangles = shapes.strip_mesh(0.1, 0.02, 4)
    builder.add_shell("strip", vertices, triangles, SOFT_SHEET, ContactMaterial())
    return Engine(builder.finalize(num_worlds=2), Options(dt=0.01))


def prepare(engine: Engine, turns) -> np.ndarray:
    """The system asked to turn the strip of each world about y by an angle [rad], along a straight line and with the
    slope of a descent. Returns that motion, (N, 3)."""
    s = engine.newton.system
    w, x = s.worlds, engine.state.x.numpy()
    world = engine.model.node_world.numpy()
    w.active.fill_(1)
    s.near_count.zero_()
    s.map.launch_positions(s.state.x, s.points)
    wp.copy(s.x_tilde, s.state.x)
    s.evaluate_current()
    dx = np.cross(np.asarray(turns)[world][:, None] * np.array([0.0, 1.0, 0.0]), x - x.mean(axis=0))
    s.dx.assign(dx)
    s.map.launch_displacements(s.dx, s.points_dx)
    w.slope.fill_(-1e-9)
    w.longest.fill_(1.0)
    return dx


def energy_without_barrier(engine: Engine, positions: np.ndarray) -> np.ndarray:
    s = engine.newton.system
    s.trial.assign(positions)
    s.map.launch_positions(s.trial, s.points_trial)
    s.evaluate_unlisted(s.trial_inputs, s.trial, s.worlds.trial_energy)
    return s.worlds.trial_energy.numpy().copy()


def test_a_turn_that_stretches_is_halved_until_the_energy_allows_it_world_by_world():
    engine = two_strips()
    s, x = engine.newton.system, engine.state.x.numpy().copy()
    dx = prepare(engine, (0.5, 0.0))
    s.worlds.energy.assign([3e-4, 3e-4])  # what a barrier may hold at the start: the turn may cost that much
    s.shorten_early()
    share = s.worlds.early.numpy()
    expected = 1.0
    while energy_without_barrier(engine, x + expected * dx)[0] > 3e-4 - 1e-13 * expected:
        expected *= 0.5
    assert 2.0**-6 < expected < 0.5
    assert share[0] == expected and share[1] == 1.0
    assert np.array_equal(s.dx.numpy(), dx * share[engine.model.node_world.numpy()][:, None])
    assert s.worlds.slope.numpy() == pytest.approx(-1e-9 * share, rel=1e-15)
    assert s.worlds.longest.numpy() == pytest.approx(share, rel=1e-15)
    assert np.array_equal(engine.state.x.numpy(), x)


def test_it_gives_up_after_six_halvings_where_the_barrier_may_be_what_falls():
    engine = two_strips()
    prepare(engine, (0.5, 0.5))
    engine.newton.system.worlds.energy.assign([-1.0, -1.0])
    engine.newton.system.shorten_early()
    assert engine.newton.system.worlds.early.numpy() == pytest.approx([2.0**-6] * 2)


def test_a_world_that_has_converged_is_left_alone():
    engine = two_strips()
    s = engine.newton.system
    dx = prepare(engine, (0.5, 0.5))
    s.worlds.energy.assign([-1.0, -1.0])
    s.worlds.active.assign([0, 1])
    s.shorten_early()
    first = engine.model.node_world.numpy() == 0
    assert np.array_equal(s.dx.numpy()[first], dx[first])
    assert s.worlds.early.numpy()[1] == 2.0**-6


def test_an_update_measured_again_is_the_same_after_it_was_shortened():
    """As when the stencils grow, or the direction is mended: what the last step took decides the stretch, not this."""
    engine = two_strips()
    s = engine.newton.system
    dx = prepare(engine, (0.5, 0.5))
    w = s.worlds
    s.cg.x.assign(dx)
    s.accepted.assign(2.0 * dx)  # updates that halve: the series goes on to twice this one
    w.iterations.fill_(1)
    w.taken.assign([1.0, 0.5])  # the other world's step was cut, which says nothing
    w.reach.fill_(1.0)
    s.measure_update()
    first = s.dx.numpy().copy()
    factor = np.where(engine.model.node_world.numpy() == 0, 2.0, 1.0)
    assert first == pytest.approx(dx * factor[:, None], rel=1e-12)
    w.energy.assign([-1.0, -1.0])
    s.shorten_early()
    assert w.early.numpy() == pytest.approx([2.0**-6] * 2)
    s.measure_update()
    assert np.array_equal(s.dx.numpy(), first)
