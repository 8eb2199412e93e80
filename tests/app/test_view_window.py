"""The real window on a virtual display: it opens, obeys keys and clicks, shows what it should, and closes politely."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from app.view.layout import PANELS

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("Xvfb", "xdotool", "import")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"needs {', '.join(MISSING)} (Debian: xvfb xdotool imagemagick) to open a window"
)


class Desk:
    """A virtual display with the application on it."""

    def __init__(self, folder: Path):
        self.folder = folder
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x800x24", "-nolisten", "tcp"],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        number = ""
        while not number.endswith("\n"):  # digits and newline may come apart
            part = os.read(read, 16).decode()
            assert part, "Xvfb ended before it opened a display"
            number += part
        os.close(read)
        self.environment = {
            **os.environ,
            "DISPLAY": f":{number.strip()}",
            "TACKTILE_CONFIG_DIR": str(folder / "config"),
            "TACKTILE_DATA_DIR": str(folder / "data"),
            "PYTHONPATH": str(ROOT),
        }
        self.output = (folder / "output").open("w")
        command = [sys.executable, str(ROOT / "tests/app/window_app.py"), str(folder)]
        self.app = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=self.output, stderr=subprocess.STDOUT
        )
        self.wait(lambda frame: frame["index"] > 3, "the first frames", 90.0)
        self.window = self.xdo("search", "--name", "Tacktile").split()[0]
        self.xdo("windowfocus", self.window)

    def xdo(self, *args) -> str:
        return subprocess.run(
            ["xdotool", *args], env=self.environment, capture_output=True, text=True, check=True, timeout=30
        ).stdout

    def frames(self) -> list[dict]:
        path = self.folder / "log.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        out = []
        for line in lines:
            try:
                out.append(json.loads(line))
            except json.JSONDecodeError:
                break  # the last line is being written
        return out

    def last(self) -> dict:
        return self.frames()[-1]

    def wait(self, true, what: str, seconds: float = 20.0) -> dict:
        """The first frame from now on for which it is true."""
        seen = len(self.frames()) if (self.folder / "log.jsonl").exists() else 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for frame in self.frames()[max(seen - 1, 0) :]:
                if true(frame):
                    return frame
            assert self.app.poll() is None, f"the application ended: {(self.folder / 'output').read_text()}"
            time.sleep(0.05)
        last = self.frames()[-1:] or "none"
        pytest.fail(f"{what} did not come within {seconds:.0f} s; last frame: {last}")

    def click(self, name: str) -> None:
        rect = self.wait(lambda frame: name in frame["rects"], f"{name} on the screen")["rects"][name]
        while (later := self.settled(name)) != rect:  # a window that just appeared may still find its size
            rect = later
        x0, y0, x1, y1 = rect
        self.xdo("mousemove", "--window", self.window, str(round((x0 + x1) / 2)), str(round((y0 + y1) / 2)))
        time.sleep(0.15)
        self.xdo("mousedown", "1")
        time.sleep(0.3)
        self.xdo("mouseup", "1")

    def settled(self, name: str) -> list[float]:
        time.sleep(0.2)
        return self.last()["rects"][name]

    def press(self, key: str) -> None:
        self.xdo("keydown", key)
        time.sleep(0.15)
        self.xdo("keyup", key)

    def picture(self, name: str) -> np.ndarray:
        from PIL import Image

        path = self.folder / name
        subprocess.run(["import", "-window", self.window, str(path)], env=self.environment, check=True, timeout=30)
        return np.asarray(Image.open(path).convert("RGB"))

    def ask_to_close(self) -> None:
        """WM_DELETE_WINDOW, as a window manager sends it when the cross is clicked."""
        x11 = ctypes.CDLL(ctypes.util.find_library("X11"))
        x11.XOpenDisplay.restype = ctypes.c_void_p
        x11.XInternAtom.restype = ctypes.c_ulong
        display = ctypes.c_void_p(x11.XOpenDisplay(self.environment["DISPLAY"].encode()))
        atom = [x11.XInternAtom(display, name, 0) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW")]

        class ClientMessage(ctypes.Structure):
            _fields_ = [
                ("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
                ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("message_type", ctypes.c_ulong),
                ("format", ctypes.c_int), ("data", ctypes.c_long * 5), ("pad", ctypes.c_long * 24),
            ]  # fmt: skip

        window = int(self.window)
        event = ClientMessage(33, 0, 1, display, window, atom[0], 32, (ctypes.c_long * 5)(atom[1], 0, 0, 0, 0))
        x11.XSendEvent(display, ctypes.c_ulong(window), 0, ctypes.c_long(0), ctypes.byref(event))
        x11.XFlush(display)
        x11.XCloseDisplay(display)

    def end(self) -> None:
        for process in (self.app, self.server):
            if process.poll() is None:
                process.kill()
            process.wait(10)
        self.output.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("desk"))
    yield desk
    desk.end()


def test_first_start_shows_the_overlay_and_it_goes_away(desk):
    assert desk.last()["overlay"]
    assert "overlay" in desk.last()["rects"]
    desk.click("overlay.close")
    desk.wait(lambda frame: not frame["overlay"], "the overlay closing")


def test_help_comes_back_with_f1(desk):
    desk.press("F1")
    desk.wait(lambda frame: frame["overlay"], "the overlay after F1")
    desk.press("F1")
    desk.wait(lambda frame: not frame["overlay"], "the overlay going after F1")


def test_panels_as_drawn_do_not_overlap(desk):
    rects = desk.wait(lambda frame: all(name in frame["rects"] for name in PANELS[:3]), "panels")["rects"]
    solid = {name: rects[name] for name in ("status", "timeline", *PANELS) if name in rects}
    assert {"status", "timeline", "task", "teleop", "record", "solver", "tactile"} <= set(solid)
    for (a, p), (b, q) in itertools.combinations(solid.items(), 2):
        assert p[2] <= q[0] + 1 or q[2] <= p[0] + 1 or p[3] <= q[1] + 1 or q[3] <= p[1] + 1, (a, p, b, q)


def test_the_picture_is_not_blank(desk):
    pixels = desk.picture("window.png")
    assert pixels.shape == (720, 1280, 3)
    x0, y0, x1, y1 = (290, 90, 960, 640)  # the 3D view between the columns
    view = pixels[y0:y1, x0:x1].astype(float)
    assert view.std() > 12.0, "the 3D view is one colour"
    backdrop = np.abs(view - np.array([228, 229, 231])).max(axis=-1) < 12
    assert 0.02 < backdrop.mean() < 0.9, "neither scene nor backdrop is seen"
    panel = pixels[60:640, 20:260].astype(float)
    assert np.median(panel) > 235 and panel.min() < 90, "the panels hold no dark text on light"


def test_a_held_key_drives_and_letting_go_stops(desk):
    before = desk.last()["palm"]
    desk.xdo("keydown", "q")
    desk.wait(lambda frame: "Q" in frame["down"], "the key")
    desk.wait(lambda frame: frame["palm"][2] < before[2] - 0.004, "the tool going down")
    desk.xdo("keyup", "q")
    stopped = desk.wait(lambda frame: not frame["down"], "the key going up")
    time.sleep(0.5)
    assert desk.last()["palm"] == pytest.approx(stopped["palm"], abs=1e-3)


def test_losing_the_focus_lets_go_of_every_key(desk):
    desk.xdo("keydown", "e")
    desk.wait(lambda frame: "E" in frame["down"], "the key")
    other = subprocess.Popen(
        [sys.executable, "-c", FOCUS_THIEF], env=desk.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    other.stdout.readline()
    frame = desk.wait(lambda frame: not frame["down"], "the keys being let go")
    time.sleep(0.3)
    assert desk.last()["palm"][2] == pytest.approx(frame["palm"][2], abs=2e-3)
    desk.xdo("keyup", "e")
    other.stdin.close()
    other.wait(10)
    desk.xdo("windowfocus", desk.window)


def test_pause_by_key_and_resume_by_click(desk):
    desk.press("p")
    desk.wait(lambda frame: frame["mode"] == "PAUSED", "the pause")
    desk.click("timeline.pause")
    desk.wait(lambda frame: frame["mode"] != "PAUSED", "the end of the pause")


def test_a_click_changes_the_colours_and_shows_the_scale(desk):
    desk.click("view.strain")
    frame = desk.wait(lambda frame: "legend" in frame["rects"], "the legend")
    assert frame["scale"] == "strain"
    desk.click("view.material")
    desk.wait(lambda frame: "legend" not in frame["rects"], "the legend going")


def test_a_title_collapses_its_panel(desk):
    tall = desk.last()["rects"]["solver"]
    desk.click("solver.title")
    desk.wait(lambda f: f["rects"]["solver"][3] - f["rects"]["solver"][1] < 0.3 * (tall[3] - tall[1]), "the collapse")
    desk.click("solver.title")
    desk.wait(lambda f: f["rects"]["solver"] == tall, "the panel as before")


def test_the_scene_picker_loads_a_scene(desk):
    desk.click("status.scene")
    desk.wait(lambda frame: "picker" in frame["rects"], "the picker")
    desk.click("picker.fake_strip")
    desk.wait(lambda frame: any("scene another" in text for text in frame["events"]), "the other scene")


def test_no_panel_failed(desk):
    assert [frame["problem"] for frame in desk.frames() if frame["problem"]] == []


def test_it_closes_politely_and_remembers(desk):
    desk.ask_to_close()
    assert desk.app.wait(30) == 0, (desk.folder / "output").read_text()
    assert (desk.folder / "closed").exists()
    settings = (desk.folder / "config" / "settings.yaml").read_text()
    assert "overlay_seen: true" in settings and "color_mode: material" in settings


# takes the focus with a window of its own until its standard input ends
FOCUS_THIEF = """
import ctypes, ctypes.util, sys
x = ctypes.CDLL(ctypes.util.find_library("X11"))
x.XOpenDisplay.restype = ctypes.c_void_p
x.XDefaultRootWindow.restype = x.XCreateSimpleWindow.restype = ctypes.c_ulong
d = ctypes.c_void_p(x.XOpenDisplay(None))
root = ctypes.c_ulong(x.XDefaultRootWindow(d))
w = ctypes.c_ulong(x.XCreateSimpleWindow(d, root, 0, 0, 20, 20, 0, 0, 0))
x.XMapWindow(d, w); x.XSync(d, 0)
x.XSetInputFocus(d, w, 1, 0); x.XSync(d, 0)
print("taken", flush=True)
sys.stdin.read()
"""
