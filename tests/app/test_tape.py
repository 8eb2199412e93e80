"""What the window is told of tape, the colours made of it, and `tacktile tape`."""

from __future__ import annotations

import math
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import app
from app.frame import Frame
from app.settings import Settings
from app.tape import TapeReader, adhesive_pairs, edit_adhesive, free_rows, strip_rows, strip_tension, tape_reader
from app.tape_cli import work_from_peel
from app.view import palette
from app.view.state import ViewState
from app.view.tape_colors import LEGEND, NAMES, categories, colors, front_line, shown_names
from engine import Engine
from engine.tape.asset import load_roll
from engine.tape.winding import RollSpec, wind_roll
from scenes import build_scene, load_config

DT = 0.01


@pytest.fixture(scope="module")
def roll():
    return wind_roll(RollSpec(turns=1.5, free_length=0.06))


def flat_stretch(roll, along: float, across: float):
    """Vertices of the strip laid flat and stretched: factors along and across."""
    x = roll.rest_vertices.copy()
    x[:, 0] *= along
    x[:, 1] *= across
    return x


def tension_of(roll, x, free: int) -> float:
    return strip_tension(roll.spec, roll.rest_vertices, roll.triangles, x, free)


def test_tension_is_the_membranes(roll):
    m, spec = roll.spec.material, roll.spec
    stretch = 1.01
    strain = 0.5 * (stretch**2 - 1.0)
    narrow = math.sqrt(1.0 - 2.0 * m.poisson * strain)  # free sides: E_yy = -nu E_xx
    expected = m.young * m.thickness * spec.width * strain * stretch
    assert tension_of(roll, flat_stretch(roll, stretch, narrow), 15) == pytest.approx(expected, rel=1e-9)
    held = expected / (1.0 - m.poisson**2)  # held sides: plane strain across
    assert tension_of(roll, flat_stretch(roll, stretch, 1.0), 15) == pytest.approx(held, rel=1e-9)
    assert tension_of(roll, flat_stretch(roll, 0.99, 1.0), 15) < 0.0


def test_tension_is_read_next_to_the_roll_and_needs_some_tape(roll):
    x, columns = roll.rest_vertices.copy(), roll.spec.cells_across + 1
    first = roll.num_rows - 10  # of ten free rows
    x[(roll.num_rows - 1) * columns :, 0] += 1e-4  # the outermost row of cells is stretched by what holds the end
    x[: first * columns, 0] -= 1e-4  # and so is the one at the front
    assert tension_of(roll, x, 10) == pytest.approx(0.0, abs=1e-6)
    x = flat_stretch(roll, 1.01, 1.0)
    assert tension_of(roll, x, 5) > 1.0 and tension_of(roll, x, 4) == 0.0 and tension_of(roll, x, 0) == 0.0


def test_free_rows_end_at_the_last_stuck_point(roll):
    columns, row = roll.spec.cells_across + 1, strip_rows(roll.rest_vertices, roll.spec.cell)
    assert np.array_equal(row, roll.row_of_point)
    assert free_rows(row, np.zeros(0, int)) == roll.num_rows
    assert free_rows(row, np.arange(len(roll.vertices))) == 0
    assert free_rows(row, np.array([3, 5 * columns + 2])) == roll.num_rows - 6


def test_points_that_a_cut_added_count_to_the_row_further_in(roll):
    rest = np.vstack([roll.rest_vertices, roll.rest_vertices[:7] + (0.4 * roll.spec.cell, 0.0, 0.0)])
    assert strip_rows(rest, roll.spec.cell)[-7:].tolist() == [0] * 7


@pytest.fixture(scope="module")
def paid_out():
    """`payout` with two turns: the hub moved until the front has advanced, and all that was read meanwhile."""
    scene = build_scene(load_config("payout", ["roll.turns=2"]))
    engine = Engine(scene.model, scene.options)
    reader = tape_reader(SimpleNamespace(scene=scene, engine=engine))
    rows = []
    start = reader.read()
    for _ in range(260):
        control = engine.control()
        control.body_transform[0, 0, 0, 3] -= 0.025 * DT
        engine.step(control)
        now = reader.read()
        force = float(np.linalg.norm(engine.signals().drive_force[0, 0]))
        rows.append({**now["rolls"]["roll"], "force": force, "gap": np.abs(engine.signals().drive_gap).max()})
        begun = start["rolls"]["roll"]
        if rows[-1]["front"] < begun["front"] - 2 and rows[-1]["free_rows"] > begun["free_rows"] + 1:
            break
    return SimpleNamespace(scene=scene, engine=engine, reader=reader, start=start, rows=rows, now=now)


