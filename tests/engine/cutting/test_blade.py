"""The blade cuts by pressure after two steps and never before; the operator's cut shows its ghost first."""

from __future__ import annotations

import numpy as np
import pytest

from bench.stress_run import IntersectionOracle
from engine import Cut, Engine, ModelBuilder
from engine.cutting.blade import BladeContact, BladeCutter
from engine.cutting.operator import OperatorCut
from tests.engine.cutting.cut_scenes import ACROSS, CONTACT, add_strip, options, taut_strip, tension
from tests.engine.cutting.meshes import pieces

EDGE = ((0.0, -0.02, 0.0), (0.0, 0.02, 0.0))
SPEED, DT = 0.006, 0.005


def wedge(half: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """A closed wedge whose edge is the y axis, the blade upward."""
    section = np.array([[-0.003, 0.01], [0.003, 0.01], [0.0, 0.0]])
    vertices = np.array([[x, y, z] for y in (-half, half) for x, z in section])
    faces = [[0, 1, 2], [3, 5, 4], [0, 2, 5], [0, 5, 3], [1, 4, 5], [1, 5, 2], [0, 3, 4], [0, 4, 1]]
    return vertices, np.array(faces)[:, ::-1]


def blade_scene(at: float = 0.0113, half: float = 0.02, side: float = 0.0, length: float = 0.1, **kwargs):
    """A taut strip pinned at both ends, and a driven blade over it at x = at."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    add_strip(builder, length=length, stretch=1.001)
    pose = np.eye(4)
    pose[:3, 3] = (at, side, 0.178e-3 + 0.25e-3)
    builder.add_body("blade", *wedge(half), CONTACT, density=7800.0, transform=pose, driven=True, gravity=False)
    engine = Engine(builder.finalize(), options(dt=DT, newton_tolerance=1e-3))
    edge = np.array(EDGE) * (1.0, half / 0.02, 1.0)
    return engine, BladeCutter(engine, "blade", edge, "strip", **kwargs)


def press(engine: Engine, cutter: BladeCutter, steps: int) -> list[tuple[int, list[Cut], float]]:
    """The blade goes down at 6 mm/s; (step, cuts, pressure) of each step."""
    log = []
    for k in range(steps):
        control = engine.control()
        control.body_transform[0, 0, 2, 3] -= SPEED * DT
        engine.step(control)
        made = cutter.cut()
        log.append((k, made, cutter.contacts["strip"].pressure))
    return log


def test_two_steps_above_the_threshold_cut_the_strip():
    engine, cutter = blade_scene()
    matched, watcher = blade_scene(enabled=False)
    log, uncut = press(engine, cutter, 60), press(matched, watcher, 60)
    above = [k for k, _, pressure in uncut if pressure > 1e3]
    cuts = [k for k, made, _ in log if made]
    assert len(cuts) == 1 and cuts[0] == above[1] == above[0] + 1  # the second of two steps in a row, no sooner
    assert not any(made for _, made, _ in uncut)
    assert pieces(engine.model.meshes["strip"].triangles) == 2
    assert pieces(matched.model.meshes["strip"].triangles) == 1
    contact = watcher.contacts["strip"]
    # pressure is force over the touching length times the width: the strip's 19 mm, and dhat
    assert contact.pressure == pytest.approx(contact.force / (0.019 * CONTACT.dhat), rel=0.02)
    assert contact.force == pytest.approx(np.abs(matched.signals().drive_force[0, 0, 2]), rel=0.1)
    assert not IntersectionOracle(engine.model, engine.positions()).intersects(engine.positions())
    for end in (-0.05005, 0.05005):
        assert tension(engine, end) < 0.05 * tension(matched, end)


def test_the_cut_lies_under_the_edge():
    engine, cutter = blade_scene(at=-0.0087)
    press(engine, cutter, 30)
    info = engine.model.meshes["strip"]
    lips = np.bincount(info.cut.seam, minlength=len(info.cut.seam))[info.cut.seam] > 1
    assert np.abs(info.rest[lips, 0] + 0.0087 / 1.001).max() < 0.5 * 0.019 / 6
    assert info.rest[lips, 1].min() < -0.0094 and info.rest[lips, 1].max() > 0.0094


def test_a_short_blade_cuts_as_far_as_it_touches():
    engine, cutter = blade_scene(half=0.006, side=-0.006)
    log = press(engine, cutter, 30)
    assert any(made for _, made, _ in log)
    info = engine.model.meshes["strip"]
    lips = np.bincount(info.cut.seam, minlength=len(info.cut.seam))[info.cut.seam] > 1
    assert pieces(info.triangles) == 1 and info.rest[lips, 1].min() < -0.0094 and info.rest[lips, 1].max() < 0.0045


def test_the_count_starts_anew_when_the_pressure_drops():
    engine, cutter = blade_scene(steps=3)
    forces = iter([2e3, 2e3, 0.0, 2e3, 2e3, 2e3, 2e3])
    cutter._read = lambda name: BladeContact(1.0, 0.01, 0.03, next(forces))
    assert [len(cutter.update()) for _ in range(7)] == [0, 0, 0, 0, 0, 1, 0]


def test_a_refused_cut_is_asked_for_again_only_after_the_blade_has_lifted():
    engine, cutter = blade_scene()
    pressed, light, lifted = BladeContact(1.0, 0.01, 0.03, 2e3), BladeContact(0.1, 0.01, 0.03, 10.0), BladeContact()
    contacts = iter([pressed] * 4 + [light] + [pressed] * 4 + [lifted] + [pressed] * 2)
    cutter._read = lambda name: next(contacts)
    asked = []
    for _ in range(12):
        due = cutter.update()
        asked.append(len(due))
        for cut in due:
            cutter.refuse(cut.mesh, "too close to the border")
    assert asked == [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] and cutter.refused == "too close to the border"
    cutter.forget()
    cutter._read = lambda name: pressed
    assert [len(cutter.update()) for _ in range(2)] == [0, 1]


def test_a_static_blade_has_its_edge_too():
    builder = ModelBuilder(gravity=(0, 0, 0))
    add_strip(builder)
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[:3, 3] = (0.01, 0.0, 0.01)
    builder.add_static("knife", *wedge(), CONTACT, transform=pose)
    cutter = BladeCutter(Engine(builder.finalize(), options()), "knife", EDGE, ["strip"])
    assert np.allclose(cutter.edge_now(), [[0.03, 0, 0.01], [-0.01, 0, 0.01]], atol=1e-12)
    assert cutter.cut() == [] and cutter.contacts["strip"].pressure == 0.0


def test_bad_blades_are_refused():
    engine, _ = blade_scene()
    with pytest.raises(KeyError, match="no mesh 'knife'; available: strip, blade"):
        BladeCutter(engine, "knife", EDGE, "strip")
    with pytest.raises(ValueError, match="mesh 'strip' is a shell; it must be a body or static"):
        BladeCutter(engine, "strip", EDGE, "strip")
    with pytest.raises(ValueError, match="mesh 'blade' is a body; it must be a shell"):
        BladeCutter(engine, "blade", EDGE, ["blade"])
    with pytest.raises(ValueError, match=r"BladeCutter\.edge is .* it must be two different places, \(2, 3\)"):
        BladeCutter(engine, "blade", ((0, 0, 0), (0, 0, 0)), "strip")
    with pytest.raises(ValueError, match=r"BladeCutter\.threshold is 0; it must be greater than 0"):
        BladeCutter(engine, "blade", EDGE, "strip", threshold=0)
    with pytest.raises(ValueError, match="the model has 2 worlds; a cut would change all of them"):
        batch = ModelBuilder(gravity=(0, 0, 0))
        add_strip(batch)
        batch.add_static("knife", *wedge(), CONTACT, transform=np.eye(4) + np.eye(4, k=3)[[2, 1, 0, 3]] * 0.05)
        BladeCutter(Engine(batch.finalize(2, check_start=False), options()), "knife", EDGE, "strip")


def test_the_operator_sees_a_ghost_before_the_cut():
    engine = taut_strip(stretch=1.05)
    operator = OperatorCut(engine)
    assert operator.ghost() == [] and not operator.armed
    with pytest.raises(ValueError, match=r"no cut is armed; call arm\(Cut\(...\)\) first"):
        operator.confirm()
    state = engine.get_state()
    (ghost,) = operator.arm(Cut("strip", ((0.021, -0.03, 1e-4), (0.021, 0.03, 0.0)), space="world"))
    assert all(np.array_equal(v, state[k]) for k, v in engine.get_state().items())  # nothing is changed yet
    assert np.abs(ghost[:, 0] - 0.021).max() < 0.5 * 0.019 / 6 and np.ptp(ghost[:, 1]) > 0.018
    x = engine.state.x.numpy()
    engine.state.x.assign(x + (0.0, 0.0, 0.01) * (np.abs(x[:, :1]) < 0.049))
    engine._refresh_points()
    assert operator.ghost()[0][:, 2] == pytest.approx(0.01)  # it lies on the sheet wherever that goes
    with pytest.raises(ValueError, match="parts nothing"):
        operator.arm(Cut("strip", ((1.0, 0.0), (1.0, 1.0))))
    assert operator.armed
    (made,) = operator.confirm()
    assert not operator.armed and made.space == "rest"
    assert pieces(engine.model.meshes["strip"].triangles) == 2
    engine.set_state(state)  # undo
    assert pieces(engine.model.meshes["strip"].triangles) == 1
    engine.apply([made])  # a recording replays the edit
    assert pieces(engine.model.meshes["strip"].triangles) == 2
    lips = engine.model.meshes["strip"].rest[engine.model.meshes["strip"].cut.vertices :]
    assert np.abs(lips[:, 0] * 1.05 - 0.021).max() < 0.5 * 0.019 / 6


def test_a_ghost_is_planned_anew_after_other_cuts():
    engine = taut_strip()
    operator = OperatorCut(engine)
    operator.arm(Cut("strip", ACROSS))
    engine.apply([Cut("strip", ((-0.02, -0.02), (-0.02, 0.02)))])
    assert len(operator.ghost()) == 1
    engine.apply([Cut("strip", ACROSS)])
    assert operator.ghost() == []
    operator.disarm()
    assert not operator.armed
