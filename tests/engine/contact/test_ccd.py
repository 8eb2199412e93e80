"""Additive CCD: the gap never falls below its share, by dense sampling, and the step is not needlessly short."""

import ipctk
import numpy as np
import pytest
import warp as wp

from engine.contact.ccd import additive_ccd
from engine.distance.edge_edge import edge_edge_weights
from engine.distance.point_triangle import point_triangle_weights
from engine.distance.stencil import weighted_difference
from tests.engine.distance import pairs
from tests.engine.distance.pairs import EDGE_EDGE, POINT_TRIANGLE, unit
from tests.engine.warp_eval import evaluate

wp.set_module_options({"enable_backward": False})

CONSERVATIVE = 0.9
KINDS = pytest.mark.parametrize("kind", [POINT_TRIANGLE, EDGE_EDGE], ids=["point-triangle", "edge-edge"])


@wp.kernel
def ccd_kernel(
    kind: int,
    x: wp.array2d(dtype=wp.vec3d),
    d: wp.array2d(dtype=wp.vec3d),
    min_separation: wp.float64,
    conservative: wp.float64,
    out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    out[i] = additive_ccd(
        kind, x[i, 0], x[i, 1], x[i, 2], x[i, 3], d[i, 0], d[i, 1], d[i, 2], d[i, 3], min_separation, conservative
    )


@wp.kernel
def distance_kernel(kind: int, x: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    w = point_triangle_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    if kind == 1:
        w = edge_edge_weights(x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    out[i] = wp.length(weighted_difference(w, x[i, 0], x[i, 1], x[i, 2], x[i, 3]))


def ccd(kind, x, d, min_separation=0.0, conservative=CONSERVATIVE):
    x, d = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(d, dtype=float))
    return evaluate(
        ccd_kernel, wp.float64, kind, x.reshape(-1, 4, 3), d.reshape(-1, 4, 3), min_separation, conservative
    )


def distances(kind, x):
    return evaluate(distance_kernel, wp.float64, kind, x)


def smallest_gap_share(kind, x, d, toi, min_separation, samples=60):
    """Smallest gap on [0, toi] over the gap at 0, sampled evenly and, near toi, densely."""
    start = distances(kind, x) - min_separation
    assert (start > 0.0).all()
    times = np.concatenate([np.linspace(0.0, 1.0, samples), 1.0 - np.geomspace(1e-6, 0.3, 12)])
    gaps = [distances(kind, x + (t * toi)[:, None, None] * d) - min_separation for t in times]
    return np.min(gaps, axis=0) / start


def facing(rng, kind, count, distance):
    """Features of unit size whose insides face each other at `distance` [m]."""
    x = rng.normal(size=(count, 4, 3))
    if kind == POINT_TRIANGLE:
        normal = unit(np.cross(x[:, 2] - x[:, 1], x[:, 3] - x[:, 1]))
        x[:, 0] = x[:, 1:].mean(axis=1) + normal * distance
        return x
    normal = unit(np.cross(x[:, 1] - x[:, 0], x[:, 3] - x[:, 2]))
    x[:, :2] += (x[:, 2:].mean(axis=1) - x[:, :2].mean(axis=1) + normal * distance)[:, None]
    return x


def beside(rng, kind, count, distance):
    """Features that face each other with an end: a point beyond a corner, the end of an edge above the other edge."""
    if kind == POINT_TRIANGLE:
        t = rng.normal(size=(count, 3, 3))
        normal = unit(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]))
        bisector = -unit(unit(t[:, 1] - t[:, 0]) + unit(t[:, 2] - t[:, 0]))
        p = t[:, 0] + unit(bisector + rng.uniform(-1.0, 1.0, size=(count, 1)) * normal) * distance
        return np.concatenate([p[:, None], t], axis=1)
    x = rng.normal(size=(count, 4, 3))
    u = unit(x[:, 1] - x[:, 0])
    across = unit(np.cross(u, rng.normal(size=(count, 3))))
    x[:, 2] = 0.6 * x[:, 0] + 0.4 * x[:, 1] + across * distance
    x[:, 3] = x[:, 2] + across * rng.uniform(0.1, 1.0, size=(count, 1)) + u * rng.normal(size=(count, 1))
    return x


