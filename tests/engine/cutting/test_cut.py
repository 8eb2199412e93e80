"""A cut in a running engine: two pieces, all mass and momentum, no energy from nowhere, no intersection, no trace after
a reset, and the same run after a restart."""

from __future__ import annotations

import numpy as np
import pytest

from bench.stress_run import IntersectionOracle
from engine import ContactMaterial, Cut, Engine, ModelBuilder, Options
from engine.cutting.splitting import smallest_angle
from tests.engine.cutting.cut_scenes import (
    ACROSS,
    CONTACT,
    TAPE,
    add_strip,
    elastic_energy,
    kinetic_energy,
    options,
    taut_strip,
    tension,
)
from tests.engine.cutting.meshes import pieces
from tests.engine.models import SOFT_SHEET, add_ground, angular_momentum, linear_momentum, sheet_on_ground, spin


def mass(engine: Engine) -> float:
    return float(engine.model.node_mass.numpy().sum() + engine.model.body_mass.numpy()[:, 0, 0].sum())


def free_strip(**kwargs) -> Engine:
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    add_strip(builder, pinned=None, stretch=1.0, **kwargs)
    return Engine(builder.finalize(), options())


def lies_apart(engine: Engine) -> bool:
    """No intersection, by an independent test."""
    return not IntersectionOracle(engine.model, engine.positions()).intersects(engine.positions())


def test_a_taut_strip_falls_in_two_and_its_tension_is_gone():
    engine, whole = taut_strip(), taut_strip()
    pull = tension(engine, 0.0501)
    assert pull == pytest.approx(1e8 * 0.178e-3 * 0.019 * 0.002, rel=0.05)
    engine.apply([Cut("strip", ACROSS)])
    info = engine.model.meshes["strip"]
    assert pieces(info.triangles) == 2 and lies_apart(engine)
    assert np.degrees(smallest_angle(info.rest[info.triangles])) > 10.0
    assert np.degrees(smallest_angle(engine.mesh_positions("strip")[info.triangles])) > 10.0
    lips = np.bincount(info.cut.seam, minlength=len(info.cut.seam))[info.cut.seam] > 1
    for _ in range(60):
        assert engine.step().converged
        whole.step()
        assert lies_apart(engine)
    for end in (-0.0501, 0.0501):
        assert tension(engine, end) < 1e-3 * pull
        assert tension(whole, end) > 0.99 * pull  # the matched run holds
    x = engine.mesh_positions("strip")[lips, 0]
    left = engine.mesh_positions("strip")[np.flatnonzero(lips)][x.argsort()]
    assert np.ptp(left[:, 0]) > 1e-4  # the lips have parted


def test_mass_and_momentum_pass_through_the_cut():
    engine = free_strip()
    spin(engine, (0.3, 2.0, -1.0), velocity=(0.1, 0.2, -0.3))
    rng = np.random.default_rng(0)
    v = engine.state.v.numpy()
    engine.state.v.assign(v + 0.1 * rng.normal(size=v.shape))
    whole, momentum, turning, energy = (
        mass(engine),
        linear_momentum(engine),
        angular_momentum(engine),
        kinetic_energy(engine),
    )
    for line in (ACROSS, ((-0.03, -0.02), (-0.01, 0.02)), ((-0.04, 0.001), (0.0, 0.002))):
        engine.apply([Cut("strip", line)])
        assert abs(mass(engine) / whole - 1.0) < 1e-12
        assert np.abs(linear_momentum(engine) - momentum).max() < 1e-12 * np.abs(momentum).max()
        assert np.abs(angular_momentum(engine) - turning).max() < 0.02 * np.abs(turning).max()  # noise between points
        assert kinetic_energy(engine) < energy * (1.0 + 1e-12)  # a finer mesh never makes motion
    assert len(engine.cuts) == 3


