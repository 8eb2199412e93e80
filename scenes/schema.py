"""The scene file: its sections and entities. docs/scenes.md is generated from these tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.materials import ContactMaterial, JointDrive, JointFriction, JointSpring, ShellMaterial, SolidMaterial
from engine.options import Options
from scenes.adhesion import STICKING
from scenes.cameras import CAMERAS
from scenes.carton import CARTON
from scenes.dispenser import DISPENSER
from scenes.joints import JOINT_FRICTION, JOINT_SPRING
from scenes.placed import ATTACH, REGION, Placed
from scenes.randomise import RANDOMISE, Randomise
from scenes.reading import (
    Choice,
    FileName,
    Flag,
    Integer,
    ListOf,
    MapOf,
    OrNone,
    Quantity,
    Record,
    Table,
    Text,
    Variant,
    Vector,
    setting,
)
from scenes.robot import ROBOT
from scenes.roll import ROLL
from scenes.sensors import GelPad, PresetTable
from scenes.tables import (
    DRIVE,
    MOTION,
    NAME,
    OPTIONS,
    POINT,
    POSITIVE_LENGTH,
    SHAPE,
    SHELL_MATERIAL,
    SIZE,
    SOLID_MATERIAL,
    Look,
    Motion,
    TetFile,
    contact_setting,
    look_setting,
)

CELLS = Vector(Integer(1, 500))


@dataclass(frozen=True)
class Strip(Placed):
    """A strip of tape or foil: a shell of row-wise zig-zag cells, length along x, width along y, centred."""

    length: float = setting(POSITIVE_LENGTH, "length")
    width: float = setting(POSITIVE_LENGTH, "width")
    cells_across: int = setting(Integer(1, 200), "cells across the width", 6)
    cells_along: int | None = setting(OrNone(Integer(2, 20_000)), "cells along, even; none: about square cells", None)
    material: ShellMaterial = setting(SHELL_MATERIAL, "backing", ShellMaterial())
    contact: ContactMaterial = contact_setting(dhat=3e-4, half_thickness=4e-5)
    pinned: tuple = setting(ListOf(REGION), "vertices that never move", ())
    attach: tuple = setting(ATTACH, "vertices that ride on bodies", ())
    velocity: tuple = setting(Vector(Quantity("velocity")), "at start", (0.0, 0.0, 0.0))
    look: Look = look_setting(color=(0.80, 0.62, 0.38), finish="tape", transparency=0.15)


@dataclass(frozen=True)
class Sheet(Placed):
    """A rectangular sheet: a shell in the x-y plane, centred."""

    size: tuple = setting(Vector(POSITIVE_LENGTH, 2), "extents")
    cells: tuple = setting(Vector(Integer(1, 500), 2), "cells along x and y", (20, 20))
    material: ShellMaterial = setting(SHELL_MATERIAL, "material", ShellMaterial())
    contact: ContactMaterial = contact_setting()
    pinned: tuple = setting(ListOf(REGION), "vertices that never move", ())
    attach: tuple = setting(ATTACH, "vertices that ride on bodies", ())
    velocity: tuple = setting(Vector(Quantity("velocity")), "at start", (0.0, 0.0, 0.0))
    look: Look = look_setting(color=(0.35, 0.55, 0.72))


@dataclass(frozen=True)
class Ball(Record):
    """An ellipsoid."""

    at: tuple = setting(POINT, "its middle")
    radii: tuple = setting(SIZE, "along x, y and z")


@dataclass(frozen=True)
class Balls(Record):
    """A body made of ellipsoids that run into each other."""

    items: tuple = setting(ListOf(Table(Ball, title="ball")), "the ellipsoids")
    cell: float = setting(POSITIVE_LENGTH, "size of the cells that they are cut from")


@dataclass(frozen=True)
class Solid(Placed):
    """A soft solid of tetrahedra: a box (size, cells), centred, a mesh file, or ellipsoids."""

    size: tuple | None = setting(OrNone(SIZE), "extents of a box", None)
    cells: tuple = setting(CELLS, "cells of the box along each axis", (4, 4, 4))
    mesh: TetFile | None = setting(OrNone(Table(TetFile, title="tet mesh")), "mesh file in place of the box", None)
    balls: Balls | None = setting(OrNone(Table(Balls, title="balls")), "ellipsoids in place of the box", None)
    material: SolidMaterial = setting(SOLID_MATERIAL, "material", SolidMaterial())
    contact: ContactMaterial = contact_setting(dhat=2e-4)
    pinned: tuple = setting(ListOf(REGION), "vertices that never move", ())
    attach: tuple = setting(ATTACH, "vertices that ride on bodies", ())
    velocity: tuple = setting(Vector(Quantity("velocity")), "at start", (0.0, 0.0, 0.0))
    look: Look = look_setting(color=(0.85, 0.55, 0.5), finish="gel")


@dataclass(frozen=True)
class Pad(GelPad, Placed):
    """A tactile sensor on a body: its gel, bonded to the body, with the camera that looks at its coat."""

    held_by: str = setting(NAME, "body that carries it")


@dataclass(frozen=True)
class Body(Placed):
    """A stiff body that moves freely, hangs in joints, or is driven."""

    shape: Record = setting(SHAPE, "its surface")
    density: float | None = setting(OrNone(Quantity("density", above=0.0)), "of a closed surface", None)
    mass: float | None = setting(OrNone(Quantity("mass", above=0.0)), "in place of density", None)
    inertia: tuple | None = setting(
        OrNone(Vector(Quantity("inertia", above=0.0))), "principal moments; needed by open surfaces", None
    )
    stiffness: float = setting(Quantity("pressure", above=0.0), "resistance to any change of shape", 1e8)
    driven: bool = setting(Flag(), "follows a target pose", False)
    force_limit: float | None = setting(OrNone(Quantity("force", above=0.0)), "of the drive", None)
    tool: bool = setting(Flag(), "the operator may move it (needs driven)", False)
    motion: Motion | None = setting(OrNone(MOTION), "target over time (needs driven)", None)
    gravity: bool = setting(Flag(), "feels gravity", True)
    velocity: tuple = setting(Vector(Quantity("velocity")), "at start", (0.0, 0.0, 0.0))
    contact: ContactMaterial = contact_setting(kappa=1e6)
    look: Look = look_setting(color=(0.55, 0.58, 0.62), finish="satin")


_CARDBOARD = {"color": (0.76, 0.60, 0.42), "finish": "cardboard"}


@dataclass(frozen=True)
class CardboardBox(Placed):
    """A box with bottom and four walls as one free body, open at the top; its origin is the middle of its bottom."""

    size: tuple = setting(SIZE, "outer extents")
    wall: float = setting(POSITIVE_LENGTH, "wall thickness", 4e-3)
    density: float = setting(Quantity("density", above=0.0), "of the board", 150.0)
    stiffness: float = setting(Quantity("pressure", above=0.0), "resistance to any change of shape", 1e8)
    contact: ContactMaterial = contact_setting(kappa=1e6, friction_mu=0.5, dhat=5e-4)
    look: Look = look_setting(**_CARDBOARD)


@dataclass(frozen=True)
class Static(Placed):
    """A table, a wall, a part in a vice: never moves."""

    shape: Record = setting(SHAPE, "its surface")
    contact: ContactMaterial = contact_setting(kappa=1e6)
    look: Look = look_setting(color=(0.82, 0.82, 0.80))


_GRIP_CONTACT = {"dhat": 3e-4, "kappa": 1e6, "friction_mu": 1.0, "self_collision": False}
_GRIP_LOOK = {"color": (0.25, 0.27, 0.30), "finish": "satin"}


@dataclass(frozen=True)
class Gripper(Placed):
    """Palm and two fingers. Fingers point along its -z and close along its x; the origin lies between the finger tips.

    Makes the bodies NAME.palm, NAME.left (+x), NAME.right (-x) and the joints NAME.left_slide, NAME.right_slide.
    """

    opening: float = setting(POSITIVE_LENGTH, "gap between the open fingers at start", 0.04)
    finger_size: tuple = setting(SIZE, "thickness (x), width (y) and length (z) of a finger", (0.008, 0.02, 0.045))
    finger_radius: float = setting(Quantity("length", low=0.0), "edge radius of a finger, 0 = sharp", 1.5e-3)
    palm_size: tuple = setting(SIZE, "extents of the palm", (0.07, 0.03, 0.02))
    palm_gap: float = setting(POSITIVE_LENGTH, "between palm and fingers", 2e-3)
    density: float = setting(Quantity("density", above=0.0), "of palm and fingers", 1500.0)
    stiffness: float = setting(Quantity("pressure", above=0.0), "resistance to any change of shape", 1e8)
    force_limit: float | None = setting(OrNone(Quantity("force", above=0.0)), "with which the palm may be moved", 30.0)
    grip: JointDrive = setting(
        Table(DRIVE.target, DRIVE.specs, {"stiffness": 4e3, "damping": 20.0, "force_limit": 8.0}, title="drive"),
        "drive of each finger; its force limit is the pinch force",
        JointDrive(stiffness=4e3, damping=20.0, force_limit=8.0),
    )
    gravity: bool = setting(Flag(), "feels gravity", False)
    contact: ContactMaterial = contact_setting(**_GRIP_CONTACT)
    look: Look = look_setting(**_GRIP_LOOK)


ENTITY_TABLES = {
    "strip": Table(Strip, title="strip"),
    "sheet": Table(Sheet, title="sheet"),
    "solid": Table(Solid, title="solid"),
    "pad": PresetTable(Pad, title="pad"),
    "body": Table(Body, title="body"),
    "box": Table(CardboardBox, title="box"),
    "static": Table(Static, title="static"),
    "gripper": Table(Gripper, title="gripper"),
    "robot": ROBOT,
    "roll": ROLL,
    "carton": CARTON,
    "dispenser": DISPENSER,
}


@dataclass(frozen=True)
class Joint(Record):
    """A joint between two bodies, or a body and the world."""

    kind: str = setting(Choice(("fixed", "revolute", "prismatic", "spherical")), "what it lets move")
    child: str = setting(NAME, "body")
    parent: str | None = setting(OrNone(NAME), "body; none: the world", None)
    anchor: tuple = setting(POINT, "where they are joined, in the world")
    axis: tuple | None = setting(OrNone(Vector(Quantity())), "of revolute and prismatic joints, in the world", None)
    lower: float | None = setting(OrNone(Quantity("joint position")), "limit", None)
    upper: float | None = setting(OrNone(Quantity("joint position")), "limit", None)
    drive: JointDrive | None = setting(OrNone(DRIVE), "pulls the coordinate to its target", None)
    spring: JointSpring | None = setting(OrNone(JOINT_SPRING), "in place of a drive; gives way, like a crease", None)
    friction: JointFriction | None = setting(OrNone(JOINT_FRICTION), "along the coordinate", None)


@dataclass(frozen=True)
class Viewpoint(Record):
    """A camera."""

    eye: tuple = setting(POINT, "where the camera stands")
    target: tuple = setting(POINT, "what it looks at")


@dataclass(frozen=True)
class Camera(Record):
    """The camera at start, and named ones."""

    eye: tuple = setting(POINT, "where the camera stands", (0.4, -0.5, 0.35))
    target: tuple = setting(POINT, "what it looks at", (0.0, 0.0, 0.05))
    up: tuple = setting(Vector(Quantity()), "its upward direction", (0.0, 0.0, 1.0))
    bookmarks: dict = setting(MapOf(Table(Viewpoint, title="bookmark")), "further views by name", factory=dict)


@dataclass(frozen=True)
class Blade(Record):
    """A straight cutting edge on a body or static: pressed on a sheet hard enough, it cuts."""

    mesh: str = setting(NAME, "body or static that carries the edge")
    edge: tuple | None = setting(
        OrNone(Vector(POINT, 2)), "its two ends, in the frame of the mesh; none: the dispenser's own", None
    )
    targets: tuple = setting(ListOf(NAME), "strips, sheets and rolls that it may cut")
    threshold: float = setting(Quantity("pressure", above=0.0), "pressure at which it cuts", 1e3)
    steps: int = setting(Integer(1, 1000), "steps in a row for which the pressure must be reached", 2)
    contact_width: float | None = setting(
        OrNone(POSITIVE_LENGTH), "of the contact, across the edge; none: dhat of the target", None
    )
    enabled: bool = setting(Flag(), "whether it cuts; otherwise it only presses", True)


@dataclass(frozen=True)
class Seal(Record):
    """A carton to be sealed with a dispenser: five stages are watched, in the order of the task's steps."""

    carton: str = setting(NAME, "the carton")
    dispenser: str = setting(NAME, "the dispenser")


