"""A tape scene in the real window, driven by keys: the pull, the colours, an edit by a click."""

from __future__ import annotations

import time

import pytest

from tests.app.desk import Desk, needs_desk

pytestmark = needs_desk


class Payout:
    """Once: tape drawn off by a held key, looked at in two colour modes, its adhesive edited by a click."""

    def __init__(self, folder):
        (folder / "config").mkdir()
        (folder / "config" / "settings.yaml").write_text("overlay_seen: true\n")
        command = ["launch.py", "run", "payout", "--compute", "cpu", "--set", "roll.turns=2"]
        self.desk = desk = Desk(folder, [*command, "--state-log", str(folder / "log.jsonl")])
        try:
            desk.use_world_directions()
            desk.press("minus")
            away = lambda f: f["tools"]["hub"]["reached"][0] < -0.08  # noqa: E731
            self.pulled = desk.hold("a", away, "the hub moving away", 120.0)
            desk.press("p")
            desk.wait(lambda f: f["mode"] == "PAUSED", "the pause")
            self.plain = blue(desk.picture("material.png"))
            self.first_rects = desk.rects()
            desk.click("view.tape")
            self.legend = desk.wait_drawn("legend")
            self.tape = 0
            for _ in range(20):  # the colours come with the redraw after the click
                self.tape = max(self.tape, blue(desk.picture("tape.png")))
                if self.tape > 500:
                    break
                time.sleep(0.2)
            desk.click("tape.stronger")
            self.edited = desk.wait(lambda f: any("roll on roll" in text for text in f["events"]), "the edit")
            self.status = desk.close_politely()
        finally:
            desk.end()


def blue(picture) -> int:
    """Pixels of the 3D view that are bluer than anything that is not coloured as free tape."""
    view = picture[100:600, 300:950].astype(int)
    return int((view[..., 2] - view[..., 0] > 60).sum())


@pytest.fixture(scope="module")
def payout(tmp_path_factory):
    return Payout(tmp_path_factory.mktemp("tape"))


def test_a_held_key_draws_tape_off_with_the_force_of_the_peel(payout):
    assert 2.0 < payout.pulled["tools"]["hub"]["force"] < 8.0
    assert payout.status == 0, payout.desk.said()


def test_the_tape_panel_stands_where_the_tactile_one_would(payout):
    rects = payout.first_rects
    assert {"tape", "solver", "view.tape", "view.adhesion", "tape.pair"} <= set(rects)
    assert "tactile" not in rects and "view.depth" not in rects
    x0, y0, x1, y1 = rects["tape"]
    assert x0 > 900 and y1 - y0 > 200


def test_free_tape_is_coloured_in_the_mode_tape_alone(payout):
    assert payout.plain < 50 < 500 < payout.tape
    x0, _, x1, _ = payout.legend
    assert 300 < x1 - x0 < 640


def test_a_click_makes_the_adhesive_stronger(payout):
    assert [text for text in payout.edited["events"] if "roll" in text] == ["roll on roll: 328.8 J/m2"]
