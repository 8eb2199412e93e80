"""The shipped tape scenes, played by their own scripts to the end, judged by their own measures: half a minute."""

from __future__ import annotations

import numpy as np
import pytest

from app.headless import NullView
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.scripted import open_input
from app.session import load_session
from scenes.measures import beginning, success, swing_range, wrapped_turns


def play(name: str, steps: int | None = None, overrides=()):
    """(session, what it was at the start, places of tool and core by frame, loop)."""
    session = load_session(name, tuple(overrides), "cpu")
    start, places = beginning(session.engine), []
    tool = session.scene.tools[0].palm
    follow = [tool] + [b for b in session.engine.model.bodies if b == "roll_core"]

    def note(frame) -> None:
        places.append([session.engine.body_transform(body)[:3, 3] for body in follow])

    wiring = Wiring(pacing=False, stop_on_failure=True, sinks=[note])
    script = open_input(f"scripted:{session.scene.script}", None)
    loop = FrameLoop(session, Operator(script), NullView(say=lambda text: None), wiring)
    outcome = loop.run(steps)
    assert outcome.failure == ""
    return session, start, np.array(places), outcome


def test_stick_hangs_the_roll_on_the_shelf():
    session, start, places, _ = play("stick")
    verdict = success("stick", session.engine, start)
    assert verdict.done, verdict.reached
    assert places[:, 1, 2].max() > 0.1 and np.ptp(places[-20:, 1], axis=0).max() < 2e-3, "lifted, and hanging still"


def test_wrap_goes_once_around_the_bar():
    session, start, _, _ = play("wrap")
    verdict = success("wrap", session.engine, start)
    assert verdict.done, verdict.reached
    assert 0.9 <= wrapped_turns(session.engine, "roll", "bar") < 1.2


def test_swing_swings_and_holds():
    session, start, places, _ = play("swing", steps=190, overrides=["roll.turns=2"])
    verdict = success("swing", session.engine, start)
    assert verdict.done, verdict.reached
    assert np.degrees(swing_range(places[:, 0], places[:, 1])) > 40.0


def test_peel_takes_the_whole_strip_off():
    session, start, _, _ = play("peel")
    assert success("peel", session.engine, start).done
    assert not success("peel", load_session("peel").engine).done


def test_a_failing_script_is_seen(tmp_path):
    """The same scene without its operator: nothing is wrapped."""
    session = load_session("wrap", ("roll.turns=2",), "cpu")
    for _ in range(3):
        session.engine.step()
    verdict = success("wrap", session.engine)
    assert not verdict.done and verdict.reached.endswith("turns of the bar wrapped")
    with pytest.raises(KeyError, match="no measure of success"):
        success("peel_twice", session.engine)
