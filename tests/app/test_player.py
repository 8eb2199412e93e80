"""Playing an episode: time goes on, stops, steps, slows and jumps as asked, by button or key."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from app.frame import Request
from app.record import Episode, Recorder, RecorderSettings
from app.replay import StateReplay
from app.replay_run import Player, replay_episode
from app.tactile import for_view
from devices.keyboard import Keyboard
from engine.types import StepReport
from tests.app.fakes import FakeView
from tests.app.record.fake_engine import DT, FakeEngine, frame_at

STEPS = 30


@pytest.fixture
def episode(tmp_path):
    engine = FakeEngine()
    recorder = Recorder(
        tmp_path, "my_own_scene", get_state=engine.get_state, settings=RecorderSettings(min_free_bytes=0)
    )
    recorder.start(engine.positions())
    for index in range(1, STEPS + 1):
        recorder.write(frame_at(engine, index))
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as opened:
        yield opened


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def player(episode):
    clock = Clock()
    session = SimpleNamespace(scene=SimpleNamespace(name="my_own_scene"), tactile=None)
    return Player(StateReplay(episode), FakeView(), session, Keyboard(), clock, clock.sleep)


def play(player, seconds: float) -> None:
    """As `run` does, for a while."""
    view, end = player.view, player._clock.now + seconds
    tick = view.tick

    def stop() -> None:
        view.closed = player._clock.now >= end
        tick()

    view.tick = stop
    player.run()
    view.tick, view.closed = tick, False


def test_it_plays_in_real_time_to_the_end_and_stays_there(player):
    play(player, 0.5)
    assert player.view.infos[-1]["replay"]["now"] == pytest.approx(0.5, abs=2 * DT)
    play(player, 5.0)
    frame = player.view.frames[-1]
    assert frame.mode == "REPLAY" and frame.time_sim == pytest.approx(STEPS * DT)
    about = player.view.infos[-1]["replay"]
    assert about["now"] == player.replay.duration and player.paused
    assert about["events"] == player.replay.events and not any(frame.events for frame in player.view.frames)
    player.view.wishes.append(Request("pause"))
    play(player, 0.3)
    assert 0.0 < player.view.infos[-1]["replay"]["now"] < 0.5, "once more from the beginning"
    assert isinstance(frame.report, StepReport), "as the panels want it"


def test_pause_step_slow_and_seek(player):
    player.view.wishes = [Request("pause")]
    play(player, 1.0)
    assert player.paused and player.seconds == pytest.approx(0.0, abs=1e-9)
    player.view.wishes = [Request("seek", 0.5), Request("step")]
    player.once()
    row = player.replay.row_at(0.5) + 1
    assert player.view.infos[-1]["replay"]["now"] == pytest.approx(player.replay.time[row])
    np.testing.assert_array_equal(player.view.frames[-1].points, player.replay.frame(row).points)
    player.view.wishes = [Request("reset"), Request("slow"), Request("pause", False)]
    player.once()
    play(player, 1.0)
    assert player.seconds == pytest.approx(0.25, abs=DT)
    player.view.wishes = [Request("seek", 1e9)]
    player.once()
    assert player.seconds == player.replay.duration


def test_keys_act_as_in_a_run(player):
    player._keyboard.open()
    player._keyboard.feed(["P"], ["P"], [], True, False)
    player.once()
    assert player.paused
    player._keyboard.feed(["N"], ["N"], ["P"], True, False)
    player.once()
    assert player.seconds == pytest.approx(float(player.replay.time[1]))


def test_a_scene_of_ones_own_has_to_be_named(episode):
    with pytest.raises(ValueError, match="recorded in the scene 'my_own_scene', which does not ship: .*--scene FILE"):
        replay_episode(episode.path, True, None, "cpu", SimpleNamespace(print=lambda *_, **__: None))


@pytest.mark.parametrize("kind", ["indentation", "depth"])  # depth: in recordings of earlier versions
def test_a_pads_image_stays_between_two_recorded_ones(player, kind):
    """The recorder keeps every third image; the panel must not flicker."""
    images = {row: np.full((2, 3), float(row)) for row in (3, 6)}
    plain = player.replay.frame

    def frame(row: int):
        pad = {"force": np.array([0.0, 3.0, 4.0]), **({kind: images[row]} if row in images else {})}
        out = plain(row)
        return dataclasses.replace(out, extra={**out.extra, "tactile": {"pad": pad}})

    player.replay.frame = frame
    player.session.tactile = SimpleNamespace(for_view=lambda t: for_view(t, {}, {}), coats=lambda t: {})
    shown = {}
    for row in range(1, 8):
        player.view.wishes = [Request("seek", float(player.replay.time[row]))]
        player.once()
        shown[row] = [(pad["depth"][0, 0], pad["force"]) for pad in player.view.infos[-1]["pads"]]
    assert shown == {1: [], 2: [], 3: [(3.0, 5.0)], 4: [(3.0, 5.0)], 5: [(3.0, 5.0)], 6: [(6.0, 5.0)], 7: [(6.0, 5.0)]}
