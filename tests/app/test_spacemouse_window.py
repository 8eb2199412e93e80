"""A SpaceMouse in the real window, through the bytes that the hardware sends: it moves the gripper, its buttons act,
and pulling the plug costs nothing but a pause."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bench.spacemouse_reports import FULL, Cap
from tests.app.desk import ROOT, Desk, needs_desk
from tests.devices.test_spacemouse import WIRELESS, library  # noqa: F401 - the fixture that builds the stand-in

pytestmark = needs_desk
UP, DOWN, REST = (0, 0, FULL, 0, 0, 0), (0, 0, -FULL, 0, 0, 0), (0,) * 6


@pytest.fixture(scope="module")
def desk(library, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("spacemouse")
    environment = {
        "LD_LIBRARY_PATH": str(library), "FAKEHID_PID": WIRELESS, "FAKEHID_SOCK": str(folder / "hid"),
    }  # fmt: skip
    command = [str(ROOT / "tests/app/spacemouse_app.py"), "strip_on_box", "--input", "spacemouse", "--compute", "cpu"]
    desk = Desk(folder, [*command, "--state-log", str(folder / "log.jsonl")], environment=environment)
    desk.click("overlay.close")
    yield desk
    desk.end()


@pytest.fixture
def cap(desk):
    cap = Cap(str(desk.folder / "hid"))
    yield cap
    cap.close()


def gripper(frame: dict) -> dict:
    return frame["tools"]["gripper"]


def place(frame: dict) -> np.ndarray:
    return np.array(gripper(frame)["target"])


def tell(desk, word: str) -> None:
    desk.app.stdin.write(word + "\n")
    desk.app.stdin.flush()


def test_a_push_moves_the_gripper_and_letting_go_stops_it(desk, cap):
    start = place(desk.last())
    assert desk.last()["input"] == "SpaceMouse" and desk.last()["health"] == "OK"
    cap.push(UP)  # pulled up
    desk.wait(lambda f: gripper(f)["reached"][2] > start[2] + 0.02, "the gripper going up")
    cap.push(REST)
    time.sleep(0.5)
    stopped = place(desk.last())
    time.sleep(0.5)
    assert place(desk.last()) == pytest.approx(stopped, abs=1e-9)
    assert stopped[:2] == pytest.approx(start[:2], abs=1e-9)


def test_the_left_button_closes_and_opens_the_gripper(desk, cap):
    cap.tap(1)
    desk.wait(lambda f: gripper(f)["closure"] == 1.0, "the closed gripper")
    cap.tap(1)
    desk.wait(lambda f: gripper(f)["closure"] == 0.0, "the open gripper")


def test_the_keyboard_keeps_its_verbs_beside_it(desk):
    desk.press("p")
    desk.wait(lambda f: f["mode"] == "PAUSED", "the pause")
    desk.press("p")
    desk.wait(lambda f: f["mode"] == "DRIVING", "the end of the pause")


def test_unplugged_it_pauses_with_a_banner_and_plugged_in_it_goes_on_without_a_jump(desk, cap):
    seen = len(desk.frames())
    start = place(desk.last())
    cap.push(UP)
    desk.wait(lambda f: place(f)[2] > start[2] + 0.005, "the gripper going up")
    tell(desk, "unplug")
    time.sleep(0.1)
    cap.pull_out()
    lost = desk.wait(lambda f: f["mode"] == "PAUSED", "the pause")
    assert lost["health"] == "LOST"
    assert lost["paused_reason"].startswith("SpaceMouse Compact") and "Plug it in again" in lost["paused_reason"]
    banner = desk.wait_drawn("banner")
    desk.wait_drawn("banner.keyboard")
    pixels = desk.picture("banner.png")[round(banner[1]) : round(banner[3]), round(banner[0]) : round(banner[2])]
    assert np.abs(np.median(pixels, axis=(0, 1)) - (255, 244, 219)).max() < 6, "the banner is not to be overlooked"
    held = place(lost)

    tell(desk, "plug")  # the cap is still pushed
    waiting = desk.wait(lambda f: f["mode"] != "PAUSED" and f["health"] == "OK" and f["waiting"], "going on")
    assert "rest" in waiting["waiting"]
    desk.wait(lambda f: "banner" not in desk.rects(), "the banner going")
    time.sleep(1.0)
    assert place(desk.last()) == pytest.approx(held, abs=1e-9), "a cap held through the unplugging does not drive"
    cap.push(REST)
    desk.wait(lambda f: not f["waiting"], "the cap at rest")
    cap.push(DOWN)
    desk.wait(lambda f: place(f)[2] < held[2] - 0.01, "the gripper going down")
    cap.push(REST)

    way = np.array([place(f) for f in desk.frames()[seen - 1 :]])
    most = 0.15 / 30 + 1e-9  # [m] a frame of a full push at gain 1, dt 1/30 s
    assert np.linalg.norm(np.diff(way, axis=0), axis=1).max() <= most, "the target is continuous"


def test_it_closes_with_the_device_in_use(desk):
    assert desk.close_politely() == 0, desk.said()
    assert "Traceback" not in desk.said()
