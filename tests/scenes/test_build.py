"""From YAML to a model: every shipped scene, what each entity becomes, and errors with their place."""

from pathlib import Path

import numpy as np
import pytest

from engine.mesh.shapes import box_surface
from scenes import SceneError, build_scene, load_config
from scenes.build_sensor import sensor_frame
from scenes.regions import on_side
from tests.scenes.mesh_writers import write_stl

SCENES = sorted((Path(__file__).parents[2] / "scenes").glob("*.yaml"))


def build(tmp_path, text, *overrides, **kwargs):
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return build_scene(load_config(path, overrides), **kwargs)


def refusal(tmp_path, text):
    with pytest.raises(SceneError) as error:
        build(tmp_path, text)
    return str(error.value).replace(str(tmp_path) + "/", "")


def start(scene, mesh):
    """Start positions (n, 3) [m] of a mesh of world 0."""
    model, embedding = scene.model, scene.model.embedding
    nodes = model.node_start.numpy()
    first, count = embedding.point_node.numpy(), embedding.point_count.numpy()
    weights, offset = embedding.point_weights.numpy(), embedding.point_offset.numpy()
    ids = np.arange(model.points_per_world)[model.meshes[mesh].points]
    return np.array([offset[p] + sum(weights[p, k] * nodes[first[p] + k] for k in range(count[p])) for p in ids])


@pytest.mark.parametrize("path", SCENES, ids=lambda p: p.stem)
def test_every_shipped_scene_builds(path):
    scene = build_scene(load_config(path))
    assert set(scene.visuals) == set(scene.model.meshes)
    assert scene.notes == [] and set(scene.model.rolls) == {
        n for n, r in scene.rolls.items() if f"{n}_cluster" in scene.model.bodies
    }
    driven = [name for name, body in scene.model.bodies.items() if body.driven]
    if path.stem.startswith("stress_"):
        assert set(scene.motions) == set(driven) and not scene.tools
    else:
        links = {body for robot in scene.robots.values() for body in robot.bodies}
        palms = [tool.palm for tool in scene.tools if tool.robot is None]
        assert palms == [name for name in driven if name not in links] and scene.script.is_file() and scene.task
        assert {tool.palm for tool in scene.tools if tool.robot} <= links


def test_strip_on_box():
    scene = build_scene(load_config("strip_on_box"))
    strip = start(scene, "strip")
    rows = strip.reshape(-1, 7, 3)
    assert len(rows) % 2 == 1 and np.ptp(rows[:, :, 0], axis=1).max() == 0.0, "ordered row by row"
    assert np.ptp(strip, axis=0) == pytest.approx([0.28, 0.048, 0.0])
    stand = start(scene, "stand")
    overhang = stand[:, 0].min() - strip[:, 0].min()
    assert overhang == pytest.approx(0.03) and strip[0, 2] > stand[:, 2].max()
    tool = scene.tools[0]
    assert tool.palm == "gripper.palm" and tool.fingers == ("gripper.left_slide", "gripper.right_slide")
    upper, lower = start(scene, "gripper.left"), start(scene, "gripper.right")
    if upper[:, 2].mean() < lower[:, 2].mean():
        upper, lower = lower, upper
    assert lower[:, 2].max() < strip[0, 2] < upper[:, 2].min(), "one finger below the strip, one above"
    assert upper[:, 2].min() - lower[:, 2].max() == pytest.approx(0.024)
    assert upper[:, 0].max() < strip[:, 0].min(), "the fingers start beside the strip's end"
    limits = scene.model.joints[tool.fingers[0]]
    assert limits.lower < tool.open_position < 0.012 < tool.closed_position <= limits.upper + 2e-3
    spring = limits.drive.stiffness * (tool.closed_position - 0.012)
    assert spring == pytest.approx(limits.drive.force_limit), "fully closed targets ask for the whole grip force"
    assert scene.model.bodies["gripper.palm"].force_limit == 30.0
    assert scene.model.bodies["box"].mass == pytest.approx(
        150.0 * (0.16 * 0.12 * 0.08 - 0.152 * 0.112 * 0.076), rel=1e-9
    )


