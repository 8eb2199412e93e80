"""The cluster of a roll: rows riding on a carrier, the front that moves by physics, and the reduced model behind it."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes
from engine.tape.cluster import ClusterSpec, RollCluster
from tests.engine.models import angular_momentum, block, linear_momentum

ROWS, COLUMNS, CELL, RADIUS = 41, 5, 4e-3, 0.1


def tape_model(worlds: int = 1, wound_rows: int = 30, cluster: bool = True, pull: bool = True, arched: bool = True):
    """An arched strip in free space whose first rows are "wound": they ride on a carrier held by an axle; a driven
    block holds the other end."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    vertices, triangles = shapes.grid_mesh((ROWS - 1) * CELL, (COLUMNS - 1) * CELL, ROWS - 1, COLUMNS - 1)
    if arched:
        angle = vertices[:, 0] / RADIUS
        vertices = np.column_stack([RADIUS * np.sin(angle), vertices[:, 1], RADIUS * (np.cos(angle) - 1.0)])
    material = ShellMaterial(young=1e7, poisson=0.3, thickness=2e-4, density=1000.0)
    velocity = np.tile([0.02, 0.0, 0.05], (len(vertices), 1)) + np.cross([0.0, 0.3, 0.1], vertices)
    builder.add_shell("tape", vertices, triangles, material, ContactMaterial(), velocity=None if pull else velocity)
    builder.add_carrier("cluster", vertices[: 20 * COLUMNS].mean(0), 10.0)
    if pull:
        end = range(len(vertices) - COLUMNS, len(vertices))
        block(builder, "hand", size=(0.01, 0.02, 0.01), at=vertices[-1] * (1, 0, 1) + (0.01, 0, 0), driven=True)
        builder.attach("tape", end, "hand")
        builder.add_joint("axle", "fixed", None, "cluster", vertices[: 20 * COLUMNS].mean(0))
    if cluster:
        builder.add_cluster("roll", ClusterSpec("tape", "cluster", ROWS, COLUMNS, wound_rows, 1e-3, 8, collar_rows=6))
    return builder.finalize(worlds)


HAND_HEIGHT = RADIUS * (np.cos(0.5 * (ROWS - 1) * CELL / RADIUS) - 1.0)


def options(**kwargs) -> Options:
    return Options(**{"dt": 0.01, "newton_tolerance": 1e-6, "linear_tolerance": 1e-9, **kwargs})


def lift(engine: Engine, step: int, speed: float = 0.03):
    """Targets that lift the held end, row after row, off the plane of the cluster."""
    control = engine.control()
    control.body_transform[:, 0, 2, 3] = HAND_HEIGHT + speed * 0.01 * (step + 1)
    return control


def test_cluster_costs_no_elements_and_few_points():
    engine = Engine(tape_model(), options())
    reduction = engine.reduction
    assert engine.rolls["roll"].front[0] == 24
    # rows of the collar and beyond, the cluster's last two (hinges reach over), and faces that are not buried
    assert len(reduction.nodes) == 8 + (ROWS - 1 - 24) * COLUMNS  # two bodies; the last row rides on the hand
    assert len(reduction.points) < len(engine.positions())
    membrane = next(e for e in reduction.model.energies if e.name == "membrane")
    assert membrane.num_elements == (ROWS - 24) * (COLUMNS - 1) * 2
    regions = engine.rolls["roll"].regions().reshape(ROWS, COLUMNS)[:, 0]
    assert list(regions) == [0] * 24 + [1] * 6 + [2] * 11


def test_reduced_model_moves_like_the_whole_one():
    """The same rows ride on the carrier in both; only what cannot move is left out."""
    reduced = Engine(tape_model(), options())
    whole = Engine(tape_model(), options())
    whole._working = None
    from engine.stepper.newton import Newton

    whole.newton = Newton(whole.model, whole.state, whole.options)
    whole._refresh_points()
    reduced._advance_rolls = whole._advance_rolls = lambda: None
    for k in range(8):
        reduced.step(lift(reduced, k))
        whole.step(lift(whole, k))
        # the whole model also strains the elements on the cluster, with it, by its 1e-8
        assert np.abs(reduced.mesh_positions("tape") - whole.mesh_positions("tape")).max() < 1e-8
    assert len(reduced.reduction.nodes) < whole.model.num_nodes
    assert np.abs(whole.mesh_positions("tape") - Engine(tape_model(), options()).mesh_positions("tape")).max() > 2e-3