def parallel(rng, kind, count, distance):
    """Parallel edges that overlap; triangles edge-on to a point of their own plane."""
    if kind == EDGE_EDGE:
        return pairs.parallel_edges(rng, count, 0.0, distance, shift=rng.uniform(-0.2, 0.9, size=(count, 1)))
    t = rng.normal(size=(count, 3, 3))
    edge = t[:, 1] - t[:, 0]
    outward = unit((t[:, 0] - t[:, 2]) - unit(edge) * np.sum((t[:, 0] - t[:, 2]) * unit(edge), axis=1, keepdims=True))
    return np.concatenate([(t[:, 0] + 0.4 * edge + outward * distance)[:, None], t], axis=1)


def motions(rng, x):
    """Free corners; one feature thrown at the other; the pair spinning as one; free corners plus a common shift."""
    count = len(x)
    free = rng.normal(size=(count, 4, 3))
    thrown = np.zeros((count, 4, 3))
    thrown[:, 0] = x[:, 1:].mean(axis=1) - x[:, 0] + 0.3 * rng.normal(size=(count, 3))
    thrown[:, 1] = thrown[:, 0]
    spin = np.cross(rng.normal(size=(count, 1, 3)), x - x.mean(axis=1, keepdims=True))
    return {"free": free, "thrown": thrown, "spin": spin, "shifted": free + 5.0 * rng.normal(size=(count, 1, 3))}


@KINDS
@pytest.mark.parametrize("place", [facing, beside, parallel])
@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("min_separation", [0.0, 1e-2])
def test_gap_keeps_its_share(kind, place, gap, min_separation):
    rng = np.random.default_rng(3)
    x = place(rng, kind, 300, gap + min_separation)
    x = x[distances(kind, x) - min_separation > 0.5 * gap]
    assert len(x) > 200
    rounding = 1e-14 / gap  # of coordinates and distances of unit size, over the gap
    for name, motion in motions(rng, x).items():
        for speed in (1e-2, 1.0, 10.0):
            toi = ccd(kind, x, speed * motion, min_separation)
            assert (toi > 0.0).all() and (toi <= 1.0).all(), name
            share = smallest_gap_share(kind, x, speed * motion, toi, min_separation)
            assert share.min() >= (1.0 - CONSERVATIVE) * (1.0 - 1e-9) - rounding, (name, speed)


@KINDS
@pytest.mark.parametrize("conservative", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-6, 1e-9])
def test_stops_close_to_the_share(kind, conservative, gap):
    """Not needlessly short: a pair that is held back has used at least nine tenths of what it may use."""
    rng = np.random.default_rng(4)
    x = facing(rng, kind, 2_000, gap)
    d = rng.normal(size=x.shape)
    toi = ccd(kind, x, d, 0.0, conservative)
    held = toi < 1.0
    assert held.mean() > 0.3
    reached = distances(kind, x + toi[:, None, None] * d)[held] / distances(kind, x)[held]
    assert reached.min() >= (1.0 - conservative) * (1.0 - 1e-9) - 1e-14 / gap
    used_up = reached <= (1.0 - conservative) + 0.1 * conservative + 1e-9
    assert used_up.mean() > 0.99


@KINDS
@pytest.mark.parametrize("min_separation", [0.0, 1e-3])
def test_head_on_approach_is_exact(kind, min_separation):
    """Along the normal one advance reaches the floor: toi = conservative * gap / approach."""
    x = {
        POINT_TRIANGLE: [[0.2, 0.2, 0.5], [0, 0, 0], [1, 0, 0], [0, 1, 0]],
        EDGE_EDGE: [[-1, 0, 0.5], [1, 0, 0.5], [0, -1, 0], [0, 1, 0]],
    }[kind]
    d = np.zeros((4, 3))
    d[0, 2] = -3.0
    if kind == EDGE_EDGE:
        d[1, 2] = -3.0
    expected = CONSERVATIVE * (0.5 - min_separation) / 3.0
    np.testing.assert_allclose(ccd(kind, x, d, min_separation), expected, rtol=1e-12)


