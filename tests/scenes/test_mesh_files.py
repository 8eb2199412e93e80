"""Surfaces from files: formats, units, defects by name, repair; the shared meshes when they are there."""

import numpy as np
import pytest
import trimesh

from engine.mesh.shapes import box_surface, icosphere
from scenes.errors import Place, SceneError
from scenes.mesh_defects import find_defects
from scenes.mesh_files import demand_sound, origin_of, read_surface
from scenes.polygons import triangulate
from tests.scenes.mesh_writers import write_stl
from tests.shared_data import shared_path

BOX_VOLUME = 0.02 * 0.03 * 0.04


def box():
    return box_surface((0.02, 0.03, 0.04), (2, 2, 2))


def volume(mesh):
    return trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False).volume


def kinds(mesh):
    return [d.kind for d in mesh.defects]


def refusal(*args, **kwargs):
    with pytest.raises(SceneError) as error:
        read_surface(*args, **kwargs)
    return str(error.value)


@pytest.mark.parametrize("binary", [True, False])
def test_stl_binary_and_text_give_a_closed_mesh(tmp_path, binary):
    mesh = read_surface(write_stl(tmp_path / "a.stl", *box(), binary), units="m")
    assert len(mesh.vertices) == len(box()[0]) and mesh.closed and not mesh.defects and not mesh.notes
    assert volume(mesh) == pytest.approx(BOX_VOLUME, rel=1e-6)


def test_units_scale_and_origin(tmp_path):
    path = write_stl(tmp_path / "a.stl", box()[0] * 1000.0, box()[1])
    mesh = read_surface(path, units="mm", scale=2.0, origin="top")
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx([0.04, 0.06, 0.08])
    assert mesh.vertices[:, 2].max() == pytest.approx(0.0) and mesh.vertices[:, 0].max() == pytest.approx(0.02)
    assert origin_of(mesh.vertices, "bottom")[2] == pytest.approx(-0.08)


def test_missing_units_are_said_and_a_suspicious_size_is_refused(tmp_path):
    small = read_surface(write_stl(tmp_path / "a.stl", *box()))
    assert small.notes == ("a.stl has no declared units; metres are assumed, so it measures 0.02 x 0.03 x 0.04 m",)
    large = refusal(write_stl(tmp_path / "b.stl", box()[0] * 1000.0, box()[1]), place=Place("s.yaml", 3, 4))
    assert large.startswith("s.yaml:3:4: b.stl has no declared units and would measure 20 x 30 x 40 m")
    assert "it looks like mm. Write units: m, mm, cm, um, in" in large
    assert "would measure 2e-05" in refusal(write_stl(tmp_path / "c.stl", box()[0] * 1e-3, box()[1]))
    far = read_surface(write_stl(tmp_path / "d.stl", box()[0] * 1000.0, box()[1]), units="m")
    assert "measures 20 x 30 x 40 m with units: m; is that meant?" in far.notes[0]


def test_corners_parted_by_rounding_are_joined_and_no_others(tmp_path):
    vertices, triangles = box()
    corners = vertices[triangles].astype(np.float32).reshape(-1, 3)
    corners[0] = np.nextafter(corners[0], np.float32(1.0))
    path = write_stl(tmp_path / "a.stl", corners, np.arange(len(corners)).reshape(-1, 3))
    mesh = read_surface(path, units="m")
    assert mesh.closed and mesh.notes == ("a.stl: 1 corners that rounding had parted were joined",)
    corners[0] += np.float32(1e-6)
    path = write_stl(tmp_path / "b.stl", corners, np.arange(len(corners)).reshape(-1, 3))
    assert not read_surface(path, units="m").closed


