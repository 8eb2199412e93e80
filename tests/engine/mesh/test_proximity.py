"""Box tree against brute force; distances and crossings against sampling and closed forms."""

import numpy as np

from engine.mesh import proximity, shapes

RNG = np.random.default_rng(11)


def test_tree_finds_exactly_the_overlapping_boxes():
    for n, m in ((1, 5), (37, 80), (200, 33)):
        low, other = RNG.uniform(size=(n, 3)), RNG.uniform(size=(m, 3))
        high, other_high = low + RNG.uniform(0, 0.2, size=(n, 3)), other + RNG.uniform(0, 0.2, size=(m, 3))
        meets = ((other[:, None] <= high) & (low <= other_high[:, None])).all(axis=2)
        assert np.array_equal(proximity.BoxTree(low, high).overlaps(other, other_high), np.argwhere(meets))


def _closest_by_sampling(first, second):
    return np.linalg.norm(first[:, None] - second[None], axis=2).min()


def test_distances_against_dense_samples():
    s = np.linspace(0.0, 1.0, 41)
    u, v = (g.ravel() for g in np.meshgrid(s, s))
    keep = u + v <= 1.0 + 1e-12
    bary = np.column_stack([1.0 - u - v, u, v])[keep]
    for _ in range(60):
        p, a, b, c = RNG.normal(size=(4, 3))
        d = proximity.point_triangle_distances(*(q[None] for q in (p, a, b, c)))[0]
        sampled = _closest_by_sampling(p[None], bary @ np.array([a, b, c]))
        assert d <= sampled + 1e-12 and sampled - d < 0.15
        e = proximity.segment_segment_distances(*(q[None] for q in (p, a, b, c)))[0]
        one, two = p + s[:, None] * (a - p), b + s[:, None] * (c - b)
        sampled = _closest_by_sampling(one, two)
        assert e <= sampled + 1e-12 and sampled - e < 0.15


def test_parallel_and_crossing_segments():
    rows = np.array(
        [
            [[0, 0, 0], [1, 0, 0], [0.5, 0.2, 0], [2, 0.2, 0]],  # parallel, overlapping
            [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]],  # collinear, apart
            [[0, 0, 0], [1, 1, 0], [0, 1, 0.3], [1, 0, 0.3]],  # crossing at a distance
        ]
    )
    d = proximity.segment_segment_distances(*(rows[:, k].astype(float) for k in range(4)))
    assert np.allclose(d, [0.2, 1.0, 0.3])


def test_crossings():
    a, b, c = np.array([0.0, 0, 0]), np.array([1.0, 0, 0]), np.array([0.0, 1, 0])
    segments = np.array(
        [
            [[0.2, 0.2, -0.1], [0.2, 0.2, 1.0]],  # through
            [[0.2, 0.2, 0.1], [0.2, 0.2, 1.0]],  # above
            [[0.9, 0.9, -1.0], [0.9, 0.9, 1.0]],  # beside
            [[0.5, -1.0, -1.0], [0.5, 1.0, 1.0]],  # through the border
        ]
    )
    p, q = segments[:, 0], segments[:, 1]
    corners = [np.broadcast_to(x, (4, 3)) for x in (a, b, c)]
    assert proximity.segments_cross_triangles(p, q, *corners).tolist() == [True, False, False, True]
    assert np.isclose(proximity.crossing_depth(p, q, *corners)[0], 0.1)
    assert np.allclose(proximity.crossing_points(p, q, *corners)[0], [0.2, 0.2, 0.0])


def test_winding_number():
    sphere = shapes.icosphere(1.0, 2)
    assert np.isclose(proximity.winding_number(np.array([0.3, 0.2, -0.4]), *sphere), 1.0)
    assert np.isclose(proximity.winding_number(np.array([1.3, 0.2, -0.4]), *sphere), 0.0, atol=1e-12)


def test_vertices_on_edges():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 0, 0], [0.5, 0.1, 0]])
    hits = proximity.vertices_on_edges(x, np.arange(4), np.array([[0, 1], [0, 3]]), relative=1e-6)
    assert hits.tolist() == [[2, 0]]
