"""Worlds of a scene: draws that can be repeated, each world its solo run, errors that name the draw."""

import numpy as np
import pytest

from engine import Engine
from scenes.build import build_scene
from scenes.config import load_config, overridden
from scenes.errors import SceneError
from scenes.randomise import generator, sample
from scenes.worlds import check_memory, memory_need, value_at, world_configs, world_draw

SMALL = """
gravity: [0, 0, -9.81]
entities:
  floor:
    type: static
    shape: {type: box, size: [0.1, 0.1, 0.01]}
    position: [0, 0, -5 mm]
  block:
    type: body
    shape: {type: box, size: [20 mm, 20 mm, 10 mm]}
    position: [0, 0, 6 mm]
    density: 1000 kg/m3
  sheet:
    type: sheet
    size: [30 mm, 30 mm]
    cells: [3, 3]
    position: [0, 0, 20 mm]
    material: {young: 1 MPa, thickness: 1 mm}
randomise:
  seed: 4
  draws:
"""
PLACE = "    - {set: block.position, change: add, low: [-1 mm, -2 mm, 0], high: [1 mm, 2 mm, 0.5 mm]}\n"
YOUNG = "    - {set: sheet.material.young, low: 100 kPa, high: 10 MPa, spread: log_uniform}\n"
GRIP = "    - {set: [block.contact.friction_mu, floor.contact.friction_mu], low: 0.2, high: 0.8}\n"
CELLS = "    - {set: sheet.cells, choices: [[3, 3], [5, 5]], per: %s}\n"


def scene(tmp_path, *draws: str):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL + "".join(draws), encoding="utf-8")
    return load_config(path)


def test_draws_repeat_and_depend_on_the_world_alone(tmp_path):
    config = scene(tmp_path, PLACE, YOUNG, GRIP)
    first = [world_draw(config, w) for w in range(4)]
    assert first == [world_draw(config, w) for w in range(4)] and len(set(first)) == 4
    later, whole = world_configs(config, 2, first=2), world_configs(config, 4)
    assert [c.overrides for c in later] == [c.overrides for c in whole[2:]]
    assert world_draw(config, 1, episode=1) != first[1], "a later start is another one"
    fewer = world_draw(scene(tmp_path, PLACE, YOUNG), 1)
    assert fewer == first[1][:2], "another draw does not change these"
    for k in range(30):
        drawn = overridden(config, world_draw(config, k))
        place = np.array(value_at(drawn, "block.position")) - (0, 0, 6e-3)
        assert (np.abs(place[:2]) <= (1e-3, 2e-3)).all() and 0.0 <= place[2] <= 0.5e-3
        assert value_at(drawn, "block.contact.friction_mu") == value_at(drawn, "floor.contact.friction_mu")


def test_spreads():
    rng = generator(0, 0, "world", 0, 0, 0)
    uniform = np.array([sample(rng, "uniform", 1.0, 100.0) for _ in range(4000)])
    log = np.array([sample(rng, "log_uniform", 1.0, 100.0) for _ in range(4000)])
    normal = np.array([sample(rng, "normal", 1.0, 100.0) for _ in range(4000)])
    assert uniform.mean() == pytest.approx(50.5, abs=2.0) and uniform.std() == pytest.approx(99 / np.sqrt(12), rel=0.05)
    assert np.log(log).mean() == pytest.approx(np.log(10.0), abs=0.08)
    assert normal.mean() == pytest.approx(50.5, abs=1.5) and normal.std() == pytest.approx(0.96 * 99 / 4, rel=0.05)
    for values in (uniform, log, normal):
        assert values.min() >= 1.0 and values.max() <= 100.0
    whole = {sample(rng, "uniform", 2, 4) for _ in range(50)}
    assert whole == {2, 3, 4}
    with pytest.raises(ValueError, match="low 0.0 must be greater than 0 for log_uniform"):
        sample(rng, "log_uniform", 0.0, 1.0)


