"""Cuts while a scene runs: armed, made, taken back, recorded, and repeated by a replay of the inputs to the bit."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from app.cutting import across, aimed_cuts, cut_of, cut_request
from app.frame import Frame, Request
from app.headless import NullView
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.record import Episode
from app.replay import InputReplay, ReplayError, StateReplay
from app.replay_inputs import repeat
from app.replay_run import Player, replay_episode
from app.runs import _recorder
from app.scripted import open_input
from app.session import load_session
from app.state_log import StateLog
from engine import Cut
from engine.types import Control
from scenes.measures import pieces
from tests.app.fakes import FakeView

CUT = {"mesh": "strip", "line": [[-0.02, -0.02], [-0.015, 0.02]], "space": "rest", "reach": None}
RECORD = Request("record")
WISHES = {
    3: [RECORD],
    5: [Request("confirm_cut"), Request("arm_cut")],  # nothing is armed; then across, under the blade
    8: [Request("confirm_cut")],
    12: [Request("cut", CUT)],
    15: [Request("undo")],  # the second cut
    18: [Request("pause")],
    19: [Request("undo")],  # the first, while nothing moves
    21: [Request("cut", CUT), Request("arm_cut")],
    23: [Request("disarm_cut"), Request("pause", False)],
    27: [Request("cut", {"mesh": "strip", "line": [[0.5, 0], [0.6, 0]]}), Request("cut", {"mesh": "knife"})],
    30: [Request("reset")],
    33: [RECORD],
    35: [Request("cut", CUT)],
    38: [RECORD],  # begins with a strip that is cut already
    42: [RECORD],
}


class Wishing(NullView):
    """Asks for what it is told to at given passes of the loop; keeps the models that it was shown."""

    def __init__(self, said: list[str], wishes: dict[int, list[Request]]):
        super().__init__(say=said.append)
        self.wishes = wishes
        self.passes, self.models, self.drawn = 0, [], []

    def poll(self):
        self.passes += 1
        return self.wishes.get(self.passes, [])

    def set_model(self, model, points):
        self.models.append(model)
        assert points.shape == (model.points_per_world, 3)

    def draw(self, frame, info):
        super().draw(frame, info)
        self.drawn.append((self.passes, frame, info["cut"], self.models[-1] if self.models else None))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run of the shipped scene with wishes, without a script."""
    folder = tmp_path_factory.mktemp("cutting")
    session = load_session("cut", (), "cpu")
    make = partial(_recorder, folder=folder, compute="cpu", input_name="none")
    said: list[str] = []
    view = Wishing(said, WISHES)
    loop = FrameLoop(
        session, Operator(open_input("none", None)), view, Wiring(recorder=make(session), pacing=False, compute="cpu")
    )
    loop.wiring.sinks = [StateLog(folder / "log.jsonl", loop)]
    loop.run(43)
    return SimpleNamespace(folder=folder, session=session, view=view, said=" | ".join(said), loop=loop)


def test_a_cut_is_shown_first_and_made_when_it_is_confirmed(run):
    shown = {number: cut for number, _, cut, _ in run.view.drawn}
    points = {number: len(frame.points) for number, frame, _, _ in run.view.drawn}
    assert not shown[4] and not shown[8] and shown[5]["mesh"] == "strip"
    line = np.concatenate(shown[5]["lines"])
    assert np.ptp(line[:, 1]) > 0.0189 and np.abs(line[:, 0] - 0.012).max() < 0.5 * 0.019 / 6  # under the blade
    assert points[7] == points[4] < points[8] < points[12] > points[15] == points[8]
    assert points[18] == points[8] and points[19] == points[4]  # undone while paused
    assert shown[21] and not shown[23]
    assert points[29] > points[30] == points[4]  # reset joins the pieces
    for text in (
        "confirm cut: none is armed yet", "cut armed across strip", "strip cut", "cut disarmed",
        "cut: the cut from [0.5, 0.0] to [0.6, 0.0] m in the rest plane parts nothing",
        "cut: cut lacks 'line'; it needs mesh and line",
    ):  # fmt: skip
        assert text in run.said, run.said
    assert "back at before cut, from " in run.said


