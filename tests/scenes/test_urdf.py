"""URDF files: what is read, and what is refused with which words."""

from __future__ import annotations

import numpy as np
import pytest
import yourdfpy

from engine.robots.kinematics import Kinematics
from scenes.errors import SceneError
from scenes.link_shapes import MeshSearch, collision_surface, visual_surface
from scenes.robots.__main__ import FOLDER, write_all
from scenes.robots.models import ROBOTS
from scenes.urdf import read_urdf
from scenes.urdf_paths import find_mesh
from tests.scenes.robot_files import ARM, write_arm


def test_links_joints_shapes_and_colours_are_read(tmp_path):
    file = read_urdf(write_arm(tmp_path))
    k = Kinematics(file.robot)
    assert k.names == ["turn", "bend", "slide"]
    # `other` may go to 20 mm, but follows `slide`, which ends at 15
    np.testing.assert_allclose(k.upper, [2.0, 2.5, 0.015])
    np.testing.assert_allclose(k.velocity, [1.5, 1.5, 0.1])
    upper = file.robot.links[1]
    assert upper.mass == 0.5 and upper.com[0] == 0.1 and upper.inertia[1, 1] == 2e-3
    assert file.visual["base"][0].color == pytest.approx((0.1, 0.2, 0.8))
    assert [s.kind for s in file.collision["upper"] + file.collision["fore"]] == ["cylinder", "mesh"]


@pytest.mark.parametrize("name", ROBOTS)
def test_our_robots_are_where_the_library_puts_them(name):
    path = FOLDER / f"{name}.urdf"
    k = Kinematics(read_urdf(path).robot)
    oracle = yourdfpy.URDF.load(str(path), load_meshes=False)
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = rng.uniform(k.lower, k.upper)
        oracle.update_cfg(dict(zip(k.names, q, strict=True)))
        poses = k.forward(q)
        for row, link in enumerate(k.links):
            np.testing.assert_allclose(oracle.get_transform(link), poses[row], atol=1e-12)