def test_rigid_motion_keeps_its_turning():
    engine = free_strip()
    spin(engine, (0.3, 2.0, -1.0), velocity=(0.1, 0.2, -0.3))
    turning = angular_momentum(engine)
    engine.apply([Cut("strip", ACROSS)])
    assert np.abs(angular_momentum(engine) - turning).max() < 1e-3 * np.abs(turning).max()


@pytest.mark.parametrize("line", [ACROSS, ((0.0, -0.02), (0.0, 0.003)), ((-0.03, 0.001), (0.03, 0.004))])
def test_no_energy_comes_from_a_cut(line):
    engine = taut_strip()
    before = elastic_energy(engine)
    engine.apply([Cut("strip", line)])
    assert before > 0.0
    assert before * 0.99 < elastic_energy(engine) < before * 1.01
    after, total = elastic_energy(engine), kinetic_energy(engine) + elastic_energy(engine)
    for _ in range(10):
        engine.step()
        now = kinetic_energy(engine) + elastic_energy(engine)
        assert now < total * 1.001 + 1e-12
        total = now
    assert total <= after


def test_a_bent_sheet_gains_no_bending_energy():
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    from engine.mesh import shapes

    vertices, triangles = shapes.strip_mesh(0.06, 0.019, 6)
    angle = vertices[:, 0] / 0.02
    bent = np.column_stack([0.02 * np.sin(angle), vertices[:, 1], 0.02 * (1.0 - np.cos(angle))])
    builder.add_shell("strip", bent, triangles, TAPE, CONTACT, rest_vertices=vertices)
    engine = Engine(builder.finalize(), options())
    before = elastic_energy(engine)
    engine.apply([Cut("strip", ((0.002, -0.02), (0.009, 0.02)))])
    assert elastic_energy(engine) < 1.01 * before
    assert lies_apart(engine)


def test_a_partial_cut_opens_and_the_next_one_finishes_it():
    engine = taut_strip()
    engine.apply([Cut("strip", ((0.01, -0.02), (0.01, 0.001)))])
    for _ in range(4):
        engine.step()
    pull = tension(engine, 0.0501)
    assert pieces(engine.model.meshes["strip"].triangles) == 1 and 0.3 < pull < 6.4
    seams = engine.model.meshes["strip"].cut.seam
    twins = np.flatnonzero(np.bincount(seams, minlength=len(seams))[seams] > 1)
    x = engine.mesh_positions("strip")[twins]
    assert max(np.ptp(x[seams[twins] == s][:, 0]) for s in np.unique(seams[twins])) > 3e-5  # it gapes
    engine.apply([Cut("strip", ((0.01, -0.02), (0.01, 0.02)))])
    assert pieces(engine.model.meshes["strip"].triangles) == 2
    for _ in range(20):
        engine.step()
    assert tension(engine, 0.0501) < 1e-2 * pull and lies_apart(engine)
    with pytest.raises(
        ValueError, match="parts nothing: it does not cross mesh 'strip', runs along its border or an older cut"
    ):
        engine.apply([Cut("strip", ((0.01, -0.02), (0.01, 0.02)))])


def test_a_cut_by_a_line_in_the_world_follows_the_sheet():
    engine = taut_strip(stretch=1.05)
    blade = ((0.021, -0.03, 1e-4), (0.021, 0.03, -1e-4))
    engine.apply([Cut("strip", blade, space="world")])
    (record,) = engine.cuts
    assert pieces(engine.model.meshes["strip"].triangles) == 2
    assert record.lines[0][:, 0] == pytest.approx(0.021 / 1.05, abs=2e-4)  # the material there
    with pytest.raises(ValueError, match=r"the cut's line in the world, .* is not over mesh 'strip'"):
        engine.apply([Cut("strip", ((0.0, -0.03, 0.05), (0.0, 0.03, 0.05)), space="world")])


