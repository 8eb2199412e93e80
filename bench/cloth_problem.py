"""A square cloth that falls on a sphere: the problem of case `cloth`, and Tacktile's side of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes


@dataclass(frozen=True)
class Cloth:
    """SI units. points: along each side; half_thickness: contact half-thickness; dhat, kappa: our barrier, MuJoCo has
    none; ball_subdivisions: our sphere is an icosahedron split so often (MuJoCo's is exact)."""

    points: int
    size: float = 0.4
    mass: float = 0.05
    young: float = 1e5
    poisson: float = 0.3
    thickness: float = 1e-3
    half_thickness: float = 1e-3
    height: float = 0.15
    ball_radius: float = 0.1
    dt: float = 0.01
    dhat: float = 1e-3
    kappa: float = 1e4
    ball_subdivisions: int = 3


class TacktileCloth:
    """The cloth in Tacktile, frictionless as in MuJoCo's mode. options: of `engine.Options`."""

    def __init__(self, cloth: Cloth, self_contact: bool, compute: str = "cpu", **options):
        contact = {"dhat": cloth.dhat, "kappa": cloth.kappa, "friction_mu": 0.0}
        builder = ModelBuilder()
        cells = cloth.points - 1
        vertices, triangles = shapes.grid_mesh(cloth.size, cloth.size, cells, cells)
        density = cloth.mass / (cloth.size**2 * cloth.thickness)
        builder.add_shell(
            "cloth",
            vertices + (0.0, 0.0, cloth.height),
            triangles,
            ShellMaterial(young=cloth.young, poisson=cloth.poisson, thickness=cloth.thickness, density=density),
            ContactMaterial(half_thickness=cloth.half_thickness, self_collision=self_contact, **contact),
        )
        ball = shapes.icosphere(cloth.ball_radius, cloth.ball_subdivisions)
        builder.add_static("ball", *ball, ContactMaterial(**contact))
        self.engine = Engine(builder.finalize(device=compute), Options(dt=cloth.dt, **options))
        self.report = None

    @property
    def velocities(self) -> np.ndarray:
        """(n^2, 3) [m/s]."""
        return self.engine.state.v.numpy().copy()

    def step(self) -> None:
        self.report = self.engine.step()

    def reset(self) -> None:
        self.engine.reset()

    def copy_state(self, other: TacktileCloth) -> None:
        """Continue from where `other` is."""
        self.engine.set_state(other.engine.get_state())