@dataclass(frozen=True)
class Wrap(Record):
    """A bundle to be wrapped with tape from a roll: five stages are watched, in the order of the task's steps."""

    roll: str = setting(NAME, "the roll")
    around: tuple = setting(ListOf(NAME), "meshes that make up the bundle, along y")
    hand: str = setting(NAME, "tool that picks the tape's end: a gripper")
    finger: str = setting(NAME, "tool that leads the roll by its core")


@dataclass(frozen=True)
class Task(Record):
    """What the operator is asked to do."""

    text: str = setting(Text(), "the task in a sentence", "")
    steps: tuple = setting(ListOf(Text()), "in order", ())
    hints: tuple = setting(ListOf(Text()), "shown beside the view; {next_tool} stands for its key", ())


@dataclass(frozen=True)
class SceneFile(Record):
    """A scene file, from its root."""

    name: str = setting(Text(), "name; empty: the file's name", "")
    description: str = setting(Text(), "one line for the scene list", "")
    task: Task = setting(Table(Task, title="task"), "task", Task())
    gravity: tuple = setting(Vector(Quantity("acceleration")), "acceleration of free fall", (0.0, 0.0, -9.81))
    options: Options = setting(OPTIONS, "of the time stepper", Options())
    entities: dict = setting(MapOf(Variant(ENTITY_TABLES, "entities")), "everything in the scene, by name")
    joints: dict = setting(MapOf(Table(Joint, title="joint")), "joints by name", factory=dict)
    adhesion: tuple = setting(STICKING, "what sticks to what; rolls bring their own between layers and core", ())
    blade: Blade | None = setting(OrNone(Table(Blade, title="blade")), "what cuts by pressure", None)
    seal: Seal | None = setting(OrNone(Table(Seal, title="seal")), "what is sealed, with what", None)
    wrap: Wrap | None = setting(OrNone(Table(Wrap, title="wrap")), "what is wrapped, with what", None)
    ignore: tuple = setting(ListOf(Vector(NAME, 2)), "pairs of meshes that never touch", ())
    ignore_layers: tuple = setting(ListOf(Vector(Integer(0, 31), 2)), "pairs of layers that never touch", ())
    worlds: int = setting(Integer(1, 1_000_000), "copies of the scene that are stepped together", 1)
    randomise: Randomise | None = setting(OrNone(RANDOMISE), "what is drawn for each of several worlds", None)
    camera: Camera = setting(Table(Camera, title="camera"), "camera", factory=Camera)
    cameras: dict = setting(CAMERAS, "those of an episode; none: one, `ego`, that is `camera`", factory=dict)
    script: Path | None = setting(OrNone(FileName((".yaml",))), "scripted input that shows the scene", None)


SCENE = Table(SceneFile, title="scene")
