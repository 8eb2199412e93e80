"""Sensors in YAML: presets, gels, faces, cameras, markers, and what they say when something does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from engine.mesh.rest import tet_volumes, triangle_areas
from engine.mesh.shapes import box_surface
from engine.mesh.topology import boundary_of_tets
from engine.tactile.calibration import Calibration
from engine.tactile.colour_network import RANK, ColourNetwork, code_size
from scenes import SceneError, build_scene, load_config
from scenes.build_sensor import link_from_gel, sensor_of
from scenes.gel_faces import Surface, find_faces
from scenes.gel_mesh import GelMesh, cells_for_volume, edge_for_volume, make_gel, quality
from scenes.sensors import (
    BoxGel,
    Faces,
    Markers,
    OrthographicCamera,
    PinholeCamera,
    Sensor,
    ShellGel,
    load_sensors,
    preset,
    presets,
)
from tests.scenes.mesh_writers import write_stl


def load(tmp_path, text: str) -> dict:
    path = tmp_path / "hand.yaml"
    path.write_text(text)
    return load_sensors(path)


def refusal(tmp_path, text: str) -> str:
    with pytest.raises(SceneError) as caught:
        for name, sensor in load(tmp_path, text).items():
            build(sensor, name)
    return str(caught.value)


def build(sensor: Sensor, name: str = "tip", link: Surface | None = None):
    mesh = make_gel(sensor.gel, sensor.at("gel"))
    coat, held = find_faces(name, sensor, mesh, link)
    return mesh, sensor_of(name, sensor, mesh, coat, held)


@pytest.mark.parametrize("name", presets())
def test_every_preset_makes_a_sensor_whose_camera_sees_its_coat(name):
    sensor = preset(name, link="finger")
    mesh, spec = build(sensor)
    assert spec.preset in (None, name) and sensor.link == "finger"
    assert tet_volumes(mesh.vertices, mesh.tets).min() > 0.0
    assert quality(mesh.vertices, mesh.tets)["worst_shape"] > 0.5
    columns_rows = spec.camera.project(np.zeros((1, 3)))[0]
    assert columns_rows == pytest.approx([0.5 * (spec.camera.width - 1), 0.5 * (spec.camera.height - 1)])
    assert len(spec.marker_triangle) == spec.marker_shape[0] * spec.marker_shape[1] > 40
    assert not np.intersect1d(spec.held, spec.coat).size


def test_keys_are_laid_over_a_preset(tmp_path):
    sensors = load(tmp_path, """
sensors:
  left:
    preset: gelsight
    link: left_finger
    position: [0, 0, 45 mm]
    rotation: [90 deg, 0, 0]
    material: {young: 150 kPa}
    camera: {resolution: [64, 48]}
  right: {preset: digit, link: right_finger, gel: {type: box, size: [20 mm, 20 mm, 3 mm]}}
  thumb: {preset: gelsight, link: thumb, camera: {type: pinhole}}
