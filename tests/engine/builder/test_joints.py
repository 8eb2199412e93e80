"""Joints: free along what they leave free, stiff along the rest; coordinates, limits and drives on the right rows."""

import numpy as np
import pytest
import warp as wp

from engine import JointDrive, ModelBuilder
from engine.builder.joints import perpendicular_frame
from engine.energies.base import StepInputs
from engine.mesh import shapes
from tests.engine.builder.builder_scenes import gripper_scene, host_points, pose, turn

STIFFNESS = 1e6


@pytest.fixture(scope="module")
def gripper():
    return gripper_scene().finalize(num_worlds=2)


def _moved(model, bodies, rotation, shift, about, world=0):
    """Point positions after moving bodies rigidly: nodes turned about a world point, then shifted."""
    x, start = model.node_start.numpy().copy(), model.node_start
    for body in bodies:
        node = model.bodies[body].node + world * model.nodes_per_world
        x[node] = about + rotation @ (x[node] - about) + shift
        x[node + 1 : node + 4] = x[node + 1 : node + 4] @ rotation.T
    try:
        model.node_start = wp.array(x, dtype=wp.vec3d)
        return host_points(model)
    finally:
        model.node_start = start


def _tie_energy(model, points, world=0):
    """Energy of all ties [J]."""
    x = wp.array(points, dtype=wp.vec3d)
    inputs = StepInputs(x, x, wp.array([0.01], dtype=wp.float64))
    out = wp.zeros(model.num_worlds, dtype=wp.float64)
    for energy in model.energies:
        if type(energy).__name__ in ("PointTie", "Slide", "DirectionTie"):
            energy.launch_value(inputs, out)
    return out.numpy()[world]


