"""Which bodies and meshes an entity makes, and what they are called: references in a scene file are checked by this."""

from __future__ import annotations

from engine.tape.placing import core_name
from scenes.carton import FLAPS, Carton
from scenes.dispenser import Dispenser, roller_name, tape_name
from scenes.roll import Roll
from scenes.schema import Body, CardboardBox, Gripper, SceneFile, Sheet, Strip

_BODIES = {
    Body: lambda name: (name,),
    CardboardBox: lambda name: (name,),
    Carton: lambda name: (name, *(f"{name}.{side}" for side in FLAPS)),
    Gripper: lambda name: (f"{name}.palm", f"{name}.left", f"{name}.right"),
    Roll: lambda name: (core_name(name),),
    Dispenser: lambda name: (name, roller_name(name), core_name(tape_name(name))),
}
_SHEETS = {
    Strip: lambda name: (name,),
    Sheet: lambda name: (name,),
    Roll: lambda name: (name,),
    Dispenser: lambda name: (tape_name(name),),
}


def body_names(file: SceneFile) -> tuple[str, ...]:
    """All bodies, in the order of the entities."""
    return _of(file, _BODIES)


def sheet_names(file: SceneFile) -> tuple[str, ...]:
    """All shells: what a blade may cut."""
    return _of(file, _SHEETS)


def mesh_names(file: SceneFile) -> tuple[str, ...]:
    """All meshes."""
    made = body_names(file) + tuple(n for n in sheet_names(file) if n not in file.entities)
    whole = (n for n, e in file.entities.items() if not isinstance(e, Gripper))
    return made + tuple(n for n in whole if n not in made)


def _of(file: SceneFile, table: dict) -> tuple[str, ...]:
    found: list[str] = []
    for name, entity in file.entities.items():
        if type(entity) in table:
            found += table[type(entity)](name)
    return tuple(found)
