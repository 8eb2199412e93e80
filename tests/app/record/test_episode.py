import json
import random
import shutil

import h5py
import numpy as np
import pytest

from app.record import Episode, EpisodeError, Recorder, RecorderSettings, list_episodes
from app.record.chunked import ChunkedWriter, read_array, write_array
from tests.app.record.fake_engine import FakeEngine, frame_at, record


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("set")
    engine = FakeEngine()
    settings = RecorderSettings(min_free_bytes=0, keyframe_every=50)
    recorder = Recorder(folder, "strip", "a: 1\n", get_state=engine.get_state, settings=settings)
    record(recorder, engine, 130, instruction="peel")
    recorder.close()
    return folder / "episode_0001.h5"


@pytest.fixture
def path(tmp_path, original):
    shutil.copy(original, tmp_path)
    shutil.copy(original.with_name("episode_0001.meta.json"), tmp_path)
    return tmp_path / original.name


def edit(path):
    return h5py.File(path, "r+")


def test_random_access_equals_reading_in_order(path):
    with Episode(path) as episode:
        rows = [episode.positions(row) for row in range(131)]
        for row in (130, 0, 64, 63, 129, 1, 127, 128):
            np.testing.assert_array_equal(episode.positions(row), rows[row])
        for bad in (-1, 131):
            with pytest.raises(EpisodeError, match=f"row {bad} asked for, there are 0 to 130"):
                episode.positions(bad)
        with pytest.raises(EpisodeError, match="there are 0 to 129"):
            episode.frame(130)
        with pytest.raises(KeyError, match="no column 'sample/twst'.*sample/twist"):
            episode["sample/twst"]
        with pytest.raises(EpisodeError, match="has 4 keyframes, asked for number 4"):
            episode.keyframe(4)
        assert "sample/twist" in episode and "points/code" not in episode and "nothing" not in episode
        np.testing.assert_array_equal(episode.rows("sample/twist", 60, 70), episode["sample/twist"][60:70])


def test_arrays_of_every_kind_come_back_to_the_bit(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "f8": rng.standard_normal((3000, 3)), "nan": np.array([np.nan, -0.0, np.inf]), "S": np.array([b"x"]),
        "bool": rng.random((50, 2)) < 0.5, "c16": np.array([1 + 2j]), "text": np.array(["a", "bcd"]),
        "scalar": np.array(3.25), "true": np.array(True), "empty": np.zeros((0, 3)),
        "u8": np.array([2**64 - 1], np.uint64), "i1": np.arange(-5, 5, dtype=np.int8),
        "f2": rng.random((700, 2)).astype(np.float16), "be": np.arange(3, dtype=">f8"), "wide": rng.random((2, 400, 3)),
    }  # fmt: skip
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, array in arrays.items():
            write_array(file, name, array)
    with h5py.File(tmp_path / "a.h5") as file:
        for name, array in arrays.items():
            back = read_array(file[name])
            assert back.shape == array.shape and back.dtype == array.dtype, name
            assert back.tobytes() == array.tobytes(), name


def test_meta_beside_the_file_wins_and_its_loss_is_survived(path):
    side = path.with_name("episode_0001.meta.json")
    meta = json.loads(side.read_text())
    meta["label"] = "failure"
    side.write_text(json.dumps(meta))
    with Episode(path) as episode:
        assert episode.label == "failure"
    for text in ("[1, 2]", "{", '{"a":' * 100000, "x" * 2_000_000):
        side.write_text(text)
        with Episode(path) as episode:
            assert episode.label is None and episode.meta["instruction"] == "peel"
        (info,) = list_episodes(path.parent)
        assert (info.num_frames, info.instruction, info.problem) == (130, "peel", "")
    side.unlink()
    assert list_episodes(path.parent)[0].num_frames == 130