def test_obj_with_quads_and_a_concave_polygon(tmp_path):
    quads = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
    quads += "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2/1/1 3//2 7 6\nf 3 4 8 7\nf -8 -4 -1 -5\n"
    (tmp_path / "cube.obj").write_text("mtllib none.mtl\n" + quads, encoding="utf-8")
    cube = read_surface(tmp_path / "cube.obj", units="cm")
    assert volume(cube) == pytest.approx(1e-6) and not cube.defects
    bent = np.array([[0, 0, 0], [4, 0, 0], [4, 3, 0], [3, 3, 0], [3, 1, 0], [0, 1, 0]], float)  # an L
    pieces = triangulate(bent)
    areas = [np.cross(bent[b] - bent[a], bent[c] - bent[a])[2] / 2 for a, b, c in pieces]
    assert sum(areas) == pytest.approx(6.0) and min(areas) > 0.0
    assert triangulate(np.array([[0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 0]], float)) is None
    assert triangulate(np.array([[0, 0, 0], [2, 2, 0], [1, 0, 0], [0, 1, 0]], float)) is None
    assert len(triangulate(np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], float))) == 2


def test_ply(tmp_path):
    path = tmp_path / "ball.ply"
    trimesh.Trimesh(*icosphere(0.01, 1), process=False).export(path)
    assert not read_surface(path, units="m").defects
    path.write_text("nonsense", encoding="utf-8")
    assert "ball.ply is not a PLY file" in refusal(path)
    path.write_text("ply\nformat ascii 1.0\nelement vertex 3\nend_header\n", encoding="utf-8")
    assert "ball.ply" in refusal(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.stl", "", "a.stl is not an STL file: it has 0 bytes and is not text either"),
        ("a.stl", "x" * 200, "its header promises"),
        (
            "a.stl",
            "solid\nfacet\nouter loop\nvertex 0 0 zero\n",
            "a.stl:4:1: three numbers belong here, not '0 0 zero'",
        ),
        (
            "a.stl",
            "solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nendloop\n",
            "a facet has 2 corners; STL has 3",
        ),
        ("a.stl", "solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 0 0 1\n", "ends in the middle of a facet"),
        ("a.stl", "solid\nendsolid facet", "a.stl holds no triangles"),
        ("a.stl", "solid\nfacet\nvertex 0 0 nan\nvertex 0 1 0\nvertex 1 0 0\n", "vertex 0 is not a finite number"),
        ("a.stl", "solid\nfacet\n" + "vertex 1 1 1\n" * 3, "has no extent: all vertices lie in one place"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nf 1 2 3\n", "a.obj:3:1: face 'f 1 2 3' needs at least 3 corners among 2 vertices"),
        ("a.obj", "v 0 0\n", "a.obj:1:1: three numbers belong here, not '0 0'"),
        ("a.obj", "v 0 0 0\nf 1 x 1\n", "a.obj:2:1: not a face: 'f 1 x 1'"),
        ("a.obj", "v 0 0 0\nv 1 1 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 4\n", "a.obj:5:1: a face of 4 corners crosses itself"),
        ("a.step", "", "'.step' is not a surface format; legal endings: .stl, .obj, .ply"),
    ],
)
def test_files_that_are_not_what_they_seem(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert message in refusal(path, units="m")
    path.unlink()
    if path.suffix != ".step":
        assert "cannot read" in refusal(path)


def broken(what):
    """A box with one defect: (vertices, triangles)."""
    v, t = box()
    if what == "open edge":
        return v, t[:-1]
    if what == "inside-out":
        return v, t[:, ::-1]
    if what == "flipped triangle":
        t = t.copy()
        t[3] = t[3][::-1]
        return v, t
    if what == "double triangle":
        return v, np.vstack([t, t[:1]])
    if what == "unused vertex":
        return np.vstack([v, [[0.0, 0.0, 0.0]]]), t
    if what == "degenerate triangle":
        return np.vstack([v, v[t[0, :1]] * 0.5 + v[t[0, 1:2]] * 0.5]), np.vstack([t, [[t[0, 0], len(v), t[0, 1]]]])
    if what == "separate vertices":
        t = t.copy()
        t[0, 0] = len(v)
        return np.vstack([v, v[box()[1][0, :1]]]), t
    fin = np.vstack([v, [[0.1, 0.1, 0.1]]])  # a third triangle at an edge
    return fin, np.vstack([t, [[t[0, 0], t[0, 1], len(v)]]])


DEFECTS = [
    "open edge", "inside-out", "flipped triangle", "double triangle", "unused vertex", "degenerate triangle",
    "separate vertices", "non-manifold edge",
]  # fmt: skip


@pytest.mark.parametrize("what", DEFECTS)
def test_each_defect_is_named_and_mended_where_it_can_be(tmp_path, what):
    vertices, triangles = broken(what)
    found = {d.kind: d for d in find_defects(vertices, triangles)}
    assert what in found
    lines = [f"v {p[0]!r} {p[1]!r} {p[2]!r}" for p in vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles]
    path = tmp_path / "a.obj"
    path.write_text("\n".join(lines), encoding="utf-8")
    mesh = read_surface(path, units="m")
    named = what.replace("separate vertices", "open edge")
    with pytest.raises(SceneError, match=f"a.obj is not a sound closed surface: .*{named}.*write repair: true"):
        demand_sound(mesh, path, None, closed=True, repaired=False)
    mended = read_surface(path, units="m", repair=True)
    assert mended.notes or what == "non-manifold edge", "a repair says what it did"
    if what == "non-manifold edge":
        with pytest.raises(SceneError, match="repair could not mend it"):
            demand_sound(mended, path, None, closed=True, repaired=True)
    else:
        demand_sound(mended, path, None, closed=True, repaired=True)
        assert volume(mended) == pytest.approx(BOX_VOLUME, rel=1e-9)


def test_defects_name_element_and_place():
    vertices, triangles = box()
    text = str(find_defects(vertices, triangles[1:])[0])
    a, b = sorted(triangles[0, :2])
    assert text.startswith("3 open edges, first edge ") and " at (" in text
    assert str(find_defects(vertices, triangles[:, ::-1])[0]).startswith(
        "inside-out: all triangles face inwards, volume -2.4e-05"
    )
    flat = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    assert [d.kind for d in find_defects(flat, np.array([[0, 1, 2], [0, 2, 1]]))] == ["double triangle", "zero volume"]


def test_an_open_surface_may_be_an_obstacle(tmp_path):
    path = write_stl(tmp_path / "a.stl", box()[0], box()[1][:-1])
    mesh = read_surface(path, units="m")
    demand_sound(mesh, path, None, closed=False, repaired=False)
    with pytest.raises(SceneError, match="an open surface can be a static, or a body with mass and inertia"):
        demand_sound(mesh, path, None, closed=True, repaired=False)


# The shared meshes ----------------------------------------------------------------------------------------------------
def shared(*parts):
    path = shared_path("data", "taccel", *parts)
    if path is None:
        pytest.skip(f"shared data {'/'.join(parts)} is not there")
    return path


def test_shared_gel_is_inside_out_and_can_be_turned():
    path = shared("allegro", "meshes", "digit_gel.stl")
    assert kinds(read_surface(path, units="m")) == ["inside-out"]
    mended = read_surface(path, units="m", repair=True)
    assert mended.notes == ("digit_gel.stl: 148 triangles turned to face outwards",) and not mended.defects
    assert volume(mended) == pytest.approx(1.27e-6, rel=0.01)


@pytest.mark.parametrize("name", ["C5", "C9"])
def test_shared_parts_with_cracks_of_rounding_are_closed_and_said(name):
    mesh = read_surface(shared("mech", f"{name}.stl"), units="m")
    assert "corners that rounding had parted were joined" in mesh.notes[0]
    assert not [d for d in mesh.defects if d.kind != "degenerate triangle"]
    assert not read_surface(shared("mech", f"{name}.stl"), units="m", repair=True).defects


def test_shared_patterns_are_in_millimetres():
    folder = shared("patterns")
    paths = sorted(folder.glob("*.stl"))
    assert len(paths) == 21
    for path in paths:
        assert "it looks like mm" in refusal(path)
        mesh = read_surface(path, units="mm")
        assert np.ptp(mesh.vertices, axis=0) == pytest.approx([0.016, 0.016, 0.02], rel=2e-3) and mesh.closed


def test_shared_part_with_non_manifold_edges_is_refused():
    path = shared("allegro", "meshes", "digit_base.stl")
    with pytest.raises(SceneError, match="56 non-manifold edges, first edge .* repair could not mend it"):
        demand_sound(read_surface(path, units="m", repair=True), path, None, closed=True, repaired=True)
