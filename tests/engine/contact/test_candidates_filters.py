"""Which pairs may be listed at all, and what numbers they carry."""

import numpy as np
import pytest
import warp as wp

from engine.contact import parts
from engine.contact.candidates import Candidates
from tests.engine.contact.collision_scenes import Scene, Surface, brute_force_pairs, distances, grid, rows, sphere

FAR = 10.0  # a reach so wide that every allowed pair of a small scene is listed


def listed(scene, **options):
    candidates = Candidates(scene.collision, scene.embedding, **options)
    candidates.update(scene.vectors(scene.x), scene.vectors(0 * scene.x))
    return candidates, rows(candidates)


def small_surfaces(**changes):
    flat, triangles = grid(3, 3, 0.1)
    ball, faces = sphere(0, 0.03)
    return [
        Surface(flat, triangles, dhat=FAR, static_points=(0, 1, 2, 3, 4), **changes),
        Surface(flat + [0, 0, 0.1], triangles, dhat=FAR, self_collision=False),
        Surface(ball + [0, 0, 0.2], faces, dhat=FAR, rides="body"),
        Surface(ball + [0.1, 0, 0.2], faces, dhat=FAR, rides="body"),
        Surface(ball + [0, 0, 0.3], faces, dhat=FAR, rides="static"),
        Surface(flat + [0, 0, 0.4], triangles, dhat=FAR, rides="static"),
    ]


@pytest.mark.parametrize("ignored", [(), ((0, 2), (1, 1), (2, 4))])
@pytest.mark.parametrize("num_worlds", [1, 2])
def test_exactly_the_allowed_pairs_are_listed(ignored, num_worlds):
    """Share a point, static on static, a body on itself, self-collision off, ignored surfaces, other worlds."""
    scene = Scene(small_surfaces(), num_worlds=num_worlds, ignored=ignored)
    candidates, found = listed(scene)
    expected = brute_force_pairs(scene)
    assert len(expected) > 1000
    assert set(map(tuple, found.tolist())) == set(map(tuple, expected.tolist()))
    assert len(found) == len(expected), "a pair is listed twice"
    world = scene.collision.point_world.numpy()
    assert np.all(world[found[:, 1:]] == candidates.world.numpy()[: len(found), None])


def test_static_on_static_is_not_even_queried():
    scene = Scene(small_surfaces())
    split = Candidates(scene.collision, scene.embedding)._parts
    still = split.rider == parts.STATIC
    assert still.sum() == 3  # two static surfaces and the pinned share of the first
    for table in (split.vertex_triangle, split.edge_edge):
        querying = np.repeat(np.arange(split.num_parts), np.diff(table.offset))
        assert len(querying) > 0 and not np.any(still[querying] & still[table.part])
        assert not np.any((split.rider[querying] >= 0) & (split.rider[querying] == split.rider[table.part]))


def test_points_that_take_no_part_are_left_out():
    scene = Scene(small_surfaces())
    inner = scene.surface.copy()
    inner[scene.surface == 3] = -1
    scene.collision.point_surface = wp.array(inner, dtype=wp.int32, device=scene.device)
    _, found = listed(scene)
    assert len(found) > 500 and not np.any(inner[found[:, 1:]] < 0)


def test_numbers_of_a_pair():
    flat, triangles = grid(4, 4, 0.3)
    scene = Scene(
        [
            Surface(flat, triangles, dhat=3e-3, half_thickness=1e-3, kappa=2e5, friction_mu=0.2),
            Surface(
                flat * [0.5, 0.25, 1] + [0.02, 0.03, 3e-3],
                triangles,
                dhat=2e-3,
                half_thickness=5e-4,
                kappa=1e6,
                friction_mu=0.8,
            ),
        ]
    )
    candidates, found = listed(scene)
    n = len(found)
    values = {
        name: getattr(candidates, name).numpy()[:n]
        for name in ("dhat", "min_separation", "stiffness", "friction_mu", "mollifier_eps")
    }
    surface = scene.surface[found[:, 1:]]
    cross = surface[:, 0] != surface[:, 2]
    low = ~cross & (surface[:, 0] == 0)
    assert cross.sum() > 20
    assert np.all(values["dhat"][cross] == 2e-3) and np.all(values["dhat"][low] == 3e-3)
    np.testing.assert_allclose(values["min_separation"][cross], 1.5e-3, rtol=1e-15)
    np.testing.assert_allclose(values["min_separation"][low], 2e-3, rtol=1e-15)
    np.testing.assert_allclose(values["friction_mu"][cross], 0.4, rtol=1e-15)
    kappa = np.where(surface.max(axis=1) == 0, 2e5, np.where(cross, 2e5, 1e6))
    vertex_area, edge_area = scene.collision.vertex_area.numpy(), scene.collision.edge_area.numpy()
    length = scene.collision.edge_rest_length.numpy()
    edge = {tuple(e): k for k, e in enumerate(scene.edges.tolist())}
    area, eps = np.zeros(n), np.zeros(n)
    for k, (kind, a, b, c, d) in enumerate(found.tolist()):
        if kind == 0:
            area[k] = min(vertex_area[a], vertex_area[[b, c, d]].max()) / 3
        else:
            i, j = edge[a, b], edge[c, d]
            area[k] = min(edge_area[i], edge_area[j]) / 6
            eps[k] = 1e-3 * length[i] ** 2 * length[j] ** 2
    np.testing.assert_allclose(values["stiffness"], kappa * area * values["dhat"], rtol=1e-14)
    np.testing.assert_allclose(values["mollifier_eps"], eps, rtol=1e-14)


@pytest.mark.parametrize("columns, expected", [(38, 1.0), (3, 1.0 / 3.0)])
def test_areas_of_parallel_sheets_add_up_to_the_contact_area(columns, expected):
    """Two sheets of like cells in a random in-plane pose count their common area about once; a fine one on a much
    coarser one about a third of it (only its own vertices count)."""
    rng = np.random.default_rng(3)
    totals = []
    for _ in range(4):
        fine, fine_triangles = grid(24, 24, 1.0)
        other, other_triangles = grid(columns, columns, 4.0 if columns == 3 else 1.6)
        turn = rng.uniform(0, np.pi)
        rotation = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
        other = (other - other.mean(axis=0)) @ rotation.T + fine.mean(axis=0) + [*rng.normal(size=2) * 0.01, 1e-4]
        scene = Scene([Surface(fine, fine_triangles, dhat=2e-4), Surface(other, other_triangles, dhat=2e-4)])
        candidates, found = listed(scene, slack=1e-9)
        touching = (scene.surface[found[:, 1]] != scene.surface[found[:, 3]]) & (distances(scene.x, found) < 1.01e-4)
        totals.append(np.sum(candidates.stiffness.numpy()[: len(found)][touching]) / (1e5 * 2e-4))
    assert abs(np.mean(totals) - expected) < 0.2 * expected, totals


def test_an_element_across_two_surfaces_is_refused():
    scene = Scene(small_surfaces())
    mixed = scene.triangles.copy()
    mixed[5, 2] = 12
    scene.collision.triangles = wp.array(mixed, dtype=wp.vec3i)
    with pytest.raises(ValueError, match=r"CollisionGeometry.triangles\[5\] joins points of surfaces \[0, 1\]"):
        Candidates(scene.collision, scene.embedding)
