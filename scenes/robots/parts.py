"""Rounded solids from which the links are put together, and a URDF as it is written.

A link's solids overlap freely: each is one closed surface, drawn and collided as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from engine.mesh.mass import centre_of_mass, inertia_from_moments, polyhedron_moments, shift_moments
from engine.mesh.shapes import revolve
from scenes.motion import rigid_transform, transform_points
from scenes.shapes import rounded_box

FINE, COARSE = 3, 2  # segments of a rounded edge: drawn, collided
AROUND_FINE, AROUND_COARSE = 28, 14


@dataclass(frozen=True)
class Solid:
    """kind: box (size x, y, z) or rod (size: radius, length, along z). edge: radius of its edges [m]. position [m] and
    rotation [rad] (about x, then y, then z) in the link's frame. collides: whether contact sees it."""

    kind: str
    size: tuple[float, ...]
    edge: float
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    collides: bool = True

    def mesh(self, fine: bool) -> tuple[np.ndarray, np.ndarray]:
        """(vertices (n, 3) in the link's frame [m], triangles (t, 3)); closed, outward."""
        segments = FINE if fine else COARSE
        if self.kind == "box":
            vertices, triangles = rounded_box(self.size, self.edge, segments)
        else:
            vertices, triangles = revolve(self._profile(segments), AROUND_FINE if fine else AROUND_COARSE)
        return transform_points(rigid_transform(self.position, self.rotation), vertices), np.asarray(triangles)

    def _profile(self, segments: int) -> list[tuple[float, float]]:
        radius, length = self.size
        angle = np.linspace(0.0, 0.5 * np.pi, segments + 1)
        r, z = radius - self.edge, 0.5 * length - self.edge
        lower = [(r + self.edge * np.sin(a), -z - self.edge * np.cos(a)) for a in angle]
        upper = [(r + self.edge * np.cos(a), z + self.edge * np.sin(a)) for a in angle]
        ends = [(0.0, -0.5 * length)], [(0.0, 0.5 * length)]
        inner = r > 1e-9
        return [*ends[0], *lower[0 if inner else 1 :], *upper[: None if inner else -1], *ends[1]]


@dataclass
class Link:
    """name; solids; color of the file's material; density [kg/m3]; mesh: name of its mesh files, shared by equal
    links."""

    name: str
    solids: Sequence[Solid]
    color: str
    density: float = 1300.0
    mesh: str = ""


@dataclass
class Joint:
    """kind: fixed, revolute or prismatic; position [m], rotation [rad]: of the joint frame in the parent's; limits
    (lower, upper); mimic: (joint, multiplier)."""

    name: str
    kind: str
    parent: str
    child: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    limits: tuple[float, float] = (0.0, 0.0)
    velocity: float = 3.0
    effort: float = 20.0
    mimic: tuple[str, float] | None = None


COLORS = {
    "shell": (0.86, 0.87, 0.88),
    "bone": (0.24, 0.26, 0.29),
    "joint": (0.46, 0.49, 0.53),
    "accent": (0.16, 0.42, 0.62),
}


@dataclass
class RobotParts:
    """A robot as it is generated. sensors: text of each entry of its sensor file, by name."""

    name: str
    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    sensors: dict[str, str] = field(default_factory=dict)

    def include(self, other: RobotParts, prefix: str, joint: Joint) -> None:
        """Put another robot on a link of this one; its names get the prefix. joint: parent here, child its root."""
        known = {link.name for link in other.links}

        def renamed(name: str) -> str:
            return prefix + name if name in known else name

        self.links += [Link(prefix + x.name, x.solids, x.color, x.density, x.mesh or x.name) for x in other.links]
        for j in other.joints:
            mimic = None if j.mimic is None else (prefix + j.mimic[0], j.mimic[1])
            self.joints.append(Joint(
                prefix + j.name, j.kind, renamed(j.parent), renamed(j.child), j.position, j.rotation, j.axis, j.limits,
                j.velocity, j.effort, mimic,
            ))  # fmt: skip
        self.joints.append(joint)
        for name, text in other.sensors.items():
            self.sensors[prefix + name] = text.replace("link: ", f"link: {prefix}", 1)


