"""What entities share: where they are, and regions of their vertices."""

from __future__ import annotations

from dataclasses import dataclass

from scenes.reading import Choice, Flag, ListOf, OrNone, Record, Table, setting
from scenes.tables import ANGLES, NAME, POINT

REGIONS = ("-x", "+x", "-y", "+y", "-z", "+z")


@dataclass(frozen=True)
class Region(Record):
    """Vertices of a mesh: those at one side, within an optional box. Both in the mesh's own frame."""

    side: str | None = setting(OrNone(Choice(REGIONS)), "extreme vertices along an axis; none: all", None)
    low: tuple | None = setting(OrNone(POINT), "lower corner of a box that they must lie in", None)
    high: tuple | None = setting(OrNone(POINT), "upper corner of that box", None)


REGION = Table(Region, title="region")


@dataclass(frozen=True)
class Attachment(Region):
    """Vertices that ride on a body from the start."""

    body: str = setting(NAME, "name of a body, or gripper.palm, gripper.left, gripper.right of a gripper")
    ignore_contact: bool = setting(
        Flag(), "mesh and body never touch; false needs a gap at the attached vertices", True
    )


ATTACH = ListOf(Table(Attachment, title="attach"))


@dataclass(frozen=True)
class Placed(Record):
    """What all entities share."""

    position: tuple = setting(POINT, "of its own origin in the world", (0.0, 0.0, 0.0))
    rotation: tuple = setting(ANGLES, "about the world's x, then y, then z", (0.0, 0.0, 0.0))
