import csv
import json
from fractions import Fraction

import h5py
import numpy as np
import pytest

from app.export import ExportError, ExportOptions, export, run
from app.export import options as options_module
from app.export.demonstration_set import DemonstrationSet
from app.export.mp4 import film_rows
from app.export.video import VideoWriter, check_video
from app.record import Episode, list_episodes
from tests.app.export.lerobot_reader import LeRobotReader
from tests.app.export.recorded import SLOWNESS, record_slow
from tests.app.record.fake_engine import DT

av, pyarrow, mcap = (pytest.importorskip(name) for name in ("av", "pyarrow", "mcap"))


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    """Three episodes of a run at 0.3 of real time."""
    folder = tmp_path_factory.mktemp("set")
    record_slow(folder, 40, "success", "close the box")
    record_slow(folder, 31, "failure", "close the box")
    record_slow(folder, 25, None, "lift the strip")
    return [info.path for info in list_episodes(folder)]


def simulated(path):
    """Simulated times of the exported states, taken from the file by h5py alone."""
    with h5py.File(path) as file:
        time = file["time/simulated"][:]
        wall = file["time/wall"][:]
    assert np.ptp(wall) == pytest.approx(SLOWNESS * np.ptp(time))  # the run was slow, or the tests below say nothing
    return time - time[0]


def test_robomimic(episodes, tmp_path):
    out = tmp_path / "set.hdf5"
    done = export(episodes, "robomimic", out)
    assert done.paths == (out,) and done.texts[0].startswith("3 demonstrations, 93 samples")
    with h5py.File(out) as file:
        data = file["data"]
        env = json.loads(data.attrs["env_args"])
        assert env["env_name"] == "strip" and env["env_kwargs"]["control_freq"] == pytest.approx(30.0)
        assert data.attrs["total"] == 93 and sorted(data) == ["demo_0", "demo_1", "demo_2"]
        for number, (path, success) in enumerate(zip(episodes, (True, False, None), strict=True)):
            demo = data[f"demo_{number}"]
            count = demo.attrs["num_samples"]
            np.testing.assert_allclose(demo["time"][:], simulated(path)[:-1], atol=1e-9)
            assert demo.attrs.get("success") == success
            assert demo["dones"][:].tolist() == [0] * (count - 1) + [1]
            assert demo["rewards"][:].sum() == (success is True)
            assert demo["actions"].shape == (count, 8) and demo["states"].shape == (count, 7)
            for name in demo["obs"]:
                assert demo[f"obs/{name}"].shape[0] == demo[f"next_obs/{name}"].shape[0] == count
                np.testing.assert_array_equal(demo[f"obs/{name}"][1:], demo[f"next_obs/{name}"][:-1])
            assert demo["obs/pad_depth"].shape[1:] == (5, 7, 1)
        masks = {name: [m.decode() for m in file[f"mask/{name}"][:]] for name in ("train", "valid")}
        assert len(masks["valid"]) == 1 and sorted(masks["train"] + masks["valid"]) == sorted(data)


def test_robomimic_with_all_points(episodes, tmp_path):
    export(episodes[:1], "robomimic", tmp_path / "a.hdf5", ExportOptions(points=True, images=False, valid=0.0))
    with h5py.File(tmp_path / "a.hdf5") as file, Episode(episodes[0]) as episode:
        states = file["data/demo_0/states"]
        np.testing.assert_allclose(states[3].reshape(-1, 3), episode.states[4], atol=1e-6)
        assert list(file["mask/train"]) == [b"demo_0"] and not len(file["mask/valid"])


def test_lerobot_by_its_published_description(episodes, tmp_path):
    done = export(episodes, "lerobot", tmp_path / "set")
    assert done.texts[0].startswith("3 episodes, 93 frames at 30 Hz")
    reader = LeRobotReader(tmp_path / "set")
    assert len(reader) == 93 and [e["length"] for e in reader.episodes] == [39, 30, 24]
    assert reader.tasks == {0: "close the box", 1: "lift the strip"}
    with Episode(episodes[1]) as episode:  # its frames are 39..68 of the set
        asked = episode.actions["body_transform"][:, 0, 0, :3, 3]
    for k in (0, 7, 29):
        frame = reader[39 + k]
        np.testing.assert_allclose(frame["action"][:3], asked[k + 1], rtol=1e-6)
        assert frame["observation.state"][0] == pytest.approx(0.01 * (k + 1))
        assert float(frame["timestamp"]) == pytest.approx(simulated(episodes[1])[k], abs=1e-5)
        assert int(frame["frame_index"]) == k and frame["task"] == "close the box"
        assert bool(frame["next.done"]) == (k == 29)
        index = 1 + k - k % 3  # of the step whose image is shown
        image = frame["observation.images.pad_depth"][..., 0]
        assert np.unravel_index(image[:5, :7].argmax(), (5, 7)) == (index % 5, index % 7)
        assert image.max() == pytest.approx(255 * 1e-3 / 2e-3, abs=12)  # grey, through the video codec


