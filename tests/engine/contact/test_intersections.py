"""Edge-triangle crossings: against ipctk, by hand, with filters, far from the origin."""

from types import SimpleNamespace

import ipctk
import numpy as np
import pytest

from engine.contact.intersections import Intersections, find_intersections
from tests.engine.contact.collision_scenes import Scene, Surface, grid, sphere


def brute_force(points, edges, triangles):
    """Solve p + t d = a + u ab + v ac for every pair that shares no point."""
    i, j = (q.ravel() for q in np.meshgrid(np.arange(len(edges)), np.arange(len(triangles)), indexing="ij"))
    shared = np.any(edges[i][:, :, None] == triangles[j][:, None, :], axis=(1, 2))
    i, j = i[~shared], j[~shared]
    p, q = points[edges[i, 0]], points[edges[i, 1]]
    a, b, c = (points[triangles[j, k]] for k in range(3))
    matrix = np.stack([q - p, a - b, a - c], axis=2)
    regular = np.abs(np.linalg.det(matrix)) > 1e-14
    i, j = i[regular], j[regular]
    t, u, v = np.linalg.solve(matrix[regular], (a - p)[regular][:, :, None])[:, :, 0].T
    hit = (t >= 0) & (t <= 1) & (u >= 0) & (v >= 0) & (u + v <= 1)
    return np.column_stack([i[hit], j[hit]])


def crowd(seed, gap):
    """A bumpy sheet above a sphere: they meet when `gap` is small."""
    rng = np.random.default_rng(seed)
    sheet, triangles = grid(9, 9, 0.2)
    sheet[:, 2] += rng.normal(size=len(sheet)) * 0.004
    ball, faces = sphere(1, 0.05)
    return Scene([Surface(sheet, triangles), Surface(ball + [0.1, 0.1, -0.05 - gap], faces)])


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_same_verdict_as_ipctk_and_the_same_pairs_as_brute_force(offset):
    verdicts = []
    for seed in range(5):
        scene = crowd(seed, gap=0.0025 * seed)
        x = scene.x + offset
        found = find_intersections(x, scene.collision)
        mesh = ipctk.CollisionMesh(x, scene.edges.astype(np.int32), scene.triangles.astype(np.int32))
        verdicts.append(len(found) > 0)
        assert ipctk.has_intersections(mesh, x) == verdicts[-1]
        expected = brute_force(x, scene.edges, scene.triangles)
        assert set(map(tuple, found.tolist())) == set(map(tuple, expected.tolist()))
    assert True in verdicts and False in verdicts


def test_a_soup_with_thousands_of_crossings_is_found_whole_and_sorted():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 3)) * 0.1
    triangles = np.arange(300).reshape(-1, 3)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    found = find_intersections(points, SimpleNamespace(edges=edges, triangles=triangles))
    expected = brute_force(points, edges, triangles)
    assert len(expected) > 1024  # more than the first buffer
    assert np.array_equal(found, expected[np.lexsort((expected[:, 1], expected[:, 0]))])


def test_touching_counts_and_a_hair_of_distance_does_not():
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    for foot in ([0.25, 0.25], [0.5, 0.0], [0.0, 0.0]):
        for height, expected in ((0.0, 1), (-1e-9, 1), (1e-9, 0)):
            points = np.concatenate([triangle, [[*foot, height], [*foot, 0.5]]])
            plain = SimpleNamespace(edges=np.array([[3, 4]]), triangles=np.array([[0, 1, 2]]))
            assert len(find_intersections(points, plain)) == expected, (foot, height)


def test_filters_are_those_of_contact():
    ball, faces = sphere(1, 0.1)

    def count(second="static", ignored=(), with_embedding=True, own=True, first="static"):
        scene = Scene(
            [
                Surface(ball, faces, rides=first, self_collision=own),
                Surface(ball + [0.05, 0.03, 0.02], faces, rides=second),
            ],
            ignored=ignored,
            num_worlds=2,
        )
        return len(find_intersections(scene.x, scene.collision, scene.embedding if with_embedding else None))

    crossing = count(second="free")
    assert crossing > 20 and crossing % 2 == 0
    assert count(second="body", first="body") == crossing
    assert count() == 0 and count(with_embedding=False) == crossing
    assert count(second="free", ignored=((0, 1),)) == 0
    flat, triangles = grid(4, 4, 0.1)
    folded = flat.copy()
    folded[:, 0] = np.abs(folded[:, 0] - 0.03)
    folded[:, 2] = np.where(flat[:, 0] > 0.09, 0.01, np.where(flat[:, 0] > 0.06, -0.01, 0.0))
    for own, expected in ((True, True), (False, False)):
        scene = Scene([Surface(folded, triangles, self_collision=own)])
        assert (len(find_intersections(scene.x, scene.collision)) > 0) == expected


def test_the_finder_can_be_used_again():
    scene = crowd(0, gap=0.0)
    finder = Intersections(scene.collision, scene.embedding)
    first = finder.find(scene.x)
    apart = scene.x + np.where(scene.surface[:, None] == 0, [0, 0, 0.1], 0.0)
    assert len(first) > 0 and len(finder.find(apart)) == 0
    assert np.array_equal(finder.find(scene.x), first)


def test_bad_points_are_named():
    scene = crowd(0, gap=0.0)
    finder = Intersections(scene.collision)
    with pytest.raises(ValueError, match=r"points are \(3, 3\); they must be \(\d+, 3\)"):
        finder.find(np.zeros((3, 3)))
    broken = scene.x.copy()
    broken[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"points\[7\] is \[.*nan.*\]; it must be finite"):
        finder.find(broken)
