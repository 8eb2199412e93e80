"""Creases and friction of joints: torque against angle, what stays after a fold, holding and sliding, saving."""

import numpy as np
import pytest

from engine import Engine, JointDrive, JointFriction, JointSpring, ModelBuilder, Options
from engine.mesh import shapes

STIFFNESS, YIELD = 0.1, 0.02  # N m/rad, N m: elastic up to 0.2 rad
LENGTH, MASS = 0.1, 0.05
WEIGHT_TORQUE = MASS * 9.81 * 0.5 * LENGTH


def bar_engine(gravity=0.0, dt=0.01, **joint):
    """A bar along x, hinged to the world at its left end about -y: it falls towards larger angles."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -gravity))
    vertices, triangles = shapes.box_surface((LENGTH, 0.02, 0.01))
    transform = np.eye(4)
    transform[0, 3] = 0.5 * LENGTH
    builder.add_body("bar", vertices, triangles, density=MASS / (LENGTH * 0.02 * 0.01), transform=transform)
    fold = joint.pop("fold", None)
    builder.add_joint("hinge", "revolute", None, "bar", (0, 0, 0), (0, 1, 0), **joint)
    if fold is not None:
        builder.add_joint("fold", "revolute", None, "bar", (0, 0, 0), (0, 1, 0), drive=fold)
    return Engine(builder.finalize(), Options(dt=dt, newton_tolerance=1e-6))


def angle(engine) -> float:
    pose = engine.body_transform("bar")
    return float(np.arctan2(-pose[2, 0], pose[0, 0]))


def fold_to(engine, target: float, steps: int = 40) -> float:
    """Turn slowly; the torque that it takes at the end [N m]."""
    control, start = engine.control(), engine.control().joint_target[0, 0]
    for k in range(steps):
        control.joint_target[0, 0] = start + (target - start) * min(1.0, (k + 1) / (steps - 10))
        assert engine.step(control).converged
    return float(engine.signals().joint_force[0, 0])


def crease(**values):
    spring = JointSpring(STIFFNESS, yield_force=YIELD, **values)
    return bar_engine(spring=spring, fold=JointDrive(stiffness=50.0, damping=0.02))


def test_crease_is_elastic_then_gives_way_and_keeps_its_fold():
    engine = crease()
    assert fold_to(engine, 0.1) == pytest.approx(STIFFNESS * 0.1, rel=0.02)
    assert fold_to(engine, 0.0) == pytest.approx(0.0, abs=1e-4)  # nothing has stayed
    assert fold_to(engine, 1.0) == pytest.approx(YIELD, rel=0.02)
    assert fold_to(engine, 1.0 - YIELD / STIFFNESS) == pytest.approx(0.0, abs=2e-4)  # springs back to here
    assert fold_to(engine, 0.0) == pytest.approx(-YIELD, rel=0.02)  # and resists being unfolded


def test_rest_angle_of_a_crease():
    engine = crease(rest=0.1)
    assert fold_to(engine, 0.0) == pytest.approx(-STIFFNESS * 0.1, rel=0.02)


def test_spring_without_yield_stays_elastic():
    engine = bar_engine(spring=JointSpring(STIFFNESS), fold=JointDrive(stiffness=50.0, damping=0.02))
    assert fold_to(engine, 1.0) == pytest.approx(STIFFNESS, rel=0.02)
    assert fold_to(engine, 0.0) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("share, holds", [(1.1, True), (0.9, False)])
def test_friction_holds_below_its_limit_and_slides_above(share, holds):
    engine = bar_engine(gravity=9.81, friction=JointFriction(share * WEIGHT_TORQUE, slip=0.01))
    places = []
    for _ in range(40):
        engine.step()
        places.append(angle(engine))
    if holds:  # it gave by its slip, and a little more in the jolt of being let go
        assert places[-1] == pytest.approx(places[20], abs=1e-5) and places[-1] < 0.02
    else:
        assert places[-1] > 0.1


def test_sliding_friction_takes_its_torque_from_the_fall():
    """Early in the fall the bar accelerates by (weight - friction)/inertia."""
    engine = bar_engine(gravity=9.81, dt=1e-3, friction=JointFriction(0.5 * WEIGHT_TORQUE, slip=1e-4))
    inertia = MASS * ((LENGTH**2 + 0.01**2) / 12.0 + 0.25 * LENGTH**2)
    for _ in range(40):
        engine.step()
    expected = 0.5 * 0.5 * WEIGHT_TORQUE / inertia * (0.04**2 + 0.04e-3)  # backward Euler: t (t + dt)
    assert angle(engine) == pytest.approx(expected, rel=0.03)


def test_fold_survives_saving_and_leaves_at_a_reset(tmp_path):
    engine, other = crease(), crease()
    fold_to(engine, 1.0)
    engine.save(tmp_path / "folded.npz")
    after = fold_to(engine, 0.9), engine.get_state()
    other.load(tmp_path / "folded.npz")
    assert fold_to(other, 0.9) == after[0]
    for name, values in other.get_state().items():
        assert np.array_equal(values, after[1][name]), name
    other.reset()
    assert other.control().joint_target[0, 0] == 0.0
    assert fold_to(other, 0.1) == pytest.approx(STIFFNESS * 0.1, rel=0.02)


@pytest.mark.parametrize(
    "values, text",
    [
        (dict(kind="fixed", spring=JointSpring(1.0)), "a fixed joint has no coordinate for limits, a drive, a spring"),
        (dict(kind="revolute", spring=JointSpring(1.0), drive=JointDrive(1.0)), "has both a drive and a spring"),
    ],
)
def test_what_does_not_fit_is_refused(values, text):
    builder = ModelBuilder()
    builder.add_body("bar", *shapes.box_surface((0.1, 0.02, 0.01)), density=1000.0)
    with pytest.raises(ValueError, match=text):
        builder.add_joint("hinge", parent=None, child="bar", anchor=(0, 0, 0), axis=(0, 1, 0), **values)


def test_values_are_checked():
    with pytest.raises(ValueError, match="JointSpring.yield_force is 0; it must be greater than 0"):
        JointSpring(1.0, yield_force=0)
    with pytest.raises(ValueError, match="JointFriction.slip is -1; it must be greater than 0"):
        JointFriction(1.0, slip=-1)
