"""Tables that every entity shares: materials, contact, look, placement, motion, shapes of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.materials import ContactMaterial, JointDrive, ShellMaterial, SolidMaterial
from engine.options import Options
from scenes.lofts import PROFILES
from scenes.patterns import PATTERNS
from scenes.reading import (
    Choice,
    Color,
    FileName,
    Flag,
    Integer,
    ListOf,
    OrNone,
    Quantity,
    Record,
    Table,
    Text,
    Variant,
    Vector,
    setting,
)

POSITIVE_LENGTH = Quantity("length", above=0.0)
POINT = Vector(Quantity("length", low=-1e5, high=1e5))  # farther away squares overflow, or rounding eats a millimetre
SIZE = Vector(POSITIVE_LENGTH)
ANGLES = Vector(Quantity("angle"))
SURFACE_FILES = (".stl", ".obj", ".ply")
TET_FILES = (".vtk", ".msh")
ORIGINS = ("file", "centre", "top", "bottom")
ORIGIN_DOC = "the file's own, or the middle of the bounding box, of its top (+z) or bottom"
MESH_UNITS = ("m", "mm", "cm", "um", "in")

SHELL_MATERIAL = Table(
    ShellMaterial,
    {
        "young": (Quantity("pressure", above=0.0), "Young's modulus"),
        "poisson": (Quantity(), "Poisson's ratio, between -1 and 0.5"),
        "thickness": (POSITIVE_LENGTH, "full thickness"),
        "density": (Quantity("density", above=0.0), "mass per volume"),
        "bending_weight": (Choice(("plate", "grinspun")), "plate theory, or three times stiffer for parity runs"),
        "damping": (Quantity("rate", low=0.0), "velocity damping: force = damping * mass * velocity"),
    },
    title="shell material",
)
SOLID_MATERIAL = Table(
    SolidMaterial,
    {
        "young": (Quantity("pressure", above=0.0), "Young's modulus"),
        "poisson": (Quantity(), "Poisson's ratio, between 0 and 0.5"),
        "density": (Quantity("density", above=0.0), "mass per volume"),
        "damping": (Quantity("rate", low=0.0), "velocity damping: force = damping * mass * velocity"),
    },
    title="solid material",
)
_CONTACT = {
    "dhat": (POSITIVE_LENGTH, "distance below which contact acts; a pair takes the smaller"),
    "half_thickness": (Quantity("length", low=0.0), "half of the thickness seen by contact; surfaces touch at the sum"),
    "kappa": (Quantity("pressure", above=0.0), "barrier stiffness; a pair takes the smaller"),
    "friction_mu": (Quantity(low=0.0), "friction coefficient; a pair takes the geometric mean"),
    "layer": (Integer(0, 31), "collision layer, see `ignore_layers`"),
    "self_collision": (Flag(), "whether the surface collides with itself"),
}
OPTIONS = Table(
    Options,
    {
        "dt": (Quantity("time", above=0.0), "time step"),
        "integrator": (Choice(("backward_euler", "bdf2")), "time integration"),
        "newton_tolerance": (Quantity("velocity", above=0.0), "stop when the largest Newton update over dt is below"),
        "newton_max_iterations": (Integer(1), "step budget"),
        "linear_solver": (Choice(("auto", "pcg", "band", "direct")), "linear solver"),
        "linear_tolerance": (Quantity(above=0.0), "relative residual of the linear solve"),
        "linear_max_iterations": (Integer(1), "iterations of a linear solve at most"),
        "epsv": (Quantity("velocity", above=0.0), "velocity below which friction is static"),
        "friction_iterations": (Integer(1), "lagged friction passes a step"),
        "membrane_extrapolation": (Flag(), "extrapolated membrane stress in the Hessian, for stiff strips"),
        "start": (Choice(("velocity", "position")), "where Newton starts"),
        "newton": (
            Choice(("guided", "plain")),
            "plain: as in the papers, for parity runs. Starts from the position, no extrapolated membrane stress, no "
            "stretched updates, stops on the update's size alone",
        ),
        "candidate_slack": (Quantity("length", low=0.0), "reach of the candidate list, 0 = automatic"),
        "ccd_conservative": (Quantity(), "share of the remaining gap that one CCD advance may use"),
        "line_search_max": (Integer(1), "halvings at most"),
    },
    title="options",
)
DRIVE = Table(
    JointDrive,
    {
        "stiffness": (Quantity("joint stiffness", above=0.0), "spring to the target"),
        "damping": (Quantity("joint damping", low=0.0), "damping of the joint coordinate"),
        "force_limit": (OrNone(Quantity("joint force", above=0.0)), "force the drive may use at most"),
    },
    title="drive",
)


def contact(**defaults) -> Table:
    """Contact table with an entity's own defaults over the engine's."""
    return Table(ContactMaterial, _CONTACT, defaults, title="contact")


def contact_setting(**defaults):
    """A `contact` field whose defaults are the engine's but for the given ones."""
    return setting(contact(**defaults), "how it touches", ContactMaterial(**defaults))


