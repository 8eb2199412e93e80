"""Small sticky scenes: a stamp whose lower face sticks to a plate, and strips."""

from __future__ import annotations

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.materials import FrontAdhesive
from engine.mesh import shapes

WORK = 263.0
SIZE = 0.019
CONTACT = ContactMaterial(dhat=0.18e-3, kappa=1e5)
GAP = 0.17e-3


def plate(builder: ModelBuilder, name: str = "plate", size: float = 0.1, z: float = 0.0) -> None:
    corners = np.array([[-size, -size, z], [size, -size, z], [size, size, z], [-size, size, z]])
    builder.add_static(name, corners + (0.0013, 0.0017, 0.0), np.array([[0, 1, 2], [0, 2, 3]]), CONTACT)


def stamp(material=None, cells: int = 6, worlds: int = 1, dt: float = 0.01, gap: float = GAP, **options) -> Engine:
    """A driven stiff box, SIZE wide; its lower face, `cells` a side, sticks to a plate."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    plate(builder)
    vertices, triangles = shapes.box_surface((SIZE, SIZE, 0.004), (cells, cells, 1))
    pose = np.eye(4)
    pose[2, 3] = 0.002 + gap
    builder.add_body("stamp", vertices, triangles, CONTACT, density=1000.0, transform=pose, driven=True, gravity=False)
    down = (np.ptp(vertices[triangles][:, :, 2], axis=1) < 1e-9) & (vertices[triangles[:, 0], 2] < 0.0)
    builder.add_adhesion("stamp", down.astype(int), ["plate"], material or FrontAdhesive(work=WORK))
    return Engine(builder.finalize(worlds), Options(dt=dt, **{"newton_tolerance": 1e-5, **options}))


def move(engine: Engine, velocity, steps: int, world: int | None = None) -> np.ndarray:
    """Drive body 0 at `velocity`; the work that the drive does in each step [J], (steps, W)."""
    velocity = np.asarray(velocity, float)
    done = []
    for _ in range(steps):
        control = engine.control()
        picked = slice(None) if world is None else world
        control.body_transform[picked, 0, :3, 3] += velocity * engine.options.dt
        engine.step(control)
        done.append(engine.signals().drive_force[:, 0] @ velocity * engine.options.dt)
    return np.array(done)


def separation_work(engine: Engine, direction, distance: float, steps: int) -> float:
    """Work of moving the stamp by `distance`, trapezoidal in the steps [J]."""
    velocity = np.asarray(direction, float) * distance / (steps * engine.options.dt)
    work = move(engine, velocity, steps)[:, 0]
    return float(work.sum() - 0.5 * (work[-1]))
