"""Energy without a drive, at default tolerances: friction, impact and loose Newton may take energy, never give it."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine import ContactMaterial, Engine, ModelBuilder, Options, SolidMaterial
from engine.contact import narrow
from engine.mesh import shapes
from tests.engine.models import SOFT_SHEET, add_ground, rotation_about

SHARE = 0.01  # of the energy that the fall sets free


def stored_energy(engine: Engine) -> float:
    """Kinetic, gravitational, elastic and barrier energy [J] of nodes that are no body's; friction stores none."""
    m, x, v = engine.model, engine.state.x.numpy(), engine.state.v.numpy()
    mass = m.node_mass.numpy()
    energy = 0.5 * (mass * (v**2).sum(axis=1)).sum() + 9.81 * (mass * x[:, 2]).sum()
    s = engine.newton.system
    s.map.launch_positions(engine.state.x, s.points)
    total = wp.zeros(m.num_worlds, dtype=wp.float64, device=m.device)
    for term in s.energies:
        term.launch_value(s.inputs, total)
    c = narrow.candidate_arrays(s.candidates)
    everything = wp.array(np.arange(len(s.candidates.kind)), dtype=int, device=m.device)
    wp.launch(narrow.value_kernel, s.stride, [c, s.points, everything, c.count, s.stride], [total], device=m.device)
    return energy + float(total.numpy().sum())


def thrown_gel() -> ModelBuilder:
    """A gel block thrown aslant: it lands on a corner, tips, slides and comes to rest."""
    contact = ContactMaterial(dhat=5e-4, friction_mu=0.5)
    builder = ModelBuilder()
    add_ground(builder, dhat=5e-4, friction_mu=0.5)
    vertices, tets = shapes.box_tets(3, 3, 2, (0.03, 0.03, 0.02))
    start = vertices @ rotation_about((1, 2, 0), 0.3).T + (0, 0, 0.03)
    velocity = np.tile([0.3, 0.0, 0.0], (len(start), 1))
    builder.add_solid("gel", start, tets, SolidMaterial(), contact, velocity=velocity)
    return builder


def cloth_on_sphere() -> ModelBuilder:
    """It lands off centre, drapes with friction and begins to slide."""
    contact = ContactMaterial(friction_mu=0.3)
    builder = ModelBuilder()
    builder.add_static("ball", *shapes.icosphere(0.04, 2), contact)
    vertices, triangles = shapes.grid_mesh(0.16, 0.16, 10, 10)
    start = vertices @ rotation_about((0, 0, 1), 0.3).T + (0.003, 0.002, 0.06)
    builder.add_shell("cloth", start, triangles, SOFT_SHEET, contact)
    return builder


@pytest.mark.parametrize("dt", [1 / 30, 0.01])
@pytest.mark.parametrize("scene", [thrown_gel, cloth_on_sphere])
def test_energy_does_not_rise_without_a_drive(scene, dt):
    """At default tolerances, friction on: never above an earlier value by more than 1 % of what the fall sets free."""
    engine = Engine(scene().finalize(), Options(dt=dt))
    energy, contacts = [stored_energy(engine)], [0]
    for _ in range(round(0.8 / dt)):
        contacts.append(engine.step().contacts)
        energy.append(stored_energy(engine))
    energy, touched = np.array(energy), np.cumsum(contacts) > 0
    released = energy[0] - energy.min()
    rise = (energy - np.minimum.accumulate(energy)).max() / released
    print(f"energy, {scene.__name__}, dt {dt:.4f}: largest rise {rise:.1e} of the {released:.2e} J set free")
    assert rise < SHARE
    assert released > 0.3 * energy[0] and max(contacts) > 10  # it did fall, and land
    # backward Euler loses m (g dt)^2 / 2 a step in free flight, and nothing else: the bookkeeping is right
    flight = np.flatnonzero(~touched)
    assert len(flight) > 1
    loss = 0.5 * engine.model.node_mass.numpy().sum() * (9.81 * dt) ** 2
    assert -np.diff(energy[flight]) == pytest.approx(loss, rel=1e-3)
