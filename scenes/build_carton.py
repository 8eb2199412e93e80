"""Cartons: body, four flaps, a crease each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.mesh.shapes import box_surface
from scenes.carton import FLAPS, Carton
from scenes.errors import SceneError
from scenes.motion import rigid_transform, rotation_matrix
from scenes.shapes import open_box

LAYER_GAP = 8e-4  # between the layers of a closed carton [m], above dhat: they do not touch until pressed
CORNER_GAP = 1e-3  # beside a side flap [m]
TAPER = 0.35  # of a side flap's reach
MAX_ANGLE = 3.0  # to which a flap opens [rad]


@dataclass(frozen=True)
class Flap:
    """Where a flap is, in the carton's frame. hinge (3,): middle of the crease [m]; inward (3,): unit vector from the
    crease to the seam when closed; reach: from the crease to the free edge [m]; inset: from the crease to the board
    [m]; width: along the crease [m]; taper: by which each side edge runs in from the crease to the free edge [m]."""

    hinge: np.ndarray
    inward: np.ndarray
    reach: float
    inset: float
    width: float
    taper: float = 0.0

    @property
    def axis(self) -> np.ndarray:
        """Unit vector about which it opens, (3,)."""
        return np.cross(self.inward, (0.0, 0.0, 1.0))


def add_carton(draft, name: str, carton: Carton) -> None:
    """Body NAME, flaps NAME.front and so on, joints NAME.front_crease and so on."""
    builder, pose = draft.builder, rigid_transform(carton.position, carton.rotation)
    vertices, triangles = open_box(carton.size, carton.wall, carton.at("wall"))
    shift = np.array([0.0, 0.0, 0.5 * carton.size[2]])
    board = {"density": carton.density, "stiffness": carton.stiffness}
    builder.add_body(name, vertices + shift, triangles, carton.contact, transform=pose, **board)
    draft.show(name, carton)
    sides = carton.open_angle if carton.open_angle_sides is None else carton.open_angle_sides
    for side, flap in zip(FLAPS, carton_flaps(carton), strict=True):
        opened = carton.open_angle if side in ("front", "back") else sides
        own, child = flap_transform(flap, opened), f"{name}.{side}"
        builder.add_body(child, *flap_surface(flap, carton.wall), carton.contact, transform=pose @ own, **board)
        anchor = pose[:3, :3] @ flap.hinge + pose[:3, 3]
        builder.add_joint(
            f"{child}_crease", "revolute", name, child, anchor, pose[:3, :3] @ flap.axis, lower=-carton.overfold,
            upper=MAX_ANGLE, position=opened, ignore_contact=False, spring=carton.crease,
            friction=carton.crease_friction,
        )  # fmt: skip
        draft.show(child, carton)


def carton_flaps(carton: Carton) -> list[Flap]:
    """Flaps in the order of FLAPS.

    The crease of a side flap lies half a board and a gap above the rim, that of front and back a board and a gap
    higher, so that all four close flat. Side flaps are tapered, as those of real cartons: front and back then slide
    over them where they stand up a little, and do not jam at their edges. Raises SceneError for a carton too small for
    its board.
    """
    x, y, z = (float(s) for s in carton.size)
    board = carton.wall
    low = z + LAYER_GAP + 0.5 * board
    high = low + board + LAYER_GAP
    front_reach = 0.5 * (y - board - carton.seam)
    side_reach = min(front_reach, 0.5 * (x - board - carton.seam))
    side_width = y - 2.0 * (board + CORNER_GAP)
    taper = min(TAPER * side_reach, 0.25 * side_width)
    if min(side_reach - board, side_width) <= board:
        raise SceneError(f"wall is {board:g} m: no room for flaps on a carton of {x:g} x {y:g} m", carton.at("wall"))
    out_x, out_y = 0.5 * (x - board), 0.5 * (y - board)
    return [
        Flap(np.array([0.0, -out_y, high]), np.array([0.0, 1.0, 0.0]), front_reach, 0.5 * board, x),
        Flap(np.array([0.0, out_y, high]), np.array([0.0, -1.0, 0.0]), front_reach, 0.5 * board, x),
        Flap(np.array([-out_x, 0.0, low]), np.array([1.0, 0.0, 0.0]), side_reach, 0.5 * board, side_width, taper),
        Flap(np.array([out_x, 0.0, low]), np.array([-1.0, 0.0, 0.0]), side_reach, 0.5 * board, side_width, taper),
    ]


def flap_surface(flap: Flap, wall: float):
    """Closed surface in the flap's mesh frame: vertices (n, 3) [m], triangles."""
    length = flap.reach - flap.inset
    vertices, triangles = box_surface((length, flap.width, wall))
    share = vertices[:, 0] / length + 0.5
    vertices[:, 1] -= np.sign(vertices[:, 1]) * share * flap.taper
    return vertices, triangles


def flap_transform(flap: Flap, opened: float) -> np.ndarray:
    """(4, 4) carton frame from the flap's mesh frame (x from crease to edge, y along the crease) when open by `opened`
    [rad]."""
    closed = np.column_stack([flap.inward, np.cross((0.0, 0.0, 1.0), flap.inward), (0.0, 0.0, 1.0)])
    pose = np.eye(4)
    pose[:3, :3] = rotation_matrix(flap.axis * opened) @ closed
    pose[:3, 3] = flap.hinge + pose[:3, 0] * 0.5 * (flap.reach + flap.inset)
    return pose
