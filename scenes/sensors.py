"""Tactile sensors in YAML: gel, coat, held faces, camera, markers, calibration; by preset or in full.

A sensor file stands beside a robot (`sensors: hand.yaml`) and holds a mapping `sensors` by name. The scene's entity
`pad` takes the same keys. `preset: NAME` lays the keys under those of `assets/sensors/NAME.yaml`.

Frames: the *link* frame is that of the body that holds the pad; the *gel* frame is that of the pad's own mesh, placed
in the link frame by `position` and `rotation`; the *sensor* frame lies in the middle of the undeformed coat, z out of
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.materials import ContactMaterial, SolidMaterial
from scenes.errors import SceneError, did_you_mean, legal_list
from scenes.placed import REGIONS
from scenes.reading import (
    ROOT,
    Choice,
    FileName,
    Flag,
    Integer,
    ListOf,
    MapOf,
    OrNone,
    Quantity,
    Record,
    Spec,
    Table,
    Variant,
    Vector,
    dotted,
    setting,
)
from scenes.tables import (
    ANGLES,
    MESH_UNITS,
    NAME,
    ORIGIN_DOC,
    ORIGINS,
    POINT,
    POSITIVE_LENGTH,
    SIZE,
    SOLID_MATERIAL,
    SURFACE_FILES,
    Look,
    TetFile,
    contact_setting,
    look_setting,
)
from scenes.yaml_tree import Tree, merge, read_tree

PRESETS = Path(__file__).resolve().parents[1] / "assets" / "sensors"
POSITIVE_VOLUME = Quantity("volume", above=0.0)
COUNTS = OrNone(Vector(Integer(1, 500)))


@dataclass(frozen=True)
class BoxGel(Record):
    """A box of tetrahedra, centred; its coat is the +z side, held at -z, unless said otherwise."""

    size: tuple = setting(SIZE, "extents", (0.02525, 0.02075, 0.004))
    cells: tuple | None = setting(COUNTS, "cells along each axis; none: from cell_volume", None)
    cell_volume: float = setting(POSITIVE_VOLUME, "wanted volume of a tetrahedron", 6e-9)


@dataclass(frozen=True)
class ShellGel(Record):
    """A curved layer of even thickness: its outer side bulges along +z, the top of it at z = 0."""

    size: tuple = setting(Vector(POSITIVE_LENGTH, 2), "extents along x and y", (0.026, 0.020))
    thickness: float = setting(POSITIVE_LENGTH, "of the layer, along its normal", 0.0025)
    radius_x: float | None = setting(OrNone(POSITIVE_LENGTH), "outer radius along x; none: straight", None)
    radius_y: float | None = setting(OrNone(POSITIVE_LENGTH), "outer radius along y; none: straight", None)
    cells: tuple | None = setting(COUNTS, "cells along x, y and through; none: from cell_volume", None)
    cell_volume: float = setting(POSITIVE_VOLUME, "wanted volume of a tetrahedron", 2e-9)


@dataclass(frozen=True)
class SurfaceGel(Record):
    """A closed surface, filled with tetrahedra; needs the optional package `pytetwild`."""

    file: Path = setting(FileName(SURFACE_FILES), "mesh file")
    cell_volume: float = setting(POSITIVE_VOLUME, "wanted volume of a tetrahedron", 1e-9)
    units: str | None = setting(OrNone(Choice(MESH_UNITS)), "of its numbers; none: metres, with a warning", None)
    scale: float = setting(Quantity(above=0.0), "further factor", 1.0)
    repair: bool = setting(Flag(), "merge, drop bad faces, turn inside out, fill holes; reported", False)
    origin: str = setting(Choice(ORIGINS), ORIGIN_DOC, "file")


GEL_TABLES = {
    "box": Table(BoxGel, title="gel box"),
    "shell": Table(ShellGel, title="gel shell"),
    "surface": Table(SurfaceGel, title="gel surface"),
    "mesh": Table(TetFile, title="tet mesh"),
}
GEL = Variant(GEL_TABLES, "gels", default="box")


@dataclass(frozen=True)
class Faces(Record):
    """Faces of the gel's surface: those that meet every condition given. In the gel frame."""

    side: str | None = setting(OrNone(Choice(REGIONS)), "flat faces at the extreme along an axis", None)
    normal: tuple | None = setting(OrNone(Vector(Quantity())), "faces whose outward normal is near this one", None)
    angle: float = setting(Quantity("angle", above=0.0), "how near", 0.7853981633974483)
    low: tuple | None = setting(OrNone(POINT), "lower corner of a box that holds their corners", None)
    high: tuple | None = setting(OrNone(POINT), "upper corner of that box", None)
    file: Path | None = setting(OrNone(FileName(SURFACE_FILES)), "surface, in the gel frame, that they lie on", None)
    units: str | None = setting(OrNone(Choice(MESH_UNITS)), "of that file; none: metres", None)
    link: bool = setting(Flag(), "faces that lie on the surface of the link", False)
    within: float = setting(POSITIVE_LENGTH, "largest distance of their corners from file or link", 3e-4)


