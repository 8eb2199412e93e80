"""The entity `roll`: a roll of tape, wound here, from a preset, or read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.materials import ContactMaterial, JointFriction, ShellMaterial
from engine.tape.presets import PRESETS
from scenes.adhesion import BOND, COHESION
from scenes.joints import JOINT_FRICTION
from scenes.placed import ATTACH, Placed
from scenes.reading import Choice, FileName, Flag, Integer, OrNone, Quantity, Table, Vector, setting
from scenes.tables import NAME, POSITIVE_LENGTH, SHELL_MATERIAL, Look, contact, look_setting

# what holds layers together, and how the wound part moves: F as a shell like the rest, R as one cluster
MODELS = ("Coh-R", "Coh-F", "Bond-R", "Bond-F")
_CORE_LOOK = {"color": (0.72, 0.55, 0.38), "finish": "cardboard", "smooth": True}


@dataclass(frozen=True)
class Roll(Placed):
    """A roll of tape, adhesive inward: its strip is the mesh NAME, its hollow core the body NAME_core, moving freely.

    In its own frame the core's axis is y and the free end leaves the top along +x. Regions of `attach` are those of the
    flat strip: x along it, centred, its outer end at +x.
    """

    preset: str | None = setting(
        OrNone(Choice(tuple(PRESETS))), "numbers of a real tape; keys below replace single ones", "cloth_19mm"
    )
    asset: Path | None = setting(
        OrNone(FileName((".npz",))), "a roll made by `tacktile tape wind`; its shape is used as it is", None
    )
    settled: bool = setting(
        Flag(), "take the settled roll that ships with these numbers, if one does; else it is wound at the start", True
    )
    width: float | None = setting(OrNone(POSITIVE_LENGTH), "of the strip; none: the preset's, here and below", None)
    cells_across: int | None = setting(OrNone(Integer(2, 200)), "cells across the width, even", None)
    turns: float | None = setting(OrNone(Quantity(above=0.0)), "wound turns, 1 to 64", None)
    free_length: float | None = setting(OrNone(Quantity("length", low=0.0)), "straight end that is not wound", None)
    core_inner_radius: float | None = setting(OrNone(POSITIVE_LENGTH), "of the hollow core", None)
    core_outer_radius: float | None = setting(OrNone(POSITIVE_LENGTH), "on which the tape is wound", None)
    core_density: float | None = setting(OrNone(Quantity("density", above=0.0)), "of the core", None)
    material: ShellMaterial | None = setting(OrNone(SHELL_MATERIAL), "backing, its thickness included", None)
    contact: ContactMaterial | None = setting(
        OrNone(contact(dhat=1.8e-4)), "of strip and core; layers touch at twice the half_thickness", None
    )
    origin: str = setting(
        Choice(("core", "tip")), "what `position` places: the middle of the core, or of the outer end", "core"
    )
    axle: str = setting(Choice(("free", "bearing")), "free, or turning about its axis on a bearing", "free")
    axle_body: str | None = setting(OrNone(NAME), "body that carries the bearing; none: the world", None)
    axle_friction: JointFriction | None = setting(OrNone(JOINT_FRICTION), "of the bearing", None)
    model: str = setting(
        Choice(MODELS),
        "layers held by `adhesive` (Coh) or `bond` (Bond); the wound part is one cluster (R) or a full shell (F)",
        "Coh-R",
    )
    adhesive: Any = setting(OrNone(COHESION), "between layers and on the core, Coh models; none: the preset's", None)
    core_adhesive: Any = setting(OrNone(COHESION), "on the core, Coh models; none: as between layers", None)
    bond: Any = setting(OrNone(BOND), "between layers and on the core, Bond models; none: defaults", None)
    collar_rows: int = setting(Integer(1, 1000), "rows behind the front that stay deformable (R models)", 10)
    release_distance: float | None = setting(
        OrNone(POSITIVE_LENGTH), "a row joins the free end when it left its place by this; none: 5 dhat", None
    )
    attach: tuple = setting(ATTACH, "vertices that ride on bodies", ())
    velocity: tuple = setting(Vector(Quantity("velocity")), "at start", (0.0, 0.0, 0.0))
    look: Look = look_setting(color=(0.80, 0.62, 0.38), finish="tape")
    core_look: Look = setting(
        Table(Look, defaults=_CORE_LOOK, title="look"), "how the core is drawn", Look(**_CORE_LOOK)
    )


ROLL = Table(Roll, title="roll")
