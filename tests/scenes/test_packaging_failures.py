"""What goes wrong in packaging, told by signals: tape that was not pressed comes off, flaps open without a seal, a
missed cut leaves the strip connected, a dropped dispenser unwinds. Each beside the same with the step done."""

from __future__ import annotations

import numpy as np
import pytest

from app.tape import TapeReader
from engine import Cut, Engine
from scenes.build import build_scene
from scenes.carton import FLAPS
from scenes.config import load_config
from scenes.measures import ideal_peel_force, pieces, stuck_vertices
from scenes.packaging import FLAT

WORK, WIDTH = 100.0, 0.01  # [J/m2], [m] of the strip that is pulled off
STUCK_BEFORE = 0.008  # [m] of it, without pressing


def load(tmp_path, text: str):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    scene = build_scene(load_config(path))
    return scene, Engine(scene.model, scene.options)


def keyframes(*rows) -> str:
    return ", ".join(f"{{time: {t} s, translation: [{x} mm, 0, {z} mm]}}" for t, x, z in rows)


# tape that was not pressed --------------------------------------------------------------------------------------------
PULLED = """
gravity: [0, 0, 0]
options: {dt: 10 ms, newton_tolerance: 1 mm/s, linear_tolerance: 0.01}
entities:
  step:
    {type: static, shape: {type: box, size: [8 mm, 20 mm, 6 mm]}, position: [-16 mm, 0, -3 mm],
     contact: {dhat: 0.2 mm}}
  plate:
    {type: static, shape: {type: box, size: [40 mm, 20 mm, 5 mm]}, position: [8.5 mm, 0, -3.5 mm],
     contact: {dhat: 0.2 mm}}
  strip:
    {type: strip, length: 40 mm, width: 10 mm, cells_across: 3, position: [0, 0, 0.25 mm], contact: {dhat: 0.2 mm},
     material: {young: 0.5 GPa, thickness: 50 um}, attach: [{side: +x, body: clamp}]}
  clamp:
    {type: body, shape: {type: box, size: [2 mm, 12 mm, 2 mm]}, position: [20 mm, 0, 1.8 mm], density: 1000,
     driven: true, motion: {keyframes: [{time: 0}, {time: 0.3 s}, CLAMP]}}
  finger:
    {type: body, shape: {type: box, size: [24 mm, 14 mm, 3 mm]}, position: [3 mm, 0, 4 mm], density: 1000, driven: true,
     force_limit: 10 N, contact: {dhat: 0.2 mm}, motion: {keyframes: [{time: 0}, FINGER]}}
adhesion:
  - {mesh: strip, partners: [step, plate], adhesive: {law: front, work: 100 J/m2}}
ignore: [[clamp, plate], [clamp, finger], [finger, step]]
"""


@pytest.mark.parametrize("pressed", [True, False])
def test_tape_that_was_not_pressed_comes_off_when_pulled(tmp_path, pressed):
    """It bridges a step of one millimetre and sticks to the upper end alone. Pulled back over itself, it gives no
    resistance where it was not pressed, and the force of the peel law where it was."""
    push = keyframes((0.12, 0, -4), (0.2, 0, -4), (0.3, 0, 15), (0.4, 60, 15)) if pressed else keyframes((0.3, 60, 15))
    text = PULLED.replace("CLAMP", keyframes((1.0, -28, 28))).replace("FINGER", push)
    scene, engine = load(tmp_path, text)
    force, held = [], []
    for k in range(100):
        control = engine.control()
        scene.control_motion(control, (k + 1) * scene.options.dt)
        engine.step(control)
        force.append(np.linalg.norm(engine.signals().drive_force[0, 0]))
        held.append(len(stuck_vertices(engine, "strip", "plate")))
    force, last = np.array(force), np.mean(force[-15:])
    if not pressed:
        assert held[-1] == 0 and last < 0.05 * WORK * WIDTH
        return
    assert held[28] >= 32 and held[-1] >= 12, "it holds where the finger was"
    front = engine.mesh_positions("strip")[stuck_vertices(engine, "strip", "plate"), 0].max()
    clamp = engine.body_transform("clamp")[:3, 3]
    angle = np.pi - np.arctan2(clamp[2], clamp[0] - front)  # between the pull and what is stuck, to the left
    assert last == pytest.approx(ideal_peel_force(WORK, WIDTH, angle), rel=0.2)