def test_before_anything_moves(paid_out):
    start, asset = paid_out.start["rolls"]["roll"], paid_out.scene.rolls["roll"]
    assert start["turned"] == 0.0 and abs(start["tension"]) < 1e-3
    assert start["free_rows"] == asset.num_rows - asset.num_wound_rows
    assert start["payout"] == pytest.approx(0.03, abs=1e-9 + 0.5 * asset.spec.cell)
    assert start["front"] == asset.num_wound_rows - 10 and start["collar"] == 10
    damage = paid_out.start["damage"]["roll"].reshape(asset.num_rows, -1)
    assert damage.shape[1] == 7 and (damage[:30] == 0.0).all(), "on the core"
    assert (damage[50:70] == 0.0).all(), "layer on layer"
    assert (damage[-start["free_rows"] :] == 1.0).all()


def test_wound_rows_set_aside_behind_the_cluster_are_intact():
    scene = build_scene(load_config("payout", ["roll.turns=8"]))
    engine = Engine(scene.model, scene.options)
    (term,) = engine.interfaces
    assert (~term.numbering.present).sum() > 500
    damage = tape_reader(SimpleNamespace(scene=scene, engine=engine)).read()["damage"]["roll"].reshape(-1, 7)
    assert (damage[50:330] == 0.0).all()


def test_payout_turns_the_hub_and_lengthens_the_free_end(paid_out):
    asset, rows, start = paid_out.scene.rolls["roll"], paid_out.rows, paid_out.start["rolls"]["roll"]
    assert rows[-1]["front"] < start["front"]
    assert rows[-1]["turned"] > np.radians(30.0), "positive as tape comes off"
    assert rows[-1]["payout"] > start["payout"]
    assert rows[-1]["payout"] == pytest.approx(rows[-1]["free_rows"] * asset.spec.cell)
    damage = paid_out.now["damage"]["roll"].reshape(asset.num_rows, -1)
    gone = rows[-1]["free_rows"]
    assert (damage[-gone:] == 1.0).all() and (damage[-gone - 1] < 1.0).any()


def test_tension_agrees_with_the_force_on_the_hub(paid_out):
    late = [row for row in paid_out.rows if row["force"] > 1.0]
    assert len(late) > 10
    for row in late:
        assert row["tension"] == pytest.approx(row["force"], rel=0.05)


def test_signals_of_a_step_in_which_the_front_advances_are_those_of_the_step(paid_out):
    fronts = [row["front"] for row in paid_out.rows]
    advanced = [k for k in range(1, len(fronts)) if fronts[k] < fronts[k - 1]]
    assert len(advanced) >= 2
    for k in advanced:
        before, here = paid_out.rows[k - 1], paid_out.rows[k]
        assert abs(here["force"] - before["force"]) < 2.0 and here["gap"] < 1e-4


def test_turns_are_counted_anew_after_a_jump(paid_out):
    reader = TapeReader(paid_out.engine, paid_out.scene.rolls)
    assert reader.read()["rolls"]["roll"]["turned"] == 0.0
    paid_out.reader.reset()
    assert paid_out.reader.read()["rolls"]["roll"]["turned"] == 0.0


def test_a_scene_without_adhesion_has_no_reader():
    assert tape_reader(SimpleNamespace(engine=SimpleNamespace(), scene=SimpleNamespace())) is None
    assert tape_reader(SimpleNamespace(engine=SimpleNamespace(interfaces=()), scene=SimpleNamespace())) is None


