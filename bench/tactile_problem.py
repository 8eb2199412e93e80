"""Pads under a weight, in a grip, under a sphere: what their signals must say is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import bench.measure  # noqa: F401 - quiet results
from bench.pad_problem import Indentation, sphere_cap
from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh import shapes
from engine.tactile.array import TactileArray
from scenes.build import Draft
from scenes.build_sensor import add_sensor
from scenes.motion import rigid_transform
from scenes.sensors import Sensor, preset

GRAVITY = (0.0, 0.0, -9.81)
COAT_HEIGHT = 2e-3  # [m] of the coat over the middle of a preset's flat pad


def named(name: str, **changes) -> Sensor:
    return replace(preset(name, link="holder"), **changes)


class PressedPads:
    """Two pads on driven holders, pressed side by side on a fixed bump: a scene with contact for timing."""

    def __init__(self, name: str = "gelsight", compute: str = "cpu", worlds: int = 1, press: float = 5e-4):
        draft = Draft(ModelBuilder())
        for k, side in enumerate((-0.02, 0.02)):
            holder, pose = f"holder_{k}", rigid_transform((side, 0.0, 0.0), (np.pi, 0.0, 0.0))
            vertices, triangles = shapes.box_surface((0.027, 0.027, 0.006))
            back = pose @ rigid_transform((0.0, 0.0, -0.0055), (0.0, 0.0, 0.0))
            draft.builder.add_body(
                holder, vertices, triangles, ContactMaterial(), transform=back, density=3000.0, driven=True
            )
            add_sensor(draft, f"pad_{k}", named(name), holder, pose)
            vertices, triangles = shapes.icosphere(8e-3, 3)
            lift = np.array([side, 0.0, -COAT_HEIGHT - 8e-3 - 2e-4])
            draft.builder.add_static(f"ball_{k}", vertices + lift, triangles, ContactMaterial(dhat=1e-4))
        self.engine = Engine(draft.builder.finalize(worlds, compute), Options(dt=0.02))
        self.pads = draft.pads
        self._control, self._press = self.engine.control(), press

    def step(self, steps: int, moving: bool = True) -> None:
        for _ in range(steps):
            if moving:
                self._control.body_transform[:, :, 2, 3] -= (self._press + 2e-4) / steps
            self.engine.step(self._control)


@dataclass(frozen=True)
class Slip:
    """time (n,) [s]; ratio (n,) of tangential to normal force [-]; marker (n,) mean displacement of the markers under
    the bar along the pull [m]; normal (n,) on a pad [N]; speed of the pull [m/s]; converged."""

    time: np.ndarray
    ratio: np.ndarray
    marker: np.ndarray
    normal: np.ndarray
    speed: float
    converged: bool

    @property
    def slips_from(self) -> int:
        """First sample from which, over the next tenth of a second, the markers follow the bar with less than a fifth
        of its speed."""
        ahead = max(round(0.1 / self.time[0]), 1)
        follow = (self.marker[ahead:] - self.marker[:-ahead]) / (self.time[ahead:] - self.time[:-ahead]) / self.speed
        return int(np.argmax(follow < 0.2)) if (follow < 0.2).any() else len(self.time)

    @property
    def slip_ratio(self) -> float:
        """Mean ratio from 0.1 to 0.5 s after it began to slip, NaN when that was not seen."""
        begin, end = (self.slips_from + round(t / self.time[0]) for t in (0.1, 0.5))
        return float(self.ratio[begin:end].mean()) if end <= len(self.ratio) else float("nan")

    @property
    def marker_rises(self) -> bool:
        """Does the markers' displacement grow in every sample until slip?"""
        return bool((np.diff(self.marker[: self.slips_from + 1]) > 0.0).all())