def test_tactile_press_pad():
    scene = build_scene(load_config("tactile_press"))
    pad = scene.pads[0]
    info = scene.model.meshes["pad"]
    count = len(info.rest)
    assert 130 <= count <= 150
    world = start(scene, "pad")
    coat = np.unique(pad.coat)
    assert np.ptp(world[coat, 2]) == 0.0 and world[coat, 2].max() == world[:, 2].min(), "the coat is the lower face"
    a, b, c = world[pad.coat].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    assert (normals[:, 2] < 0.0).all() and 0.5 * np.abs(normals[:, 2]).sum() == pytest.approx(0.02075 * 0.02525)
    frame = pad.world_from_sensor
    assert frame[:3, 2] == pytest.approx([0.0, 0.0, -1.0], abs=1e-15)
    assert np.linalg.det(frame[:3, :3]) == pytest.approx(1.0)
    assert frame[:3, 3] == pytest.approx([0.0, 0.0, world[coat, 2].max()]), "its origin lies on the coat"
    assert (pad.camera.width, pad.camera.height) == (160, 120) and pad.body == "holder"
    assert np.ptp(world[pad.held, 2]) == 0.0 and world[pad.held, 2].max() == world[:, 2].max()
    embedding = scene.model.embedding
    ids = np.arange(scene.model.points_per_world)[info.points]
    riders = embedding.point_count.numpy()[ids]
    assert set(riders[pad.held]) == {4} and set(np.delete(riders, pad.held)) == {1}
    assert scene.tools[0].fingers == () and scene.tools[0].palm == "holder"


@pytest.mark.parametrize("side", ["-x", "+x", "-y", "+y", "-z", "+z"])
def test_coat_frames_are_right_handed_and_look_outwards(side):
    vertices, triangles = box_surface((1.0, 2.0, 3.0))
    coat = triangles[on_side(vertices, side)[triangles].all(axis=1)]
    frame = sensor_frame(vertices, coat)
    outward = np.zeros(3)
    outward["xyz".index(side[1])] = 1.0 if side[0] == "+" else -1.0
    assert frame[:3, 2] == pytest.approx(outward)
    assert np.cross(frame[:3, 0], frame[:3, 1]) == pytest.approx(outward)
    assert frame[:3, 3] == pytest.approx(outward * 0.5 * np.array([1.0, 2.0, 3.0])), "in the middle of the coat"


def test_motion_is_written_to_the_rows_of_driven_bodies():
    scene = build_scene(load_config("stress_squeeze"), num_worlds=2)
    home = scene.motions["upper"][1]

    class Control:
        body_transform = np.zeros((2, 2, 4, 4))

    scene.control_motion(Control, 1.0)
    row = [name for name, body in scene.model.bodies.items() if body.driven].index("upper")
    assert Control.body_transform[:, row, 2, 3] == pytest.approx([home[2, 3] - 1.6e-3] * 2)
    assert Control.body_transform[1, 1 - row] == pytest.approx(scene.motions["lower"][1])


def test_overrides_change_the_model(tmp_path):
    wide = build_scene(load_config("strip_on_box", ["strip.width=0.03", "strip.cells_across=4"]))
    assert np.ptp(start(wide, "strip"), axis=0)[1] == pytest.approx(0.03)
    assert len(start(wide, "strip")) % 5 == 0


BODY = """\
gravity: [0, 0, 0]
entities:
  holder: {type: body, shape: {type: box, size: [0.02, 0.02, 0.02]}, density: 1000, driven: true}
  sheet:
    type: sheet
    size: [0.1, 0.1]
    cells: [4, 4]
    position: [0, 0, 0.02]
"""


