"""Wrapping a bundle: what the stages say, by the places of tape alone; the scene at its start, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from app.goals import load_goals
from app.guide import told
from engine import Engine
from scenes import SceneError, build_scene, load_config, wrapping
from scenes.wrapping import STAGES, Wrapping, WrapWatch, turns_around

NOW = dict(height=0.05, stuck_points=60, wires=5, turns=1.2, held=False, threaded=True, row=7)


@pytest.fixture(scope="module")
def scene():
    return build_scene(load_config("wire_harness"))


def test_at_the_start_nothing_is_done(scene):
    engine = Engine(scene.model, scene.options)
    found = WrapWatch(scene).read(engine)
    assert abs(found.height) < 1e-3 and (found.stuck_points, found.wires, found.turns) == (0, 0, 0.0)
    assert not any(found.stages.values()) and tuple(found.stages) == STAGES
    assert len(scene.steps) == len(STAGES), "the guide ticks the steps of the task"
    assert told(found)["stage"] == "lifted"
    engine.step()
    assert abs(WrapWatch(scene).read(engine).height) < 1e-3
    core, finger = engine.body_transform("roll_core"), list(scene.model.bodies)
    assert "finger" in finger and np.linalg.norm(core[:3, 3] - engine.body_transform("finger")[:3, 3]) > 0.1


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        ({}, ()),
        ({"height": 0.014}, ("lifted",)),
        ({"stuck_points": 6}, ("stuck", "smoothed", "wrapped")),
        ({"held": True}, ("stuck", "smoothed", "wrapped")),
        ({"turns": 1.05}, ("wrapped",)),
        ({"turns": 0.24}, ("smoothed", "wrapped")),
        ({"threaded": False}, ("threaded",)),
    ],
)
def test_each_stage_hangs_on_its_own_figure(changed, lost):
    found = Wrapping(**NOW | changed)
    assert tuple(name for name, holds in found.stages.items() if not holds) == lost
    assert found.success == ("wrapped" not in lost)


class Wound:
    """Tape around four bars about an axis along y: every 30 degrees a point, the second turn on the first."""

    angle = np.radians(np.arange(0.0, 480.0, 30.0))
    on_tape = np.flatnonzero(angle >= 2 * np.pi)

    def mesh_positions(self, name, world=0):
        if name == "tape":  # and three points far away, on the roll
            x = 1.05 * np.stack([np.cos(self.angle), 0 * self.angle, np.sin(self.angle)], axis=1)
            return np.concatenate([x + (5.0, 0.0, 1.0), np.full((3, 3), 9.0)])
        k = "abcd".index(name)
        middle = 0.8 * np.array([np.cos(k * np.pi / 2), 0.0, np.sin(k * np.pi / 2)]) + (5.0, 0.0, 1.0)
        return middle + 0.2 * np.array([(1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1)])


def test_turns_go_over_gaps_and_over_tape_on_the_bundle_but_not_on_the_roll(monkeypatch):
    def own(engine, mesh, partner, world):
        return np.concatenate([Wound.on_tape, len(Wound.angle) + np.arange(3)])  # wound layers stick to each other too

    monkeypatch.setattr(wrapping, "stuck_vertices", own)
    bars = {"a": [0, 11], "b": [3], "c": [6], "d": [9]}
    bars = {name: np.array(points) for name, points in bars.items()}
    assert turns_around(Wound(), "tape", bars) == pytest.approx(450.0 / 360.0)
    monkeypatch.setattr(wrapping, "stuck_vertices", lambda *args: np.zeros(0, int))
    assert turns_around(Wound(), "tape", bars) == pytest.approx(330.0 / 360.0)
    assert turns_around(Wound(), "tape", {name: np.zeros(0, int) for name in bars}) == 0.0


def test_its_script_names_tools_that_there_are(scene):
    goals = load_goals(scene.script)
    assert {goal.tool for goal in goals if goal.tool} == {tool.name for tool in scene.tools} == {"gripper", "finger"}


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("wrap.roll=reel", "wrap.roll: there is no roll 'reel'; legal: roll"),
        ("wrap.hand=finger", "wrap.hand: there is no gripper 'finger'"),
        ("wrap.finger=gripper", "wrap.finger: there is no body with tool: true 'gripper'"),
        ("wrap.around=[wire_9]", "wrap.around: there is no mesh 'wire_9'"),
        ("wrap.around=[]", "wrap.around is empty; name what is wrapped"),
    ],
)
def test_what_is_refused(override, words):
    with pytest.raises(SceneError) as error:
        load_config("wire_harness", [override])
    assert words in str(error.value)
