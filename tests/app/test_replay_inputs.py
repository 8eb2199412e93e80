"""Running the inputs again, with a meter beside: where the engine leaves the recording, and by how much."""

from __future__ import annotations

import numpy as np
import pytest

from app.record import Episode, Recorder, RecorderSettings
from app.replay import ReplayError, StateReplay
from app.replay_compare import Comparison
from app.replay_inputs import RESOLUTION, InputTrack, Meter
from tests.app.record.fake_engine import DT, FakeControl, FakeEngine, record

STEPS, OFF_AT = 40, 23


class Engine(FakeEngine):
    """Off by `error` [m] in one coordinate from the step `OFF_AT` on."""

    model = None

    def __init__(self, error: float = 0.0):
        super().__init__()
        self.error, self.ticks = error, 0

    def step(self, control: FakeControl, on_iteration=lambda *_: None):
        report = super().step(control)
        on_iteration(1)
        if self.count[0] == OFF_AT:
            self.x[3, 1] += self.error
        return report


@pytest.fixture
def episode(tmp_path):
    engine = FakeEngine()
    settings = RecorderSettings(min_free_bytes=0, keyframe_every=10)
    recorder = Recorder(tmp_path, "s", get_state=engine.get_state, settings=settings)
    record(recorder, engine, STEPS)
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as opened:
        yield opened


def run(episode, error: float) -> tuple[Meter, InputTrack, list]:
    ticks: list[int] = []
    track = InputTrack(episode, Engine(error), {}, lambda *_: ticks.append(1))
    rows = []
    while (row := track.advance()) is not None:
        rows.append(row)
    assert rows == list(range(1, STEPS + 1)) and track.ended and len(ticks) == STEPS
    return track.meter, track, rows


def test_equal_to_the_bit(episode):
    meter, track, _ = run(episode, 0.0)
    assert meter.first_bit is None and meter.compared == STEPS and meter.largest == 0.0
    assert (meter.distance[1:] == 0.0).all() and not meter.first_over
    for row in (STEPS, 0, 1):  # in any order, as a scrubbed timeline asks
        np.testing.assert_allclose(track.points[row], episode.positions(row), atol=1e-6)
    assert STEPS + 1 not in track.points


@pytest.mark.parametrize("error", [1e-10, 1e-3])
def test_the_first_row_that_differs_and_thresholds_passed_for_certain(episode, error):
    meter, _, _ = run(episode, error)
    assert meter.first_bit == OFF_AT and (meter.distance[1:OFF_AT] == 0.0).all()
    # exact states lie at every tenth row: there the distance is known to the last bit
    assert meter.exact[30] and 0.3 * error < meter.distance[30] < 3 * error
    assert meter.first_over[1e-12] == (30 if error < RESOLUTION else OFF_AT)
    if error < RESOLUTION:
        assert 1e-6 not in meter.first_over, "positions that are rounded to a micrometre prove nothing"
    else:
        assert meter.first_over[1e-6] == OFF_AT and meter.distance[OFF_AT] == pytest.approx(error, abs=2 * RESOLUTION)


def test_the_engine_goes_on_from_its_own_state_after_a_look_at_an_exact_one(episode):
    """Else the meter would heal what it measures."""
    meter, track, _ = run(episode, 1e-3)
    plain = Engine(1e-3)
    plain.set_state(episode.keyframe(0))
    for row in range(STEPS):
        plain.step(FakeControl(**episode.control(row)))
    np.testing.assert_array_equal(track.engine.x, plain.x)
    assert meter.largest > 3e-4


def test_without_a_hash_only_what_positions_prove_counts():
    meter = Meter(10)
    meter.take(1, True, 4e-7, None)
    meter.take(2, None, 6e-7, None)
    assert np.isnan(meter.distance[2]) and meter.first_bit is None
    meter.take(3, None, 1e-4, None)
    assert meter.first_bit == 3 and meter.first_over[1e-6] == 3 and meter.compared == 1


def test_two_episodes_at_the_same_moment(tmp_path, episode):
    other = FakeEngine()
    other.x[:, 2] += 0.25
    recorder = Recorder(tmp_path, "s", get_state=other.get_state, settings=RecorderSettings(min_free_bytes=0))
    record(recorder, other, 20)
    recorder.close()
    comparison = Comparison(StateReplay(episode), tmp_path / "episode_0002.h5")
    try:
        comparison._thread.join(20.0)
        assert comparison.done == 1.0 and comparison.times[-1] == pytest.approx(20 * DT)
        assert comparison.distance[0] == pytest.approx(0.25, abs=2e-6) and np.isfinite(comparison.distance).all()
        there = comparison.points_at(10 * DT)
        apart = np.linalg.norm(episode.positions(10) - there, axis=1).max()
        assert comparison.now(10 * DT, episode.positions(10)) == pytest.approx(apart)
        assert np.isnan(comparison.now(0.0, np.zeros((3, 3))))
    finally:
        comparison.close()
    with pytest.raises(ReplayError, match="with 40 points, this scene has 7"):
        Comparison(StateReplay(episode), tmp_path / "episode_0002.h5", 7)
