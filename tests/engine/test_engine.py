"""Engine as its users see it: save, load, resume, reset, worlds, control, errors."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes
from tests.engine.models import SOFT_SHEET, add_ground, block, sheet_on_ground


def pressed_sheet(worlds: int = 1, device: str = "cpu") -> Engine:
    """A sheet slides under a driven block on the ground: contact, friction, a force-limited drive, all at once."""
    contact = ContactMaterial(friction_mu=0.4)
    builder = ModelBuilder()
    add_ground(builder, friction_mu=0.4)
    vertices, triangles = shapes.grid_mesh(0.08, 0.06, 8, 6)
    start = vertices + (0, 0, 1.2e-3)
    builder.add_shell(
        "sheet", start, triangles, SOFT_SHEET, contact, velocity=np.tile([0.3, 0.1, 0.0], (len(start), 1))
    )
    block(
        builder, "press", size=(0.03, 0.03, 0.01), at=(0.01, 0, 0.0085), driven=True, force_limit=3.0, contact=contact
    )
    return Engine(builder.finalize(worlds, device), Options(dt=0.01, newton_tolerance=1e-3))


def press_down(engine: Engine, step: int):
    control = engine.control()
    control.body_transform[:, 0, 2, 3] = 0.0085 - 1e-4 * (step + 1)
    control.body_transform[:, 0, 0, 3] = 0.01 + 2e-4 * (step + 1)
    return control


def run(engine: Engine, first: int, count: int) -> list[np.ndarray]:
    history = []
    for k in range(first, first + count):
        engine.step(press_down(engine, k))
        history.append(engine.state.x.numpy().copy())
    return history


def test_save_load_resume_is_bit_equal(tmp_path):
    """Saved in the middle of contact and friction, resumed in another engine: 100 steps without a bit of difference."""
    engine = pressed_sheet()
    run(engine, 0, 20)
    assert engine.report.contacts > 20
    assert engine.newton.system.friction.blocks.count.numpy()[0] > 20
    engine.save(tmp_path / "state.npz")
    straight = run(engine, 20, 100)
    resumed = pressed_sheet()
    resumed.load(tmp_path / "state.npz")
    again = run(resumed, 20, 100)
    for k, (a, b) in enumerate(zip(straight, again, strict=True)):
        assert np.array_equal(a, b), f"first difference at step {k}"
    assert np.array_equal(engine.state.v.numpy(), resumed.state.v.numpy())
    assert resumed.state.step_index[0] == 120


def test_a_viewed_state_is_the_state_without_copies():
    from engine import Grasp, Release

    engine = grasping_engine()
    for edit in ([Grasp("sheet", (28, 29, 33, 34), "hand")], [Release("sheet")]):
        engine.step()
        engine.apply(edit)
        seen, kept = engine.view_state(), engine.get_state()
        assert list(seen) == list(kept)
        for name, array in kept.items():
            assert seen[name].tobytes() == array.tobytes() and seen[name].dtype == array.dtype, name
            assert array.size == 0 or not np.shares_memory(seen[name], array), name
        assert np.shares_memory(engine.view_state()["x"], seen["x"])
        engine.step()
        assert not np.array_equal(engine.view_state()["x"], kept["x"])


def test_reset_starts_again_bit_equal():
    engine = pressed_sheet()
    first = run(engine, 0, 15)
    engine.reset()
    second = run(engine, 0, 15)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_worlds_equal_their_solo_runs_bit_for_bit():
    """Eight worlds with different targets in one batch, in the same place: none sees another."""
    worlds, steps = 8, 20
    batch = pressed_sheet(worlds)
    solo = pressed_sheet()
    history = {w: [] for w in range(worlds)}

    def target(engine, step, w, row):
        control = engine.control()
        control.body_transform[row, 0, 2, 3] = 0.0085 - 3e-5 * (w + 1) * (step + 1)
        control.body_transform[row, 0, 0, 3] = 0.01 + 5e-5 * (w - 3) * (step + 1)
        return control.body_transform[row]

    for k in range(steps):
        control = batch.control()
        for w in range(worlds):
            control.body_transform[w] = target(batch, k, w, w)
        batch.step(control)
        for w in range(worlds):
            history[w].append(batch.positions(w))
    assert batch.report.contacts > 8 * 20
    for w in range(worlds):
        solo.reset()
        for k in range(steps):
            control = solo.control()
            control.body_transform[0] = target(solo, k, w, 0)
            solo.step(control)
            assert np.array_equal(solo.positions(), history[w][k]), f"world {w} differs at step {k}"
    final = np.array([history[w][-1] for w in range(worlds)])
    assert np.abs(final[0] - final[-1]).max() > 1e-4  # they did different things


def test_reset_of_one_world_leaves_the_others():
    engine = pressed_sheet(2)
    run(engine, 0, 5)
    kept = engine.positions(1)
    engine.reset(world=0)
    assert np.array_equal(engine.positions(1), kept)
    assert np.array_equal(engine.positions(0), pressed_sheet().positions(0))
    assert list(engine.state.step_index) == [0, 5]


def test_step_without_control_keeps_the_last_targets():
    engine = pressed_sheet()
    run(engine, 0, 3)
    control = engine.control()
    a = engine.get_state()
    engine.step(control)
    first = engine.state.x.numpy().copy()
    engine.set_state(a)
    engine.step()
    assert np.array_equal(first, engine.state.x.numpy())


def test_errors_name_what_is_wrong(tmp_path):
    engine = pressed_sheet()
    control = engine.control()
    control.body_transform = control.body_transform[:, :0]
    with pytest.raises(
        ValueError, match=r"body_transform has shape \(1, 0, 4, 4\); this model needs \(1, 1, 4, 4\).*press"
    ):
        engine.step(control)
    control = engine.control()
    control.body_transform[0, 0, 0, 3] = np.nan
    with pytest.raises(ValueError, match="body_transform holds values that are not finite"):
        engine.step(control)
    with pytest.raises(KeyError, match="no mesh 'tape'; available: ground, sheet, press"):
        engine.mesh_positions("tape")
    with pytest.raises(KeyError, match="no body 'hand'; available: press"):
        engine.body_transform("hand")
    engine.save(tmp_path / "a.npz")
    other = sheet_on_ground()
    with pytest.raises(ValueError, match="was saved from another model"):
        other.load(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"saved under other options \(dt 0.01 there, 0.02 here\).*any_options=True"):
        slower = pressed_sheet()
        slower.options = Options(dt=0.02, newton_tolerance=1e-3)
        slower.load(tmp_path / "a.npz")
    slower.load(tmp_path / "a.npz", any_options=True)
    (tmp_path / "b.npz").write_bytes(b"not a state")
    with pytest.raises(ValueError, match="is not a state file"):
        engine.load(tmp_path / "b.npz")
    state = engine.get_state()
    del state["v"]
    with pytest.raises(ValueError, match="state lacks the array 'v'"):
        engine.set_state(state)


def test_report_is_honest_about_its_budget():
    engine = sheet_on_ground(height=2e-3, newton_max_iterations=1, newton_tolerance=1e-6, contact_tolerance=1e-6)
    found = [engine.step() for _ in range(6)]
    short = [r for r in found if not r.converged]
    assert short and "not converged after 1 Newton iterations" in short[0].messages[0]
    assert short[0].newton_update > 1e-6 or not short[0].world_converged[0]
    assert min(r.min_distance for r in found) > 0.0  # still apart


def test_body_transform_and_control_speak_of_the_mesh_frame():
    builder = ModelBuilder(gravity=(0, 0, 0))
    vertices, triangles = shapes.box_surface((0.02, 0.02, 0.02))
    vertices = vertices - vertices.min(0)  # the mesh origin is a corner, not the centre of mass
    pose = np.eye(4)
    pose[:3, 3] = (0.1, 0.2, 0.3)
    builder.add_body("cube", vertices, triangles, ContactMaterial(), density=1000.0, transform=pose, driven=True)
    engine = Engine(builder.finalize(), Options(dt=0.01))
    assert np.allclose(engine.body_transform("cube"), pose)
    control = engine.control()
    assert np.allclose(control.body_transform[0, 0], pose)
    control.body_transform[0, 0, :3, 3] += (0.01, 0, 0.02)
    report = engine.step(control)
    assert np.allclose(engine.body_transform("cube"), control.body_transform[0, 0], atol=1e-12)
    assert np.allclose(engine.mesh_positions("cube"), vertices + control.body_transform[0, 0, :3, 3], atol=1e-12)
    assert report.drive_gap < 1e-12


def grasping_engine() -> Engine:
    """A falling, turning sheet above the ground and a free block moving beside it."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    vertices, triangles = shapes.grid_mesh(0.06, 0.04, 6, 4)
    rng = np.random.default_rng(0)
    builder.add_shell(
        "sheet", vertices, triangles, SOFT_SHEET, ContactMaterial(), velocity=0.1 * rng.normal(size=vertices.shape)
    )
    block(builder, "hand", size=(0.02, 0.03, 0.01), at=(0.03, 0.0, 0.0075), velocity=(0.1, -0.2, 0.0, 0.5, 0.3, -0.2))
    return Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-6, linear_tolerance=1e-8))


