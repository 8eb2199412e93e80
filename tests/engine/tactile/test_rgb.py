"""Colour images: nothing at rest, the device against the plain way, weights of another sensor."""

from __future__ import annotations

import numpy as np
import pytest

from engine.tactile.calibration import Calibration, CalibrationError, load_calibration
from engine.tactile.colour_network import RANK, ColourNetwork, code_size, field_places, position_code
from engine.tactile.rgb import ColourModel
from engine.tactile.spec import Camera

PITCH = 1e-4
UPRIGHT = np.eye(4)
UPRIGHT[2, 3] = -4e-3


def network(seed: int = 0, degree: int = 2) -> ColourNetwork:
    draw = np.random.default_rng(seed).standard_normal
    layers = ((draw((3, 12)), draw(12)), (draw((12, 3 * RANK)) * 0.3, draw(3 * RANK)))
    places = 0.1 * draw((code_size(degree), 3 * RANK))
    return ColourNetwork(layers, places, degree, np.array([-0.6, -0.5]), np.array([0.7, 0.5]))


def calibration(width: int = 64, height: int = 48) -> Calibration:
    reference = np.random.default_rng(1).integers(60, 190, (height, width, 3), dtype=np.uint8)
    return Calibration("gelsight", PITCH, reference, network(), {"licence": "MIT: by us"})


def camera(width: int = 64, height: int = 48, pitch: float = PITCH, pose: np.ndarray = UPRIGHT) -> Camera:
    return Camera(width, height, pose, pitch)


def bumps(height: int = 48, width: int = 64, seed: int = 2) -> np.ndarray:
    """Unit normals with tilts in all directions, a part of them flat."""
    tilt = 0.97 * np.random.default_rng(seed).uniform(-0.7, 0.7, (height, width, 2))
    tilt[:10] = 0.0
    across = (tilt**2).sum(axis=2)
    return np.dstack([tilt, np.sqrt(1.0 - across)])


def test_undeformed_coat_gives_the_reference_to_the_bit(device):
    cal = calibration()
    flat = np.broadcast_to((0.0, 0.0, 1.0), (48, 64, 3))
    assert (ColourModel(cal, camera(), device).image(flat) == cal.reference).all()
    assert (cal.image(flat) == cal.reference).all()
    assert (ColourModel(cal, camera(), device).image(np.zeros((48, 64, 3))) == cal.reference).all()


def test_undeformed_curved_coat_gives_the_reference_to_the_bit(device):
    cal, shape = calibration(), bumps(seed=5)
    assert (ColourModel(cal, camera(), device, rest_normals=shape).image(shape) == cal.reference).all()
    assert (ColourModel(cal, camera(), device).image(shape) != cal.reference).any()


def test_device_equals_the_plain_network(device):
    cal, normal = calibration(), bumps()
    fast, plain = ColourModel(cal, camera(), device).image(normal).astype(int), cal.image(normal).astype(int)
    assert np.abs(fast - plain).max() <= 1 and (fast == plain).mean() > 0.97
    assert (plain != cal.reference).mean() > 0.7  # it does change the picture
    assert (plain[:10] == cal.reference[:10]).all()


def test_camera_axes_turn_the_tilt(device):
    """A camera turned by 90 degrees about its axis sees the same relief with columns and rows exchanged."""
    cal, normal = calibration(), bumps()
    turned = np.eye(4)
    turned[:3, :3] = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # columns along the sensor's y
    in_sensor = normal @ turned[:3, :3].T
    model = ColourModel(cal, camera(pose=turned), device)
    assert np.abs(model.image(in_sensor).astype(int) - cal.image(normal)).max() <= 1


def test_change_does_not_depend_on_resolution_or_run_away():
    net = network(degree=3)
    fine, coarse = field_places(60, 40), field_places(20, 20 * 40 // 60)
    assert np.allclose(field_places(30, 20).reshape(20, 30, 2)[0, 0], [-29 / 30, -19 / 20 * 2 / 3])
    assert fine[:, 0].max() < 1.0 and coarse.shape == (20 * 13, 2)
    far, edge = np.array([[5.0, 3.0]]), np.array([[0.7, 0.5]])
    assert np.allclose(net.place_factors(far), net.place_factors(edge))
    code = position_code(np.array([[0.05, 0.0]]), net.low, net.high, 3)
    assert np.allclose(code[0, :3], [1.0, 0.0, 0.0])  # the middle of the box


def test_reference_of_coarser_pixels_is_the_mean_over_their_areas():
    cal = calibration()
    quarter = cal.reference_at(16, 12)
    assert (quarter == np.rint(cal.reference.reshape(12, 4, 16, 4, 3).mean(axis=(1, 3)))).all()
    uneven = cal.reference_at(40, 30)
    assert abs(uneven.mean() - cal.reference.mean()) < 0.5


def test_file_gives_back_what_was_saved(tmp_path):
    cal = calibration()
    cal.save(tmp_path / "gelsight.npz")
    again = load_calibration(tmp_path / "gelsight.npz")
    assert (again.reference == cal.reference).all() and again.notes == cal.notes
    assert (again.sensor, again.pixel_pitch) == (cal.sensor, cal.pixel_pitch)
    assert np.abs(again.image(bumps()).astype(int) - cal.image(bumps())).max() <= 1  # weights in float32


@pytest.mark.parametrize(
    "seen, name, says",
    [
        (camera(), "gelsight_mini", "made for sensor 'gelsight', this sensor is a 'gelsight_mini'"),
        (camera(pitch=2e-4), None, "of 100 um, 6.4 x 4.8 mm; this camera sees 64 x 48 pixels of 200 um"),
        (camera(64, 64), "gelsight", "64 x 64 pixels .* 6.4 x 6.4 mm. The fields must agree within 1 %"),
        (Camera(64, 48, UPRIGHT, focal_length=80.0), None, "this camera is a pinhole"),
    ],
)
def test_weights_of_another_sensor_are_refused(seen, name, says):
    with pytest.raises(CalibrationError, match=says):
        ColourModel(calibration(), seen, sensor=name)


def test_same_field_at_coarser_pixels_is_accepted(device):
    model = ColourModel(calibration(), camera(32, 24, 2e-4), device, sensor="gelsight")
    assert model.reference().shape == (24, 32, 3)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    with pytest.raises(CalibrationError, match="there is no calibration .*c.npz; make one with"):
        load_calibration(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(CalibrationError, match="c.npz is not a calibration of this program"):
        load_calibration(path)
    calibration().save(path)
    whole = dict(np.load(path))
    for key, value, says in (
        ("version", 9, "version 9; this program reads version 1"),
        ("places", whole["places"][:-1], "places of shape .* do not fit degree 2"),
        ("bias_0", whole["bias_0"] * np.nan, "a weight is not finite"),
        ("reference_differences", whole["reference_differences"].astype(float), "it must be uint8"),
        ("notes", np.array([{}], dtype=object), "is not a calibration of this program"),
    ):
        np.savez(path, **{**whole, key: value})
        with pytest.raises(CalibrationError, match=says):
            load_calibration(path)
