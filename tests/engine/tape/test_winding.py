"""Wound rolls: exact lengths and masses, sides, clearance, rest after settling, files."""

from __future__ import annotations

from dataclasses import replace

import ipctk
import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh.proximity import point_triangle_distances
from engine.mesh.rest import triangle_normals
from engine.settling import NAME, point_speed, settle_roll, settling_engine
from engine.tape import PRESETS, RollSpec, add_roll, core_name, load_roll, preset, save_roll, shipped_roll, wind_roll
from engine.tape.asset import ARRAYS
from engine.tape.layers import core_positions, corner_positions

SMALL = preset("cloth_19mm", turns=2.0, free_length=0.012).spec


@pytest.fixture(scope="module")
def wound():
    return wind_roll(SMALL)


@pytest.fixture(scope="module")
def settled(wound):
    return settle_roll(wound)


def edges_of(triangles):
    return np.unique(np.sort(np.vstack([triangles[:, k] for k in ([0, 1], [1, 2], [2, 0])]), axis=1), axis=0)


def lengths(vertices, edges):
    return np.linalg.norm(vertices[edges[:, 1]] - vertices[edges[:, 0]], axis=1)


def radius(points):
    return np.hypot(points[:, 0], points[:, 2])


def wound_points(asset):
    return asset.num_wound_rows * (asset.spec.cells_across + 1)


@pytest.mark.parametrize("name", list(PRESETS))
def test_winding_bends_but_never_stretches(name):
    """Every edge keeps its rest length: arc length is exact and the membrane is without stress."""
    asset = wind_roll(preset(name, turns=5.0).spec)
    edges = edges_of(asset.triangles)
    np.testing.assert_allclose(lengths(asset.vertices, edges), lengths(asset.rest_vertices, edges), rtol=1e-11)
    rows = asset.vertices[:: asset.spec.cells_across + 1]
    assert np.linalg.norm(np.diff(rows, axis=0), axis=1).sum() == pytest.approx(asset.arc_length[-1], rel=1e-12)


def test_turns_pitch_and_free_end():
    spec = replace(SMALL, turns=3.0, free_length=0.03)
    asset = wind_roll(spec)
    angles = asset.row_angle[: asset.num_wound_rows]
    cell_angle = spec.cell / spec.inner_radius
    assert 6 * np.pi <= angles[-1] < 6 * np.pi + cell_angle
    rows = radius(asset.vertices[:: spec.cells_across + 1][: asset.num_wound_rows])
    assert np.all(np.diff(rows) > -1e-12)
    # one pitch further out every turn
    outer = np.interp(angles[angles < 4 * np.pi] + 2 * np.pi, angles, rows)
    np.testing.assert_allclose(outer - rows[angles < 4 * np.pi], spec.layer_pitch, atol=0.02 * spec.layer_pitch)
    assert rows[0] == pytest.approx(spec.core_outer_radius + spec.layer_pitch, rel=1e-12)
    # the free end: straight, along +x at the top, of the asked length to half a cell
    free = asset.vertices[-(spec.cells_across + 1) * round(0.03 / spec.cell) :]
    assert np.ptp(free[:, 2]) < 1e-12 and free[:, 2].min() > 0.9 * spec.core_outer_radius
    assert asset.vertices[-1, 0] - asset.vertices[wound_points(asset) - 1, 0] == pytest.approx(0.03, abs=spec.cell / 2)


def test_adhesive_side_faces_the_core(wound):
    """Normals point away from the axis, so the negative side is the inner one; it sticks and the outer one does not."""
    inside = wound.triangles[wound.triangles.max(axis=1) < wound_points(wound)]
    normals = triangle_normals(wound.vertices, inside)
    outward = wound.vertices[inside].mean(axis=1) * (1.0, 0.0, 1.0)
    assert np.all(np.einsum("ij,ij->i", normals, outward) > 0.99 * np.linalg.norm(normals, axis=1) * radius(outward))
    builder = ModelBuilder(gravity=(0, 0, 0))
    add_roll(builder, "tape", wound, adhesive=PRESETS["cloth_19mm"].adhesive)
    engine = Engine(builder.finalize(), Options(dt=0.01))
    stuck = engine.interfaces[0].stuck_points() - engine.model.meshes["tape"].points.start
    rows = wound.row_of_point[stuck]
    first_turn = wound.row_angle[rows] < 2 * np.pi
    assert set(stuck) == set(wound.feet.point)
    assert first_turn.sum() > 0.85 * (wound.row_angle[wound.row_of_point] < 2 * np.pi).sum()  # all but the step
    assert rows.max() == wound.num_wound_rows - 1  # layers stick up to the tangent row


