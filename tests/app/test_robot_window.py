"""A robot's end effectors under real keys in the real window: two arms over a box, recorded and replayed."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from app.record import Episode
from tests.app.desk import ROOT, Desk, needs_desk

pytestmark = needs_desk
PATIENCE = 240.0  # [s] of the wall for one movement


class Session:
    """One demonstration with both arms, done once."""

    def __init__(self, folder):
        self.episodes = folder / "episodes"
        command = ["launch.py", "run", "two_arms", "--compute", "cpu", "--record", str(self.episodes)]
        self.desk = Desk(folder, [*command, "--state-log", str(folder / "log.jsonl")])

    def tool(self, frame: dict, arm: str) -> dict:
        return frame["tools"][f"robot.{arm}"]

    def drive(self) -> None:
        desk = self.desk
        desk.click("overlay.close")
        desk.use_world_directions()
        desk.press("r")
        self.began = desk.wait(lambda f: f["record"]["state"] == "REC", "the recording", PATIENCE)
        low = self.tool(self.began, "left")["reached"][2] - 0.04
        self.lowered = desk.hold("q", lambda f: self.tool(f, "left")["reached"][2] < low, "left down", PATIENCE)
        desk.press("space")
        self.closed = desk.wait(lambda f: self.tool(f, "left")["closure"] > 0.6, "the closing hand", PATIENCE)
        desk.press("Tab")
        side = self.tool(self.began, "right")["reached"][1] + 0.03
        self.moved = desk.hold("w", lambda f: self.tool(f, "right")["reached"][1] > side, "right aside", PATIENCE)
        self.picture = desk.picture("two_arms.png")
        desk.press("r")
        desk.wait(lambda f: f["record"]["state"] != "REC", "the end of the recording", PATIENCE)
        desk.press("y")
        desk.wait(lambda f: f["record"]["state"] == "IDLE", "the saved episode", PATIENCE)
        self.status = desk.close_politely()


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    session = Session(tmp_path_factory.mktemp("robot_window"))
    try:
        session.drive()
        yield session
    finally:
        session.desk.end()


def test_keys_move_one_arm_at_a_time_and_close_its_hand(done):
    began, lowered, closed, moved = done.began, done.lowered, done.closed, done.moved
    assert done.status == 0 and "Traceback" not in done.desk.said(), done.desk.said()
    drop = np.subtract(done.tool(lowered, "left")["reached"], done.tool(began, "left")["reached"])
    assert drop[2] < -0.04 and np.abs(drop[:2]).max() < 0.01, "straight down"
    still = np.subtract(done.tool(closed, "right")["reached"], done.tool(began, "right")["reached"])
    assert np.abs(still).max() < 1e-3, "the other arm waits"
    aside = np.subtract(done.tool(moved, "right")["reached"], done.tool(began, "right")["reached"])
    assert aside[1] > 0.03 and np.abs(aside[[0, 2]]).max() < 0.01
    assert done.tool(moved, "left")["closure"] > 0.6 and done.tool(moved, "right")["closure"] < 1e-9
    assert all(frame["mode"] != "PAUSED" for frame in done.desk.frames())


def test_the_episode_holds_the_arms_and_replays_to_the_bit(done):
    path = done.episodes / "episode_0001.h5"
    with Episode(path) as episode:
        assert episode.validate() == [] and episode.num_frames > 20
        frames = episode.num_frames
    command = [sys.executable, "launch.py", "episodes", "replay", str(path), "--inputs"]
    ran = subprocess.run(
        command, cwd=ROOT, env={**done.desk.environment, "COLUMNS": "200"}, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(rf"episode_0001: {frames} steps repeated, equal to the bit", ran.stdout), ran.stdout
