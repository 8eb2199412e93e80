"""A robot in a scene: bodies, filters, limits, sensors, and what is said when something does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from engine import Engine
from engine.mesh.shapes import box_surface
from scenes import SceneError, build_scene, load_config
from scenes.touching import touching_pairs
from tests.scenes.robot_files import ARM, TOOL, write_arm, write_scene

WALL = """  box:
    type: static
    shape: {{type: box, size: [20 mm, 20 mm, 20 mm]}}
    position: [{}]
"""


def build(folder, lines: str = "", more: str = "", text: str = ARM):
    write_arm(folder, text=text)
    return build_scene(load_config(str(write_scene(folder, lines, more))))


def test_links_are_driven_bodies_where_the_joints_put_them(tmp_path):
    scene = build(tmp_path, "position: [0, 0, 0.1]\nrotation: [0, 0, 90 deg]\njoints: {turn: 30 deg, bend: -0.4}")
    assert list(scene.model.bodies) == ["r.base", "r.upper", "r.fore", "r.left", "r.right"]  # palm is fixed to fore
    assert all(body.driven for body in scene.model.bodies.values())
    assert scene.model.bodies["r.upper"].mass == pytest.approx(0.5)
    engine = Engine(scene.model, scene.options)
    a, b = np.pi / 2 + np.pi / 6, np.pi / 2 + np.pi / 6 - 0.4
    elbow = 0.2 * np.array([np.cos(a), np.sin(a)])
    np.testing.assert_allclose(engine.body_transform("r.fore")[:2, 3], elbow, atol=1e-12)
    np.testing.assert_allclose(engine.body_transform("r.fore")[:2, 0], [np.cos(b), np.sin(b)], atol=1e-12)
    robot = scene.robots["r"]
    q, base = robot.coordinates({name: engine.body_transform(name) for name in robot.bodies})
    np.testing.assert_allclose(q, [np.pi / 6, -0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(base, robot.base, atol=1e-12)


def test_satisfied_drives_cost_one_newton_iteration(tmp_path):
    scene = build(tmp_path)
    engine, robot, control = Engine(scene.model, scene.options), scene.robots["r"], None
    for step in range(1, 6):
        control = engine.control()
        q = robot.kinematics.vector({"turn": 0.1 * step, "bend": -0.2 * step, "slide": 0.002 * step})
        robot.write(control, engine.driven_bodies, q)
        report = engine.step(control)
        assert report.converged and report.newton_iterations == 1 and report.drive_gap < 1e-7
    got = robot.coordinates({name: engine.body_transform(name) for name in robot.bodies})[0]
    np.testing.assert_allclose(got, q, atol=1e-9)


def test_neighbours_never_touch_and_far_links_do(tmp_path):
    scene = build(tmp_path)
    names, ignored = list(scene.model.meshes), scene.model.collision.ignored.numpy()
    silent = {(names[i], names[j]) for i, j in zip(*np.nonzero(ignored), strict=True) if i < j}
    assert {("r.base", "r.upper"), ("r.upper", "r.fore"), ("r.fore", "r.left")} <= silent
    assert ("r.base", "r.fore") not in silent and ("r.left", "r.right") not in silent
    off = build(tmp_path, "self_collision: false")
    assert off.model.collision.ignored.numpy().sum() >= 20


def test_parts_that_touch_at_the_start_are_told_and_ignored(tmp_path):
    wide = ARM.replace('<box size="0.03 0.006 0.01"/>', '<box size="0.03 0.05 0.01"/>')  # the fingers overlap
    scene = build(tmp_path, text=wide)
    assert any("r.left and r.right" in note and "touch at the start" in note for note in scene.notes)
    Engine(scene.model, scene.options).step()


def test_touching_means_crossing_near_or_inside():
    x, t = box_surface((1.0, 1.0, 1.0))
    meshes = {"a": (x, t), "near": (x + [1.0009, 0, 0], t), "far": (x + [1.1, 0, 0], t), "in": (0.1 * x, t),
              "corner": (x + [0.9, 0.9, 0.9], t)}  # fmt: skip
    half = dict.fromkeys(meshes, 5e-4)
    pairs = [("a", other) for other in meshes if other != "a"]
    assert touching_pairs(meshes, half, pairs) == [("a", "near"), ("a", "in"), ("a", "corner")]
    assert touching_pairs(meshes, dict.fromkeys(meshes, 4e-4), [("a", "near")]) == []


def test_a_blocked_link_stops_and_says_so_and_a_limited_one_pushes_no_harder(tmp_path):
    """The forearm turns against a box that cannot move; then with 3 N against one that can."""
    wall = WALL.format("0.3, 0.06, 0.05")
    scene = build(tmp_path, more=wall)
    engine, robot = Engine(scene.model, scene.options), scene.robots["r"]
    for step in range(1, 6):
        control = engine.control()
        robot.write(control, engine.driven_bodies, robot.kinematics.vector({"turn": 0.05 * step}))
        report = engine.step(control)
    assert any("drive of 'r.fore' is blocked" in text for text in report.messages)
    assert report.min_distance > 0.0
    limited = build(tmp_path, "force_limits: {fore: 3 N}", wall)
    engine, robot = Engine(limited.model, limited.options), limited.robots["r"]
    for step in range(1, 6):
        control = engine.control()
        robot.write(control, engine.driven_bodies, robot.kinematics.vector({"turn": 0.05 * step}))
        engine.step(control)
    pushed = engine.signals().contact_force[0][limited.model.meshes["box"].points].sum(axis=0)
    assert 1.0 < np.linalg.norm(pushed) < 3.3


def test_sensors_ride_on_their_links(tmp_path):
    (tmp_path / "pads.yaml").write_text(
        "sensors:\n  inner: {link: left, gel: {type: box, size: [20 mm, 8 mm, 2 mm], cells: [4, 2, 1]},"
        " position: [0, -4 mm, 0], rotation: [90 deg, 0, 0]}\n"
    )
    scene = build(tmp_path, f"sensors: pads.yaml\n{TOOL}")
    (pad,) = scene.pads
    assert (pad.name, pad.body) == ("r.inner", "r.left")
    np.testing.assert_allclose(pad.world_from_sensor[:3, 2], [0.0, -1.0, 0.0], atol=1e-12)
    assert "r.inner" in scene.tools[0].grasp_meshes and scene.robots["r"].gels == {"r.inner": "r.left"}
    engine = Engine(scene.model, scene.options)
    before = engine.mesh_positions("r.inner")[pad.held].mean(axis=0)
    control = engine.control()
    scene.robots["r"].write(control, engine.driven_bodies, scene.robots["r"].kinematics.vector({"turn": 0.02}))
    engine.step(control)
    moved = engine.mesh_positions("r.inner")[pad.held].mean(axis=0) - before
    assert moved[1] == pytest.approx(before[0] * np.sin(0.02), rel=0.01)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("joints: {tern: 0.1}", "scene.yaml:6:13: joints: robot 'arm' has no free joint 'tern'; joints: turn"),
        ("joints: {other: 0.1}", "has no free joint 'other'; it follows 'slide'"),
        ("joints: {turn: 3}", "joints: 'turn' starts at 3; its limits are -2 to 2"),
        ("force_limits: {four: 1 N}", "force_limits: there is no link 'four' (did you mean 'fore'?); links: base"),
        ("ignore: [[base, tip]]", "ignore: there is no link 'tip'"),
        ("end_effectors: {t: {link: hand}}", "end effector 't': there is no link 'hand'"),
        ("end_effectors: {t: {link: base}}", "end effector 't': no joint moves 'base'"),
        ("base: moved\nend_effectors: {t: {link: fore}}", "'fore' is moved by turn, bend"),
        ("end_effectors: {t: {link: palm, open: {slide: 0}}}", "open and closed must name the same joints"),
        ("end_effectors: {t: {link: palm, open: {slide: 0}, closed: {slide: 1}}}", "closed puts 'slide' at 1"),
        ("end_effectors: {t: {link: palm, effort: {slide: 1}}}", "effort names 'slide', which is not one"),
        ("sensors: pads.yaml", "sensor 'p': robot 'r' has no link 'lift' with a shape (did you mean 'left'?)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(tmp_path, lines, text):
    (tmp_path / "pads.yaml").write_text("sensors:\n  p: {link: lift}\n")
    with pytest.raises(SceneError) as caught:
        build(tmp_path, lines)
    assert text in str(caught.value)


HAMMER = """  hammer:
    type: body
    shape: {type: box, size: [20 mm, 20 mm, 60 mm]}
    position: [0.45, 0, 0.09]
    density: 1000 kg/m3
    driven: true
    gravity: false
