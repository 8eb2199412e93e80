"""Pegs, holes, patterns and soft bodies that the tactile scenes are made of."""

import numpy as np
import pytest

from engine.mesh.topology import boundary_of_tets
from scenes.build import build_scene
from scenes.config import load_config
from scenes.lofts import PROFILES, hole_block, outline, peg
from scenes.mesh_defects import find_defects
from scenes.patterns import PATTERNS, pattern_block, pattern_height
from scenes.soft_balls import distance, soft_balls, volumes


def volume(vertices, triangles):
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0


def area(points):
    x, y = points.T
    return 0.5 * float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


@pytest.mark.parametrize("profile", PROFILES)
def test_pegs_fit_their_holes(profile):
    full, narrow = outline(profile, 0.02), outline(profile, 0.017)
    vertices, triangles = peg(profile, 0.02, 0.05, 0.003, 0.017)
    assert not find_defects(vertices, triangles)
    frustum = 0.003 / 3.0 * (area(full) + area(narrow) + np.sqrt(area(full) * area(narrow)))
    assert volume(vertices, triangles) == pytest.approx(area(full) * 0.047 + frustum, rel=1e-9)
    block, faces = hole_block((0.05, 0.06, 0.02), profile, 0.021, 0.002)
    assert not find_defects(block, faces)
    hole, mouth = area(outline(profile, 0.021)), area(outline(profile, 0.025))
    funnel = 0.002 / 3.0 * (hole + mouth + np.sqrt(hole * mouth))
    assert volume(block, faces) == pytest.approx(0.05 * 0.06 * 0.02 - hole * 0.018 - funnel, rel=1e-9)
    with pytest.raises(ValueError, match="the mouth of the hole is 54 mm wide; it does not fit"):
        hole_block((0.05, 0.06, 0.02), profile, 0.05, 0.002)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_closed_and_as_high_as_said(pattern):
    vertices, triangles = pattern_block(pattern, 0.02, 8e-4, 5e-3, 5e-4)
    assert not find_defects(vertices, triangles) and volume(vertices, triangles) > 0.02**2 * 5e-3
    assert vertices[:, 2].min() == pytest.approx(-5e-3) and vertices[:, 2].max() <= 8e-4 * (1 + 1e-9)
    x, y = np.meshgrid(*2 * [np.linspace(-0.0099, 0.0099, 331)])
    height = pattern_height(pattern, x, y, 0.02, 8e-4)
    assert height.max() == pytest.approx(8e-4, rel=0.02) and height.min() == 0.0
    assert 0.03 < (height > 4e-4).mean() < 0.7, "neither nothing nor a flat plate"
    assert np.abs(np.diff(height, axis=0)).max() < 3e-4, "no step that a pad could not follow"


def test_a_ball_has_its_volume_and_its_surface():
    for cell, error in ((0.25, 0.06), (0.125, 0.02)):
        vertices, tets = soft_balls([(0.0, 0.0, 0.0)], [(1.0, 1.0, 1.0)], cell)
        assert volumes(vertices, tets).min() > 0.0
        assert volumes(vertices, tets).sum() == pytest.approx(4.0 / 3.0 * np.pi, rel=error)
        outer = np.unique(boundary_of_tets(tets))
        assert np.abs(np.linalg.norm(vertices[outer], axis=1) - 1.0).max() < 1e-6
    with pytest.raises(ValueError, match="too coarse for ellipsoids of radius 1 m"):
        soft_balls([(0.0, 0.0, 0.0)], [(1.0, 1.0, 1.0)], 3.0)


def test_joined_ellipsoids_are_one_sound_body():
    centres, radii = [(0, 0, 0), (0, 0, 1.2), (0.9, 0, 0.2)], [(1, 0.8, 0.9), (0.6, 0.6, 0.6), (0.5, 0.3, 0.3)]
    vertices, tets = soft_balls(centres, radii, 0.25)
    size = volumes(vertices, tets)
    assert size.min() > 0.01 * size.max()
    triangles = boundary_of_tets(tets)
    edges = np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all(), "closed, every edge between two triangles"
    outer = np.unique(triangles)
    off = distance(vertices[outer], np.array(centres, float), np.array(radii, float), 0.35 * 0.25)
    assert np.abs(off).mean() < 0.02 * 0.25


@pytest.mark.parametrize("name", ["peg_insertion", "grasp_teddy", "tile_probe", "press_patterns"])
def test_the_scenes_load_and_say_what_to_do(name):
    config = load_config(name)
    scene = build_scene(config)
    assert scene.task and len(scene.steps) >= 2 and scene.hints and scene.tools and scene.pads
    assert scene.script.is_file() and not scene.notes
