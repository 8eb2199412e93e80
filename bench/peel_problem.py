"""The peel fixture: a strip stuck to a plate, its free arm pulled by a clamp so that the front moves at a given speed.

Quasi-static peeling of an extensible strip (Rivlin 1944, Kendall 1975):  W = (F/b)(1 - cos theta) + (F/b)^2 / (2 E h),
theta the angle at which the force really acts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.materials import FrontAdhesive
from engine.mesh import shapes

TAPE = ShellMaterial(young=1e8, poisson=0.45, thickness=0.178e-3, density=1300.0)
TOUCH = ContactMaterial(dhat=0.18e-3, half_thickness=0.089e-3, kappa=1e5, friction_mu=0.3, self_collision=False)
PLATE = ContactMaterial(dhat=0.18e-3, kappa=1e5, friction_mu=0.3)
CLAMP_MASS = 1.0  # [kg]
FOLD_RADIUS = 2.5e-3  # of the arm's first bend [m]
SETTINGS = {"newton_tolerance": 1e-4, "linear_tolerance": 1e-4, "newton_max_iterations": 200}


@dataclass
class Peel:
    """A running fixture. The front starts at x = 0 and moves along +x."""

    engine: Engine
    width: float  # b [m]
    cell: float  # along the strip [m]
    angle: float  # of the pull [rad]
    velocity: np.ndarray  # of the clamp [m/s], (3,)
    work: float

    def step(self) -> np.ndarray:
        """One step of the clamp; the force that it pulls with [N], (3,)."""
        engine = self.engine
        control = engine.control()
        control.body_transform[0, 0, :3, 3] += self.velocity * engine.options.dt
        self.report = engine.step(control)
        return engine.signals().drive_force[0, 0]

    @property
    def adhesion(self):
        return self.engine.interfaces[0]

    def kendall(self, angle: float) -> float:
        """Force of the ideal strip at `angle` [N]."""
        a = 1.0 / (2.0 * TAPE.young * TAPE.thickness)
        lift = 1.0 - np.cos(angle)
        return self.width * (np.sqrt(lift * lift + 4.0 * a * self.work) - lift) / (2.0 * a)


def make_peel(
    cell: float = 3.2e-3,
    angle: float = 180.0,
    stuck: float = 0.05,
    arm: float = 0.03,
    width: float = 0.019,
    speed: float = 6e-3,
    dt: float = 0.01,
    sideways: float = 0.0,
    material=None,
    touch: ContactMaterial = TOUCH,
    device: str = "cpu",
    more=None,
    layer: float = 0.0,
    **options,
) -> Peel:
    """cell, stuck, arm, width [m]; angle, sideways [degrees]; speed of the front [m/s]; more: adds to the builder;
    layer [J/m2]: the strip sticks to another strip, which sticks to the plate with this work (0: no such layer)."""
    material = material or FrontAdhesive()
    across = max(1, round(width / cell))
    free, rows = max(1, round(arm / cell)), max(1, round(stuck / cell))
    rest, triangles = shapes.grid_mesh((free + rows) * cell, width, free + rows, across)
    theta, aside = np.radians(angle), np.radians(sideways)
    arc = rest[:, 0] - rest[0, 0] - free * cell  # along the strip, 0 at the front
    base = TOUCH.half_thickness + TOUCH.dhat
    if layer > 0.0:
        base += 2.0 * TOUCH.half_thickness + TOUCH.dhat
    placed = _bent(arc, rest[:, 1], theta, base)
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_shell("strip", placed, triangles, TAPE, touch, rest_vertices=rest)
    length = rows * cell
    plate = np.array([[-0.1, -0.1, 0.0], [length + 0.1, -0.1, 0.0], [length + 0.1, 0.1, 0.0], [-0.1, 0.1, 0.0]])
    builder.add_static("plate", plate + (0.0013, 0.0017, 0.0), np.array([[0, 1, 2], [0, 2, 3]]), PLATE)
    if layer > 0.0:
        # its cells are offset from the strip's by a third, so that points do not lie over points
        below, below_triangles = shapes.grid_mesh(length, width, rows, across)
        under = below + (0.5 * length + cell / 3.0, 0.0, TOUCH.half_thickness + TOUCH.dhat)
        builder.add_shell("layer", under, below_triangles, TAPE, touch, rest_vertices=below)
        builder.add_adhesion("layer", "negative", "plate", FrontAdhesive(work=layer))
    tip = np.flatnonzero(rest[:, 0] < rest[0, 0] + 0.1 * cell)
    box, faces = shapes.box_surface((1e-3, width, 1e-3))
    pose = np.eye(4)
    pose[:3, 3] = placed[tip].mean(0)
    # heavy: when the snapping strip would touch, the drive cannot jump; its spring is in scale with the mass
    builder.add_body("clamp", box, faces, PLATE, mass=CLAMP_MASS, transform=pose, driven=True, gravity=False)
    builder.attach("strip", tip, "clamp")
    builder.ignore_contact("clamp", "plate")
    builder.add_adhesion("strip", "negative", "layer" if layer > 0.0 else "plate", material)
    if more is not None:
        more(builder)
    engine = Engine(builder.finalize(device=device), Options(dt=dt, **{**SETTINGS, **options}))
    pull = np.array([1.0 - np.cos(theta), np.sin(theta) * np.sin(aside), np.sin(theta) * np.cos(aside)])
    return Peel(engine, width, cell, theta, speed * pull, getattr(material, "work", 0.0))


def _bent(arc: np.ndarray, y: np.ndarray, theta: float, base: float) -> np.ndarray:
    """Flat behind the front, then an arc of FOLD_RADIUS through theta, then straight."""
    free = np.maximum(-arc, 0.0)
    turned = np.minimum(free, FOLD_RADIUS * theta)
    straight, a = free - turned, turned / FOLD_RADIUS
    x = np.maximum(arc, 0.0) - FOLD_RADIUS * np.sin(a) - np.cos(theta) * straight
    z = base + FOLD_RADIUS * (1.0 - np.cos(a)) + np.sin(theta) * straight
    return np.stack([x, y, z], axis=1)


def stored_energy(engine: Engine) -> float:
    """Elastic, contact and adhesive energy now, without inertia [J]."""
    system = engine.newton.system
    system.begin_energies()  # the history as it is now: secants from the openings reached
    kept = system.x_tilde.numpy()
    system.x_tilde.assign(engine.state.x.numpy())
    system.detect()
    system.points_dx.zero_()
    system.bound_step()  # lists the contacts that the value needs
    system.evaluate_current()
    system.x_tilde.assign(kept)
    return float(system.worlds.energy.numpy().sum())


@dataclass
class PeelResult:
    """Means over the window."""

    force: float  # mean of |F| [N]
    error: float  # force over Kendall's at the acting angle, minus 1 [-]
    acting_angle: float  # [degrees]
    ripple: float  # peak over mean [-]
    swept: float  # dissipated work over W times the area that a front at the clamp's pace sweeps [-]; the front may lag
    balance: float  # work of the clamp less what is stored, over the dissipated work [-]
    newton: float  # iterations a step
    converged: float  # share of steps
    most_opened: float  # largest opening in a step [cells]


def measure_peel(peel: Peel, settle: float, window: float) -> PeelResult:
    """Peel `settle` metres of front, then average over `window` metres."""
    advance = np.linalg.norm(peel.velocity) / np.linalg.norm(
        [1.0 - np.cos(peel.angle), np.sin(peel.angle)]
    ) * peel.engine.options.dt
    forces, newton, converged, opened = [], [], [], []
    for _ in range(round(settle / advance)):
        peel.step()
    before, stored = peel.adhesion.spent_work().sum(), stored_energy(peel.engine)
    steps = round(window / advance)
    for _ in range(steps):
        forces.append(peel.step())
        newton.append(peel.report.newton_iterations)
        converged.append(peel.report.converged)
        opened.append(float(peel.adhesion.front_step.numpy().max()) if hasattr(peel.adhesion, "front_step") else np.nan)
    forces = np.array(forces)
    size, mean = np.linalg.norm(forces, axis=1), forces.mean(axis=0)
    acting = float(np.arccos(np.clip(-mean[0] / np.linalg.norm(mean), -1.0, 1.0)))
    spent = peel.adhesion.spent_work().sum() - before
    dt = peel.engine.options.dt
    given = float((forces @ peel.velocity).sum() * dt) - (stored_energy(peel.engine) - stored)
    return PeelResult(
        float(size.mean()), float(size.mean() / peel.kendall(acting) - 1.0), float(np.degrees(acting)),
        float(size.max() / size.mean()), float(spent / (peel.work * peel.width * steps * advance)),
        float(given / spent), float(np.mean(newton)), float(np.mean(converged)), max(opened),
    )  # fmt: skip


PRESS = 1e4  # [Pa]


def restick_share(cell: float = 3.2e-3, travel: float = 0.02, dt: float = 1.0 / 30.0, **options) -> float:
    """Peel `travel` at 90 degrees, lay the strip back, press it with a plane stamp at 10 kPa, peel again: work spent in
    the second peel over that in the first [-]."""
    size = (travel + 0.01, 0.03, 0.005)

    def stamp(builder: ModelBuilder) -> None:
        box, faces = shapes.box_surface(size)
        pose = np.eye(4)
        pose[:3, 3] = (0.5 * size[0] + 0.001, 0.1, 0.005)
        builder.add_body("stamp", box, faces, PLATE, density=1000.0, transform=pose, driven=True, gravity=False,
                         force_limit=PRESS * size[0] * 0.019)  # fmt: skip
        builder.ignore_contact("stamp", "clamp")

    peel = make_peel(cell, 90.0, stuck=travel + 0.02, speed=9e-3, dt=dt, more=stamp, **options)
    steps = round(travel / (9e-3 * dt))

    def spent_in_a_peel() -> float:
        before = peel.adhesion.spent_work().sum()
        for _ in range(steps):
            peel.step()
        return peel.adhesion.spent_work().sum() - before

    def carry(start, end, count: int) -> None:
        for k in range(count):
            control = peel.engine.control()
            control.body_transform[0, 1, :3, 3] = start + (np.asarray(end) - start) * (k + 1) / count
            peel.engine.step(control)

    first = spent_in_a_peel()
    peel.velocity = -peel.velocity
    for _ in range(steps):
        peel.step()
    aside = peel.engine.control().body_transform[0, 1, :3, 3].copy()
    over = aside * (1, 0, 1) + (0, 0, 0.02)
    carry(aside, aside + (0, 0, 0.02), 10)
    carry(aside + (0, 0, 0.02), over, 30)
    low = over * (1, 1, 0) + (0, 0, 0.5 * size[2])
    carry(over, low, 40)
    carry(low, low, 20)
    carry(low, over, 30)
    carry(over, aside + (0, 0, 0.02), 30)
    peel.velocity = -peel.velocity
    return spent_in_a_peel() / first
