"""Procedural surfaces: closed, outward, with the volume that geometry says; limits."""

import math

import numpy as np
import pytest

from scenes import tables
from scenes.errors import Place, SceneError
from scenes.mesh_defects import find_defects
from scenes.shapes import make_surface

SPHERE = 4.0 / 3.0 * math.pi
SHAPES = [
    (tables.BoxShape(size=(1.0, 2.0, 3.0), cells=(2, 1, 3)), 6.0, 1e-12),
    (tables.CylinderShape(radius=0.5, height=2.0, segments=200), math.pi / 2, 1e-3),
    (tables.SphereShape(radius=1.0, subdivisions=4), SPHERE, 5e-3),
    (tables.RingShape(radius=1.0, tube_radius=0.2, segments=96, tube_segments=48), 2 * math.pi**2 * 0.04, 5e-3),
    (tables.OpenBoxShape(size=(0.3, 0.2, 0.1), wall=0.01), 0.3 * 0.2 * 0.1 - 0.28 * 0.18 * 0.09, 1e-12),
    # inner box, six slabs, twelve quarter rods, eight octants of a ball
    (
        tables.RoundedBoxShape(size=(1.0, 2.0, 3.0), radius=0.2, segments=12),
        0.6 * 1.6 * 2.6
        + 2 * 0.2 * (0.6 * 1.6 + 1.6 * 2.6 + 0.6 * 2.6)
        + math.pi * 0.04 * (0.6 + 1.6 + 2.6)
        + SPHERE * 0.008,
        1e-3,
    ),
]


def volume(vertices, triangles):
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0


@pytest.mark.parametrize(("shape", "expected", "tolerance"), SHAPES, ids=lambda s: type(s).__name__)
def test_closed_outward_and_of_the_right_volume(shape, expected, tolerance):
    vertices, triangles, notes = make_surface(shape, closed=True)
    assert not find_defects(vertices, triangles) and not notes
    assert volume(vertices, triangles) == pytest.approx(expected, rel=tolerance)
    assert vertices.max(axis=0) == pytest.approx(-vertices.min(axis=0), abs=1e-9), "centred"


def test_an_open_box_is_open_at_the_top():
    vertices, triangles, _ = make_surface(tables.OpenBoxShape(size=(0.3, 0.2, 0.1), wall=0.01), closed=True)
    middle = vertices[triangles].mean(axis=1)
    above = (np.abs(middle[:, :2]) < [0.13, 0.08]).all(axis=1) & (middle[:, 2] > -0.03)
    assert not above.any() and vertices[:, 2].max() == pytest.approx(0.05)


def test_relief_has_bump_bars_and_a_flat_rim():
    shape = tables.ReliefShape(size=(0.03, 0.036, 0.02), bump_radius=5e-3, bump_height=1.5e-3, bars=3)
    vertices, triangles, _ = make_surface(shape, closed=True)
    assert not find_defects(vertices, triangles)
    x, y, z = vertices.T
    assert z.max() == pytest.approx(1.5e-3, abs=1e-4) and z.min() == pytest.approx(-0.02)
    top = z > -0.01
    rim = top & ((np.abs(x) > 0.0149) | (np.abs(y) > 0.0179))
    assert (z[rim] == 0.0).all()
    row = top & (np.abs(y) < 1e-9) & (x > 0.001)
    rises = np.diff(np.concatenate([[0.0], z[row][np.argsort(x[row])]]) > 0.5e-3).sum()
    assert rises == 6, "three bars: three rises and three falls"
    plain, _, _ = make_surface(tables.ReliefShape(bars=0, bump_height=0.0), closed=True)
    assert plain[:, 2].max() == 0.0


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (tables.RoundedBoxShape(size=(1.0, 2.0, 3.0), radius=0.5), "radius is 0.5 m; it must be below half of the"),
        (
            tables.OpenBoxShape(size=(1.0, 2.0, 3.0), wall=0.5),
            "wall is 0.5 m; it leaves no room in a box of 1 x 2 x 3 m",
        ),
        (tables.RingShape(radius=0.1, tube_radius=0.2), "major_radius is 0.1; it must be greater than 0.2"),
        (tables.ReliefShape(bump_height=5e-3), "bump_height is 0.005 m; it must be below bump_radius"),
        (tables.ReliefShape(cell=1e-6), "vertices; 200000 at most"),
        (tables.BoxShape(size=(1.0, 1.0, 1.0), cells=(500, 500, 500)), "vertices; 200000 at most"),
    ],
    ids=lambda s: type(s).__name__,
)
def test_bad_sizes_name_the_place(shape, message):
    object.__setattr__(shape, "place", Place("s.yaml", 7, 3))
    with pytest.raises(SceneError) as error:
        make_surface(shape, closed=True)
    assert str(error.value).startswith("s.yaml:7:3: ") and message in str(error.value)
