"""No pair is missed: against brute force and ipctk's broad phase, moving, kept, and far from the origin."""

import ipctk
import numpy as np
import pytest

from engine.contact.candidates import Candidates
from tests.engine.contact.collision_scenes import Scene, Surface, distances, grid, missing, needed_pairs, rows, sphere


def crowded_scene(rng, device="cpu", offset=(0.0, 0.0, 0.0)):
    """A crumpled sheet, a second one, an affine body and a static sphere, all within reach of each other."""
    sheet, triangles = grid(7, 6, 0.12)
    sheet = sheet + rng.normal(size=sheet.shape) * 0.01
    other, other_triangles = grid(5, 5, 0.1, 0.02)
    body, body_faces = sphere(1, 0.03)
    still, still_faces = sphere(1, 0.04)
    return Scene(
        [
            Surface(sheet + offset, triangles, dhat=2e-3, half_thickness=5e-4, static_points=(0, 1, 2)),
            Surface(other + rng.normal(size=other.shape) * 0.01 + offset, other_triangles, dhat=3e-3),
            Surface(
                body + [0.02, 0.02, 0.03] + np.array(offset), body_faces, dhat=1e-3, half_thickness=1e-3, rides="body"
            ),
            Surface(still + [0.08, 0.08, -0.02] + np.array(offset), still_faces, rides="static"),
        ],
        device=device,
    )


def motion(rng, scene, size, common=(0.0, 0.0, 0.0)):
    dx = rng.normal(size=scene.x.shape) * size + common
    dx[scene.count == 0] = 0.0
    return dx


@pytest.mark.parametrize(
    "size, common", [(0.0, (0, 0, 0)), (2e-3, (0, 0, 0)), (0.02, (0, 0, 0)), (1e-3, (0.1, 0, -0.3))]
)
@pytest.mark.parametrize("offset", [(0, 0, 0), (1000.0, -2000.0, 500.0)])
def test_every_pair_within_reach_is_listed(size, common, offset):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        scene = crowded_scene(rng, offset=offset)
        dx = motion(rng, scene, size, common)
        candidates = Candidates(scene.collision, scene.embedding, slack=1e-6)
        assert candidates.update(scene.vectors(scene.x), scene.vectors(dx))
        needed = needed_pairs(scene, scene.x, dx)
        assert len(needed) > 50
        assert missing(rows(candidates), needed) == []


def test_boxes_at_the_very_edge_of_reach():
    """A pair at dhat + both half-thicknesses minus a hair is listed, one a little farther is not (no blind margin)."""
    flat, triangles = grid(2, 2, 0.1)
    for gap, expected in ((0.0045 - 1e-9, True), (0.0045 + 1e-5, False)):
        top = flat + [0.01, 0.013, gap]
        scene = Scene(
            [
                Surface(flat, triangles, dhat=4e-3, half_thickness=1e-3),
                Surface(top, triangles, dhat=2e-3, half_thickness=1.5e-3),
            ]
        )
        candidates = Candidates(scene.collision, scene.embedding, slack=1e-12)
        candidates.update(scene.vectors(scene.x), scene.vectors(0 * scene.x))
        crossing = [r for r in rows(candidates) if (r[1] < 4) != (r[4] < 4)]
        assert (len(crossing) > 0) == expected


def test_fraction_scales_the_motion():
    flat, triangles = grid(3, 3, 0.1)
    scene = Scene([Surface(flat, triangles), Surface(flat + [0.01, 0.01, 0.1], triangles, rides="static")])
    dx = np.where(np.arange(18)[:, None] < 9, [0, 0, 0.2], 0.0)
    candidates = Candidates(scene.collision, scene.embedding, slack=1e-4)
    x, dx = scene.vectors(scene.x), scene.vectors(dx)

    def between():
        listed = rows(candidates)
        return int(np.sum(np.any(listed[:, 1:] < 9, 1) & np.any(listed[:, 1:] >= 9, 1)))

    candidates.update(x, dx, 0.3)
    assert between() == 0
    assert candidates.update(x, dx, 0.5)
    assert between() > 0
    assert not candidates.update(x, dx, 0.5)