def test_an_edit_of_the_adhesive_changes_the_pull(paid_out):
    engine = paid_out.engine
    pairs = {(p["mesh"], p["partner"]): (p["value"], p["unit"]) for p in adhesive_pairs(engine)}
    assert pairs == {("roll", "roll"): (263.0, "J/m2"), ("roll", "roll_core"): (263.0, "J/m2")}
    said = edit_adhesive(engine, {"mesh": "roll", "partner": "roll", "value": 60.0})
    assert said == "roll on roll: 60 J/m2"
    assert {p["partner"]: p["value"] for p in adhesive_pairs(engine)} == {"roll": 60.0, "roll_core": 263.0}
    before = np.mean([row["force"] for row in paid_out.rows[-10:]])
    force = []
    for _ in range(40):
        control = engine.control()
        control.body_transform[0, 0, 0, 3] -= 0.025 * DT
        engine.step(control)
        force.append(float(np.linalg.norm(engine.signals().drive_force[0, 0])))
    assert np.mean(force[-10:]) < 0.5 * before


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"mesh": "roll", "partner": "roll", "value": -1.0}, "work of roll on roll is -1.0; it must be a number from"),
        ({"mesh": "roll", "partner": "roll", "value": "much"}, "is 'much'; it must be a number"),
        ({"mesh": "roll", "partner": "hub", "value": 1.0}, "roll does not stick to hub; pairs: roll on roll, roll"),
        ({"mesh": "tape", "partner": "roll", "value": 1.0}, "tape does not stick to roll"),
    ],
)  # fmt: skip
def test_edits_of_the_adhesive_are_refused(paid_out, edit, words):
    with pytest.raises((ValueError, KeyError)) as error:
        edit_adhesive(paid_out.engine, edit)
    assert words in str(error.value)


# colours -------------------------------------------------------------------------------------------------------------


def test_categories_of_a_roll():
    damage = np.repeat([0.0, 0.0, 0.2, 0.9, 1.0, 0.0, np.nan], 2)
    roll, row = {"front": 2, "collar": 2, "free_rows": 3}, np.repeat(np.arange(7), 2)
    assert categories(damage, roll, row).reshape(-1, 2)[:, 0].tolist() == [0, 0, 1, 1, 2, 3, 2]
    whole = {"front": 0, "collar": 0, "free_rows": 3}
    assert categories(damage, whole, row).reshape(-1, 2)[:, 0].tolist() == [0, 0, 0, 0, 2, 3, 2], "F: no collar"
    assert categories(np.array([0.0, 0.5, 1.0])).tolist() == [3, 3, 2]


def test_colors_are_those_of_the_legend():
    assert set(NAMES) | {"front"} == set(LEGEND) == set(palette.TAPE)
    assert colors(np.arange(4)).tolist() == [list(palette.TAPE[name]) for name in NAMES]
    assert shown_names({}) == ["bonded", "free", "front"] and shown_names({"roll": 1}) == list(LEGEND)


def test_front_line_runs_between_free_and_held():
    x = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0]], float)
    triangles = np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]])
    free = x[:, 0] > 1.5
    line = front_line(x, triangles, free)
    assert line.shape == (2, 2, 3) and np.allclose(line[:, :, 0], 1.5), "halfway between x = 1 and x = 2"
    assert sorted(line[:, :, 1].ravel().tolist()) == [0.0, 0.5, 0.5, 1.0], "without a hole"
    assert len(front_line(x, triangles, np.ones(6, bool))) == len(front_line(x, triangles, np.zeros(6, bool))) == 0


def frame(index):
    empty = SimpleNamespace(newton_iterations=1, stage_seconds={})
    return Frame(index=index, stepped=True, time_sim=0.01 * index, time_wall=0.0, time_mono=0.0, dt=DT, report=empty)


def test_the_view_keeps_the_numbers_of_the_tape_and_forgets_them_after_a_reset():
    state = ViewState(Settings())
    numbers = {"tension": 1.5, "payout": 0.1, "turned": 0.5, "front": 3}
    info = {"forces": {"hub": np.array([3.0, 0.0, 4.0])}, "tape": {"rolls": {"roll": numbers}, "damage": {}}}
    state.take(frame(1), info)
    state.take(frame(2), info)
    assert {k: list(v) for k, v in state.tape_traces.items()} == {
        "peel": [5.0, 5.0], "tension": [1.5, 1.5], "payout": [0.1, 0.1], "turned": [0.5, 0.5]
    }  # fmt: skip
    state.take(frame(1), {"forces": {}, "tape": {}})
    assert state.tape_traces == {}


def test_only_a_sticky_scene_has_a_tape_panel():
    state = ViewState(Settings())
    assert not state.sticky
    state.scene = SimpleNamespace(model=SimpleNamespace(interfaces=()))
    assert not state.sticky
    state.scene = SimpleNamespace(model=SimpleNamespace(interfaces=(object(),)))
    assert state.sticky