def test_every_world_of_a_scene_is_its_solo_run(tmp_path):
    config = scene(tmp_path, PLACE, YOUNG, GRIP)
    batch = build_scene(config, num_worlds=3)
    together = Engine(batch.model, batch.options)
    for _ in range(12):
        together.step()
    for w in range(3):
        assert batch.draws[w] == world_draw(config, w)
        by_index = build_scene(config, num_worlds=1, first=w)
        by_override = build_scene(overridden(config, batch.draws[w]))
        for alone in (by_index, by_override):
            engine = Engine(alone.model, alone.options)
            for _ in range(12):
                engine.step()
            assert np.array_equal(engine.positions(), together.positions(w)), f"world {w}"
    assert len({together.positions(w).tobytes() for w in range(3)}) == 3
    assert build_scene(config).draws == [()], "one world alone is the scene as written"


def test_peg_insertion_in_a_batch_equals_its_solo_runs():
    config = load_config("peg_insertion")
    batch = build_scene(config, num_worlds=3)
    engine = Engine(batch.model, batch.options)
    solos = [build_scene(config, num_worlds=1, first=w) for w in range(3)]
    engines = [Engine(solo.model, solo.options) for solo in solos]
    for step in range(20):
        control = engine.control()
        control.joint_target[:] = min(1.2e-3 * step, batch.tools[0].closed_position)
        engine.step(control)
        for w, alone in enumerate(engines):
            control = alone.control()
            control.joint_target[:] = min(1.2e-3 * step, batch.tools[0].closed_position)
            alone.step(control)
            assert np.array_equal(alone.positions(), engine.positions(w)), f"world {w} differs at step {step}"
    assert engine.signals().contact_count.min() > 10, "the pads hold the peg"


def test_one_value_a_batch_may_change_the_topology(tmp_path):
    config = scene(tmp_path, CELLS % "batch")
    sizes = {build_scene(config, num_worlds=2, batch=b).model.points_per_world for b in range(6)}
    assert len(sizes) == 2
    with pytest.raises(SceneError, match="mesh 'sheet' has .*cannot differ between the worlds.*write `per: batch`"):
        for first in range(0, 12, 3):
            build_scene(scene(tmp_path, CELLS % "world"), num_worlds=3, first=first)


@pytest.mark.parametrize(
    ("draw", "text"),
    [
        ("{set: blok.position, low: 0, high: 1}", r"there is no 'blok' in the scene \(did you mean 'block'\?\)"),
        ("{set: block.position, low: [0, 0, 0]}", "a draw needs 'low' and 'high', or 'choices'"),
        ("{set: sheet.material.young, low: 2 MPa, high: 1 MPa}", "draw of sheet.material.young: low .* above high"),
        ("{set: sheet.material.young, low: 1 mm, high: 1 MPa}", "'1 mm' is a length; a pressure belongs here"),
        ("{set: block.shape, low: 0, high: 1}", "it must be a mapping"),
        ("{set: block.position, low: 0, high: 1, spread: even}", "legal values: uniform, log_uniform, normal"),
        ("{set: block.mass, change: times, low: 1, high: 2}", "the scene gives no value to change"),
    ],
)
def test_bad_draws_are_named(tmp_path, draw, text):
    with pytest.raises(SceneError, match=text):
        build_scene(scene(tmp_path, f"    - {draw}\n"), num_worlds=2)


def test_more_worlds_than_memory_holds_are_refused(tmp_path):
    config = scene(tmp_path, PLACE)
    model = build_scene(config).model
    need = memory_need(model)
    check_memory(model, 100, need.of(100) / 0.79)
    with pytest.raises(SceneError, match=r"100 worlds of this scene need .* GB are free: at most about \d+ worlds"):
        check_memory(model, 100, need.of(100) / 0.81)
    with pytest.raises(SceneError, match="1000000 worlds of this scene need about"):
        build_scene(overridden(config, ["worlds=1000000"]))
