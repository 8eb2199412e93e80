"""The real window on a virtual display: it opens, obeys keys and clicks, shows what it should, and closes politely."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

import numpy as np
import pytest

from app.view.layout import PANELS
from tests.app.desk import ROOT, Desk, needs_desk

pytestmark = needs_desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    desk = Desk(folder, [str(ROOT / "tests/app/window_app.py"), str(folder)])
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


def test_a_click_on_a_pad_shows_it_in_large_and_another_puts_it_away(desk):
    names = ("tactile.left.rgb", "tactile.left.depth", "tactile.left.markers")
    rects = desk.wait(lambda frame: all(name in frame["rects"] for name in names), "the pad's pictures")["rects"]
    x = [rects[name][0] for name in names]
    assert x == sorted(x) and all(rects[name][2] - rects[name][0] > 60 for name in names), "side by side"
    desk.click("tactile.left.depth")
    rects = desk.wait(lambda frame: "pad_large" in frame["rects"], "the pad in large")["rects"]
    small, large = rects["tactile.left.depth"], rects["pad_large.depth"]
    assert large[2] - large[0] > 1.8 * (small[2] - small[0])
    assert rects["pad_large"][2] <= rects["tactile"][0] + 1, "it lies over the view, not over the panel"
    pixels = desk.picture("pad.png").astype(float)
    seen = [pixels[int(r[1]) + 4 : int(r[3]) - 4, int(r[0]) + 4 : int(r[2]) - 4] for r in
            (rects[f"pad_large.{kind}"] for kind in ("rgb", "depth", "markers"))]  # fmt: skip
    assert all(picture.reshape(-1, 3).std(axis=0).max() > 10.0 for picture in seen), "a picture is one colour"
    desk.click("pad_large.rgb")
    desk.wait(lambda frame: "pad_large" not in frame["rects"], "the pad put away")


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
    assert desk.close_politely() == 0, desk.said()
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