def test_every_point_stuck_to_the_layer_under_it(wound):
    feet = wound.feet
    corners = corner_positions(wound, feet.corners, feet.on_core)
    np.testing.assert_allclose(point_triangle_distances(wound.vertices[feet.point], *corners), feet.distance, rtol=1e-9)
    np.testing.assert_allclose(np.abs(feet.place[:, 2]), feet.distance, rtol=1e-6)  # right above the triangle
    below = radius(np.mean(corners, axis=0)) < radius(wound.vertices[feet.point])
    assert below.all()
    angle = wound.row_angle[wound.row_of_point[feet.point]]
    assert np.array_equal(feet.on_core, angle < 2 * np.pi)
    turned = angle[~feet.on_core] - wound.row_angle[wound.row_of_point[feet.corners[~feet.on_core]]].mean(axis=1)
    np.testing.assert_allclose(turned, 2 * np.pi, atol=0.6 * SMALL.cell / SMALL.core_outer_radius)
    assert feet.distance.max() < 1.3 * SMALL.contact.dhat


def test_masses_are_those_of_strip_and_core(wound):
    builder = ModelBuilder(gravity=(0, 0, 0))
    strip, core = add_roll(builder, "tape", wound)
    model = builder.finalize()
    m = SMALL.material
    expected = m.density * m.thickness * SMALL.width * wound.arc_length[-1]
    assert model.node_mass.numpy().sum() == pytest.approx(expected, rel=1e-12)
    # a prism over two regular polygons
    n = SMALL.hub_segments
    inner, outer = SMALL.core_inner_radius, SMALL.core_outer_radius
    polygon = n / 2 * np.sin(2 * np.pi / n)
    mass = SMALL.core_density * SMALL.width * polygon * (outer**2 - inner**2)
    assert model.bodies[core].mass == pytest.approx(mass, rel=1e-12)
    second = SMALL.core_density * SMALL.width * polygon * (2 + np.cos(2 * np.pi / n)) / 12 * (outer**4 - inner**4)
    expected = np.diag([mass, second, mass * SMALL.width**2 / 12, second])
    np.testing.assert_allclose(model.body_mass.numpy()[0], expected, rtol=1e-9, atol=1e-9 * second)


def test_neutral_pitch_leaves_contact_at_its_very_edge():
    """No pair is within dhat at the neutral pitch; a tenth of a micrometre closer, some are."""
    for change, contacts in ((0.0, False), (-1e-6, True)):
        asset = wind_roll(replace(SMALL, pitch=SMALL.neutral_pitch + change))
        engine = settling_engine(asset, held=False)
        engine.newton.stages.run("detect")
        engine.newton.system.candidates.update(engine.newton.system.points, engine.newton.system.points_dx)
        engine.newton.stages.run("detect")
        assert (engine.newton.system.active_count.numpy()[0] > 0) == contacts


def test_settled_roll_rests(settled):
    """Ten steps on, without damping, nothing moves faster than 1e-3 m/s."""
    assert settled.settled.speed < 1e-4
    assert settled.settled.travel < 0.5e-3
    engine = settling_engine(settled)
    for _ in range(10):
        before = engine.positions()
        assert engine.step().converged
        assert point_speed(engine, before) < 1e-3


def test_settled_strip_is_hardly_stretched(settled):
    edges = edges_of(settled.triangles)
    strain = lengths(settled.vertices, edges) / lengths(settled.rest_vertices, edges) - 1.0
    assert np.abs(strain).max() < 4e-3 and np.sqrt(np.mean(strain**2)) < 1e-3  # pressed by the layers' barrier
    plate = SMALL.material.young * SMALL.material.thickness**3 / 12 / (1 - SMALL.material.poisson**2)
    wound_area = SMALL.width * settled.arc_length[settled.num_wound_rows - 1]
    bending = 0.5 * plate / SMALL.inner_radius**2 * wound_area
    assert settled.settled.elastic_energy - settled.settled.membrane_energy == pytest.approx(bending, rel=0.05)