@KINDS
@pytest.mark.parametrize("place", [facing, beside, parallel])
@pytest.mark.parametrize("gap", [1e-1, 1e-6])
def test_what_does_not_approach_is_free(kind, place, gap):
    """At rest, moving as one, and moving apart: exactly 1, at any distance and speed."""
    rng = np.random.default_rng(5)
    x = place(rng, kind, 500, gap)
    assert (ccd(kind, x, np.zeros_like(x)) == 1.0).all()
    assert (ccd(kind, x, np.tile([300.0, -400.0, 70.0], (4, 1))) == 1.0).all()
    w = {POINT_TRIANGLE: [1.0, 0.0, 0.0, 0.0], EDGE_EDGE: [1.0, 1.0, 0.0, 0.0]}[kind]
    middle = x[:, 1:].mean(axis=1) if kind == POINT_TRIANGLE else x[:, 2:].mean(axis=1)
    if place is facing:
        first = x[:, 0] if kind == POINT_TRIANGLE else x[:, :2].mean(axis=1)
        apart = np.array(w)[None, :, None] * unit(first - middle)[:, None, :]
        for speed in (1e-3, 1.0, 1e3):
            assert (ccd(kind, x, speed * apart) == 1.0).all()


def test_sliding_along_a_face_is_free():
    """A large tangential motion at a small gap must not clamp everybody's step: it never comes nearer."""
    x = np.array([[0.3, 0.3, 1e-6], [0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=float)
    d = np.zeros((4, 3))
    d[0] = [2.0, -5.0, 0.0]
    assert ccd(POINT_TRIANGLE, x, d)[0] == 1.0
    x = np.array([[-1, 0, 1e-6], [1, 0, 1e-6], [0, -1, 0], [0, 1, 0]], dtype=float)
    d = np.zeros((4, 3))
    d[:2] = [0.7, 9.0, 0.0]
    assert ccd(EDGE_EDGE, x, d)[0] == 1.0


@KINDS
def test_common_motion_changes_nothing(kind):
    rng = np.random.default_rng(6)
    x = facing(rng, kind, 1_000, 1e-2)
    d = rng.normal(size=x.shape)
    toi = ccd(kind, x, d)
    np.testing.assert_allclose(ccd(kind, x, d + [30.0, -40.0, 7.0]), toi, rtol=1e-9)
    np.testing.assert_allclose(ccd(kind, x + [8.0, 3.0, -9.0], d), toi, rtol=1e-9)
    np.testing.assert_allclose(ccd(kind, 1e-3 * x, 1e-3 * d), toi, rtol=1e-9)


@KINDS
def test_agrees_with_ipctk(kind):
    """Against a tight-inclusion oracle: no impact is missed, and the step comes near it when the gap is small."""
    rng = np.random.default_rng(7)
    x = facing(rng, kind, 300, 1e-3)
    d = rng.normal(size=x.shape)
    toi = ccd(kind, x, d)
    oracle = ipctk.TightInclusionCCD()
    run = oracle.point_triangle_ccd if kind == POINT_TRIANGLE else oracle.edge_edge_ccd
    impact = np.array([t if hit else np.inf for hit, t in (run(*a, *(a + b)) for a, b in zip(x, d, strict=True))])
    hits = np.isfinite(impact)
    assert 0.3 < hits.mean() < 0.9
    assert (toi[hits] < 1.0).all()
    assert np.median(toi[hits] / impact[hits]) > 0.9


def test_parallel_edges_with_thickness_stay_apart():
    """Trap: the plane through parallel edges is rounding noise and must not vouch for a distance."""
    rng = np.random.default_rng(8)
    for gap in (1e-2, 1e-4, 1e-7):
        x = parallel(rng, EDGE_EDGE, 5_000, 1e-2 + gap)
        d = np.zeros_like(x)
        d[:, :2] = rng.normal(size=(len(x), 1, 3))
        toi = ccd(EDGE_EDGE, x, d, 1e-2)
        assert smallest_gap_share(EDGE_EDGE, x, d, toi, 1e-2).min() >= 0.1 - 1e-14 / gap


@pytest.mark.parametrize("thickness", [7.9e-5, 1e-3])
def test_fast_drop_does_not_tunnel(thickness):
    """Trap: 10 m/s at dt = 1/30 s onto a thin layer, a thousand times its thickness in one step."""
    rng = np.random.default_rng(9)
    for kind in (POINT_TRIANGLE, EDGE_EDGE):
        x = 5e-3 * facing(rng, kind, 500, 1.0)
        d = np.zeros_like(x)
        moving = slice(0, 1) if kind == POINT_TRIANGLE else slice(0, 2)
        still = x[:, 1:].mean(axis=1) if kind == POINT_TRIANGLE else x[:, 2:].mean(axis=1)
        d[:, moving] = (unit(still - x[:, moving].mean(axis=1)) * 10.0 / 30.0)[:, None]
        toi = ccd(kind, x, d, thickness)
        assert (toi < 1.0).all()
        assert smallest_gap_share(kind, x, d, toi, thickness).min() >= 0.1 - 1e-9
        np.testing.assert_allclose(toi, CONSERVATIVE * (5e-3 - thickness) * 30.0 / 10.0, rtol=0.2)


@KINDS
@pytest.mark.parametrize("gap", [1e-5, 1e-9 * 7.9e-5])
def test_tiny_gap_over_thickness_ends(kind, gap):
    """Trap: gaps of 1e-5 m and of 1e-9 of the thickness beyond the thickness: ends, moves, stays apart."""
    thickness = 7.9e-5
    rng = np.random.default_rng(10)
    x = 5e-3 * facing(rng, kind, 500, (thickness + gap) / 5e-3)
    x = x[distances(kind, x) - thickness > 0.5 * gap]
    assert len(x) > 400
    assert (ccd(kind, x, np.zeros_like(x), thickness) == 1.0).all()
    for speed in (1e-12, 1e-6, 1e-2):
        d = speed * rng.normal(size=x.shape)
        toi = ccd(kind, x, d, thickness)
        assert (toi > 0.0).all()
        # coordinates of 5e-3 m leave rounding of about 1e-18 m, next to a gap of 8e-14 m
        assert smallest_gap_share(kind, x, d, toi, thickness).min() >= 0.1 - 1e-3
        if speed < gap:
            assert (toi == 1.0).mean() > 0.9


@KINDS
def test_pair_that_is_too_near_may_only_part(kind):
    """Rounding can leave a pair at its separation: it must neither freeze a motion that opens it nor close further."""
    x = facing(np.random.default_rng(11), kind, 100, 1e-3)
    first = 1 if kind == POINT_TRIANGLE else 2
    normal = unit(x[:, :first].mean(axis=1) - x[:, first:].mean(axis=1))
    d = np.zeros_like(x)
    d[:, :first] = normal[:, None]
    for min_separation in (1.5e-3, 0.2):
        assert (ccd(kind, x, d, min_separation) == 1.0).all()
        assert (ccd(kind, x, -d, min_separation) == 0.0).all()


def test_edges_too_near_part_at_both_ends_or_not_at_all():
    """The ends of the first edge move differently: apart at 1 and 3, and once apart at one end only."""
    x = np.array([[-1, 0, 1e-3], [1, 0, 1e-3], [0, -1, 0], [0, 1, 0]], dtype=float)
    for ends, expected in (((1.0, 3.0), 1.0), ((3.0, 1.0), 1.0), ((1.0, -1.0), 0.0), ((-1.0, 1.0), 0.0)):
        d = np.zeros((4, 3))
        d[:2, 2] = ends
        assert ccd(EDGE_EDGE, x, d, 2e-3)[0] == expected


@KINDS
def test_motion_that_is_not_finite_is_refused(kind):
    x = facing(np.random.default_rng(12), kind, 3, 0.1)
    d = np.zeros_like(x)
    d[0, 1, 2], d[1, 3, 0], d[2, 0, 0] = np.nan, np.inf, np.nan
    assert (ccd(kind, x, d) == 0.0).all()


def test_touching_pair_does_not_move_on():
    x = np.array([[0.2, 0.2, 0.0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=float)
    d = np.zeros((4, 3))
    d[0, 2] = -1.0
    assert ccd(POINT_TRIANGLE, x, d)[0] == 0.0