""")  # fmt: skip
    left, right, thumb = (sensors[n] for n in ("left", "right", "thumb"))
    assert left.material.young == 150e3 and left.material.poisson == 0.4, "what is not written keeps the preset's value"
    assert left.camera.resolution == (64, 48) and left.camera.pixel_pitch == pytest.approx(1.18e-4)
    assert left.gel.size == pytest.approx((25.25e-3, 20.75e-3, 4e-3))
    assert link_from_gel(left)[:3, 2] == pytest.approx([0.0, -1.0, 0.0]) and left.link == "left_finger"
    assert isinstance(right.gel, BoxGel) and isinstance(right.camera, PinholeCamera), "another type replaces it whole"
    assert isinstance(thumb.camera, PinholeCamera) and thumb.camera.resolution == (160, 120)


def test_mistakes_name_file_line_and_legal_values(tmp_path):
    message = refusal(tmp_path, "sensors:\n  a:\n    preset: gelsite\n")
    assert "hand.yaml:3:13: there is no sensor 'gelsite' (did you mean 'gelsight'?); shipped: digit, gelsi" in message
    assert "hand.yaml:2:6: sensors.a lacks 'link'" in refusal(tmp_path, "sensors:\n  a: {preset: gelsight}\n")
    wrong = refusal(tmp_path, "sensors:\n  a: {link: l, gell: {type: box}}\n")
    assert "hand.yaml:2:16: unknown key 'gell' in sensors.a (did you mean 'gel'?)" in wrong


def test_a_pad_without_thickness_is_refused(tmp_path):
    text = "sensors:\n  a: {link: l, gel: {type: box, size: [20 mm, 20 mm, 0]}}\n"
    assert "sensors.a.gel.size[2] is 0; it must be greater than 0" in refusal(tmp_path, text)
    thin = refusal(tmp_path, text.replace("20 mm, 0]", "20 mm, 1 um]"))
    assert "hand.yaml:2:39: the gel is 1e-06 m thick; it must be at least 1e-05 m" in thin
    shell = "sensors:\n  a: {link: l, gel: {type: shell, thickness: 2 mm, radius_x: 5 mm}}\n"
    told = "radius_x is 0.005 m; a layer 0.026 m wide and 0.002 m thick needs more than 0.013 m"
    assert told in refusal(tmp_path, shell)
    flat = write_stl(tmp_path / "flat.stl", *box_surface((0.02, 0.02, 5e-6)))
    surface = f"sensors:\n  a: {{link: l, gel: {{type: surface, file: {flat.name}, units: m}}}}\n"
    assert "m thick; it must be at least 1e-05 m" in refusal(tmp_path, surface)


def test_a_coat_that_is_not_there_is_told_with_what_is(tmp_path):
    text = "sensors:\n  a: {link: l, coat: {low: [1, 1, 1]}}\n"
    message = refusal(tmp_path, text)
    assert "hand.yaml:2:22: a: no coat was found: no face meets low (1.0, 1.0, 1.0)" in message
    assert "of its surface are turned to +x 6 %, -x 6 %" in message
    assert "it spans (-0.01263, -0.01038, -0.002) to (0.01263, 0.01038, 0.002) m" in message
    nowhere = "sensors:\n  a: {link: l, coat: {normal: [0, 0, 0]}}\n"
    assert "a.coat.normal is (0.0, 0.0, 0.0); it must point somewhere" in refusal(tmp_path, nowhere)
    held = "sensors:\n  a: {link: l, held: {normal: [0, 0, -1], angle: 1 deg, high: [0, 0, -1]}}\n"
    assert "a: no face is held: no face meets normal (0.0, 0.0, -1.0), high (0.0, 0.0, -1.0)" in refusal(tmp_path, held)
    assert "a: every face of the coat is held" in refusal(tmp_path, "sensors:\n  a: {link: l, held: +z}\n")
    link = "sensors:\n  a: {link: l, held: {link: true}}\n"
    assert "a.held: the link has no surface to compare with" in refusal(tmp_path, link)


def test_a_camera_that_sees_nothing_is_told_where_the_coat_lies(tmp_path):
    text = "sensors:\n  a: {link: l, camera: {position: [0, 0, 1 mm]}}\n"
    behind = "sensors:\n  a: {link: l, camera: {type: pinhole, position: [0, 0, 1 mm]}}\n"
    assert "looking along (0, 0, 1), sees nothing of the coat: all of it lies behind" in refusal(tmp_path, behind)
    aside = text.replace("0, 0, 1 mm", "90 mm, 0, -4 mm")
    assert "sees nothing of the coat: it lies in columns -900 to -648 and rows" in refusal(tmp_path, aside)
    assert "all of it lies behind" in refusal(tmp_path, text), "an orthographic camera sees forward only, too"


def test_markers_outside_the_coat_are_counted(tmp_path):
    text = "sensors:\n  a: {link: l, markers: {rows: 5, columns: 5, pitch: 6 mm}}\n"
    message = refusal(tmp_path, text)
    assert "hand.yaml:2:25: a: 10 of 25 markers lie outside the coat, the first at (-0.012, -0.012) m; the" in message
    assert "x -0.01263 to 0.01263, y -0.01038 to 0.01038 m" in message
    single = build(Sensor(link="l", markers=Markers(positions=((1e-3, 2e-3),))))[1]
    assert single.marker_shape == (0, 0) and len(single.marker_triangle) == 1


def test_gels_meet_their_target_volume():
    for volume in (2e-8, 4e-9, 1e-9):
        mesh = make_gel(BoxGel(cell_volume=volume))
        found = quality(mesh.vertices, mesh.tets)
        assert found["mean_cell"] == pytest.approx(min(volume, 1e-8), rel=0.3) and found["worst_shape"] > 0.45
        assert found["volume"] == pytest.approx(0.02525 * 0.02075 * 0.004, rel=1e-12)
    assert cells_for_volume((0.02, 0.02, 0.001), 1e-8)[2] == 2, "never a single layer"
    edge = edge_for_volume(1e-9)
    regular = edge / np.sqrt(2.0) * np.array([[0.0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    tet = np.array([[0, 2, 1, 3]])
    assert abs(tet_volumes(regular, tet)[0]) == pytest.approx(1e-9)
    assert abs(quality(regular, tet)["worst_shape"]) == pytest.approx(1.0), "a regular tetrahedron is perfect"


def test_a_curved_layer_has_its_thickness_and_shape():
    gel = ShellGel(size=(0.02, 0.016), thickness=0.002, radius_x=0.03, radius_y=0.02, cells=(16, 12, 2))
    mesh = make_gel(gel)
    top, bottom = mesh.vertices[mesh.outer], mesh.vertices[mesh.inner]
    height = np.sqrt(0.03**2 - top[:, 0] ** 2) - 0.03 + np.sqrt(0.02**2 - top[:, 1] ** 2) - 0.02
    assert top[:, 2] == pytest.approx(height, abs=1e-15) and top[:, 2].max() == 0.0
    assert np.linalg.norm(top - bottom, axis=1) == pytest.approx(0.002, rel=1e-12), "measured along the normal"
    assert tet_volumes(mesh.vertices, mesh.tets).min() > 0.0


def test_faces_of_a_closed_surface_are_found_or_chosen():
    """A gel in the shape of a box, of which only the mesh is known."""
    box = make_gel(BoxGel(size=(0.02, 0.016, 0.004), cells=(8, 6, 2)))
    mesh = GelMesh(box.vertices, box.tets)

    def area(triangles):
        return triangle_areas(mesh.vertices, triangles).sum()

    coat, held = find_faces("a", Sensor(link="l"), mesh)
    assert area(coat) == pytest.approx(0.02 * 0.016) and (mesh.vertices[coat][..., 2] == 0.002).all()
    assert (mesh.vertices[held, 2] == -0.002).all()
    coat, held = find_faces("a", Sensor(link="l", coat=Faces(side="-x")), mesh)
    assert area(coat) == pytest.approx(0.016 * 0.004) and (mesh.vertices[held, 0] == 0.01).all(), "held: the other side"
    wide = Faces(normal=(0.0, 0.0, 1.0), angle=np.deg2rad(100.0), low=(-1.0, -1.0, -0.002), high=(1.0, 1.0, 1.0))
    coat, _ = find_faces("a", Sensor(link="l", coat=wide, held=Faces(side="-z")), mesh)
    assert area(coat) == pytest.approx(0.02 * 0.016 + 2 * 0.004 * 0.036), "top and sides"
    link = Surface(*box_surface((0.03, 0.03, 0.01)))
    link = Surface(link.vertices - [0.0, 0.0, 0.0071], link.triangles)  # 0.1 mm below the gel
    coat, held = find_faces("a", Sensor(link="l", held=Faces(link=True)), mesh, link)
    assert (mesh.vertices[held, 2] == -0.002).all() and len(held) == 9 * 7
    assert len(boundary_of_tets(mesh.tets)) > len(coat)


@pytest.mark.parametrize("outward", [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)])
def test_the_coat_of_a_bulging_layer_is_its_outer_side(outward):
    """Found from the mesh alone, wherever the layer looks: the outer side is the larger one."""
    gel = ShellGel(size=(0.02, 0.016), thickness=0.002, radius_x=0.03, radius_y=0.02, cells=(10, 8, 2))
    shell, axis = make_gel(gel), int(np.argmax(np.abs(outward)))
    turn = np.roll(np.eye(3), axis + 1, axis=0) * (1.0 if sum(outward) > 0 else -1.0)
    assert turn @ [0.0, 0.0, 1.0] == pytest.approx(outward)
    turned = shell.vertices @ turn.T
    flip = [0, 2, 1, 3] if np.linalg.det(turn) < 0 else [0, 1, 2, 3]
    coat, held = find_faces("a", Sensor(link="l"), GelMesh(turned, shell.tets[:, flip]))
    assert set(np.unique(coat)) == set(shell.outer) and set(held) == set(shell.inner)


def test_a_filled_surface_becomes_a_pad(tmp_path, monkeypatch):
    pytest.importorskip("pytetwild")
    monkeypatch.setenv("TACKTILE_CACHE", str(tmp_path))
    monkeypatch.setattr("scenes.gel_mesh.FILLS", 2)
    vertices, triangles = box_surface((0.012, 0.010, 0.004))
    write_stl(tmp_path / "gel.stl", vertices, triangles)
    text = "sensors:\n  a: {link: l, gel: {type: surface, file: gel.stl, units: m, cell_volume: 4 mm3}}\n"
    mesh, spec = build(load(tmp_path, text)["a"])
    found = quality(mesh.vertices, mesh.tets)
    assert found["volume"] == pytest.approx(0.012 * 0.010 * 0.004, rel=0.02)
    assert found["mean_cell"] == pytest.approx(4e-9, rel=0.6) and found["worst_shape"] > 0.05
    assert triangle_areas(mesh.vertices, spec.coat).sum() == pytest.approx(0.012 * 0.010, rel=0.02)
    assert spec.world_from_sensor[:3, 2] == pytest.approx([0.0, 0.0, 1.0], abs=2e-3), "the filled surface is not exact"


def test_default_images_cover_the_coat():
    _, spec = build(Sensor(link="l", camera=OrthographicCamera(resolution=(50, 40))))
    assert spec.camera.pixel_pitch == pytest.approx(max(0.02525 / 50, 0.02075 / 40))
    _, spec = build(Sensor(link="l", camera=PinholeCamera(resolution=(160, 120))))
    corner = spec.camera.project(np.array([[0.5 * 0.02525, 0.0, 0.0]]))[0]
    assert corner == pytest.approx([79.5 + 80.0, 59.5]), "the coat's width fills the width"


def test_a_pad_of_a_scene_takes_a_preset(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("""
entities:
  holder: {type: body, shape: {type: box, size: [0.03, 0.03, 0.01]}, density: 1000, driven: true}
  pad: {type: pad, preset: gelsight, held_by: holder, position: [0, 0, 7 mm]}
