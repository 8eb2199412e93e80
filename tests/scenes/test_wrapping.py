"""Wrapping a bundle: what the stages say, by the places of tape alone; the scene at its start, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from app.goals import load_goals
from app.guide import told
from engine import Engine
from scenes import SceneError, build_scene, load_config
from scenes import measures as measures_module
from scenes.measures import wrapped_turns
from scenes.wrapping import STAGES, Wrapping, WrapWatch

NOW = dict(height=0.05, stuck_points=60, wires=5, turns=0.95, held=False, threaded=True, row=7)


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
        ({"turns": 0.89}, ("wrapped",)),
        ({"turns": 0.24}, ("smoothed", "wrapped")),
        ({"threaded": False}, ("threaded",)),
    ],
)
def test_each_stage_hangs_on_its_own_figure(changed, lost):
    found = Wrapping(**NOW | changed)
    assert tuple(name for name, holds in found.stages.items() if not holds) == lost
    assert found.success == ("wrapped" not in lost)


def test_turns_of_a_bundle_go_over_its_gaps(monkeypatch):
    """Tape stuck to four bars around an axis along y: 60 degrees on each of three, then two rows on the last."""

    class Placed:
        angle = np.radians([0.0, 30.0, 60.0, 120.0, 150.0, 180.0, 240.0, 300.0, 330.0])

        def mesh_positions(self, name):
            if name == "tape":
                return np.stack([np.cos(self.angle), 0 * self.angle, np.sin(self.angle)], axis=1)
            k = "abcd".index(name)
            middle = 0.8 * np.array([np.cos(k * np.pi / 2), 0.0, np.sin(k * np.pi / 2)])
            return middle + 0.1 * np.array([(1, 0, 1), (-1, 0, -1), (1, 0, -1), (-1, 0, 1)])

    held = {"a": [0, 1, 2], "b": [3, 4], "c": [5, 6], "d": [7, 8]}
    monkeypatch.setattr(measures_module, "stuck_vertices", lambda engine, mesh, name: np.array(held[name]))
    assert wrapped_turns(Placed(), "tape", ("a", "b", "c", "d")) == pytest.approx(330.0 / 360.0)
    assert wrapped_turns(Placed(), "tape", ("a", "b")) == pytest.approx(
        np.ptp(np.unwrap(np.arctan2(np.sin(Placed.angle[:5]) - 0.4, np.cos(Placed.angle[:5]) - 0.4))) / (2 * np.pi)
    )


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
