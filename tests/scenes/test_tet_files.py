"""Tetrahedra from VTK and MSH files, defects, and surfaces that are filled."""

import importlib.util

import numpy as np
import pytest

from engine.mesh.shapes import box_surface, box_tets
from scenes import fill
from scenes.errors import SceneError
from scenes.fill import tetrahedralise
from scenes.tet_files import read_tets
from tests.scenes.mesh_writers import write_stl
from tests.shared_data import shared_path

POINTS, TETS = box_tets(2, 1, 1, size=(0.02, 0.01, 0.01))


def vtk_text(points=POINTS, tets=TETS, version="3.0", types=None):
    lines = [f"# vtk DataFile Version {version}", "title", "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines += [f"POINTS {len(points)} double", *(" ".join(map(repr, p)) for p in points.tolist())]
    if version.startswith("5"):
        lines += [f"CELLS {len(tets) + 1} {4 * len(tets)}", "OFFSETS vtktypeint64"]
        lines += [" ".join(str(4 * i) for i in range(len(tets) + 1)), "CONNECTIVITY vtktypeint64"]
        lines += [" ".join(map(str, np.ravel(tets)))]
    else:
        lines += [f"CELLS {len(tets)} {5 * len(tets)}", *("4 " + " ".join(map(str, t)) for t in tets)]
    lines += [f"CELL_TYPES {len(tets)}", *(str(t) for t in (types or [10] * len(tets)))]
    return "\n".join(lines) + "\n"


def vtk_binary():
    head = b"# vtk DataFile Version 5.1\n\nBINARY\nDATASET UNSTRUCTURED_GRID\n"
    head += f"POINTS {len(POINTS)} float\n".encode() + POINTS.astype(">f4").tobytes() + b"\n"
    head += b"METADATA\nINFORMATION 0\n\n"
    head += f"CELLS {len(TETS) + 1} {4 * len(TETS)}\n".encode()
    head += b"OFFSETS vtktypeint64\n" + (4 * np.arange(len(TETS) + 1)).astype(">i8").tobytes() + b"\n"
    head += b"CONNECTIVITY vtktypeint64\n" + TETS.astype(">i8").tobytes() + b"\n"
    return head + f"CELL_TYPES {len(TETS)}\n".encode() + np.full(len(TETS), 10, ">i4").tobytes() + b"\n"


def msh_2():
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(POINTS))]
    lines += [f"{10 + i} {p[0]!r} {p[1]!r} {p[2]!r}" for i, p in enumerate(POINTS.tolist())]
    lines += ["$EndNodes", "$Elements", str(len(TETS) + 1), "1 2 2 0 1 10 11 12"]
    lines += [f"{i + 2} 4 2 0 1 {' '.join(str(10 + c) for c in t)}" for i, t in enumerate(TETS)]
    return "\n".join([*lines, "$EndElements"])


def msh_4():
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Nodes", f"1 {len(POINTS)} 1 {len(POINTS)}"]
    lines += [f"3 1 0 {len(POINTS)}", *(str(i + 1) for i in range(len(POINTS)))]
    lines += [" ".join(map(repr, p)) for p in POINTS.tolist()]
    lines += ["$EndNodes", "$Elements", f"2 {len(TETS) + 1} 1 {len(TETS) + 1}", "2 1 2 1", "1 1 2 3"]
    lines += [f"3 1 4 {len(TETS)}", *(f"{i + 2} {' '.join(str(c + 1) for c in t)}" for i, t in enumerate(TETS))]
    return "\n".join([*lines, "$EndElements"])