def pull_bar(
    friction_mu: float, sensor: Sensor | None = None, speed: float = 2e-3, squeeze: float = 1.5e-4,
    seconds: float = 1.6, compute: str = "cpu", dt: float = 0.02,
) -> Slip:  # fmt: skip
    """Two pads, coats towards each other, squeeze a bar by `squeeze` [m] each; then it is pulled along their x, longer
    than they are: so no edge of it ploughs through the gel, and the pull is friction alone."""
    sensor = sensor or named("gelsight")
    half, gap = 3e-3, 1.5e-4
    draft = Draft(ModelBuilder(gravity=(0.0, 0.0, 0.0)))
    contact = replace(sensor.contact, friction_mu=friction_mu)
    for name, turn in (("upper", np.pi), ("lower", 0.0)):
        height = half + gap + COAT_HEIGHT
        pose = rigid_transform((0.0, 0.0, height if turn else -height), (turn, 0.0, 0.0))
        vertices, triangles = shapes.box_surface((0.03, 0.03, 0.006))
        back = pose @ rigid_transform((0.0, 0.0, -COAT_HEIGHT - 3e-3), (0.0, 0.0, 0.0))
        draft.builder.add_body(
            f"{name}_holder", vertices, triangles, ContactMaterial(), transform=back, density=3000.0, driven=True
        )
        add_sensor(draft, name, replace(sensor, contact=contact), f"{name}_holder", pose)
    vertices, triangles = shapes.box_surface((0.06, 0.010, 2.0 * half), (16, 3, 1))
    bar = ContactMaterial(dhat=1e-4, kappa=1e6, friction_mu=friction_mu)
    draft.builder.add_body("bar", vertices, triangles, bar, density=3000.0, driven=True)
    options = Options(dt=dt, newton_tolerance=1e-4, contact_tolerance=1e-3, epsv=1e-4, friction_iterations=3)
    engine = Engine(draft.builder.finalize(device=compute), options)
    tactile = TactileArray(engine, draft.pads, ["forces", "markers"])
    control, rows = engine.control(), [engine.driven_bodies.index(n) for n in ("upper_holder", "lower_holder", "bar")]
    converged = True
    for _ in range(10):  # close
        control.body_transform[0, rows[0], 2, 3] -= (squeeze + gap) / 10
        control.body_transform[0, rows[1], 2, 3] += (squeeze + gap) / 10
        converged &= engine.step(control).converged
    under = _under(draft.pads[1], 0.012, 0.005)
    samples = []
    tactile.update()
    start = tactile.numpy("marker", "lower")[under, 0].mean()
    for _ in range(round(seconds / dt)):
        control.body_transform[0, rows[2], 0, 3] += speed * dt
        converged &= engine.step(control).converged
        tactile.update()
        wrenches = [tactile.numpy("wrench", name) for name in ("upper", "lower")]
        normal = sum(abs(w[2]) for w in wrenches)
        moved = tactile.numpy("marker", "lower")[under, 0].mean() - start
        samples.append((sum(np.hypot(w[0], w[1]) for w in wrenches) / normal, moved, 0.5 * normal))
    ratio, marker, normal = np.array(samples).T
    return Slip(dt * (1 + np.arange(len(ratio))), ratio, marker, normal, speed, converged)


def _under(spec, half_x: float, half_y: float) -> np.ndarray:
    """Markers within a rectangle about the sensor's origin, a little inside it."""
    from scenes.build_sensor import marker_places

    places = marker_places(named("gelsight").markers)
    assert len(places) == len(spec.marker_triangle)
    return np.flatnonzero((np.abs(places) < 0.7 * np.array([half_x, half_y])).all(axis=1))


def weigh(mass: float, sensor: Sensor | None = None, compute: str = "cpu", steps: int = 60) -> tuple[float, bool]:
    """Force [N] that a pad, coat up, reports under a block of `mass` [kg] at rest; and whether all steps converged."""
    draft = Draft(ModelBuilder(gravity=GRAVITY))
    add_sensor(draft, "pad", sensor or named("gelsight"), None, np.eye(4))
    size = (0.012, 0.010, 0.006)
    vertices, triangles = shapes.box_surface(size)
    pose = rigid_transform((0.0, 0.0, COAT_HEIGHT + 0.5 * size[2] + 5e-5), (0.0, 0.0, 0.0))
    squares = np.array(size) ** 2
    inertia = mass / 12.0 * np.diag(squares.sum() - squares)
    draft.builder.add_body(
        "weight", vertices, triangles, ContactMaterial(dhat=1e-4, friction_mu=0.8), mass=mass, inertia=inertia,
        transform=pose,
    )  # fmt: skip
    engine = Engine(draft.builder.finalize(device=compute), Options(dt=0.02, newton_tolerance=1e-4))
    tactile = TactileArray(engine, draft.pads, ["wrench"])
    converged = all([engine.step().converged for _ in range(steps)])
    tactile.update()
    return -float(tactile.numpy("wrench", "pad")[2]), converged


def sphere_on_pad(p: Indentation, sensor: Sensor, compute: str = "cpu") -> float:
    """Force [N] of a rigid sphere pressed by p.depth into the middle of a pad, by the pad's own wrench."""
    draft = Draft(ModelBuilder(gravity=(0.0, 0.0, 0.0)))
    contact = ContactMaterial(dhat=p.dhat_share * p.depth, kappa=p.kappa, friction_mu=0.0, self_collision=False)
    material = replace(sensor.material, young=p.young, poisson=p.poisson)
    add_sensor(draft, "pad", replace(sensor, contact=contact, material=material), None, np.eye(4))
    cap, triangles = sphere_cap(p)
    start = 2.0 * p.dhat_share * p.depth
    pose = rigid_transform((0.0, 0.0, COAT_HEIGHT + start), (0.0, 0.0, 0.0))
    mass = 10.0
    draft.builder.add_body(
        "cap", cap, triangles, contact, mass=mass, inertia=np.eye(3) * mass * p.radius**2, transform=pose, driven=True
    )
    options = Options(dt=0.1, newton_tolerance=1e-3 * p.depth, linear_tolerance=1e-4, contact_tolerance=1e-3)
    engine = Engine(draft.builder.finalize(device=compute), options)
    tactile, control = TactileArray(engine, draft.pads, ["wrench"]), engine.control()
    for share in (0.25, 0.5, 0.75, 1.0, 1.0):
        control.body_transform[0, 0, 2, 3] = COAT_HEIGHT - share * p.depth
        engine.step(control)
    tactile.update()
    return -float(tactile.numpy("wrench", "pad")[2])