def test_grasp_and_release_keep_momentum_and_places():
    from engine import Grasp, Release
    from tests.engine.models import angular_momentum, linear_momentum

    engine = grasping_engine()
    engine.step()
    vertices = tuple(np.flatnonzero(engine.mesh_positions("sheet")[:, 0] > 0.02))
    before = engine.positions(), linear_momentum(engine), angular_momentum(engine)
    engine.apply([Grasp("sheet", vertices, "hand")])
    assert np.abs(engine.positions() - before[0]).max() < 1e-15
    scale = np.abs(before[1]).max(), np.abs(before[2]).max()
    assert np.abs(linear_momentum(engine) - before[1]).max() < 1e-12 * scale[0]
    assert np.abs(angular_momentum(engine) - before[2]).max() < 1e-12 * scale[1]
    assert np.array_equal(engine.grasped()["sheet"], vertices)
    held = engine.mesh_positions("sheet")[list(vertices)] @ engine.body_transform("hand")[:3, :3]
    for _ in range(10):
        engine.step()
    assert engine.report.converged
    moved = engine.mesh_positions("sheet")[list(vertices)] @ engine.body_transform("hand")[:3, :3]
    assert np.abs((moved - moved[0]) - (held - held[0])).max() < 1e-5  # they ride with the hand
    at_release = engine.positions(), linear_momentum(engine)
    engine.apply([Release("sheet")])
    assert engine.grasped() == {}
    assert np.abs(engine.positions() - at_release[0]).max() < 1e-15
    assert np.abs(linear_momentum(engine) - at_release[1]).max() < 1e-12 * scale[0]
    engine.step()


