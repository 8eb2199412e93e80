"""The list itself: order, independence of the tree and of other worlds, growth, reuse, bounds."""

import numpy as np
import pytest
import warp as wp

from engine.contact import bvh_boxes
from engine.contact.candidates import Candidates
from tests.engine.contact.collision_scenes import Scene, Surface, distances, grid, rows, sphere

FIELDS = ("dhat", "min_separation", "stiffness", "friction_mu", "mollifier_eps", "world")


def crumpled(seed, columns=12, **options):
    rng = np.random.default_rng(seed)
    sheet, triangles = grid(columns, columns, 0.2)
    ball, faces = sphere(2, 0.05)
    return Scene(
        [
            Surface(sheet + rng.normal(size=sheet.shape) * 0.01, triangles, dhat=3e-3),
            Surface(ball + [0.1, 0.1, 0.0], faces, dhat=2e-3, rides="body"),
            Surface(ball + [0.05, 0.05, -0.045], faces, rides="static"),
        ],
        **options,
    )


def solid_motion(scene, rng, size):
    dx = rng.normal(size=scene.x.shape) * size
    dx[scene.count == 0] = 0.0
    return dx


def everything(candidates):
    n = int(candidates.count.numpy()[0])
    return [rows(candidates)] + [getattr(candidates, name).numpy()[:n] for name in FIELDS]


def test_sorted_by_kind_then_both_indices():
    scene = crumpled(0)
    candidates = Candidates(scene.collision, scene.embedding)
    candidates.update(scene.vectors(scene.x), scene.vectors(0 * scene.x))
    listed = rows(candidates)
    triangle = {tuple(t): k for k, t in enumerate(scene.triangles.tolist())}
    edge = {tuple(e): k for k, e in enumerate(scene.edges.tolist())}
    keys = [
        (0, r[1], triangle[tuple(r[2:])]) if r[0] == 0 else (1, edge[tuple(r[1:3])], edge[tuple(r[3:])])
        for r in listed.tolist()
    ]
    assert len(keys) > 1000 and all(a < b for a, b in zip(keys, keys[1:], strict=False))
    assert all(i < j for kind, i, j in keys if kind == 1)


def test_a_refitted_and_a_fresh_tree_give_the_same_list():
    scene = crumpled(1)
    rng = np.random.default_rng(5)
    walked = Candidates(scene.collision, scene.embedding, slack=1e-3)
    x, dx = scene.vectors(scene.x), scene.vectors(0 * scene.x)
    position = scene.x.copy()
    for _ in range(6):
        x.assign(position)
        assert walked.update(x, dx)
        position = position + solid_motion(scene, rng, 0.01)
    fresh = Candidates(scene.collision, scene.embedding, slack=1e-3)
    fresh.update(x, dx)
    assert walked.num_candidates > 500 and walked._refits == 5
    for a, b in zip(everything(walked), everything(fresh), strict=True):
        assert np.array_equal(a, b)


def test_the_active_pairs_of_a_kept_list_are_those_of_a_fresh_one():
    scene = crumpled(2)
    rng = np.random.default_rng(6)
    kept = Candidates(scene.collision, scene.embedding, slack=6e-3)
    x, dx = scene.vectors(scene.x), scene.vectors(0 * scene.x)
    kept.update(x, dx)
    position = scene.x + np.clip(solid_motion(scene, rng, 1e-3), -2e-3, 2e-3)
    x.assign(position)
    assert not kept.update(x, dx)
    fresh = Candidates(scene.collision, scene.embedding, slack=1e-4)
    fresh.update(x, dx)
    assert fresh.num_candidates < kept.num_candidates
    active = []
    for candidates in (kept, fresh):
        listed = rows(candidates)
        near = distances(position, listed) < candidates.dhat.numpy()[: len(listed)]
        active.append((listed[near], candidates.stiffness.numpy()[: len(listed)][near]))
    assert len(active[0][0]) > 100
    assert np.array_equal(active[0][0], active[1][0]) and np.array_equal(active[0][1], active[1][1])


def test_worlds_in_one_batch_equal_worlds_alone():
    """Bit for bit and through a whole history: a world that is rebuilt does not touch the list of one that is not."""
    worlds = 3
    batch = crumpled(3, num_worlds=worlds)
    alone = [crumpled(3) for _ in range(worlds)]
    together = Candidates(batch.collision, batch.embedding, slack=2e-3)
    solo = [Candidates(s.collision, s.embedding, slack=2e-3) for s in alone]
    x, dx = batch.vectors(batch.x), batch.vectors(0 * batch.x)
    xs, dxs = [s.vectors(s.x) for s in alone], [s.vectors(0 * s.x) for s in alone]
    position = [s.x.copy() for s in alone]
    rng = np.random.default_rng(8)
    histories = []
    for _ in range(6):
        steps = [solid_motion(s, rng, 1e-4 * 6**w) for w, s in enumerate(alone)]
        position = [p + d for p, d in zip(position, steps, strict=True)]
        x.assign(np.concatenate(position))
        dx.assign(np.concatenate(steps))
        together.update(x, dx)
        found = everything(together)
        history = []
        for w in range(worlds):
            xs[w].assign(position[w])
            dxs[w].assign(steps[w])
            history.append(solo[w].update(xs[w], dxs[w]))
            mine = found[-1] == w
            expected = everything(solo[w])
            shift = w * batch.points_per_world
            assert np.array_equal(found[0][mine] - [0, shift, shift, shift, shift], expected[0])
            for a, b in zip(found[1:-1], expected[1:-1], strict=True):
                assert np.array_equal(a[mine], b)
        histories.append(history)
    assert any(len(set(h)) > 1 for h in histories), "the worlds should not all rebuild at the same moments"