@dataclass(frozen=True)
class Look(Record):
    """How a mesh is drawn. The scene says what it is made of; the window decides how that is shown."""

    color: tuple = setting(Color(), "base colour", (0.7, 0.7, 0.7))
    finish: str = setting(
        Choice(("matte", "satin", "gloss", "cardboard", "tape", "gel", "metal")), "what it looks to be made of", "matte"
    )
    transparency: float = setting(Quantity(low=0.0, high=1.0), "0 opaque, 1 invisible", 0.0)
    smooth: bool = setting(Flag(), "smooth shading", False)
    show: bool = setting(Flag(), "drawn at start", True)


def look(**defaults) -> Table:
    return Table(Look, defaults=defaults, title="look")


def look_setting(**defaults):
    """A `look` field with an entity's own defaults."""
    return setting(look(**defaults), "how it is drawn", Look(**defaults))


@dataclass(frozen=True)
class Keyframe(Record):
    """Pose of a driven body at a time, relative to its start pose; translation in world axes."""

    time: float = setting(Quantity("time", low=0.0), "simulated time")
    translation: tuple = setting(POINT, "moved by", (0.0, 0.0, 0.0))
    rotation: tuple = setting(ANGLES, "turned about world x, then y, then z, around its origin", (0.0,) * 3)


@dataclass(frozen=True)
class Motion(Record):
    """Motion of a driven body by keyframes."""

    keyframes: tuple = setting(ListOf(Table(Keyframe, title="keyframe")), "at least one, times rising")
    between: str = setting(Choice(("smooth", "linear")), "smooth starts and stops gently at each keyframe", "smooth")
    after: str = setting(Choice(("hold", "loop")), "after the last keyframe; a loop must end where it began", "hold")


MOTION = Table(Motion, title="motion")


@dataclass(frozen=True)
class TetrahedraliseOptions(Record):
    """Filling a closed surface with tetrahedra; needs the optional package `pytetwild`."""

    edge_length: float = setting(POSITIVE_LENGTH, "wanted edge length")


@dataclass(frozen=True)
class SurfaceFile(Record):
    """A triangle surface from a file: STL (binary or text), OBJ (quads and n-gons are triangulated) or PLY."""

    file: Path = setting(FileName(SURFACE_FILES), "mesh file")
    units: str | None = setting(OrNone(Choice(MESH_UNITS)), "of its numbers; none: metres, with a warning", None)
    scale: float = setting(Quantity(above=0.0), "further factor", 1.0)
    repair: bool = setting(Flag(), "merge, drop bad faces, turn inside out, fill holes; reported", False)
    origin: str = setting(Choice(ORIGINS), ORIGIN_DOC, "file")


@dataclass(frozen=True)
class TetFile(Record):
    """Tetrahedra from legacy VTK (text or binary) or Gmsh MSH 2.2 / 4.1 (text), or a closed surface to be filled."""

    file: Path = setting(FileName(TET_FILES + SURFACE_FILES), "mesh file")
    units: str | None = setting(OrNone(Choice(MESH_UNITS)), "of its numbers; none: metres, with a warning", None)
    scale: float = setting(Quantity(above=0.0), "further factor", 1.0)
    repair: bool = setting(Flag(), "turn inverted elements, drop unused points; reported", False)
    origin: str = setting(Choice(ORIGINS), ORIGIN_DOC, "file")
    tetrahedralise: TetrahedraliseOptions | None = setting(
        OrNone(Table(TetrahedraliseOptions, title="tetrahedralise")), "how to fill a surface file", None
    )


@dataclass(frozen=True)
class BoxShape(Record):
    """A box centred at the origin."""

    size: tuple = setting(SIZE, "full extents")
    cells: tuple = setting(Vector(Integer(1, 500)), "cells along each axis", (1, 1, 1))


@dataclass(frozen=True)
class RoundedBoxShape(Record):
    """A box with rounded edges, centred at the origin."""

    size: tuple = setting(SIZE, "full extents")
    radius: float = setting(POSITIVE_LENGTH, "edge radius, at most half of the smallest extent")
    segments: int = setting(Integer(1, 16), "segments of a quarter circle", 2)


