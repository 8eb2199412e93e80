import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.record import Episode, Recorder, RecorderSettings, framed_log, list_episodes, recover
from app.record.framed_log import FramedLogWriter
from app.record.packing import pack
from tests.app.record.fake_engine import FakeEngine, frame_at

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The log of a recording of 30 frames that was never stopped."""
    folder = tmp_path_factory.mktemp("log")
    engine = FakeEngine()
    settings = RecorderSettings(min_free_bytes=0, keyframe_every=10)
    recorder = Recorder(folder, "strip", get_state=engine.get_state, settings=settings)
    recorder.start(engine.positions())
    for index in range(1, 31):
        recorder.write(frame_at(engine, index))
    copy = folder / "copy"
    shutil.copy(folder / "episode_0001.log", copy)
    yield copy
    recorder.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_nothing_to_do(tmp_path):
    assert recover(tmp_path / "missing") == [] and recover(tmp_path) == []


def test_a_log_that_ends_in_the_middle_of_a_record(tmp_path, log):
    data = log.read_bytes()
    (tmp_path / "episode_0005.log").write_bytes(data[:-7])
    (tmp_path / "episode_0005.h5.part").write_bytes(b"half an episode")
    seen = []
    (found,) = recover(tmp_path, progress=lambda name, done: seen.append((name, done)))
    assert found.name == "episode_0005" and found.num_frames in (29, 30) and found.lost_bytes > 0
    assert names(tmp_path) == ["episode_0005.h5", "episode_0005.meta.json"]
    with Episode(found.path) as episode:
        assert len(episode) == found.num_frames and episode.meta["recovered"] and not episode.meta["stopped"]
        findings = [finding.text for finding in episode.validate()]
        assert any("the end of the log was lost" in text and "torn record" in text for text in findings)
        assert "recovered after the application ended unexpectedly" in findings
    assert seen and all(name == "episode_0005" and 0.0 <= done <= 1.0 for name, done in seen)
    assert recover(tmp_path) == []


def test_damage_in_the_middle_keeps_the_log(tmp_path, log):
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "episode_0002.log").write_bytes(data)
    (found,) = recover(tmp_path)
    assert 5 < found.num_frames < 30 and found.lost_bytes > 100
    assert f"{found.lost_bytes} bytes behind them are damaged and kept as episode_0002.log.damaged" in found.text
    assert names(tmp_path) == ["episode_0002.h5", "episode_0002.log.damaged", "episode_0002.meta.json"]
    assert (tmp_path / "episode_0002.log.damaged").read_bytes() == bytes(data)
    recorder = Recorder(tmp_path, "strip", settings=RecorderSettings(min_free_bytes=0))
    assert recorder.start() == "episode_0003"  # the number of the damaged log is taken
    recorder.close()


def test_logs_that_hold_nothing_or_something_else(tmp_path, log):
    (tmp_path / "episode_0001.log").write_bytes(b"")
    (tmp_path / "episode_0002.log").write_bytes(log.read_bytes()[:16])
    (tmp_path / "episode_0003.log").write_bytes(b"holiday pictures" * 10)
    for writer, records in (
        (FramedLogWriter(tmp_path / "episode_0004.log"), [(2, pack({"row": 1}))]),  # a frame without a start
        (FramedLogWriter(tmp_path / "episode_0005.log"), [(1, b"not packed")]),
        (FramedLogWriter(tmp_path / "episode_0006.log"), [(1, pack({})), (2, pack({"row": 1, "frame": 3}))]),
        (FramedLogWriter(tmp_path / "episode_0007.log"), [(1, pack([1, 2]))]),
    ):
        for kind, payload in records:
            writer.append(kind, payload)
        writer.close()
    (tmp_path / "episode_x.log").write_bytes(b"foreign")
    texts = {found.name: found.text for found in recover(tmp_path)}
    assert texts["episode_0001"] == "episode_0001 was empty and is removed"
    assert "removed" in texts["episode_0002"]
    assert texts["episode_0003"].startswith(
        "episode_0003 could not be recovered: episode_0003.log: not a recording log"
    )
    assert (
        "the first record is of kind 2" in texts["episode_0004"]
        and "kept as episode_0004.log.damaged" in texts["episode_0004"]
    )
    for name in ("episode_0005", "episode_0006", "episode_0007"):
        assert "contents that do not fit" in texts[name]
    assert names(tmp_path) == [
        "episode_0003.log", "episode_0004.log.damaged", "episode_0005.log.damaged", "episode_0006.log.damaged",
        "episode_0007.log.damaged", "episode_x.log",
    ]  # fmt: skip


def test_recovery_and_a_window_that_starts_at_the_same_moment(tmp_path, monkeypatch):
    # the other window has made its log and not locked it yet when recovery removes the empty file
    real, taken = framed_log._lock_file, []

    def recover_first(fd):
        if not taken:
            taken.append(fd)
            assert [found.text for found in recover(tmp_path)] == ["episode_0001 was empty and is removed"]
        return real(fd)

    monkeypatch.setattr(framed_log, "_lock_file", recover_first)
    engine = FakeEngine()
    recorder = Recorder(tmp_path, "strip", settings=RecorderSettings(min_free_bytes=0))
    recorder.start(engine.positions())
    recorder.write(frame_at(engine, 1))
    recorder.close()
    assert taken and names(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]


def test_killed_between_the_last_steps_of_sealing(tmp_path, log):
    shutil.copy(log, tmp_path / "episode_0001.log")
    recover(tmp_path)
    sealed = (tmp_path / "episode_0001.h5").read_bytes()
    shutil.copy(log, tmp_path / "episode_0001.log")  # whole, with its meta file; only the log was not removed
    assert [item.path.name for item in list_episodes(tmp_path)] == ["episode_0001.h5"]
    (found,) = recover(tmp_path)
    assert found.text == "episode_0001 was already saved" and found.num_frames == 30
    assert names(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]
    assert (tmp_path / "episode_0001.h5").read_bytes() == sealed

    shutil.copy(log, tmp_path / "episode_0001.log")  # the meta file was not written yet
    (tmp_path / "episode_0001.meta.json").unlink()
    (found,) = recover(tmp_path)
    assert found.num_frames == 30 and names(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]


def test_discarded_before_the_kill_goes_to_the_trash(tmp_path):
    engine = FakeEngine()
    recorder = Recorder(tmp_path, "strip", settings=RecorderSettings(min_free_bytes=0))
    recorder.start(engine.positions(), instruction="first")
    recorder.write(frame_at(engine, 1))
    recorder._current.store_label("discard")  # as `label` does, before the process dies
    data = (tmp_path / "episode_0001.log").read_bytes()
    recorder.label("discard")
    recorder.close()
    other = tmp_path / "other"
    other.mkdir()
    (other / "episode_0001.log").write_bytes(data)
    (found,) = recover(other)
    assert found.path == other / "trash/episode_0001.h5"
    assert list_episodes(other) == [] and list_episodes(other, trash=True)[0].instruction == "first"


HOLD = """
import sys
from app.record import Recorder, RecorderSettings
from tests.app.record.fake_engine import FakeEngine, frame_at
engine = FakeEngine()
recorder = Recorder(sys.argv[1], "strip", settings=RecorderSettings(min_free_bytes=0))
recorder.start(engine.positions())
recorder.write(frame_at(engine, 1))
print("ready", flush=True)
sys.stdin.read()
recorder.close()
"""


def test_another_window_that_records_is_left_alone(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:  # fmt: skip
        assert child.stdout.readline() == "ready\n"
        (found,) = recover(tmp_path)
        assert found.text == "episode_0001 is being recorded by another window; left alone"
        assert [(info.sealed, info.name) for info in list_episodes(tmp_path)] == [(False, "episode_0001")]
        child.stdin.close()
    assert recover(tmp_path) == [] and names(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]


def test_a_full_disk_waits_for_the_next_time(tmp_path, log, monkeypatch):
    shutil.copy(log, tmp_path / "episode_0001.log")

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.record.seal.os.fsync", refuse)
    (found,) = recover(tmp_path)
    assert found.text == "episode_0001 waits for recovery: the disk is full. The log is kept."
    assert names(tmp_path) == ["episode_0001.log"]
    monkeypatch.undo()
    assert recover(tmp_path)[0].num_frames == 30
