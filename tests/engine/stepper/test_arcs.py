"""Bodies turn along arcs: ends are rotations whatever the share, and a quick turn takes few iterations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh import shapes


def one_body(**options) -> Engine:
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    vertices, triangles = shapes.box_surface((0.1, 0.04, 0.02))
    builder.add_body("box", vertices, triangles, ContactMaterial(), density=800.0)
    return Engine(builder.finalize(), Options(dt=1.0 / 30.0, **options))


def matrix(x) -> np.ndarray:
    return np.asarray(x)[1:4].T


def tangent(a, turn, strain) -> np.ndarray:
    """Node update (4, 3) of dA = (W + S) A."""
    skew = np.array([[0.0, -turn[2], turn[1]], [turn[2], 0.0, -turn[0]], [-turn[1], turn[0], 0.0]])
    return np.concatenate([[[0.01, 0.0, 0.02]], ((skew + strain) @ a).T])


@pytest.mark.parametrize("share", [1.0, 0.5, 0.125])
def test_the_end_is_on_the_arc(share):
    """0.8 rad with a small strain, whole and cut to a share in two goes: columns are rotated, not stretched."""
    engine = one_body()
    s = engine.newton.system
    start = Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix()
    turn, strain = np.array([0.5, 0.6, -0.2]), np.diag([1e-4, 0.0, -2e-4])
    s.state.x.assign(np.concatenate([[[0.0, 0.1, 0.0]], start.T]))
    s.dx.assign(tangent(start, turn, strain))
    s.worlds.share.fill_(1.0)
    s.arcs.launch_bend(s.state.x, s.dx)
    assert s.arcs.largest_turn.numpy()[0] == pytest.approx(np.linalg.norm(turn), rel=1e-12)
    for part in (1.0, np.sqrt(share), np.sqrt(share)):
        s.worlds.bound.fill_(part)
        s.arcs.launch_shorten(s.worlds, s.state.x, s.dx)
    end = s.dx.numpy() + s.state.x.numpy()
    expected = Rotation.from_rotvec(share * turn).as_matrix() @ (np.eye(3) + share * strain) @ start
    assert matrix(end) == pytest.approx(expected, abs=1e-12)
    assert end[0] == pytest.approx([share * 0.01, 0.1, share * 0.02], abs=1e-12)
    assert s.worlds.share.numpy()[0] == pytest.approx(share, rel=1e-12)


def test_slope_follows_the_share():
    """The arc leaves along the tangent, so Armijo's slope is the tangent's, times the share."""
    s = one_body().newton.system
    s.arcs.largest_turn.fill_(1.0)
    s.worlds.slope.fill_(-3.0)
    s.worlds.share.fill_(1.0)
    s.worlds.bound.fill_(0.25)
    s.arcs.launch_shorten(s.worlds, s.state.x, s.dx)
    assert s.worlds.slope.numpy()[0] == -0.75


def test_a_quick_turn_without_a_guess_takes_few_iterations():
    """From the positions of the last step a body that spins at 15 rad/s has to be turned by half a radian."""
    engine = one_body(start="position", newton_tolerance=1e-6)
    state = engine.get_state()
    x = engine.state.x.numpy()
    state["v"][:4] = np.concatenate([[np.zeros(3)], np.cross([0.0, 15.0, 0.0], x[1:4])])
    engine.set_state(state)
    engine.newton.system.has_bodies = True
    report = engine.step()
    a = matrix(engine.state.x.numpy())
    assert report.converged and a.T @ a == pytest.approx(np.eye(3), abs=1e-6)
    # backward Euler of a free spin: tan(angle) = omega dt
    assert np.arctan2(a[0, 2], a[0, 0]) == pytest.approx(np.arctan(15.0 / 30.0), rel=1e-6)
    assert report.newton_iterations <= 10  # along tangents: cut to 1/64 again and again, not there after 60


def test_a_turn_into_a_wall_keeps_its_distance():
    """The chord to each trial is what is checked: a spinning bar that strikes another never gets through."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    vertices, triangles = shapes.box_surface((0.2, 0.02, 0.02))
    builder.add_body("bar", vertices, triangles, ContactMaterial(), density=800.0)
    builder.add_body("post", vertices + (0.0, 0.0, 0.06), triangles, ContactMaterial(), density=8000.0)
    engine = Engine(builder.finalize(), Options(dt=1.0 / 30.0, newton_tolerance=1e-3))
    state = engine.get_state()
    x = engine.state.x.numpy()
    state["v"][:4] = np.concatenate([[np.zeros(3)], np.cross([0.0, 25.0, 0.0], x[1:4])])
    engine.set_state(state)
    engine.newton.system.has_bodies = True
    shares = []
    for _ in range(6):
        report = engine.step(on_iteration=lambda: shares.append(float(engine.newton.system.worlds.share.numpy()[0])))
        assert report.min_distance > 0.0
    assert min(shares) < 1.0  # it did strike
