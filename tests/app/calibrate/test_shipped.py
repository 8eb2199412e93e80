"""The calibrations that ship: they fit their presets, change nothing at rest, and know the colours of a ball."""

from __future__ import annotations

import numpy as np
import pytest

from app.calibrate.presses import distance_from, read_presses
from app.calibrate.scores import score
from engine.tactile.calibration import CalibrationError, load_calibration
from engine.tactile.rgb import ColourModel
from engine.tactile.spec import Camera
from scenes.sensors import PRESETS
from tests.shared_data import shared_path

NAMES = ("gelsight", "gelsight_mini")
PITCH = {"gelsight": 0.118e-3, "gelsight_mini": 0.116e-3}  # of the presets' 160 x 120 pixels
BALL = 2e-3  # [m] radius, of the first set


def shipped(name: str):
    return load_calibration(PRESETS / f"{name}.npz")


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_its_preset_and_no_other(name):
    camera = Camera(160, 120, np.eye(4), PITCH[name])
    model = ColourModel(shipped(name), camera, sensor=name)
    flat = np.broadcast_to((0.0, 0.0, 1.0), (120, 160, 3))
    assert (model.image(flat) == model.reference()).all()
    assert model.reference().std() > 5.0
    assert "CMURoboTouch" in shipped(name).notes["licence"]
    assert (PRESETS / f"{name}.npz").stat().st_size < 300_000
    other = NAMES[1 - NAMES.index(name)]
    with pytest.raises(CalibrationError, match=f"made for sensor '{name}', this sensor is a '{other}'"):
        ColourModel(shipped(name), camera, sensor=other)


def test_colours_of_a_ball_that_was_held_out():
    """By the ball's own tilt within the contact; the whole way, simulated, is bench case `tactile_rgb`."""
    folder = shared_path("data", "gelsight_real", "gelsight")
    if folder is None:
        pytest.skip("the reference presses are not beside the checkout")
    data, calibration = read_presses(folder), shipped("gelsight")
    assert (data.background == calibration.reference).all()
    press = data.presses["press_33"]
    rows, columns = np.mgrid[: calibration.height, : calibration.width]
    reach = distance_from(press, calibration.reference.shape) < press.radius
    tilt = np.dstack([press.center_x - columns, press.center_y - rows]) * (calibration.pixel_pitch / BALL)
    tilt = np.where(reach[:, :, None], tilt, 0.0)
    normal = np.dstack([tilt, np.sqrt(1.0 - (tilt**2).sum(axis=2))])
    got, alone = score(calibration.image(normal), press), score(data.background, press)
    assert alone.mae > 25.0 and got.mae < 5.0
    turned = score(calibration.image(normal * (-1.0, 1.0, 1.0)), press)
    assert turned.mae > 20.0  # a wrong sign shows
