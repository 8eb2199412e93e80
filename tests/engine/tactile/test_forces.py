"""Forces that the gel feels: weights, sums, maps, friction."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Options
from engine.materials import FrontAdhesive, ShellMaterial
from engine.mesh import shapes
from engine.tactile.array import TactileArray
from scenes.motion import rigid_transform
from scenes.sensors import BoxGel, OrthographicCamera
from tests.engine.tactile.pad_scenes import Pad

GRAVITY = (0.0, 0.0, -9.81)
GEL = BoxGel(size=(0.012, 0.010, 0.003), cells=(6, 5, 2))
CONTACT = {"dhat": 1e-4, "kappa": 1e6, "friction_mu": 0.8}


def weighted(offset=(0.0, 0.0), mass=0.05, size=(0.006, 0.005, 0.004), gap=5e-5, tilt=None, turn=0.0, **keys):
    """A pad, coat up, pinned in the world; a block of known mass lies on it."""

    def add(builder):
        vertices, triangles = shapes.box_surface(size)
        pose = np.eye(4)
        pose[:3, 3] = (*offset, 0.0015 + 0.5 * size[2] + gap)
        inertia = mass / 12.0 * np.diag([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2,
                                         size[0] ** 2 + size[1] ** 2])  # fmt: skip
        builder.add_body("weight", vertices, triangles, ContactMaterial(**CONTACT), mass=mass, inertia=inertia,
                         transform=pose)  # fmt: skip

    keys.setdefault("camera", OrthographicCamera(pixel_pitch=1e-4, resolution=(120, 100)))
    options = Options(dt=0.02, newton_tolerance=1e-4, contact_tolerance=1e-4)
    pose = rigid_transform((0.0, 0.0, 0.0), (0.0, 0.0, turn))
    return Pad(pose=pose, body=None, gel=GEL, gravity=tilt or GRAVITY, add=add, options=options, **keys)


@pytest.fixture(scope="module")
def settled():
    pad = weighted(offset=(0.002, -0.001))
    tactile = TactileArray(pad.engine, [pad.spec])
    for _ in range(60):
        pad.engine.step()
    tactile.update()
    return pad, tactile


def test_a_known_weight_is_felt(settled):
    pad, tactile = settled
    wrench = tactile.numpy("wrench", "pad")
    weight = 0.05 * 9.81
    assert wrench[2] == pytest.approx(-weight, rel=0.01), "pushed into the gel: along -z of the sensor"
    assert np.abs(wrench[:2]).max() < 0.01 * weight
    x, y, _ = pad.engine.body_transform("weight")[:3, 3]  # its middle; it has tilted a little
    assert (x, y) == pytest.approx((0.002, -0.001), rel=0.1)
    assert wrench[3:5] == pytest.approx([-y * weight, x * weight], rel=0.01), "r x F about the sensor's origin"
    assert abs(wrench[5]) < 1e-2 * 0.002 * weight


def test_the_wrench_is_the_sum_of_the_engine_s_forces(settled):
    pad, tactile = settled
    signals, points = pad.engine.signals(), pad.engine.model.meshes["pad"].points
    total = (signals.contact_force + signals.friction_force)[0, points]
    arm = pad.engine.mesh_positions("pad") - tactile.world_from_sensor("pad")[:3, 3]
    turn = tactile.world_from_sensor("pad")[:3, :3]
    wrench = tactile.numpy("wrench", "pad")
    assert wrench[:3] == pytest.approx(total.sum(axis=0) @ turn, abs=1e-12)
    assert wrench[3:] == pytest.approx(np.cross(arm, total).sum(axis=0) @ turn, abs=1e-14)


def test_the_pressure_map_adds_up_and_lies_under_the_weight(settled):
    """Forces of the border's vertices are spread over the coat alone, so the sum holds while the weight is inside."""
    _, tactile = settled
    pressure, contact = tactile.numpy("pressure", "pad"), tactile.numpy("contact", "pad")
    assert pressure.sum() * 1e-8 == pytest.approx(0.05 * 9.81, rel=0.03)  # pixels of 0.1 mm
    rows, columns = np.mgrid[:100, :120]
    x, y = 1e-4 * (columns - 59.5), 1e-4 * (rows - 49.5)
    assert (x * pressure).sum() / pressure.sum() == pytest.approx(0.002, abs=2e-4)
    assert (y * pressure).sum() / pressure.sum() == pytest.approx(-0.001, abs=2e-4)
    assert pressure.min() > -50.0 and (contact == (pressure > 100.0)).all() and 0.1 < contact.mean() < 0.9


