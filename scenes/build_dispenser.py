"""Dispensers: frame, guide roller, roll on a bearing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.mesh.shapes import cylinder_surface
from scenes.build_roll import add_roll_of_tape, roll_asset
from scenes.dispenser import Dispenser, roller_name, tape_name
from scenes.dispenser_shape import blade_edge, frame_surface, lay_out
from scenes.errors import SceneError
from scenes.motion import rigid_transform, rotation_matrix
from scenes.scene import Tool, Visual

OWN_KEYS = ("position", "rotation", "origin", "free_length", "axle", "axle_body", "velocity")  # the dispenser's to say


def add_dispenser(draft, name: str, dispenser: Dispenser) -> None:
    """Bodies NAME and NAME.roller, joints NAME.roller_axle and NAME.tape_axle; the roll comes with the soft parts."""
    given = [key for key in OWN_KEYS if key in dispenser.roll.key_place]
    if given:
        raise SceneError(f"{name}.roll has '{given[0]}'; that follows from the dispenser", dispenser.roll.at(given[0]))
    asset = roll_asset(name, dispenser.roll)
    spec = asset.spec
    layout = lay_out(dispenser, asset.outer_radius, spec.contact.half_thickness)
    builder, pose = draft.builder, rigid_transform(dispenser.position, dispenser.rotation)
    frame = frame_surface(dispenser, layout, spec.width, spec.core_inner_radius, asset.outer_radius)
    builder.add_body(
        name, *frame, dispenser.contact, density=dispenser.density, transform=pose, **_hand(dispenser),
    )  # fmt: skip
    roller = roller_name(name)
    vertices, triangles = cylinder_surface(dispenser.roller_radius, spec.width, 32)
    axle = pose @ rigid_transform((0.0, 0.0, dispenser.roller_radius), (-0.5 * np.pi, 0.0, 0.0))
    builder.add_body(roller, vertices, triangles, dispenser.contact, density=dispenser.density, transform=axle)
    builder.add_joint(f"{roller}_axle", "revolute", name, roller, axle[:3, 3], pose[:3, 1])
    draft.show(name, dispenser)
    look = dispenser.roller_look
    draft.visuals[roller] = Visual(look.color, look.finish, look.transparency, look.smooth, look.show)
    if dispenser.held:
        draft.tools.append(Tool(name, palm=name, home=pose, grasp_meshes=(name, roller)))
    draft.edges[name] = blade_edge(layout, spec.width)
    draft.threaded[name] = _threaded_roll(dispenser, name, layout, pose)


def _hand(dispenser: Dispenser) -> dict:
    """How a hand moves the frame, and carries its weight; {} when nobody holds it."""
    if not dispenser.held:
        return {}
    drive = {"force_limit": dispenser.force_limit, "drive_stiffness": dispenser.drive_stiffness}
    return {"driven": True, "gravity": False, **drive}


def _threaded_roll(dispenser: Dispenser, name: str, layout, pose: np.ndarray):
    """The roll where the dispenser holds it, and its pose in the world (4, 4)."""
    own = np.eye(4)
    own[:3, :3] = rotation_matrix((0.0, dispenser.feed_angle, 0.0))
    own[:3, 3] = (layout.core[0], 0.0, layout.core[1])
    roll = replace(
        dispenser.roll, free_length=layout.free_length, origin="core", axle="bearing", axle_body=name,
        axle_friction=dispenser.hub_friction,
    )  # fmt: skip
    return roll, pose @ own


def add_threaded_roll(draft, name: str, dispenser: Dispenser) -> None:
    """The strip NAME.tape and its core."""
    roll, pose = draft.threaded[name]
    add_roll_of_tape(draft, tape_name(name), roll, pose)
