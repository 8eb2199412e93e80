"""Cameras against geometry: depth and what is seen where, by formulas and by a ray caster of its own."""

from __future__ import annotations

import numpy as np
import pytest

from engine.cameras import Pinhole, Renderer, Surface, look_at
from engine.cameras.renderer import TOWARD_LAMP

RED, GREEN, BLUE, GREY = (0.8, 0.1, 0.1), (0.1, 0.7, 0.1), (0.1, 0.1, 0.8), (0.6, 0.6, 0.6)
SMALL = Pinhole(96, 72, np.radians(60.0))


def surface(triangles, count, color=GREY, casts=True):
    t = len(triangles)
    colors = np.asarray(color, float) * np.ones((t, 3))
    return Surface(np.asarray(triangles), colors, np.tile((0.0, 3.0), (t, 1)), np.full(t, casts), count)


def sphere(radius, rings=24):
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings + 1), indexing="ij")
    x = radius * np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1).reshape(-1, 3)
    n, faces = 2 * rings + 1, []
    for i in range(rings):
        for j in range(2 * rings):
            a, b = i * n + j, (i + 1) * n + j
            faces += [(a, b, b + 1), (a, b + 1, a + 1)]
    return x, np.array(faces)


def rays(pinhole):
    """Directions (h, w, 3) in camera axes with z = 1, from the published intrinsics."""
    u, v = np.meshgrid(np.arange(pinhole.width), np.arange(pinhole.height))
    return np.stack([u, v, np.ones_like(u)], -1) @ np.linalg.inv(pinhole.intrinsics).T


def cast(x, triangles, origin, directions):
    """Smallest parameter of each ray that meets a triangle (Moeller and Trumbore 1997), inf for none."""
    best = np.full(len(directions), np.inf)
    for a, b, c in x[triangles]:
        e1, e2 = b - a, c - a
        p = np.cross(directions, e2)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1.0 / (p @ e1)
            u = (p @ (origin - a)) * inverse
            q = np.cross(origin - a, e1)
            v = (directions @ q) * inverse
            t = (q @ e2) * inverse
        best = np.where((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0), np.minimum(best, t), best)
    return best


