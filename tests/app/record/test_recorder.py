import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from app.frame import Request
from app.record import (
    Episode,
    EpisodeError,
    Recorder,
    RecorderError,
    RecorderSettings,
    RecorderState,
    framed_log,
    list_episodes,
    recover,
)
from app.record.state_hash import state_hash
from tests.app.record.fake_engine import DT, FakeEngine, frame_at, record

ROOT = Path(__file__).parents[3]


def make(folder, engine, **settings):
    return Recorder(
        folder, "strip", "tape:\n  width: 0.05\n", options={"dt": DT}, versions={"warp": "1.19", "device": "cpu"},
        get_state=engine.get_state, settings=RecorderSettings(min_free_bytes=0, **settings),
    )  # fmt: skip


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


def test_states_and_what_is_stored(tmp_path):
    engine, twin = FakeEngine(), FakeEngine()
    recorder = make(tmp_path / "set", engine, keyframe_every=4)
    assert recorder.state is RecorderState.IDLE and not recorder.write(frame_at(FakeEngine(), 1))
    assert recorder.start(engine.positions(), instruction="close the box") == "episode_0001"
    assert recorder.state is RecorderState.REC
    with pytest.raises(RecorderError, match="episode_0001 is being recorded"):
        recorder.start()
    for index in range(1, 11):
        frame = frame_at(engine, index, events=("touch",) if index == 5 else ())
        assert recorder.write(frame)
        if index == 6:  # the loop is paused: nothing moved, but what was asked is kept
            still = frame_at(FakeEngine(), 6, stepped=False, requests=(Request("set_option", {"mu": 0.5}),))
            assert not recorder.write(still)
    status = recorder.status()
    assert (status.num_frames, status.label, status.problem) == (10, None, "")
    assert status.duration == pytest.approx(10 * DT) and status.log_bytes > 1000 and status.disk_free > 0
    recorder.stop("success")
    assert recorder.state in (RecorderState.SAVING, RecorderState.IDLE)
    recorder.close()
    assert recorder.state is RecorderState.IDLE
    assert recorder.poll_messages() == ("episode_0001 saved: 10 frames",)
    assert files(tmp_path / "set") == ["episode_0001.h5", "episode_0001.meta.json"]

    with Episode(tmp_path / "set/episode_0001.h5") as episode:
        assert len(episode) == 10 and episode.num_points == 40 and episode.validate() == []
        assert episode.label == "success" and episode.meta["instruction"] == "close the box"
        assert episode.meta["versions"] == {"warp": "1.19", "device": "cpu"} and episode.meta["options"] == {"dt": DT}
        assert episode.scene_name == "strip" and episode.scene_yaml == "tape:\n  width: 0.05\n"
        assert episode.events() == [(4, "touch")]
        assert episode.requests() == [(6, "set_option", {"mu": 0.5})]  # before the step of frame 6
        assert episode.keyframe_rows.tolist() == [0, 4, 8, 10] and not episode.keyframe_restart.any()
        hashes = episode.hashes()
        assert hashes[0] == state_hash(twin.get_state())
        np.testing.assert_allclose(episode.positions(0), twin.x, atol=0.51e-6, rtol=0)
        for index in range(1, 11):
            frame = frame_at(twin, index)
            assert int(hashes[index]) == state_hash(twin.get_state())
            np.testing.assert_allclose(episode.positions(index), twin.x, atol=0.51e-6, rtol=0)
            np.testing.assert_array_equal(episode.control(index - 1)["body_transform"], frame.control.body_transform)
            if index in (4, 8, 10):
                exact = episode.keyframe(episode.keyframe_rows.tolist().index(index))
                assert sorted(exact) == ["step_index", "v", "x"] and exact["step_index"].dtype == np.int64
                np.testing.assert_array_equal(exact["x"], twin.x)  # to the bit
                np.testing.assert_array_equal(exact["v"], twin.v)
        fields = episode.frame(2)
        assert fields["command"]["verbs"] == ["grip_toggle"] and fields["report"]["newton_iterations"] == 3
        assert fields["sample"]["buttons"] == ["clutch", "record"] and fields["sample"]["raw"]["report"] == [1, 2, 3]
        assert fields["time"]["device"] == 5.15 and fields["status"]["health"] == "OK"
        assert fields["report"]["stage_seconds"] == {"contact": 0.01, "linear": 0.02}
        assert fields["signals"]["joint_force"] == 4.5
        assert episode["sample/buttons"][1] == []


