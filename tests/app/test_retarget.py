"""Retargeting of a human hand to robot hands: pinches stay pinches, fingers answer fingers, joints stay in limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.retarget import Retargeter, _bounded_step, fit_hand
from devices import hand_geometry as hg
from engine.robots.kinematics import Kinematics
from scenes.urdf import read_urdf
from tests.devices import hand_model
from tests.devices.test_hands import openxr_stream
from tests.shared_data import shared_path

ROOT = Path(__file__).resolve().parents[2]
TIP = np.array([0.0, 0.0, 0.02])
ALLEGRO = {"thumb": "link_15.0_tip", "index": "link_3.0_tip", "middle": "link_7.0_tip", "ring": "link_11.0_tip"}


@pytest.fixture(scope="module")
def five() -> Kinematics:
    """The hand that ships: five fingers, eleven coordinates."""
    return Kinematics(read_urdf(ROOT / "assets" / "robots" / "hand.urdf").robot)


@pytest.fixture(scope="module")
def allegro() -> Kinematics:
    path = shared_path("data", "taccel", "allegro", "allegro_hand_description_right.urdf")
    if path is None:
        pytest.skip("the shared folder with the Allegro hand is not there (TACKTILE_SHARED)")
    return Kinematics(read_urdf(path).robot)


def map_of(robot: Kinematics, **more):
    if robot.size == 11:
        return fit_hand(robot, points={name: TIP for name in hg.FINGERS}, **more)
    return fit_hand(robot, ALLEGRO, **more)


def frames(name: str, side: str = "right"):
    source = hand_model.stream(90, rate=15.0, noise=5e-4, seed=4) if name == "model" else list(openxr_stream())[::2]
    for t, points in source:
        yield t, points if side == "right" else points * (-1.0, 1.0, 1.0)


@pytest.mark.parametrize("source", ["model", "openxr"])
@pytest.mark.parametrize("hand", ["five", "allegro"])
def test_thumb_and_index_keep_their_distance_over_a_stream(hand, source, request):
    robot = request.getfixturevalue(hand)
    retarget, worst, distances, joints = Retargeter(robot, map_of(robot)), 0.0, [], []
    for _, points in frames(source):
        out = retarget(points)
        distances.append(hg.pinch_distance(hg.landmarks_of(points)))
        worst = max(worst, abs(out.thumb_index - distances[-1]))
        joints.append(out.q)
        assert np.all(out.q >= robot.lower - 1e-12) and np.all(out.q <= robot.upper + 1e-12)
    assert min(distances) < 0.02 and max(distances) > 0.1, "the stream pinches and opens"
    assert worst < 0.005
    moved = np.ptp(joints, axis=0)
    assert np.sum(moved > 0.3) >= 4, "several fingers are driven"
    leaps = np.abs(np.diff(joints, axis=0)).max(axis=1) > 0.8
    assert leaps.sum() <= 2, "a thumb that went the wrong way may change over, else joints move as the hand does"


def test_the_hands_lie_over_each_other(allegro, five):
    """Allegro: palm to +x, fingers to +z, thumb to +y (its URDF). The hand that ships opposes its thumb, index at +y:
    laid over a right hand it is a reflection."""
    fit = map_of(allegro)
    np.testing.assert_allclose(fit.rotation @ [0, 0, 1], [1, 0, 0], atol=0.15)
    np.testing.assert_allclose(fit.rotation @ [0, 1, 0], [0, 0, 1], atol=0.15)
    np.testing.assert_allclose(fit.rotation @ [1, 0, 0], [0, 1, 0], atol=0.15)
    assert np.linalg.det(fit.rotation) == pytest.approx(1.0) and fit.misfit < 0.02
    assert np.linalg.det(map_of(five).rotation) == pytest.approx(-1.0)
    assert np.linalg.det(map_of(five, side="left").rotation) == pytest.approx(1.0)


def test_each_finger_answers_its_own(five):
    retarget = Retargeter(five, map_of(five))
    for _ in range(5):
        flat = retarget(hand_model.landmarks((0.1,) * 4)).q
    for k, name in enumerate(hg.FINGERS[1:]):
        bends = [0.1] * 4
        bends[k] = 1.0
        one = Retargeter(five, map_of(five), flat)
        for _ in range(5):
            q = one(hand_model.landmarks(bends)).q
        change = {other: q[five.index(f"{other}_flex")] - flat[five.index(f"{other}_flex")] for other in hg.FINGERS[1:]}
        assert max(change, key=change.get) == name and change[name] > 0.3


def test_moving_and_turning_the_whole_hand_changes_nothing(five):
    points, still = hand_model.landmarks((0.4, 0.5, 0.6, 0.5), 0.3), Retargeter(five, map_of(five))
    moved = Retargeter(five, map_of(five))
    for k in range(4):
        a = still(points).q
        b = moved(hand_model.placed(points, (0.1 * k, 0.2, 0.3), (0.3 * k, 0.5, 0.1))).q
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_left_hand_is_a_right_hand_in_the_mirror(five):
    right, left = Retargeter(five, map_of(five)), Retargeter(five, map_of(five, side="left"))
    for _, points in list(frames("model"))[:20]:
        np.testing.assert_allclose(right(points).q, left(hand_model.mirrored(points)).q, atol=1e-5)


def test_reach_bounds_every_joint(five):
    retarget = Retargeter(five, map_of(five), five.vector({}))
    before = retarget.q.copy()
    for _, points in list(frames("model"))[:30]:
        q = retarget(points, reach=np.full(five.size, 0.05)).q
        assert np.abs(q - before).max() <= 0.05 + 1e-12
        before = q


def test_the_residual_has_the_right_derivative(five):
    retarget = Retargeter(five, map_of(five))
    targets, distances = retarget._asked(hand_model.landmarks((0.4,) * 4, 0.5))
    q = 0.5 * (five.lower + five.upper) + 0.01
    _, matrix = retarget._residual(q, q, targets, distances)
    step = 1e-6
    for i in range(five.size):
        e = step * np.eye(five.size)[i]
        up, down = (retarget._residual(q + s * e, q, targets, distances)[0] for s in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * step), matrix[:, i], atol=1e-6)
    assert np.abs(matrix).max() > 0.05


def test_the_bounded_step_is_the_least_squares_solution_within_bounds():
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b, q = rng.normal(size=(12, 6)), rng.normal(size=12), np.zeros(6)
        low, high = -rng.uniform(0.0, 0.3, 6), rng.uniform(0.05, 0.3, 6)
        step = _bounded_step(a, b, q, low, high, 0.0)
        np.testing.assert_allclose(step, lsq_linear(a, -b, (low, high), method="bvls", tol=1e-14).x, atol=1e-9)
    step = _bounded_step(a, b, q, low, high, 0.5)
    damped = np.vstack([a, np.sqrt(0.5) * np.eye(6)])
    best = lsq_linear(damped, np.concatenate([-b, np.zeros(6)]), (low, high), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(step, best, atol=1e-9)


def test_what_is_refused(five, allegro):
    with pytest.raises(ValueError, match="thumb and index finger cannot be told by their names.*link_3.0_tip"):
        fit_hand(allegro)
    with pytest.raises(ValueError, match="has no link 'nail'"):
        fit_hand(five, {"thumb": "thumb_3", "index": "nail"})
    with pytest.raises(ValueError, match="tips name thumb; legal: thumb, index and any of middle, ring, little"):
        fit_hand(five, {"thumb": "thumb_3"})
    retarget = Retargeter(five, map_of(five))
    with pytest.raises(ValueError, match="not finite"):
        retarget(np.full((21, 3), np.nan))
    with pytest.raises(ValueError, match=r"legal: \(21, 3\)"):
        retarget(np.zeros((4, 3)))
