"""Cases that users of other simulators met: contact in awkward places. Each ends and stays apart."""

from __future__ import annotations

import ipctk
import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh import shapes
from tests.engine.models import SOFT_SHEET, add_ground, block, rotation_about, soft_pad


def intersects(engine: Engine) -> bool:
    """Independent check of world 0 by ipctk."""
    model = engine.model
    triangles = np.concatenate([m.triangles + m.points.start for m in model.meshes.values()])
    used = np.unique(triangles)
    renumbered = np.searchsorted(used, triangles)
    mesh = ipctk.CollisionMesh(engine.positions()[used], ipctk.edges(renumbered), renumbered)
    return ipctk.has_intersections(mesh, engine.positions()[used])


def aligned_stack(mu: float = 0.5, tilt: float = 0.0, lower: float = 0.04) -> tuple[Engine, np.ndarray]:
    """A cube on a static slab, centres aligned: all edges parallel, for equal widths collinear."""
    rotation = rotation_about((0, 1, 0), tilt)
    contact = ContactMaterial(dhat=1e-3, friction_mu=mu, kappa=1e6)
    builder = ModelBuilder()
    vertices, triangles = shapes.box_surface((lower, lower, 0.04))
    builder.add_static("lower", vertices @ rotation.T, triangles, contact)
    block(builder, "upper", size=(0.04, 0.04, 0.04), at=rotation @ [0, 0, 0.0409], rotation=rotation, contact=contact)
    options = Options(dt=0.01, newton_tolerance=1e-4, linear_tolerance=1e-6)
    return Engine(builder.finalize(), options), rotation @ np.array([1.0, 0, 0])


def test_parallel_edges_and_coplanar_faces_hold_and_keep_friction():
    engine, downhill = aligned_stack(tilt=np.arctan(0.5) - np.radians(3))
    for _ in range(60):
        report = engine.step()
        assert report.converged and np.isfinite(report.newton_residual)
    assert abs(engine.state.v.numpy()[0] @ downhill) < 1e-3
    assert not intersects(engine)


def test_parallel_edges_without_friction_slide():
    engine, downhill = aligned_stack(mu=0.0, tilt=0.2, lower=0.2)
    for _ in range(20):
        engine.step()
    assert engine.state.v.numpy()[0] @ downhill == pytest.approx(9.81 * np.sin(0.2) * 0.2, rel=0.05)


@pytest.mark.parametrize("edge_on", [False, True])
def test_fast_drop_is_bounded_and_does_not_tunnel(edge_on):
    """10 m/s at dt 1/30: 33 cm a step, thirty times the size of the ground's thickness."""
    builder = ModelBuilder()
    vertices, triangles = shapes.grid_mesh(0.1, 0.1, 8, 8)
    turn = rotation_about((0, 1, 0.1), np.pi / 2 if edge_on else 0.1)
    start = vertices @ turn.T + (0, 0, 0.5)
    builder.add_shell(
        "sheet", start, triangles, SOFT_SHEET, ContactMaterial(), velocity=np.tile([0, 0, -10.0], (len(start), 1))
    )
    block(builder, "slab", size=(0.4, 0.4, 0.01), at=(0.013, 0.007, 0.0), driven=True, gravity=False)
    engine = Engine(builder.finalize(), Options(dt=1 / 30, newton_tolerance=1e-2))
    lowest = []
    for _ in range(8):
        report = engine.step()
        assert report.newton_iterations <= 60
        assert report.candidates < 60_000
        assert not intersects(engine)
        lowest.append(engine.mesh_positions("sheet")[:, 2].min())
    assert min(lowest) > 0.005
    assert report.contacts > 0


def test_gap_just_above_the_thickness_without_gravity():
    thickness = 1e-3
    contact = ContactMaterial(dhat=1e-3, half_thickness=thickness / 2)
    builder = ModelBuilder(gravity=(0, 0, 0))
    vertices, triangles = shapes.grid_mesh(0.05, 0.05, 4, 4)
    builder.add_shell("upper", vertices + (0, 0, thickness + 1e-5), triangles, SOFT_SHEET, contact)
    builder.add_shell("lower", vertices @ rotation_about((0, 0, 1), 0.4).T, triangles, SOFT_SHEET, contact)
    engine = Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-3))
    for _ in range(10):
        report = engine.step()
        assert report.converged
        assert report.min_distance > 0.0
    gap = engine.mesh_positions("upper")[:, 2].mean() - engine.mesh_positions("lower")[:, 2].mean()
    assert gap > thickness + 1e-5  # it was pressed: it opens