def test_front_follows_the_peel_and_every_row_passes_cluster_collar_free():
    engine = Engine(tape_model(), options())
    roll = engine.rolls["roll"]
    seen = [roll.regions().reshape(ROWS, COLUMNS)[:, 0].copy()]
    fronts = [int(roll.front[0])]
    for k in range(25):
        engine.step(lift(engine, k))
        fronts.append(int(roll.front[0]))
        seen.append(roll.regions().reshape(ROWS, COLUMNS)[:, 0].copy())
    assert fronts[0] > fronts[-1]
    assert all(a >= b for a, b in zip(fronts, fronts[1:], strict=False))  # monotone
    history = np.array(seen)
    assert (np.diff(history, axis=0) >= 0).all()  # no row goes back
    assert (np.diff(history, axis=1) >= 0).all()  # connected: cluster, collar, free along the strip
    # what has not been released has hardly moved: it is still in its place on the carrier
    start, places = Engine(tape_model(), options()).mesh_positions("tape"), engine.mesh_positions("tape")
    assert 0 < fronts[-1] < 24
    assert np.abs(places - start)[: fronts[-1] * COLUMNS].max() < 1e-3


def test_an_advance_conserves_momentum_and_places():
    engine = Engine(tape_model(pull=False), options())
    for _ in range(3):
        engine.step()
    roll = engine.rolls["roll"]
    assert roll.front[0] == 24  # it flies as a whole: nothing left its place
    before = engine.positions(), linear_momentum(engine), angular_momentum(engine)
    from engine import Release

    released = range(20 * COLUMNS, 24 * COLUMNS)
    engine.apply([Release("tape", tuple(released))])
    assert np.abs(engine.positions() - before[0]).max() < 1e-14
    assert np.abs(linear_momentum(engine) - before[1]).max() < 1e-9 * np.abs(before[1]).max()
    assert np.abs(angular_momentum(engine) - before[2]).max() < 1e-9 * np.abs(before[2]).max()


def test_formation_keeps_momentum():
    free = Engine(tape_model(cluster=False, pull=False), options())
    formed = Engine(tape_model(pull=False), options())
    assert np.allclose(linear_momentum(free), linear_momentum(formed), rtol=1e-12, atol=1e-15)
    assert np.allclose(angular_momentum(free), angular_momentum(formed), rtol=1e-9, atol=1e-12)
    assert np.allclose(free.positions(), formed.positions(), atol=1e-15)


def test_resume_and_reset_restore_roll_and_front_bit_for_bit(tmp_path):
    engine = Engine(tape_model(), options())
    for k in range(20):
        engine.step(lift(engine, k))
    assert engine.rolls["roll"].front[0] < 24
    engine.save(tmp_path / "roll.npz")
    other = Engine(tape_model(), options())
    other.load(tmp_path / "roll.npz")
    for k in range(20, 40):
        engine.step(lift(engine, k))
        other.step(lift(other, k))
        assert np.array_equal(engine.positions(), other.positions())
    assert engine.rolls["roll"].front[0] == other.rolls["roll"].front[0]
    other.reset()
    fresh = Engine(tape_model(), options())
    for k in range(10):
        other.step(lift(other, k))
        fresh.step(lift(fresh, k))
        assert np.array_equal(fresh.positions(), other.positions())


def test_worlds_have_fronts_of_their_own():
    batch = Engine(tape_model(worlds=2), options())
    solo = Engine(tape_model(), options())
    for k in range(25):
        control = lift(batch, k)
        control.body_transform[1] = lift(batch, k, speed=0.001).body_transform[1]
        batch.step(control)
        solo.step(lift(solo, k))
        assert np.array_equal(batch.positions(0), solo.positions())
    fronts = batch.rolls["roll"].front
    assert fronts[0] < fronts[1] == 24


def test_coplanar_riders_are_not_clustered():
    engine = Engine(tape_model(arched=False), options())
    assert engine.rolls["roll"].front[0] == 0
    engine.step()


def test_a_small_cluster_dissolves():
    engine = Engine(tape_model(wound_rows=8), options())
    assert engine.rolls["roll"].front[0] == 0  # 8 - 6 rows would be nearly singular
    assert engine.reduction is None
    engine.step(lift(engine, 0))


def test_bad_specifications():
    with pytest.raises(ValueError, match=r"wound_rows is 99; it must lie in 1\.\.41"):
        ClusterSpec("tape", "cluster", ROWS, COLUMNS, 99, 4e-4, 8)
    with pytest.raises(ValueError, match="release_distance is 0.0; it must be greater than 0"):
        ClusterSpec("tape", "cluster", ROWS, COLUMNS, 30, 0.0, 8)
    model = tape_model(cluster=False)
    with pytest.raises(ValueError, match="mesh 'tape' has 205 points; 10 rows of 5 need 50"):
        RollCluster(ClusterSpec("tape", "cluster", 10, COLUMNS, 8, 4e-4, 8), model)
    builder = ModelBuilder()
    with pytest.raises(ValueError, match="no carrier 'cluster'; bodies: none"):
        builder.add_cluster("roll", ClusterSpec("tape", "cluster", ROWS, COLUMNS, 30, 4e-4, 8))
