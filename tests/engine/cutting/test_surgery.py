"""Paths and mesh surgery on flat meshes: no slivers, all area kept, one clean cut near the line."""

from __future__ import annotations

import numpy as np
import pytest

from engine.cutting.path import find_runs, line_distance, plan_paths
from engine.cutting.splitting import edge_node, node_place, quality, smallest_angle, split_triangle, vertex_node
from tests.engine.cutting.meshes import KERF, areas, cut_mesh, is_manifold, pieces, strip

CELL = 0.019 / 6
ACROSS = [[0.0107, -0.02], [0.0107, 0.02]]


@pytest.mark.parametrize("pattern", ["zigzag_rows", "one", "equilateral", "union_jack"])
@pytest.mark.parametrize("line", [ACROSS, [[-0.004, -0.02], [0.013, 0.02]], [[0.0, -0.02], [1e-5, 0.02]]])
def test_a_line_across_makes_two_pieces_without_slivers(pattern, line):
    points, triangles = strip(pattern)
    s = cut_mesh(points, triangles, line)
    placed, material = s.mixed(points), s.mixed(points, material=True)
    assert pieces(s.triangles) == 2 and is_manifold(s.triangles)
    assert np.degrees(smallest_angle(placed[s.triangles])) > 10.0
    assert np.array_equal(np.sign(areas(placed, s.triangles)), np.sign(areas(points, triangles))[s.parent])
    whole = np.bincount(s.parent, weights=areas(material, s.triangles))
    assert np.abs(whole - areas(points, triangles)).max() < 1e-18
    path = plan_paths(points, triangles, np.array(line), 0.36e-3)[0]
    places = np.array([node_place(points, node) for node in path])
    assert line_distance(np.array(line), places).max() < 0.5 * CELL
    assert np.abs(places[[0, -1], 1]).min() > 0.0095 - 1e-12  # from border to border


def test_random_cuts_one_after_the_other_stay_clean():
    rng = np.random.default_rng(3)
    for pattern in ("zigzag_rows", "equilateral"):
        points, triangles = strip(pattern)
        seam = np.arange(len(points))
        for _ in range(6):
            line = np.column_stack([rng.uniform(-0.035, 0.035, 2), rng.uniform(-0.015, 0.015, 2)])
            if not plan_paths(points, triangles, line, 0.36e-3):
                continue
            s = cut_mesh(points, triangles, line, seam=seam)
            points, triangles, seam = s.mixed(points), s.triangles, s.seam
            assert is_manifold(triangles)
            assert np.degrees(smallest_angle(points[triangles])) > 10.0


def test_the_lips_lie_a_kerf_apart_and_share_their_seam():
    points, triangles = strip()
    s = cut_mesh(points, triangles, ACROSS)
    placed = s.mixed(points)
    twins = [np.flatnonzero(s.seam == label) for label in np.unique(s.seam)]
    twins = [t for t in twins if len(t) == 2]
    assert len(twins) == s.doubled == 7  # a straight cut along one row of crossings
    for a, b in twins:
        assert KERF * 0.99 < abs(placed[a, 0] - placed[b, 0]) < KERF * 1.01
        assert abs(placed[a, 0] + placed[b, 0] - 2 * s.mixed(points, material=True)[a, 0]) < 1e-12  # both sides alike
    old = np.arange(len(points))
    assert np.array_equal(placed[old][~s.changed[: len(old)]], points[~s.changed[: len(old)]])


def test_values_are_interpolated_inside_the_parent():
    points, triangles = strip()
    s = cut_mesh(points, triangles, [[-0.004, -0.02], [0.013, 0.02]])
    assert np.abs(s.place.sum(axis=1) - 1.0).max() < 1e-12 and s.place.min() > -1e-12
    field = points @ np.array([2.0, -3.0]) + 0.5
    assert np.abs(s.mixed(field) - (s.mixed(points) @ np.array([2.0, -3.0]) + 0.5)).max() < 1e-14
    # a piece's corners are made of corners of its parent only
    for t, parent in zip(s.triangles, s.parent, strict=True):
        for v in t:
            used = s.corners[v][s.material[v] > 1e-9]
            assert np.isin(used, triangles[parent]).all()


