"""Sensor lists in JSON, as the Taccel project writes them, to a sensor file of ours.

One entry a sensor: link_name, pos [m] and rot [rad] (about the link's x, then y, then z) of the gel in the link frame;
mesh_vtk_file, or mesh_path and reso, which name the tetrahedra: `meshes/pad.stl` and `1e-07` mean
`meshes/pad_maxv=1e-07.vtk`. Which faces sense is not in the file: of the two largest sides of the gel it is the one
that lies farther from the link's surface in the URDF, or without a URDF the one away from the origin of the gel frame.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh

from engine.mesh.proximity import winding_number
from engine.mesh.topology import boundary_of_tets
from scenes.errors import SceneError, legal_list
from scenes.link_shapes import MeshSearch, visual_surface
from scenes.motion import rigid_transform, transform_points
from scenes.tet_files import read_tets
from scenes.urdf import RobotFile, read_urdf

MAX_BYTES = 4 << 20  # [byte] of a JSON file
MAX_SENSORS = 1000
NEAR = np.cos(np.radians(12.0))  # faces that count as one side


@dataclass(frozen=True)
class ConvertedSensor:
    """name; link; position (3,) [m] and rotation (3,) [rad] of the gel in the link frame; file of its tetrahedra;
    normal (3,): the way its coat faces, in the gel frame; note: what was guessed, or empty."""

    name: str
    link: str
    position: tuple[float, ...]
    rotation: tuple[float, ...]
    file: Path
    normal: tuple[float, ...]
    note: str = ""


def read_sensor_list(path: str | Path, urdf: str | Path | None = None) -> list[ConvertedSensor]:
    """Sensors of a JSON file. urdf: the robot, None: the one beside the file that has all its links, if there is one.
    Raises SceneError naming file, entry, key and what is legal."""
    path = Path(path)
    entries = _load(path)
    robot = read_urdf(urdf) if urdf else _robot_beside(path, entries)
    found: list[ConvertedSensor] = []
    for number, entry in enumerate(entries, 1):
        owner = f"{path.name}: sensor {number}"
        if not isinstance(entry, dict):
            raise SceneError(f"{owner} is {entry!r}; it must be an object with link_name, pos, rot and a mesh")
        link = entry.get("link_name")
        if not isinstance(link, str) or not link:
            raise SceneError(f"{owner}: link_name is {link!r}; it must be the name of a link")
        position, rotation = (_three(entry, key, owner) for key in ("pos", "rot"))
        file, note = _tet_file(path.parent, entry, owner)
        normal = coat_normal(file, _link_surface(robot, link, owner), rigid_transform(position, rotation))
        names = [sensor.name for sensor in found]
        found.append(ConvertedSensor(_name(link, names), link, position, rotation, file, normal, note))
    return found


def sensor_file(sensors: list[ConvertedSensor], folder: Path, young: float = 2e5) -> str:
    """Text of a sensor file that will lie in `folder`. young [Pa] of the gels, which the JSON does not say."""
    lines = ["sensors:"]
    for s in sensors:
        normal = ", ".join(f"{n:.6g}" for n in s.normal)
        back = ", ".join(f"{-n + 0.0:.6g}" for n in s.normal)
        if s.note:
            lines.append(f"  # {s.note}")
        lines += [
            f"  {s.name}:",
            f"    link: {s.link}",
            f"    position: {_numbers(s.position)}",
            f"    rotation: {_numbers(s.rotation)}",
            f"    gel: {{type: mesh, file: {json.dumps(_relative(s.file, folder))}, units: m, repair: true}}",
            f"    coat: {{normal: [{normal}]}}",
            f"    held: {{normal: [{back}]}}",
            f"    material: {{young: {young:g} Pa}}",
        ]
    return "\n".join(lines) + "\n"


def convert_sensors(source: str | Path, target: str | Path, urdf: str | Path | None = None) -> list[ConvertedSensor]:
    """Write the sensors of a JSON file as YAML. Raises SceneError like `read_sensor_list`."""
    target = Path(target)
    sensors = read_sensor_list(source, urdf)
    text = f"# Converted from {Path(source).name}; the material is a guess: it is not in that file.\n"
    target.write_text(text + sensor_file(sensors, target.resolve().parent), encoding="utf-8")
    return sensors


def coat_normal(file: Path, link: trimesh.Trimesh | None, link_from_gel: np.ndarray) -> tuple[float, float, float]:
    """The way the coat of a gel faces, in the gel frame: see the module. link: surface in the link's frame, or None."""
    mesh = read_tets(file, "m", 1.0, True, "file")
    surface = boundary_of_tets(mesh.tets)
    a, b, c = mesh.vertices[surface].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    normals /= area[:, None]
    best = normals[int(np.argmax((normals @ normals.T > NEAR) @ area))]
    sides = [normals @ (sign * best) > NEAR for sign in (1.0, -1.0)]
    middles = (a + b + c) / 3.0
    if link is None:
        outwards = 1.0 if best @ mesh.vertices.mean(axis=0) > 0.0 else -1.0
    else:
        places = transform_points(link_from_gel, middles)
        away = [float(np.mean(trimesh.proximity.closest_point(link, places[side])[1])) for side in sides if side.any()]
        outwards = 1.0 if len(away) == 1 or away[0] > away[1] else -1.0
    side = sides[0] if outwards > 0.0 else sides[1]
    mean = (normals[side] * area[side, None]).sum(axis=0)
    mean /= np.linalg.norm(mean)
    rounded = np.round(mean)
    mean = rounded if np.abs(mean - rounded).max() < 0.02 else mean
    return tuple(float(n) + 0.0 for n in mean)


