"""Pictures of an episode's cameras: drawn from a real recording, kept beside it, exported with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from app.cameras.render import CameraError, picture_rows, render_cameras
from app.record import Episode, EpisodeError, discard, merge, undo_discard
from app.record.camera_file import decode_depth, encode_depth
from app.record.folder import cameras_path
from app.runs import RunOptions, start_run
from devices.rotations import matrix_from_quat

SCENE = """
options: {dt: 20 ms}
entities:
  floor: {type: static, shape: {type: box, size: [2, 2, 0.02]}, position: [0, 0, -0.01]}
  hand:
    {type: body, shape: {type: box, size: [0.04, 0.04, 0.04]}, mass: 0.2, driven: true, tool: true, gravity: false,
     position: [0, 0, 0.3], look: {color: "#cc2222"}}
cameras:
  ego: {eye: [0.1, -1, 0.3], target: [0, 0, 0.3], width: 64, height: 48}
  wrist: {on: hand, eye: [0.03, 0, 0], target: [0.03, 0, -0.1], up: [0, 1, 0], width: 32, height: 24}
"""
SCRIPT = """
segments:
  - {for: 0.2, twist: [0.5, 0, 0.5, 0, 0, 0]}
  - {for: 0.2, twist: [0, 0, 0.3, 0, 0, 0.6]}
"""
STEPS = 20


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> tuple[Path, Path]:
    """(episode, scene file); drawn already."""
    folder = tmp_path_factory.mktemp("cameras")
    (folder / "bench.yaml").write_text(SCENE)
    (folder / "script.yaml").write_text(SCRIPT)
    options = RunOptions(
        scene=str(folder / "bench.yaml"), input=f"scripted:{folder / 'script.yaml'}", record=folder / "set",
        headless=True, compute="cpu", no_pictures=True, steps=STEPS,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACKTILE_DATA_DIR", str(folder / "data"))
        assert start_run(options, Console(quiet=True)) == 0
    path = folder / "set" / "episode_0001.h5"
    drawn = render_cameras(path, scene=str(folder / "bench.yaml"))
    assert drawn.cameras == ("ego", "wrist") and drawn.path == cameras_path(path)
    return path, folder / "bench.yaml"


def test_thirty_pictures_a_second_of_simulated_time(recorded):
    with Episode(recorded[0]) as episode:
        count, pictures = episode.num_frames, episode.cameras
        assert count >= STEPS - 2 and pictures.rate == 30.0 and pictures.names == ["ego", "wrist"]
        moments = np.arange(len(pictures)) / 30.0
        assert len(pictures) == int(np.floor(0.02 * count * 30 + 1e-6)) + 1
        late = moments - pictures.time  # the last state at or before the moment
        assert (late > -1e-9).all() and (late < 0.02).all()
        np.testing.assert_allclose(pictures.time, 0.02 * pictures.rows)
        assert [pictures.at(row) for row in (0, 1, 2, 3)] == [0, 1, 1, 2]  # 0, 20 and 60 ms were drawn
    assert picture_rows(np.arange(61) / 30.0, 30.0).tolist() == list(range(61))
    assert picture_rows(np.arange(4) * 0.1, 30.0).tolist() == [0, 1, 2, 3]


def test_depth_and_poses_are_those_of_the_recorded_states(recorded):
    """The wrist camera rides 3 cm beside the hand's middle and sees the floor: depth in the middle is its height."""
    with Episode(recorded[0]) as episode:
        pictures = episode.cameras
        assert pictures.body("ego") is None and pictures.body("wrist") == "hand"
        poses, measured = pictures.poses("wrist"), episode["extra/tools/hand/pose"]
        height = []
        for k, row in enumerate(pictures.rows[1:], start=1):
            x, q = measured[row - 1, :3], measured[row - 1, 3:]
            turn = matrix_from_quat(q)
            np.testing.assert_allclose(poses[k, :3, 3], x + turn @ (0.03, 0, 0), atol=3e-6)
            np.testing.assert_allclose(poses[k, :3, 2], turn @ (0, 0, -1), atol=1e-5)
            depth = pictures.depth("wrist", k)
            height.append(poses[k, 2, 3])
            assert depth[11, 15] == pytest.approx(height[-1], abs=6e-5)
        assert np.ptp(height) > 0.01, "the hand was moved"
        red = [np.argwhere(pictures.rgb("ego", k)[..., 0] > 1.5 * pictures.rgb("ego", k)[..., 1].astype(float))
               for k in (0, len(pictures) - 1)]  # fmt: skip
        moved = red[1].mean(axis=0) - red[0].mean(axis=0)
        assert moved[0] < -0.5 and moved[1] > 0.2, "in the picture it went up and to the right"
        place = np.append(measured[pictures.rows[-1] - 1, :3], 1.0)
        u, v, d = pictures.intrinsics("ego")[-1] @ (np.linalg.inv(pictures.poses("ego")[-1]) @ place)[:3]
        assert red[1].mean(axis=0) == pytest.approx((v / d, u / d), abs=1.0)


