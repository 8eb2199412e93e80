"""Triangles of a robot's links: primitives and mesh files in the link's frame, made fit to collide.

A collision surface must be sound (no double faces, no edge of three triangles); it need not be closed. What the files
hold is repaired first, simplified when it has more triangles than wanted, and replaced by its convex hull when it is
still unsound. Every change is said in a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.mesh import checks
from engine.mesh.shapes import box_surface, cylinder_surface, icosphere
from engine.mesh.topology import open_half_edges
from scenes.dae import read_dae
from scenes.errors import Place, SceneError
from scenes.mesh_files import read_surface
from scenes.mesh_repair import repair_surface
from scenes.motion import transform_points
from scenes.urdf import LinkShape
from scenes.urdf_paths import find_mesh

SURFACES = ("auto", "mesh", "hull")
LARGEST = 5.0  # [m] a link's mesh larger than this was most likely drawn in millimetres


@dataclass(frozen=True)
class MeshSearch:
    """Where the mesh files of one URDF are: see urdf_paths.find_mesh. read: kept, since links share files."""

    urdf: Path
    packages: Mapping[str, Path] = field(default_factory=dict)
    substitute: Sequence[tuple[str, str]] = ()
    place: Place | None = None
    read: dict = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Surface:
    """vertices (n, 3) [m] in the link's frame, triangles (t, 3); closed: no open edge; color (r, g, b) or None."""

    vertices: np.ndarray
    triangles: np.ndarray
    closed: bool = True
    color: tuple[float, float, float] | None = None


def collision_surface(
    owner: str, shapes: Sequence[LinkShape], search: MeshSearch, how: str, most: int, notes: list[str]
) -> Surface | None:
    """The surface with which a link collides, None for a link without shapes. how: one of SURFACES ("mesh": refuse
    what is unsound; "hull": convex hull of each shape). most: triangles of one shape."""
    pieces = []
    for shape in shapes:
        vertices, triangles = _triangles(f"collision of {owner}", shape, search)
        if shape.kind == "mesh":
            vertices, triangles = _made_fit(owner, shape, vertices, triangles, how, most, notes)
        pieces.append((transform_points(shape.origin, vertices), triangles))
    return _joined(pieces) if pieces else None


def visual_surface(owner: str, shapes: Sequence[LinkShape], search: MeshSearch) -> Surface | None:
    """The surface that is drawn for a link, None for a link without shapes; its colour is that of the first shape."""
    pieces = []
    for shape in shapes:
        vertices, triangles = _triangles(f"visual of {owner}", shape, search)
        pieces.append((transform_points(shape.origin, vertices), triangles))
    if not pieces:
        return None
    joined = _joined(pieces)
    return Surface(joined.vertices, joined.triangles, joined.closed, shapes[0].color)


def _triangles(owner: str, shape: LinkShape, search: MeshSearch) -> tuple[np.ndarray, np.ndarray]:
    """In the shape's own frame, scaled."""
    if shape.kind == "box":
        return box_surface(shape.size)
    if shape.kind == "cylinder":
        return cylinder_surface(shape.size[0], shape.size[1], 32)
    if shape.kind == "sphere":
        return icosphere(shape.size[0], 3)
    path = find_mesh(shape.file, search.urdf, owner, search.packages, search.substitute, place=search.place)
    if path not in search.read:
        search.read[path] = _read(path, search.place)
    vertices, triangles = search.read[path]
    vertices = vertices * np.array(shape.size)
    if np.prod(shape.size) < 0.0:
        triangles = triangles[:, ::-1]  # a mirrored surface is inside out otherwise
    extent = np.ptp(vertices, axis=0)
    if extent.max() > LARGEST:
        size = " x ".join(f"{e:.4g}" for e in extent)
        raise SceneError(
            f"{owner}: {path.name} measures {size} m; it is most likely drawn in millimetres: write "
            'scale="0.001 0.001 0.001" in its <mesh>',
            search.place,
        )
    return vertices, triangles


def _read(path: Path, place: Place | None) -> tuple[np.ndarray, np.ndarray]:
    """(vertices in the file's metres, triangles); corners of an STL are joined."""
    if path.suffix.lower() == ".dae":
        return read_dae(path, place)
    mesh = read_surface(path, units="m", place=place)
    return mesh.vertices, mesh.triangles


def _made_fit(owner, shape: LinkShape, vertices, triangles, how: str, most: int, notes: list[str]):
    name = f"{owner}: {Path(shape.file).name}"
    if how == "hull":
        return _hull(vertices)
    vertices, triangles, repaired = repair_surface(vertices, triangles)
    notes += [f"{name}: {text}" for text in repaired]
    if how == "auto" and len(triangles) > most:
        before = len(triangles)
        vertices, triangles = _simplified(vertices, triangles, most)
        vertices, triangles, _ = repair_surface(vertices, triangles)
        notes.append(f"{name}: {before} triangles simplified to {len(triangles)} for contact")
    unsound = _unsound(name, vertices, triangles)
    if unsound and how == "mesh":
        raise SceneError(f"{unsound}. Legal with collision: auto or hull")
    if unsound:
        notes.append(f"{unsound}; its convex hull collides in its place")
        return _hull(vertices)
    return vertices, triangles


def _unsound(name: str, vertices, triangles) -> str:
    """What the engine would refuse, as a sentence; empty when it is sound."""
    try:
        checks.check_surface(name, vertices, triangles, [])
        if len(open_half_edges(triangles)) == 0:
            checks.require_closed(name, vertices, triangles, "a body")
    except ValueError as error:
        return str(error)
    return ""


def _simplified(vertices, triangles, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Quadric edge collapse (Garland and Heckbert 1997) to at most about `most` triangles."""
    import fast_simplification

    points, faces = fast_simplification.simplify(
        np.asarray(vertices, dtype=np.float32), np.asarray(triangles, dtype=np.int32), target_count=most
    )
    return np.asarray(points, dtype=np.float64), np.asarray(faces, dtype=np.int64)


def _hull(vertices) -> tuple[np.ndarray, np.ndarray]:
    import trimesh  # here: half a second, and most scenes have no robot

    hull = trimesh.convex.convex_hull(vertices)
    return np.array(hull.vertices, dtype=np.float64), np.array(hull.faces, dtype=np.int64)


def _joined(pieces) -> Surface:
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in pieces[:-1]])
    vertices = np.vstack([vertices for vertices, _ in pieces])
    triangles = np.vstack([triangles + start for (_, triangles), start in zip(pieces, starts, strict=True)])
    return Surface(vertices, triangles.astype(np.int64), len(open_half_edges(triangles)) == 0)