@pytest.mark.parametrize("tilt", [0.0, 35.0, -60.0])
def test_depth_of_a_plane_that_reaches_behind_the_camera(device, tilt):
    """Two huge triangles: d = n . (p - eye) / n . ray at every pixel, also where their corners lie behind the eye."""
    normal = np.array([np.sin(np.radians(tilt)), 0.2, np.cos(np.radians(tilt))])
    normal /= np.linalg.norm(normal)
    along = np.cross(normal, (0.0, 1.0, 0.0))
    along /= np.linalg.norm(along)
    other = np.cross(normal, along)
    x = np.array([3 * a * along + 3 * b * other for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    pose = look_at((0.1, -0.05, 0.4), (0.0, 0.02, 0.0), (0.0, 1.0, 0.0))
    renderer = Renderer(surface([(0, 1, 2), (0, 2, 3)], 4), device, samples=1)
    renderer.move(x)
    depth = renderer.picture(SMALL, pose).depth
    world = rays(SMALL) @ pose[:3, :3].T
    expected = -(normal @ pose[:3, 3]) / (world @ normal)
    there = pose[:3, 3] + expected[..., None] * world
    inside = (expected > 0) & (np.abs(there @ along) < 2.999) & (np.abs(there @ other) < 2.999) & (expected < 7.99)
    assert inside.mean() > 0.6
    np.testing.assert_allclose(depth[inside], expected[inside], rtol=1e-6)
    assert (depth[~inside & ((expected < 0) | (expected > 8.01))] == 0.0).all()


def test_depth_of_a_sphere_against_rays(device):
    x, triangles = sphere(0.1)
    pose = look_at((0.3, -0.2, 0.15), (0.02, 0.0, 0.01))
    renderer = Renderer(surface(triangles, len(x)), device, samples=2)
    renderer.move(x)
    depth = renderer.picture(SMALL, pose).depth
    best = cast(x, triangles, pose[:3, 3], (rays(SMALL) @ pose[:3, :3].T).reshape(-1, 3)).reshape(depth.shape)
    seen = np.isfinite(best)
    assert 500 < seen.sum() < 0.6 * seen.size and ((depth > 0) == seen).mean() > 0.999  # but for grazing rays
    both = seen & (depth > 0)
    np.testing.assert_allclose(depth[both], best[both], rtol=1e-6)


def test_a_place_is_seen_where_the_intrinsics_say(device):
    """Right is right and down is down: three small patches, each in its own colour, at their projections."""
    pose = look_at((0.0, -0.5, 0.1), (0.0, 0.0, 0.1))
    places = np.array([(0.15, 0.0, 0.1), (-0.1, 0.0, 0.22), (0.05, 0.0, -0.08)])
    corner = 0.02 * np.array([(-1, 0, -1), (1, 0, -1), (0, 0, 1)])
    x = (places[:, None] + corner).reshape(-1, 3)
    renderer = Renderer(surface(np.arange(9).reshape(3, 3), 9, [RED, GREEN, BLUE]), device, samples=2)
    renderer.move(x)
    picture = renderer.picture(SMALL, pose)
    local = (places - pose[:3, 3]) @ pose[:3, :3]
    pixel = local @ SMALL.intrinsics.T
    columns, rows = np.rint(pixel[:, :2] / pixel[:, 2:]).astype(int).T
    assert columns[0] > 60 and rows[1] < 25 and rows[2] > 50  # by hand: right, above, below
    for k, channel in enumerate((0, 1, 2)):
        color = picture.rgb[rows[k], columns[k]].astype(int)
        assert color.argmax() == channel and color[channel] > np.delete(color, channel).max() + 60
        assert picture.depth[rows[k], columns[k]] == pytest.approx(0.5, rel=1e-6)


def test_the_nearer_one_is_seen_whatever_the_order(device):
    near, far = [(-1, -1, 0.2), (1, -1, 0.2), (0, 1, 0.2)], [(-1, -1, 0.1), (1, -1, 0.1), (0, 1, 0.1)]
    pose = look_at((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    for order, first in ((near + far, RED), (far + near, BLUE)):
        other = BLUE if first is RED else RED
        renderer = Renderer(surface([(0, 1, 2), (3, 4, 5)], 6, [first, other], casts=False), device)
        renderer.move(np.array(order, float))
        picture = renderer.picture(SMALL, pose)
        assert picture.depth[36, 48] == pytest.approx(0.8, rel=1e-6)
        assert picture.rgb[36, 48].argmax() == 0  # red is the near one in both


def test_a_plate_throws_its_shadow_where_the_lamp_says(device):
    plate = np.array([(-0.05, -0.05, 0.2), (0.05, -0.05, 0.2), (0.05, 0.05, 0.2), (-0.05, 0.05, 0.2)])
    floor = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float)
    faces = np.array([(0, 1, 2), (0, 2, 3), (4, 5, 6), (4, 6, 7)])
    thing = Surface(faces, np.tile(GREY, (4, 1)), np.tile((0.0, 3.0), (4, 1)), np.array([True, True, False, False]), 8)
    renderer = Renderer(thing, device, samples=1)
    renderer.move(np.concatenate([plate, floor]))
    pose = look_at((0.6, 0.5, 0.6), (0.0, 0.0, 0.0))
    rgb = renderer.picture(Pinhole(320, 240, np.radians(60.0)), pose).rgb

    def seen_at(place):
        pixel = Pinhole(320, 240, np.radians(60.0)).intrinsics @ ((np.asarray(place) - pose[:3, 3]) @ pose[:3, :3])
        return rgb[tuple(np.rint(pixel[1::-1] / pixel[2]).astype(int))].astype(int).mean()

    shift = -0.2 * TOWARD_LAMP[:2] / TOWARD_LAMP[2]
    lit, shadow = seen_at((*(-shift), 0.0)), seen_at((*shift, 0.0))
    assert shadow < 0.8 * lit
    for way in ((1, 0), (-1, 0), (0, 1), (0, -1)):  # its edges, within 8 mm
        edge = shift + 0.05 * np.array(way)
        assert seen_at((*(edge - 0.008 * np.array(way)), 0.0)) == pytest.approx(shadow, abs=12)
        assert seen_at((*(edge + 0.008 * np.array(way)), 0.0)) == pytest.approx(lit, abs=12)


def test_the_same_bits_again_and_nothing_left_of_the_picture_before(device):
    x, triangles = sphere(0.1, 12)
    renderer = Renderer(surface(triangles, len(x), RED), device)
    pose = look_at((0.3, -0.2, 0.15), (0.0, 0.0, 0.0))
    renderer.move(x)
    first = renderer.picture(SMALL, pose)
    kept = first.rgb.copy(), first.depth.copy()
    renderer.move(x + (0.0, 0.0, 0.05))
    assert not np.array_equal(renderer.picture(SMALL, pose).depth, kept[1])
    assert np.array_equal(first.rgb, kept[0]) and np.array_equal(first.depth, kept[1]), "a picture is a copy"
    renderer.move(x)
    again = renderer.picture(SMALL, pose)
    assert np.array_equal(again.rgb, kept[0]) and np.array_equal(again.depth, kept[1])


def test_axes_of_a_camera():
    pose = look_at((0.0, -1.0, 0.0), (0.0, 0.0, 0.0))
    np.testing.assert_allclose(pose[:3, :3], [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=1e-15)  # columns
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1.0)
    np.testing.assert_allclose(Pinhole(640, 480, np.pi / 2).intrinsics, [[240, 0, 319.5], [0, 240, 239.5], [0, 0, 1]])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: look_at((0, 0, 1), (0, 0, 1)), "eye and target are the same place [0.0, 0.0, 1.0]"),
        (lambda: look_at((0, 0, 1), (0, 0, 0)), "up [0.0, 0.0, 1.0] lies along the line of sight"),
        (lambda: Pinhole(0, 480), "width is 0; legal: 1 to 4096 pixels"),
        (lambda: Pinhole(640, 480, 4.0), "fov is 4 rad; legal: above 0 and below pi"),
        (lambda: surface([(0, 1, 5)], 3), "triangles name vertices outside 0..2"),
        (lambda: surface(np.zeros((0, 3), int), 3), "0 triangles to draw; legal: 1 to"),
        (lambda: Renderer(surface([(0, 1, 2)], 3), samples=3), "samples is 3; legal: 1, 2"),
        (lambda: Renderer(surface([(0, 1, 2)], 3)).picture(SMALL, np.eye(4)), "before the first move"),
        (lambda: Renderer(surface([(0, 1, 2)], 3)).move(np.zeros((2, 3))), "vertices are (2, 3); expected (3, 3)"),
    ],
)  # fmt: skip
def test_what_is_refused(make, words):
    with pytest.raises(ValueError) as error:
        make()
    assert words in str(error.value)
