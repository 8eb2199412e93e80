"""Sets of episodes as the browser reads and changes them, in its thread."""

from __future__ import annotations

import time

import numpy as np
import pytest

from app.episode_rows import chosen, numbers
from app.episode_shelf import EpisodeShelf
from app.record import Episode, Recorder, RecorderSettings
from app.record import folder as files
from app.record.summary import episode_summary, sparkline, stretches
from tests.app.record.fake_engine import DT, FakeEngine, record

PNG = b"\x89PNG of 40 points"


def until(shelf, true, what: str):
    end = time.monotonic() + 20.0
    while not true(shelf.view):
        assert time.monotonic() < end, f"{what} did not come; {shelf.view}"
        time.sleep(0.01)
    return shelf.view


@pytest.fixture
def root(tmp_path):
    for name, count in (("one", 3), ("two", 1)):
        engine = FakeEngine()
        settings = RecorderSettings(min_free_bytes=0)
        recorder = Recorder(tmp_path / name, f"scene {name}", get_state=engine.get_state, settings=settings)
        for number in range(count):
            engine.__init__()
            record(recorder, engine, 10 + number)
        recorder.close()
    return tmp_path


@pytest.fixture
def shelf(root):
    painted, moved = [], []

    def paint(scene, points):
        painted.append((scene, len(points)))
        return PNG if scene == "scene one" else None

    shelf = EpisodeShelf(root, paint, lambda *told: moved.append(told))
    shelf.painted, shelf.moved = painted, moved
    shelf.open(root / "one")
    until(shelf, lambda v: len(v.rows) == 3 and not v.busy, "the set")
    yield shelf
    shelf.close()


def test_rows_sets_and_pictures_that_older_episodes_lack(shelf, root):
    view = shelf.view
    assert [row.name for row in view.rows] == ["episode_0003", "episode_0002", "episode_0001"]
    assert [(name, count) for name, _, count in view.sets] == [("one", 3), ("two", 1)]
    assert view.rows[0].seconds == pytest.approx(12 * DT) and view.rows[0].picture == PNG
    assert shelf.painted == [("scene one", 40)] * 3
    assert files.picture_path(root / "one" / "episode_0001.h5").read_bytes() == PNG
    shelf.refresh()
    until(shelf, lambda v: not v.busy and v.rows is not view.rows, "the second look")
    assert len(shelf.painted) == 3, "what was made is kept"
    shelf.open(None)
    view = until(shelf, lambda v: len(v.rows) == 4 and not v.busy, "all sets")
    assert view.rows[-1].picture is None and {row.scene for row in view.rows} == {"scene one", "scene two"}
    assert [row.set_name for row in chosen(view.rows, "all", "scene two", "")] == ["two"]


def test_everything_can_be_undone_in_order(shelf, root):
    path = root / "one" / "episode_0002.h5"
    row = lambda view: next((r for r in view.rows if r.name == "episode_0002"), None)  # noqa: E731
    with Episode(path) as episode:
        frames = episode["frame/index"]
    shelf.label(path, "failure")
    shelf.instruct(path, "wrap the harness")
    shelf.trim(path, 2 * DT, 9 * DT)
    view = until(shelf, lambda v: v.undo.endswith("trimmed"), "three changes")
    assert row(view).kept == pytest.approx((2 * DT, 9 * DT)) and row(view).instruction == "wrap the harness"
    shelf.discard(path)
    view = until(shelf, lambda v: v.thrown == 1, "the discard")
    assert row(view) is None and [r.name for r in view.rows] == ["episode_0003", "episode_0001"]
    thrown = root / "one" / "trash" / "episode_0002.h5"
    assert thrown.exists() and files.picture_path(thrown).exists()
    assert shelf.moved[-1] == (path, thrown, "discard", None)
    for true in (
        lambda v: row(v) and row(v).label == "failure" and v.rows[1].name == "episode_0002",
        lambda v: row(v).kept is None, lambda v: row(v).instruction == "", lambda v: row(v).label is None,
    ):  # fmt: skip
        shelf.undo()
        until(shelf, true, "the undo")
    with Episode(path) as episode:
        np.testing.assert_array_equal(episode["frame/index"], frames)
    shelf.undo()
    assert until(shelf, lambda v: "nothing to undo" in v.said, "its word").undo == ""


def test_what_cannot_be_done_is_said(shelf, root):
    shelf.trim(root / "one" / "episode_0001.h5", 99.0, 100.0)
    view = until(shelf, lambda v: v.failed, "the problem")
    assert "keeps nothing of it" in view.said and not view.busy
    shelf.restore(root / "one" / "episode_0001.h5")
    until(shelf, lambda v: v.failed and v.said != view.said, "the other problem")
    with pytest.raises(ValueError, match="label 'good'; legal: success, failure, None"):
        shelf.label(root / "one" / "episode_0001.h5", "good")


def test_filters_and_numbers(shelf, root):
    shelf.label(root / "one" / "episode_0001.h5", "success")
    view = until(shelf, lambda v: v.rows[-1].label == "success", "the label")
    assert [row.name for row in chosen(view.rows, "success", "", "")] == ["episode_0001"]
    assert len(chosen(view.rows, "unlabelled", "", "")) == 2 and not chosen(view.rows, "failure", "", "")
    assert [row.name for row in chosen(view.rows, "all", "", "0003")] == ["episode_0003"]
    found = numbers(view.rows)
    assert (found.episodes, found.success, found.unlabelled) == (3, 1, 2)
    assert found.seconds == pytest.approx(33 * DT) and found.longest == pytest.approx(12 * DT)
    assert found.wall_seconds == pytest.approx(0.05 * (9 + 10 + 11))


def test_a_recorder_goes_along_with_what_the_browser_does(tmp_path):
    engine = FakeEngine()
    recorder = Recorder(tmp_path / "set", "s", get_state=engine.get_state, settings=RecorderSettings(min_free_bytes=0))
    record(recorder, engine, 5)
    shelf = EpisodeShelf(tmp_path, None, recorder.follow)
    shelf.open(tmp_path / "set")
    until(shelf, lambda v: len(v.rows) == 1, "the set")
    shelf.discard(tmp_path / "set" / "episode_0001.h5")
    until(shelf, lambda v: v.thrown == 1, "the discard")
    assert recorder.status().label == "discard"
    recorder.label("success")  # by a key, afterwards: it comes back from where it is now
    assert files.read_meta(tmp_path / "set" / "episode_0001.h5")["label"] == "success"
    assert not (tmp_path / "set" / "trash" / "episode_0001.h5").exists()
    shelf.close()
    recorder.close()


def test_a_trace_keeps_the_shortest_peak(tmp_path):
    values = np.zeros(1000)
    values[503] = 7.0
    assert stretches(values).max() == 7.0 and len(stretches(values)) == 96 and len(stretches(values[:5])) == 5
    pads = {"l": {"kind": "pad", "trace": [1.0, 2.0]}, "r": {"kind": "pad", "trace": [3, 4]}, "t": {"kind": "body"}}
    title, trace = sparkline({"force": pads})
    assert title == "pads" and trace.tolist() == [4.0, 6.0]
    assert sparkline({"force": {"x": {"kind": "pad", "trace": ["a"]}}})[0] == "" and sparkline(None)[0] == ""
    engine = FakeEngine()
    recorder = Recorder(tmp_path, "s", get_state=engine.get_state, settings=RecorderSettings(min_free_bytes=0))
    record(recorder, engine, 5)
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert episode_summary(episode)["wall_seconds"] == pytest.approx(0.2)
        assert episode.meta["summary"] == episode_summary(episode)
