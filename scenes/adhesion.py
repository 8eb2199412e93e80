"""Adhesives as a scene writes them, and which sides of which meshes stick to what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.adhesion.sticky_surface import SIDES
from engine.materials import BondAdhesive, FrontAdhesive, RccAdhesive
from scenes.reading import Choice, Flag, ListOf, OrNone, Quantity, Record, Table, Text, Variant, setting

_WORK = (Quantity("surface energy", low=0.0), "W, to separate a unit area slowly; 0 = never sticks")
_STICK_SPEED = (Quantity("velocity", above=0.0), "a pressed point sticks only below this relative speed")
_STIFFNESS = Quantity("cohesion stiffness", above=0.0)
ADHESIVE_TABLES = {
    "front": Table(
        FrontAdhesive,
        {
            "work": _WORK,
            "rate_exponent": (Quantity(low=0.0), "m: the work grows by (1 + speed / rate_speed)^m"),
            "rate_speed": (Quantity("velocity", above=0.0), "see rate_exponent"),
            "stick_speed": _STICK_SPEED,
        },
        title="adhesive front",
    ),
    "rcc": Table(
        RccAdhesive,
        {
            "work": _WORK,
            "stiffness_normal": (_STIFFNESS, "C_n"),
            "stiffness_tangential": (_STIFFNESS, "C_t"),
            "viscosity": (Quantity(low=0.0), "b: damage comes later the larger it is"),
            "bonding_rate": (Quantity("rate", above=0.0), "gamma: growth of the intensity in contact"),
            "bonding_pressure": (Quantity("pressure", low=0.0), "p_0: a lighter press restores a share; 0 = any press"),
            "scaling": (Choice(("physical", "paper")), "by area, or by point as in the paper (depends on the mesh)"),
            "stick_speed": _STICK_SPEED,
        },
        title="adhesive rcc",
    ),
    "bond": Table(
        BondAdhesive,
        {
            "stiffness": (Quantity("pressure", above=0.0), "a bond's spring is this times the cell length"),
            "break_force": (Quantity("force", above=0.0), "a bond holds up to this"),
            "strength": (OrNone(Quantity("pressure", above=0.0)), "in place of break_force: times the point's area"),
            "snap": (Flag(), "a bond rests at half of dhat, not where it was made"),
            "stick_speed": _STICK_SPEED,
        },
        title="adhesive bond",
    ),
}
ADHESIVE = Variant(ADHESIVE_TABLES, "adhesives", key="law", default="front")
COHESION = Variant({law: ADHESIVE_TABLES[law] for law in ("front", "rcc")}, "adhesives", key="law", default="front")
BOND = ADHESIVE_TABLES["bond"]


@dataclass(frozen=True)
class Sticking(Record):
    """One side of a mesh sticks to other meshes. Of two entries for the same pair the later one holds."""

    mesh: str = setting(Text(), "mesh with the sticky side; of a roll: NAME (its strip)")
    side: str = setting(
        Choice(tuple(SIDES)), "`positive`: where the triangle normals point; of a strip: negative is below", "negative"
    )
    partners: tuple = setting(ListOf(Text()), "meshes that it sticks to; its own name: tape on tape; [all]: every mesh")
    adhesive: Any = setting(ADHESIVE, "law and numbers", FrontAdhesive())
    stuck: bool = setting(Flag(), "what lies within reach (1.3 dhat) at the start is stuck", True)


STICKING = ListOf(Table(Sticking, title="adhesion"))
