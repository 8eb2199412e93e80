"""What drives without a force limit crush between them never crosses."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine import ContactMaterial, Engine, Grasp, ModelBuilder, Options, SolidMaterial
from engine.contact import narrow
from engine.contact.intersections import Intersections
from engine.mesh import shapes

DHAT = 1e-4  # [m]


def plate(builder: ModelBuilder, name: str, size, at, mass: float, contact: ContactMaterial) -> None:
    """A driven box with its centre at `at`."""
    vertices, triangles = shapes.box_surface(size)
    pose = np.eye(4)
    pose[:3, 3] = at
    centred = vertices - 0.5 * (vertices.min(0) + vertices.max(0))
    builder.add_body(name, centred, triangles, contact, transform=pose, mass=mass, driven=True, gravity=False)


def two_gels(mass: float) -> Engine:
    """Gels on the faces of two driven plates, 0.6 mm apart."""
    builder, contact, held = ModelBuilder(gravity=(0, 0, 0)), ContactMaterial(dhat=DHAT, friction_mu=0.5), []
    size = (0.02, 0.016, 0.003)
    for name, side in (("low", -1.0), ("high", 1.0)):
        plate(builder, f"{name}_plate", (0.03, 0.026, 0.01), (0, 0, side * 0.0086), mass, contact)
        gel, tets = shapes.box_tets(3, 3, 2, size)
        gel = gel - 0.5 * (gel.min(0) + gel.max(0))
        held.append(Grasp(f"{name}_gel", np.flatnonzero(side * gel[:, 2] > 0.0014).tolist(), f"{name}_plate"))
        place = np.array([0.001, 0.0007, 0.0018]) * side
        builder.add_solid(f"{name}_gel", gel + place, tets, SolidMaterial(young=1.5e5), contact)
    engine = Engine(builder.finalize(), Options(dt=0.02, newton_tolerance=5e-3, newton_max_iterations=40))
    engine.apply(held)
    return engine


def test_gels_crushed_by_drives_without_limit_never_cross():
    """Plates driven through each other by 16 mm, and back again."""
    engine = two_gels(mass=0.3)
    oracle, told = Intersections(engine.model.collision, engine.model.embedding), []
    for towards in (4e-3, 4e-3, -8e-3):
        control = engine.control()
        control.body_transform[0, :, 2, 3] += np.array([1.0, -1.0]) * towards
        report = engine.step(control)
        told += report.messages
        assert len(oracle.find(engine.positions())) == 0
        assert report.min_distance > 0.99 * 1e-6 * DHAT
    crushed = [text for text in told if "crushed to a gap of" in text]
    assert crushed and all("only a force_limit on the body spares" in text for text in crushed)
    assert any(text.startswith("drive of 'low_plate' is blocked ") for text in crushed)


@pytest.mark.parametrize("drop", [0.0, 1.0], ids=["face on", "slanted"])
def test_no_row_of_updates_brings_a_pair_to_touch(drop):
    """A point that flies at a triangle at 1 m an update: safe steps, one after the other, end at the least gap."""
    x = np.array([[0.21, 0.33, 1e-3], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]) + 0.7
    dx = np.array([[0.1 * drop, 0.0, -1.0], [0.0] * 3, [0.0] * 3, [0.0, 0.0, 0.05 * drop]])
    least, gaps = 1e-6 * DHAT, []
    for _ in range(40):
        x = x + safe_share(x, dx) * dx
        gaps.append(plane_distance(x))
    assert min(gaps) >= least and gaps[-1] < 1.01 * least
    x[0] -= dx[0] * 1e-3
    assert safe_share(x, -dx) == 1.0  # it may part


def safe_share(x: np.ndarray, dx: np.ndarray) -> float:
    """Bound of the update dx of one point-triangle pair [-]."""
    array = lambda values, dtype: wp.array(values, dtype=dtype, device="cpu")  # noqa: E731
    pairs = narrow.CandidateArrays()
    pairs.count, pairs.kind, pairs.world = (array([n], int) for n in (1, 0, 0))
    pairs.points = array([[0, 1, 2, 3]], wp.vec4i)
    pairs.dhat, pairs.min_separation = array([DHAT], wp.float64), array([0.0], wp.float64)
    bound = array([1.0], wp.float64)
    wp.launch(
        narrow.step_bound_kernel, 1,
        [pairs, array(x, wp.vec3d), array(dx, wp.vec3d), array([0], int), array([1], int), wp.float64(0.9), 1], [bound],
        device="cpu",
    )  # fmt: skip
    return float(bound.numpy()[0])


def plane_distance(x: np.ndarray) -> float:
    normal = np.cross(x[2] - x[1], x[3] - x[1])
    return float((x[0] - x[1]) @ normal / np.linalg.norm(normal))
