"""The simulated press: under the ball the coat is the ball; the way through camera and network meets the same tilts."""

from __future__ import annotations

import numpy as np
import pytest

from app.calibrate.ball_press import BallPress, PressSetup, simulate_presses
from app.calibrate.evaluation import see
from engine.mesh.rest import tet_volumes
from engine.tactile.calibration import Calibration
from tests.app.calibrate.synthetic import hertz_shapes
from tests.engine.tactile.test_rgb import network

SETUP = PressSetup(cell=0.3e-3, fine_until=1.2e-3, half_width=5e-3, thickness=3e-3)
RADIUS = 0.9e-3


@pytest.fixture(scope="module")
def shapes():
    return simulate_presses(SETUP, 0.6e-3, RADIUS, steps=3)


def test_mesh_fills_the_pad():
    press = BallPress(SETUP)
    from app.calibrate.ball_press import pad_mesh

    vertices, tets, _ = pad_mesh(SETUP)
    volumes = tet_volumes(vertices, tets)
    assert volumes.min() > 0.0
    assert volumes.sum() == pytest.approx(np.pi * SETUP.half_width**2 * SETUP.thickness, rel=0.02)
    assert press.coat_triangles.max() < len(press.coat_vertices)


def test_under_the_ball_the_coat_is_the_ball(shapes):
    x = np.linspace(0.1, 0.6, 6) * RADIUS
    normal = shapes.normal(RADIUS, x, np.zeros_like(x))
    off = normal[:, 0] + x / SETUP.ball_radius  # a dent: the outward normal leans to the middle
    assert np.abs(off).max() < 0.06 and np.abs(off.mean()) < 0.02  # cells of a third of the contact radius
    assert np.abs(normal[:, 1]).max() == 0.0 and np.allclose(np.linalg.norm(normal, axis=1), 1.0)
    far = shapes.normal(RADIUS, np.array([4e-3]), np.array([1e-3]))
    assert np.abs(far[0, :2]).max() < 0.01


def test_radius_grows_with_depth_as_hertz_says_at_first(shapes):
    assert (np.diff(shapes.contact_radii) > 0.0).all()
    depth = shapes.depth_of(RADIUS)
    assert RADIUS**2 / SETUP.ball_radius * 0.8 < depth < 1.6 * RADIUS**2 / SETUP.ball_radius


def test_the_camera_sees_the_same_tilts(shapes):
    """Coat rasterised from the mesh against the profile of its rings, in a picture whose middle is elsewhere."""
    reference = np.full((60, 80, 3), 120, np.uint8)
    calibration = Calibration("test", 5e-5, reference, network())
    press = BallPress(SETUP)
    depth = shapes.depth_of(RADIUS)
    for stop in np.linspace(0.0, depth, 4)[1:]:
        press.press(float(stop))
    pose = np.array([30.0, 25.0, RADIUS / 5e-5])
    image, normal = see(calibration, press, pose)
    rows, columns = np.mgrid[:60, :80]
    expected = shapes.normal(RADIUS, (columns.ravel() - 30.0) * 5e-5, (rows.ravel() - 25.0) * 5e-5).reshape(60, 80, 3)
    assert np.abs(normal - expected).mean() < 0.02  # cells of a third of the contact radius
    assert np.abs(image.astype(int) - calibration.image(normal)).max() <= 1
    assert np.hypot(*normal[25, 30, :2]) < 0.05 and normal[25, 20, 0] > 0.1 and normal[25, 40, 0] < -0.1


def test_analytic_shapes_lean_to_the_middle():
    normal = hertz_shapes().normal(1e-3, np.array([0.5e-3]), np.array([0.0]))
    assert normal[0, 0] == pytest.approx(-0.25 / np.sqrt(1 + 0.25**2), rel=1e-2)
