"""Strips to be cut, and energies and tensions read from an engine."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.energies.base import StepInputs
from engine.mesh import shapes

TAPE = ShellMaterial(young=1e8, poisson=0.45, thickness=0.178e-3, density=1300.0)
CONTACT = ContactMaterial(dhat=0.18e-3, half_thickness=0.089e-3)
WIDTH = 0.019
ACROSS = ((0.0123, -0.02), (0.018, 0.02))


def add_strip(builder: ModelBuilder, length: float = 0.1, stretch: float = 1.002, height: float = 0.0, **kwargs):
    """A strip along x, pinned at both ends; returns its rest vertices."""
    vertices, triangles = shapes.strip_mesh(length, WIDTH, 6)
    placed = vertices * (stretch, 1.0, 1.0) + (0.0, 0.0, height)
    kwargs.setdefault("pinned", np.abs(vertices[:, 0]) > 0.5 * length - 1e-9)
    builder.add_shell("strip", placed, triangles, TAPE, CONTACT, rest_vertices=vertices, **kwargs)
    return vertices


def options(**changes) -> Options:
    return Options(**{"dt": 0.005, "newton_tolerance": 1e-4, "linear_tolerance": 1e-4, **changes})


def taut_strip(worlds: int = 1, steps: int = 3, **kwargs) -> Engine:
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    add_strip(builder, **kwargs)
    engine = Engine(builder.finalize(worlds), options())
    for _ in range(steps):
        engine.step()
    return engine


def elastic_energy(engine: Engine) -> float:
    """Of membranes and hinges [J]."""
    points = wp.array(engine.positions(), dtype=wp.vec3d)
    inputs = StepInputs(points, points, engine.newton.system.step_size)
    total = wp.zeros(engine.model.num_worlds, dtype=wp.float64)
    for energy in engine.newton.system.energies:
        if energy.name in ("membrane", "hinge"):
            energy.launch_value(inputs, total)
    return float(total.numpy().sum())


def kinetic_energy(engine: Engine) -> float:
    m, v = engine.model, engine.state.v.numpy()
    total = 0.5 * (m.node_mass.numpy() * (v**2).sum(axis=1)).sum()
    for b, node in enumerate(m.body_node.numpy()):
        total += 0.5 * np.einsum("kl,ki,li->", m.body_mass.numpy()[b], v[node : node + 4], v[node : node + 4])
    return float(total)


def tension(engine: Engine, end: float) -> float:
    """Pull of the membrane on the pinned end at x = end [N]."""
    points = wp.array(engine.positions(), dtype=wp.vec3d)
    inputs = StepInputs(points, points, engine.newton.system.step_size)
    start = engine.model.meshes["strip"].points.start
    pinned = start + np.flatnonzero(np.abs(engine.mesh_positions("strip")[:, 0] - end) < 1e-3)
    total = 0.0
    for energy in engine.newton.system.energies:
        gradient = wp.zeros(energy.num_elements * energy.stencil_size, dtype=wp.vec3d)
        blocks = wp.zeros(energy.num_elements * energy.num_blocks, dtype=wp.mat33d)
        energy.launch_derivatives(inputs, gradient, blocks)
        at = np.isin(energy.stencils_host.reshape(-1), pinned)
        total += gradient.numpy()[at, 0].sum()
    return float(abs(total))