def test_shear_points_where_the_gel_is_dragged():
    """Gravity along a slope: friction on the gel carries the tangential part of the weight. The pad is turned, so its
    x is not the world's."""
    slope, turn = 0.3, 0.6
    tilted = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    pad = weighted(tilt=tilted, turn=turn)
    tactile = TactileArray(pad.engine, [pad.spec], ["forces"])
    for _ in range(60):
        pad.engine.step()
    tactile.update()
    wrench, shear = tactile.numpy("wrench", "pad"), tactile.numpy("shear", "pad")
    own = np.array([tilted[0] * np.cos(turn), -tilted[0] * np.sin(turn), tilted[2]])  # along the sensor's axes
    assert wrench[:3] == pytest.approx(0.05 * own, rel=0.02, abs=2e-3)
    assert shear.sum(axis=(0, 1)) * 1e-8 == pytest.approx(0.05 * own[:2], rel=0.05)


def test_forces_are_cleared_when_nothing_touches(settled):
    pad, tactile = settled
    start = pad.engine.get_state()
    lifted = {name: value.copy() for name, value in start.items()}
    node = pad.engine.model.bodies["weight"].node
    lifted["x"][node] += (0.0, 0.0, 0.05)
    pad.engine.set_state(lifted)
    tactile.update()
    for name in ("wrench", "pressure", "shear", "contact"):
        assert not tactile.numpy(name, "pad").any(), name
    pad.engine.set_state(start)
    pad.engine.step()
    tactile.update()
    assert tactile.numpy("wrench", "pad")[2] == pytest.approx(-0.05 * 9.81, rel=0.02)


def test_worlds_feel_their_own_weight(device):
    pad = weighted(worlds=2, device=device)
    state, model = pad.engine.get_state(), pad.engine.model
    state["x"][model.nodes_per_world + model.bodies["weight"].node] += (0.0, 0.0, 0.05)  # world 1: not yet landed
    pad.engine.set_state(state)
    tactile = TactileArray(pad.engine, [pad.spec], ["forces", "markers"])
    for _ in range(3):
        pad.engine.step()
        tactile.update()
    signals, points = pad.engine.signals(), model.meshes["pad"].points
    for world in range(2):
        total = (signals.contact_force + signals.friction_force)[world, points].sum(axis=0)
        assert tactile.numpy("wrench", "pad", world)[:3] == pytest.approx(total, abs=1e-10)
    assert tactile.numpy("wrench", "pad", 0)[2] < -0.1 and not tactile.numpy("wrench", "pad", 1).any()


def test_tape_that_hangs_on_the_coat_pulls_it_outwards():
    weight = 0.006 * 0.005 * 2e-4 * 5e3 * 9.81

    def add(builder):
        vertices, triangles = shapes.grid_mesh(0.006, 0.005, 6, 4)
        backing = ShellMaterial(young=1e8, poisson=0.3, thickness=2e-4, density=5e3)
        builder.add_shell("strip", vertices - [0.0, 0.0, 0.00162], triangles, backing, ContactMaterial(dhat=1e-4))
        builder.add_adhesion("strip", "positive", ["pad"], FrontAdhesive(work=50.0))

    upside_down = rigid_transform((0.0, 0.0, 0.0), (np.pi, 0.0, 0.0))
    options = Options(dt=0.01, newton_tolerance=1e-4)
    pad = Pad(pose=upside_down, body=None, gel=GEL, gravity=GRAVITY, add=add, options=options)
    tactile = TactileArray(pad.engine, [pad.spec], ["forces"])
    for _ in range(40):
        pad.engine.step()
    tactile.update()
    assert tactile.numpy("wrench", "pad")[2] == pytest.approx(weight, rel=0.05), "adhesion counts; out of the gel is +z"
    assert tactile.numpy("pressure", "pad").min() < 0.0 and not tactile.numpy("contact", "pad").any()