def test_the_files_of_our_robots_are_those_that_the_generator_writes(tmp_path):
    made = {path.relative_to(tmp_path): path.read_bytes() for path in write_all(tmp_path)}
    kept = {path.relative_to(FOLDER): path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    kept.pop(next(path for path in kept if path.name == "robotiq_3f.sensors.yaml"))
    assert sorted(made) == sorted(kept)
    different = [str(path) for path in made if path.suffix != ".stl" and made[path] != kept[path]]
    assert not different, "run python -m scenes.robots"
    for path in made:  # coordinates may differ in the last bit between machines
        if path.suffix == ".stl":
            a, b = (np.frombuffer(data[84:], dtype="<f4,<f4,<f4,9<f4,<u2")["f3"] for data in (made[path], kept[path]))
            np.testing.assert_allclose(a, b, atol=1e-7)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("</robot>", ""), "not XML"),
        (('<robot name="arm">', '<car name="arm">'), "not XML"),
        (('<?xml version="1.0"?>', '<!DOCTYPE robot [<!ENTITY a "b">]>'), "declares a document type or entities"),
        (('type="prismatic"', 'type="planar"'), "joint 'slide' is of the type 'planar'; legal types: fixed, revolute"),
        (('<limit lower="-2" upper="2" velocity="1.5" effort="9"/>', ""), "joint 'turn' is revolute and needs <limit"),
        (('lower="-2"', 'lower="3"'), "joint 'turn' has the limits 3 to 2"),
        (('child link="upper"', 'child link="uper"'), "joint 'turn' has the child 'uper'; links: base, upper"),
        (('mimic joint="slide"', 'mimic joint="glide"'), "joint 'other' mimics 'glide', which does not move"),
        (('<axis xyz="0 0 2"/>', '<axis xyz="0 0 0"/>'), "joint 'turn' has the axis [0.0, 0.0, 0.0]"),
        (('radius="0.015"', 'radius="-0.015"'), "a collision cylinder of link 'upper' has the size (-0.015, 0.1)"),
        (('radius="0.015"', 'radius="wide"'), "is not a sound URDF: ValueError: could not convert string"),
        (('<box size="0.02 0.06 0.02"/>', '<cone size="1"/>'), "is not a sound URDF: ValueError: Unknown tag: cone"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name(tmp_path, change, text):
    assert change[0] in ARM
    with pytest.raises(SceneError) as caught:
        read_urdf(write_arm(tmp_path, text=ARM.replace(*change, 1)))
    assert text in str(caught.value) and "arm.urdf" in str(caught.value)


def test_entities_never_expand(tmp_path):
    """A billion laughs and a file of this computer: refused before anything is parsed."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    bomb = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>'
    leak = f'<!doctype r [<!ENTITY x SYSTEM "file://{secret}">]><robot name="&x;"/>'
    for text in (bomb, leak, leak.encode("utf-16").decode("latin-1")):
        path = tmp_path / "bad.urdf"
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(SceneError) as caught:
            read_urdf(path)
        assert "secret" not in str(caught.value).replace(str(secret), "")


def test_a_missing_mesh_is_named_with_link_file_and_places(tmp_path):
    urdf = write_arm(tmp_path, "meshes/fora.stl")
    file = read_urdf(urdf)
    with pytest.raises(SceneError) as caught:
        collision_surface("link 'fore'", file.collision["fore"], MeshSearch(urdf), "auto", 1000, [])
    text = str(caught.value)
    assert "collision of link 'fore': mesh 'meshes/fora.stl' is not there" in text
    assert str(urdf.parent / "meshes" / "fora.stl") in text and "did you mean 'fore.stl'" in text


def test_packages_and_substitutions_lead_to_the_file(tmp_path):
    urdf = write_arm(tmp_path)
    wanted = (urdf.parent / "meshes" / "fore.stl").resolve()
    assert find_mesh("package://robots/meshes/fore.stl", urdf, "it") == wanted  # the folder's own name
    assert find_mesh("package://any/fore.stl", urdf, "it", {"any": urdf.parent / "meshes"}) == wanted
    assert find_mesh("visual/fore_vis.stl", urdf, "it", substitute=[("visual", "meshes"), ("_vis", "")]) == wanted
    assert find_mesh(f"file://{wanted}", urdf, "it") == wanted


def test_files_outside_the_robots_folders_are_refused(tmp_path):
    urdf = write_arm(tmp_path / "a" / "b")
    outside = tmp_path / "other.stl"
    outside.write_bytes((urdf.parent / "meshes" / "fore.stl").read_bytes())
    (urdf.parent / "meshes" / "link.stl").symlink_to(outside)
    for name in (str(outside), "../../../other.stl", "meshes/link.stl", f"file://{outside}"):
        with pytest.raises(SceneError, match="outside the robot's folders"):
            find_mesh(name, urdf, "it")
    assert find_mesh("../../../other.stl", urdf, "it", {"mine": tmp_path}) == outside.resolve()
    for name, text in (("http://x.org/a.stl", "is an address"), ("/etc/passwd", "ending that is not read")):
        with pytest.raises(SceneError, match=text):
            find_mesh(name, urdf, "it")


def test_scale_mirror_and_origin_of_a_mesh(tmp_path):
    urdf = write_arm(tmp_path)
    file, notes = read_urdf(urdf), []
    surface = collision_surface("link 'fore'", file.collision["fore"], MeshSearch(urdf), "auto", 1000, notes)
    np.testing.assert_allclose(np.ptp(surface.vertices, axis=0), [0.12, 0.03, 0.03], atol=1e-6)
    np.testing.assert_allclose(surface.vertices.mean(axis=0), [0.1, 0.0, 0.0], atol=1e-6)
    assert surface.closed
    text = ARM.replace('scale="0.001 0.001 0.001"', 'scale="-0.001 0.001 0.001"')
    mirrored = read_urdf(write_arm(tmp_path, text=text))
    surface = visual_surface("link 'fore'", mirrored.collision["fore"], MeshSearch(urdf))
    a, b, c = surface.vertices[surface.triangles].transpose(1, 0, 2)
    assert np.einsum("ij,ij->", a - [0.1, 0.0, 0.0], np.cross(b, c)) > 0.0  # still outward


def test_a_mesh_in_millimetres_without_a_scale_is_told(tmp_path):
    urdf = write_arm(tmp_path, text=ARM.replace('scale="0.001 0.001 0.001"', ""))
    with pytest.raises(SceneError, match='most likely drawn in millimetres: write scale="0.001 0.001 0.001"'):
        visual_surface("link 'fore'", read_urdf(urdf).collision["fore"], MeshSearch(urdf))


DAE = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><created>2020-01-01T00:00:00Z</created><modified>2020-01-01T00:00:00Z</modified>
    <unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 3 0 0 0 2 0 0 0 1</float_array><technique_common>
      <accessor source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
      <param name="Z" type="float"/></accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="n"><translate>10 0 0</translate>
    <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def test_collada_comes_in_its_own_unit_and_with_its_nodes(tmp_path):
    urdf = write_arm(tmp_path, "meshes/fore.dae", ARM.replace('scale="0.001 0.001 0.001"', 'scale="2 2 2"'))
    (urdf.parent / "meshes" / "fore.dae").write_text(DAE)
    surface = visual_surface("link 'fore'", read_urdf(urdf).collision["fore"], MeshSearch(urdf))
    # centimetres, twice; moved by the node and by the origin of the shape; the file's up axis is not applied
    np.testing.assert_allclose(surface.vertices.min(axis=0), [0.2 + 0.1, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.ptp(surface.vertices, axis=0), [0.06, 0.04, 0.02], atol=1e-9)
    (urdf.parent / "meshes" / "fore.dae").write_text("not collada")
    with pytest.raises(SceneError, match=r"fore\.dae is not a readable Collada file"):
        visual_surface("link 'fore'", read_urdf(urdf).collision["fore"], MeshSearch(urdf))
