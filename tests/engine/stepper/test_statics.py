"""Static answers with known laws: friction on an incline, the heavy elastica, uniaxial stretch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes
from tests.engine.models import block, rotation_about

MU = 0.5


def block_on_incline(angle_degrees: float, kind: str = "body") -> tuple[Engine, np.ndarray]:
    """A block on a tilted plane, its face just above it; gravity stays vertical. Returns (engine, downhill unit)."""
    angle = np.radians(angle_degrees)
    rotation = rotation_about((0, 1, 0), angle)  # downhill is +x rotated
    contact = ContactMaterial(dhat=1e-3, friction_mu=MU, kappa=1e6)
    builder = ModelBuilder()
    plane = np.array([[-1.0, -1, 0], [3, -1, 0], [3, 1, 0], [-1, 1, 0]]) + (0.013, 0.007, 0)
    builder.add_static("plane", plane @ rotation.T, np.array([[0, 1, 2], [0, 2, 3]]), contact)
    size = np.array([0.04, 0.04, 0.02])
    centre = rotation @ np.array([0, 0, size[2] / 2 + 9e-4])
    block(builder, size=size, at=centre, rotation=rotation, contact=contact)
    # friction is lagged: the tolerance must stay well under g dt
    engine = Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-4, linear_tolerance=1e-6, epsv=1e-3))
    return engine, rotation @ np.array([1.0, 0, 0])


def speed_downhill(engine: Engine, downhill: np.ndarray) -> float:
    return float(engine.state.v.numpy()[0] @ downhill)


def test_block_below_the_friction_angle_creeps_slower_than_epsv():
    engine, downhill = block_on_incline(np.degrees(np.arctan(MU)) - 1.0)
    speeds = []
    for _ in range(200):
        engine.step()
        speeds.append(speed_downhill(engine, downhill))
    assert max(map(abs, speeds[20:])) < 1e-3
    assert speeds[-1] > 0.0  # it creeps downhill, as smoothed friction does


def test_block_above_the_friction_angle_accelerates():
    angle = np.arctan(MU) + np.radians(1.0)
    engine, downhill = block_on_incline(np.degrees(angle))
    for _ in range(50):
        engine.step()
    start = speed_downhill(engine, downhill)
    for _ in range(100):
        engine.step()
    acceleration = (speed_downhill(engine, downhill) - start) / 1.0
    assert acceleration == pytest.approx(9.81 * (np.sin(angle) - MU * np.cos(angle)), rel=0.10)


def test_contact_forces_of_a_resting_body_carry_its_weight():
    engine, _ = block_on_incline(0.0)
    for _ in range(60):
        engine.step()
    force = engine.signals().contact_force[0, engine.model.meshes["block"].points].sum(0)
    assert force[2] == pytest.approx(9.81 * engine.model.bodies["block"].mass, rel=0.01)


def heavy_elastica_tip(bending: float, load: float, length: float) -> float:
    """Sag of the tip of a clamped strip under its own weight: D theta'' = q (L - s) cos theta (continuation in q)."""
    s = np.linspace(0, length, 400)
    y = np.zeros((2, 400))
    for share in np.geomspace(1e-3, 1, 30):
        solution = solve_bvp(
            lambda s, y, k=share: np.stack([y[1], k * load * (length - s) * np.cos(y[0]) / bending]),
            lambda a, b: np.array([a[0], b[1]]),
            s, y, tol=1e-8, max_nodes=20000,
        )  # fmt: skip
        y = solution.sol(s)
    fine = np.linspace(0, length, 4001)
    theta = solution.sol(fine)[0]
    return -np.sum((np.sin(theta[1:]) + np.sin(theta[:-1])) / 2) * (fine[1] - fine[0])


@pytest.mark.parametrize("young, thickness", [(1.5e9, 0.079e-3), (1e8, 0.178e-3)])
def test_clamped_heavy_strip_is_an_elastica(young, thickness):
    """Tip sag within 2 % on the row-wise zig-zag. The last clamped row is a hinge line, whose bend spreads half a cell
    to either side: the free length counts from half a cell before it."""
    cell, cells_along, density, poisson = 3.2e-3, 16, 1300.0, 0.3
    vertices, triangles = shapes.strip_mesh(cell * cells_along, 6 * cell, 6)
    clamp = vertices[:, 0].min() + 1.01 * cell
    builder = ModelBuilder()
    material = ShellMaterial(young=young, poisson=poisson, thickness=thickness, density=density, damping=20.0)
    builder.add_shell("strip", vertices, triangles, material, ContactMaterial(), pinned=vertices[:, 0] < clamp)
    engine = Engine(builder.finalize(), Options(dt=0.02, newton_tolerance=1e-5, linear_tolerance=1e-6))
    for _ in range(300):
        engine.step()
        if np.abs(engine.state.v.numpy()).max() < 1e-5:
            break
    assert np.abs(engine.state.v.numpy()).max() < 1e-4  # at rest
    tip = engine.mesh_positions("strip")
    sag = tip[vertices[:, 0] > vertices[:, 0].max() - 1e-9, 2].mean()
    free = cell * (cells_along - 1) + cell / 2
    bending = young * thickness**3 / (12 * (1 - poisson**2))
    expected = heavy_elastica_tip(bending, density * thickness * 9.81, free)
    assert -sag == pytest.approx(expected, rel=0.02)


def test_uniaxial_stretch_follows_the_stvk_curve():
    """Nominal stress of a strip pulled to a stretch l: E l (l^2 - 1) / 2 within 1 % (poisson 0: no clamp effect)."""
    stretch, young, thickness, width = 1.2, 1e6, 1e-3, 0.02
    vertices, triangles = shapes.strip_mesh(0.06, width, 4)
    left, right = vertices[:, 0] < vertices[:, 0].min() + 1e-9, vertices[:, 0] > vertices[:, 0].max() - 1e-9
    builder = ModelBuilder(gravity=(0, 0, 0))
    material = ShellMaterial(young=young, poisson=0.0, thickness=thickness, density=1000.0, damping=50.0)
    start = vertices * (stretch, 1, 1)
    builder.add_shell("strip", start, triangles, material, ContactMaterial(), rest_vertices=vertices, pinned=left)
    block(builder, "grip", size=(0.01, 0.03, 0.01), at=start[right].mean(0) + (0.02, 0, 0), driven=True, gravity=False)
    builder.attach("strip", np.flatnonzero(right), "grip")
    engine = Engine(builder.finalize(), Options(dt=0.02, newton_tolerance=1e-6, linear_tolerance=1e-8))
    for _ in range(60):
        engine.step()
    force = engine.signals().drive_force[0, 0, 0]
    expected = young * stretch * (stretch**2 - 1) / 2 * thickness * width
    assert force == pytest.approx(expected, rel=0.01)
