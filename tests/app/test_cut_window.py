"""A cut by keys in the real window: armed, made, taken back."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.app.desk import Desk, needs_desk

pytestmark = needs_desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut")
    (folder / "config").mkdir()
    (folder / "config" / "settings.yaml").write_text("overlay_seen: true\n")
    log = str(folder / "log.jsonl")
    desk = Desk(folder, ["launch.py", "run", "cut", "--compute", "cpu", "--state-log", log])
    yield desk
    desk.end()


def told(desk: Desk, text: str, seconds: float = 30.0) -> None:
    """Waits until an event of any frame says so: the key's own time may be longer than a frame."""
    end = time.monotonic() + seconds
    while not any(text in event for frame in desk.frames() for event in frame["events"]):
        assert time.monotonic() < end, f"{text!r} was not said; {desk.last()}; {desk.said()}"
        time.sleep(0.05)


def blue(picture: np.ndarray) -> int:
    """Pixels of the 3D view as blue as the line of an armed cut."""
    view = picture[100:600, 300:950].astype(int)
    return int((view[..., 2] - view[..., 0] > 60).sum())


def test_t_shows_a_cut_enter_makes_it_ctrl_z_takes_it_back(desk):
    low = lambda z: lambda frame: frame["meshes"]["strip"]["lower"][2] < z  # noqa: E731
    desk.press("t")
    told(desk, "cut armed across strip")
    seen = 0
    for _ in range(20):
        seen = max(seen, blue(desk.picture("armed.png")))
        if seen > 30:
            break
        time.sleep(0.2)
    assert seen > 30, "the line is drawn"
    desk.press("Return")
    told(desk, "strip cut")
    desk.wait(low(0.06), "the halves falling")
    assert blue(desk.picture("cut.png")) < 0.2 * seen
    desk.press("p")
    desk.wait(lambda frame: frame["mode"] == "PAUSED", "the pause")
    desk.click("view.strain")  # another colour while the meshes are those after the cut
    desk.xdo("key", "ctrl+z")
    told(desk, "back at before cut")
    whole = desk.wait(lambda frame: frame["meshes"]["strip"]["lower"][2] > 0.08, "one strip again")
    assert whole["mode"] == "PAUSED"
    assert desk.close_politely() == 0
    assert "Traceback" not in desk.said(), desk.said()
