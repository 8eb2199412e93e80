"""A URDF file as the engine's RobotDescription and the shapes of its links, through yourdfpy.

yourdfpy parses; meshes are found and read here (`urdf_paths`, `link_shapes`), so that a file that is missing, too large
or outside the robot's folders is named. A URDF is data: documents that declare entities are refused, and nothing in one
is run. Why yourdfpy: docs/decisions/robots.md.
"""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.robots.description import KINDS, Mimic, RobotDescription, RobotJoint, RobotLink
from scenes.errors import Place, SceneError, legal_list

MAX_BYTES = 8 << 20  # [byte] of a URDF
MAX_LINKS = 500


@dataclass(frozen=True, eq=False)
class LinkShape:
    """One visual or collision element of a link.

    kind: box, cylinder, sphere or mesh. size: extents of a box, (radius, length), (radius,) [m], scale factors (3,)
    of a mesh. origin: (4, 4) link from shape. file: as written, of a mesh. color: (r, g, b) or None.
    """

    kind: str
    size: tuple[float, ...]
    origin: np.ndarray
    file: str = ""
    color: tuple[float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class RobotFile:
    """A read URDF. visual, collision: shapes by link name (every link has an entry)."""

    path: Path
    robot: RobotDescription
    visual: dict[str, tuple[LinkShape, ...]]
    collision: dict[str, tuple[LinkShape, ...]]


def read_urdf(path: str | Path, place: Place | None = None) -> RobotFile:
    """Read a URDF. Meshes are not opened. Raises SceneError with `place` naming the file and what is wrong in it."""
    path = Path(path).resolve()
    data = _read_bytes(path, place)
    parsed = _parse(path, data, place)
    links = parsed.robot.links
    if len(links) > MAX_LINKS:
        raise SceneError(f"{path.name} has {len(links)} links; {MAX_LINKS} at most", place)
    colors = {m.name: _color(m) for m in parsed.robot.materials if m.name and _color(m)}
    for link in links:  # a material may be defined where it is first used
        colors |= {v.material.name: _color(v.material) for v in link.visuals if v.material and _color(v.material)}
    try:
        robot = RobotDescription(
            str(parsed.robot.name), tuple(map(_link, links)), tuple(map(_joint, parsed.robot.joints))
        )
        visual = {link.name: tuple(_shape(v, link.name, "visual", colors) for v in link.visuals) for link in links}
        collision = {link.name: tuple(_shape(c, link.name, "collision", {}) for c in link.collisions) for link in links}
    except ValueError as error:
        raise SceneError(f"{path.name}: {error}", place) from None
    return RobotFile(path, robot, visual, collision)


def _read_bytes(path: Path, place: Place | None) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SceneError(
                f"{path} has {path.stat().st_size >> 20} MiB; a URDF has {MAX_BYTES >> 20} MiB at most", place
            )
        return path.read_bytes()
    except OSError as error:
        raise SceneError(f"cannot read {path}: {error.strerror or error}", place) from None


def refuse_entities(name: str, data: bytes, place: Place | None) -> None:
    """XML that declares entities may expand without end or name files of this computer: refused. UTF-16 and the like,
    in which such a declaration would not be seen, too."""
    if b"\x00" in data:
        raise SceneError(f"{name} is not UTF-8 text", place)
    if b"<!DOCTYPE" in data.upper() or b"<!ENTITY" in data.upper():
        raise SceneError(f"{name} declares a document type or entities, which is refused: remove <!DOCTYPE>", place)


def _parse(path: Path, data: bytes, place: Place | None):
    """yourdfpy's model of the file. Its own fallback for broken XML is never reached: it would drop what it cannot
    read."""
    import yourdfpy
    from lxml import etree

    refuse_entities(path.name, data, place)
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))
    except etree.XMLSyntaxError as error:
        raise SceneError(f"not XML: {error.msg}", Place(str(path), *(error.position or (1, 1)))) from None
    if root.tag != "robot":
        raise SceneError(f"{path.name} is not a URDF: its root is <{root.tag}>, not <robot>", place)
    if root.get("name") is None:
        root.set("name", path.stem)
        data = etree.tostring(root)
    logging.getLogger("yourdfpy").setLevel(logging.CRITICAL)
    try:
        return yourdfpy.URDF.load(io.BytesIO(data), build_scene_graph=False, load_meshes=False)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise SceneError(f"{path.name} is not a sound URDF: {type(error).__name__}: {error}", place) from None