class FacesSpec(Spec):
    """A side, or a table of conditions."""

    _side = Choice(REGIONS)
    table = Table(Faces, title="faces")

    def read(self, tree: Tree, name: str) -> Faces:
        if isinstance(tree.value, str):
            return Faces(side=self._side.read(tree, name), place=tree.place)
        return self.table.read(tree, name)

    def describe(self) -> str:
        return f"{self._side.describe()}, or a mapping: see faces"


_CAMERA_POSE = {
    "position": (OrNone(POINT), "in the sensor frame; none: behind the coat"),
    "rotation": (ANGLES, "about the sensor's x, then y, then z"),
}
RESOLUTION = Vector(Integer(2, 4096), 2)


@dataclass(frozen=True)
class OrthographicCamera(Record):
    """Parallel rays along +z of the camera. Columns run along its x, rows along its y. Default: at the gel's back,
    looking out through the coat."""

    pixel_pitch: float | None = setting(OrNone(POSITIVE_LENGTH), "none: 0.1 mm, or what covers the coat", None)
    resolution: tuple | None = setting(OrNone(RESOLUTION), "width, height [pixel]; none: what covers the coat", None)
    position: tuple | None = setting(*_CAMERA_POSE["position"], None)
    rotation: tuple = setting(*_CAMERA_POSE["rotation"], (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class PinholeCamera(Record):
    """Rays through one point. z forward, x along columns, y along rows. Default: so far that the coat fills the
    width."""

    field_of_view: float = setting(Quantity("angle", above=0.0, high=3.0), "across the width", 1.0471975511965976)
    resolution: tuple = setting(RESOLUTION, "width, height [pixel]", (160, 120))
    position: tuple | None = setting(*_CAMERA_POSE["position"], None)
    rotation: tuple = setting(*_CAMERA_POSE["rotation"], (0.0, 0.0, 0.0))


CAMERA_TABLES = {
    "orthographic": Table(OrthographicCamera, title="camera orthographic"),
    "pinhole": Table(PinholeCamera, title="camera pinhole"),
}
CAMERA = Variant(CAMERA_TABLES, "cameras", default="orthographic")


@dataclass(frozen=True)
class Markers(Record):
    """Dots on the coat: a grid about the sensor's origin, rows along its y, columns along its x; or single places."""

    rows: int = setting(Integer(1, 500), "rows", 7)
    columns: int = setting(Integer(1, 500), "columns", 9)
    pitch: float = setting(POSITIVE_LENGTH, "distance of neighbours", 0.002)
    offset: tuple = setting(Vector(Quantity("length"), 2), "of the grid's middle, in the sensor's x and y", (0.0, 0.0))
    positions: tuple | None = setting(
        OrNone(ListOf(Vector(Quantity("length"), 2))), "places in the sensor's x and y, in place of the grid", None
    )


# kappa: at 1e5 a 1 mm press leaves 1.4 % of dhat, at 1e6 17 %, for the same number of Newton iterations.
_CONTACT = {"dhat": 1e-4, "kappa": 1e6, "friction_mu": 1.0, "self_collision": False}
_LOOK = {"color": (0.62, 0.72, 0.75), "finish": "gel", "smooth": True}


@dataclass(frozen=True)
class GelPad(Record):
    """What every sensor has, on a robot's link or in a scene."""

    preset: str | None = setting(OrNone(NAME), "sensor under assets/sensors whose keys these replace", None)
    gel: Record = setting(GEL, "the pad's mesh", BoxGel())
    coat: Faces | None = setting(OrNone(FacesSpec()), "faces that sense; none: found", None)
    held: Faces | None = setting(OrNone(FacesSpec()), "faces bonded to the link; none: found", None)
    camera: Record = setting(CAMERA, "what looks at the coat", OrthographicCamera())
    markers: Markers | None = setting(OrNone(Table(Markers, title="markers")), "dots on the coat", None)
    material: SolidMaterial = setting(SOLID_MATERIAL, "gel", SolidMaterial())
    contact: ContactMaterial = contact_setting(**_CONTACT)
    calibration: Path | None = setting(OrNone(FileName((".npz",))), "weights of the colour image; none: no image", None)
    look: Look = look_setting(**_LOOK)


@dataclass(frozen=True)
class Sensor(GelPad):
    """A sensor on a link of a robot."""

    link: str = setting(NAME, "link that holds it")
    position: tuple = setting(POINT, "of the gel frame in the link frame", (0.0, 0.0, 0.0))
    rotation: tuple = setting(ANGLES, "of the gel frame about the link's x, then y, then z", (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class PresetTable(Table):
    """A table whose keys may be laid over those of a preset."""

    def read(self, tree: Tree, name: str, skip: tuple[str, ...] = ()):
        if isinstance(tree.value, dict) and "preset" in tree.value:
            chosen = OrNone(NAME).read(tree.value["preset"], dotted(name, "preset"))
            if chosen is not None:
                tree = _lay_over(_preset_tree(chosen, tree.value["preset"].place), tree)
        return super().read(tree, name, skip)


SENSOR = PresetTable(Sensor, title="sensor")


@dataclass(frozen=True)
class SensorFile(Record):
    """A sensor file, from its root."""

    sensors: dict = setting(MapOf(SENSOR), "sensors by name")


SENSOR_FILE = Table(SensorFile, title="sensor file")


def load_sensors(path: str | Path) -> dict[str, Sensor]:
    """Sensors of a file, by name. Raises SceneError naming file, line and column, and the legal values."""
    return SENSOR_FILE.read(read_tree(path), ROOT).sensors


def presets() -> list[str]:
    """Names of the sensors that ship."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def preset(name: str, **keys: str) -> Sensor:
    """A shipped sensor; keys: values as they would be written, at least `link`. For scripts and tests."""
    base = _preset_tree(name, None)
    written = {key: Tree(value, base.place) for key, value in keys.items()}
    return SENSOR.read(merge(base, Tree(written, base.place)), name)


def _preset_tree(name: str, place) -> Tree:
    if name not in presets():
        raise SceneError(
            f"there is no sensor '{name}'{did_you_mean(name, presets())}; shipped: {legal_list(presets())}", place
        )
    return read_tree(PRESETS / f"{name}.yaml")


def _lay_over(base: Tree, over: Tree) -> Tree:
    """As `merge`, but a gel or camera of another type replaces the preset's altogether."""
    kept = dict(base.value)
    for key, spec in (("gel", GEL), ("camera", CAMERA)):
        if key in kept and key in over.value and _type(over.value[key], None) not in (None, _type(kept[key], spec)):
            kept.pop(key)
    return merge(Tree(kept, base.place, base.key_place), over)


def _type(tree: Tree, spec: Variant | None) -> str | None:
    if isinstance(tree.value, dict) and "type" in tree.value:
        return tree.value["type"].value
    return spec.default if spec else None


