"""Momentum, energy and periods: what the integrator must keep, and what it is known to lose."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh import shapes
from tests.engine.models import (
    SOFT_SHEET,
    angular_momentum,
    block,
    linear_momentum,
    rotation_about,
    sheet_on_ground,
    soft_pad,
    spin,
)


def free_model(kind: str, gravity=(0, 0, 0)):
    builder = ModelBuilder(gravity=gravity)
    if kind == "body":
        block(builder, size=(0.05, 0.03, 0.02))
    elif kind == "shell":
        v, t = shapes.grid_mesh(0.06, 0.04, 4, 3)
        builder.add_shell("sheet", v, t, SOFT_SHEET, ContactMaterial())
    else:
        soft_pad(builder, cells=(3, 3, 2))
    return builder.finalize()


@pytest.mark.parametrize("kind", ["body", "shell", "solid"])
def test_linear_momentum_of_free_flight(kind, device):
    engine = Engine(
        free_model(kind, gravity=(0, 0, -9.81)), Options(dt=0.01, newton_tolerance=1e-8, linear_tolerance=1e-8)
    )
    spin(engine, omega=(1.0, -2.0, 0.5), velocity=(0.3, 0.1, 2.0))
    mass = linear_momentum(engine)[2] / 2.0
    start = linear_momentum(engine)
    for k in range(1, 21):
        engine.step()
        expected = start + mass * np.array([0, 0, -9.81]) * 0.01 * k
        assert np.abs(linear_momentum(engine) - expected).max() < 1e-9 * np.abs(start).max()


def spin_loss(kind: str, integrator: str, dt: float = 0.01, steps: int = 50, omega: float = 2.0) -> float:
    """Share of the angular momentum lost over the steps."""
    engine = Engine(
        free_model(kind),
        Options(dt=dt, integrator=integrator, newton_tolerance=1e-7, linear_tolerance=1e-8),
    )
    spin(engine, omega=(0, 0, omega), about=engine.positions().mean(0))
    start = angular_momentum(engine)[2]
    for _ in range(steps):
        engine.step()
    return 1.0 - angular_momentum(engine)[2] / start


def test_backward_euler_loses_its_own_share_of_spin():
    """A rigid turn by theta is followed by the turn that fits 2 R_n - R_(n-1) best: tan theta' = sin theta / (2 - cos
    theta); the momentum is I sin(theta) / h. The first step starts from v = omega x r: tan theta = omega h."""
    dt, omega, steps = 0.01, 2.0, 50
    theta = np.arctan(omega * dt)
    for _ in range(steps - 1):
        theta = np.arctan2(np.sin(theta), 2.0 - np.cos(theta))
    expected = 1.0 - np.sin(theta) / (omega * dt)
    assert spin_loss("body", "backward_euler", dt, steps, omega) == pytest.approx(expected, rel=0.01)
    assert 0.01 < expected < 0.03  # the law is not vacuous


def test_bdf2_loses_ten_times_less_spin():
    for kind in ("body", "solid"):
        assert abs(spin_loss(kind, "bdf2")) < 0.1 * spin_loss(kind, "backward_euler")


def test_pendulum_period():
    """A rod on a revolute joint, small swing: T = 2 pi sqrt(I / (m g l)) about the pivot, within 2 % at dt 0.01."""
    builder = ModelBuilder()
    length, width = 0.2, 0.02
    angle = 0.15
    rotation = rotation_about((0, 1, 0), angle)
    centre = rotation @ np.array([0, 0, -length / 2])
    block(builder, "rod", size=(width, width, length), at=centre, rotation=rotation)
    builder.add_joint("pivot", "revolute", None, "rod", anchor=(0, 0, 0), axis=(0, 1, 0))
    engine = Engine(
        builder.finalize(), Options(dt=0.01, integrator="bdf2", newton_tolerance=1e-5, linear_tolerance=1e-6)
    )
    swing = []
    for _ in range(200):
        engine.step()
        swing.append(engine.body_transform("rod")[0, 3])
    swing = np.array(swing)
    crossings = [k + swing[k] / (swing[k] - swing[k + 1]) for k in range(len(swing) - 1) if swing[k] * swing[k + 1] < 0]
    period = 2 * 0.01 * np.mean(np.diff(crossings))
    inertia = (length**2 + width**2) / 12 + (length / 2) ** 2
    expected = 2 * np.pi * np.sqrt(inertia / (9.81 * length / 2)) * (1 + angle**2 / 16)
    assert period == pytest.approx(expected, rel=0.02)
    assert np.abs(engine.body_transform("rod") @ [0, 0, length / 2, 1])[:3].max() < 1e-4  # the pivot stays


def total_energy(engine: Engine) -> float:
    """Kinetic, gravitational, elastic and barrier energy [J]."""
    m, x, v = engine.model, engine.state.x.numpy(), engine.state.v.numpy()
    mass = m.node_mass.numpy()
    energy = 0.5 * (mass * (v**2).sum(1)).sum() + 9.81 * (mass * x[:, 2]).sum()
    system = engine.newton.system
    engine.newton.read_contact()
    system.bound_step()  # lists the near pairs
    system.evaluate_current()
    values = system.worlds.energy.numpy().sum()
    d = x - system.x_tilde.numpy()
    inertia = (mass * (d**2).sum(1)).sum() / (2 * engine.options.dt**2)
    return energy + values - inertia


def test_energy_does_not_rise_in_a_falling_sheet():
    """Backward Euler at a tight tolerance: no step adds energy (1e-6 relative); friction is off."""
    builder = ModelBuilder()
    vertices, triangles = shapes.grid_mesh(0.1, 0.1, 6, 6)
    builder.add_shell("sheet", vertices + (0, 0, 5e-3), triangles, SOFT_SHEET, ContactMaterial(friction_mu=0.0))
    ground = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) + (0.013, 0.007, 0)
    builder.add_static("ground", ground, np.array([[0, 1, 2], [0, 2, 3]]), ContactMaterial(friction_mu=0.0))
    engine = Engine(
        builder.finalize(), Options(dt=0.01, newton_tolerance=1e-7, contact_tolerance=1e-6, linear_tolerance=1e-8)
    )
    engine.step()
    previous = total_energy(engine)
    scale = abs(previous)
    for _ in range(30):
        engine.step()
        current = total_energy(engine)
        assert current <= previous + 1e-6 * scale
        previous = current


def test_sheet_comes_to_rest_and_its_contact_forces_carry_its_weight(device):
    engine = sheet_on_ground(device=device)
    for _ in range(60):
        report = engine.step()
    assert report.converged and report.contacts > 0
    points = engine.model.meshes["sheet"].points
    force = engine.signals().contact_force[0, points].sum(0)
    weight = engine.model.node_mass.numpy().sum() * 9.81
    assert force[2] == pytest.approx(weight, rel=0.01)
    assert np.abs(force[:2]).max() < 0.01 * weight