""")  # fmt: skip
    scene = build_scene(load_config(path))
    assert scene.pads[0].name == "pad" and scene.pads[0].body == "holder" and scene.pads[0].marker_shape == (7, 9)
    assert scene.pads[0].world_from_sensor[:3, 3] == pytest.approx([0.0, 0.0, 0.009])


def test_weights_of_another_sensor_are_refused(tmp_path):
    layers = ((np.zeros((3, 3 * RANK)), np.zeros(3 * RANK)),)
    network = ColourNetwork(layers, np.zeros((code_size(1), 3 * RANK)), 1, -np.ones(2), np.ones(2))
    reference = np.zeros((12, 16, 3), np.uint8)
    Calibration("gelsight", 0.01888 / 16, reference, network).save(tmp_path / "weights.npz")
    text = "sensors:\n  a: {preset: PRESET, link: l, calibration: weights.npz}\n"
    sensor = load(tmp_path, text.replace("PRESET", "gelsight"))["a"]
    assert build(sensor)[1].calibration.sensor == "gelsight"
    other = refusal(tmp_path, text.replace("PRESET", "gelsight_mini"))
    assert "hand.yaml:2:52: a: " in other
    assert "was made for sensor 'gelsight', this sensor is a 'gelsight_mini'" in other
    wide = text.replace("PRESET", "gelsight").replace("link: l", "link: l, camera: {pixel_pitch: 0.1 mm}")
    assert "this camera sees 160 x 120 pixels of 100 um" in refusal(tmp_path, wide)
    (tmp_path / "weights.npz").write_bytes(b"no weights")
    assert "is not a calibration of this program" in refusal(tmp_path, text.replace("PRESET", "gelsight"))