def test_lerobot_statistics_are_those_of_all_frames(episodes, tmp_path):
    export(episodes, "lerobot", tmp_path / "set", ExportOptions(images=False))
    reader = LeRobotReader(tmp_path / "set")
    action = np.array([reader[i]["action"] for i in range(len(reader))], float)
    stats = reader.stats["action"]
    for name, value in (("mean", action.mean(axis=0)), ("std", action.std(axis=0)), ("min", action.min(axis=0)),
                        ("max", action.max(axis=0))):  # fmt: skip
        np.testing.assert_allclose(stats[name], value, atol=1e-6)
    assert stats["count"] == [93]
    assert set(reader.info["features"]) == set(reader.stats)
    own = [e for e in reader.episodes if e["episode_index"] == 2][0]
    np.testing.assert_allclose(own["stats/action/mean"], action[69:].mean(axis=0), atol=1e-6)


def test_lerobot_wants_whole_rates_and_says_which_fit(episodes, tmp_path):
    with pytest.raises(ExportError, match="7.5 states a second; LeRobot needs a whole number: --every 1, 2, 3, 5, 6"):
        export(episodes, "lerobot", tmp_path / "set", ExportOptions(every=4))
    assert not list(tmp_path.iterdir())


def test_csv_reads_back_exactly(episodes, tmp_path):
    export(episodes[:1], "csv", tmp_path)
    with open(tmp_path / "episode_0001.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    time = simulated(episodes[0])
    np.testing.assert_allclose([float(row["time"]) for row in rows], time, atol=1e-9)
    wall = np.array([float(row["wall"]) for row in rows])
    assert np.ptp(wall) == pytest.approx(np.ptp(time) * SLOWNESS)
    assert rows[-1]["action.gripper.x"] == "" and float(rows[3]["gripper_pos.x"]) == 0.04


def test_mcap_messages_stand_at_simulated_times(episodes, tmp_path):
    from mcap.reader import make_reader

    export(episodes[:1], "mcap", tmp_path, ExportOptions(points=True))
    found = {}
    with open(tmp_path / "episode_0001.mcap", "rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        for schema, channel, message in reader.iter_messages():
            assert channel.message_encoding == "json" and schema.encoding == "jsonschema"
            properties = json.loads(schema.data).get("properties")
            value = json.loads(message.data)
            assert properties is None or set(value) == set(properties), channel.topic
            found.setdefault(channel.topic, []).append((schema.name, message.log_time, value))
    assert summary.statistics.message_count == sum(map(len, found.values()))
    time = np.rint(simulated(episodes[0]) * 1e9)
    stamps = [stamp for _, stamp, _ in found["/tf"]]
    np.testing.assert_allclose(stamps, time, atol=1)
    name, _, value = found["/tf"][4]
    assert name == "foxglove.FrameTransforms" and value["transforms"][0]["translation"]["x"] == pytest.approx(0.05)
    assert found["/pad/depth"][0][0] == "foxglove.CompressedImage" and found["/points"][0][0] == "foxglove.PointCloud"
    assert len(found["/action"]) == 39 and found["/pad"][2][2]["pad_force"] == [0.0, 0.0, 3.0]


def test_a_run_at_0_3_of_real_time_plays_at_the_right_speed(episodes, tmp_path):
    """1.3 simulated seconds took 4.3 s; the film lasts 1.3 s, and shows each moment when it was in simulated time."""
    (rows,) = [film_rows(demo) for demo in DemonstrationSet(episodes[:1], ExportOptions(fps=50.0))]
    duration = 39 * DT
    assert len(rows) == int(duration * 50) + 1
    with Episode(episodes[0]) as episode:
        shown = episode.time.simulated[rows - 1] - episode.time.simulated[0]
    moments = np.arange(len(rows)) / 50.0
    assert (shown <= moments + 1e-9).all() and (moments - shown < DT).all()


def test_videos_stand_at_their_times_at_any_rate(tmp_path):
    for fps in (Fraction(30), Fraction(125, 2), Fraction(30000, 1001)):
        with VideoWriter(tmp_path / "a.mp4", fps) as video:
            for k in range(9):
                video.append(np.full((17, 33, 3), 20 * k, np.uint8))
        assert video.shape == (18, 34, 3)
        times = check_video(tmp_path / "a.mp4", 9, fps)
        np.testing.assert_allclose(times, np.arange(9) / float(fps), atol=2e-5)
        with pytest.raises(ExportError, match="holds 9 frames, 10 were written"):
            check_video(tmp_path / "a.mp4", 10, fps)
        with pytest.raises(ExportError, match="frame 1 stands at"):
            check_video(tmp_path / "a.mp4", 9, fps * 2)


def test_what_is_left_out_is_said(episodes, tmp_path):
    done = export(episodes, "csv", tmp_path / "a", ExportOptions(only=("success",)))
    assert [path.name for path in done.paths] == ["episode_0001.csv"]
    assert done.skipped == ("episode_0002 is labelled failure", "episode_0003 is labelled none")
    broken = tmp_path / "episode_0009.h5"
    broken.write_bytes(episodes[0].read_bytes()[:3000])
    with pytest.raises(ExportError, match="nothing to export: episode_0009.h5 is not a readable HDF5 file"):
        export([broken], "csv", tmp_path / "b")


def test_other_scenes_do_not_mix(episodes, tmp_path):
    from tests.app.export.recorded import make_recorder, slow_frame
    from tests.app.record.fake_engine import FakeEngine

    engine = FakeEngine()
    recorder = make_recorder(tmp_path, engine, scene="box")
    recorder.start(engine.positions())
    for index in range(1, 5):
        recorder.write(slow_frame(engine, index))
    recorder.close()
    with pytest.raises(ExportError, match="episode_0001 and episode_0001 differ in their scene; a data set has one"):
        export([episodes[0], tmp_path / "episode_0001.h5"], "robomimic", tmp_path / "a.hdf5")


@pytest.mark.parametrize(("kind", "name"), [("robomimic", "a.hdf5"), ("lerobot", "a")])
def test_nothing_half_written_and_nothing_replaced_unasked(episodes, tmp_path, monkeypatch, kind, name):
    out = tmp_path / name
    export(episodes[:1], kind, out, ExportOptions(images=False))
    with pytest.raises(ExportError, match=f"{name} is there already; another name, or --overwrite"):
        export(episodes, kind, out)
    before = sorted(p.name for p in tmp_path.rglob("*"))

    def failing(*_):
        raise OSError(28, "No space left on device")

    module = f"app.export.{kind}.check_{kind}"
    monkeypatch.setattr(module, failing)
    with pytest.raises(ExportError, match=f"{name} could not be written: No space left on device"):
        export(episodes, kind, out, ExportOptions(images=False, overwrite=True))
    monkeypatch.undo()
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    export(episodes, kind, out, ExportOptions(images=False, overwrite=True))
    assert not list(tmp_path.glob("*.part")) and not list(tmp_path.glob("*.old"))


@pytest.mark.parametrize("kind", ["robomimic", "csv", "mcap", "lerobot"])
def test_the_check_sees_what_is_wrong(episodes, tmp_path, monkeypatch, kind):
    """Something is changed between writing and reading back."""
    tampered = {"robomimic": _tamper_hdf5, "csv": _tamper_csv, "mcap": _tamper_mcap, "lerobot": _tamper_lerobot}[kind]
    module = __import__(f"app.export.{'csv_table' if kind == 'csv' else 'mcap_file' if kind == 'mcap' else kind}",
                        fromlist=["x"])  # fmt: skip
    check = getattr(module, f"check_{kind}")
    monkeypatch.setattr(module, f"check_{kind}", lambda path, demos: (tampered(path), check(path, demos))[1])
    with pytest.raises(ExportError, match="are not|do not|is not|differ"):
        export(episodes[:1], kind, tmp_path / "out", ExportOptions(images=False))
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def _tamper_hdf5(path):
    with h5py.File(path, "r+") as file:
        file["data/demo_0/actions"][3, 2] += 1e-12


def _tamper_csv(path):
    path.write_text(path.read_text().replace("0.04", "0.05", 1))


def _tamper_mcap(path):
    from mcap.reader import make_reader
    from mcap.writer import Writer

    with open(path, "rb") as file:
        messages = list(make_reader(file).iter_messages())
    with open(path, "wb") as file:  # the same, played at the speed of the wall
        writer = Writer(file)
        writer.start()
        for schema, channel, message in messages:
            schema_id = writer.register_schema(schema.name, schema.encoding, schema.data)
            channel_id = writer.register_channel(channel.topic, channel.message_encoding, schema_id)
            stamp = round(message.log_time * SLOWNESS)
            writer.add_message(channel_id, stamp, message.data, stamp)
        writer.finish()


def _tamper_lerobot(path):
    import pyarrow.parquet as parquet

    (file,) = (path / "data").rglob("*.parquet")
    table = parquet.read_table(file)
    slow = pyarrow.array(table["timestamp"].to_numpy() * np.float32(SLOWNESS))
    parquet.write_table(table.set_column(table.column_names.index("timestamp"), "timestamp", slow), file)


def test_a_missing_package_is_named(episodes, tmp_path, monkeypatch):
    real = options_module.importlib.import_module

    def without(name, *rest):
        if name.split(".")[0] in ("av", "mcap"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(options_module.importlib, "import_module", without)
    for kind in ("lerobot", "mp4", "mcap"):
        with pytest.raises(ExportError, match="which is not installed: pip install 'tacktile.export.'"):
            export(episodes, kind, tmp_path / kind)
    with pytest.raises(ValueError, match="format 'hdf'; legal: robomimic, lerobot, mcap, csv, mp4"):
        run.export(episodes, "hdf", tmp_path)
