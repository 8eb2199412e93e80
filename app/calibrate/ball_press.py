"""A rigid ball pressed into a flat gel pad, simulated: what the coat looks like under a press of the calibration.

The pad is flat, far wider than the contact and bonded to a stiff back, the ball is round and does not rub: away from
the pad's sides all presses of one contact radius are one shape, moved about. So one run of the ball into the pad, at
growing depth, gives the shape for every press.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import Akima1DInterpolator
from scipy.spatial import Delaunay

from engine import ContactMaterial, Engine, ModelBuilder, Options, SolidMaterial
from engine.mesh import shapes

GROWTH = 1.3  # of neighbouring cells away from the contact
LONGEST_STEP = 0.4e-3  # [m] of the ball into the gel
BALL_REACH = np.radians(100.0)  # from its lowest point: no press wets more of it


@dataclass(frozen=True)
class PressSetup:
    """SI units. cell: of the mesh under the contact; fine_until: radius up to which cells keep that size; half_width:
    of the round piece of pad that is simulated."""

    ball_radius: float = 2e-3
    thickness: float = 4e-3
    material: SolidMaterial = SolidMaterial(young=2e5, poisson=0.4)
    cell: float = 0.2e-3
    fine_until: float = 2.6e-3
    half_width: float = 9e-3

    @classmethod
    def for_radii(cls, smallest: float, largest: float, **known) -> PressSetup:
        """Cells for contact radii [m] between these: seven along the smallest, and room beside the largest."""
        ball = known.get("ball_radius", cls.ball_radius)
        if not 0.0 < smallest <= largest < 0.98 * ball:
            raise ValueError(
                f"contact radii from {1e3 * smallest:.3g} to {1e3 * largest:.3g} mm; they must lie between 0 and 0.98 "
                f"of the ball's radius, {1e3 * ball:.3g} mm: check pixel pitch and ball radius"
            )
        cell = max(smallest / 7.0, largest / 14.0)
        return cls(cell=cell, fine_until=1.35 * largest, half_width=max(6e-3, 4.0 * largest), **known)


class BallPress:
    """The simulation: `press` goes to a depth; `coat` and `rings` read the surface."""

    def __init__(self, setup: PressSetup):
        self.setup = setup
        self.vertices, tets, self.ring_start = pad_mesh(setup)
        self.coat_vertices = np.flatnonzero(self.vertices[:, 2] > -1e-12)
        surface = disc_triangles(self.vertices[self.coat_vertices, :2])
        self.coat_triangles = surface  # numbered in the coat's own vertices, wound outwards (+z)
        contact = ContactMaterial(dhat=0.02 * setup.cell, kappa=1e6, friction_mu=0.0, self_collision=False)
        builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
        cap, triangles = ball(setup.ball_radius)
        start = np.eye(4)
        start[2, 3] = 2.0 * contact.dhat
        mass = 10.0  # [kg] heavy: a drive is as stiff as its body's mass over dt^2 lets it be
        inertia = np.eye(3) * mass * setup.ball_radius**2
        builder.add_body("ball", cap, triangles, contact, mass=mass, inertia=inertia, transform=start, driven=True)
        bonded = self.vertices[:, 2] < -setup.thickness + 1e-9
        builder.add_solid("pad", self.vertices, tets, setup.material, contact, pinned=bonded)
        options = Options(dt=0.1, newton_tolerance=1e-2 * setup.cell, linear_tolerance=1e-2, contact_tolerance=1e-2)
        self.engine = Engine(builder.finalize(device="cpu"), options)
        self.control = self.engine.control()
        self.home = self.control.body_transform[0, 0].copy()
        self.depth = 0.0

    def press(self, depth: float) -> None:
        """Go to `depth` [m] of the ball's lowest point under the rest surface, in one slow step.

        Raises RuntimeError when the ball stays more than a hundredth of a cell short of it."""
        self.control.body_transform[0, 0] = self.home
        self.control.body_transform[0, 0, 2, 3] = -depth
        self.engine.step(self.control)
        short = self.engine.body_transform("ball")[2, 3] + depth
        if abs(short) > 0.01 * self.setup.cell:
            raise RuntimeError(
                f"the ball stayed {1e6 * short:.2g} um short of its depth of {1e3 * depth:.3g} mm; "
                "more steps on the way, or a finer cell, help"
            )
        self.depth = depth

    def approach(self, depth: float) -> None:
        """Go to `depth` in steps of at most LONGEST_STEP when that is deeper."""
        if depth == self.depth:
            return
        for stop in (*np.arange(self.depth, depth, LONGEST_STEP)[1:], depth):
            self.press(float(stop))

    def coat(self) -> np.ndarray:
        """Vertices of the free surface now, (k, 3) [m]; z = 0 is the rest surface, z up, out of the pad."""
        return self.engine.mesh_positions("pad")[self.coat_vertices]

    def rings(self) -> np.ndarray:
        """Radius and height of the surface's rings, means along each, (rings, 2) [m]."""
        x = self.coat()
        flat = np.column_stack([np.hypot(x[:, 0], x[:, 1]), x[:, 2]])
        means = np.add.reduceat(flat, self.ring_start) / np.diff(np.append(self.ring_start, len(x)))[:, None]
        means[0, 0] = 0.0
        return means


