"""Adhesion and rolls in YAML: what they become, what is refused, and the tape scenes by their own measures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine import Cut, Engine
from engine.materials import BondAdhesive, FrontAdhesive, RccAdhesive
from scenes import SceneError, build_scene, load_config
from scenes.build_roll import tip_of
from scenes.measures import (
    Success,
    beginning,
    ideal_peel_force,
    length_off_roll,
    mean_between,
    pieces,
    stuck_share,
    stuck_vertices,
    success,
    swing_range,
    wrapped_turns,
)

SMALL = "entities:\n  r: {type: roll, turns: 1.5, free_length: 20 mm%s}\n"
STRIP = """
entities:
  plate: {type: static, shape: {type: box, size: [0.1, 0.1, 0.01]}, contact: {dhat: 0.2 mm}}
  strip: {type: strip, length: 40 mm, width: 20 mm, cells_across: 4, position: [0, 0, 5.25 mm], contact: {dhat: 0.2 mm}}
adhesion:
  - {mesh: strip, partners: [plate]%s}
"""


def build(tmp_path, text, *overrides):
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return build_scene(load_config(path, overrides))


def refusal(tmp_path, text):
    with pytest.raises(SceneError) as error:
        build(tmp_path, text)
    return str(error.value).replace(str(tmp_path) + "/", "")


# adhesion ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "material"),
    [
        ("", FrontAdhesive()),
        (", adhesive: {work: 0.1 kJ/m2}", FrontAdhesive(work=100.0)),
        (", adhesive: {law: front, rate_exponent: 0.3, rate_speed: 5 mm/s}", FrontAdhesive(263.0, 0.3, 5e-3)),
        (", adhesive: {law: rcc, stiffness_normal: 2 MPa/mm}", RccAdhesive(stiffness_normal=2e9)),
        (", adhesive: {law: rcc, scaling: paper, work: 1}", RccAdhesive(work=1.0, scaling="paper")),
        (", adhesive: {law: bond, break_force: 0.3 N}", BondAdhesive(break_force=0.3)),
    ],
)  # fmt: skip
def test_one_line_chooses_the_law(tmp_path, written, material):
    engine = Engine(build(tmp_path, STRIP % written).model)
    (term,) = engine.interfaces
    assert term.sticky.materials == [material]
    assert stuck_share(engine, "strip", "plate") == 1.0


def test_a_later_entry_holds_and_stuck_false_starts_free(tmp_path):
    text = STRIP % "" + "  - {mesh: strip, partners: [all], adhesive: {work: 5 J/m2}, stuck: false}\n"
    engine = Engine(build(tmp_path, text).model)
    (term,) = engine.interfaces
    assert set(term.sticky.materials) == {FrontAdhesive(work=5.0)}
    assert len(stuck_vertices(engine, "strip")) == 0


@pytest.mark.parametrize("side", ["positive", "negative"])
def test_only_the_sticky_side_sticks(tmp_path, side):
    engine = Engine(build(tmp_path, STRIP % f", side: {side}").model)
    assert stuck_share(engine, "strip", "plate") == (1.0 if side == "negative" else 0.0)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (", adhesive: {law: glue}", "adhesion[0].adhesive.law is 'glue'; legal values: front, rcc, bond"),
        (", adhesive: {law: bonds}", "did you mean 'bond'?"),
        (", adhesive: {law: rcc, rate_exponent: 1}", "unknown key 'rate_exponent' in adhesion[0].adhesive"),
        (", adhesive: {work: 263 N}", "'263 N' is a force; a surface energy belongs here, legal units: J/m2"),
        (", adhesive: {work: -1}", "adhesion[0].adhesive.work is -1; it must lie at or above 0"),
        (", side: up", "adhesion[0].side is 'up'; legal values: positive, negative, both"),
        ("}\n  - {mesh: stripe, partners: [plate]", "[1].mesh: there is no mesh 'stripe' (did you mean 'strip'?)"),
        ("}\n  - {mesh: strip, partners: [plat]", "[1].partners: there is no mesh 'plat' (did you mean 'plate'?)"),
        ("}\n  - {mesh: strip, partners: []", "adhesion[1].partners is empty; name meshes, or [all]"),
        ("}\n  - {mesh: strip, partners: [plate], side: both", "a mesh has one sticky side"),
    ],
)  # fmt: skip
def test_adhesion_refuses(tmp_path, written, words):
    text = refusal(tmp_path, STRIP % written)
    assert words in text and text.startswith("scene.yaml:")


# rolls ---------------------------------------------------------------------------------------------------------------


def test_a_roll_is_a_strip_a_core_and_a_cluster(tmp_path):
    scene = build(tmp_path, SMALL % "")
    assert set(scene.model.meshes) == {"r", "r_core"} == set(scene.visuals)
    assert list(scene.model.bodies) == ["r_core", "r_cluster"] and not scene.model.joints
    spec = scene.model.rolls["r"]
    assert (spec.mesh, spec.columns, spec.collar_rows, spec.rows) == ("r", 7, 10, scene.rolls["r"].num_rows)
    assert spec.release_distance == pytest.approx(5 * 0.18e-3)
    assert scene.options.candidate_slack == pytest.approx(0.25 * 0.18e-3)
    engine = Engine(scene.model, scene.options)
    core, layers = stuck_vertices(engine, "r", "r_core"), stuck_vertices(engine, "r", "r")
    assert len(core) > 200 and len(layers) > 100 and not np.intersect1d(core, layers).size
    assert engine.rolls["r"].front[0] == scene.rolls["r"].num_wound_rows - 10


@pytest.mark.parametrize("model", ["Coh-R", "Coh-F", "Bond-R", "Bond-F"])
def test_one_line_chooses_the_model(tmp_path, model):
    engine = Engine(build(tmp_path, SMALL % f", model: {model}").model)
    (term,) = engine.interfaces
    assert term.law == ("front" if model.startswith("Coh") else "bond")
    assert ("r" in engine.rolls) == model.endswith("R")
    assert len(stuck_vertices(engine, "r")) > 300


def test_each_pair_has_its_own_numbers(tmp_path):
    text = SMALL % (
        ", bond: {break_force: 0.2}, adhesive: {work: 50 J/m2}, core_adhesive: {law: rcc, work: 70 J/m2}"
        ", collar_rows: 4, release_distance: 2 mm"
    )
    scene = build(tmp_path, text + "adhesion:\n  - {mesh: r, partners: [r_core], adhesive: {work: 9 J/m2}}\n")
    engine = Engine(scene.model)
    assert {m.work for term in engine.interfaces for m in term.sticky.materials} == {50.0, 9.0}
    assert scene.model.rolls["r"].collar_rows == 4 and scene.model.rolls["r"].release_distance == 2e-3
    engine = Engine(build(tmp_path, text, "r.model=Bond-F").model)
    assert set(engine.interfaces[0].sticky.materials) == {BondAdhesive(break_force=0.2)}


def test_a_preset_gives_the_numbers_and_keys_replace_them(tmp_path):
    text = "entities:\n  r: {type: roll, preset: scotch_3850, turns: 1, width: 36 mm, core_density: 900}\n"
    spec = build(tmp_path, text).rolls["r"].spec
    assert (spec.width, spec.turns, spec.core_density, spec.cells_across) == (pytest.approx(0.036), 1.0, 900.0, 12)
    assert spec.material.young == 2e9 and spec.core_outer_radius == 0.041


@pytest.mark.parametrize("origin", ["core", "tip"])
def test_position_places_the_core_or_the_tip(tmp_path, origin):
    scene = build(tmp_path, SMALL % f", origin: {origin}, position: [0.1, 0.2, 0.3], rotation: [0, -90 deg, 0]")
    engine, asset = Engine(scene.model), scene.rolls["r"]
    tip = engine.mesh_positions("r")[-7:].mean(axis=0)
    core = engine.body_transform("r_core")[:3, 3]
    assert (core if origin == "core" else tip) == pytest.approx([0.1, 0.2, 0.3], abs=1e-9)
    x, _, z = tip_of(asset)
    assert tip - core == pytest.approx([-z, 0.0, x], abs=1e-9), "the free end points up"


def test_a_bearing_on_a_body(tmp_path):
    text = SMALL % ", axle: bearing, axle_body: hub"
    text += "  hub: {type: body, driven: true, density: 1000, shape: {type: cylinder, radius: 8 mm, height: 30 mm}}\n"
    joint = build(tmp_path, text).model.joints["r_axle"]
    assert joint.kind == "revolute" and (joint.parent, joint.child) == (0, 1)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (", model: Coh-X", "r.model is 'Coh-X' (did you mean 'Coh-R'?); legal values: Coh-R, Coh-F, Bond-R, Bond-F"),
        (", preset: duct", "entities.r.preset is 'duct'; legal values: cloth_19mm, scotch_3850"),
        (", cells_across: 5", "r.cells_across is 5; it must be even"),
        (", core_outer_radius: 10 mm", "r.core_outer_radius is 0.01; it must be greater than core_inner_radius"),
        (", axle: bearing, axle_body: hub", "entities.r.axle_body: there is no body 'hub'"),
        (", axle_body: r_core", "entities.r has 'axle_body' but axle is free; write axle: bearing"),
        (", adhesive: {law: bond}", "entities.r.adhesive.law is 'bond'; legal values: front, rcc"),
        (", preset: none", "entities.r needs 'preset', 'asset' or at least 'width'"),
        (", asset: mine.npz", "entities.r.asset: there is no file"),
        (", attach: [{side: +x, body: hand}]", "there is no body 'hand'"),
        (", turn: 3", "unknown key 'turn' in entities.r (did you mean 'turns'?)"),
    ],
)  # fmt: skip
def test_rolls_refuse(tmp_path, written, words):
    text = refusal(tmp_path, SMALL % written)
    assert words in text and text.startswith("scene.yaml:2:")


def test_a_file_that_is_no_roll_and_a_roll_with_other_numbers_are_refused(tmp_path):
    (tmp_path / "mine.npz").write_bytes(b"nothing")
    text = "entities:\n  r: {type: roll, asset: mine.npz%s}\n"
    assert "is not a roll file" in refusal(tmp_path, text % "")
    assert "r has both 'asset' and 'turns'; a wound roll brings its own numbers" in refusal(
        tmp_path, text % ", turns: 3"
    )


# measures ------------------------------------------------------------------------------------------------------------


def test_ideal_peel_force():
    assert ideal_peel_force(263.0, 0.019, math.pi) == pytest.approx(2.4985)
    assert ideal_peel_force(100.0, 0.01, math.pi / 2) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="peel angle is 0.0; it must lie above 0 and at most at pi"):
        ideal_peel_force(1.0, 1.0, 0.0)


def test_mean_and_swing_of_signals():
    time = np.arange(10) * 0.1
    assert mean_between(time, np.arange(10.0), 0.2, 0.5) == pytest.approx(3.0)
    with pytest.raises(ValueError, match="no sample lies between 5 and 6 s; there are 10"):
        mean_between(time, time, 5.0, 6.0)
    angle = np.radians([-10.0, 0.0, 25.0])
    core = 0.2 * np.column_stack([np.sin(angle), 0 * angle, -np.cos(angle)]) + 1.0
    assert np.degrees(swing_range(np.ones((3, 3)), core)) == pytest.approx(35.0)


def test_measures_name_what_they_do_not_know(tmp_path):
    engine = Engine(build(tmp_path, STRIP % "").model)
    with pytest.raises(KeyError, match="no mesh 'roll'; available: plate, strip"):
        stuck_vertices(engine, "roll")
    with pytest.raises(KeyError, match="scene 'strip_on_box' has no measure of success; those that have: peel, payout"):
        success("strip_on_box", engine)


def test_no_scene_has_succeeded_at_its_start():
    for name in ("peel", "payout", "stick", "wrap"):
        engine = Engine(build_scene(load_config(name)).model)
        verdict = success(name, engine, beginning(engine))
        assert isinstance(verdict, Success) and not verdict.done, (name, verdict)


def test_the_end_of_the_tape_starts_stuck_to_the_bar():
    engine = Engine(build_scene(load_config("wrap")).model)
    assert 14 <= len(stuck_vertices(engine, "roll", "bar")) <= 80
    assert 0.02 < wrapped_turns(engine, "roll", "bar") < 0.25


def test_peel_force_of_the_fixture():
    """Six seconds of the fixture: the mean over one cell of front travel is Rivlin's and Kendall's within 3 %."""
    scene = build_scene(load_config("peel"))
    engine, dt = Engine(scene.model, scene.options), scene.options.dt
    time, force = [], []
    path = [((0, 0, 0.012), 0.3), ((-0.04, 0, 0.012), 0.9), ((-0.02, 0, -0.012), 0.5), ((-0.03, 0, 0), 5.0)]
    for way, seconds in path:
        for _ in range(round(seconds / dt)):
            control = engine.control()
            control.body_transform[0, 0, :3, 3] += np.array(way) * dt / seconds
            engine.step(control)
            time.append(engine.state.time[0])
            force.append(np.linalg.norm(engine.signals().drive_force[0, 0]))
    clamp, strip = engine.body_transform("clamp")[:3, 3], engine.mesh_positions("strip")
    held = strip[stuck_vertices(engine, "strip", "plate")]
    front = held[:, 0].max()
    angle = math.pi - math.atan2(clamp[2] - 0.005 - held[:, 2].mean(), front - clamp[0])
    period = 2.0 * (0.3 / 94) / 6e-3  # the front runs at half the speed of the clamp
    mean = mean_between(time, force, time[-1] - period, time[-1] + dt)
    assert mean == pytest.approx(ideal_peel_force(263.0, 0.019, angle), rel=0.04)
    assert max(force[-round(period / dt) :]) > 1.1 * mean, "it ripples from cell to cell"


def test_unwind_is_done_when_tape_is_drawn_off_stuck_and_cut():
    scene = build_scene(load_config("unwind"))
    engine = Engine(scene.model, scene.options)
    verdict = success("unwind", engine)
    assert not verdict.done and verdict.reached == "85 mm are off the roll, 0 points stick to the box"
    rest = engine.model.meshes["roll"].rest[:, 0]
    at = rest.max() - 0.03
    engine.apply([Cut("roll", ((at, -0.02), (at, 0.02)))])
    assert len(np.unique(pieces(engine, "roll"))) == 2 and not success("unwind", engine).done
    assert length_off_roll(engine, "roll") == pytest.approx(0.085, abs=0.004)