def test_no_intersections_by_ipctk(wound, settled):
    for asset in (wound, settled, load_roll(shipped_roll("cloth_19mm", 8))):
        x = np.vstack([asset.vertices, core_positions(asset)])
        triangles = np.vstack([asset.triangles, asset.hub_triangles + len(asset.vertices)])
        mesh = ipctk.CollisionMesh(x, edges_of(triangles), triangles)
        assert not ipctk.has_intersections(mesh, x)


def test_without_hold_or_adhesive_the_strip_springs_open(wound):
    engine = settling_engine(wound, held=False)
    before = engine.positions()
    engine.step()
    assert point_speed(engine, before) > 0.05


def test_settled_roll_sticks_where_it_was_wound(settled):
    """Every foot is stuck to its triangle, however far settling has moved it."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    lifted = replace(settled, vertices=settled.vertices * (1.003, 1.0, 1.003))  # 65 um: beyond what sticks by touch
    add_roll(builder, "tape", lifted, adhesive=PRESETS["cloth_19mm"].adhesive)
    engine = Engine(builder.finalize(num_worlds=2), Options(dt=0.01, newton_tolerance=1e-3))
    term, model, feet = engine.interfaces[0], engine.model, settled.feet
    strip, core = (model.meshes[name].points.start for name in ("tape", core_name("tape")))
    state = term.get_state()["triangle"].reshape(2, -1, 3)
    expected = feet.corners + np.where(feet.on_core, core, strip)[:, None]
    for w in range(2):
        assert np.array_equal(state[w, feet.point], expected + w * model.points_per_world)
    with pytest.raises(ValueError, match=r"mesh 'tape': stuck has shape \(1, 3\), partners tape; it must be True"):
        builder.add_adhesion("tape", "negative", ["tape"], PRESETS["cloth_19mm"].adhesive, stuck=np.array([[0, 1, 2]]))


def test_point_speed_is_that_of_the_fastest_point(wound):
    engine = settling_engine(wound, held=False)
    before = engine.positions()
    before[engine.model.meshes[NAME].points.start + 5] -= (3e-5, 0.0, 4e-5)
    assert point_speed(engine, before) == pytest.approx(5e-3, rel=1e-9)


def test_progress_reports_each_step(wound):
    seen = []
    with pytest.raises(RuntimeError, match="after 2 steps the fastest point still moves at .* asked for 1e-09; raise"):
        settle_roll(wound, seen.append, speed=1e-9, most_steps=2)
    assert [s.step for s in seen] == [1, 2] and seen[0].most_steps == 2
    assert seen[0].speed > 0.0 and seen[0].newton_iterations > 0
    with pytest.raises(ValueError, match="settle_roll: speed is 0; it must be greater than 0"):
        settle_roll(wound, speed=0)


def test_roll_is_placed_and_moves_as_one(wound):
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[:3, 3] = (0.1, 0.2, 0.3)
    builder = ModelBuilder(gravity=(0, 0, 0))
    add_roll(builder, "tape", wound, pose, velocity=(1.0, 0, 0, 0, 0, 2.0))
    engine = Engine(builder.finalize(), Options(dt=0.01))
    np.testing.assert_allclose(engine.mesh_positions("tape"), wound.vertices @ pose[:3, :3].T + pose[:3, 3], atol=1e-15)
    np.testing.assert_allclose(engine.body_transform(core_name("tape")), pose, atol=1e-12)
    v = engine.state.v.numpy()
    np.testing.assert_allclose(v[0], (1.0, 0, 0), atol=1e-12)
    arm = engine.mesh_positions("tape")[0] - pose[:3, 3]
    np.testing.assert_allclose(v[4], (1.0 - 2.0 * arm[1], 2.0 * arm[0], 0.0), atol=1e-12)
    with pytest.raises(ValueError, match=r"roll 'x': transform has shape \(3, 3\); it must be \(4, 4\)"):
        add_roll(builder, "x", wound, np.eye(3))


def test_asset_round_trip(settled, tmp_path):
    path = tmp_path / "roll.npz"
    save_roll(path, settled)
    again = load_roll(path)
    assert again.spec == settled.spec and again.settled == settled.settled
    for name in ARRAYS:
        assert np.array_equal(getattr(again, name), getattr(settled, name)), name
    for name in ("point", "on_core", "corners", "place", "distance"):
        assert np.array_equal(getattr(again.feet, name), getattr(settled.feet, name)), name
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("name, turns", [("cloth_19mm", 2), ("cloth_19mm", 8), ("cloth_19mm", 32), ("scotch_3850", 4)])
def test_shipped_rolls_are_the_presets(name, turns):
    asset = load_roll(shipped_roll(name, turns))
    assert asset.spec == preset(name, turns).spec
    assert asset.settled.speed < 1e-3
    assert np.array_equal(asset.rest_vertices, wind_roll(asset.spec).rest_vertices)
    with pytest.raises(FileNotFoundError, match=r"no settled roll 'cloth_19mm_3.npz' ships; there are: cloth_19mm_2"):
        shipped_roll("cloth_19mm", 3)


def rewrite(path, **changes):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays.update(changes)
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})


def test_bad_files_are_named(wound, tmp_path):
    path = tmp_path / "roll.npz"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="roll.npz' is not a roll file"):
        load_roll(path)
    with pytest.raises(FileNotFoundError):
        load_roll(tmp_path / "none.npz")
    for changes, sentence in (
        ({"vertices": None}, "lacks the array 'vertices'; a roll needs rest_vertices"),
        ({"vertices": wound.vertices[:-7]}, r"array 'vertices' has \d+ points; \d+ rows of 7 make \d+"),
        ({"triangles": wound.triangles[:, :2]}, r"array 'triangles' has rows of shape \(2,\), expected \(3,\)"),
        ({"triangles": wound.triangles + 10**6}, r"array 'triangles' speaks of point \d+; there are"),
        ({"header": np.frombuffer(b'{"kind": "tacktile roll", "version": 99}', np.uint8)}, "has roll format 99; this"),
        ({"header": np.frombuffer(b'{"kind": "cheese", "version": 1}', np.uint8)}, "its kind is 'cheese'"),
    ):
        save_roll(path, wound)
        rewrite(path, **changes)
        with pytest.raises(ValueError, match=sentence):
            load_roll(path)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"width": 0.0}, "RollSpec.width is 0.0; it must be greater than 0"),
        ({"cells_across": 5}, "RollSpec.cells_across is 5; it must be even"),
        ({"cells_across": 2.5}, "RollSpec.cells_across is 2.5; it must be a whole number of at least 1"),
        ({"cells_across": 2}, r"cells_across is 2; layers -0.0003\d* m apart cross: .* a contact.dhat above 0.00085 m"),
        ({"turns": 0.5}, r"RollSpec.turns is 0.5; it must lie in 1\.\.64"),
        ({"free_length": -1.0}, "RollSpec.free_length is -1.0; it must be at least 0"),
        ({"core_outer_radius": 0.01}, "RollSpec.core_outer_radius is 0.01; it must be greater than core_inner_radius"),
        ({"pitch": 1e-5}, "RollSpec.pitch is 1e-05; layers 1e-05 m apart cross: it must be greater than 5.949e-05 m"),
        ({"core_width": 0.0}, "RollSpec.core_width is 0.0; it must be greater than 0, or None"),
        ({"core_density": -1.0}, "RollSpec.core_density is -1.0; it must be greater than 0"),
    ],
)
def test_bad_parameters_are_named(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SMALL, **change)


def test_unknown_preset_is_named():
    with pytest.raises(ValueError, match="roll preset is 'duct'; legal values: cloth_19mm, scotch_3850"):
        preset("duct")


def test_thick_layers_touch_at_their_thickness():
    """Half-thicknesses push the layers apart by as much, and settle the same way."""
    spec = replace(SMALL, turns=1.5, contact=ContactMaterial(dhat=0.18e-3, half_thickness=0.089e-3))
    assert spec.layer_pitch == pytest.approx(SMALL.layer_pitch + 0.178e-3, rel=1e-12)
    engine = settling_engine(wind_roll(spec))
    assert engine.step().min_distance > 0.3 * spec.contact.dhat
    assert engine.model.meshes[NAME].contact.half_thickness == 0.089e-3


def test_rollspec_defaults_are_legal():
    assert RollSpec().layer_pitch > 0.0
