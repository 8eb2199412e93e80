"""Materials edited while an engine runs: what they do, what they survive, and that a saved state has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine import ContactMaterial, Cut, Engine, ModelBuilder, Options, ShellMaterial
from engine.live import friction_of
from engine.materials import FrontAdhesive
from engine.mesh import shapes

G, MU = 9.81, 0.25
TOUCH = ContactMaterial(dhat=3e-4, half_thickness=1e-4, friction_mu=1.0)


def sliding_block(num_worlds: int = 1) -> Engine:
    """A 2 cm cube that slides along x at 1 m/s on a plate without friction."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    vertices, triangles = shapes.box_surface((1.0, 0.5, 0.01))
    vertices = vertices - (0.0, 0.0, 0.005)
    builder.add_static("plate", vertices, triangles, replace(TOUCH, friction_mu=0.0))
    cube, faces = shapes.box_surface((0.02, 0.02, 0.02))
    pose = np.eye(4)
    pose[2, 3] = 0.01 + 2e-4 + 2.5e-4
    builder.add_body("cube", cube, faces, TOUCH, density=1000.0, transform=pose, velocity=(1.0, 0, 0, 0, 0, 0))
    return Engine(builder.finalize(num_worlds=num_worlds), Options(dt=0.005, newton_tolerance=1e-4))


def speed(engine: Engine, world: int = 0) -> float:
    node = engine.model.bodies["cube"].node + world * engine.model.nodes_per_world
    return float(engine.state.v.numpy()[node, 0])


def slow_down(engine: Engine, steps: int = 10, world: int = 0) -> float:
    """Deceleration over the friction law's mu g [-]; the pair's coefficient is the geometric mean."""
    before = speed(engine, world)
    for _ in range(steps):
        engine.step()
    return (before - speed(engine, world)) / (steps * engine.options.dt * G)


@pytest.mark.parametrize("worlds", [1, 2])
def test_friction_set_in_a_running_scene_brakes_by_coulombs_law(worlds):
    engine = sliding_block(worlds)
    for _ in range(5):
        engine.step()
    assert abs(slow_down(engine, world=worlds - 1)) < 1e-3
    engine.set_friction("plate", MU**2)
    assert slow_down(engine, world=worlds - 1) == pytest.approx(MU, rel=0.03)
    engine.set_friction("plate", 0.0)
    assert abs(slow_down(engine, world=worlds - 1)) < 1e-3


def test_it_stays_through_a_reset_and_leaves_other_engines_alone():
    engine = sliding_block()
    other = Engine(engine.model, engine.options)
    engine.set_friction("plate", 0.5)
    engine.reset()
    assert friction_of(engine, "plate") == 0.5 and friction_of(other, "plate") == 0.0


def test_what_does_not_fit_is_named():
    engine = sliding_block()
    with pytest.raises(KeyError, match="no mesh 'table' that touches others; available: plate, cube"):
        engine.set_friction("table", 0.1)
    for value in (-0.1, np.nan, True, "much"):
        with pytest.raises(ValueError, match="friction_mu of 'cube' is .*; it must be a number from 0 on"):
            engine.set_friction("cube", value)
    assert friction_of(engine, "cube") == 1.0


def stuck_strip() -> Engine:
    builder = ModelBuilder(gravity=(0, 0, -G))
    rest, triangles = shapes.grid_mesh(0.04, 0.02, 8, 4)
    builder.add_shell("strip", rest + (0, 0, 3e-4), triangles, ShellMaterial(), TOUCH, rest_vertices=rest)
    plate, faces = shapes.box_surface((0.1, 0.1, 0.01))
    builder.add_static("plate", plate - (0, 0, 0.0051), faces, TOUCH)
    builder.add_adhesion("strip", "negative", "plate", FrontAdhesive(work=100.0))
    return Engine(builder.finalize(), Options(dt=0.005))


def test_a_saved_state_brings_edited_materials_and_goes_on_to_the_bit(tmp_path):
    engine = stuck_strip()
    engine.step()
    engine.interfaces[0].set_material("strip", "plate", FrontAdhesive(work=30.0))
    engine.set_friction("plate", 0.3)
    engine.apply([Cut("strip", ((0.003, -0.02), (0.003, 0.02)))])
    engine.step()
    engine.save(tmp_path / "state.npz")
    engine.step()
    fresh = stuck_strip()
    fresh.load(tmp_path / "state.npz")
    assert fresh.interfaces[0].sticky.materials[0] == FrontAdhesive(work=30.0)
    assert friction_of(fresh, "plate") == 0.3
    fresh.step()
    there, here = engine.get_state(), fresh.get_state()
    assert all(np.array_equal(there[name], here[name]) for name in there)


def test_without_edits_the_file_brings_the_declared_ones_back(tmp_path):
    engine = stuck_strip()
    engine.save(tmp_path / "state.npz")
    engine.set_friction("plate", 0.3)
    engine.interfaces[0].set_material("strip", "plate", FrontAdhesive(work=30.0))
    engine.load(tmp_path / "state.npz")
    assert friction_of(engine, "plate") == 1.0
    assert engine.interfaces[0].sticky.materials[0] == FrontAdhesive(work=100.0)
