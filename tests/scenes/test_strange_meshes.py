"""Traps 4 and 5 as a user meets them in a scene: files of other kinds, and numbers that were millimetres."""

from __future__ import annotations

import pytest

from engine.mesh.shapes import box_surface
from scenes import SceneError, build_scene, load_config
from tests.scenes.mesh_writers import write_stl

SURFACES = ".stl, .obj, .ply"
PARTS = {
    "body": "entities:\n  part: {{type: body, density: 1000, shape: {{type: mesh, file: {file}{rest}}}}}\n",
    "static": "entities:\n  part: {{type: static, shape: {{type: mesh, file: {file}{rest}}}}}\n",
    "solid": "entities:\n  part: {{type: solid, mesh: {{file: {file}{rest}}}}}\n",
}
COLLADA = '<?xml version="1.0"?>\n<COLLADA><asset><unit name="inch" meter="0.0254"/></asset></COLLADA>\n'


def build(folder, text):
    path = folder / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return build_scene(load_config(path))


def refusal(folder, text) -> str:
    with pytest.raises(SceneError) as error:
        build(folder, text)
    return str(error.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("name", ["part.dae", "part.DAE", "part.glb", "part.step", "part"])
@pytest.mark.parametrize("kind", PARTS)
def test_another_kind_of_mesh_file_is_named_with_what_is_legal(tmp_path, kind, name):
    """Also a COLLADA file with a scale of its own: it is not half read."""
    (tmp_path / name).write_text(COLLADA, encoding="utf-8")
    text = PARTS[kind].format(file=name, rest=", units: mm")
    key = "mesh.file" if kind == "solid" else "shape.file"
    legal = f".vtk, .msh, {SURFACES}" if kind == "solid" else SURFACES
    column = 1 + text.splitlines()[1].index(f"file: {name}") + len("file: ")
    assert refusal(tmp_path, text) == f"scene.yaml:2:{column}: entities.part.{key} is '{name}'; legal endings: {legal}"


def test_another_kind_behind_a_legal_ending_is_refused(tmp_path):
    for name, message in (("part.stl", "part.stl is not an STL file"), ("part.ply", "part.ply is not a PLY file"),
                          ("part.obj", "part.obj holds no triangles")):  # fmt: skip
        (tmp_path / name).write_text(COLLADA, encoding="utf-8")
        found = refusal(tmp_path, PARTS["body"].format(file=name, rest=", units: mm"))
        assert found.startswith("scene.yaml:2:") and message in found


def millimetre_box(folder) -> str:
    vertices, triangles = box_surface((0.05, 0.03, 0.02))
    return write_stl(folder / "part.stl", vertices * 1000.0, triangles).name


def test_millimetre_file_read_as_metres_warns_and_without_units_is_refused(tmp_path):
    name = millimetre_box(tmp_path)
    sound = build(tmp_path, PARTS["body"].format(file=name, rest=", units: mm"))
    assert sound.notes == [] and sound.model.bodies["part"].mass == pytest.approx(1000 * 0.05 * 0.03 * 0.02)
    notes = build(tmp_path, PARTS["body"].format(file=name, rest=", units: m")).notes
    assert "part.stl measures 50 x 30 x 20 m with units: m; is that meant?" in notes
    assert any("mesh 'part' is 50 m across: are its numbers millimetres?" in note for note in notes)
    found = refusal(tmp_path, PARTS["body"].format(file=name, rest=""))
    assert "part.stl has no declared units and would measure 50 x 30 x 20 m; it looks like mm" in found


SCENE = """\
entities:
  holder: {{type: body, shape: {{type: box, size: [{0}, {0}, {0}]}}, density: 1000, position: [{1}, 0, 0]}}
  strip: {{type: strip, length: {2}, width: {3}, position: [0, 0, {1}]}}
"""


def test_scene_written_in_millimetres_warns_by_mesh_and_as_a_whole(tmp_path):
    small = build(tmp_path, SCENE.format(0.05, 0.2, 0.28, 0.048))
    assert not any("millimetres" in note for note in small.notes)
    large = build(tmp_path, SCENE.format(50, 200, 280, 48)).notes
    for name, size in (("holder", 50), ("strip", 280)):
        said = f"mesh '{name}' is {size} m across: are its numbers millimetres? Scaled by 0.001 it would be {size} mm"
        assert said in large
    assert "every moving mesh is larger than 3 m (50 to 280 m): is the whole model in millimetres?" in large
