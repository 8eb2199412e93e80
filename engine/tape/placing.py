"""A wound roll into a scene: strip, core and what joins them."""

from __future__ import annotations

import numpy as np

from engine.tape.asset import RollAsset

ADHESIVE_SIDE = "negative"  # against the normals: inward on the roll, downward on a strip flat in the plane z = 0


def core_name(name: str) -> str:
    """Name of the core of the roll `name`."""
    return f"{name}_core"


def add_roll(
    builder, name: str, asset: RollAsset, transform=None, velocity=None, adhesive=None, core_adhesive=None,
    core_driven: bool = False,
) -> tuple[str, str]:  # fmt: skip
    """Add the strip as shell `name` and its core as the freely moving body `<name>_core`; returns both names.

    builder: engine.ModelBuilder; transform (4, 4), rigid: roll frame -> world; velocity (6,): motion of both parts
    about the core's centre at the start, linear [m/s] and angular [rad/s]. adhesive: between layers, and on the core
    unless core_adhesive is given (`engine.FrontAdhesive`, ..); None = layers only touch, and the strip springs open.
    core_driven: the core follows Control.body_transform. Other partners: `builder.add_adhesion(name, ADHESIVE_SIDE,
    ..)`. Raises what the builder raises.
    """
    pose = np.eye(4) if transform is None else np.asarray(transform, float)
    if pose.shape != (4, 4):
        raise ValueError(f"roll '{name}': transform has shape {pose.shape}; it must be (4, 4), roll frame -> world")
    spec = asset.spec
    x = asset.vertices @ pose[:3, :3].T + pose[:3, 3]
    core = pose @ asset.hub_transform
    twist = None if velocity is None else np.asarray(velocity, float)
    points = None if twist is None else twist[:3] + np.cross(twist[3:], x - core[:3, 3])
    builder.add_shell(
        name, x, asset.triangles, spec.material, spec.contact, rest_vertices=asset.rest_vertices, velocity=points
    )
    builder.add_body(
        core_name(name), asset.hub_vertices, asset.hub_triangles, spec.contact, density=spec.core_density,
        transform=core, velocity=twist, driven=core_driven,
    )  # fmt: skip
    feet = asset.feet
    start = np.column_stack([feet.point, feet.corners])
    for partner, material, mine in (
        (name, adhesive, ~feet.on_core), (core_name(name), core_adhesive or adhesive, feet.on_core)
    ):  # fmt: skip
        if material is not None:
            builder.add_adhesion(name, ADHESIVE_SIDE, [partner], material, stuck=start[mine])
    return name, core_name(name)