def test_a_partial_cut_ends_at_a_vertex_and_keeps_one_piece():
    points, triangles = strip()
    s = cut_mesh(points, triangles, [[0.0107, -0.02], [0.0107, 0.001]])
    assert pieces(s.triangles) == 1 and is_manifold(s.triangles) and s.doubled == 3
    lips = s.mixed(points)[np.bincount(s.seam, minlength=len(s.seam))[s.seam] > 1]
    assert lips[:, 1].max() < 0.001


def test_a_cut_from_a_lip_goes_on_where_the_older_one_ended():
    points, triangles = strip()
    first = cut_mesh(points, triangles, [[0.0107, -0.02], [0.0107, 0.001]])
    placed = first.mixed(points)
    second = cut_mesh(placed, first.triangles, ACROSS, seam=first.seam)
    assert pieces(second.triangles) == 2 and is_manifold(second.triangles)
    assert len(second.triangles) - len(first.triangles) < 20  # the old lips were not cut a second time


def test_cutting_an_old_cut_again_parts_nothing():
    points, triangles = strip()
    first = cut_mesh(points, triangles, ACROSS)
    placed = first.mixed(points)
    beside = np.array(ACROSS) + (0.2 * CELL, 0.0)
    assert plan_paths(placed, first.triangles, beside, 0.36e-3) == []  # no shavings


def test_a_line_over_an_older_cut_is_two_runs():
    points, triangles = strip()
    first = cut_mesh(points, triangles, ACROSS)
    along = np.array([[0.0, 0.001], [0.02, 0.0012]])
    assert len(find_runs(points, triangles, along)) == 1
    placed = first.mixed(points)
    runs = find_runs(placed, first.triangles, along)
    assert [(r.enters, r.leaves) for r in runs] == [(False, True), (True, False)]
    second = cut_mesh(placed, first.triangles, along, seam=first.seam)
    assert pieces(second.triangles) == 2 and is_manifold(second.triangles)


def test_a_kinked_line_is_followed():
    points, triangles = strip()
    line = [[-0.02, -0.02], [-0.02, 0.0], [0.02, 0.0], [0.02, 0.02]]
    s = cut_mesh(points, triangles, line)
    assert pieces(s.triangles) == 2 and is_manifold(s.triangles)
    assert np.degrees(smallest_angle(s.mixed(points)[s.triangles])) > 10.0
    path = plan_paths(points, triangles, np.array(line), 0.36e-3)[0]
    assert line_distance(np.array(line), np.array([node_place(points, n) for n in path])).max() < 0.75 * CELL


def test_lines_that_miss_or_are_too_short_make_no_path():
    points, triangles = strip()
    assert plan_paths(points, triangles, np.array([[0.1, -0.02], [0.1, 0.02]]), 0.0) == []
    short = np.array([[0.0, 0.0003], [1e-5, 0.0003]])
    assert plan_paths(points, triangles, short, 0.0) == []


def test_a_triangle_is_split_the_better_way():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    made = split_triangle(points, (0, 1, 2), edge_node(0, 1, 0.5), edge_node(0, 2, 0.5))
    assert len(made) == 3
    assert np.degrees(quality(points, made)[0]) == pytest.approx(18.4349, abs=1e-3)
    total = sum(areas(np.array([node_place(points, n) for n in piece]), np.array([[0, 1, 2]]))[0] for piece in made)
    assert total == pytest.approx(0.5, rel=1e-15)  # all wound like the parent
    made = split_triangle(points, (0, 1, 2), edge_node(1, 2, 0.5), vertex_node(0))
    assert len(made) == 2 and np.degrees(quality(points, made)[0]) == pytest.approx(45.0)
    assert quality(points, made)[1] == pytest.approx(0.5)
