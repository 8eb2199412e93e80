"""Which faces of a gel sense and which are bonded: given by side, direction, box, file or link, or found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.mesh.proximity import point_triangle_distances
from engine.mesh.rest import triangle_areas, triangle_normals
from engine.mesh.topology import boundary_of_tets
from scenes.errors import SceneError
from scenes.gel_mesh import GelMesh
from scenes.mesh_files import read_surface
from scenes.regions import on_side
from scenes.sensors import Faces, GelPad

FACING = np.cos(np.deg2rad(45.0))  # faces turned from a direction by less count as facing it
THIN = 0.8  # extent of the thinnest axis over that of the next one, below which the gel is a layer across it


@dataclass(frozen=True)
class Surface:
    """A triangle surface in the gel frame: vertices (n, 3) [m], triangles (t, 3)."""

    vertices: np.ndarray
    triangles: np.ndarray


def find_faces(name: str, pad: GelPad, mesh: GelMesh, link: Surface | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Coat triangles (k, 3), wound outwards, and held vertices (h,), both by vertex id of the mesh.

    Not given, the coat is the outer side of a box or layer, else the larger of the two sides across the thinnest axis
    (a bulging side is larger than the one behind it; of equal ones that in the positive direction; without a thinnest
    axis +z), and the held faces are the inner side, else those turned away from the coat. link: surface of what holds
    the pad, in the gel frame.

    Raises SceneError: no such faces, a coat that is held altogether, `link: true` without a link's surface.
    """
    surface = Surface(mesh.vertices, boundary_of_tets(mesh.tets))
    normals = unit_normals(surface)
    if pad.coat is not None:
        coat = _select(f"{name}.coat", pad.coat, surface, normals, link)
    elif mesh.outer is not None:
        coat = np.isin(surface.triangles, mesh.outer).all(axis=1)
    else:
        coat = normals @ outward_direction(surface, normals) > FACING
    if not coat.any():
        raise SceneError(
            f"{name}: no coat was found: {_asked(pad.coat)}; {_directions(surface, normals)}",
            pad.coat.place if pad.coat else pad.place,
        )
    outwards = mean_normal(surface, coat)
    if pad.held is not None:
        held = _select(f"{name}.held", pad.held, surface, normals, link)
    elif pad.coat is None and mesh.inner is not None:
        held = np.isin(surface.triangles, mesh.inner).all(axis=1)
    else:
        held = normals @ outwards < -FACING
    if not held.any():
        raise SceneError(
            f"{name}: no face is held: {_asked(pad.held, 'turned away from the coat')}; "
            f"{_directions(surface, normals)}",
            pad.held.place if pad.held else pad.place,
        )
    held_vertices = np.unique(surface.triangles[held])
    free = ~np.isin(surface.triangles[coat], held_vertices).all(axis=1)
    if not free.any():
        raise SceneError(f"{name}: every face of the coat is held; nothing could move", pad.place)
    return surface.triangles[coat], held_vertices


def outward_direction(surface: Surface, normals: np.ndarray) -> np.ndarray:
    """Axis (3,) along which a gel of which nothing is said senses; see `find_faces`."""
    extents = np.ptp(surface.vertices[np.unique(surface.triangles)], axis=0)
    order = np.argsort(extents)
    axis = int(order[0]) if extents[order[0]] < THIN * extents[order[1]] else 2
    area = triangle_areas(surface.vertices, surface.triangles)
    ahead, behind = (area[sign * normals[:, axis] > FACING].sum() for sign in (1.0, -1.0))
    direction = np.zeros(3)
    direction[axis] = -1.0 if behind > 1.001 * ahead else 1.0
    return direction


def unit_normals(surface: Surface) -> np.ndarray:
    """Outward unit normals (t, 3)."""
    normals = triangle_normals(surface.vertices, surface.triangles)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def mean_normal(surface: Surface, chosen: np.ndarray) -> np.ndarray:
    """Area-weighted unit normal (3,) of chosen triangles, exact along an axis when it is nearly so."""
    a, b, c = surface.vertices[surface.triangles[chosen]].transpose(1, 0, 2)
    normal = np.cross(b - a, c - a).sum(axis=0)
    normal /= np.linalg.norm(normal)
    rounded = np.round(normal)
    return rounded if np.abs(normal - rounded).max() < 1e-6 else normal


def _select(name: str, faces: Faces, surface: Surface, normals: np.ndarray, link: Surface | None) -> np.ndarray:
    """Mask (t,) of the triangles that meet all conditions."""
    vertices, triangles = surface.vertices, surface.triangles
    mask = np.ones(len(triangles), bool)
    if faces.side is not None:
        mask &= on_side(vertices, faces.side)[triangles].all(axis=1)
    if faces.normal is not None:
        wanted = np.array(faces.normal, float)
        length = np.linalg.norm(wanted)
        if not length > 0.0:
            raise SceneError(f"{name}.normal is {faces.normal}; it must point somewhere", faces.at("normal"))
        mask &= normals @ (wanted / length) > np.cos(faces.angle)
    if faces.low is not None:
        mask &= (vertices >= np.array(faces.low)).all(axis=1)[triangles].all(axis=1)
    if faces.high is not None:
        mask &= (vertices <= np.array(faces.high)).all(axis=1)[triangles].all(axis=1)
    if faces.file is not None:
        other = read_surface(faces.file, faces.units, 1.0, False, "file", faces.at("file"))
        mask &= _near(surface, Surface(other.vertices, other.triangles), faces.within)
    if faces.link:
        if link is None:
            raise SceneError(f"{name}: the link has no surface to compare with", faces.at("link"))
        mask &= _near(surface, link, faces.within)
    return mask


def _near(surface: Surface, other: Surface, within: float) -> np.ndarray:
    """Mask (t,) of the triangles whose corners all lie within a distance of another surface."""
    used = np.unique(surface.triangles)
    near = np.zeros(len(surface.vertices), bool)
    corners = other.vertices[other.triangles]
    low, high = corners.min(axis=1) - within, corners.max(axis=1) + within
    for vertex in used:
        p = surface.vertices[vertex]
        close = ((p >= low) & (p <= high)).all(axis=1)
        if close.any():
            a, b, c = corners[close].transpose(1, 0, 2)
            near[vertex] = point_triangle_distances(np.broadcast_to(p, a.shape), a, b, c).min() <= within
    return near[surface.triangles].all(axis=1)


def _asked(faces: Faces | None, default: str = "turned outwards") -> str:
    if faces is None:
        return f"none is given and no face is {default}"
    given = {
        "side": faces.side, "normal": faces.normal, "low": faces.low, "high": faces.high,
        "file": faces.file and faces.file.name, "link": faces.link or None,
    }  # fmt: skip
    words = ", ".join(f"{key} {value}" for key, value in given.items() if value is not None)
    return f"no face meets {words}" if words else "the table is empty"


def _directions(surface: Surface, normals: np.ndarray) -> str:
    """What there is: extents, and the area turned to each axis."""
    a, b, c = surface.vertices[surface.triangles].transpose(1, 0, 2)
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    parts = []
    for axis, letter in enumerate("xyz"):
        for sign, mark in ((1.0, "+"), (-1.0, "-")):
            share = area[sign * normals[:, axis] > FACING].sum() / area.sum()
            if share > 0.005:
                parts.append(f"{mark}{letter} {100 * share:.0f} %")
    low, high = (", ".join(f"{v:.4g}" for v in f(surface.vertices, axis=0)) for f in (np.min, np.max))
    return f"of its surface are turned to {', '.join(parts) or 'no axis'}; it spans ({low}) to ({high}) m"
