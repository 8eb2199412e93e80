"""An export of box_packaging holds what a policy of paper T learns from: pictures, proprioception, tape, instruction,
stages, end-effector poses and hand joints at 30 Hz, in chunks; read back by other means than our own."""

from __future__ import annotations

import base64
import io
import json

import h5py
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from app.cameras.render import render_cameras
from app.export import ExportError, ExportOptions, chunks, demonstrations, export, waypoints
from app.record import Episode
from app.record.folder import relabel
from app.runs import RunOptions, start_run
from scenes.packaging import STAGES
from tests.app.export.lerobot_reader import LeRobotReader

pytest.importorskip("pyarrow")
av = pytest.importorskip("av")

CAMERAS = ("ego", "wrist_dispenser", "wrist_hand")
SCRIPT = "segments:\n  - {for: 1.0, twist: [0.3, 0, -0.3, 0, 0, 0.4], gripper: 0.5}\n"
STEPS = 5


@pytest.fixture(scope="module")
def episode_path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("box")
    (folder / "script.yaml").write_text(SCRIPT)
    options = RunOptions(
        scene="box_packaging", input=f"scripted:{folder / 'script.yaml'}", record=folder / "set", headless=True,
        compute="cpu", no_pictures=True, steps=STEPS,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACKTILE_DATA_DIR", str(folder / "data"))
        assert start_run(options, Console(quiet=True)) == 0
    path = relabel(folder / "set" / "episode_0001.h5", "success", "seal the carton with tape")
    render_cameras(path, samples=1)
    return path


def test_waypoints_of_both_hands_in_chunks(episode_path):
    with Episode(episode_path) as episode:
        (demo,) = demonstrations(episode, ExportOptions())
        points = waypoints(demo)
        pose = ("x", "y", "z", "qx", "qy", "qz", "qw")
        hands = [f"{tool}.{axis}" for tool in ("hand", "dispenser") for axis in pose]
        assert points.action_names == [*hands, "hand.left_slide", "hand.right_slide"]
        assert points.state_names == points.action_names, "measured and asked, number by number"
        asked = episode.actions["body_transform"][:, 0, 0, :3, 3]  # dt is 1/30 s: waypoints are the targets themselves
        np.testing.assert_array_equal(points.action[:, :3], asked[1:])
        assert np.ptp(points.action[:, 0]) > 1e-3, "the hand was moved"
        first = next(chunks(points, 3))
        np.testing.assert_array_equal(first.action, points.action[:3])


def test_robomimic(episode_path, tmp_path):
    out = tmp_path / "box.hdf5"
    export([episode_path], "robomimic", out)
    with h5py.File(out) as file, Episode(episode_path) as episode:
        demo, pictures = file["data/demo_0"], episode.cameras
        count = demo.attrs["num_samples"]
        assert demo.attrs["task"] == "seal the carton with tape" and demo.attrs["success"]
        assert [n.decode() for n in demo["stages"].attrs["names"]] == list(STAGES)
        assert demo["stages"].shape == (count, 5) and demo["stages"].dtype == bool and demo["stage"].shape == (count,)
        assert (demo["stage"][:] == 0).all() and not demo["stages"][:].any(), "nothing is closed yet"
        for camera in CAMERAS:
            for kind, shift in (("obs", 0), ("next_obs", 1)):
                rgb, depth = demo[f"{kind}/{camera}_image"], demo[f"{kind}/{camera}_depth"]
                assert rgb.shape == (count, 480, 640, 3) and depth.shape == (count, 480, 640, 1)
                for k in (0, count - 1):
                    shown = pictures.at(k + shift + 1)  # state k is row k + 1
                    assert np.array_equal(rgb[k], pictures.rgb(camera, shown))
                    assert np.array_equal(depth[k, ..., 0], pictures.depth(camera, shown))
                    assert np.array_equal(demo[f"{kind}/{camera}_extrinsics"][k], pictures.poses(camera)[shown])
            assert demo[f"obs/{camera}_intrinsics"].shape == (count, 3, 3)
            assert np.ptp(demo[f"obs/{camera}_depth"][0]) > 0.2, "something near and something far"
        seen = set(demo["obs"])
        assert {"hand_pos", "hand_quat", "joint_position", "drive_force"} <= seen and any("payout" in n for n in seen)


def test_lerobot(episode_path, tmp_path):
    root = tmp_path / "box"
    export([episode_path], "lerobot", root)
    data = LeRobotReader(root)
    features = data.info["features"]
    assert data.info["fps"] == 30 and data.tasks == {0: "seal the carton with tape"}
    assert features["stages"]["names"] == list(STAGES)
    frame = data[len(data) - 1]
    with Episode(episode_path) as episode:
        pictures = episode.cameras
        shown = pictures.at(len(data))
        for camera in CAMERAS:
            rgb = frame[f"observation.images.{camera}"].astype(float)
            assert np.abs(rgb - pictures.rgb(camera, shown)).mean() < 4.0  # a video loses a little
            depth = features[f"observation.depth.{camera}"]["info"]["depth_unit"] * frame[f"observation.depth.{camera}"]
            np.testing.assert_allclose(depth, pictures.depth(camera, shown), atol=1e-7)
            np.testing.assert_allclose(
                frame[f"camera.{camera}.world_from_camera"].reshape(4, 4), pictures.poses(camera)[shown], atol=1e-6
            )
    assert frame["task"] == "seal the carton with tape" and frame["stage"] == 0 and frame["next.success"]
    assert frame["observation.state"].shape == (len(features["observation.state"]["names"]),)


def test_films_of_the_cameras_stand_beside_that_of_the_scene(episode_path, tmp_path):
    try:
        done = export([episode_path], "mp4", tmp_path, ExportOptions(size=(96, 64), quality="low"))
    except ExportError as error:
        pytest.skip(str(error))
    films = {path.name: text for path, text in zip(done.paths, done.texts, strict=True)}
    ends = ["", *(f"_{c}{end}" for c in CAMERAS for end in ("", "_depth"))]
    assert list(films) == [f"episode_0001{end}.mp4" for end in ends]
    assert len({text.split(": ")[1] for text in films.values()}) == 1, "all as long as each other"
    with av.open(str(done.paths[2])) as film:  # depth of ego: grey, 255 at 1.5 m
        (shown, *_) = [frame.to_ndarray(format="rgb24")[..., 1].astype(float) for frame in film.decode(video=0)]
    with Episode(episode_path) as episode:
        depth = episode.cameras.depth("ego", 1)
    assert np.abs(shown - 255.0 * np.clip(depth / 1.5, 0.0, 1.0)).mean() < 4.0


def test_mcap_holds_the_cameras(episode_path, tmp_path):
    mcap = pytest.importorskip("mcap.reader")
    export([episode_path], "mcap", tmp_path)
    topics: dict[str, list] = {}
    with open(tmp_path / "episode_0001.mcap", "rb") as file:
        for _, channel, message in mcap.make_reader(file).iter_messages():
            topics.setdefault(channel.topic, []).append(json.loads(message.data))
    assert {f"/{c}/{kind}" for c in CAMERAS for kind in ("image", "depth", "calibration")} <= set(topics)
    assert topics["/ego/calibration"][0]["width"] == 640 and topics["/stage"][0] == dict.fromkeys(("stage", *STAGES), 0)
    assert {t["child_frame_id"] for t in topics["/tf"][0]["transforms"]} >= {"hand", "dispenser", *CAMERAS}
    depth = np.asarray(Image.open(io.BytesIO(base64.b64decode(topics["/ego/depth"][0]["data"]))))
    with Episode(episode_path) as episode:
        pictures = episode.cameras
        np.testing.assert_allclose(1e-4 * depth, pictures.depth("ego", pictures.at(1)), atol=1e-7)
