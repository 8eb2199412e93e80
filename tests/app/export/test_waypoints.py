"""Waypoints at an even rate, and chunks of them."""

import numpy as np
import pytest

from app.export import ExportError, ExportOptions, chunks, demonstrations, waypoints
from app.record import Episode
from tests.app.export.recorded import record_slow
from tests.app.record.fake_engine import DT


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with Episode(record_slow(tmp_path_factory.mktemp("set"), 40)) as episode:
        (found,) = demonstrations(episode, ExportOptions())
        yield found


def test_at_the_rate_of_the_steps_nothing_is_changed(demo):
    points = waypoints(demo, 1.0 / DT)
    assert len(points) == len(demo) == 40
    np.testing.assert_allclose(points.time, demo.time, atol=1e-9)
    assert np.array_equal(points.action, demo.action[0]) and np.array_equal(points.state, demo.robot_state[0])
    assert np.array_equal(points.frame, demo.frames) and points.action_names == demo.action[1]


@pytest.mark.parametrize("hz", [12.5, 30.0, 71.0])
def test_between_the_steps_the_motion_goes_on_evenly(demo, hz):
    """The tool turns by 0.2 rad a step about z and moves along x: exact at any time, since both go on evenly."""
    points = waypoints(demo, hz)
    assert points.time == pytest.approx(np.arange(len(points)) / hz) and points.time[-1] <= demo.time[-1] + 1e-9
    step = points.time / DT + 1.0  # the first state is that after step 1
    angle = 0.2 * step
    names = points.state_names
    np.testing.assert_allclose(points.state[:, names.index("gripper.x")], 0.01 * step, atol=1e-9)
    turn = points.state[:, [names.index("gripper.qz"), names.index("gripper.qw")]]
    np.testing.assert_allclose(turn, np.stack([np.sin(angle / 2), np.cos(angle / 2)], axis=1), atol=1e-9)
    asked = points.action[:, [points.action_names.index(f"gripper.{n}") for n in ("qz", "qw")]]
    inside = points.time[1:] >= DT  # before the first step ends its target holds
    expected = np.stack([np.sin(angle[1:] / 2), np.cos(angle[1:] / 2)], axis=1)
    np.testing.assert_allclose(asked[inside], expected[inside], atol=1e-9)
    assert (points.frame == demo.frames[np.floor(points.time / DT + 1e-6).astype(int)]).all()


def test_chunks_are_the_next_actions_and_say_where_the_motion_ends(demo):
    points = waypoints(demo, 30.0)
    found = list(chunks(points, 16, stride=8))
    assert [chunk.start for chunk in found] == list(range(0, len(points.action), 8))
    for chunk in found:
        assert chunk.action.shape == (16, points.action.shape[1])
        assert chunk.time[0] == pytest.approx((chunk.start + 1) / 30)
        count = min(16, len(points.action) - chunk.start)
        assert chunk.valid.tolist() == [True] * count + [False] * (16 - count)
        assert np.array_equal(chunk.action[:count], points.action[chunk.start : chunk.start + count])
        assert (chunk.action[count:] == points.action[-1]).all()
    assert not found[-1].valid.all(), "the end was met"


def test_what_is_refused(demo, tmp_path):
    with pytest.raises(ExportError, match="hz is 0; legal: 0.1 to 1000"):
        waypoints(demo, 0.0)
    with pytest.raises(ExportError, match="shorter than one waypoint at 0.5 a second"):
        waypoints(demo, 0.5)
    with pytest.raises(ValueError, match="length is 0; legal: 1 and more"):
        next(chunks(waypoints(demo), 0))
    (rates,) = demonstrations(demo.episode, ExportOptions(action="command"))
    with pytest.raises(ExportError, match="waypoints are targets"):
        waypoints(rates)
