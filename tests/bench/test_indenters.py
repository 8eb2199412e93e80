"""The contact sheet's oracle: height fields, placing, correlation; a coarse press that must not be mirrored."""

import numpy as np
import pytest

from bench.ball_on_pad import BallOnPad
from bench.indenters import DEFAULT_HEIGHT, Indenter, height_field, indenters, own_indenters, pixel_places, place
from bench.pattern_press import Press, correlation, fine_pad, press
from engine.mesh.shapes import box_surface, icosphere
from engine.tactile.spec import Camera
from scenes.patterns import PATTERNS, pattern_height


def test_the_height_field_of_a_ball_is_its_upper_half():
    vertices, triangles = icosphere(5e-3, 5)
    x, y = np.linspace(-6e-3, 6e-3, 41), np.linspace(-5e-3, 5e-3, 31)
    field = height_field(vertices, triangles, x, y)
    r = np.hypot(x[None, :], y[:, None])
    assert np.isnan(field[r > 5e-3]).all() and np.isfinite(field[r < 4.99e-3]).all()
    inner = r < 4e-3
    assert field[inner] == pytest.approx(np.sqrt(25e-6 - r[inner] ** 2), abs=1e-5)


def test_the_height_field_is_exact_on_planes_and_knows_x_from_y():
    vertices, triangles = box_surface((4e-3, 2e-3, 1e-3))
    vertices = vertices + np.column_stack([np.zeros((len(vertices), 2)), 0.1 * vertices[:, 0] - 0.3 * vertices[:, 1]])
    x, y = np.linspace(-2.9e-3, 3e-3, 13), np.linspace(-3.1e-3, 3e-3, 25)  # none on an edge
    field = height_field(vertices, triangles, x, y)
    inside = (np.abs(x)[None, :] <= 2e-3) & (np.abs(y)[:, None] <= 1e-3)
    assert np.array_equal(np.isfinite(field), inside)
    plane = 0.5e-3 + 0.1 * x[None, :] - 0.3 * y[:, None]
    assert field[inside] == pytest.approx(plane[inside], abs=1e-15)


def test_own_patterns_have_their_analytic_height():
    block = next(one for one in own_indenters() if one.name == "cone")
    x = np.linspace(-7e-3, 7e-3, 57)
    field = height_field(block.vertices, block.triangles, x, x)
    exact = pattern_height("cone", x[None, :], x[:, None], 16e-3, DEFAULT_HEIGHT)
    assert field == pytest.approx(exact, abs=0.1 * DEFAULT_HEIGHT) and len(own_indenters()) == len(PATTERNS)


def test_without_reference_meshes_the_own_patterns_are_pressed(monkeypatch, tmp_path):
    monkeypatch.setenv("TACKTILE_SHARED", str(tmp_path))
    assert [one.name for one in indenters()] == list(PATTERNS)
    assert [one.name for one in indenters(["star"])] == ["star"]


def test_placing_turns_the_face_to_the_coat_and_tilts_what_is_flat():
    vertices, triangles = box_surface((6e-3, 4e-3, 5e-3))
    flat = place(Indenter("slab", "patterns", vertices + (0.1, 0.2, 0.3), triangles), 1e-3)
    assert flat.tilt > np.radians(2.0)
    assert flat.vertices[:, 2].min() == pytest.approx(0.0, abs=5e-5), "it touches the plane of the coat from above"
    assert flat.reached == pytest.approx(np.array([[-3e-3, -2e-3], [3e-3, 2e-3]]), abs=3e-4)
    block = next(one for one in own_indenters() if one.name == "cone")
    cone = place(block, 1e-3)
    assert cone.tilt == 0.0 and cone.vertices[:, 2].max() == pytest.approx(3e-3 + DEFAULT_HEIGHT, abs=3e-5)


def test_pixels_lie_where_the_camera_says():
    pose = np.eye(4)
    pose[:3, 3] = 1e-3, -2e-3, -4e-3
    x, y = pixel_places(Camera(4, 3, pose, pixel_pitch=1e-4))
    assert x == pytest.approx(1e-3 + 1e-4 * np.array([-1.5, -0.5, 0.5, 1.5]))
    assert y == pytest.approx(-2e-3 + 1e-4 * np.array([-1.0, 0.0, 1.0]))


def test_the_correlation_is_pearsons_and_undefined_for_what_is_even():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert np.isnan(correlation(np.ones(50), b)) and np.isnan(correlation(a[:5], b[:5]))


def test_only_touched_pixels_within_the_reached_ones_are_compared():
    truth = np.zeros((7, 9))
    truth[2:6, 2:7] = 1e-3
    touched = np.ones((7, 9), bool)
    touched[3, 3] = False
    made = Press(truth, np.zeros((7, 9, 3), np.uint8), truth, touched, 1.0, True, 1, 0.0, 1, 1e-3)
    expected = np.zeros((7, 9), bool)
    expected[3:5, 3:6] = True
    expected[3, 3] = False
    assert np.array_equal(made.compared, expected) and made.filled == pytest.approx(5 / 20)


def test_a_pressed_corner_shows_up_where_it_is():
    """A tilted L on a coarse pad: the depth map follows the height, and no mirror image of it."""
    long, short = box_surface((8e-3, 2.4e-3, 3e-3)), box_surface((2.4e-3, 5e-3, 3e-3))
    vertices = np.vstack([long[0], short[0] + (2.8e-3, 3.8e-3, 0.0)])
    corner = Indenter("L", "patterns", vertices, np.vstack([long[1], short[1] + len(long[0])]))
    placed = place(corner, 1e-3)
    made = press(fine_pad(placed.reached, 120), placed, 1e-3)
    assert made.converged and made.correlation > 0.9
    whole = made.correlation_everywhere
    mirrored = [correlation(made.depth.reshape(-1), t.reshape(-1)) for t in (made.truth[::-1], made.truth[:, ::-1])]
    assert whole > 0.75 and max(mirrored) < whole - 0.2


def test_the_ball_sinks_as_the_theory_of_layers_says():
    p = BallOnPad()
    assert 0.3e-3 < p.theory < 0.5e-3
    assert BallOnPad(mass=2.0 * p.mass).theory > 1.4 * p.theory and BallOnPad(young=1e6).theory < p.theory
    middle = np.array([0.0, 0.0, p.radius - 1e-4])
    assert p.overlap(middle, p.mesh()[0]) == pytest.approx(1e-4)
