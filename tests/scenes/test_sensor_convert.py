"""Sensor lists in JSON become sensor files that say the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.mesh.shapes import box_surface, box_tets
from scenes.errors import SceneError
from scenes.sensor_convert import convert_sensors, read_sensor_list
from scenes.sensors import load_sensors
from scenes.vtk import write_vtk
from tests.scenes.mesh_writers import write_stl

URDF = """<robot name="two">
<link name="finger.1"><visual><geometry><mesh filename="meshes/bone.stl"/></geometry></visual></link>
<link name="palm"/>
<joint name="j" type="fixed"><parent link="palm"/><child link="finger.1"/></joint></robot>"""


def entry(**keys) -> dict:
    given = {"link_name": "finger.1", "mesh_path": "meshes/pad.stl", "reso": "1e-07", "pos": [0.0, 0.0, 0.1],
             "rot": [1.5707963267948966, 0.0, 0.5]} | keys  # fmt: skip
    return {key: value for key, value in given.items() if value is not None}


def write(folder, entries, bone_above: bool | None = None):
    """A list beside a thin gel z = 0..2 mm; bone_above: whether the link lies above or below it, None: no URDF."""
    (folder / "meshes").mkdir(exist_ok=True)
    vertices, tets = box_tets(4, 4, 1, size=(0.02, 0.016, 0.002))
    write_vtk(folder / "meshes" / "pad_maxv=1e-07.vtk", vertices + [0.0, 0.0, 0.001], tets, "pad")
    if bone_above is not None:
        x, t = box_surface((0.03, 0.03, 0.01))
        write_stl(folder / "meshes" / "bone.stl", x + [0.0, 0.0, 0.1 + (0.0071 if bone_above else -0.0051)], t)
        (folder / "two.urdf").write_text(URDF)
    path = folder / "list.json"
    path.write_text(json.dumps(entries))
    return path


def test_a_round_trip_keeps_link_pose_mesh_and_order(tmp_path):
    entries = [entry(), entry(pos=[0.1, -0.2, 0.3], rot=[0.1, 0.2, -0.3]), entry(link_name="palm")]
    source = write(tmp_path, entries)
    convert_sensors(source, tmp_path / "sensors.yaml")
    back = load_sensors(tmp_path / "sensors.yaml")
    assert list(back) == ["finger_1_pad", "finger_1_pad_2", "palm_pad"]
    for given, got in zip(entries, back.values(), strict=True):
        assert got.link == given["link_name"]
        assert got.position == tuple(given["pos"]) and got.rotation == tuple(given["rot"])  # to the last bit
        assert got.gel.file == (tmp_path / "meshes" / "pad_maxv=1e-07.vtk").resolve()
        assert got.gel.units == "m"


@pytest.mark.parametrize("bone_above", [True, False])
def test_the_coat_faces_away_from_the_link(tmp_path, bone_above):
    """The same gel before and behind the bone: its upper or its lower side senses."""
    source = write(tmp_path, [entry(rot=[0.0, 0.0, 0.5])], bone_above)
    (sensor,) = read_sensor_list(source)
    assert sensor.normal == (0.0, 0.0, -1.0 if bone_above else 1.0)
    convert_sensors(source, tmp_path / "sensors.yaml")
    coat, held = (getattr(load_sensors(tmp_path / "sensors.yaml")["finger_1_pad"], key) for key in ("coat", "held"))
    np.testing.assert_array_equal(np.array(coat.normal), sensor.normal)
    np.testing.assert_array_equal(np.array(held.normal), -np.array(sensor.normal))


def test_a_gel_that_is_part_of_the_link_tells_nothing(tmp_path):
    """A robot drawn with its gels: which side is out cannot be seen from it, so the origin of the gel decides."""
    source = write(tmp_path, [entry(rot=[0.0, 0.0, 0.0])], bone_above=False)
    x, t = box_surface((0.03, 0.03, 0.02))
    write_stl(tmp_path / "meshes" / "bone.stl", x + [0.0, 0.0, 0.1], t)  # swallows the gel
    assert read_sensor_list(source)[0].normal == (0.0, 0.0, 1.0)


def test_a_pad_of_another_name_is_taken_and_told(tmp_path):
    (sensor,) = read_sensor_list(write(tmp_path, [entry(mesh_path="meshes/base.stl")]))
    assert sensor.note == "base.stl has no tetrahedra of its own; pad_maxv=1e-07.vtk is taken"


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({}, "is not a list of sensors"),
        ([], "is not a list of sensors"),
        ([3], "sensor 1 is 3; it must be an object with link_name"),
        ([entry(link_name=None)], "sensor 1: link_name is None; it must be the name of a link"),
        ([entry(), entry(pos=[0.0, 1.0])], "sensor 2: pos is [0.0, 1.0]; it must be three finite numbers"),
        ([entry(rot=["a", 0, 0])], "sensor 1: rot is ['a', 0, 0]; it must be three finite numbers"),
        ([entry(mesh_path=None)], "sensor 1 names no tetrahedra: it needs mesh_vtk_file, or mesh_path and reso"),
        ([entry(reso="1e-10")], "no tetrahedra; looked for"),
        ([entry(mesh_vtk_file="../../secret.vtk")], "tetrahedra are read from there only"),
    ],
)
def test_a_list_that_is_wrong_is_refused_by_entry(tmp_path, entries, text):
    with pytest.raises(SceneError) as caught:
        read_sensor_list(write(tmp_path, entries))
    assert text in str(caught.value)


def test_what_is_not_json_is_told(tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[{]")
    with pytest.raises(SceneError, match=r"list\.json is not JSON"):
        read_sensor_list(path)
    with pytest.raises(SceneError, match="cannot read"):
        read_sensor_list(tmp_path / "none.json")
