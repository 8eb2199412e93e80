"""Cartons and dispensers: what they become, where their parts are, what is refused; and how sealing is judged."""

import numpy as np
import pytest

from engine import Engine
from scenes.build import build_scene
from scenes.build_carton import carton_flaps, flap_transform
from scenes.carton import FLAPS, Carton
from scenes.config import load_config
from scenes.dispenser import Dispenser
from scenes.dispenser_shape import THREAD_GAP, lay_out
from scenes.errors import SceneError
from scenes.packaging import FLAT, Sealing, SealWatch, _covered, _length

CARTON = "carton: {type: carton, size: [0.2, 0.15, 0.1], position: [0, 0, 0.001]"
DISPENSER = """
  gun: {type: dispenser, position: [0.4, 0, 0.2], roll: {turns: 1.5, cells_across: 6}}
"""


def load(tmp_path, entities: str, more: str = ""):
    path = tmp_path / "scene.yaml"
    path.write_text(f"options: {{dt: 1/30 s}}\nentities:\n  {entities}\n{more}")
    return load_config(path)


# cartons --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle, sides", [(0.0, 0.0), (0.4, 0.0), (1.57, 0.0), (1.57, 1.57), (2.0, 0.5), (3.0, 3.0)])
def test_flaps_are_apart_while_they_close(tmp_path, angle, sides):
    """Sides first, as one closes a carton. The builder's own start check refuses anything that touches."""
    scene = build_scene(load(tmp_path, CARTON + f", open_angle: {angle}, open_angle_sides: {sides}}}"))
    engine = Engine(scene.model, scene.options)
    assert list(scene.model.joints) == [f"carton.{side}_crease" for side in FLAPS]
    for side, asked in zip(FLAPS, (angle, angle, sides, sides), strict=True):
        assert engine.joint_position(f"carton.{side}_crease") == pytest.approx(asked, abs=1e-12)


def test_closed_flaps_cover_the_carton_and_meet_at_the_seam():
    carton = Carton(size=(0.2, 0.15, 0.1))
    places = {}
    for side, flap in zip(FLAPS, carton_flaps(carton), strict=True):
        pose, half = flap_transform(flap, 0.0), 0.5 * np.array([flap.reach - flap.inset, flap.width, carton.wall])
        corners = pose[:3, :3] @ (half[:, None] * np.array([[1, -1], [1, -1], [1, -1]])) + pose[:3, 3:]
        places[side] = corners.min(axis=1), corners.max(axis=1)
    seam = places["back"][0][1] - places["front"][1][1]
    assert seam == pytest.approx(carton.seam)
    assert places["front"][1][0] - places["front"][0][0] == pytest.approx(0.2)  # as long as the carton
    assert places["left"][1][2] < places["front"][0][2]  # sides lie below
    assert min(low[2] for low, _ in places.values()) > 0.1  # above the rim


def test_upright_flaps_stand_over_their_walls():
    carton = Carton(size=(0.2, 0.15, 0.1))
    outward = {"front": (1, -1), "back": (1, 1), "left": (0, -1), "right": (0, 1)}
    for side, flap in zip(FLAPS, carton_flaps(carton), strict=True):
        middle = flap_transform(flap, 0.5 * np.pi)[:3, 3]
        axis, sign = outward[side]
        assert sign * middle[axis] == pytest.approx(0.5 * (carton.size[axis] - carton.wall))
        assert middle[2] > 0.1
        assert sign * flap_transform(flap, 2.0)[axis, 3] > sign * middle[axis]  # further opened: outside


def test_a_carton_too_small_for_its_board_is_refused(tmp_path):
    with pytest.raises(SceneError, match="no room for flaps on a carton of 0.02 x 0.02 m"):
        build_scene(load(tmp_path, "c: {type: carton, size: [0.02, 0.02, 0.1], wall: 6 mm}"))


def test_pulled_flaps_open(tmp_path):
    """Without tape nothing but a crease holds a flap: 2 N at its edge lift it against a yield torque of 30 mN m."""
    scene = build_scene(load(tmp_path, CARTON + ", open_angle: 0.05, open_angle_sides: 0.0}"))
    engine = Engine(scene.model, scene.options)
    engine.set_body_force("carton.back", (0, 0, 4.0))
    for _ in range(6):
        engine.step()
    assert engine.joint_position("carton.back_crease") > 0.5
    assert engine.joint_position("carton.left_crease") < 0.2
    with pytest.raises(ValueError, match="force on body 'carton' is .* it must be three finite numbers"):
        engine.set_body_force("carton", (0, np.nan, 0))