@dataclass(frozen=True)
class CylinderShape(Record):
    """A cylinder along z, centred at the origin."""

    radius: float = setting(POSITIVE_LENGTH, "radius")
    height: float = setting(POSITIVE_LENGTH, "full height")
    segments: int = setting(Integer(3, 500), "segments around", 32)


@dataclass(frozen=True)
class SphereShape(Record):
    """A sphere of nearly equal triangles."""

    radius: float = setting(POSITIVE_LENGTH, "radius")
    subdivisions: int = setting(Integer(0, 6), "20 * 4^n triangles", 3)


@dataclass(frozen=True)
class RingShape(Record):
    """A torus about z."""

    radius: float = setting(POSITIVE_LENGTH, "from the axis to the middle of the tube")
    tube_radius: float = setting(POSITIVE_LENGTH, "of the tube; smaller than radius")
    segments: int = setting(Integer(3, 500), "around the axis", 32)
    tube_segments: int = setting(Integer(3, 200), "around the tube", 12)


@dataclass(frozen=True)
class OpenBoxShape(Record):
    """A box with bottom and four walls, open at the top, centred at the origin."""

    size: tuple = setting(SIZE, "outer extents")
    wall: float = setting(POSITIVE_LENGTH, "wall and bottom thickness")


@dataclass(frozen=True)
class ReliefShape(Record):
    """A block with a relief on its top: a spherical bump and bars beside it. The top plane is z = 0."""

    size: tuple = setting(SIZE, "extents of the block below the plane", (0.02, 0.024, 0.01))
    cell: float = setting(POSITIVE_LENGTH, "cell size of the relief", 1e-3)
    bump_radius: float = setting(POSITIVE_LENGTH, "radius of the sphere", 4e-3)
    bump_height: float = setting(Quantity("length", low=0.0), "how far it rises; below its radius", 1.5e-3)
    bars: int = setting(Integer(0, 20), "number of bars", 3)
    bar_width: float = setting(POSITIVE_LENGTH, "width at half height", 2e-3)
    bar_height: float = setting(Quantity("length", low=0.0), "height", 1e-3)


@dataclass(frozen=True)
class PegShape(Record):
    """A peg along z, centred at the origin, narrower at its lower end."""

    profile: str = setting(Choice(PROFILES), "outline; flats of a square and a hexagon face +x and -x", "square")
    width: float = setting(POSITIVE_LENGTH, "across flats, or diameter")
    height: float = setting(POSITIVE_LENGTH, "full height")
    taper: float = setting(Quantity("length", low=0.0), "length of the narrowing end; 0: blunt", 0.0)
    taper_width: float | None = setting(OrNone(POSITIVE_LENGTH), "width at the lower end; none: 0.8 width", None)


@dataclass(frozen=True)
class PatternShape(Record):
    """An indenter: a square block whose top carries a pattern of known height. The top plane is z = 0."""

    pattern: str = setting(Choice(tuple(PATTERNS)), "what rises from the plane")
    size: float = setting(POSITIVE_LENGTH, "side of the block", 0.02)
    height: float = setting(POSITIVE_LENGTH, "of the highest point over the plane", 1e-3)
    depth: float = setting(POSITIVE_LENGTH, "thickness of the block below the plane", 5e-3)
    cell: float = setting(POSITIVE_LENGTH, "cell size of the grid", 4e-4)


@dataclass(frozen=True)
class HoleBlockShape(Record):
    """A block, centred at the origin, with a hole through it along z."""

    size: tuple = setting(SIZE, "extents of the block")
    profile: str = setting(Choice(PROFILES), "outline of the hole", "square")
    width: float = setting(POSITIVE_LENGTH, "of the hole, as for a peg")
    chamfer: float = setting(Quantity("length", low=0.0), "by which the hole widens at its upper mouth", 0.0)


SURFACE_TABLES = {
    "box": Table(BoxShape, title="shape box"),
    "rounded_box": Table(RoundedBoxShape, title="shape rounded_box"),
    "cylinder": Table(CylinderShape, title="shape cylinder"),
    "sphere": Table(SphereShape, title="shape sphere"),
    "ring": Table(RingShape, title="shape ring"),
    "open_box": Table(OpenBoxShape, title="shape open_box"),
    "relief": Table(ReliefShape, title="shape relief"),
    "peg": Table(PegShape, title="shape peg"),
    "hole_block": Table(HoleBlockShape, title="shape hole_block"),
    "pattern": Table(PatternShape, title="shape pattern"),
    "mesh": Table(SurfaceFile, title="shape mesh"),
}
SHAPE = Variant(SURFACE_TABLES, "shapes")
NAME = Text()
