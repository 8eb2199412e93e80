"""A steel ball laid on a bonded gel pad: the soft contact that MuJoCo can do as well.

The ball's weight presses a pad that is bonded below; theory (bench.pad_problem) says how far it sinks. All engines get
the same tetrahedra, material and frictionless contact; only the ball's vertical motion is of interest.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from bench.measure import clock, one_core, timed
from bench.pad_problem import Indentation, layer_force
from engine import ContactMaterial, Engine, ModelBuilder, Options, SolidMaterial
from engine.mesh import shapes

GRAVITY = 9.81  # [m/s2]


@dataclass(frozen=True)
class BallOnPad:
    """SI units. The ball's lowest point starts `gap` above the pad, whose upper side lies at z = 0."""

    radius: float = 10e-3
    mass: float = 0.05
    size: tuple = (20e-3, 20e-3, 4e-3)
    cells: tuple = (20, 20, 4)  # 1 mm: half the contact radius
    young: float = 2e5
    poisson: float = 0.4
    density: float = 1000.0
    gap: float = 5e-5
    seconds: float = 0.25  # simulated; the ball's bounce takes about 40 ms

    def mesh(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """vertices (n, 3) [m], tets (m, 4), bonded: ids of the lowest layer."""
        vertices, tets = shapes.box_tets(*self.cells, self.size)
        vertices = vertices - (0.0, 0.0, 0.5 * self.size[2])
        return vertices, tets, np.flatnonzero(vertices[:, 2] < -self.size[2] + 1e-9)

    @property
    def lame(self) -> tuple[float, float]:
        """mu, lambda [Pa]."""
        e, nu = self.young, self.poisson
        return e / (2.0 * (1.0 + nu)), e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))

    @property
    def theory(self) -> float:
        """Depth [m] to which the ball sinks by its weight on a bonded layer of infinite extent."""
        p = Indentation(radius=self.radius, layer=self.size[2], young=self.young, poisson=self.poisson)
        return float(brentq(lambda depth: layer_force(p, depth) - self.mass * GRAVITY, 1e-6, self.size[2]))

    def overlap(self, middle: np.ndarray, vertices: np.ndarray) -> float:
        """How far the deepest vertex of the pad lies inside the ball [m]."""
        return float(max(self.radius - np.linalg.norm(vertices - middle, axis=1).min(), 0.0))


class TacktileBall:
    """The problem in this engine. depth [m] of the ball's lowest point below z = 0; vertices (n, 3) [m] of the pad."""

    name, dt = "tacktile", 0.01

    def __init__(self, p: BallOnPad, compute: str = "cpu"):
        self.problem = p
        contact = ContactMaterial(dhat=2e-5, kappa=1e6, friction_mu=0.0, self_collision=False)
        builder = ModelBuilder(gravity=(0.0, 0.0, -GRAVITY))
        vertices, tets, bonded = p.mesh()
        material = SolidMaterial(young=p.young, poisson=p.poisson, density=p.density)
        builder.add_solid("pad", vertices, tets, material, contact, pinned=bonded)
        ball, triangles = shapes.icosphere(p.radius, 5)
        pose = np.eye(4)
        pose[2, 3] = p.radius + p.gap
        inertia = 0.4 * p.mass * p.radius**2 * np.eye(3)
        builder.add_body("ball", ball, triangles, contact, mass=p.mass, inertia=inertia, transform=pose)
        self.engine = Engine(builder.finalize(device=compute), Options(dt=self.dt, newton_tolerance=1e-3))

    def step(self) -> None:
        if not self.engine.step().converged:
            raise RuntimeError("a step did not converge")

    @property
    def middle(self) -> np.ndarray:
        """Of the ball [m], (3,)."""
        return self.engine.body_transform("ball")[:3, 3]

    @property
    def vertices(self) -> np.ndarray:
        return self.engine.mesh_positions("pad")


PEERS = {
    "tacktile": "bench.ball_on_pad.TacktileBall",
    "mujoco": "bench.peers.mujoco_ball.MujocoBall",
}


@dataclass(frozen=True)
class Settled:
    """depth of the ball's lowest point [m]; overlap: most that any vertex of the pad lay inside the ball in the last
    fifth of the run [m]; speed: of the ball then, largest [m/s]; busy: processor time [s] of `simulated` [s]."""

    depth: float
    overlap: float
    speed: float
    busy: float
    simulated: float
    dt: float
    points: int


def settle(name: str, p: BallOnPad, compute: str = "cpu") -> Settled:
    """Let the ball come to rest in one of PEERS. Raises ImportError when it is not installed."""
    module, kind = PEERS[name].rsplit(".", 1)
    engine = getattr(importlib.import_module(module), kind)(p, compute)
    now, steps = clock(compute), round(p.seconds / engine.dt)
    engine.step()  # captures, compiles
    busy, heights, overlap = 0.0, [engine.middle[2]], 0.0
    with one_core():
        for step in range(1, steps):
            busy += timed(engine.step, now)
            heights.append(engine.middle[2])
            if step >= 0.8 * steps:
                overlap = max(overlap, p.overlap(engine.middle, engine.vertices))
    last = np.array(heights[int(0.8 * steps) :])
    speed = float(np.abs(np.diff(last)).max() / engine.dt)
    depth = p.radius - float(last.mean())
    return Settled(depth, overlap, speed, busy, (steps - 1) * engine.dt, engine.dt, len(engine.vertices))