def test_the_same_pictures_when_drawn_again(recorded, tmp_path):
    path = tmp_path / "episode_0001.h5"
    shutil.copyfile(recorded[0], path)
    render_cameras(path, scene=str(recorded[1]))
    with h5py.File(cameras_path(path)) as again, h5py.File(cameras_path(recorded[0])) as first:
        for name in ("row", "ego/rgb", "ego/depth", "wrist/rgb", "wrist/depth", "wrist/world_from_camera"):
            assert np.array_equal(again[name][:], first[name][:]), name


def test_they_go_where_the_episode_goes(recorded, tmp_path):
    path = tmp_path / "set" / "episode_0003.h5"
    path.parent.mkdir()
    shutil.copyfile(recorded[0], path)
    shutil.copyfile(cameras_path(recorded[0]), cameras_path(path))
    thrown = discard(path)
    assert cameras_path(thrown).is_file() and not cameras_path(path).exists()
    assert cameras_path(undo_discard(path.parent)).is_file()
    merge([path.parent], tmp_path / "other")
    with Episode(tmp_path / "other" / "episode_0001.h5") as episode:
        assert len(episode.cameras) > 10


def test_what_is_refused(recorded, tmp_path):
    path, scene = recorded
    with pytest.raises(CameraError, match=r"episode_0001.cameras.h5 is there already; --overwrite draws it anew"):
        render_cameras(path, scene=str(scene))
    with pytest.raises(ValueError, match="rate 0; legal: 0.1 to 1000 pictures a second"):
        render_cameras(path, rate=0.0, scene=str(scene), overwrite=True)
    with pytest.raises(CameraError, match="was recorded in the scene 'bench', which does not ship"):
        render_cameras(path, overwrite=True)
    other = tmp_path / "episode_0001.h5"
    shutil.copyfile(path, other)
    shutil.copyfile(cameras_path(path), cameras_path(other))
    with h5py.File(cameras_path(other), "r+") as file:
        file.attrs["state_hash"] = np.uint64(1)
    with Episode(other) as episode, pytest.raises(EpisodeError, match="was drawn from another episode"):
        episode.cameras  # noqa: B018
    with Episode(path) as episode, pytest.raises(KeyError, match="no camera 'left'.*there are ego, wrist"):
        episode.cameras.rgb("left", 0)


def test_damage_is_told(recorded, tmp_path):
    other = tmp_path / "episode_0001.h5"
    shutil.copyfile(recorded[0], other)
    whole = cameras_path(recorded[0]).read_bytes()
    cameras_path(other).write_bytes(whole[: len(whole) // 2])
    with Episode(other) as episode, pytest.raises(EpisodeError, match="not a readable HDF5 file"):
        episode.cameras  # noqa: B018
    shutil.copyfile(recorded[0], cameras_path(other))
    with Episode(other) as episode, pytest.raises(EpisodeError, match="does not hold pictures of cameras"):
        episode.cameras  # noqa: B018
    cameras_path(other).write_bytes(whole)
    with h5py.File(cameras_path(other), "r+") as file:
        file["ego"]["rgb"].resize(3, axis=0)
    with Episode(other) as episode, pytest.raises(EpisodeError, match="ego/rgb has 3 rows of"):
        episode.cameras.rgb("ego", 0)


def test_depth_is_kept_to_half_a_unit():
    depth = np.array([0.0, 1e-4, 0.31234, 6.5535, 6.6, 100.0], np.float32)
    kept = decode_depth(encode_depth(depth))
    np.testing.assert_allclose(kept[:4], depth[:4], atol=5.1e-5)
    assert (kept[4:] == 0.0).all(), "too far is nothing"


def test_the_command(recorded, tmp_path):
    from app.cli import app

    path = tmp_path / "episode_0001.h5"
    shutil.copyfile(recorded[0], path)
    command = ["episodes", "render-cameras", str(path), "--scene", str(recorded[1]), "--rate", "10", "--samples", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0 and "pictures each of ego, wrist" in done.output, done.output
    with Episode(path) as episode:
        assert episode.cameras.rate == 10.0
    both = ["episodes", "label", str(path), str(cameras_path(path)), "--to", "failure"]  # as *.h5 gives them
    assert CliRunner().invoke(app, both).exit_code == 0
    again = CliRunner().invoke(app, command)
    assert again.exit_code != 0 and "--overwrite draws it anew" in again.output
