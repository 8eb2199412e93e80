"""The operator that sees: reaches goals whatever the gain, gives up in time, and refuses a bad file by name."""

import numpy as np
import pytest

from app.goals import load_goals
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.scripted import SeeingOperator, open_input
from app.session import Session
from tests.app.fake_scene import DT, FakeEngine, FakeScene
from tests.app.fakes import FakeView


def run(tmp_path, text, steps=400):
    path = tmp_path / "goals.yaml"
    path.write_text(text)
    scene = FakeScene()
    device = open_input(f"scripted:{path}")
    assert isinstance(device, SeeingOperator)
    loop = FrameLoop(
        Session("fake", (), "cpu", scene, FakeEngine(scene)),
        Operator(device),
        FakeView(),
        Wiring(pacing=False, stop_on_failure=True),
    )
    outcome = loop.run() if steps is None else loop.run(steps)
    return loop, outcome


def test_it_reaches_places_grips_and_ends_by_itself(tmp_path):
    loop, outcome = run(
        tmp_path,
        "goals:\n- {to: [0.0, 0.05, 0.15], tolerance: 0.001}\n- {grip: 1.0}\n- {by: [0.0, 0.0, 0.05]}\n- {wait: 0.2}\n",
        steps=None,
    )
    assert loop.operator.device.finished and outcome.failure == ""
    palm = loop.session.engine.body_transform("palm")[:3, 3]
    assert palm == pytest.approx([0.0, 0.05, 0.2], abs=4e-3)
    assert loop.session.engine._joints == pytest.approx([0.0, 0.0], abs=1e-3)


def test_it_gives_up_on_a_place_it_cannot_reach(tmp_path):
    loop, outcome = run(tmp_path, "goals:\n- {to: [-0.06, -0.04, 0.0], within: 1.5}\n", steps=None)
    assert outcome.steps * DT == pytest.approx(1.5, abs=0.2)
    assert loop.session.engine.body_transform("palm")[2, 3] == pytest.approx(0.075)  # the fake table


def test_waiting_is_simulated_time_and_presses_come_once(tmp_path):
    loop, _ = run(
        tmp_path, "goals:\n- {wait: 0.5, press: [checkpoint]}\n- {wait: 0.5, press: [checkpoint]}\n", steps=None
    )
    asked = [c for c in loop.checkpoints if not c.automatic]
    assert [c.label for c in asked] == ["checkpoint 1", "checkpoint 2"]
    assert asked[1].time - asked[0].time == pytest.approx(0.5, abs=1.5 * DT)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("goals: []\nx: 1", None),
        ("goals:\n- {too: [0, 0, 0]}", "goal 1: unknown key 'too'; legal: to, by"),
        ("goals:\n- {wait: 1}\n- {to: [0, 0]}", "goal 2: to = [0, 0]; legal: three numbers [m]"),
        ("goals:\n- {grip: 2}", "grip = 2; legal: a number from 0 to 1"),
        ("goals:\n- {press: [dance]}", "press 'dance'; legal: clutch"),
        ("goals: 3", "is a mapping with a list `goals`"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, said):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    if said is None:
        assert load_goals(path) == []
        return
    with pytest.raises(ValueError) as error:
        load_goals(path)
    assert said in str(error.value) and "bad.yaml" in str(error.value)


def test_a_missing_script_is_named():
    with pytest.raises(FileNotFoundError, match="there is no file nowhere.yaml"):
        open_input("scripted:nowhere.yaml")


def test_it_does_not_move_before_it_has_seen():
    from app.goals import Goal

    device = SeeingOperator([Goal(to=(1.0, 0.0, 0.0))])
    device.set_simulated_time(0.0)
    assert np.array_equal(device.poll(0.0).twist, np.zeros(6))


def test_a_goal_by_a_way_starts_where_the_tool_is(tmp_path):
    """Also the first one, which begins before anything was seen."""
    loop, _ = run(tmp_path, "goals:\n- {press: [checkpoint]}\n- {by: [0, 0, 0.02], tolerance: 1.0e-3}\n", steps=None)
    start = loop.checkpoints.find().teleop.tools[0].position
    assert loop.session.engine.body_transform("palm")[:3, 3] == pytest.approx(start + [0, 0, 0.02], abs=1.1e-3)