def test_attached_and_pinned_vertices(tmp_path):
    text = BODY + "    pinned: [{side: -x}]\n    attach: [{side: +x, body: holder}]\n    velocity: [0, 0, 1]\n"
    scene = build(tmp_path, text)
    ids = np.arange(scene.model.points_per_world)[scene.model.meshes["sheet"].points]
    count = scene.model.embedding.point_count.numpy()[ids].reshape(5, 5)
    assert (count[0] == 0).all() and (count[4] == 4).all() and (count[1:4] == 1).all()


def test_errors_of_the_engine_name_the_entity(tmp_path):
    touching = BODY.replace("position: [0, 0, 0.02]", "position: [0, 0, 0.005]")
    message = refusal(tmp_path, touching)
    assert message.startswith(("scene.yaml:5:5: mesh 'sheet'", "scene.yaml:3:11: mesh 'holder'")), message
    assert "sheet" in message and "holder" in message
    lost = refusal(tmp_path, BODY + "    attach: [{side: +x, low: [9, 9, 9], body: holder}]\n")
    assert "scene.yaml:9:14: sheet.attach: no vertex lies in this region" in lost
    twice = refusal(tmp_path, BODY + "    pinned: [{side: +x}]\n    attach: [{side: +x, body: holder}]\n")
    assert twice.startswith("scene.yaml:5:5: ") and "is pinned" in twice
    joint = BODY + "joints:\n  j: {kind: fixed, child: holder, anchor: [0, 0, 0], lower: 0}\n"
    assert "scene.yaml:10:6: joint 'j': a fixed joint has no coordinate for limits, a drive" in refusal(
        tmp_path, joint
    )


def test_meshes_from_files_are_judged_by_what_they_are_for(tmp_path):
    from engine.mesh.shapes import box_surface

    vertices, triangles = box_surface((0.02, 0.02, 0.02), (1, 1, 1))
    write_stl(tmp_path / "open.stl", vertices, triangles[:-1])
    write_stl(tmp_path / "inside_out.stl", vertices * 1000, triangles[:, ::-1])
    shape = "{type: box, size: [0.02, 0.02, 0.02]}"
    opened = BODY.replace(shape, "{type: mesh, file: open.stl, units: m}")
    assert "scene.yaml:3:50: open.stl is not a sound closed surface: 3 open edges" in refusal(tmp_path, opened)
    mass = opened.replace("density: 1000", "mass: 0.1, inertia: [1e-5, 1e-5, 1e-5]")
    assert build(tmp_path, mass).model.bodies["holder"].mass == pytest.approx(0.1)
    static = opened.replace("type: body", "type: static").replace(", density: 1000, driven: true", "")
    assert build(tmp_path, static).model.meshes["holder"].kind == "static"
    turned = BODY.replace(shape, "{type: mesh, file: inside_out.stl, units: mm, repair: true}")
    scene = build(tmp_path, turned)
    assert scene.notes == ["inside_out.stl: 12 triangles turned to face outwards"]
    assert scene.model.bodies["holder"].mass == pytest.approx(8e-3)
    guess = build(tmp_path, mass.replace(", units: m", ""))
    assert "no declared units; metres are assumed" in guess.notes[0]
    assert "it looks like mm" in refusal(tmp_path, turned.replace("units: mm, ", ""))


def test_solids_need_one_source_and_pads_need_pixels(tmp_path):
    solid = "entities:\n  s: {type: solid}\n"
    said = refusal(tmp_path, solid)
    assert "scene.yaml:2:6: entities.s needs either 'size' (a box), 'mesh' (a file) or 'balls'" in said
    pad = "  pad: {type: pad, held_by: holder, position: [0, 0, -0.0125], coat: -z, held: +z,\n    "
    pad += "camera: {pixel_pitch: 1 um}}\n"
    message = refusal(tmp_path, BODY + pad)
    assert "scene.yaml:10:27: pad: an image of 25250 x 20750 pixels; each must lie in 2..4096" in message


def test_procedural_meshes_are_bounded(tmp_path):
    long = "entities:\n  s: {type: strip, length: 1e6, width: 0.01}\n"
    assert "scene.yaml:2:6: this mesh would have" in refusal(tmp_path, long)