def test_whoever_shows_the_scene_gets_the_new_model(run):
    for _, frame, _, model in run.view.drawn:
        assert model is None or len(frame.points) == model.points_per_world
        assert frame.signals is None or frame.signals.contact_force.shape[1] == len(frame.points)
    assert len(run.view.models) == 7  # cut, cut, undo, undo, cut, reset, cut
    assert (run.folder / "log.jsonl").read_text().count("\n") == run.view.passes, "every frame was logged"


@pytest.mark.parametrize("number", [1, 2])
def test_a_replay_of_the_inputs_repeats_the_cuts_to_the_bit(run, number):
    console = Console(file=io.StringIO(), width=200)
    code = replay_episode(run.folder / f"episode_000{number}.h5", True, None, "cpu", console)
    assert code == 0 and "equal to the bit" in console.file.getvalue(), console.file.getvalue()


def test_it_repeats_the_cut_itself_not_its_result(run):
    """Without the wishes the first step after the first cut differs."""
    with Episode(run.folder / "episode_0001.h5") as episode:
        rows = [row for row, verb, _ in episode.requests() if verb == "cut"]
        reasons = ["start", "strip cut", "strip cut", "back at before cut", "strip cut", "reset"]
        assert [reason.split(",")[0] for _, reason in episode.segments()] == reasons
        engine = run.session.engine
        lazy = InputReplay(episode, engine, lambda f: Control(**f), lambda wishes: None)
        assert lazy.run().first_divergence == rows[0]
        whole = InputReplay(episode, engine, lambda f: Control(**f), partial(repeat, engine))
        assert whole.run().exact
        with pytest.raises(ReplayError, match="does not fit this scene"):
            InputReplay(episode, load_session("stress_squeeze", (), "cpu").engine)


def test_states_before_and_after_a_cut_are_shown_on_their_own_meshes(run):
    with Episode(run.folder / "episode_0001.h5") as episode:
        assert episode.version == 3 and not [f for f in episode.validate() if f.severity == "error"]
        run.session.engine.reset()
        view = FakeView()
        player = Player(StateReplay(episode, run.session.model.points_per_world), view, run.session)
        player.paused = True
        for row in (*range(len(player.replay)), 7, 3, 12):
            player.seconds = float(player.replay.time[row])
            player.once()
            assert len(view.frames[-1].points) == run.session.model.points_per_world
            np.testing.assert_allclose(
                np.nan_to_num(run.session.engine.positions()[:4]), view.frames[-1].points[:4], atol=0.05
            )
        assert view.models >= 6


def test_tape_that_sticks_is_cut_at_the_tool(tmp_path):
    """Its read-outs follow, undo joins it again, and the replay repeats it all."""
    session = load_session("peel", (), "cpu")
    wishes = {
        2: [RECORD], 4: [Request("arm_cut"), Request("confirm_cut")], 7: [Request("pause")], 8: [Request("undo")],
        9: [Request("pause", False), Request("cut", {"mesh": "strip", "line": [[0.05, -0.02], [0.05, 0.02]]})],
        12: [RECORD],
    }  # fmt: skip
    view, sizes = Wishing([], wishes), []

    def note(frame) -> None:
        damage = frame.extra.get("tape", {}).get("damage", {"strip": ()})["strip"]
        mesh = session.model.meshes["strip"].points
        sizes.append((len(damage), mesh.stop - mesh.start, frame.stepped))

    recorder = _recorder(session, folder=tmp_path, compute="cpu", input_name="none")
    loop = FrameLoop(session, Operator(open_input("none", None)), view, Wiring(recorder=recorder, pacing=False))
    loop.wiring.sinks = [note]
    loop.run(12)
    assert all(seen == there for seen, there, stepped in sizes if stepped)
    assert sizes[3][1] > sizes[2][1] == sizes[7][1] < sizes[8][1]
    console = Console(file=io.StringIO(), width=200)
    assert replay_episode(tmp_path / "episode_0001.h5", True, None, "cpu", console) == 0, console.file.getvalue()


