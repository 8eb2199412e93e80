"""A sphere pressed into a bonded gel pad, and the layer theory it is held against.

Theory: E. K. Dimitriadis, F. Horkay, J. Maresca, B. Kachar, R. S. Chadwick, "Determination of elastic moduli of thin
layers of soft material using the atomic force microscope", Biophysical Journal 82 (2002) 2798-2810, a sample bonded to
its support: with chi = sqrt(R delta)/h,

    F = 4/3 E/(1 - nu^2) sqrt(R) delta^(3/2) (1 - 2 a/pi chi + 4 a^2/pi^2 chi^2 - 8/pi^3 (a^3 + 4 pi^2/15 b) chi^3
        + 16 a/pi^4 (a^3 + 3 pi^2/5 b) chi^4)
    a = -(1.2876 - 1.4678 nu + 1.3442 nu^2)/(1 - nu),   b = (0.6387 - 1.0277 nu + 1.5164 nu^2)/(1 - nu).

For nu = 1/2 the coefficients are 1.133, 1.283, 0.769 and, with this sign of the last term, -0.0975 (often quoted with
the other sign: at the chi <= 0.5 used here that changes the force by less than 1 %). The series is that of a linear
layer under small indentation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bench.measure  # noqa: F401 - quiet results
from engine import ContactMaterial, Engine, ModelBuilder, Options, SolidMaterial
from engine.mesh import shapes


@dataclass(frozen=True)
class Indentation:
    """SI units. depth: of the sphere's lowest point under the rest surface; cells_per_radius: tetrahedral cells along
    the contact radius sqrt(radius * depth), where the mesh is fine."""

    radius: float = 10e-3
    depth: float = 0.4e-3
    layer: float = 4e-3
    young: float = 2e5
    poisson: float = 0.4
    cells_per_radius: int = 3
    dhat_share: float = 0.003  # of the depth: the barrier keeps the surfaces this far apart at most
    kappa: float = 1e6

    @property
    def contact_radius(self) -> float:
        return float(np.sqrt(self.radius * self.depth))


def hertz_force(p: Indentation, depth: float) -> float:
    """[N] on a half space."""
    return 4.0 / 3.0 * p.young / (1.0 - p.poisson**2) * np.sqrt(p.radius) * depth**1.5


def layer_force(p: Indentation, depth: float) -> float:
    """[N] on a bonded layer; see the module's docstring."""
    nu, chi = p.poisson, np.sqrt(p.radius * depth) / p.layer
    a = -(1.2876 - 1.4678 * nu + 1.3442 * nu**2) / (1.0 - nu)
    b = (0.6387 - 1.0277 * nu + 1.5164 * nu**2) / (1.0 - nu)
    pi = np.pi
    series = (
        1.0
        - 2.0 * a / pi * chi
        + 4.0 * a**2 / pi**2 * chi**2
        - 8.0 / pi**3 * (a**3 + 4.0 * pi**2 / 15.0 * b) * chi**3
        + 16.0 * a / pi**4 * (a**3 + 3.0 * pi**2 / 5.0 * b) * chi**4
    )
    return float(hertz_force(p, depth) * series)


def graded(fine: float, fine_until: float, end: float, growth: float = 1.35) -> np.ndarray:
    """Coordinates from 0 to `end`: cells of `fine` up to `fine_until`, then growing."""
    x, cell = [0.0], fine
    while x[-1] < end - 1e-12:
        x.append(x[-1] + cell)
        if x[-1] >= fine_until:
            cell *= growth
    if len(x) > 2 and x[-1] - end > 0.5 * (x[-1] - x[-2]):
        x.pop()
    start = int(np.searchsorted(x, min(fine_until, end)))
    x = np.array(x)
    x[start:] = x[start] + (x[start:] - x[start]) * (end - x[start]) / max(x[-1] - x[start], 1e-300)
    return x


def pad_mesh(p: Indentation) -> tuple[np.ndarray, np.ndarray]:
    """Layer with its free surface at z = 0: five tetrahedra a cell, fine around the contact."""
    a = p.contact_radius
    cell = a / p.cells_per_radius
    half = graded(cell, 1.6 * a, max(5.0 * a, 2.0 * p.layer))
    along = np.concatenate([-half[:0:-1], half])
    down = -graded(cell, 1.2 * a, p.layer)[::-1]
    counts = (len(along) - 1, len(along) - 1, len(down) - 1)
    unit, tets = shapes.box_tets(*counts, (1.0, 1.0, 1.0))
    index = np.rint((unit + 0.5) * counts).astype(int)
    return np.column_stack([along[index[:, 0]], along[index[:, 1]], down[index[:, 2]]]), tets


def sphere_cap(p: Indentation) -> tuple[np.ndarray, np.ndarray]:
    """The lower end of the sphere, its lowest point at the origin: an open surface, fine enough to count as round."""
    reach = 1.8 * p.contact_radius
    r = np.linspace(0.0, reach, 25)
    return shapes.revolve(list(zip(r, p.radius - np.sqrt(p.radius**2 - r**2), strict=True)), 48)


class Indenter:
    """Presses the cap slowly (long steps: inertia does not count)."""

    def __init__(self, p: Indentation, compute: str = "cpu"):
        self.problem = p
        contact = ContactMaterial(dhat=p.dhat_share * p.depth, kappa=p.kappa, friction_mu=0.0, self_collision=False)
        builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
        cap, triangles = sphere_cap(p)
        self.start = 2.0 * p.dhat_share * p.depth
        transform = np.eye(4)
        transform[2, 3] = self.start
        mass = 10.0  # [kg] heavy: a drive is as stiff as its body's mass over dt^2 lets it be
        inertia = np.eye(3) * mass * p.radius**2
        builder.add_body("cap", cap, triangles, contact, mass=mass, inertia=inertia, transform=transform, driven=True)
        vertices, tets = pad_mesh(p)
        material = SolidMaterial(young=p.young, poisson=p.poisson)
        bonded = vertices[:, 2] < -p.layer + 1e-9
        builder.add_solid("pad", vertices, tets, material, contact, pinned=bonded)
        self.points = len(vertices)
        options = Options(dt=0.1, newton_tolerance=1e-3 * p.depth, linear_tolerance=1e-4, contact_tolerance=1e-3)
        self.engine = Engine(builder.finalize(device=compute), options)
        self.control = self.engine.control()
        self.row = self.engine.driven_bodies.index("cap")
        self.home = self.control.body_transform[0, self.row].copy()
        self.converged = True

    def press(self, depth: float) -> float:
        """Go to `depth` [m] and return the force [N] on the cap."""
        self.control.body_transform[0, self.row] = self.home
        self.control.body_transform[0, self.row, 2, 3] = -depth
        for _ in range(2):  # the second step takes out what is left of the first one's motion
            report = self.engine.step(self.control)
        self.converged &= report.converged
        gap = self.engine.body_transform("cap")[2, 3] + depth
        if abs(gap) > 1e-3 * depth:
            raise RuntimeError(f"the cap stayed {gap * 1e6:.2f} um short of its depth of {depth * 1e6:.0f} um")
        cap = self.engine.model.meshes["cap"].points
        return float(self.engine.signals().contact_force[0, cap, 2].sum())