def _robot_beside(path: Path, entries: list) -> RobotFile | None:
    """The first URDF beside the list whose links can hold these gels: all there, and no gel inside its link (some
    robots come a second time with the gels as part of the links)."""
    for urdf in sorted((*path.parent.glob("*.urdf"), *path.parent.glob("urdf/*.urdf"))):
        try:
            robot = read_urdf(urdf)
            owned = [(entry, f"{path.name}: sensor {n}") for n, entry in enumerate(entries, 1)]
            if all(_stands_out(robot, entry, owner, path.parent) for entry, owner in owned):
                return robot
        except SceneError:
            continue  # of another robot, or without its meshes
    return None


def _stands_out(robot: RobotFile, entry: dict, owner: str, folder: Path) -> bool:
    link = _link_surface(robot, entry.get("link_name"), owner)
    gel = read_tets(_tet_file(folder, entry, owner)[0], "m", 1.0, True, "file").vertices
    pose = rigid_transform(_three(entry, "pos", owner), _three(entry, "rot", owner))
    middle = transform_points(pose, 0.5 * (gel.min(axis=0) + gel.max(axis=0))[None])[0]
    return link is None or abs(winding_number(middle, link.vertices, link.faces)) < 0.5


def _link_surface(robot: RobotFile | None, link: str, owner: str) -> trimesh.Trimesh | None:
    """What is seen of a link, in its frame."""
    if robot is None:
        return None
    if link not in robot.visual:
        raise SceneError(f"{owner}: {robot.path.name} has no link '{link}'; links: {legal_list(robot.visual)}")
    shapes = robot.visual[link] or robot.collision[link]
    surface = visual_surface(f"link '{link}'", shapes, MeshSearch(robot.path))
    return None if surface is None else trimesh.Trimesh(surface.vertices, surface.triangles, process=False)


def _load(path: Path) -> list:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SceneError(f"{path} has {path.stat().st_size >> 20} MiB; a sensor list has {MAX_BYTES >> 20} at most")
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SceneError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise SceneError(f"{path.name} is not JSON: {error}") from None
    if not isinstance(entries, list) or not entries or len(entries) > MAX_SENSORS:
        raise SceneError(f"{path.name} is not a list of sensors (1 to {MAX_SENSORS})")
    return entries


def _three(entry: dict, key: str, owner: str) -> tuple[float, ...]:
    value = entry.get(key, [0.0, 0.0, 0.0])
    good = isinstance(value, list) and len(value) == 3 and all(isinstance(v, int | float) for v in value)
    if not good or not np.isfinite(value).all():
        raise SceneError(f"{owner}: {key} is {value!r}; it must be three finite numbers")
    return tuple(float(v) for v in value)


def _tet_file(folder: Path, entry: dict, owner: str) -> tuple[Path, str]:
    """(file, note). The named one, or the surface's with its resolution, or the one pad in the same folder."""
    given, surface, size = entry.get("mesh_vtk_file"), entry.get("mesh_path"), entry.get("reso")
    if given is None and (not isinstance(surface, str) or size is None):
        raise SceneError(f"{owner} names no tetrahedra: it needs mesh_vtk_file, or mesh_path and reso")
    if given is not None:
        tries = [folder / str(given)]
    else:
        stem = folder / surface
        tries = [stem.with_name(f"{name}_maxv={float(size):.0e}.vtk") for name in (stem.stem, "pad")]
    for place, path in enumerate(tries):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise SceneError(f"{owner}: {path} lies outside {folder}; tetrahedra are read from there only")
        if path.is_file():
            guess = f"{Path(surface).name} has no tetrahedra of its own; {path.name} is taken" if place else ""
            return path.resolve(), guess
    there = sorted(p.name for p in tries[0].parent.glob("*.vtk")) if tries[0].parent.is_dir() else []
    raise SceneError(f"{owner}: no tetrahedra; looked for {legal_list(tries)}; there: {legal_list(there) or 'none'}")


def _name(link: str, taken: list[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", link) + "_pad"
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return name if name not in taken else next(n for n in numbered if n not in taken)


def _relative(file: Path, folder: Path) -> str:
    return Path(os.path.relpath(file, folder)).as_posix()


def _numbers(values) -> str:
    return "[" + ", ".join(repr(float(v)) for v in values) + "]"
