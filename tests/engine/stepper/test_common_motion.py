"""The coarse space of what sticks together: a roll moves as one although its layers are stiff against each other."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine import Engine, ModelBuilder, Options
from engine.materials import FrontAdhesive
from engine.mesh import shapes
from engine.tape.placing import add_roll
from engine.tape.winding import RollSpec, wind_roll
from tests.engine.models import SOFT_SHEET, add_ground

DT = 0.01


def falling_roll(**options) -> Engine:
    """Two turns of tape on their core in free space, let go."""
    asset = wind_roll(RollSpec(turns=2.0, free_length=0.02))
    builder = ModelBuilder()
    add_roll(builder, "tape", asset, adhesive=FrontAdhesive())
    settings = {"dt": DT, "start": "position", "newton_max_iterations": 1, **options}
    settings["candidate_slack"] = asset.spec.candidate_slack
    return Engine(builder.finalize(check_start=False), Options(**settings))


def first_solve(engine: Engine):
    """(System, first update of a step [m] (N, 3), PCG iterations)."""
    found = {}

    def look():
        s = engine.newton.system
        found.setdefault("first", (s.cg.x.numpy().copy(), int(s.cg.iterations.numpy()[0])))

    engine.step(on_iteration=look)
    return engine.newton.system, *found["first"]


def prepare(s) -> None:
    """Matrix, factor and common motion where the step has ended."""
    s.worlds.active.fill_(1)
    s.linearise()
    s.factor()
    s.find_common_motion()


def test_the_fall_of_a_roll_is_in_the_first_loose_solve():
    """All of it falls by g dt^2 in its first step. Without the common motion the same tolerance finds but a part."""
    fall = -9.81 * DT**2
    vertices = slice(4, None)  # behind the four nodes of the core
    s, update, iterations = first_solve(falling_roll())
    assert s.common.active
    assert update[vertices, 2].mean() == pytest.approx(fall, rel=0.05)
    s, alone, _ = first_solve(falling_roll(newton="plain"))
    assert not s.common.active
    assert abs(alone[vertices, 2].mean() / fall - 1.0) > 0.2
    _, _, needed = first_solve(falling_roll(newton="plain", linear_tolerance=1e-4))
    _, _, helped = first_solve(falling_roll(linear_tolerance=1e-4))
    assert helped < 0.5 * needed


def test_it_is_a_symmetric_positive_definite_preconditioner_of_the_same_system():
    engine = falling_roll(linear_tolerance=1e-9)
    s, update, _ = first_solve(engine)
    prepare(s)
    n = s.model.num_nodes
    random = np.random.default_rng(0)
    r, z = (wp.zeros(n, dtype=wp.vec3d, device="cpu") for _ in range(2))

    def precondition(values):
        r.assign(values)
        s.precondition(r, z)
        return z.numpy().copy()

    a, b = random.normal(size=(2, n, 3))
    assert (precondition(a) * b).sum() == pytest.approx((precondition(b) * a).sum(), rel=1e-9)
    assert (precondition(a) * a).sum() > 0.0
    _, alone, _ = first_solve(falling_roll(newton="plain", membrane_extrapolation=True, linear_tolerance=1e-9))
    assert np.abs(update - alone).max() < 1e-5 * np.abs(alone).max()


def test_a_force_along_a_common_motion_is_answered_exactly():
    """For r = A Z c the coarse part gives back Z c: (Z^T A Z)^-1 Z^T A Z c = c."""
    engine = falling_roll()
    s, _, _ = first_solve(engine)
    prepare(s)
    common, n = s.common, s.model.num_nodes
    modes = common.modes.numpy()
    c = np.random.default_rng(1).normal(size=len(modes))
    motion = np.einsum("m,mik->ik", c, modes)
    force, z = (wp.zeros(n, dtype=wp.vec3d, device="cpu") for _ in range(2))
    s.multiply(wp.array(motion, dtype=wp.vec3d, device="cpu"), force)
    common.launch_add(force, z, s.node_free)
    assert np.abs(z.numpy() - motion).max() < 1e-6 * np.abs(motion).max()
    # a whole turn or shift of what sticks is (nearly) one of them, the core's matrix included
    member = s.common.member.numpy() == 1
    assert member[:4].all() and member.sum() > 300


def test_tape_on_the_ground_has_no_common_motion():
    """What it sticks to does not move: nothing to add, nothing to pay."""
    builder = ModelBuilder()
    vertices, triangles = shapes.strip_mesh(0.3, 0.03, 10)
    builder.add_shell("strip", vertices + (0, 0, 1e-3), triangles, SOFT_SHEET)
    add_ground(builder)
    builder.add_adhesion("strip", "negative", ["ground"], FrontAdhesive())
    engine = Engine(builder.finalize(), Options(dt=DT))
    engine.step()
    assert engine.interfaces[0].blocks.count.numpy()[0] > 200
    assert not engine.newton.system.common.active


def test_a_loaded_roll_goes_on_to_the_bit(tmp_path):
    """The modes are those of the state, not of the engine's past."""
    engine, other = falling_roll(newton_max_iterations=20), falling_roll(newton_max_iterations=20)
    for _ in range(3):
        engine.step()
    engine.save(tmp_path / "falling.npz")
    other.load(tmp_path / "falling.npz")
    for _ in range(3):
        engine.step()
        other.step()
    assert engine.newton.system.common.active
    assert np.array_equal(engine.positions(), other.positions())