def _coordinate(model, joint, points, world=0):
    info = model.joints[joint]
    energy = info.coordinate
    row = info.element + world * (energy.num_elements // model.num_worlds)
    return energy.coordinate_host(points)[row]


I3, ZERO, HINGE = np.eye(3), np.zeros(3), np.array([0.45, 0, 0])


def test_ties_are_at_rest_at_the_start(gripper):
    assert _tie_energy(gripper, host_points(gripper)) < 1e-15
    assert np.isclose(_coordinate(gripper, "slide_left", host_points(gripper)), 0.03)
    assert np.isclose(_coordinate(gripper, "hinge", host_points(gripper)), 0.0)


@pytest.mark.parametrize(
    "bodies,rotation,shift,about",
    [
        (["right"], I3, np.array([0.005, 0, 0]), ZERO),  # prismatic: along its axis
        (["door", "knob", "plate"], turn((0, 0, 1), 0.3), ZERO, HINGE),  # revolute: about its axis
        (["knob"], turn((1, 2, 3), 0.8), ZERO, np.array([0.5, -0.02, 0])),  # spherical: any turn about the anchor
        (["palm", "left", "right"], turn((1, 1, 0), 0.5), np.array([0.1, 0.2, 0.3]), ZERO),  # parent and children
    ],
)
def test_free_motion_costs_nothing(gripper, bodies, rotation, shift, about):
    assert _tie_energy(gripper, _moved(gripper, bodies, rotation, shift, about)) < 1e-12


@pytest.mark.parametrize("shift", [(0, 2e-3, 0), (0, 0, 2e-3)])
def test_prismatic_resists_across_its_axis(gripper, shift):
    points = _moved(gripper, ["right"], I3, np.array(shift), ZERO)
    assert np.isclose(_tie_energy(gripper, points), 0.5 * STIFFNESS * 4e-6)


@pytest.mark.parametrize("axis", np.eye(3))
def test_prismatic_resists_turns_about_every_axis(gripper, axis):
    points = _moved(gripper, ["right"], turn(axis, 0.01), ZERO, np.array([0.03, 0, 0.17]))
    lever = 0.5 * np.linalg.norm([0.01, 0.02, 0.06])
    energy = _tie_energy(gripper, points)
    assert 0.49 * STIFFNESS * (lever * 0.01) ** 2 < energy < 1.01 * STIFFNESS * (lever * 0.01) ** 2


def test_revolute_and_fixed_resist_the_rest(gripper):
    shifted = _moved(gripper, ["plate"], I3, np.array([0, 0, 1e-3]), ZERO)
    assert np.isclose(_tie_energy(gripper, shifted), 4 * 0.5 * STIFFNESS * 1e-6)
    turned = _moved(gripper, ["plate"], turn((1, 0, 0), 0.01), ZERO, np.array([0.5, 0.02, 0]))
    assert _tie_energy(gripper, turned) > 0.4 * STIFFNESS * (0.01 * 0.5 * np.linalg.norm([0.02, 0.02, 0.002])) ** 2
    tilted = _moved(gripper, ["door"], turn((1, 0, 0), 1e-3), ZERO, HINGE)
    lever = 0.5 * np.linalg.norm([0.1, 0.01, 0.1])
    assert _tie_energy(gripper, tilted) > 0.99 * STIFFNESS * (lever * 1e-3) ** 2


def test_coordinates_grow_along_and_about_the_axis(gripper):
    points = _moved(gripper, ["right"], I3, np.array([0.005, 0, 0]), ZERO)
    assert np.isclose(_coordinate(gripper, "slide_right", points), 0.035)
    points = _moved(gripper, ["left"], I3, np.array([0.005, 0, 0]), ZERO)  # its axis points to -x
    assert np.isclose(_coordinate(gripper, "slide_left", points), 0.025)
    points = _moved(gripper, ["door"], turn((0, 0, 1), 0.3), ZERO, HINGE)
    assert np.isclose(_coordinate(gripper, "hinge", points), 0.3)
    both = _moved(gripper, ["palm", "right"], turn((1, 1, 0), 0.5), np.array([0.1, 0.2, 0.3]), ZERO)
    assert np.isclose(_coordinate(gripper, "slide_right", both), 0.03)
    second = _moved(gripper, ["door"], turn((0, 0, 1), -0.2), ZERO, HINGE, world=1)
    assert np.isclose(_coordinate(gripper, "hinge", second, world=1), -0.2)
    assert np.isclose(_coordinate(gripper, "hinge", second, world=0), 0.0)


def test_drive_and_limits_reach_the_energy(gripper):
    info = gripper.joints["slide_right"]
    row, energy = info.element, info.coordinate
    assert (info.kind, info.parent, info.child, info.lower, info.upper) == ("prismatic", 0, 2, 0.0, 0.04)
    assert energy.stiffness.numpy()[row] == 2e3 and energy.damping.numpy()[row] == 5.0
    assert energy.force_limit.numpy()[row] == 30.0 and np.isclose(energy.target.numpy()[row], 0.03)
    other = gripper.joints["slide_left"]
    assert energy.stiffness.numpy()[other.element] == 0.0 and other.drive is None
    hinge = gripper.joints["hinge"]
    assert hinge.parent == -1 and (hinge.lower, hinge.upper) == (-1.0, None)
    assert hinge.coordinate.lower.numpy()[0] == -1.0 and np.isposinf(hinge.coordinate.upper.numpy()[0])
    assert np.isclose(hinge.coordinate.limit_stiffness.numpy()[0], STIFFNESS * 0.25 * (0.1**2 + 0.01**2 + 0.1**2))
    assert energy.limit_stiffness.numpy()[row] == STIFFNESS
    assert gripper.joints["ball"].coordinate is None and gripper.joints["ball"].element == -1


def test_joined_bodies_do_not_touch_but_fingers_do(gripper):
    table = gripper.collision.ignored.numpy()
    names = list(gripper.meshes)
    palm, left, right = (names.index(n) for n in ("palm", "left", "right"))
    assert table[palm, left] == table[left, palm] == 1 and table[left, right] == 0


def test_hidden_points_do_not_collide(gripper):
    points = slice(gripper.meshes["plate"].points.stop, gripper.points_per_world)
    assert points.stop > points.start
    assert (gripper.collision.point_surface.numpy()[points] == -1).all()


@pytest.mark.parametrize("axis", [*np.eye(3), -np.eye(3)[2], np.array([1, 2, 3]) / np.sqrt(14)])
def test_perpendicular_frame_is_right_handed(axis):
    n1, n2 = perpendicular_frame(axis)
    assert np.allclose(np.cross(n1, n2), axis) and np.isclose(n1 @ n2, 0.0, atol=1e-15)


@pytest.mark.parametrize(
    "arguments,text",
    [
        (dict(kind="ball"), "kind is 'ball'; legal values: fixed, revolute, prismatic, spherical"),
        (dict(kind="revolute"), "a revolute joint needs axis"),
        (dict(kind="fixed", drive=JointDrive(1.0)), "a fixed joint has no coordinate for limits, a drive, a spring"),
        (dict(kind="spherical", lower=0.0), "a spherical joint has no coordinate"),
        (dict(kind="prismatic", axis=(0, 0, 0)), "axis is .* not zero"),
        (dict(kind="prismatic", axis=(0, 0, 1), lower=0.1), "start position 0 is outside its limits 0.1..inf"),
        (dict(kind="fixed", parent="b"), "parent and child are both 'b'"),
        (dict(kind="fixed", parent="x"), "no body named 'x'; available: a, b"),
        (dict(kind="fixed", child="x"), "no body named 'x'; available: a, b"),
        (dict(kind="fixed", anchor=(0, 0)), "anchor is .* three finite numbers"),
        (dict(kind="fixed", stiffness=-1.0), "stiffness is -1.0; it must be greater than 0"),
        (dict(kind="fixed", name="first"), "joint 'first' exists already"),
    ],
)
def test_bad_joints_are_named(arguments, text):
    b = ModelBuilder()
    for i, name in enumerate("ab"):
        b.add_body(name, *shapes.box_surface(), mass=1.0, transform=pose(3.0 * i))
    b.add_static("floor", *shapes.box_surface(), transform=pose(z=-5.0))
    b.add_joint("first", "fixed", "floor", "a", (0, 0, 0))
    assert b.joints["first"].parent == -1
    values = {"name": "j", "parent": "a", "child": "b", "anchor": (0, 0, 0), **arguments}
    with pytest.raises(ValueError, match=text):
        b.add_joint(values.pop("name"), values.pop("kind"), **values)
