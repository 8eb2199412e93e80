"""Small models that several builder tests share."""

from __future__ import annotations

import numpy as np

from engine import ContactMaterial, JointDrive, ModelBuilder, ShellMaterial, SolidMaterial
from engine.mesh import shapes


def pose(x=0.0, y=0.0, z=0.0, rotation=None) -> np.ndarray:
    """(4, 4) mesh -> world."""
    out = np.eye(4)
    out[:3, 3] = x, y, z
    out[:3, :3] = np.eye(3) if rotation is None else rotation
    return out


def turn(axis, angle) -> np.ndarray:
    """Rotation matrix (Rodrigues)."""
    a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    k = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def host_points(model) -> np.ndarray:
    """Start positions of all points through the embedding, (P, 3)."""
    e = model.embedding
    node, count, weights, offset = (a.numpy() for a in (e.point_node, e.point_count, e.point_weights, e.point_offset))
    x = model.node_start.numpy()
    out = offset.copy()
    for k in range(4):
        rides = k < count
        out[rides] += weights[rides, k : k + 1] * x[node[rides] + k]
    return out


def mixed_scene() -> ModelBuilder:
    """A strip clamped at one end, a pad glued to a driven tilted block, a free ball and a table."""
    b = ModelBuilder()
    v, t = shapes.strip_mesh(0.08, 0.02, 2)
    b.add_shell("strip", v + [0, 0, 0.05], t, ShellMaterial(density=1200.0, thickness=1e-4), pinned=[0, 1, 2])
    v, m = shapes.box_tets(2, 2, 2, (0.02, 0.02, 0.004))
    b.add_solid("pad", v + [0, 0, 0.1], m, SolidMaterial(density=900.0, damping=2.0), velocity=(0.0, 0.0, -0.5))
    block = shapes.box_surface((0.03, 0.02, 0.01))
    tilt = pose(0.0, 0.0, 0.12, turn((0, 0, 1), 0.4))
    b.add_body("block", *block, ContactMaterial(), density=2000.0, transform=tilt, driven=True, force_limit=20.0)
    top = b.parts["pad"].vertices[:, 2] > 0.1015
    b.attach("pad", top, "block")
    ball = shapes.icosphere(0.01, 1)
    b.add_body("ball", *ball, mass=0.02, transform=pose(0.3), velocity=(1.0, 0, 0, 0, 0, 3.0), gravity=False)
    b.add_static("table", *shapes.box_surface((1.0, 1.0, 0.02)), transform=pose(z=-0.5))
    return b


def gripper_scene() -> ModelBuilder:
    """A driven palm with two sliding fingers, a door on the world, a ball joint and a weld."""
    b = ModelBuilder()
    b.add_body("palm", *shapes.box_surface((0.1, 0.04, 0.02)), density=1000.0, transform=pose(z=0.2), driven=True)
    for side, name in ((-1, "left"), (1, "right")):
        place = pose(0.03 * side, 0.0, 0.15)
        b.add_body(name, *shapes.box_surface((0.01, 0.02, 0.06)), mass=0.05, transform=place)
        drive = JointDrive(2e3, 5.0, 30.0) if side > 0 else None
        b.add_joint(f"slide_{name}", "prismatic", "palm", name, (0.03 * side, 0, 0.17), (side, 0, 0), 0.0, 0.04, drive,
                    position=0.03)  # fmt: skip
    b.add_body("door", *shapes.box_surface((0.1, 0.01, 0.1)), mass=0.1, transform=pose(0.5))
    b.add_joint("hinge", "revolute", None, "door", (0.45, 0, 0), (0, 0, 1), lower=-1.0)
    b.add_body("knob", *shapes.icosphere(0.01, 1), mass=0.01, transform=pose(0.5, -0.05))
    b.add_joint("ball", "spherical", "door", "knob", (0.5, -0.02, 0))
    b.add_body("plate", *shapes.box_surface((0.02, 0.02, 0.002)), mass=0.01, transform=pose(0.5, 0.05))
    b.add_joint("weld", "fixed", "door", "plate", (0.5, 0.02, 0))
    return b
