import json

import numpy as np
import pytest

from app.record import (
    Episode,
    EpisodeError,
    SetError,
    discard,
    list_episodes,
    merge,
    restore,
    set_statistics,
    trim,
    trim_idle,
    undo_discard,
)
from app.record.folder import relabel
from app.record.sets import look_over
from devices.contract import Command
from tests.app.export.recorded import SLOWNESS, make_recorder, record_slow, slow_frame
from tests.app.record.fake_engine import DT, FakeEngine


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def test_a_trim_is_a_note_and_is_taken_back(tmp_path):
    path = record_slow(tmp_path, 30, "success")
    whole = path.read_bytes()
    assert trim(path, 5 * DT, 12.5 * DT) == (5, 12)
    with Episode(path) as episode:
        assert episode.kept == (5, 12) and episode.num_frames == 30 and episode.label == "success"
    assert list_episodes(tmp_path)[0].trim == (5, 12) and path.read_bytes() == whole
    assert trim(path) == (0, 30)
    with Episode(path) as episode:
        assert episode.kept == (0, 30)
    with pytest.raises(SetError, match="episode_0001 lasts 1.00 s; 2.00 to 3.00 s keeps nothing of it"):
        trim(path, 2.0, 3.0)


def test_a_trim_that_cannot_be_is_not_one(tmp_path):
    path = record_slow(tmp_path, 10)
    meta = path.with_name("episode_0001.meta.json")
    about = json.loads(meta.read_text())
    for wrong in ([3], [8, 2], ["0", 5], "all", [2**40, 2**41], [-3, 0]):
        meta.write_text(json.dumps(about | {"trim": wrong}))
        with Episode(path) as episode:
            assert episode.kept == (0, 10)


def test_trim_to_where_commands_were_given(tmp_path):
    engine = FakeEngine()
    recorder = make_recorder(tmp_path, engine)
    name = recorder.start(engine.positions())
    for index in range(1, 121):
        twist = np.full(6, 0.1 if 40 <= index < 60 else 0.0)
        recorder.write(slow_frame(engine, index, command=Command(twist=twist)))
    recorder.close()
    assert trim_idle(tmp_path / f"{name}.h5", margin=3 * DT) == (36, 62)  # frame i is step i + 1


def test_discard_and_undo_bring_back_the_label_and_the_last_one_first(tmp_path):
    first, second = record_slow(tmp_path, 5, "success"), record_slow(tmp_path, 6)
    before = contents(tmp_path)
    moved = discard(first)
    discard(second)
    assert moved.parent.name == "trash" and not list(tmp_path.glob("*.h5"))
    assert [info.name for info in list_episodes(tmp_path, trash=True)] == ["episode_0001", "episode_0002"]
    assert record_slow(tmp_path, 4).name == "episode_0003.h5"  # numbers are not used again
    assert undo_discard(tmp_path).name == "episode_0002.h5"
    assert undo_discard(tmp_path).name == "episode_0001.h5"
    assert undo_discard(tmp_path) is None
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before  # labels and all
    with pytest.raises(SetError, match="episode_0001.h5 is not in a folder called trash"):
        restore(first)


def test_merge_copies_once_under_new_numbers_and_leaves_the_sources(tmp_path):
    a, b, target = tmp_path / "a", tmp_path / "b", tmp_path / "all"
    record_slow(a, 5, "success", "close")
    record_slow(b, 6, "failure")
    trim(b / "episode_0001.h5", DT, 4 * DT)
    (b / "episode_0002.log").write_bytes(b"x" * 100)
    before = contents(a), contents(b)
    result = merge([a, b], target)
    assert result.copied == [("a/episode_0001", "episode_0001"), ("b/episode_0001", "episode_0002")]
    assert result.left == ["b/episode_0002: not sealed: being recorded, or waiting for recovery"]
    infos = list_episodes(target)
    assert [(i.label, i.instruction, i.num_frames, i.trim) for i in infos] == [
        ("success", "close", 5, None), ("failure", "", 6, (1, 4))
    ]  # fmt: skip
    again = merge([b, a], target)
    assert again.copied == [] and sorted(again.known) == ["a/episode_0001", "b/episode_0001"]
    assert (contents(a), contents(b)) == before
    for source, text in ((target, "is the target itself"), (tmp_path / "c", "is not a folder")):
        with pytest.raises(SetError, match=text):
            merge([source], target)