ignore: [[r.fore, hammer], [r.left, hammer], [r.right, hammer]]
"""


def test_a_tool_is_attached_carried_and_put_down(tmp_path):
    scene = build(tmp_path, more=HAMMER)
    engine, robot = Engine(scene.model, scene.options), scene.robots["r"]
    k, carried = robot.kinematics, None

    def go(turn: float) -> None:
        control = engine.control()
        robot.write(control, engine.driven_bodies, k.vector({"turn": turn}), carried=carried)
        engine.step(control)

    start = engine.body_transform("hammer")
    go(0.05)
    np.testing.assert_allclose(engine.body_transform("hammer"), start, atol=1e-9)  # not yet
    go(0.0)
    carried = robot.attach(carried, "hammer", "palm", engine.body_transform("hammer"), k.vector({}))
    go(0.05)
    turned = engine.body_transform("r.fore") @ np.linalg.inv(robot.transforms(robot.start)["r.fore"])
    np.testing.assert_allclose(engine.body_transform("hammer"), turned @ start, atol=1e-7)
    with pytest.raises(ValueError, match="robot 'r' carries 'hammer' already"):
        robot.attach(carried, "hammer", "palm", start, k.vector({}))
    with pytest.raises(KeyError, match="has no link 'hand'"):
        robot.attach(carried, "other", "hand", start, k.vector({}))
    put, carried = engine.body_transform("hammer"), None
    go(-0.05)
    np.testing.assert_allclose(engine.body_transform("hammer"), put, atol=1e-7)