def test_thin_layer_between_two_driven_bodies_is_not_passed():
    """Plates that would overlap by a centimetre stop short of each other and say so."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    vertices, triangles = shapes.grid_mesh(0.03, 0.03, 4, 4)
    builder.add_shell("layer", vertices, triangles, SOFT_SHEET, ContactMaterial(dhat=5e-4))
    for name, side in (("above", 1.0), ("below", -1.0)):
        block(
            builder,
            name,
            size=(0.05, 0.05, 0.01),
            at=(0.003, 0.002, side * 0.008),
            driven=True,
            contact=ContactMaterial(dhat=5e-4),
        )
    engine = Engine(builder.finalize(), Options(dt=1 / 30))
    for k in range(8):
        control = engine.control()
        control.body_transform[0, 0, 2, 3] = 0.008 - 1e-3 * (k + 1)
        control.body_transform[0, 1, 2, 3] = -0.008 + 1e-3 * (k + 1)
        report = engine.step(control)
        assert not intersects(engine)
    assert engine.body_transform("above")[2, 3] > engine.body_transform("below")[2, 3] + 0.01
    assert report.drive_gap > 2e-3
    assert any("is blocked" in message and "short of its target" in message for message in report.messages)


def test_driven_body_pushed_through_another_yields():
    builder = ModelBuilder(gravity=(0, 0, 0))
    block(builder, "wall", size=(0.02, 0.1, 0.1), at=(0.05, 0, 0), driven=True)
    block(builder, "pusher", size=(0.02, 0.03, 0.03), at=(0.0, 0.004, 0.003), driven=True, force_limit=10.0)
    engine = Engine(builder.finalize(), Options(dt=1 / 30))
    pusher = engine.driven_bodies.index("pusher")
    for k in range(12):
        control = engine.control()
        control.body_transform[0, pusher, 0, 3] = 0.01 * (k + 1)
        report = engine.step(control)
        assert not intersects(engine)
    assert engine.body_transform("pusher")[0, 3] < 0.03
    signals = engine.signals()
    assert np.linalg.norm(signals.drive_force[0, pusher]) == pytest.approx(10.0, rel=0.05)  # what the operator feels
    assert signals.drive_gap[0, pusher, 0] == pytest.approx(0.12 - engine.body_transform("pusher")[0, 3], abs=1e-6)
    assert report.drive_gap > 0.08
    assert "drive of 'pusher' is held back by its force limit of 10 N," in report.messages[-1]


def test_crowded_step_grows_its_buffers_and_keeps_every_pair():
    """The same run with a list that is too short at first: same bits, and the report says that it grew."""

    def run(capacity: int):
        builder = ModelBuilder()
        add_ground(builder)
        for k in range(3):
            vertices, triangles = shapes.grid_mesh(0.05, 0.05, 6, 6)
            turn = rotation_about((0, 0, 1), 0.3 * k)
            builder.add_shell(
                f"sheet{k}", vertices @ turn.T + (0, 0, 2e-3 + 2e-3 * k), triangles, SOFT_SHEET, ContactMaterial()
            )
        engine = Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-3))
        if capacity:
            engine.newton.system.candidates._allocate_list(capacity)
            engine.newton.system.size_contact()
            engine.newton.stages.clear()
        messages = []
        for _ in range(25):
            messages += engine.step().messages
        assert engine.report.contacts > 200
        return engine.state.x.numpy(), messages

    plain, _ = run(0)
    grown, messages = run(64)
    assert np.array_equal(plain, grown)
    assert sum("contact buffers grew to" in m for m in messages) >= 1
    assert sum("contact buffers grew to" in m for m in messages) < 8  # it does not oscillate


def test_squeezed_gel_keeps_its_tets_upright():
    builder = ModelBuilder(gravity=(0, 0, 0))
    soft_pad(builder, cells=(4, 4, 2), size=(0.02, 0.02, 0.006))
    for name, side in (("above", 1.0), ("below", -1.0)):
        block(
            builder,
            name,
            size=(0.03, 0.03, 0.01),
            at=(0.001, 0.002, side * 0.0082),
            driven=True,
            force_limit=200.0,
            contact=ContactMaterial(dhat=1e-4),
        )
    engine = Engine(builder.finalize(), Options(dt=1 / 30))
    tets = engine.model.meshes["pad"].tets
    for k in range(10):
        control = engine.control()
        control.body_transform[0, 0, 2, 3] = 0.0082 - 1.5e-4 * (k + 1)
        control.body_transform[0, 1, 2, 3] = -0.0082 + 1.5e-4 * (k + 1)
        engine.step(control)
        x = engine.mesh_positions("pad")[tets]
        assert np.linalg.det(x[:, 1:] - x[:, :1]).min() > 0.0
        assert not intersects(engine)
    height = np.ptp(engine.mesh_positions("pad")[:, 2])
    assert height < 0.0045  # it really is squeezed