def test_plain_h5py_reads_it(tmp_path):
    engine, twin = FakeEngine(), FakeEngine()
    record(make(tmp_path, engine), engine, 70)
    for index in range(1, 68):
        frame_at(twin, index)
    with h5py.File(tmp_path / "episode_0001.h5") as file:
        assert file.attrs["format"] == b"tacktile-episode" and file.attrs["num_frames"] == 70
        assert file["sample/twist"].shape == (70, 6) and file["sample/twist"][2, 0] == pytest.approx(0.3)
        assert file["frame/mode"][0] == b"DRIVING" and file["frame/mode"].asstr()[0] == "DRIVING"
        assert json.loads(file["sample/raw"][0]) == {"report": [1, 2, 1]}
        # the recipe of docs/recording.md for row 67
        first = 67 - 67 % 64
        code = file["points/code"][first : 67 + 1]
        step = (code >> 1) ^ -(code & 1)
        um = np.cumsum(np.cumsum(step, axis=2, dtype="u4"), axis=0, dtype="u4")[-1].view("i4")
        np.testing.assert_allclose(um.T * 1e-6, twin.x, atol=0.51e-6, rtol=0)
        assert file["state/keyframe/000000/x"][:].tolist() == FakeEngine().x.tolist()


def test_three_clocks_and_a_clock_that_goes_back(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    record(recorder, engine, 8)
    with Episode(tmp_path / "episode_0001.h5") as episode:
        for name, step in (("simulated", DT), ("wall", 0.05), ("monotonic", 0.05), ("device", 0.05), ("receive", 0.05)):
            np.testing.assert_allclose(np.diff(episode[f"time/{name}"]), step, atol=1e-6)
    recorder.start(engine.positions())
    for index in range(1, 6):
        recorder.write(frame_at(engine, index, time_wall=1.7e9 + (0 if index == 4 else index)))
    recorder.close()
    with Episode(tmp_path / "episode_0002.h5") as episode:
        assert [f.text for f in episode.validate()] == ["the wall clock does not advance at frame 3 (1 times)"]


def test_a_changed_state_is_announced_or_noticed(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine, keyframe_every=100)
    recorder.start(engine.positions())
    for index in (1, 2, 3):
        recorder.write(frame_at(engine, index))
    engine.set_state(FakeEngine().get_state())
    recorder.restart_point("reset")
    for index in (1, 2):
        recorder.write(frame_at(engine, index))
    engine.x = engine.x + 0.5
    recorder.write(frame_at(engine, 7))  # the frame counter jumps
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert episode.segments() == [(0, "start"), (3, "reset"), (5, "the state was changed without notice")]
        assert episode.keyframe_rows.tolist() == [0, 3, 6] and episode.keyframe_restart.tolist() == [False, True, False]
        np.testing.assert_array_equal(episode.keyframe(1)["x"], FakeEngine().x)
        assert ["without notice" in finding.text for finding in episode.validate()] == [True]


def test_a_clock_set_back_is_noticed_too(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    recorder.start(engine.positions())
    for index, time_sim in ((1, DT), (2, 2 * DT), (3, DT), (4, 2 * DT)):
        recorder.write(frame_at(engine, index, time_sim=time_sim))
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert episode.segments() == [(0, "start"), (2, "the state was changed without notice")]


def test_a_state_changed_after_the_last_frame_is_not_taken_for_it(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    recorder.start(engine.positions())
    recorder.write(frame_at(engine, 1))
    engine.x = engine.x + 1.0
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert episode.keyframe_rows.tolist() == [0]


def test_a_start_that_fails_leaves_nothing(tmp_path):
    recorder = Recorder(tmp_path, "strip", get_state=lambda: {"x": np.array([None])})
    with pytest.raises(RecorderError, match="cannot start a recording: state array 'x' has type object"):
        recorder.start()
    assert files(tmp_path) == [] and recorder.state is RecorderState.IDLE


def test_only_large_read_outs_lose_digits(tmp_path):
    for number, (num_points, dtype) in enumerate(((40, np.float64), (100, np.float32)), start=1):
        engine = FakeEngine(num_points)
        recorder = make(tmp_path, engine)
        record(recorder, engine, 2)
        recorder.close()
        with Episode(tmp_path / f"episode_{number:04d}.h5") as episode:
            assert episode["signals/contact_force"].dtype == dtype
            assert episode["control/body_transform"].dtype == np.float64


def test_pause_resume_and_empty_recordings(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    recorder.start(engine.positions())
    recorder.write(frame_at(engine, 1))
    recorder.pause("SpaceMouse lost")
    assert recorder.state is RecorderState.PAUSED and recorder.status().reason == "SpaceMouse lost"
    assert not recorder.write(frame_at(engine, 2))
    recorder.resume()
    assert recorder.write(frame_at(engine, 3))
    recorder.stop()
    recorder.start(engine.positions())
    recorder.close()
    recorder.close()
    assert "episode_0002: nothing was recorded" in recorder.poll_messages()
    assert files(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert len(episode) == 2 and episode.segments() == [(0, "start"), (1, "resumed")]


def test_positions_unknown_at_the_start_and_a_scene_that_changes(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    recorder.start()
    recorder.write(frame_at(engine, 1))
    recorder.write(frame_at(engine, 2, points=None))
    assert not recorder.write(frame_at(engine, 3, points=np.zeros((7, 3))))
    problem = recorder.status().problem
    assert recorder.state is RecorderState.PAUSED
    assert (
        "7 points now, the recording began with 40" in problem
        and "2 frames (0.1 s) of episode_0001 are kept" in problem
    )
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert len(episode) == 2 and h5py.File(episode.path)["points"].attrs["row0_is_copy"]
        np.testing.assert_array_equal(episode.positions(0), episode.positions(1))
        np.testing.assert_array_equal(episode.positions(2), episode.positions(1))


def test_points_that_come_and_go_are_kept(tmp_path):
    """A cut and its undo: each announced, and every row has its own number of points."""
    engine, frames = FakeEngine(), {}
    recorder = make(tmp_path, engine)
    recorder.start(engine.positions())
    for index in range(1, 101):
        if index in (31, 70, 75):  # grows in the middle of a block, shrinks, grows to less than before
            other = FakeEngine({31: 47, 70: 40, 75: 43}[index])
            other.count = engine.count
            engine.__dict__.update(other.__dict__)
            recorder.restart_point("cut")
        recorder.write(frame_at(engine, index))
        frames[index] = engine.positions()
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert episode.version == 3 and episode.num_points == 47 and episode.num_frames == 100
        assert [episode.points_at(row) for row in (0, 30, 31, 69, 70, 74, 75, 100)] == [40, 40, 47, 47, 40, 40, 43, 43]
        for row in (100, 31, 30, 65, 64, 63, 69, 70, 75, 74, *range(1, 101)):  # in any order
            np.testing.assert_allclose(episode.positions(row), frames[row], atol=0.51e-6, rtol=0)
        assert [row for row, _ in episode.segments()] == [0, 30, 69, 74]
        assert not episode.misfits(num_points=40) and episode.misfits(num_points=47)
        assert not [f for f in episode.validate() if f.severity == "error"]
    with h5py.File(tmp_path / "episode_0001.h5", "r+") as file:
        file["points/count"][50] = 48
    with pytest.raises(EpisodeError, match="points/count must hold one number from 1 to 47 for each of 101 rows"):
        Episode(tmp_path / "episode_0001.h5")


def test_tactile_arrays_images_at_a_set_rate_and_fields_that_come_and_go(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine, image_every=3)
    recorder.start(engine.positions())
    for index in range(1, 8):
        tactile = {
            "left": {"displacement": np.full((5, 3), index, float), "rgb": np.full((12, 16, 3), index, np.uint8)}
        }
        changes = {"extra": {"tactile": tactile, "bonds": np.arange(index), "note": "x"}}
        if index == 4:
            changes["sample"] = None
        recorder.write(frame_at(engine, index, **changes))
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        assert episode["tactile/left/displacement"][:, 0, 0].tolist() == [1, 2, 3, 4, 5, 6, 7]
        images = episode["tactile/left/rgb"]
        assert [None if image is None else int(image[0, 0, 0]) for image in images] == [1, None, None, 4, None, None, 7]
        assert images[3].shape == (12, 16, 3) and images[3].dtype == np.uint8
        assert [list(bonds) for bonds in episode["extra/bonds"]] == [list(range(n)) for n in range(1, 8)]
        assert np.isnan(episode["sample/twist"][3]).all() and np.isnan(episode["sample/sequence"][3])
        assert episode["sample/raw"][3] == "" and "raw" not in episode.frame(3).get("sample", {})
        assert np.isnan(episode["time/device"]).tolist() == [False] * 3 + [True] + [False] * 3


def test_labels_trash_and_undo(tmp_path):
    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    assert recorder.label("success") is None and recorder.undo() is None
    record(recorder, engine, 3)
    with pytest.raises(ValueError, match="'good' is not one of success, failure, discard"):
        recorder.label("good")
    recorder.label("success")
    recorder.label("failure")
    assert list_episodes(tmp_path)[0].label == "failure"
    assert recorder.undo() == "episode_0001 is success again"
    assert list_episodes(tmp_path)[0].label == "success"
    recorder.label("discard")
    assert list_episodes(tmp_path) == []
    assert files(tmp_path) == ["trash/episode_0001.h5", "trash/episode_0001.meta.json"]
    assert [info.label for info in list_episodes(tmp_path, trash=True)] == ["discard"]
    assert recorder.undo() == "episode_0001 is back from the trash"
    assert files(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]
    assert [info.label for info in list_episodes(tmp_path)] == ["success"]
    assert recorder.undo() == "episode_0001 is unlabelled again" and recorder.undo() is None

    # discarding while recording ends it; its number is not used again
    recorder.start(engine.positions())
    recorder.write(frame_at(engine, 1))
    recorder.label("discard")
    assert recorder.wait(30.0) and len(list_episodes(tmp_path)) == 1
    assert record(recorder, engine, 2) == "episode_0003"
    recorder.set_instruction("again")
    assert [(info.name, info.instruction) for info in list_episodes(tmp_path)] == [
        ("episode_0001", ""),
        ("episode_0003", "again"),
    ]
    recorder.close()


def test_a_label_given_while_saving_holds(tmp_path, monkeypatch):
    from app.record import recorder as module

    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    real = module.seal_log

    def label_then_seal(*args, **kwargs):
        sealed = real(*args, **kwargs)
        recorder.label("discard")
        return sealed

    monkeypatch.setattr(module, "seal_log", label_then_seal)
    record(recorder, engine, 3)
    assert files(tmp_path) == ["trash/episode_0001.h5", "trash/episode_0001.meta.json"]
    recorder.undo()
    assert files(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]


def test_a_full_disk_pauses_keeps_and_goes_on(tmp_path, monkeypatch):
    engine = FakeEngine()
    recorder = make(tmp_path, engine)
    recorder.start(engine.positions())
    assert recorder.write(frame_at(engine, 1))
    real, full = framed_log.os.write, [True]

    def write(fd, data):
        if full[0]:
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(framed_log.os, "write", write)
    assert not recorder.write(frame_at(engine, 2))
    assert recorder.state is RecorderState.PAUSED
    assert recorder.status().problem == (
        "Recording paused: the disk is full. 1 frames (0.0 s) of episode_0001 are kept. "
        "Free some space and resume, or stop to save."
    )
    full[0] = False
    recorder.resume()
    assert recorder.write(frame_at(engine, 3)) and recorder.status().problem == ""
    monkeypatch.setattr("app.record.recorder.shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    recorder.stop()
    recorder.wait(30.0)
    assert "episode_0001 could not be saved: the disk is full" in recorder.status().problem
    assert files(tmp_path) == ["episode_0001.log"]
    with pytest.raises(RecorderError, match="only 0 MB are free for recordings, 1 MB are needed"):
        Recorder(tmp_path, "strip", settings=RecorderSettings(min_free_bytes=10**6)).start()
    monkeypatch.undo()
    assert recorder.retry() == 1 and recorder.wait(30.0)
    assert files(tmp_path) == ["episode_0001.h5", "episode_0001.meta.json"]
    recorder.close()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_read_only_folder_is_said(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RecorderError, match="cannot record into the folder .*: Permission denied"):
        make(tmp_path, FakeEngine()).start()


def test_a_folder_that_is_a_file_is_said(tmp_path):
    (tmp_path / "set").write_text("")
    with pytest.raises(RecorderError, match="cannot record into the folder 'set'"):
        make(tmp_path / "set", FakeEngine()).start()


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))  # a real write that stops in the middle
from tests.app.record.fake_engine import FakeEngine, frame_at
from app.record import Recorder, RecorderSettings
engine = FakeEngine(400)
recorder = Recorder(sys.argv[1], "strip", get_state=engine.get_state, settings=RecorderSettings(min_free_bytes=0))
recorder.start(engine.positions())
index = 0
while recorder.write(frame_at(engine, index + 1)):
    index += 1
print(index, recorder.status().problem)
"""


@pytest.mark.skipif(os.name == "nt", reason="resource limits are POSIX")
def test_a_real_write_that_stops_in_the_middle(tmp_path):
    out = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    count, _, problem = out.stdout.partition(" ")
    assert out.returncode == 0 and int(count) > 3 and "the disk is full" in problem, out.stderr
    (found,) = recover(tmp_path)
    assert found.num_frames == int(count)


INTERRUPTED = textwrap.dedent("""
    import sys, time
    from app.record import Recorder, RecorderSettings, recorder as module
    from tests.app.record.fake_engine import FakeEngine, frame_at
    real = module.seal_log
    def slow(*args, progress, **kwargs):
        print("sealing", flush=True)
        for _ in range(2000):
            progress(0.0)
            time.sleep(0.02)
        return real(*args, progress=progress, **kwargs)
    module.seal_log = slow
    engine = FakeEngine()
    recorder = Recorder(sys.argv[1], "strip", get_state=engine.get_state, settings=RecorderSettings(min_free_bytes=0))
    recorder.start(engine.positions())
    for index in range(1, 21):
        recorder.write(frame_at(engine, index))
    recorder.label("failure")
    try:
        recorder.close()
    finally:
        print("closing", flush=True)
        time.sleep(20)
""")


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_ctrl_c_twice_while_saving_loses_nothing(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert child.stdout.readline() == "sealing\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "closing\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert child.returncode != 0 and "KeyboardInterrupt" in errors
    assert files(tmp_path) == ["episode_0001.log"]
    (found,) = recover(tmp_path)
    assert found.num_frames == 20 and found.text == "episode_0001 recovered: 20 frames, 0.7 s"
    assert list_episodes(tmp_path)[0].label == "failure"


def test_smooth_motion_with_exact_states_is_ten_times_smaller_than_float32_positions(tmp_path):
    # a strip lifted at up to 8 cm/s over a scene that stands still; clocks, samples and exact states count too
    along = np.repeat(np.linspace(0.0, 1.0, 100), 7)
    rest = np.stack([along, np.tile(np.linspace(-0.025, 0.025, 7), 100), 0.2 + 0.0 * along], axis=1)
    lift = np.clip(along - 0.5, 0.0, None)[:, None]
    engine = FakeEngine(700)
    recorder = make(tmp_path, engine)
    engine.x = rest
    recorder.start(engine.positions())
    for index in range(1, 301):
        frame = frame_at(FakeEngine(1), index, signals=None)
        moved = rest + lift * [0.15 * np.sin(0.5 * index * DT), 0.0, 0.15 * (1.0 - np.cos(0.5 * index * DT))]
        engine.v, engine.x = (moved - engine.x) / DT, moved
        frame.points = engine.positions()
        recorder.write(frame)
    recorder.close()
    raw, size = 301 * 700 * 12, (tmp_path / "episode_0001.h5").stat().st_size
    assert size * 10 < raw, f"ratio {raw / size:.1f}"
