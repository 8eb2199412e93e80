import numpy as np
import pytest

from app.frame import Request
from app.record import Episode, Recorder, RecorderSettings
from app.replay import InputReplay, ReplayError, StateReplay
from tests.app.record.fake_engine import DT, FakeControl, FakeEngine, frame_at


def make_recorder(folder, engine, **settings):
    return Recorder(
        folder, "strip", versions={"warp": "1.19", "device": "cpu"}, get_state=engine.get_state,
        settings=RecorderSettings(min_free_bytes=0, keyframe_every=20, **settings),
    )  # fmt: skip


@pytest.fixture
def episode(tmp_path):
    engine = FakeEngine()
    recorder = make_recorder(tmp_path, engine)
    recorder.start(engine.positions())
    for index in range(1, 71):
        requests = (Request("set_option", {"drag": 0.8}),) if index == 51 else ()
        if requests:
            engine.drag = 0.8
        recorder.write(frame_at(engine, index, requests=requests, events=("touch",) if index == 2 else ()))
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as opened:
        yield opened


def control(fields):
    return FakeControl(**fields)


def set_drag(engine):
    def apply(requests):
        for verb, value in requests:
            assert verb == "set_option"
            engine.drag = value["drag"]

    return apply


def test_by_states_shows_any_frame(episode):
    replay = StateReplay(episode, num_points=40)
    assert len(replay) == 71 and replay.duration == pytest.approx(70 * DT)
    engine = FakeEngine()
    frames = {0: engine.positions()}
    for index in range(1, 71):
        frame_at(engine, index)
        frames[index] = engine.positions()
        if index == 50:
            engine.drag = 0.8
    for row in (70, 0, 33, 34, 2):
        frame = replay.frame(row)
        assert frame.mode == "REPLAY" and frame.time_sim == pytest.approx(row * DT)
        np.testing.assert_allclose(frame.points, frames[row], atol=0.51e-6, rtol=0)
    assert replay.frame(0).command is None and not replay.frame(0).stepped
    frame = replay.frame(2)
    assert [text for moment, text in replay.events if moment == replay.time[2]] == ["touch"]
    assert frame.events == ("touch",) and frame.report.newton_iterations == 3 and frame.index == 2
    assert frame.report.stage_seconds.contact == 0.01 and frame.extra["recorded_mode"] == "DRIVING"
    assert frame.signals.contact_force.shape == (1, 40, 3) and frame.sample.buttons == []
    assert [replay.row_at(t) for t in (-1.0, 0.0, 0.99 * DT, DT, 10.5 * DT, 1e9)] == [0, 0, 0, 1, 10, 70]


def test_by_states_of_another_scene(episode):
    with pytest.raises(ReplayError, match="episode_0001 does not fit: recorded with 40 points, this scene has 39"):
        StateReplay(episode, num_points=39)


def test_by_inputs_is_equal_to_the_bit(episode):
    engine = FakeEngine()
    engine.step(FakeControl(np.zeros((1, 1, 4, 4)), np.zeros((1, 1))))  # wherever it was before
    seen = []
    result = InputReplay(episode, engine, control, set_drag(engine)).run(on_step=seen.append)
    assert result.exact and result.num_steps == result.num_compared == 70 and result.skipped == []
    assert result.text == "70 steps repeated, equal to the bit"
    assert 0.0 < result.largest_points_error <= 0.5e-6 * 3**0.5 + 1e-12
    assert [step.frame for step in seen] == list(range(70))


def test_the_first_step_that_differs_is_found(episode):
    engine = FakeEngine()
    result = InputReplay(episode, engine, control, versions={"warp": "1.20", "device": "cpu"}).run()
    assert result.first_divergence == 50 and result.num_steps == 51 and not result.exact
    assert result.text == (
        "first differs after step 50 of 70; requests before it: set_option; recorded with warp 1.19, this is 1.20"
    )
    on = InputReplay(episode, FakeEngine(), control).run(stop_at_divergence=False)
    assert on.first_divergence == 50 and on.num_steps == 70 and on.largest_points_error > 1e-4


def test_one_bit_is_enough(episode):
    class Nudged(FakeEngine):
        def step(self, control):
            super().step(control)
            if self.count[0] == 31:
                self.v[5, 1] = np.nextafter(self.v[5, 1], np.inf)

    assert InputReplay(episode, Nudged(), control).run().first_divergence == 30


def test_announced_and_unannounced_changes_of_state(tmp_path):
    engine = FakeEngine()
    recorder = make_recorder(tmp_path, engine)
    recorder.start(engine.positions())
    start = engine.get_state()
    for index in range(1, 6):
        recorder.write(frame_at(engine, index))
    engine.set_state(start)
    recorder.restart_point("reset")
    engine.x = engine.x + 0.25  # a second change before the step: the last counts
    recorder.restart_point("nudge")
    for index in range(1, 6):
        recorder.write(frame_at(engine, index))
    engine.v = engine.v + 1.0
    for index in range(20, 25):
        recorder.write(frame_at(engine, index))
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        result = InputReplay(episode, FakeEngine(), control).run()
        assert result.first_divergence is None and result.skipped == [10] and result.num_compared == 14
        assert result.text == (
            "14 steps repeated, 14 compared, all equal to the bit; 1 steps skipped, the state before them is not known"
        )
        replay = StateReplay(episode)
        assert replay.duration == pytest.approx(15 * DT) and replay.row_at(14.5 * DT) == 14


def test_what_cannot_be_replayed_says_why(episode, tmp_path):
    with pytest.raises(
        ReplayError, match="does not fit this scene: state array 'v': recorded .40, 3., this scene .41, 3.; "
    ):
        InputReplay(episode, FakeEngine(41))

    class Forgetful(FakeEngine):
        def set_state(self, state):
            super().set_state({**state, "v": np.zeros_like(state["v"]) + 1.0})

    with pytest.raises(ReplayError, match="does not give back the state it was set to: v$"):
        InputReplay(episode, Forgetful(), control).run()

    recorder = Recorder(tmp_path / "bare", "strip", settings=RecorderSettings(min_free_bytes=0))
    recorder.start()
    recorder.write(frame_at(FakeEngine(), 1, points=None))
    recorder.close()
    with Episode(tmp_path / "bare/episode_0001.h5") as bare:
        with pytest.raises(ReplayError, match="holds no exact state to start from: replay it by states"):
            InputReplay(bare, FakeEngine())
        with pytest.raises(ReplayError, match="holds no positions: replay it by inputs"):
            StateReplay(bare)