def test_ipctk_broad_phase_finds_nothing_else():
    """Every candidate of ipctk that comes within reach is ours, and no pair within reach is missing from theirs."""
    checked = 0
    for seed in range(2):
        rng = np.random.default_rng(100 + seed)
        scene = crowded_scene(rng)
        free = Scene([Surface(s.points, s.triangles, dhat=2e-3) for s in scene.surfaces])
        dx = rng.normal(size=free.x.shape) * 0.01
        candidates = Candidates(free.collision, free.embedding, slack=1e-9)
        candidates.update(free.vectors(free.x), free.vectors(dx))
        mesh = ipctk.CollisionMesh(free.x, free.edges.astype(np.int32), free.triangles.astype(np.int32))
        theirs = ipctk.Candidates()
        theirs.build(mesh, free.x, free.x + dx, inflation_radius=1e-3)
        pairs = [(0, c.vertex_id, *free.triangles[c.face_id]) for c in theirs.fv_candidates]
        pairs += [
            (1, *free.edges[min(c.edge0_id, c.edge1_id)], *free.edges[max(c.edge0_id, c.edge1_id)])
            for c in theirs.ee_candidates
        ]
        pairs = np.array(pairs)
        near = np.min([distances(free.x + t * dx, pairs) for t in np.linspace(0, 1, 11)], axis=0) < 2e-3
        assert missing(rows(candidates), pairs[near]) == []
        assert missing(pairs, needed_pairs(free, free.x, dx)) == []
        checked += int(near.sum())
    assert checked > 500


def test_kept_list_stays_complete_along_a_random_walk():
    rng = np.random.default_rng(7)
    scene = crowded_scene(rng)
    candidates = Candidates(scene.collision, scene.embedding, slack=4e-3)
    x, dx = scene.vectors(scene.x), scene.vectors(0 * scene.x)
    position, kept, rebuilt = scene.x.copy(), 0, 0
    for _ in range(15):
        step = motion(rng, scene, 4e-4) + np.where(scene.count[:, None] > 0, [4e-4, 0, -4e-4], 0.0)
        x.assign(position)
        dx.assign(step)
        again = candidates.update(x, dx)
        kept, rebuilt = kept + (not again), rebuilt + again
        assert missing(rows(candidates), needed_pairs(scene, position, step, moments=3)) == []
        position = position + step
    assert kept >= 6 and rebuilt >= 2


def test_a_sheet_that_moves_as_a_whole_is_seen_by_the_static_world():
    """Within its own frame nothing moves; only the range of the frames can notice that the sheet comes closer."""
    flat, triangles = grid(4, 4, 0.1)
    scene = Scene([Surface(flat + [0, 0, 0.05], triangles), Surface(flat + [0.01, 0.01, 0], triangles, rides="static")])
    candidates = Candidates(scene.collision, scene.embedding, slack=2e-3)
    moving = (np.arange(32) < 16)[:, None]
    x, dx = scene.vectors(scene.x), scene.vectors(0 * scene.x)
    candidates.update(x, dx)
    x.assign(scene.x - moving * [0, 0, 1e-3])
    assert not candidates.update(x, dx)
    position = scene.x - moving * [0, 0, 0.0495]
    x.assign(position)
    assert candidates.update(x, dx)
    needed = needed_pairs(scene, position, 0 * position, 1)
    assert len(needed) > 10 and missing(rows(candidates), needed) == []


def test_not_a_number_never_passes_for_valid():
    flat, triangles = grid(4, 4, 0.1)
    scene = Scene([Surface(flat, triangles)])
    candidates = Candidates(scene.collision, scene.embedding)
    x, dx = scene.vectors(scene.x), scene.vectors(0 * scene.x)
    candidates.update(x, dx)
    broken = scene.x.copy()
    broken[5, 1] = np.nan
    x.assign(broken)
    assert candidates.update(x, dx)
    assert candidates.update(x, dx)