# flaps without a seal -------------------------------------------------------------------------------------------------
SPRUNG = """
gravity: [0, 0, 0]
options: {dt: 1/30 s, newton_tolerance: 10 mm/s}
entities:
  carton:
    {type: carton, size: [60 mm, 60 mm, 40 mm], open_angle: 0, open_angle_sides: 0,
     crease: {stiffness: 0.04, yield_force: 0.01, damping: 0.001, rest: 2}}
"""
TAPED = """  tape:
    {type: strip, length: 56 mm, width: 20 mm, cells_across: 4, position: [0, 0, 47.75 mm], contact: {dhat: 0.2 mm},
     material: {young: 2 GPa, thickness: 79 um}}
adhesion:
  - {mesh: tape, partners: [carton.front, carton.back], adhesive: {law: front, work: 600 J/m2}}
"""


@pytest.mark.parametrize("sealed", [True, False])
def test_flaps_open_without_a_seal(tmp_path, sealed):
    """Creases spring back by a quarter of a radian, 10 mN m each; tape over the seam holds them down."""
    _, engine = load(tmp_path, SPRUNG + (TAPED if sealed else ""))
    for _ in range(10):
        engine.step()
    angle = np.array([engine.joint_position(f"carton.{side}_crease") for side in FLAPS])
    if sealed:
        assert angle.max() < 0.5 * FLAT
        assert min(len(stuck_vertices(engine, "tape", f"carton.{side}")) for side in ("front", "back")) > 20
    else:
        assert angle[:2].min() > 2.0 * FLAT


# the dispenser beside a table's edge, its tape stuck to the table -----------------------------------------------------
LAID = """
options: {dt: 1/60 s, newton_tolerance: 10 mm/s}
entities:
  table: {type: static, shape: {type: box, size: [30 mm, 60 mm, 20 mm]}, position: [18.7 mm, 0, -17.61 mm]}
  gun:
    {type: dispenser, rotation: [0, -1.3 rad, 0], held: HELD, density: DENSITY, tail: 40 mm,
     roll: {turns: 1.5, cells_across: 6, model: Coh-R, adhesive: {law: front, work: 60 J/m2}}}
adhesion:
  - {mesh: gun.tape, partners: [table], adhesive: {law: front, work: 400 J/m2}}
"""


def laid(tmp_path, held: str, density: float = 600.0):
    scene, engine = load(tmp_path, LAID.replace("HELD", held).replace("DENSITY", f"{density:g}"))
    assert len(stuck_vertices(engine, "gun.tape", "table")) > 50
    return scene, engine, TapeReader(engine, scene.rolls)


@pytest.mark.parametrize("missed", [True, False])
def test_a_missed_cut_leaves_the_strip_connected(tmp_path, missed):
    """Taken away, the dispenser is held by the tape and its roll turns; after a cut nothing holds it."""
    _, engine, reader = laid(tmp_path, "true")
    reader.read()  # turns are counted from here
    if not missed:
        rest = engine.model.meshes["gun.tape"].rest
        at = rest[:, 0].max() - 0.034
        engine.apply([Cut("gun.tape", ((at, -0.01), (at, 0.01)))])
    target = engine.body_transform("gun")
    pull = []
    for _ in range(8):
        control = engine.control()
        target[0, 3] -= 2e-3
        control.body_transform[0, 0] = target
        engine.step(control)
        pull.append(np.linalg.norm(engine.signals().drive_force[0, 0]))
    piece = pieces(engine, "gun.tape")
    assert len(np.unique(piece)) == (1 if missed else 2)
    assert len(stuck_vertices(engine, "gun.tape", "table")) > 50
    if missed:
        assert pull[-1] > 1.0 and reader.read()["rolls"]["gun.tape"]["turned"] > 0.3
    else:
        assert max(pull[1:]) < 0.2 and abs(reader.read()["rolls"]["gun.tape"]["turned"]) < 0.01


@pytest.mark.parametrize("density, unwinds", [(6000.0, True), (600.0, False)])
def test_a_dropped_dispenser_unwinds(tmp_path, density, unwinds):
    """By its weight, when that is more than the force that peels tape off the roll, 60 J/m2 x 19 mm = 1.1 N: one of
    4.8 N does, one of 0.5 N hangs from its tape."""
    scene, engine, reader = laid(tmp_path, "false", density)
    assert not scene.tools
    before = reader.read()["rolls"]["gun.tape"]
    for _ in range(10 if unwinds else 6):
        engine.step()
        now = reader.read()["rolls"]["gun.tape"]
    fallen = -engine.body_transform("gun")[2, 3]
    if unwinds:
        assert now["payout"] - before["payout"] > 0.005 and fallen > 0.025 and now["turned"] > 0.3
    else:
        assert now["payout"] == before["payout"] and fallen < 0.02
