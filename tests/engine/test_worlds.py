"""Worlds of one batch that differ: places, materials, contact, adhesives; each is its solo run, to the bit."""

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options, SolidMaterial
from engine.builder import build_worlds
from engine.materials import FrontAdhesive, JointDrive
from engine.mesh import shapes
from engine.renewal import renew_world
from tests.engine.models import SOFT_SHEET, block, rotation_about, soft_pad

OPTIONS = Options(dt=0.01, newton_tolerance=1e-3)
DRAWS = [
    {"young": 1e5, "mu": 0.2, "at": (0.0, 0.0), "push": 0.002},
    {"young": 3e5, "mu": 0.9, "at": (0.004, -0.003), "push": 0.003},
    {"young": 2e5, "mu": 0.5, "at": (-0.003, 0.002), "push": 0.001},
]


def pressed_pad(young=2e5, mu=0.5, at=(0.0, 0.0), cells=(3, 3, 2), push=0.0) -> ModelBuilder:
    """A gel pad on a driven plate; a block falls on it, pushed aside by a slide whose drive has a start of its own."""
    builder = ModelBuilder()
    soft_pad(builder, cells=cells, material=SolidMaterial(young=young), contact=ContactMaterial(1e-4, friction_mu=mu))
    vertices = builder.parts["pad"].vertices
    block(builder, "plate", (0.03, 0.03, 0.004), (0, 0, -0.004), driven=True)
    builder.attach("pad", np.flatnonzero(vertices[:, 2] < -0.0019), "plate")
    contact = ContactMaterial(1e-4, friction_mu=mu)
    block(builder, "weight", (0.008, 0.008, 0.008), (*at, 0.0063), contact=contact)
    block(builder, "cart", (0.01, 0.01, 0.01), (0.0, 0.05, 0.0), gravity=False)
    drive = JointDrive(stiffness=50.0, damping=1.0)
    builder.add_joint("slide", "prismatic", None, "cart", (0.0, 0.05, 0.0), (1, 0, 0), drive=drive, position=push)
    return builder


def controls(engine: Engine, step: int, world: int = 0):
    """Tilts the plate and moves the cart, each world in its own way."""
    control = engine.control()
    for w in range(engine.model.num_worlds):
        control.body_transform[w, 0, :3, :3] = rotation_about((0, 1, 0), 0.02 * (step + 1) * (1 + world + w))
        control.joint_target[w, 0] = 1e-3 * (step + world + w)
    return control


def run(engine: Engine, steps: int, world: int = 0) -> list[np.ndarray]:
    """Positions after each step, (W, P, 3)."""
    places = []
    for step in range(steps):
        engine.step(controls(engine, step, world))
        places.append(np.array([engine.positions(w) for w in range(engine.model.num_worlds)]))
    return places


def test_different_worlds_equal_their_solo_runs_bit_for_bit():
    batch = Engine(build_worlds([pressed_pad(**draw) for draw in DRAWS]), OPTIONS)
    assert np.array_equal(batch.control().joint_target[:, 0], [draw["push"] for draw in DRAWS])
    together = run(batch, 8)
    for w, draw in enumerate(DRAWS):
        alone = run(Engine(pressed_pad(**draw).finalize(), OPTIONS), 8, w)
        for step, (a, b) in enumerate(zip(together, alone, strict=True)):
            assert np.array_equal(a[w], b[0]), f"world {w} differs at step {step}"
    assert batch.signals().contact_count.min() > 0, "nothing touched: the test proves nothing"
    assert len({together[-1][w].tobytes() for w in range(3)}) == 3


@pytest.mark.parametrize("material_too", [False, True], ids=["places and friction", "materials too"])
def test_a_world_drawn_anew_is_a_fresh_one_and_the_others_go_on(material_too):
    draws = DRAWS if not material_too else [*DRAWS[:2], DRAWS[0]]
    fresh = draws[2] | {"at": (0.001, 0.004), "mu": 0.7} | ({"young": 3e5} if material_too else {})
    batch = Engine(build_worlds([pressed_pad(**draw) for draw in draws]), OPTIONS)
    undisturbed = Engine(build_worlds([pressed_pad(**draw) for draw in draws]), OPTIONS)
    run(batch, 4), run(undisturbed, 4)
    system = batch.newton.system
    renew_world(batch, 2, pressed_pad(**fresh))
    assert (batch.newton.system is not system) == material_too, "a new system only where it is needed"
    assert batch.state.step_index.tolist() == [4, 4, 0]
    alone = Engine(pressed_pad(**fresh).finalize(), OPTIONS)
    for step in range(5):
        control, solo = controls(batch, step), controls(alone, step, 2)
        batch.step(control), undisturbed.step(controls(undisturbed, step)), alone.step(solo)
        for w in (0, 1):
            assert np.array_equal(batch.positions(w), undisturbed.positions(w)), f"world {w} was disturbed, step {step}"
        assert np.array_equal(batch.positions(2), alone.positions()), f"the new world differs at step {step}"


