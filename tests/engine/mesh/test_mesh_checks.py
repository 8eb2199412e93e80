"""Each defect of a mesh is refused with the mesh, the element, the place and what is legal."""

import types

import numpy as np
import pytest

from engine.mesh import checks, shapes
from engine.mesh.checks import MeshError
from engine.options import Options

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
TWO = np.array([[0, 1, 2], [0, 2, 3]])


def _shell(vertices, triangles, rest=None):
    found = []
    vertices, triangles = np.asarray(vertices, dtype=float), np.asarray(triangles)
    checks.check_shell("sheet", vertices, triangles, vertices if rest is None else rest, found)
    return found


def _tets(vertices, tets):
    found = []
    checks.check_tets("pad", np.asarray(vertices, dtype=float), np.asarray(tets), found)
    return found


def test_good_meshes_pass_at_every_scale():
    for scale in (1e-3, 1e-1, 1.0, 10.0):
        assert _shell(scale * SQUARE, TWO) == []
        vertices, tets = shapes.box_tets(2, 2, 2, (scale, scale, scale))  # tets down to 2e-11 m3
        assert _tets(vertices, tets) == []


def test_error_carries_its_parts():
    with pytest.raises(MeshError) as caught:
        _shell(SQUARE, [[0, 1, 2]])
    assert (caught.value.mesh, caught.value.element) == ("sheet", "vertex 3")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "vertices,triangles,text",
    [
        (SQUARE, [[0, 1, 2]], r"mesh 'sheet', vertex 3: belongs to no triangle, so it has no mass .* \(0, 1, 0\) m"),
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], r"triangle 0: has no area: 0 m2 with a longest side of 2 m"),
        (SQUARE, [[0, 1, 2], [0, 2, 3], [2, 0, 1]], r"triangle 2: has the same vertices \[0, 1, 2\] as triangle 0"),
        (SQUARE, [[0, 1, 2], [0, 3, 2]], r"triangles 0 and 1: wind opposite ways across edge \[\d, \d\], at \(0.5"),
        (
            [*SQUARE, [0, 0, 1]], [*TWO, [0, 4, 2]],
            r"edge \[0, 2\]: is shared by 3 triangles \[0, 1, 2\], at \(0.5, 0.5, 0\) m",
        ),
        (
            [*SQUARE, [0, 0, 0], [-1, 0, 0], [-1, 1, 0]], [*TWO, [4, 6, 5]],
            r"vertices 0 and 4: lie at the same place \(0, 0, 0\) m \(1 such pairs\)",
        ),
        (
            [*SQUARE, [1, 0.5, 0], [2, 0, 0], [2, 1, 0]], [*TWO, [4, 5, 6]],
            r"vertex 4: lies inside edge \[1, 2\] without splitting it \(T-vertex\), at \(1, 0.5, 0\) m",
        ),
    ],
)  # fmt: skip
def test_defects_of_a_sheet(vertices, triangles, text):
    with pytest.raises(MeshError, match=text):
        _shell(vertices, triangles)


def test_a_sheet_without_area_at_rest_is_refused():
    with pytest.raises(MeshError, match="triangle 0: has no area at rest"):
        _shell(SQUARE, TWO, rest=SQUARE * [1.0, 0.0, 1.0])


TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    "vertices,tets,text",
    [
        (TET, [[0, 2, 1, 3]], r"mesh 'pad', tet 0: inverted: signed volume -0.167 m3 .* swap two of its vertex ids"),
        (TET * 1e-3, [[0, 2, 1, 3]], r"tet 0: inverted: signed volume -1.67e-10 m3"),
        (TET * [1, 1, 1e-9], [[0, 1, 2, 3]], r"tet 0: no volume: .* at \(0.25, 0.25, 2.5e-10\) m"),
        ([*TET, [2, 2, 2]], [[0, 1, 2, 3]], r"vertex 4: belongs to no tet"),
        (TET, [[0, 1, 2, 3], [1, 2, 0, 3]], r"tet 1: has the same vertices \[0, 1, 2, 3\] as tet 0"),
        (
            [*TET, [0.3, 0.3, 2], [0.4, 0.4, 3]], [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]],
            r"face \[0, 1, 2\]: belongs to 3 tets",
        ),
    ],
)  # fmt: skip
def test_defects_of_a_solid(vertices, tets, text):
    with pytest.raises(MeshError, match=text):
        _tets(vertices, tets)


def test_closed_surface_defects():
    vertices, triangles = shapes.box_surface()
    checks.require_closed("box", vertices, triangles, "a body")
    hole = (
        r"mesh 'box', edge \[\d, \d\]: the surface is not closed .* \(3 open edges\), but a body needs a volume: fill"
    )
    with pytest.raises(MeshError, match=hole):
        checks.require_closed("box", vertices, triangles[1:], "a body")
    with pytest.raises(MeshError, match=r"is inside-out: it encloses -1 m3; .*triangles\[:, ::-1\]"):
        checks.require_closed("box", vertices, triangles[:, ::-1], "a body")
    mixed = triangles.copy()
    mixed[0] = mixed[0, ::-1]
    with pytest.raises(MeshError, match="neighbouring triangles wind opposite ways"):
        checks.require_closed("box", vertices, mixed, "a body")
    soup, corners = vertices[triangles].reshape(-1, 3), np.arange(36).reshape(-1, 3)
    with pytest.raises(MeshError, match="pairs of vertices lie at the same place: merge them"):
        checks.require_closed("box", soup, corners, "a body")
    with pytest.raises(MeshError, match="encloses no volume"):
        checks.require_closed("box", vertices * [1, 1, 0], triangles, "a body")


def test_surface_warnings():
    found = []
    vertices, triangles = shapes.box_surface()
    checks.check_surface("box", vertices, triangles[:, ::-1], found)
    assert found == ["mesh 'box' is inside-out: its normals point inward; use triangles[:, ::-1]"]
    found.clear()
    checks.check_surface("fin", np.array([*SQUARE, [0, 0, 1.0]]), np.array([*TWO, [0, 4, 2]]), found)
    assert len(found) == 1 and "edge [0, 2]: is shared by 3 triangles" in found[0]


def test_units():
    assert "mesh 'sheet' is 20 m across: are its numbers millimetres?" in _shell(20 * SQUARE, TWO)[0]
    assert "only 1e-05 m across: was it scaled to metres twice?" in _shell(1e-5 * SQUARE, TWO)[0]
    sizes = {"pad": 0.02, "strip": 0.3, "peg": 8.0}
    assert checks.check_model_units(sizes) == []  # 50 times the middle one: possible
    assert (
        "mesh 'peg' is 8 m across, 400 times the usual size"
        in checks.check_model_units({"a": 0.02, "b": 0.02, "peg": 8.0})[0]
    )
    assert "(4 to 20 m): is the whole model in millimetres?" in checks.check_model_units({"a": 4.0, "b": 20.0})[0]
    assert checks.check_model_units({"a": 0.02, "b": 1.0}) == [] == checks.check_model_units({})


def test_loose_tolerance_is_warned_about():
    model = types.SimpleNamespace(gravity=(0.0, 0.0, -9.81))
    assert checks.check_options(Options(), model) == []
    assert checks.check_options(Options(dt=0.01), model) == []
    sentence = checks.check_options(Options(dt=0.001), model)[0]
    assert "newton_tolerance is 0.01 m/s but gravity changes velocities by only 0.00981 m/s a step" in sentence
    assert "Keep it under 0.002 m/s" in sentence
    assert checks.check_options(Options(dt=0.001), types.SimpleNamespace(gravity=(0.0, 0.0, 0.0))) == []
