"""From the first start to the replayed episode, in the real window with real key events, as an operator goes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

from app.record import Episode
from tests.app.desk import ROOT, Desk, needs_desk

pytestmark = needs_desk
STAND = 0.0405  # [m] height of the strip on its stand


class Teleoperation:
    """One demonstration, done once: press, wait for what the log says, let go."""

    def __init__(self, folder):
        self.folder = folder
        self.episodes = folder / "episodes"
        command = ["launch.py", "run", "strip_on_box", "--compute", "cpu", "--record", str(self.episodes)]
        self.desk = Desk(folder, [*command, "--state-log", str(folder / "log.jsonl")])

    def gripper(self) -> dict:
        return self.desk.last()["tools"]["gripper"]

    def drive(self) -> None:
        desk = self.desk
        desk.click("overlay.close")
        desk.use_world_directions()
        desk.press("minus")  # half the speed for the last centimetre
        desk.press("r")
        desk.wait(lambda f: f["record"]["state"] == "REC", "the recording")
        desk.hold("d", lambda f: f["tools"]["gripper"]["reached"][0] > -0.188, "the fingers around the strip's end")
        desk.press("space")
        desk.wait(lambda f: f["tools"]["gripper"].get("grip_force", 0.0) > 4.0, "the pinch")
        desk.press("equal")
        self.lifted = desk.hold("e", lambda f: f["tools"]["gripper"]["reached"][2] > 0.115, "the lift")
        self.dragged = desk.hold("w", lambda f: f["tools"]["gripper"]["reached"][1] > 0.10, "the drag")
        self.picture = desk.picture("drag.png")
        desk.press("space")
        desk.wait(lambda f: f["tools"]["gripper"]["closure"] == 0.0, "the open fingers")
        self.dropped = desk.hold("a", lambda f: f["meshes"]["strip"]["upper"][2] < 0.1, "the strip leaving the fingers")
        desk.press("r")
        desk.wait(lambda f: f["record"]["state"] != "REC", "the end of the recording")
        desk.press("y")
        self.labelled = desk.wait(lambda f: f["record"]["label"] == "success", "the label")
        desk.wait(lambda f: f["record"]["state"] == "IDLE", "the saved episode")
        self.status = desk.close_politely()


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    run = Teleoperation(tmp_path_factory.mktemp("end_to_end"))
    try:
        run.drive()
        yield run
    finally:
        run.desk.end()


@pytest.fixture(scope="module")
def episode(done):
    with Episode(done.episodes / "episode_0001.h5") as opened:
        yield opened


def test_the_strip_was_pinched_lifted_dragged_and_let_go(done):
    lifted, dragged, dropped = (f["meshes"]["strip"] for f in (done.lifted, done.dragged, done.dropped))
    assert lifted["upper"][2] > STAND + 0.06
    assert dragged["upper"][1] > lifted["upper"][1] + 0.05, "the held end goes along"
    assert dropped["upper"][2] < dragged["upper"][2] - 0.01
    assert done.lifted["tools"]["gripper"]["grip_force"] > 1.0
    assert all(frame["mode"] != "PAUSED" for frame in done.desk.frames())


def test_the_window_closed_in_good_order(done):
    assert done.status == 0, done.desk.said()
    assert "Traceback" not in done.desk.said()
    assert done.labelled["record"]["episode"] == "episode_0001"


def test_recording_was_unmistakable(done):
    """A red border all around the window while the strip was dragged."""
    border = np.concatenate([done.picture[1, 5:-5], done.picture[-2, 5:-5], done.picture[5:-5, 1]]).astype(int)
    red = (border[:, 0] > 150) & (border[:, 1] < 80) & (border[:, 2] < 90)
    assert red.mean() > 0.95


def test_the_episode_opens_with_h5py_alone(done):
    with h5py.File(done.episodes / "episode_0001.h5") as file:
        frames = int(file.attrs["num_frames"])
        assert file["command/twist"].shape == (frames, 6) and frames > 60
        assert float(np.abs(file["command/twist"][:, 2]).max()) > 0.1, "the lift"
        assert np.all(np.diff(file["time/simulated"][:]) > 0.0)
        meta = json.loads(file["meta"][0])
        assert meta["scene_name"] == "strip_on_box" and "strip:" in file["scene/yaml"].asstr()[0]
    meta = json.loads((done.episodes / "episode_0001.meta.json").read_text())
    assert meta["label"] == "success"


def test_the_episode_is_whole(episode):
    assert episode.validate() == []


def test_the_recorded_positions_show_the_drag(done, episode):
    """What the log said while it was driven stands in the episode, to its half micrometre."""
    index = np.flatnonzero(episode["frame/index"][:] == done.dragged["index"])
    points = episode.positions(int(index[0]) + 1)
    assert points[:, 2].max() > done.dragged["meshes"]["strip"]["upper"][2] - 1e-6


def test_replay_by_inputs_is_equal_to_the_bit(done, episode):
    command = [sys.executable, "launch.py", "episodes", "replay", str(done.episodes / "episode_0001.h5"), "--inputs"]
    ran = subprocess.run(
        command, cwd=ROOT, env={**done.desk.environment, "COLUMNS": "200"}, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(rf"episode_0001: {episode.num_frames} steps repeated, equal to the bit", ran.stdout), ran.stdout
