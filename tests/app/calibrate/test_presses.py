"""Folders of presses that cannot be used say why."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from app.calibrate.ball_press import PressSetup
from app.calibrate.presses import PressError, read_presses
from app.calibrate.run import divide
from tests.app.calibrate.synthetic import hertz_shapes, write_presses

HEAD = "image,center_x_px,center_y_px,contact_radius_px"


@pytest.fixture
def folder(tmp_path):
    write_presses(tmp_path, hertz_shapes(), 6)
    return tmp_path


def test_a_folder_is_read(folder):
    found = read_presses(folder)
    assert list(found.presses) == [f"press_{k:02d}" for k in range(6)]
    assert found.background.shape == (90, 120, 3) and found.background.dtype == np.uint8


@pytest.mark.parametrize(
    "lines, says",
    [
        ([HEAD], "lists no press"),
        (["image,x,y,r", "press_00.png,1,2,3"], "no column 'center_x_px'; its first line must be image,center_x_px"),
        ([HEAD, "press_00.png,60,45,ten"], "line 2: contact_radius_px is 'ten'; it must be a number"),
        ([HEAD, "press_00.png,60,45"], "line 2: contact_radius_px is None; it must be a number"),
        ([HEAD, "press_00.png,60,nan,10"], "line 2: center_y_px is 'nan'"),
        ([HEAD, "press_00.png,160,45,10"], r"the centre \(160, 45\) lies outside the picture of 120 x 90 pixels"),
        ([HEAD, "press_00.png,60,-1,10"], r"the centre \(60, -1\) lies outside"),
        ([HEAD, "press_00.png,60,45,0"], "contact_radius_px is 0; it must be 2 to 60"),
        ([HEAD, "press_77.png,60,45,10"], "there is no picture .*press_77.png"),
        ([HEAD, "../press_00.png,60,45,10"], "image is '../press_00.png'; it must be the name of a file in"),
        ([HEAD, "press_00.png,60,45,10", "press_00.png,61,45,10"], "line 3: press_00 is listed twice"),
    ],
)
def test_wrong_tables_are_refused(folder, lines, says):
    (folder / "presses.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(PressError, match=says):
        read_presses(folder)


def test_missing_and_odd_pictures_are_refused(folder):
    Image.fromarray(np.zeros((50, 60, 3), np.uint8)).save(folder / "press_01.png")
    with pytest.raises(PressError, match="press_01.png has 60 x 50 pixels, background.png 120 x 90; all pictures"):
        read_presses(folder)
    (folder / "press_01.png").write_bytes(b"no picture")
    with pytest.raises(PressError, match="press_01.png cannot be read as a picture"):
        read_presses(folder)
    (folder / "background.png").unlink()
    with pytest.raises(PressError, match="there is no picture .*background.png"):
        read_presses(folder)
    (folder / "presses.csv").unlink()
    with pytest.raises(PressError, match="there is no .*presses.csv; it must list the presses: image,center_x_px"):
        read_presses(folder)
    with pytest.raises(PressError, match="is not a folder"):
        read_presses(folder / "nowhere")


def test_presses_to_hold_out(folder):
    data = read_presses(folder)
    learnt, held_out = divide(data, None)
    assert list(held_out.presses) == ["press_05"] and len(learnt.presses) == 5
    with pytest.raises(PressError, match="has no press 'press_9'; there are: press_00, press_01"):
        divide(data, ("press_9",))
    with pytest.raises(PressError, match="has 6 presses, 3 of them held out; at least one must be held out and 4 left"):
        divide(data, ("press_00", "press_01", "press_02"))


def test_contacts_wider_than_the_ball_are_refused():
    with pytest.raises(ValueError, match="radii from 1 to 2.1 mm; they must lie between 0 and 0.98 of the ball"):
        PressSetup.for_radii(1e-3, 2.1e-3)
