"""Numbering, embedding, masses and energies of one world."""

import numpy as np
import pytest

from engine import ContactMaterial, ModelBuilder, ShellMaterial, SolidMaterial
from engine.mesh import mass, shapes, topology
from engine.mesh.checks import MeshError
from tests.engine.builder.builder_scenes import host_points, mixed_scene, pose, turn


@pytest.fixture(scope="module")
def model():
    return mixed_scene().finalize()


def _energy(model, name):
    return next(e for e in model.energies if e.name == name)


def test_points_lie_where_the_meshes_were_put(model):
    builder, x = mixed_scene(), host_points(model)
    for name, part in builder.parts.items():
        assert np.allclose(x[model.meshes[name].points], part.vertices, atol=1e-15), name
    where = pose(0.0, 0.0, 0.12, turn((0, 0, 1), 0.4))
    expected = model.meshes["block"].rest @ where[:3, :3].T + where[:3, 3]
    assert np.allclose(x[model.meshes["block"].points], expected, atol=1e-15)


def test_numbering(model):
    strip, pad = model.meshes["strip"], model.meshes["pad"]
    attached = 9
    free = (strip.points.stop - strip.points.start - 3) + (pad.points.stop - pad.points.start - attached)
    assert model.nodes_per_world == 8 + free and model.bodies_per_world == 2
    assert model.node_body.numpy()[:9].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, -1]
    assert model.body_node.numpy().tolist() == [0, 4]
    assert (model.bodies["block"].node, model.bodies["ball"].node) == (0, 4)
    node, count = model.embedding.point_node.numpy(), model.embedding.point_count.numpy()
    assert node[:8].tolist() == list(range(8)) and count[:8].tolist() == [1] * 8  # frame points ride on one node each
    assert strip.points.start == 8 and strip.kind == "shell"
    assert count[strip.points][:3].tolist() == [0, 0, 0] and node[strip.points][:4].tolist() == [-1, -1, -1, 8]
    single = node[8:][count[8:] == 1]
    assert single.tolist() == list(range(8, model.nodes_per_world))  # free vertices in mesh order
    assert (count[model.meshes["table"].points] == 0).all()
    riders = count[pad.points] == 4
    assert riders.sum() == attached and (node[pad.points][riders] == 0).all()


def test_total_mass_is_kept_when_vertices_are_attached(model):
    pad_mass, block_mass = 900.0 * 1.6e-6, 2000.0 * 6e-6
    body = model.body_mass.numpy()
    pad = model.meshes["pad"]
    count, node = model.embedding.point_count.numpy()[pad.points], model.embedding.point_node.numpy()[pad.points]
    free = model.node_mass.numpy()[node[count == 1]].sum()
    assert np.isclose(body[0, 0, 0] + free, block_mass + pad_mass, rtol=1e-12)
    assert body[0, 0, 0] > 1.01 * block_mass and np.isclose(model.bodies["block"].mass, body[0, 0, 0])
    assert np.isclose(body[1, 0, 0], 0.02)
    assert (model.node_mass.numpy()[:8] == 0.0).all() and (model.node_mass.numpy()[8:] > 0.0).all()
    assert np.array_equal(body, body.transpose(0, 2, 1)) and (np.linalg.eigvalsh(body) > 0.0).all()


def test_attached_mass_sits_at_its_place_in_the_body_frame():
    """A body and a tet whose corner at X = (0.1, 0.2, 0.3) rides on it: the matrix gains m [1, X][1, X]^T."""
    plain, loaded = ModelBuilder(), ModelBuilder()
    where = pose(1.0, 2.0, 3.0, turn((1, 2, 3), 0.7))
    box = shapes.box_surface((0.1, 0.1, 0.1))
    for b in (plain, loaded):
        b.add_body("box", *box, density=1000.0, transform=where)
    local = np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.3], [0.1, 0.3, 0.3], [0.1, 0.2, 0.4]])
    loaded.add_solid("tet", local @ where[:3, :3].T + where[:3, 3], [[0, 1, 2, 3]], SolidMaterial(density=24e3))
    loaded.attach("tet", [0], "box")
    lifted = np.array([1.0, 0.1, 0.2, 0.3])
    gain = loaded.finalize().body_mass.numpy()[0] - plain.finalize().body_mass.numpy()[0]
    assert np.allclose(gain, np.outer(lifted, lifted), atol=1e-12)  # a quarter of 24e3 * 1e-3 / 6 kg