def test_grasps_are_part_of_the_state(tmp_path):
    from engine import Grasp

    engine = grasping_engine()
    engine.step()
    engine.apply([Grasp("sheet", (28, 29, 33, 34), "hand")])
    engine.step()
    engine.save(tmp_path / "held.npz")
    for _ in range(5):
        engine.step()
    other = grasping_engine()
    other.load(tmp_path / "held.npz")
    assert list(other.grasped()["sheet"]) == [28, 29, 33, 34]
    for _ in range(5):
        other.step()
    assert np.array_equal(engine.positions(), other.positions())
    other.reset()
    assert other.grasped() == {}
    assert np.array_equal(other.positions(), grasping_engine().positions())


def test_bad_edits_change_nothing():
    from engine import Grasp

    engine = grasping_engine()
    with pytest.raises(KeyError, match="no mesh 'tape'; available: sheet, hand"):
        engine.apply([Grasp("sheet", (0,), "hand"), Grasp("tape", (0,), "hand")])
    with pytest.raises(KeyError, match="no body 'claw'; available: hand"):
        engine.apply([Grasp("sheet", (0,), "claw")])
    with pytest.raises(ValueError, match=r"vertices of 'sheet' must lie in 0\.\.34; got 99\.\.99"):
        engine.apply([Grasp("sheet", (99,), "hand")])
    with pytest.raises(ValueError, match="legal edits: Grasp, Release"):
        engine.apply(["cut"])
    assert engine.grasped() == {}


def test_a_state_fits_only_its_own_materials(tmp_path):
    engine = sheet_on_ground()
    engine.save(tmp_path / "soft.npz")
    builder = ModelBuilder()
    vertices, triangles = shapes.grid_mesh(0.1, 0.1, 8, 8)
    stiffer = ShellMaterial(young=2e6, poisson=0.3, thickness=1e-3, density=1000.0)
    builder.add_shell("sheet", vertices + (0.0, 0.0, 0.01), triangles, stiffer, ContactMaterial())
    add_ground(builder)
    other = Engine(builder.finalize(), engine.options)
    with pytest.raises(ValueError, match="was saved from another model .*materials"):
        other.load(tmp_path / "soft.npz")


def test_a_tolerance_that_lets_things_float_is_warned_about():
    assert sheet_on_ground().warnings == ()
    loose = sheet_on_ground(newton_tolerance=0.09)
    assert "Options.newton_tolerance is 0.09 m/s but gravity changes velocities by only 0.0981" in loose.warnings[0]