def test_where_an_armed_cut_would_run():
    rest = np.array([[0.02 * x, 0.02 * y, 1.0] for x in range(11) for y in (-1.0, 0.0, 1.0)])
    line = across(rest[:, [1, 0, 2]], 16)  # along y
    assert np.allclose(np.sort(line[:, 0]), [-0.022, 0.022]) and np.allclose(line[:, 1:], [0.1, 1.0])
    with pytest.raises(ValueError, match="neither a blade nor a tool"):
        aimed_cuts(None, None, None)
    strip = SimpleNamespace(kind="shell", rest=rest, points=slice(2, 2 + len(rest)))
    counts = np.array([4, 4, *[1] * len(rest)])
    engine = SimpleNamespace(
        model=SimpleNamespace(
            meshes={"strip": strip, "box": SimpleNamespace(kind="body")},
            embedding=SimpleNamespace(point_count=SimpleNamespace(numpy=lambda: counts)),
        ),
        mesh_positions=lambda name: rest,
    )
    (cut,) = aimed_cuts(engine, None, np.array([0.19, 0.0, 1.01]))
    assert cut.mesh == "strip" and np.allclose(np.array(cut.line)[:, 0], 0.18)  # half a width from the end
    counts[2:20] = 4  # wound up to 0.1: half a width from there
    (cut,) = aimed_cuts(engine, None, np.array([0.05, 0.0, 1.01]))
    assert np.allclose(np.array(cut.line)[:, 0], 0.12)
    with pytest.raises(ValueError, match="no sheet that is free to be cut lies within 15 cm of the tool"):
        aimed_cuts(engine, None, np.array([0.0, 0.0, 2.0]))


def test_a_cut_as_a_wish_keeps_every_bit():
    cut = Cut("strip", ((0.1 + 0.2, 1 / 3, 1e-17), (0.7, 0.0, 0.0)), space="world", reach=0.03)
    assert cut_of(cut_request(cut, "blade").value) == cut
    with pytest.raises(ValueError, match="cut is 3; it must be a table with mesh and line"):
        cut_of(3)


def test_pictures_follow_a_cut(run, tmp_path):
    offscreen = pytest.importorskip("app.view.offscreen")
    try:
        pictures = offscreen.Offscreen((1280, 720))
    except Exception as error:  # noqa: BLE001 - whatever EGL lacks
        pytest.skip(f"no off-screen pictures: {error}")
    try:
        engine = run.session.engine
        engine.reset()
        eye, target = run.session.scene.bookmarks["edge"]
        near = replace(run.session.scene, camera=(eye, target, (0.0, 0.0, 1.0)))
        pictures.set_scene(near, engine.positions())
        frame = Frame(1, True, 0.0, 0.0, 0.0, 0.005, points=engine.positions())
        ghost = {"lines": [np.array([[0.0, -0.01, 0.0906], [0.0, 0.0, 0.0906], [0.0, 0.01, 0.0906]])]}
        before = _pixels(pictures.picture(frame, {}, tmp_path / "before.png"))
        armed = _pixels(pictures.picture(frame, {"cut": ghost}, tmp_path / "armed.png"))
        engine.apply([cut_of(CUT)])
        pictures.set_model(engine.model, engine.positions())
        x = engine.positions()
        piece = pieces(engine, "strip")
        x[np.arange(len(x))[engine.model.meshes["strip"].points][piece == piece[0]], 2] += 0.02
        frame.points = x
        after = _pixels(pictures.picture(frame, {"cut": {}}, tmp_path / "after.png"))
    finally:
        pictures.close()
    assert 20 < np.count_nonzero(np.abs(armed - before).max(axis=2) > 30) < 2000
    assert np.count_nonzero(np.abs(after - before).max(axis=2) > 30) > 300


def _pixels(path: Path) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(path).convert("RGB")).astype(int)
