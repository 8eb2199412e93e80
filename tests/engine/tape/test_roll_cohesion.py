"""A wound, sticky roll whose deep part rides on a cluster: it pays out, and its history survives renumbering."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.adhesion.numbering import whole_state
from engine.energies.base import StepInputs
from engine.materials import BondAdhesive, FrontAdhesive
from engine.tape.cluster import ClusterSpec
from engine.tape.placing import add_roll
from engine.tape.winding import RollSpec, wind_roll
from tests.engine.cutting.cut_scenes import kinetic_energy
from tests.engine.models import angular_momentum, block, linear_momentum

DT = 0.01


def sticky_roll(turns: float = 3.0, worlds: int = 1, adhesive=None):
    """A free roll on an axle without gravity; a driven block pulls its tip straight away at 25 mm/s."""
    spec = RollSpec(
        turns=turns,
        free_length=0.04,
        material=ShellMaterial(young=1e8, poisson=0.45, thickness=0.178e-3, density=1300.0),
        contact=ContactMaterial(dhat=0.18e-3, half_thickness=0.089e-3, friction_mu=0.3),
    )
    asset = wind_roll(spec)
    builder = ModelBuilder(gravity=(0, 0, 0))
    tape, core = add_roll(builder, "tape", asset)
    builder.add_adhesion("tape", "negative", ["tape", core], adhesive or FrontAdhesive(work=20.0))
    tip = asset.vertices[-7:].mean(0)
    block(builder, "hand", size=(0.01, 0.03, 0.01), at=tip + (0.012, 0, 0), driven=True, gravity=False)
    builder.attach("tape", range(len(asset.vertices) - 7, len(asset.vertices)), "hand")
    builder.add_joint("axle", "revolute", None, core, (0, 0, 0), (0, 1, 0))
    volume = asset.num_wound_rows * spec.cell * spec.width * spec.material.thickness
    builder.add_carrier("cluster", (0, 0, 0), 1e8 * volume)
    cover = int(1.3 * 2 * np.pi * asset.outer_radius / spec.cell)
    builder.add_cluster(
        "roll", ClusterSpec(tape, "cluster", asset.num_rows, 7, asset.num_wound_rows, 5 * 0.18e-3, cover)
    )
    return Engine(builder.finalize(worlds), Options(dt=DT, newton_tolerance=1e-3, linear_tolerance=1e-3))


def pull(engine: Engine, step: int) -> None:
    control = engine.control()
    control.body_transform[:, 0, 0, 3] += 0.025 * DT * min(1.0, step / 20)
    engine.step(control)


def test_roll_turns_as_it_is_paid_out_and_the_front_follows():
    engine = sticky_roll()
    roll = engine.rolls["roll"]
    start, turned, last = int(roll.front[0]), 0.0, 0.0
    fronts = []
    for k in range(130):
        pull(engine, k)
        assert engine.report.converged
        fronts.append(int(roll.front[0]))
        pose = engine.body_transform("tape_core")
        angle = np.arctan2(pose[0, 2], pose[2, 2])
        turned += (angle - last + np.pi) % (2 * np.pi) - np.pi
        last = angle
    assert fronts[-1] < start and all(a >= b for a, b in zip(fronts, fronts[1:], strict=False))
    radius = np.linalg.norm(engine.mesh_positions("tape")[: 60 * 7, [0, 2]], axis=1).max()
    paid = 0.025 * DT * (130 - 10.5)  # the ramp takes ten steps and a half
    # nothing slips: what the hand took came off the circumference; slack of the start and the collar's bulge remain
    assert abs(abs(turned) * radius - paid) < 0.2 * paid
    # the cluster has held: its points lie where they were wound, in the core's frame
    core = engine.body_transform("tape_core")
    wound = (engine.mesh_positions("tape")[: 40 * 7] - core[:3, 3]) @ core[:3, :3]
    fresh = sticky_roll().mesh_positions("tape")[: 40 * 7]
    assert np.abs(np.linalg.norm(wound[:, [0, 2]], axis=1) - np.linalg.norm(fresh[:, [0, 2]], axis=1)).max() < 2e-4


def test_history_survives_renumbering_saving_and_reset(tmp_path):
    engine = sticky_roll()
    (term,) = engine.interfaces
    start = whole_state(term)
    stuck = (start["triangle"][:, 0] >= 0).sum()
    assert stuck > 500 and (term.get_state()["triangle"][:, 0] >= 0).sum() < stuck  # some are set aside
    for k in range(90):
        pull(engine, k)
    assert engine.rolls["roll"].front[0] < sticky_roll().rolls["roll"].front[0]
    engine.save(tmp_path / "roll.npz")
    other = sticky_roll()
    other.load(tmp_path / "roll.npz")
    for name, values in whole_state(term).items():
        assert np.array_equal(values, whole_state(other.interfaces[0])[name]), name
    for k in range(90, 110):
        pull(engine, k)
        pull(other, k)
        assert np.array_equal(engine.positions(), other.positions())
    other.reset()
    fresh = sticky_roll()
    for k in range(5):
        pull(other, k)
        pull(fresh, k)
        assert np.array_equal(other.positions(), fresh.positions())


def whole_energy(engine: Engine) -> float:
    """Kinetic, and elastic of the whole strip, wound part included [J]."""
    points = wp.array(engine.positions(), dtype=wp.vec3d)
    inputs = StepInputs(points, points, engine.newton.system.step_size)
    total = wp.zeros(1, dtype=wp.float64)
    for energy in engine.model.energies:
        if energy.name in ("membrane", "hinge"):
            energy.launch_value(inputs, total)
    return float(total.numpy().sum()) + kinetic_energy(engine)


def test_an_advance_by_physics_conserves_momentum_and_adds_no_energy():
    engine = sticky_roll(2.0)
    apply, seen = engine.apply, []

    def watched(edits) -> None:
        before = linear_momentum(engine), angular_momentum(engine), whole_energy(engine), engine.positions()
        apply(edits)
        after = linear_momentum(engine), angular_momentum(engine), whole_energy(engine), engine.positions()
        seen.append((before, after))

    engine.apply = watched
    for k in range(75):
        pull(engine, k)
    assert seen and int(engine.rolls["roll"].front[0]) > 0
    for before, after in seen:
        for k in (0, 1):
            assert np.abs(after[k] - before[k]).max() < 1e-9 * np.abs(before[k]).max()
        assert before[2] > 0.0 and abs(after[2] / before[2] - 1.0) < 1e-9  # the issue asks for 1 %
        assert np.abs(after[3] - before[3]).max() < 1e-14


def test_bonds_cleared_by_hand_do_not_move_the_front_and_reset_restores_all():
    """Trap 17 on a roll."""
    engine = sticky_roll(2.0, adhesive=BondAdhesive())
    term, roll, before = engine.interfaces[0], engine.rolls["roll"], engine.get_state()
    front, stuck = int(roll.front[0]), len(term.stuck_points())
    collar = engine.model.meshes["tape"].points.start + np.flatnonzero(roll.regions() == 1)
    term.clear(collar)
    assert len(term.stuck_points()) < stuck
    engine.step()  # one: then nothing holds the bent tape, it springs off and takes rows along
    assert int(roll.front[0]) == front and len(term.released_points()) == 0
    for k in range(60):
        pull(engine, k)
    assert int(roll.front[0]) < front
    engine.reset()
    for name, values in before.items():
        assert np.array_equal(engine.get_state()[name], values), name