def test_growth_loses_nothing_and_changes_the_version():
    scene = crumpled(4)
    x, dx = scene.vectors(scene.x), scene.vectors(0 * scene.x)
    small = Candidates(scene.collision, scene.embedding, capacity=16)
    version = small.version
    small.update(x, dx)
    large = Candidates(scene.collision, scene.embedding, capacity=100000)
    large.update(x, dx)
    assert large.version == 1 and small.version > version
    assert small.capacity >= small.num_candidates == large.num_candidates > 1000
    for a, b in zip(everything(small), everything(large), strict=True):
        assert np.array_equal(a, b)
    grown = small.version
    small.invalidate()
    small.update(x, dx)
    assert small.version == grown, "the buffer must not shrink or grow again"


def test_rows_that_come_to_ride_on_a_body_lose_their_pairs():
    scene = crumpled(5)
    x, dx = scene.vectors(scene.x), scene.vectors(0 * scene.x)
    candidates = Candidates(scene.collision, scene.embedding)
    candidates.update(x, dx)
    points, before, version = candidates.points, candidates.num_candidates, candidates.version
    assert not candidates.refresh_topology()  # nothing has changed
    sheet, body = scene.surface == 0, scene.surface == 1
    count, node = scene.count.copy(), scene.node.copy()
    count[sheet], node[sheet] = 4, node[body][0]
    scene.embedding.point_count.assign(count)
    scene.embedding.point_node.assign(node)
    assert candidates.refresh_topology()
    assert candidates.update(x, dx)
    surfaces = scene.surface[rows(candidates)[:, 1:]]
    assert candidates.points is points and candidates.version == version
    assert 0 < candidates.num_candidates < before and np.all(np.any(surfaces == 2, axis=1))
    scene.embedding.point_count.assign(scene.count)
    scene.embedding.point_node.assign(scene.node)
    assert candidates.refresh_topology()
    candidates.update(x, dx)
    assert candidates.num_candidates == before


@pytest.mark.parametrize("edge_on", [False, True])
@pytest.mark.parametrize("velocity", [(0, 0, -10.0), (10.0, 0, 0), (6.0, 5.0, -6.0)])
def test_a_fast_sheet_lists_no_more_than_one_at_rest(edge_on, velocity):
    """Trap 7: 10 m/s at dt 1/30 s is thirteen cells a step."""
    sheet, triangles = grid(40, 40, 1.0)
    if edge_on:
        sheet = sheet[:, [0, 2, 1]]
    scene = Scene([Surface(sheet, triangles)])
    still, fast = (Candidates(scene.collision, scene.embedding) for _ in range(2))
    x = scene.vectors(scene.x)
    still.update(x, scene.vectors(0 * scene.x))
    fast.update(x, scene.vectors(0 * scene.x + np.array(velocity) / 30))
    assert still.num_candidates < 3 * len(scene.edges)
    assert fast.num_candidates <= 1.01 * still.num_candidates


def test_no_elements_no_pairs():
    flat, triangles = grid(3, 3, 0.1)
    scene = Scene([Surface(flat, triangles, rides="static")])
    candidates = Candidates(scene.collision, scene.embedding)
    x = scene.vectors(scene.x)
    assert candidates.update(x, x)
    assert candidates.num_candidates == 0 and not candidates.update(x, x)
    scene.collision.triangles = wp.zeros(0, dtype=wp.vec3i)
    scene.collision.edges = wp.zeros(0, dtype=wp.vec2i)
    scene.collision.edge_area = scene.collision.edge_rest_length = wp.zeros(0, dtype=wp.float64)
    bare = Candidates(scene.collision, scene.embedding)
    assert bare.update(x, x) and bare.num_candidates == 0


def test_wrong_arrays_are_named():
    scene = crumpled(6)
    candidates = Candidates(scene.collision, scene.embedding)
    x = scene.vectors(scene.x)
    with pytest.raises(ValueError, match=r"Candidates.update: dx is vec3d \(3,\); it must be vec3d \(\d+,\)"):
        candidates.update(x, wp.zeros(3, dtype=wp.vec3d))
    with pytest.raises(ValueError, match=r"slack is -1.0 \(Options.candidate_slack\); it must be at least 0"):
        Candidates(scene.collision, scene.embedding, slack=-1.0)


@wp.kernel(enable_backward=False, module="unique")
def round_kernel(v: wp.array(dtype=wp.float64), low: wp.array(dtype=wp.float32), high: wp.array(dtype=wp.float32)):
    i = wp.tid()
    low[i] = bvh_boxes.round_down(v[i])
    high[i] = bvh_boxes.round_up(v[i])


def test_rounding_is_outward_at_every_scale():
    rng = np.random.default_rng(9)
    values = np.concatenate([[0.0, 1e-44, -1e-44], rng.normal(size=4000) * 10.0 ** rng.uniform(-30, 30, 4000)])
    low, high = (wp.zeros(len(values), dtype=wp.float32) for _ in "ab")
    wp.launch(round_kernel, dim=len(values), inputs=[wp.array(values, dtype=wp.float64), low, high])
    low, high = low.numpy().astype(np.float64), high.numpy().astype(np.float64)
    assert np.all(low <= values) and np.all(high >= values)
    assert np.all(high - low <= 1e-6 * np.abs(values) + 1e-36)
