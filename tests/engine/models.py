"""Small models that several engine tests share."""

from __future__ import annotations

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial, SolidMaterial
from engine.mesh import shapes

SOFT_SHEET = ShellMaterial(young=1e6, poisson=0.3, thickness=1e-3, density=1000.0)


def add_ground(builder: ModelBuilder, z: float = 0.0, size: float = 1.0, **contact) -> None:
    vertices = np.array([[-size, -size, z], [size, -size, z], [size, size, z], [-size, size, z]])
    vertices[:, :2] += (0.0131, 0.0071)  # no symmetry with anything that lies on it
    builder.add_static("ground", vertices, np.array([[0, 1, 2], [0, 2, 3]]), ContactMaterial(**contact))


def sheet_on_ground(cells: int = 8, height: float = 0.01, worlds: int = 1, device: str = "cpu", **options) -> Engine:
    """A soft sheet that falls on the ground."""
    builder = ModelBuilder()
    vertices, triangles = shapes.grid_mesh(0.1, 0.1, cells, cells)
    builder.add_shell("sheet", vertices + (0.0, 0.0, height), triangles, SOFT_SHEET, ContactMaterial())
    add_ground(builder)
    return Engine(builder.finalize(worlds, device), Options(**{"dt": 0.01, "newton_tolerance": 1e-3, **options}))


def block(builder: ModelBuilder, name: str = "block", size=(0.04, 0.04, 0.02), at=(0, 0, 0), rotation=None, **kwargs):
    """A closed box body with its centre at `at`."""
    vertices, triangles = shapes.box_surface(size)
    vertices = vertices - 0.5 * (vertices.min(0) + vertices.max(0))
    transform = np.eye(4)
    transform[:3, 3] = at
    if rotation is not None:
        transform[:3, :3] = rotation
    contact = kwargs.pop("contact", ContactMaterial())
    builder.add_body(name, vertices, triangles, contact, transform=transform, density=1000.0, **kwargs)


def soft_pad(
    builder: ModelBuilder, name: str = "pad", cells=(6, 6, 2), size=(0.02, 0.02, 0.004), at=(0, 0, 0), **kwargs
):
    """A gel block with its centre at `at`; returns its rest vertices."""
    vertices, tets = shapes.box_tets(*cells, size)
    vertices = vertices - 0.5 * (vertices.min(0) + vertices.max(0)) + np.asarray(at, float)
    contact = kwargs.pop("contact", ContactMaterial(dhat=1e-4))
    builder.add_solid(name, vertices, tets, kwargs.pop("material", SolidMaterial()), contact, **kwargs)
    return vertices


def rotation_about(axis, angle: float) -> np.ndarray:
    """Rodrigues rotation, (3, 3)."""
    k = np.asarray(axis, float) / np.linalg.norm(axis)
    skew = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def linear_momentum(engine: Engine) -> np.ndarray:
    """Sum over all masses [kg m/s], (3,)."""
    m, v = engine.model, engine.state.v.numpy()
    total = (m.node_mass.numpy()[:, None] * v).sum(0)
    for b, node in enumerate(m.body_node.numpy()[: m.num_worlds * m.bodies_per_world]):
        total = total + m.body_mass.numpy()[b][0] @ v[node : node + 4]
    return total


def angular_momentum(engine: Engine) -> np.ndarray:
    """About the origin [kg m2/s], (3,)."""
    m, x, v = engine.model, engine.state.x.numpy(), engine.state.v.numpy()
    total = np.cross(x, m.node_mass.numpy()[:, None] * v).sum(0)
    for b, node in enumerate(m.body_node.numpy()[: m.num_worlds * m.bodies_per_world]):
        mass = m.body_mass.numpy()[b]
        for i in range(4):
            for j in range(4):
                total = total + mass[i, j] * np.cross(x[node + i], v[node + j])
    return total


def spin(engine: Engine, omega, about=(0.0, 0.0, 0.0), velocity=(0.0, 0.0, 0.0)) -> None:
    """Give every node the rigid velocity of a rotation about a point."""
    m, x = engine.model, engine.state.x.numpy()
    v = np.asarray(velocity) + np.cross(omega, x - np.asarray(about))
    for node in m.body_node.numpy()[: m.num_worlds * m.bodies_per_world]:
        v[node + 1 : node + 4] = np.cross(omega, x[node + 1 : node + 4])
    engine.state.v.assign(v)
    engine.state.v_prev.assign(v)
    engine.state.x_prev.assign(x - engine.options.dt * v)