def _link(link) -> RobotLink:
    inertial = link.inertial
    if inertial is None or not inertial.mass or not inertial.mass > 0.0:
        return RobotLink(link.name)
    origin = np.eye(4) if inertial.origin is None else inertial.origin
    inertia = None
    if inertial.inertia is not None:
        inertia = origin[:3, :3] @ inertial.inertia @ origin[:3, :3].T
    return RobotLink(link.name, float(inertial.mass), origin[:3, 3].copy(), inertia)


def _joint(joint) -> RobotJoint:
    if joint.type not in KINDS:
        raise ValueError(f"joint '{joint.name}' is of the type '{joint.type}'; legal types: {legal_list(KINDS)}")
    limit, lower, upper, velocity, effort = joint.limit, -np.inf, np.inf, np.inf, np.inf
    if joint.type in ("revolute", "prismatic"):
        if limit is None or (limit.lower is None and limit.upper is None):
            raise ValueError(f"joint '{joint.name}' is {joint.type} and needs <limit lower=.. upper=..>")
        lower, upper = float(limit.lower or 0.0), float(limit.upper or 0.0)  # the format's own defaults
    if limit is not None:
        velocity = float(limit.velocity) if limit.velocity else np.inf
        effort = float(limit.effort) if limit.effort else np.inf
    mimic = None
    if joint.mimic is not None:
        mimic = Mimic(str(joint.mimic.joint), float(joint.mimic.multiplier), float(joint.mimic.offset))
    origin = np.eye(4) if joint.origin is None else np.array(joint.origin, dtype=np.float64)
    axis = np.array([1.0, 0.0, 0.0]) if joint.axis is None else np.array(joint.axis, dtype=np.float64)
    if not (np.isfinite(origin).all() and origin.shape == (4, 4) and axis.shape == (3,)):
        raise ValueError(f"joint '{joint.name}' has an origin or axis that is not three finite numbers")
    return RobotJoint(
        joint.name, joint.type, str(joint.parent), str(joint.child), origin, axis, lower, upper, velocity, effort, mimic
    )


def _shape(element, link: str, what: str, colors: dict) -> LinkShape:
    geometry = element.geometry
    if geometry is None:
        raise ValueError(f"a {what} of link '{link}' has no geometry")
    origin = np.eye(4) if element.origin is None else np.array(element.origin, dtype=np.float64)
    material, color = getattr(element, "material", None), None
    if material is not None:
        color = _color(material) or colors.get(material.name)
    if geometry.box is not None:
        kind, size, file = "box", tuple(map(float, geometry.box.size)), ""
    elif geometry.cylinder is not None:
        kind, size, file = "cylinder", (float(geometry.cylinder.radius), float(geometry.cylinder.length)), ""
    elif geometry.sphere is not None:
        kind, size, file = "sphere", (float(geometry.sphere.radius),), ""
    else:
        scale = 1.0 if geometry.mesh.scale is None else geometry.mesh.scale
        kind, size, file = "mesh", tuple(map(float, np.broadcast_to(scale, 3))), str(geometry.mesh.filename or "")
        if not file:
            raise ValueError(f"a {what} mesh of link '{link}' names no file")
    wrong = not np.isfinite(origin).all() or not np.isfinite(size).all()
    if wrong or (min(size) <= 0.0 if kind != "mesh" else 0.0 in size):
        raise ValueError(f"a {what} {kind} of link '{link}' has the size {size}; legal: finite, above 0")
    return LinkShape(kind, size, origin, file, color)


def _color(material) -> tuple[float, float, float] | None:
    if material is None or material.color is None or material.color.rgba is None:
        return None
    return tuple(float(c) for c in np.clip(material.color.rgba[:3], 0.0, 1.0))
