"""Which bodies and meshes an entity makes, and what they are called: references in a scene file are checked by this."""

from __future__ import annotations

from engine.tape.placing import core_name
from scenes.carton import FLAPS, Carton
from scenes.dispenser import Dispenser, roller_name, tape_name
from scenes.robot import RobotEntity
from scenes.roll import Roll
from scenes.schema import Body, CardboardBox, Gripper, SceneFile, Sheet, Strip
from scenes.sensors import load_sensors
from scenes.urdf import read_urdf

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
    """All bodies, in the order of the entities. Reads the URDF of robots."""
    return _of(file, _BODIES)


def sheet_names(file: SceneFile) -> tuple[str, ...]:
    """All shells: what a blade may cut."""
    return _of(file, _SHEETS)


def mesh_names(file: SceneFile) -> tuple[str, ...]:
    """All meshes."""
    made = body_names(file) + tuple(n for n in sheet_names(file) if n not in file.entities)
    whole = (n for n, e in file.entities.items() if not isinstance(e, Gripper | RobotEntity))
    return made + tuple(n for n in whole if n not in made) + _gels(file)


def _links(name: str, robot: RobotEntity) -> tuple[str, ...]:
    """One body for each group of links that fixed joints hold together."""
    return tuple(f"{name}.{link}" for link in read_urdf(robot.urdf, robot.at("urdf")).robot.rigid_groups())


def _gels(file: SceneFile) -> tuple[str, ...]:
    robots = ((n, e) for n, e in file.entities.items() if isinstance(e, RobotEntity) and e.sensors is not None)
    return tuple(f"{name}.{sensor}" for name, robot in robots for sensor in load_sensors(robot.sensors))


def _of(file: SceneFile, table: dict) -> tuple[str, ...]:
    found: list[str] = []
    for name, entity in file.entities.items():
        if type(entity) in table:
            found += table[type(entity)](name)
        elif isinstance(entity, RobotEntity) and table is _BODIES:
            found += _links(name, entity)
    return tuple(found)