# tacktile tape -------------------------------------------------------------------------------------------------------


def invoke(*args):
    result = CliRunner().invoke(app, ["tape", *args], env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
    return result.exit_code, re.sub(r"\x1b\[[0-9;]*m", "", result.output)


@pytest.mark.parametrize(("angle", "factor"), [(180, 2.0), (90, 1.0), (60, 0.5), (120, 1.5)])
def test_work_from_a_peel_test(angle, factor):
    assert work_from_peel(2.5, 0.019, math.radians(angle)) == pytest.approx(factor * 2.5 / 0.019)


def test_calibrate_prints_lines_that_a_scene_takes(tmp_path):
    code, text = invoke("calibrate", "--force", "2.5N", "--width", "19mm", "--angle", "180")
    assert code == 0 and "adhesive: {law: front, work: 263.2 J/m2}" in text
    assert "(1 - cos angle)" in text and "steady force" in text
    scene = tmp_path / "scene.yaml"
    peel = os.path.relpath(load_config("peel").path, tmp_path)
    scene.write_text(f"include: {peel}\n" + text, encoding="utf-8")
    assert load_config(scene).file.adhesion[0].adhesive.work == pytest.approx(263.2)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--force", "0", "--width", "19mm"), "--force is 0 N; it must be greater than 0"),
        (("--force", "2.5N", "--width", "-1mm"), "--width is -0.001 m; it must be greater than 0"),
        (("--force", "2.5kg", "--width", "19mm"), "--force: '2.5kg' is a mass; a force belongs here, legal units: N"),
        (("--force", "2.5N", "--width", "19mm", "--angle", "190"), "it must lie above 0 and at most at 180"),
        (("--force", "2.5N", "--width", "19mm", "--angle", "flat"), "--angle 'flat' is not an angle in degrees"),
    ],
)
def test_calibrate_refuses(args, words):
    code, text = invoke("calibrate", *args)
    assert code == 2 and words in text and "Traceback" not in text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("duct",), "there is no preset 'duct'; legal: cloth_19mm, scotch_3850"),
        (("cloth_19mm",), "say where the roll goes: -o FILE.npz"),
        (("cloth_19mm", "-o", "roll.txt"), "the file must end in .npz"),
        (("cloth_19mm", "-o", "nowhere/roll.npz"), "there is no folder"),
        (("cloth_19mm", "-o", "roll.npz", "--turns", "200"), "turns is 200.0; it must lie in 1..64"),
        (("cloth_19mm", "-o", "roll.npz", "--width", "19kg"), "--width: '19kg' is a mass; a length belongs here"),
        (("cloth_19mm", "-o", "roll.npz", "--cells-across", "5"), "cells_across is 5; it must be even"),
        (("cloth_19mm", "-o", "roll.npz", "--young", "-1"), "young is -1.0; it must be greater than 0"),
    ],
)
def test_wind_refuses(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text = invoke("wind", *args)
    assert code == 2 and words in text and "Traceback" not in text
    assert not list(tmp_path.iterdir())


def test_wind_saves_a_roll_that_a_scene_takes(tmp_path):
    file = tmp_path / "mine.npz"
    code, text = invoke("wind", "cloth_19mm", "--turns", "1.5", "--free-length", "20mm", "--no-settle", "-o", str(file))
    assert code == 0, text
    assert "wound 1.5 turns" in text and "m of tape" in text and "saved" in text
    asset = load_roll(file)
    assert asset.spec.turns == 1.5 and asset.settled is None
    scene = tmp_path / "scene.yaml"
    scene.write_text("entities:\n  r: {type: roll, asset: mine.npz}\n", encoding="utf-8")
    built = build_scene(load_config(scene))
    assert np.array_equal(built.rolls["r"].vertices, asset.vertices)


def test_wind_settles_with_progress(tmp_path):
    file = tmp_path / "mine.npz"
    args = ("wind", "cloth_19mm", "--turns", "1", "--free-length", "0", "-o", str(file))
    code, text = invoke(*args)
    assert code == 0, text
    assert re.search(r"at rest after \d+ steps: .* mJ elastic, smallest gap 0\.\d+ mm", text)
    assert load_roll(file).settled.steps > 0
    code, text = invoke(*args, "--most-steps", "1")
    assert code == 2 and "after 1 steps the fastest point still moves" in text