# dispensers -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle", [0.9, 1.3, 1.5])
def test_feed_is_tangent_to_roll_and_roller(angle):
    dispenser, radius, half = Dispenser(feed_angle=angle), 0.042, 4e-5
    layout = lay_out(dispenser, radius, half)
    back = np.array([-layout.feed[1], layout.feed[0]])  # towards the backing
    assert back @ (layout.touch - layout.core) == pytest.approx(radius)  # the core lies on the sticky side
    roller = np.array([0.0, dispenser.roller_radius])
    assert back @ (roller - layout.touch) == pytest.approx(dispenser.roller_radius + half + THREAD_GAP)
    assert layout.core[1] - radius == pytest.approx(dispenser.clearance)
    left = layout.core + radius * back  # where tape leaves the roll
    assert np.linalg.norm(layout.touch - left) + dispenser.tail == pytest.approx(layout.free_length)


def test_a_dispenser_makes_its_parts_and_brings_its_blade(tmp_path):
    more = "blade: {mesh: gun, targets: [gun.tape]}\nseal: {carton: carton, dispenser: gun}\n"
    scene = build_scene(load(tmp_path, CARTON + "}" + DISPENSER, more))
    assert {"gun", "gun.roller", "gun.tape_core"} <= set(scene.model.bodies)
    assert scene.config.body_names[-3:] == ("gun", "gun.roller", "gun.tape_core")
    assert {"gun.roller_axle", "gun.tape_axle"} <= set(scene.model.joints)
    assert [tool.name for tool in scene.tools] == ["gun"]
    edge = np.asarray(scene.blade.edge)
    assert edge[:, 2] == pytest.approx([7e-3, 7e-3]) and np.ptp(edge[:, 1]) > 0.02
    sealing = SealWatch(scene).read(Engine(scene.model, scene.options))
    assert not any(sealing.stages.values()) and sealing.roll_length > 0.2


@pytest.mark.parametrize(
    "entities, more, text",
    [
        ("g: {type: dispenser, roll: {free_length: 0.1}}", "", "g.roll has 'free_length'; that follows from"),
        ("s: {type: strip, length: 0.1, width: 0.02}", "seal: {carton: s, dispenser: s}", "seal.carton"),
        (
            "b: {type: body, shape: {type: box, size: [0.1, 0.1, 0.1]}, mass: 1}\n"
            "  s: {type: strip, length: 0.1, width: 0.02, position: [0, 0, 1]}",
            "blade: {mesh: b, targets: [s]}", "blade.edge is missing; only a dispenser brings its own",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path, entities, more, text):
    with pytest.raises(SceneError, match=text):
        build_scene(load(tmp_path, entities, more))


# judging --------------------------------------------------------------------------------------------------------------
def sealing(**changes) -> Sealing:
    values = dict(
        flap_angle=dict.fromkeys(FLAPS, 0.01), wall_length=(0.02, 0.02), covered_length=0.2, seam_length=0.2,
        stuck_area=0.01, stuck_share=0.95, separated=True, roll_length=0.5,
    )  # fmt: skip
    return Sealing(**values | changes)


@pytest.mark.parametrize(
    "changes, missing",
    [
        ({}, []),
        ({"flap_angle": dict.fromkeys(FLAPS, 0.01) | {"back": 1.1 * FLAT}}, ["closed"]),
        ({"wall_length": (0.0, 0.02)}, ["pressed"]),
        ({"wall_length": (0.0, 0.001)}, ["anchored", "pressed"]),
        ({"covered_length": 0.17}, ["dispensed"]),
        ({"separated": False, "stuck_share": 0.0}, ["cut", "pressed"]),
        ({"stuck_share": 0.7}, ["pressed"]),
    ],
)
def test_stages(changes, missing):
    assert [name for name, holds in sealing(**changes).stages.items() if not holds] == missing


def test_lengths():
    assert _length(np.array([]), 0.004) == 0.0
    assert _length(np.array([0.1, 0.12, 0.11]), 0.004) == pytest.approx(0.024)
    along = np.linspace(-0.1, 0.1, 51)
    assert _covered(along, along, 0.1, 0.004) == pytest.approx(0.2)
    assert _covered(along[along > 0], along, 0.1, 0.004) == pytest.approx(0.1, abs=0.01)
    assert _covered(along[along > 0.02], along[along < -0.02], 0.1, 0.004) == 0.0