def inertia_of(link: Link) -> tuple[float, np.ndarray, np.ndarray]:
    """(mass [kg], centre of mass (3,), inertia (3, 3) about it) of a link's solids; overlaps count twice."""
    total = np.zeros((4, 4))
    for solid in link.solids:
        total += link.density * polyhedron_moments(*solid.mesh(fine=True))
    com = centre_of_mass(total)
    return float(total[0, 0]), com, inertia_from_moments(shift_moments(total, com))


def write_stl(path: Path, meshes: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Binary STL of several closed surfaces."""
    corners = np.concatenate([vertices[triangles] for vertices, triangles in meshes])
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    records = np.zeros(len(corners), dtype=np.dtype([("f", "<f4", 12), ("a", "<u2")]))
    records["f"] = np.concatenate([normals[:, None], corners], axis=1).reshape(-1, 12)
    path.write_bytes(b"Tacktile".ljust(80) + len(corners).to_bytes(4, "little") + records.tobytes())


def write_urdf(robot: RobotParts, path: Path) -> None:
    """The URDF, and the meshes of its links under `meshes/` beside it."""
    (path.parent / "meshes").mkdir(parents=True, exist_ok=True)
    root = ElementTree.Element("robot", name=robot.name)
    for name, color in COLORS.items():
        material = ElementTree.SubElement(root, "material", name=name)
        ElementTree.SubElement(material, "color", rgba=_numbers((*color, 1.0)))
    for link in robot.links:
        _write_link(root, link, path.parent)
    for joint in robot.joints:
        _write_joint(root, joint)
    ElementTree.indent(root)
    path.write_text(ElementTree.tostring(root, encoding="unicode") + "\n", encoding="utf-8")


def _write_link(root, link: Link, folder: Path) -> None:
    mass, com, inertia = inertia_of(link)
    element = ElementTree.SubElement(root, "link", name=link.name)
    inertial = ElementTree.SubElement(element, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_numbers(com))
    ElementTree.SubElement(inertial, "mass", value=f"{mass:.6g}")
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    ElementTree.SubElement(inertial, "inertia", {k: f"{inertia[i]:.6g}" for k, i in names.items()})
    mesh = link.mesh or link.name
    for what, fine in (("visual", True), ("collision", False)):
        solids = [s for s in link.solids if fine or s.collides]
        file = f"meshes/{mesh}{'' if fine else '_collision'}.stl"
        write_stl(folder / file, [solid.mesh(fine) for solid in solids])
        shape = ElementTree.SubElement(element, what)
        ElementTree.SubElement(ElementTree.SubElement(shape, "geometry"), "mesh", filename=file)
        if fine:
            ElementTree.SubElement(shape, "material", name=link.color)


def _write_joint(root, joint: Joint) -> None:
    element = ElementTree.SubElement(root, "joint", name=joint.name, type=joint.kind)
    ElementTree.SubElement(element, "parent", link=joint.parent)
    ElementTree.SubElement(element, "child", link=joint.child)
    ElementTree.SubElement(element, "origin", xyz=_numbers(joint.position), rpy=_numbers(joint.rotation))
    if joint.kind == "fixed":
        return
    ElementTree.SubElement(element, "axis", xyz=_numbers(joint.axis))
    lower, upper = joint.limits
    limit = {"lower": lower, "upper": upper, "velocity": joint.velocity, "effort": joint.effort}
    ElementTree.SubElement(element, "limit", {k: f"{v:.6g}" for k, v in limit.items()})
    if joint.mimic is not None:
        ElementTree.SubElement(element, "mimic", joint=joint.mimic[0], multiplier=f"{joint.mimic[1]:.6g}")


def _numbers(values) -> str:
    return " ".join(f"{round(float(v), 9) + 0.0:.6g}" for v in values)
