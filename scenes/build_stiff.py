"""Bodies, cardboard boxes and statics."""

from __future__ import annotations

import numpy as np

from scenes.motion import rigid_transform
from scenes.scene import Tool
from scenes.schema import Body, CardboardBox, Static
from scenes.shapes import make_surface, open_box


def add_body(draft, name: str, body: Body) -> None:
    """A free, jointed or driven body."""
    vertices, triangles, notes = make_surface(body.shape, closed=body.density is not None)
    draft.notes += notes
    pose = rigid_transform(body.position, body.rotation)
    draft.builder.add_body(
        name, vertices, triangles, body.contact, density=body.density, mass=body.mass,
        inertia=None if body.inertia is None else np.diag(body.inertia), transform=pose, stiffness=body.stiffness,
        driven=body.driven, force_limit=body.force_limit, velocity=(*body.velocity, 0.0, 0.0, 0.0),
        gravity=body.gravity,
    )  # fmt: skip
    if body.tool:
        draft.tools.append(Tool(name, palm=name, home=pose, grasp_meshes=(name,)))
    if body.motion is not None:
        draft.motions[name] = (body.motion, pose)
    draft.show(name, body)


def add_cardboard_box(draft, name: str, box: CardboardBox) -> None:
    """A free open box; its mesh origin is the middle of the bottom's underside."""
    vertices, triangles = open_box(box.size, box.wall, box.at("wall"))
    draft.builder.add_body(
        name, vertices + np.array([0.0, 0.0, 0.5 * box.size[2]]), triangles, box.contact, density=box.density,
        transform=rigid_transform(box.position, box.rotation), stiffness=box.stiffness,
    )  # fmt: skip
    draft.show(name, box)


def add_static(draft, name: str, static: Static) -> None:
    """Immovable geometry; open surfaces are welcome."""
    vertices, triangles, notes = make_surface(static.shape, closed=False)
    draft.notes += notes
    pose = rigid_transform(static.position, static.rotation)
    draft.builder.add_static(name, vertices, triangles, static.contact, transform=pose)
    draft.show(name, static)