def refusal(path, **kwargs):
    with pytest.raises(SceneError) as error:
        read_tets(path, **({"units": "m"} | kwargs))
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("old.vtk", vtk_text()),
        ("new.vtk", vtk_text(version="5.1")),
        ("binary.vtk", vtk_binary()),
        ("two.msh", msh_2()),
        ("four.msh", msh_4()),
    ],
)
def test_formats_give_the_same_mesh(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    mesh = read_tets(path, units="m")
    assert mesh.vertices == pytest.approx(POINTS, abs=1e-9) and mesh.tets.tolist() == TETS.tolist() and not mesh.notes
    assert np.linalg.det(mesh.vertices[mesh.tets[:, 1:]] - mesh.vertices[mesh.tets[:, :1]]).sum() / 6 == pytest.approx(
        2e-6
    )


def test_units_are_declared_or_said(tmp_path):
    path = tmp_path / "a.vtk"
    path.write_text(vtk_text(POINTS * 1000.0), encoding="utf-8")
    assert "a.vtk has no declared units and would measure 20 x 10 x 10 m; it looks like mm" in refusal(path, units=None)
    assert read_tets(path, units="mm", origin="bottom").vertices[:, 2].min() == pytest.approx(0.0, abs=1e-15)


def test_inverted_degenerate_repeated_and_unused(tmp_path):
    points = np.vstack([POINTS, [[0.5, 0.5, 0.5]]])
    tets = TETS.copy()
    tets[1] = tets[1][[0, 2, 1, 3]]
    tets = np.vstack([tets, tets[:1], [[0, 1, 2, 2]]])
    path = tmp_path / "a.vtk"
    path.write_text(vtk_text(points, tets), encoding="utf-8")
    message = refusal(path)
    assert (
        "1 inverted tetrahedra, first 1; 1 degenerate tetrahedra, first 11; 1 repeated "
        "tetrahedra, first 10; 1 unused vertices, first 12"
    ) in message
    assert "Write repair: true" in message
    mesh = read_tets(path, units="m", repair=True)
    assert len(mesh.notes) == 4 and mesh.notes[0] == "a.vtk: 1 inverted tetrahedra turned"
    assert len(mesh.vertices) == len(POINTS) and len(mesh.tets) == len(TETS)
    assert (np.linalg.det(mesh.vertices[mesh.tets[:, 1:]] - mesh.vertices[mesh.tets[:, :1]]) > 0).all()


def test_a_tiny_mesh_is_not_degenerate(tmp_path):
    """Tolerances are relative: cells of 1e-5 m have volumes of 1e-16 m3."""
    path = tmp_path / "a.vtk"
    path.write_text(vtk_text(POINTS * 1e-3), encoding="utf-8")
    assert len(read_tets(path, units="m").tets) == len(TETS)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.vtk", "hello", "a.vtk is not a legacy VTK file: its first line is 'hello'"),
        ("a.vtk", vtk_text().replace("ASCII", "TEXT"), "the third line is 'TEXT'; it must be ASCII or BINARY"),
        (
            "a.vtk",
            vtk_text().replace("UNSTRUCTURED_GRID", "POLYDATA"),
            "'DATASET POLYDATA' is not DATASET UNSTRUCTURED_GRID",
        ),
        ("a.vtk", vtk_text().split("CELLS")[0], "the file ends without CELLS, CELL_TYPES"),
        ("a.vtk", vtk_text().split("CELL_TYPES")[0][:-30], "the file ends after"),
        (
            "a.vtk",
            vtk_text().replace("POINTS 12", "POINTS 999999999"),
            "values are promised, more than the file can hold",
        ),
        ("a.vtk", vtk_text().replace("double", "quad"), "unknown number type 'quad'; legal: float, double"),
        ("a.vtk", vtk_text().replace("double\n", "double\nx"), "not a number among the values"),
        ("a.vtk", vtk_text(types=[12] * len(TETS)), "cell type 12 is not a tetrahedron (10)"),
        ("a.vtk", vtk_text(types=[5] * len(TETS)), "a.vtk holds no tetrahedra"),
        ("a.vtk", vtk_text(tets=TETS + 3), "names a vertex that is not there (12 vertices)"),
        ("a.msh", "hello", "a.msh is not a Gmsh file"),
        ("a.msh", msh_2().replace("2.2 0", "1.0 0"), "a.msh:2:1: MSH version '1.0' is not read; legal: 2.2, 4.1"),
        ("a.msh", msh_2().replace("2.2 0", "2.2 1"), "a binary MSH file is not read; save it as text"),
        ("a.msh", msh_2().split("$Elements")[0], "a.msh lacks $Elements"),
        ("a.msh", msh_2().replace("2 4 2 0 1", "2 5 2 0 1"), "element type 5 is not a linear tetrahedron (4)"),
        (
            "a.msh",
            msh_2().replace("$Nodes\n12", "$Nodes\ntwelve"),
            "a.msh:5:1: whole numbers belong here, not 'twelve'",
        ),
        ("a.msh", msh_2()[: len(msh_2()) // 2], "a.msh:"),
        ("a.msh", msh_4()[:-40], "the file ends in the middle of a section"),
        ("a.txt", "", "'.txt' is not a tet format; legal endings: .vtk, .msh"),
    ],
)
def test_files_that_are_not_what_they_seem(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert message in refusal(path)


def test_a_surface_needs_an_edge_length_and_a_package(tmp_path, monkeypatch):
    path = write_stl(tmp_path / "a.stl", *box_surface((0.02, 0.02, 0.02), (1, 1, 1)))
    assert "a.stl is a surface; write tetrahedralise: {edge_length: 2 mm} to fill it" in refusal(path)
    monkeypatch.setenv("TACKTILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = refusal(path, edge_length=0.005)
    assert "needs the optional package pytetwild; install it with: pip install 'pytetwild[all]'" in message
    assert "would make some 6e+13 tetrahedra in 0.02 x 0.02 x 0.02 m" in refusal(path, edge_length=1e-6)
    vtk = tmp_path / "b.vtk"
    vtk.write_text(vtk_text(), encoding="utf-8")
    assert "b.vtk holds tetrahedra; 'tetrahedralise' is for surface files" in refusal(vtk, edge_length=0.005)


def test_a_filled_mesh_is_kept_and_read_again(tmp_path, monkeypatch):
    """fTetWild never gives the same mesh twice; reload and replay must."""
    calls = []

    def made(vertices, triangles, edge_length, place, coarsen):
        calls.append(edge_length)
        return POINTS, TETS[:, [0, 2, 1, 3]]

    monkeypatch.setenv("TACKTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(fill, "_fill_apart", made)
    surface = box_surface((0.02, 0.01, 0.01), (1, 1, 1))
    first = tetrahedralise(*surface, 0.005)
    again = tetrahedralise(*surface, 0.005)
    other = tetrahedralise(*surface, 0.006)
    assert calls == [0.005, 0.006] and first[2] == again[2] != other[2] and first[2].is_file()
    for points, tets, _ in (first, again):
        assert (np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]]) > 0.0).all()
    assert np.array_equal(first[0], again[0]) and np.array_equal(first[1], again[1])


def test_filling_with_the_real_package(tmp_path, monkeypatch):
    monkeypatch.setenv("TACKTILE_CACHE", str(tmp_path))
    path = write_stl(tmp_path / "a.stl", *box_surface((0.02, 0.01, 0.01), (1, 1, 1)))
    try:
        mesh = read_tets(path, units="m", edge_length=0.005)
    except SceneError as error:
        if "pip install" not in str(error):
            raise
        pytest.skip("pytetwild[all] is not installed")
    volumes = np.linalg.det(mesh.vertices[mesh.tets[:, 1:]] - mesh.vertices[mesh.tets[:, :1]]) / 6.0
    assert volumes.min() > 0.0 and volumes.sum() == pytest.approx(2e-6, rel=0.01)


def test_shared_pads():
    path = shared_path("data", "taccel", "peg", "sensor.vtk")
    if path is None:
        pytest.skip("shared data is not there")
    mesh = read_tets(path, units="m")
    assert mesh.vertices.shape == (139, 3) and mesh.tets.shape == (317, 4)
    assert sorted(np.ptp(mesh.vertices, axis=0)) == pytest.approx([0.004, 0.02075, 0.02525], rel=1e-3)
    for other in path.parents[1].rglob("*.vtk"):
        assert len(read_tets(other, units="m").tets) > 100, other.name