def test_lips_that_are_pressed_together_do_not_cross():
    """A slit in a sheet that falls on the ground and slides together: every state is free of intersections."""
    builder = ModelBuilder()
    from engine.mesh import shapes

    vertices, triangles = shapes.grid_mesh(0.06, 0.06, 8, 8)
    builder.add_shell("sheet", vertices + (0, 0, 0.002), triangles, SOFT_SHEET, ContactMaterial(half_thickness=2e-4))
    add_ground(builder)
    engine = Engine(builder.finalize(), Options(dt=0.01, newton_tolerance=1e-3))
    engine.apply([Cut("sheet", ((-0.02, -0.013), (0.021, 0.012)))])
    v = engine.state.v.numpy()
    places = engine.mesh_positions("sheet")
    v[:, 0] -= 6.0 * places[:, 0]  # squeezed
    v[:, 1] -= 6.0 * places[:, 1]
    engine.state.v.assign(v)
    lip_contacts = 0
    for _ in range(25):
        engine.step()
        assert lies_apart(engine)
        system = engine.newton.system
        active = system.active.numpy()[: int(system.active_count.numpy()[0])]
        lip_contacts += int((system.candidates.dhat.numpy()[active] < 1e-5).sum())
    assert lip_contacts > 0, "lips that never meet prove nothing"


def test_resume_after_cuts_is_bit_equal(tmp_path):
    engine = taut_strip()
    engine.apply([Cut("strip", ACROSS)])
    engine.step()
    engine.apply([Cut("strip", ((-0.02, -0.02), (-0.02, 0.02, 0.0)[:2]))])
    for _ in range(2):
        engine.step()
    engine.save(tmp_path / "cut.npz")
    other = taut_strip(steps=1)
    other.load(tmp_path / "cut.npz")
    assert other.model.num_points == engine.model.num_points and len(other.cuts) == 2
    for _ in range(4):
        engine.step()
        other.step()
        assert np.array_equal(engine.positions(), other.positions())
    version = engine.model.topology_version
    assert version > 0 and other.model.topology_version > 0
    before = taut_strip()
    engine.set_state(before.get_state())  # undo by a checkpoint of before
    assert engine.model.topology_version > version
    assert not engine.cuts and engine.model.num_points == before.model.num_points
    engine.step()
    before.step()
    assert np.array_equal(engine.positions(), before.positions())


def test_reset_undoes_cuts():
    engine, fresh = taut_strip(), taut_strip(steps=0)
    engine.apply([Cut("strip", ACROSS)])
    engine.step()
    engine.reset()
    assert not engine.cuts
    for _ in range(2):
        engine.step()
        fresh.step()
        assert np.array_equal(engine.positions(), fresh.positions())


def test_other_meshes_keep_their_names_and_places():
    builder = ModelBuilder(gravity=(0, 0, 0))
    add_strip(builder)
    from engine.mesh import shapes

    vertices, triangles = shapes.grid_mesh(0.02, 0.02, 3, 3)
    builder.add_shell("other", vertices + (0, 0.05, 0), triangles, SOFT_SHEET, velocity=(0, 0, 0.1))
    engine = Engine(builder.finalize(), options())
    engine.step()
    before, version = engine.mesh_positions("other"), engine.model.topology_version
    strip = engine.mesh_positions("strip")
    engine.apply([Cut("strip", ACROSS)])
    assert np.array_equal(engine.mesh_positions("other"), before)
    assert np.abs(engine.mesh_positions("strip")[: len(strip)] - strip).max() < 1.2e-5  # half a kerf, at a corner more
    assert engine.model.topology_version > version
    engine.step()
    assert np.allclose(engine.mesh_positions("other") - before, (0, 0, 0.1 * 0.005), atol=1e-9)