def test_reset_of_some_worlds_is_a_fresh_run_of_those():
    builders = [pressed_pad(**draw) for draw in DRAWS]
    batch, fresh = (Engine(build_worlds(builders), OPTIONS) for _ in "ab")
    run(batch, 5)
    batch.reset([0, 2])
    assert np.array_equal(batch.control().joint_target[[0, 2]], fresh.control().joint_target[[0, 2]])
    assert batch.state.time.tolist() == pytest.approx([0.0, 0.05, 0.0])
    for a, b in zip(run(batch, 4), run(fresh, 4), strict=True):
        assert np.array_equal(a[[0, 2]], b[[0, 2]])
    with pytest.raises(ValueError, match=r"world is 3; this model has worlds 0\.\.2"):
        batch.reset([0, 3])


def stuck_sheet(work: float, x: float = 0.0) -> ModelBuilder:
    """A sheet that starts stuck to a plate, over its edge by what x [m] says; two vertices ride on a clamp."""
    builder = ModelBuilder()
    plate = np.array([[-0.05, -0.05, 0.0], [0.02, -0.05, 0.0], [0.02, 0.05, 0.0], [-0.05, 0.05, 0.0]])
    builder.add_static("plate", plate, [[0, 1, 2], [0, 2, 3]])
    vertices, triangles = shapes.grid_mesh(0.04, 0.02, 4, 2)
    vertices = vertices + (x, 0.0, 1e-3)
    builder.add_shell("sheet", vertices, triangles, SOFT_SHEET, ContactMaterial())
    block(builder, "clamp", (0.004, 0.03, 0.004), (0.023 + x, 0, 0.004), driven=True)
    builder.attach("sheet", np.flatnonzero(vertices[:, 0] > 0.0199 + x), "clamp")
    builder.add_adhesion("sheet", "both", ["plate"], FrontAdhesive(work=work))
    return builder


def peel(engine: Engine, steps: int) -> list[np.ndarray]:
    places = []
    for _ in range(steps):
        control = engine.control()
        control.body_transform[:, 0, 2, 3] += 5e-4
        engine.step(control)
        places.append(np.array([engine.positions(w) for w in range(engine.model.num_worlds)]))
    return places


def test_each_world_has_its_own_adhesive_and_what_sticks_at_its_start():
    draws = [(0.5, 0.0), (20.0, 0.0), (20.0, 0.008)]
    batch = Engine(build_worlds([stuck_sheet(*draw) for draw in draws]), OPTIONS)
    spent = []
    together = peel(batch, 20)
    for w, draw in enumerate(draws):
        solo = Engine(stuck_sheet(*draw).finalize(), OPTIONS)
        alone = peel(solo, 20)
        for step, (a, b) in enumerate(zip(together, alone, strict=True)):
            assert np.array_equal(a[w], b[0]), f"world {w} differs at step {step}"
        spent.append(solo.interfaces[0].spent_work()[0])
    assert np.array_equal(batch.interfaces[0].spent_work(), spent)
    assert spent[0] > 0.0 and len(set(spent)) == 3
    renew_world(batch, 0, stuck_sheet(*draws[2]))
    fresh = Engine(stuck_sheet(*draws[2]).finalize(), OPTIONS)
    assert np.array_equal(peel(batch, 6)[-1][0], peel(fresh, 6)[-1][0])


def test_what_cannot_differ_is_named():
    coarse, fine = pressed_pad(), pressed_pad(cells=(3, 3, 3))
    with pytest.raises(ValueError, match="world 1 of the batch differs from world 0 in its topology: mesh 'pad' has"):
        build_worlds([coarse, fine])
    engine = Engine(build_worlds([coarse, pressed_pad(young=1e5)]), OPTIONS)
    before = engine.get_state()
    with pytest.raises(ValueError, match="mesh 'pad' has .* cannot differ between the worlds of a batch"):
        renew_world(engine, 1, fine)
    assert all(np.array_equal(before[name], value) for name, value in engine.get_state().items())
    with pytest.raises(ValueError, match=r"world is 2; this model has worlds 0\.\.1"):
        renew_world(engine, 2, coarse)
    with pytest.raises(ValueError, match="no builders"):
        build_worlds([])
