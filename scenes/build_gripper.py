"""A two-finger gripper: a driven palm, two fingers on prismatic joints whose drives have a force limit."""

from __future__ import annotations

import numpy as np

from engine.mesh.shapes import box_surface
from scenes.motion import rigid_transform, transform_points
from scenes.scene import Tool
from scenes.schema import Gripper
from scenes.shapes import rounded_box


def add_gripper(draft, name: str, gripper: Gripper) -> None:
    """Bodies NAME.palm, NAME.left, NAME.right and joints NAME.left_slide, NAME.right_slide.

    In the gripper's own frame the origin lies between the finger tips, fingers run up along +z to the palm and close
    along x: left sits at +x, right at -x. The joint coordinate is how far a finger has moved inwards: 0 open.
    closed_position lies beyond the middle by what the drive's spring needs to reach its force limit, so that the pinch
    force is the force limit whatever the thickness of the thing between.
    """
    pose = rigid_transform(gripper.position, gripper.rotation)
    thickness, _, length = gripper.finger_size
    palm, fingers = f"{name}.palm", (f"{name}.left", f"{name}.right")
    common = {"density": gripper.density, "stiffness": gripper.stiffness, "gravity": gripper.gravity}
    vertices, triangles = box_surface(gripper.palm_size)
    palm_pose = pose @ _shift(0.0, length + gripper.palm_gap + 0.5 * gripper.palm_size[2])
    draft.builder.add_body(
        palm, vertices, triangles, gripper.contact, transform=palm_pose, driven=True,
        force_limit=gripper.force_limit, **common,
    )  # fmt: skip
    if gripper.finger_radius > 0.0:
        vertices, triangles = rounded_box(gripper.finger_size, gripper.finger_radius, 2, gripper.at("finger_radius"))
    else:
        vertices, triangles = box_surface(gripper.finger_size)
    travel = 0.5 * gripper.opening
    slides = []
    for finger, side in zip(fingers, (1.0, -1.0), strict=True):
        finger_pose = pose @ _shift(side * (travel + 0.5 * thickness), 0.5 * length)
        draft.builder.add_body(finger, vertices, triangles, gripper.contact, transform=finger_pose, **common)
        slides.append(f"{finger}_slide")
        anchor = transform_points(pose, np.array([[side * travel, 0.0, length]]))[0]
        draft.builder.add_joint(
            slides[-1], "prismatic", palm, finger, anchor, -side * pose[:3, 0], lower=-1e-3, upper=travel + 1e-3,
            drive=gripper.grip,
        )  # fmt: skip
        draft.show(finger, gripper)
    draft.show(palm, gripper)
    beyond = gripper.grip.force_limit / gripper.grip.stiffness if gripper.grip.force_limit else 0.0
    draft.tools.append(
        Tool(name, palm, palm_pose, tuple(slides), 0.0, travel + beyond, fingers, gripper.grip.force_limit)
    )


def _shift(x: float, z: float) -> np.ndarray:
    transform = np.eye(4)
    transform[:3, 3] = (x, 0.0, z)
    return transform