def test_box_body_has_the_exact_mass_matrix():
    b = ModelBuilder()
    size = np.array([0.1, 0.2, 0.3])
    v, t = shapes.box_surface(size)
    b.add_body("box", v + [5.0, 0, 0], t, density=500.0)
    model = b.finalize()
    matrix = model.body_mass.numpy()[0]
    m = 500.0 * size.prod()
    assert np.allclose(matrix, m * np.diag([1.0, *(size**2 / 12.0)]), rtol=1e-12, atol=1e-15)
    assert np.allclose(model.bodies["box"].com_from_mesh[:3, 3], [-5.0, 0, 0])
    assert np.allclose(model.node_start.numpy(), [[5, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert np.isclose(_energy(model, "orthogonality").num_elements, 1)


def test_vertices_of_a_body_far_from_its_mesh_origin():
    b = ModelBuilder()
    v, t = shapes.box_surface((0.1, 0.2, 0.3))
    where = pose(1.0, 2.0, 3.0, turn((1, 2, 3), 0.7))
    b.add_body("box", v + [5.0, -1.0, 2.0], t, density=500.0, transform=where)
    model = b.finalize()
    expected = (v + [5.0, -1.0, 2.0]) @ where[:3, :3].T + where[:3, 3]
    assert np.allclose(host_points(model)[model.meshes["box"].points], expected, atol=1e-14)
    assert np.allclose(model.node_start.numpy()[0], expected.mean(axis=0))
    assert np.allclose(np.linalg.inv(model.bodies["box"].com_from_mesh)[:3, 3], [5.0, -1.0, 2.0])


def test_declared_mass_and_inertia_of_an_open_surface():
    b = ModelBuilder()
    v, t = shapes.box_surface((0.1, 0.1, 0.1))
    v, t = v + [0.0, 0, 1.0], t[1:]
    inertia = np.diag([2e-3, 3e-3, 4e-3])
    b.add_body("tray", v, t, mass=2.0, inertia=inertia, com=(0.0, 0.0, 0.9))
    matrix = b.finalize().body_mass.numpy()[0]
    assert np.allclose(np.diag(matrix), [2.0, 2.5e-3, 1.5e-3, 0.5e-3])
    b = ModelBuilder()
    b.add_body("tray", v, t, mass=2.0)
    assert np.isclose(b.finalize().body_mass.numpy()[0, 0, 0], 2.0)
    assert np.allclose(b.bodies["tray"].com, [0, 0, 1.0], atol=0.02)


def test_start_velocities_and_gravity(model):
    v, g, node = model.node_start_velocity.numpy(), model.node_gravity.numpy(), model.embedding.point_node.numpy()
    assert np.allclose(v[4:8], [[1, 0, 0], [0, 3, 0], [-3, 0, 0], [0, 0, 0]])  # omega x columns
    assert np.allclose(v[node[model.meshes["pad"].points][0]], [0, 0, -0.5])
    assert np.allclose(g[0], [0, 0, -9.81]) and np.allclose(g[1:4], 0.0)  # block: origin only
    assert np.allclose(g[4:8], 0.0)  # the ball floats
    assert np.allclose(g[8:], [0, 0, -9.81])


def test_rotating_body_columns_turn_with_omega():
    b = ModelBuilder()
    spin = turn((0, 1, 0), 0.5)
    b.add_body("box", *shapes.box_surface(), mass=1.0, transform=pose(rotation=spin), velocity=(0, 0, 0, 0.1, 0.2, 0.3))
    v = b.finalize().node_start_velocity.numpy()
    assert np.allclose(v[1:], [np.cross([0.1, 0.2, 0.3], spin[:, k]) for k in range(3)])


def test_energies_and_their_elements(model):
    counts = {e.name: e.num_elements for e in model.energies}
    strip, pad = model.meshes["strip"], model.meshes["pad"]
    assert counts["membrane"] == len(strip.triangles)  # each triangle has a free corner
    assert counts["hinge"] == len(topology.hinges(strip.triangles))
    assert counts["neo_hookean"] == len(pad.tets)
    assert counts["orthogonality"] == 2 and counts["drive"] == 1
    drive = _energy(model, "drive")
    assert drive.stencils_host.tolist() == [[0, 1, 2, 3]] and drive.force_limit.numpy().tolist() == [20.0]
    body = model.body_mass.numpy()[0]  # the drive measures mean squared displacement over body and riders
    assert np.allclose(drive.metric.numpy()[0], body / body[0, 0]) and drive.metric.numpy()[0, 0, 0] == 1.0
    volumes = [6e-6, mass.polyhedron_moments(model.meshes["ball"].rest, model.meshes["ball"].triangles)[0, 0]]
    assert np.allclose(_energy(model, "orthogonality").stiffness.numpy(), 1e8 * np.array(volumes))


def test_elements_that_cannot_deform_are_left_out():
    b = ModelBuilder()
    v, t = shapes.grid_mesh(0.2, 0.1, 2, 1)
    b.add_shell("sheet", v, t, pinned=[0, 1, 2, 3])  # the first cell is static
    model = b.finalize()
    assert _energy(model, "membrane").num_elements == 2
    assert _energy(model, "membrane").stencils_host.min() >= 2
    assert _energy(model, "hinge").num_elements == 2  # the shared edge and the free cell's diagonal


def test_hinge_weight_is_plate_theory_and_grinspun_three_times_that():
    weights = {}
    for kind in ("plate", "grinspun"):
        b = ModelBuilder()
        v, t = shapes.grid_mesh(0.02, 0.02, 1, 1)
        material = ShellMaterial(young=1e9, poisson=0.3, thickness=2e-4, bending_weight=kind)
        b.add_shell("sheet", v, t, material)
        weights[kind] = _energy(b.finalize(), "hinge").weight.numpy()[0]
    rigidity = 1e9 * 2e-4**3 / (12.0 * (1.0 - 0.09))
    assert np.isclose(weights["plate"], rigidity * 2 * 0.02**2 / 0.02**2)  # the diagonal: L^2 = 2 a^2, areas a^2
    assert np.isclose(weights["grinspun"], 3.0 * weights["plate"])


def test_shell_mass_follows_the_rest_shape():
    b = ModelBuilder()
    v, t = shapes.grid_mesh(0.1, 0.1, 2, 2)
    b.add_shell("sheet", v * 1.5, t, ShellMaterial(density=1000.0, thickness=1e-3), rest_vertices=v)
    model = b.finalize()
    assert np.isclose(model.node_mass.numpy().sum(), 1000.0 * 1e-3 * 0.01)
    assert np.isclose(model.collision.vertex_area.numpy().sum(), 0.01)
    assert np.isclose(_energy(model, "membrane").volume.numpy().sum(), 1e-5)


def test_lame_parameters():
    b = ModelBuilder()
    v, t = shapes.grid_mesh(0.1, 0.1, 1, 1)
    b.add_shell("sheet", v, t, ShellMaterial(young=3.0e6, poisson=0.25))
    v, m = shapes.box_tets(1, 1, 1, (0.1, 0.1, 0.1))
    b.add_solid("pad", v + 1.0, m, SolidMaterial(young=3.0e5, poisson=0.25))
    model = b.finalize()
    shell, solid = _energy(model, "membrane"), _energy(model, "neo_hookean")
    assert np.allclose(shell.lame_mu.numpy(), 1.2e6) and np.allclose(shell.lame_lambda.numpy(), 0.8e6)
    assert np.allclose(solid.lame_mu.numpy(), 1.2e5) and np.allclose(solid.lame_lambda.numpy(), 1.2e5)


def test_collision_geometry(model):
    c, pad = model.collision, model.meshes["pad"]
    surface = c.point_surface.numpy()
    assert (surface[:8] == -1).all() and c.surfaces_per_world == 5
    inner = np.setdiff1d(np.arange(27), np.unique(pad.triangles)) + pad.points.start
    assert len(inner) == 1 and surface[inner[0]] == -1 and c.vertex_area.numpy()[inner[0]] == 0.0
    assert surface[model.meshes["table"].points].tolist() == [4] * 8
    assert np.array_equal(np.sort(c.vertices.numpy()), np.flatnonzero(surface >= 0))
    box = np.flatnonzero(surface[c.triangles.numpy()[:, 0]] == 2)
    assert len(box) == 12 and np.isclose(
        c.vertex_area.numpy()[model.meshes["block"].points].sum(), 2 * (6 + 3 + 2) * 1e-4
    )
    edges = c.edges.numpy()
    mine = surface[edges[:, 0]] == 2
    x = host_points(model)
    assert np.allclose(c.edge_rest_length.numpy()[mine], np.linalg.norm(np.diff(x[edges[mine]], axis=1)[:, 0], axis=1))
    assert np.isclose(c.edge_area.numpy()[mine].sum(), 22e-4)
    expected = np.zeros((5, 5), dtype=int)
    expected[1, 2] = expected[2, 1] = 1  # pad glued to block
    assert np.array_equal(c.ignored.numpy(), expected)


def test_layers_and_pairs_that_ignore_each_other():
    b = ModelBuilder()
    for i, layer in enumerate((0, 1, 1, 2)):
        b.add_body(f"b{i}", *shapes.box_surface(), ContactMaterial(layer=layer), mass=1.0, transform=pose(3.0 * i))
    b.ignore_layers(1, 2)
    b.ignore_contact("b3", "b0")
    table = b.finalize().collision.ignored.numpy()
    assert sorted(map(tuple, np.argwhere(table))) == [(0, 3), (1, 3), (2, 3), (3, 0), (3, 1), (3, 2)]
    b.ignore_layers(1, 1)
    assert b.finalize().collision.ignored.numpy()[1, 2] == 1


def test_damping_is_per_point_mass(model):
    damping = _energy(model, "damping")
    assert damping.num_elements == 27
    assert np.isclose(damping.coefficient.numpy().sum(), 2.0 * 900.0 * 1.6e-6)


# Bad input -----------------------------------------------------------------------------------------------------------
V, T = shapes.grid_mesh(0.1, 0.1, 1, 1)
BOX = shapes.box_surface()


@pytest.mark.parametrize(
    "call,error,text",
    [
        (lambda b: b.add_shell("s", V[:, :2], T), MeshError, r"mesh 's', vertices: vertices must be an \(n, 3\) array"),
        (lambda b: b.add_shell("s", V + [0, np.nan, 0], T), MeshError, r"vertex 0: vertices\[0\] is .*nan.* be finite"),
        (lambda b: b.add_shell("s", V, T + 1), MeshError, r"triangle 0: vertex ids .* out of range; legal: 0..3"),
        (lambda b: b.add_shell("s", V, T[:, :2]), MeshError, r"must be an \(m, 3\) array of vertex ids"),
        (lambda b: b.add_shell("s", V, T * 1.0), MeshError, "triangles must hold integers, got float64"),
        (lambda b: b.add_shell("s", V, T, pinned=[4]), MeshError, "pinned: vertex id 4 is out of range; legal: 0..3"),
        (lambda b: b.add_shell("s", V, T, pinned=[True]), MeshError, r"a mask must have shape \(4,\), got \(1,\)"),
        (lambda b: b.add_shell("s", V, T, velocity=(1, 2)), MeshError, r"must be finite with shape \(3,\) or \(4, 3\)"),
        (lambda b: b.add_shell("s", V, T, rest_vertices=V[:3]), MeshError, r"rest_vertices: shape must be \(4, 3\)"),
        (lambda b: b.add_shell("", V, T), ValueError, "mesh name is ''; it must be a non-empty string"),
        (lambda b: b.add_body("box", *BOX, mass=1.0), ValueError, "mesh 'box' exists already; meshes so far: box"),
        (lambda b: b.add_body("x", *BOX), MeshError, r"mass: give either density .* or mass \[kg\], got neither"),
        (lambda b: b.add_body("x", *BOX, mass=1.0, density=1.0), MeshError, "got both"),
        (lambda b: b.add_body("x", *BOX, density=-1.0), MeshError, "density: is -1.0; it must be greater than 0"),
        (lambda b: b.add_body("x", BOX[0], BOX[1][1:], density=1.0), MeshError, "a body with a density needs a volume"),
        (lambda b: b.add_body("x", V, T, mass=1.0), MeshError, "the surface is flat, so its mass matrix is singular"),
        (lambda b: b.add_body("x", *BOX, mass=1.0, inertia=np.diag([1, 1, 3.0])), MeshError, "principal moments"),
        (lambda b: b.add_body("x", *BOX, mass=1.0, transform=2 * np.eye(4)), MeshError, "must be a rotation"),
        (lambda b: b.add_body("x", *BOX, mass=1.0, transform=np.diag([1, 1, -1, 1])), MeshError, "det R -1"),
        (lambda b: b.add_body("x", *BOX, mass=1.0, stiffness=0.0), ValueError, "body 'x': stiffness is 0.0"),
        (lambda b: b.add_body("x", *BOX, mass=1.0, velocity=(1, 0, 0)), MeshError, r"velocity: must be \(6,\) finite"),
        (lambda b: b.attach("sheet", [0], "nobody"), ValueError, "no body named 'nobody'; available: box"),
        (lambda b: b.attach("box", [0], "box"), ValueError, "mesh 'box' is a body; only vertices of a shell or solid"),
        (lambda b: b.attach("sheet", [0], "box"), MeshError, "vertex 0: cannot ride on body 'box': it is pinned"),
        (lambda b: [b.attach("sheet", [1], "box")] * 2 and b.attach("sheet", [1], "box"), MeshError, "already rides"),
        (lambda b: b.attach("sheet", [], "box"), MeshError, "no vertex was named to ride on body 'box'"),
        (lambda b: b.ignore_contact("box", "gone"), ValueError, "no mesh named 'gone'; available: box, sheet"),
        (lambda b: b.ignore_layers(0, 32), ValueError, "layer is 32; it must lie in 0..31"),
        (lambda b: ContactMaterial(dhat=1e305), ValueError, r"dhat is 1e\+305 m; it must be at most 1 m"),
        (lambda b: ContactMaterial(half_thickness=2.0), ValueError, "half_thickness is 2.0 m; it must be at most 1 m"),
        (lambda b: b.finalize(num_worlds=0), ValueError, "num_worlds is 0; it must be at least 1"),
        (lambda b: ModelBuilder().finalize(), ValueError, "nothing can move"),
        (lambda b: ModelBuilder(gravity=(0, 1)), ValueError, "it must be three finite numbers"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, text):
    b = ModelBuilder()
    b.add_body("box", *BOX, mass=1.0)
    b.add_shell("sheet", V + [0, 0, 2.0], T, pinned=[0])
    with pytest.raises(error, match=text):
        call(b)