def test_a_merge_onto_a_full_disk_leaves_nothing_half(tmp_path, monkeypatch):
    record_slow(tmp_path / "a", 5)

    def full(source, target):
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.record.sets.shutil.copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        merge([tmp_path / "a"], tmp_path / "b")
    assert list((tmp_path / "b").iterdir()) == []


def test_statistics_of_a_set(tmp_path):
    for frames, label in ((30, "success"), (20, "success"), (10, None)):
        record_slow(tmp_path, frames, label)
    found = set_statistics(list_episodes(tmp_path))
    assert (found.episodes, found.frames, found.labels) == (3, 60, {"success": 2, "none": 1})
    assert found.seconds == pytest.approx(60 * DT) and found.longest == pytest.approx(30 * DT)
    assert found.wall_seconds == pytest.approx(57 * DT * SLOWNESS)
    assert found.realtime_factor == pytest.approx(0.3 * 60 / 57)
    mean, most = found.force["pad"]  # 1 N, 2 N, ... in each
    assert most == 30.0 and mean == pytest.approx((sum(range(31)) + sum(range(21)) + sum(range(11))) / 60)


def test_findings_are_kept_when_an_episode_is_saved(tmp_path):
    engine = FakeEngine()
    recorder = make_recorder(tmp_path, engine)
    name = recorder.start(engine.positions())
    for index in range(1, 60):
        frame = slow_frame(engine, index)
        object.__setattr__(frame.sample, "sequence", min(index, 5))  # the device froze
        if index == 20:
            frame.control.joint_target = np.array([[np.nan]])
        recorder.write(frame)
    recorder.close()
    told = recorder.poll_messages()
    assert f"{name}: error: control/joint_target: 1 not finite" in told
    assert any("the input was frozen for 1.8 s while it drove" in text for text in told)
    (info,) = list_episodes(tmp_path)
    assert info.worst == "error" and ("error", "control/joint_target: 1 not finite") in info.findings
    relabel(info.path, "success")
    assert list_episodes(tmp_path)[0].findings == info.findings


def test_a_look_can_be_ended(tmp_path):
    path = record_slow(tmp_path, 5)

    class Enough(Exception):
        pass

    calls = []

    def tick():
        calls.append(1)
        if len(calls) == 7:
            raise Enough

    with pytest.raises(Enough):
        look_over(path, tick)


def test_views_of_an_episode_are_lazy_and_named(tmp_path):
    path = record_slow(tmp_path, 12)
    with Episode(path) as episode:
        assert sorted(episode.actions) == ["body_transform", "joint_target"] and len(episode.signals) == 2
        assert "pad/depth" in list(episode.tactile) and episode.commands["twist"].shape == (12, 6)
        assert "twist" not in repr(episode.actions) and "joint_target" in repr(episode.actions)
        np.testing.assert_array_equal(episode.signals.rows("joint_force", 3, 5), episode["signals/joint_force"][3:5])
        np.testing.assert_allclose(np.diff(episode.time.simulated), DT)
        np.testing.assert_allclose(np.diff(episode.time.wall), DT * SLOWNESS, atol=1e-6)
        assert episode.time.states.shape == (13,) and np.isfinite(episode.time.device).all()
        assert len(episode.states) == 13 and sum(1 for _ in episode.states) == 13
        with pytest.raises(IndexError, match="positions end before row 13"):
            episode.states[13]
        with pytest.raises(KeyError, match="no column 'signals/nothing' in episode_0001"):
            episode.signals["nothing"]
        assert episode.layout["driven"] == ["hand"]
    with pytest.raises(EpisodeError, match="episode_0001.h5 is closed"):
        episode.signals["drive_force"]
