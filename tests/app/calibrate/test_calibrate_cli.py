"""The command `tacktile sensor calibrate`: what it refuses, and what it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import app.calibrate.run as run
from app.calibrate.evaluation import Rendered
from app.calibrate.scores import score
from app.cli import app
from engine.tactile.calibration import load_calibration
from tests.app.calibrate.synthetic import HEIGHT, PITCH, WIDTH, hertz_shapes, write_presses

KNOWN = ("-s", "toy", "--pixel-pitch", "100um")


def invoke(*args) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["sensor", "calibrate", *map(str, args)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture
def presses(tmp_path) -> Path:
    write_presses(tmp_path, hertz_shapes(), 6)
    return tmp_path


@pytest.mark.parametrize(
    "args, says",
    [
        (("-o", "toy.bin"), "-o toy.bin: the file must end in .npz"),
        (("-o", "nowhere/toy.npz"), "nowhere/toy.npz: there is no folder"),
        (("--ball-radius", "2 kg"), "--ball-radius: "),
        (("--ball-radius", "0mm"), "--ball-radius is 0mm; it must be greater than 0"),
        (("--hold-out", "press_09"), "--hold-out: there is no press 'press_09'; there are: press_00, press_01"),
        (("--hold-out", "press_00-press_04"), "5 of them held out; at least one must be held out and 4 left"),
        (("--ball-radius", "1mm"), "they must lie between 0 and 0.98 of the ball's radius, 1 mm: check pixel pitch"),
    ],
)
def test_what_it_refuses(presses, args, says):
    written = () if "-o" in args else ("-o", presses / "toy.npz")
    code, text = invoke(presses, *KNOWN, *written, *args)
    assert code == 2 and says in text, text


def test_a_folder_without_a_table_is_refused(tmp_path):
    code, text = invoke(tmp_path, *KNOWN, "-o", tmp_path / "toy.npz")
    assert code == 2 and "presses.csv; it must list the presses" in text


def test_weights_and_report_are_written(presses, monkeypatch):
    """With shapes of a half space in place of the simulated pad, which has tests of its own."""
    monkeypatch.setattr(run, "simulate_shapes", lambda *_: hertz_shapes())
    monkeypatch.setattr(run, "render_presses", _render)
    code, text = invoke(presses, *KNOWN, "-o", presses / "toy.npz", "--iterations", 30, "--hold-out", "press_05")
    assert code == 0, text
    made = load_calibration(presses / "toy.npz")
    assert made.sensor == "toy" and made.pixel_pitch == pytest.approx(PITCH) and made.reference.shape == (90, 120, 3)
    assert made.notes["held out"] == "press_05" and "of 255 within the contact" in made.notes["error"]
    page = (presses / "toy.html").read_text(encoding="utf-8")
    assert "Colour calibration of toy" in page and "press_05" in page and "data:image/png;base64," in page
    assert "held out: press_05" in text and "toy.npz" in text


def _render(calibration, shapes, presses, poses, others, progress):
    found = []
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    for name, press in presses.presses.items():
        x, y, radius = poses[name]
        normal = shapes.normal(radius * PITCH, (columns.ravel() - x) * PITCH, (rows.ravel() - y) * PITCH)
        images = {"network": calibration.image(normal.reshape(HEIGHT, WIDTH, 3)), "background": calibration.reference}
        found.append(Rendered(press, poses[name], images, {n: score(i, press) for n, i in images.items()}))
    return found