def test_worlds_are_cut_alike_and_go_on_alone():
    batch, solo = taut_strip(worlds=2), taut_strip()
    for engine in (batch, solo):
        engine.apply([Cut("strip", ACROSS)])
        engine.step()
    for w in (0, 1):
        assert np.array_equal(batch.positions(w), solo.positions())
    batch.reset(world=1)
    assert len(batch.cuts) == 1 and np.array_equal(batch.positions(0), solo.positions())
    assert np.abs(batch.mesh_positions("strip", 1)[:, 2]).max() == 0.0


def test_bad_cuts_change_nothing():
    engine = taut_strip()
    state = engine.get_state()
    for edit, error, text in (
        (Cut("tape", ACROSS), KeyError, "no mesh 'tape'; available: strip"),
        (
            Cut("strip", ((1.0, 0.0), (1.0, 1.0))),
            ValueError,
            r"from \[1\.0, 0\.0\] to \[1\.0, 1\.0\] m .* parts nothing: it does not cross mesh",
        ),
        (Cut("strip", ((0.0, 0.0002), (0.004, 0.0002))), ValueError, "along one edge inside the sheet"),
        (Cut("strip", ACROSS, world=3), ValueError, r"world is 3; this model has worlds 0\.\.0"),
    ):
        with pytest.raises(error, match=text):
            engine.apply([edit])
        assert all(np.array_equal(v, state[k]) for k, v in engine.get_state().items())
    with pytest.raises(ValueError, match=r"cannot apply 3; legal edits: Grasp, Release, Cut"):
        engine.apply([Cut("strip", ACROSS), 3])
    assert not engine.cuts and engine.model.topology_version == 0
    engine.step()
    with pytest.raises(ValueError, match=r"Cut\.line has shape \(1, 2\); it must be finite, \(k, 2 or 3\) with k >= 2"):
        Cut("strip", ((0.0, 0.0),))
    with pytest.raises(ValueError, match=r"Cut\.space is 'screen'; legal values: rest, world"):
        Cut("strip", ACROSS, space="screen")
    with pytest.raises(ValueError, match=r"Cut\.reach is 0; it must be greater than 0, or None"):
        Cut("strip", ACROSS, reach=0)
    bad = engine.get_state() | {"cut_index": np.zeros(1, np.int64)}
    with pytest.raises(ValueError, match="'cut_index', 'cut_mesh', 'cut_size' and 'cut_points' do not fit"):
        engine.set_state(bad)


def test_only_flat_shells_are_cut():
    engine = sheet_on_ground(cells=3)
    with pytest.raises(ValueError, match="mesh 'ground' is a static; only shells can be cut"):
        engine.apply([Cut("ground", ACROSS)])
    builder = ModelBuilder(gravity=(0, 0, 0))
    vertices, triangles = np.array([[0, 0, 0], [0.1, 0, 0], [0.1, 0.1, 0.02], [0, 0.1, 0.0]]), [[0, 1, 2], [0, 2, 3]]
    builder.add_shell("bowl", vertices, np.array(triangles), SOFT_SHEET)
    with pytest.raises(ValueError, match="mesh 'bowl' cannot be cut: its rest shape is not flat"):
        Engine(builder.finalize(), options()).apply([Cut("bowl", ((0, 0), (1, 1)))])


def test_a_cut_keeps_the_past_that_bdf2_reads():
    """A strip in free flight: BDF2 sees two equal velocities and goes on without a jerk."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    add_strip(builder, pinned=None, stretch=1.0, velocity=(0.2, -0.1, 0.3))
    engine = Engine(builder.finalize(), options(integrator="bdf2", newton_tolerance=1e-6))
    for _ in range(3):
        engine.step()
    engine.apply([Cut("strip", ACROSS)])
    start = engine.mesh_positions("strip")
    assert engine.signals().contact_force.shape == (1, engine.model.points_per_world, 3)  # readable before a step
    for _ in range(2):
        engine.step()
    assert np.abs(engine.mesh_positions("strip") - start - 2 * 0.005 * np.array([0.2, -0.1, 0.3])).max() < 1e-9
