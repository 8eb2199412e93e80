"""Adhesion edited while a scene runs: told, recorded, repeated by a replay of the inputs to the bit."""

from __future__ import annotations

import io
from functools import partial

import pytest
from rich.console import Console

from app.frame import Request
from app.headless import NullView
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.record import Episode
from app.replay import InputReplay
from app.replay_inputs import repeat
from app.replay_run import replay_episode
from app.runs import _recorder
from app.scripted import open_input
from app.session import load_session
from app.tape import adhesive_pairs
from engine.live import friction_of
from engine.types import Control

SCENE = """
gravity: [0, 0, 0]
options: {dt: 10 ms, newton_tolerance: 1 mm/s}
entities:
  plate: {type: static, shape: {type: box, size: [0.1, 0.1, 0.01]}, contact: {dhat: 0.2 mm}}
  strip:
    {type: strip, length: 40 mm, width: 20 mm, cells_across: 4, position: [0, 0, 5.25 mm], contact: {dhat: 0.2 mm},
     attach: [{side: +x, body: clamp}]}
  clamp:
    {type: body, shape: {type: box, size: [4 mm, 24 mm, 4 mm]}, position: [20 mm, 0, 8.5 mm], density: 1000,
     driven: true, motion: {keyframes: [{time: 0}, {time: 1 s, translation: [0, 0, 30 mm]}]}}
adhesion:
  - {mesh: strip, partners: [plate], adhesive: {work: 100 J/m2}}
ignore: [[clamp, plate]]
"""


class Wishing(NullView):
    """Asks for what it is told to at given steps."""

    def __init__(self, wishes: dict[int, list[Request]], said: list[str]):
        super().__init__(say=said.append)
        self.wishes, self.frames = wishes, 0

    def poll(self):
        self.frames += 1
        return self.wishes.get(self.frames, [])


def edit(value, partner="plate"):
    return Request("set_adhesion", {"mesh": "strip", "partner": partner, "value": value})


def rub(value):
    return Request("set_friction", {"mesh": "plate", "value": value})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(folder of the episode, scene file, what was said, frames): edited before the recording began and during it."""
    folder = tmp_path_factory.mktemp("live")
    scene = folder / "scene.yaml"
    scene.write_text(SCENE, encoding="utf-8")
    session = load_session(str(scene), (), "cpu")
    make = partial(_recorder, folder=folder / "episodes", compute="cpu", input_name="none")
    wishes = {
        3: [edit(40.0)], 4: [rub(0.5)], 10: [Request("record")], 20: [rub(0.0)], 30: [edit(150.0)],
        35: [edit(1.0, "clamp"), rub(-1.0)], 45: [edit(20.0), Request("reset"), rub(0.9)], 60: [Request("record")],
    }  # fmt: skip
    said, frames = [], []
    wiring = Wiring(recorder=make(session), pacing=False, sinks=[frames.append], compute="cpu")
    FrameLoop(session, Operator(open_input("none", None)), Wishing(wishes, said), wiring).run(62)
    return folder / "episodes", scene, said, frames


def test_an_edit_is_told_and_a_bad_one_too(run):
    _, _, said, frames = run
    assert any("strip on plate: 40 J/m2" in text for text in said)
    assert any("strip on plate: 150 J/m2" in text for text in said)
    assert any(
        "set adhesion" in text and "strip does not stick to clamp; pairs: strip on plate" in text for text in said
    )
    assert any("friction of plate: 0.9" in text for text in said)
    assert any("friction_mu of 'plate' is -1.0; it must be a number from 0 on" in text for text in said)
    assert frames[-1].extra["tape"]["damage"]["strip"].shape == (9 * 5,)


def test_edits_before_the_recording_belong_to_it(run):
    episodes, *_ = run
    with Episode(episodes / "episode_0001.h5") as episode:
        edits = [(row, value["value"]) for row, verb, value in episode.requests() if verb == "set_adhesion"]
        frictions = [(row, value["value"]) for row, verb, value in episode.requests() if verb == "set_friction"]
    assert edits[0] == (0, 40.0) and edits[1][1] == 150.0 and edits[1][0] == pytest.approx(20, abs=1)
    assert frictions[0] == (0, 0.5) and frictions[1][1] == 0.0


def test_edits_in_the_row_of_a_reset_are_repeated_too(run):
    """They are in no state, so taking over the state after the reset does not bring them."""
    episodes, scene, *_ = run
    session = load_session(str(scene), (), "cpu")
    with Episode(episodes / "episode_0001.h5") as episode:
        rows = {row for row, verb, _ in episode.requests() if verb == "reset"}
        edited = {row for row, verb, value in episode.requests() if verb == "set_adhesion" and value["value"] == 20}
        assert rows & edited
        replay = InputReplay(episode, session.engine, lambda f: Control(**f), partial(repeat, session.engine))
        assert replay.run().first_divergence is None
    assert adhesive_pairs(session.engine)[0]["value"] == 20.0
    assert friction_of(session.engine, "plate") == 0.9


def test_a_replay_of_the_inputs_repeats_the_edits_to_the_bit(run):
    episodes, scene, *_ = run
    console = Console(file=io.StringIO(), width=200)
    code = replay_episode(episodes / "episode_0001.h5", True, str(scene), "cpu", console)
    assert code == 0 and "equal to the bit" in console.file.getvalue(), console.file.getvalue()
