"""The browser of episodes and the replay, worked with the mouse in the real window."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from tests.app.desk import ROOT, Desk, needs_desk

pytestmark = needs_desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("episodes")
    desk = Desk(folder, [str(ROOT / "tests/app/episode_window_app.py"), str(folder)])
    yield desk
    desk.end()


def labels(frame) -> dict[str, str | None]:
    return {name: label for name, label, *_ in frame["rows"]}


def meta(desk, name: str) -> dict:
    return json.loads((desk.folder / "data/episodes/first" / f"{name}.meta.json").read_text())


def gone(desk, name: str, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while name in desk.rects():
        assert time.monotonic() < end, f"{name} is still drawn"
        time.sleep(0.05)


def test_it_lists_the_set_with_pictures_and_the_scene_waits(desk):
    desk.click("record.browse")
    frame = desk.wait(lambda f: len(f["rows"]) == 3, "the episodes")
    assert [row[0] for row in frame["rows"]] == ["episode_0003", "episode_0002", "episode_0001"]
    assert all(row[3] for row in frame["rows"]), "a picture was kept when they were saved"
    assert desk.wait(lambda f: f["mode"] == "PAUSED", "the pause")["browser"]
    rect = desk.wait_drawn("episodes.row_episode_0003")
    time.sleep(1.0)
    pixels = desk.picture("browser.png").astype(float)
    x0, y0, x1, y1 = map(int, rect)
    small = pixels[y0 + 4 : y1 - 4, x0 + 6 : x0 + 90].reshape(-1, 3)
    assert small.std(axis=0).max() > 15.0, "the picture is one colour"
    blue = np.abs(pixels[y0:y1, x1 - 170 : x1 - 10] - (0, 114, 178)).max(axis=-1) < 40
    assert blue.sum() > 60, "no force is drawn"


def test_labels_discard_and_undo(desk):
    desk.click("episodes.row_episode_0002")
    desk.click("episodes.label_success")
    desk.wait(lambda f: labels(f).get("episode_0002") == "success", "the label")
    desk.click("episodes.discard")
    desk.wait(lambda f: "episode_0002" not in labels(f) and f["thrown"] == 1, "the discard")
    assert (desk.folder / "data/episodes/first/trash/episode_0002.png").exists(), "the picture goes along"
    desk.click("episodes.undo")
    frame = desk.wait(lambda f: "episode_0002" in labels(f), "the undo")
    assert labels(frame)["episode_0002"] == "success" and frame["thrown"] == 0
    assert [row[0] for row in frame["rows"]] == ["episode_0003", "episode_0002", "episode_0001"], "at its place"


def test_filter_trash_and_restore(desk):
    desk.click("episodes.only_success")
    gone(desk, "episodes.row_episode_0003")
    assert "episodes.row_episode_0002" in desk.rects()
    desk.click("episodes.discard")
    desk.wait(lambda f: f["thrown"] == 1, "the discard")
    desk.click("episodes.only_all")
    desk.click("episodes.trash")
    desk.wait(lambda f: list(labels(f)) == ["episode_0002"], "the trash")
    desk.click("episodes.restore")
    desk.wait(lambda f: f["thrown"] == 0 and not f["rows"], "the restored one leaving the trash")
    desk.click("episodes.set_first")
    desk.wait(lambda f: labels(f).get("episode_0002") == "success", "it being back")


def test_a_trim_by_dragging_destroys_nothing(desk):
    desk.click("episodes.row_episode_0001")
    time.sleep(0.3)
    x0, y0, x1, y1 = desk.wait_drawn("episodes.trim")
    size = (desk.folder / "data/episodes/first/episode_0001.h5").stat().st_size
    for x, action in ((x0 + 3, "mousedown"), (x0 + 0.25 * (x1 - x0), ""), (x0 + 0.5 * (x1 - x0), "mouseup")):
        desk.xdo("mousemove", "--window", desk.window, str(round(x)), str(round(0.5 * (y0 + y1))))
        time.sleep(0.25)
        if action:
            desk.xdo(action, "1")
            time.sleep(0.25)
    frame = desk.wait(lambda f: any(r[0] == "episode_0001" and r[2] for r in f["rows"]), "the trim")
    start, end = next(row[2] for row in frame["rows"] if row[0] == "episode_0001")
    assert start == pytest.approx(12 / 30, abs=0.1) and end == pytest.approx(24 / 30, abs=0.02)
    assert meta(desk, "episode_0001")["trim"][1] == 24
    assert (desk.folder / "data/episodes/first/episode_0001.h5").stat().st_size == size
    desk.click("episodes.untrim")
    desk.wait(lambda f: not any(row[2] for row in f["rows"]), "all of it")


def test_replay_steps_compares_runs_again_and_goes_back(desk):
    desk.click("episodes.row_episode_0001")
    desk.click("episodes.replay")
    desk.wait(lambda f: f["mode"] == "REPLAY", "the replay")
    desk.wait(lambda f: f.get("row") == 24, "the end, where it stands still")
    desk.click("timeline.reset")
    desk.wait(lambda f: f.get("row") == 0, "the beginning")
    desk.click("timeline.step")
    desk.wait(lambda f: f.get("row") == 1, "one step on")
    desk.click("timeline.back")
    desk.wait(lambda f: f.get("row") == 0, "one step back")
    plain = desk.picture("plain.png").astype(float)
    desk.click("replay.compare")
    desk.click("replay.compare_episode_0003")
    desk.wait(lambda f: f.get("apart") is not None, "the other episode")
    x0, y0, x1, y1 = desk.rects()["timeline"]
    desk.xdo("mousemove", "--window", desk.window, str(round(x1 - 130)), str(round(y0 + 0.66 * (y1 - y0))))
    time.sleep(0.2)
    desk.xdo("click", "1")
    frame = desk.wait(lambda f: f.get("row", 0) > 20 and f.get("apart", 0) > 0.03, "the two apart")
    assert frame["apart"] == pytest.approx(2e-3 * frame["row"], rel=0.05), "it went up by 1 and by 3 mm a step"
    time.sleep(0.5)
    lines = np.abs(desk.picture("compared.png").astype(float)[60:640, 290:960] - (204, 121, 167)).max(axis=-1) < 30
    before = np.abs(plain[60:640, 290:960] - (204, 121, 167)).max(axis=-1) < 30
    assert lines.sum() > before.sum() + 150, "no outline of the other one is seen"
    desk.click("replay.by_inputs")
    desk.click("timeline.reset")
    desk.click("timeline.pause")
    frame = desk.wait(lambda f: f.get("known") == 24, "all steps repeated", 60.0)
    assert frame["first_bit"] is None and frame["by"] == "inputs"
    desk.click("replay.close")
    frame = desk.wait(lambda f: f["mode"] != "REPLAY" and f["browser"], "the browser again")


def test_a_film_from_the_replay(desk):
    pytest.importorskip("av")
    desk.click("episodes.replay")
    desk.wait(lambda f: f["mode"] == "REPLAY", "the replay")
    desk.click("replay.film")
    frame = desk.wait(lambda f: "frames" in f.get("filmed", ""), "the film", 90.0)
    film = desk.folder / "data/episodes/first/films/episode_0001.mp4"
    assert frame["filmed"].startswith("episode_0001.mp4: 25 frames, 0.8 s") and film.exists()
    assert not list(film.parent.glob("*.part"))
    desk.click("replay.close")
    desk.wait(lambda f: f["mode"] != "REPLAY", "the browser again")


def test_go_on_with_another_set(desk):
    desk.click("episodes.set_second")
    desk.wait(lambda f: list(labels(f)) == ["episode_0001"], "the other set")
    desk.click("episodes.resume")
    frame = desk.wait(lambda f: f["folder"].endswith("second"), "its folder")
    desk.click("episodes.close")
    desk.wait(lambda f: f["mode"] != "PAUSED" and not f["browser"], "the scene going on")
    assert frame["folder"].endswith("second")


def test_no_panel_failed(desk):
    assert [frame["problem"] for frame in desk.frames() if frame["problem"]] == []
    assert desk.close_politely() == 0, desk.said()