def test_newer_foreign_and_broken_files_say_what_they_are(path, tmp_path):
    with edit(path) as file:
        file.attrs["version"] = 7
    with pytest.raises(EpisodeError, match="has episode format 7; this version of Tacktile reads up to 3: update"):
        Episode(path)
    with edit(path) as file:
        file.attrs["format"] = np.bytes_("robomimic")
    with pytest.raises(EpisodeError, match="HDF5, but not a Tacktile episode .format 'robomimic'"):
        Episode(path)
    (tmp_path / "episode_0002.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(EpisodeError, match="episode_0002.h5 is not a readable HDF5 file"):
        Episode(tmp_path / "episode_0002.h5")
    with pytest.raises(FileNotFoundError, match="no episode episode_0003.h5"):
        Episode(tmp_path / "episode_0003.h5")
    path.with_name("episode_0001.meta.json").unlink()
    problems = [info.problem for info in list_episodes(tmp_path)]
    assert "not a Tacktile episode" in problems[0] and "not a readable HDF5" in problems[1]


def test_texts_of_variable_length_are_refused_unread(path):
    # damage in HDF5's heap of such texts makes the library loop for ever
    with edit(path) as file:
        file.attrs["format"] = "tacktile-episode"
    with pytest.raises(EpisodeError, match="attribute format is not a number or a text of fixed length"):
        Episode(path)


def test_a_wrong_number_of_frames_is_refused(path):
    with edit(path) as file:
        file.attrs["num_frames"] = 131
    with pytest.raises(EpisodeError, match="declares 131 frames and holds 130"):
        Episode(path)


def test_an_older_file_without_newer_groups_still_opens(path):
    with edit(path) as file:
        for name in ("state", "segments", "requests", "events", "scene"):
            del file[name]
        file.attrs["version"] = 0
    with Episode(path) as episode:
        assert len(episode) == 130 and episode.positions(130).shape == (40, 3)
        assert not episode.hashes().any() and len(episode.keyframe_rows) == 0 and episode.scene_yaml == ""
        assert "no exact states: it can be shown, not replayed by inputs" in [f.text for f in episode.validate()]


def test_misfits_of_another_scene_are_all_named(path):
    with Episode(path) as episode:
        state = FakeEngine().get_state()
        assert episode.misfits("strip", 40, state) == []
        other = {"x": np.zeros((41, 3)), "v": state["v"].astype(np.float32), "bonds": np.zeros(1)}
        assert episode.misfits("press", 41, other) == [
            "recorded in the scene 'strip', this is 'press'",
            "recorded with 40 points, this scene has 41",
            "state array 'bonds' of this scene was not recorded",
            "state array 'step_index' was recorded, this scene has none",
            "state array 'v': recorded (40, 3) float64, this scene (40, 3) float32",
            "state array 'x': recorded (40, 3), this scene (41, 3)",
        ]


def replace(file, path, **create):
    attrs = dict(file[path].attrs)
    del file[path]
    dataset = file.create_dataset(path, **create)
    dataset.attrs.update(attrs)


def test_hostile_layouts_are_refused_without_taking_memory(path, tmp_path):
    huge = 10**13
    with edit(path) as file:
        replace(file, "time/dt", shape=(huge,), dtype="f8", chunks=(1024,))
        replace(file, "time/wall", shape=(130,), dtype=h5py.string_dtype())  # variable length
        replace(file, "command/twist", shape=(130, 6), dtype="f8", external=[("/etc/hosts", 0, 6240)])
        del file["sample/twist"]
        file["sample/twist"] = h5py.ExternalLink("other.h5", "/x")
        replace(file, "sample/gripper", shape=(130,), dtype="f8", chunks=(130,), compression="lzf", data=np.zeros(130))
        replace(file, "sample/confidence", shape=(130, 2**20), dtype="f8", chunks=(130, 2**20), compression="gzip")
        file["points/code"].resize(10**7, axis=0)
    with Episode(path) as episode:
        with pytest.raises(EpisodeError, match="sample/twist is a link"):
            episode["sample/twist"]
        with pytest.raises(EpisodeError, match="in one read, limit"):
            episode.rows("time/dt", 0, huge)
        with pytest.raises(EpisodeError, match="not one of integer, float, fixed-length text"):
            episode["time/wall"]
        with pytest.raises(EpisodeError, match="data lies in another file"):
            episode["command/twist"]
        with pytest.raises(EpisodeError, match="filters .* are not shuffle"):
            episode["sample/gripper"]
        with pytest.raises(EpisodeError, match="beyond 536870912 bytes"):
            episode["sample/confidence"]
        assert any(finding.severity == "error" for finding in episode.validate(positions=False))


def test_a_chunk_that_expands_beyond_its_size_is_refused(tmp_path):
    import zlib

    with h5py.File(tmp_path / "a.h5", "w") as file:
        writer = ChunkedWriter(file, "a", np.float64, rows=64)
        writer.extend(np.arange(64.0))
        writer.close()
        assert read_array(file["a"]).tolist() == list(range(64))
        file["a"].id.write_direct_chunk((0,), zlib.compress(bytes(10**6)))
        with pytest.raises(ValueError, match="/a: the chunk at row 0 .*(damaged|larger)"):
            read_array(file["a"])
        file["a"].id.write_direct_chunk((0,), zlib.compress(bytes(64 * 8)), filter_mask=1)
        with pytest.raises(ValueError, match="/a: the chunk at row 0 is damaged"):
            read_array(file["a"])


def test_flipped_bytes_raise_episode_errors_only(path, tmp_path):
    data = path.read_bytes()
    rng = random.Random(3)
    bad = tmp_path / "bad.h5"
    opened = 0
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 8, 200))):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
        bad.write_bytes(damaged[: rng.choice((len(data), len(data) - 1000))])
        try:
            with Episode(bad) as episode:
                opened += 1
                episode.positions(episode.num_frames)
                episode.frame(episode.num_frames // 2)
                for number in range(len(episode.keyframe_rows)):
                    episode.keyframe(number)
        except EpisodeError:
            pass
    assert opened > 5


def test_findings(tmp_path):
    engine = FakeEngine()
    recorder = Recorder(tmp_path, "strip", settings=RecorderSettings(min_free_bytes=0))
    recorder.start(engine.positions())
    still = frame_at(FakeEngine(), 1).command.__class__()
    for index in range(1, 201):
        frame = frame_at(engine, index)
        if index <= 70 or index > 190:
            frame.command = still
        if 100 <= index <= 150:
            frame.sample = frame_at(FakeEngine(), 100).sample
        if index == 120:
            frame.points[3, 1] = np.nan
            frame.control.joint_target[:] = np.nan
        recorder.write(frame)
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        findings = [(finding.severity, finding.text) for finding in episode.validate()]
    assert findings == [
        ("error", "control/joint_target: 1 not finite"),
        ("error", "1 points are not finite from row 120 on"),
        ("warning", "the input was frozen for 1.7 s while it drove"),
        ("note", "idle for 2.3 s at the start"),
        ("note", "no exact states: it can be shown, not replayed by inputs"),
    ]


def test_findings_about_lengths(path):
    with edit(path) as file:
        file["sample/twist"].resize(120, axis=0)
        file["state/hash"].resize(130, axis=0)
        file["points/code"].resize(129, axis=0)
    with Episode(path) as episode:
        texts = [finding.text for finding in episode.validate()]
        with pytest.raises(EpisodeError, match="positions end before row 130"):
            episode.positions(130)
    assert any("column sample/twist" in text or "/sample/twist: rows 0..130 of 120" in text for text in texts)


def test_listing_is_a_scan_in_order_of_number(path, tmp_path):
    for name in ("episode_0010.h5", "episode_0002.h5", "episode_10000.h5", "notes.txt", "episode_7.txt"):
        shutil.copy(path, tmp_path / name)
    found = list_episodes(tmp_path)
    assert [info.name for info in found] == ["episode_0001", "episode_0002", "episode_0010", "episode_10000"]
    assert list_episodes(tmp_path / "missing") == []
    engine = FakeEngine()
    recorder = Recorder(tmp_path, "strip", settings=RecorderSettings(min_free_bytes=0))
    assert record(recorder, engine, 1) == "episode_10001"
    recorder.close()