@dataclass(frozen=True)
class PressShapes:
    """Shapes of the coat by depth: rings (depths, rings, 2) radius and height [m]; contact radii [m] by depth; press:
    the simulation that they come from, where it stopped, to be pressed on."""

    setup: PressSetup
    depths: np.ndarray
    rings: np.ndarray
    contact_radii: np.ndarray
    press: BallPress | None = None

    def depth_of(self, contact_radius: float) -> float:
        """Depth [m] at which the contact has this radius [m]."""
        fine = np.linspace(self.depths[0], self.depths[-1], 2000)
        return float(np.interp(contact_radius, np.interp(fine, self.depths, self.contact_radii), fine))

    def normal(self, contact_radius: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Outward unit normals (n, 3) at places x, y (n,) [m] from the ball's axis."""
        r = np.hypot(x, y)
        slope = self._profile(contact_radius)(r, 1)
        across = -slope / np.sqrt(1.0 + slope * slope) / np.maximum(r, 1e-12)
        return np.column_stack([across * x, across * y, 1.0 / np.sqrt(1.0 + slope * slope)])

    def _profile(self, contact_radius: float) -> Akima1DInterpolator:
        depth = self.depth_of(contact_radius)
        k = int(np.clip(np.searchsorted(self.depths, depth) - 1, 0, len(self.depths) - 2))
        t = (depth - self.depths[k]) / (self.depths[k + 1] - self.depths[k])
        r, z = ((1.0 - t) * self.rings[k] + t * self.rings[k + 1]).T  # by ring: material points move smoothly
        far = r[-1] * np.array([1.5, 2.0, 100.0])
        mirrored = -r[2:0:-1], z[2:0:-1]  # so that the slope is 0 on the axis
        return Akima1DInterpolator(
            np.concatenate([mirrored[0], r, far]), np.concatenate([mirrored[1], z, [0.0, 0.0, 0.0]]), method="makima"
        )


def simulate_presses(
    setup: PressSetup, smallest: float, largest: float, steps: int = 10,
    progress: Callable[[float], None] = lambda share: None,
) -> PressShapes:  # fmt: skip
    """Shapes for contact radii from `smallest` to `largest` [m]; progress gets the share done.

    The ball goes in long strides until the contact nears `smallest`, then in some `steps` to `largest`.
    """
    press = BallPress(setup)
    stride = _depth_guess(setup, largest) / 5.0
    step = max((_depth_guess(setup, largest) - _depth_guess(setup, smallest)) / steps, 0.25 * stride)
    depths, rings, radii = [0.0], [press.rings()], [0.0]
    while radii[-1] < 1.02 * largest and len(depths) < 8 * steps:
        deeper = depths[-1] + (step if radii[-1] > 0.8 * smallest else min(stride, 0.5 * _depth_guess(setup, smallest)))
        press.press(deeper)
        depths.append(press.depth)
        rings.append(press.rings())
        radii.append(contact_radius(setup, rings[-1], press.depth))
        progress(min(radii[-1] / largest, 1.0))
    if radii[-1] < largest:
        reached = f"{1e3 * radii[-1]:.3g} of {1e3 * largest:.3g} mm"
        raise RuntimeError(f"the contact's radius reached {reached} at a depth of {1e3 * depths[-1]:.3g} mm")
    smooth = _smooth_radii(np.array(depths), np.array(radii))
    return PressShapes(setup, np.array(depths), np.array(rings), smooth, press)


def contact_radius(setup: PressSetup, rings: np.ndarray, depth: float) -> float:
    """Radius [m] up to which the coat lies on the ball.

    Flat triangles touch a ball with their middles, so vertices in contact stand off by about cell^2/(4 R), as the one
    on the axis shows; the contact ends where they stand off twice as far."""
    middle = setup.ball_radius - depth
    gap = np.hypot(rings[:, 0], rings[:, 1] - middle) - setup.ball_radius
    limit = 2.0 * max(gap[0], 0.01 * setup.cell)
    touching = np.flatnonzero(gap < limit)
    k = int(touching.max()) if len(touching) else 0
    if k + 1 >= len(rings):
        return float(rings[k, 0])
    share = (limit - gap[k]) / (gap[k + 1] - gap[k])
    return float(rings[k, 0] + max(share, 0.0) * (rings[k + 1, 0] - rings[k, 0]))


def _smooth_radii(depths: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """The contact grows ring by ring; its square is a smooth function of depth: a cubic through 0."""
    powers = np.column_stack([depths, depths**2, depths**3])
    scaled = powers / powers.max(axis=0)
    fitted = scaled @ np.linalg.lstsq(scaled, radii**2, rcond=None)[0]
    return np.maximum.accumulate(np.sqrt(np.maximum(fitted, 0.0)))


def _depth_guess(setup: PressSetup, radius: float) -> float:
    """Hertz: depth a^2/R, as far as a ball deep in soft gel follows it."""
    return radius**2 / setup.ball_radius


def ball(radius: float):
    """Lower part of a sphere, its lowest point at the origin."""
    angle = np.linspace(0.0, BALL_REACH, 61)
    profile = [(0.0, 0.0), *zip(radius * np.sin(angle[1:]), radius - radius * np.cos(angle[1:]), strict=True)]
    return shapes.revolve(profile, 64)


def pad_mesh(setup: PressSetup) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Round pad, free surface at z = 0: vertices (n, 3), tets (m, 4), first coat vertex of each ring.

    Rings of points around the axis, Delaunay triangles between them, prisms in layers below, three tetrahedra each."""
    radii = graded(setup.cell, setup.fine_until, setup.half_width)
    flat, start = _ring_points(radii)
    triangles = disc_triangles(flat)
    depths = -graded(setup.cell, 0.6 * setup.fine_until, setup.thickness)[::-1]
    depths[-1] = 0.0
    vertices = np.vstack([np.column_stack([flat, np.full(len(flat), z)]) for z in depths])
    corners = np.sort(triangles, axis=1)  # diagonals of a side run from its lower-numbered corner, on both sides alike
    tets = []
    for layer in range(len(depths) - 1):
        a, b = corners + layer * len(flat), corners + (layer + 1) * len(flat)
        tets += [
            np.column_stack([a[:, 0], a[:, 1], a[:, 2], b[:, 2]]),
            np.column_stack([a[:, 0], a[:, 1], b[:, 2], b[:, 1]]),
            np.column_stack([a[:, 0], b[:, 1], b[:, 2], b[:, 0]]),
        ]
    tets = np.vstack(tets)
    x = vertices[tets]
    volume = np.einsum("ij,ij->i", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0])
    tets[volume < 0.0] = tets[volume < 0.0][:, [0, 1, 3, 2]]
    return vertices, tets, start


def disc_triangles(points: np.ndarray) -> np.ndarray:
    """Delaunay triangles of points in the plane (n, 2), counter-clockwise, without slivers on the rim."""
    triangles = Delaunay(points).simplices.astype(np.int64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    triangles[area < 0.0] = triangles[area < 0.0][:, [0, 2, 1]]
    return triangles[np.abs(area) > 1e-9 * np.abs(area).max()]


def _ring_points(radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points on rings, as far apart along a ring as rings are from each other, and the first of each ring."""
    rings, start = [np.zeros((1, 2))], [0]
    for k, r in enumerate(radii[1:]):
        count = 6 * max(1, round(2.0 * np.pi * r / (radii[k + 1] - radii[k]) / 6.0))
        angle = 2.0 * np.pi * (np.arange(count) + 0.5 * (k % 2)) / count
        start.append(start[-1] + len(rings[-1]))
        rings.append(np.column_stack([r * np.cos(angle), r * np.sin(angle)]))
    return np.vstack(rings), np.array(start)


def graded(fine: float, fine_until: float, end: float) -> np.ndarray:
    """Coordinates from 0 to `end`: cells of `fine` up to `fine_until`, then growing."""
    x, cell = [0.0], fine
    while x[-1] < end:
        cell = cell if x[-1] < fine_until - 0.5 * fine else cell * GROWTH
        x.append(x[-1] + cell)
    if len(x) > 2 and x[-1] - end > end - x[-2]:
        x.pop()
    return np.array(x) * (end / x[-1])
