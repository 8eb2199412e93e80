"""Tetrahedral meshes from legacy VTK (2.0 to 5.1, text and binary) and Gmsh MSH (2.2 and 4.1, text).

Own small readers: the packages that read these formats are either large or no longer kept. A surface file is filled
with tetrahedra when the scene asks for it, see scenes.fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scenes.errors import Place, SceneError
from scenes.fill import tetrahedralise
from scenes.mesh_files import check_arrays, demand_sound, origin_of, read_bytes, read_surface, to_metres
from scenes.msh import read_msh
from scenes.vtk import read_vtk

RELATIVE_VOLUME = 1e-9  # [-] a tetrahedron is degenerate below this share of its longest edge cubed


@dataclass(frozen=True)
class TetMesh:
    """vertices (n, 3) float64 [m]; tets (m, 4) int32 with positive volume; notes: what was guessed or repaired."""

    vertices: np.ndarray
    tets: np.ndarray
    notes: tuple[str, ...] = ()


def read_tets(
    path: str | Path,
    units: str | None = None,
    scale: float = 1.0,
    repair: bool = False,
    origin: str = "file",
    edge_length: float | None = None,
    place: Place | None = None,
    coarsen: bool = False,
) -> TetMesh:
    """Read a tetrahedral mesh, or fill a closed surface whose tetrahedra get edges of about `edge_length` [m]
    (coarsen: see `scenes.fill.tetrahedralise`).

    Raises SceneError: unreadable file, no tetrahedra, inverted, degenerate or repeated elements, unused vertices
    (they would have no mass) unless `repair` mends them, a surface without `edge_length`, pytetwild missing.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in (".stl", ".obj", ".ply"):
        return _filled_surface(path, units, scale, repair, origin, edge_length, place, coarsen)
    if suffix not in (".vtk", ".msh"):
        raise SceneError(f"{path.name}: '{suffix}' is not a tet format; legal endings: .vtk, .msh", place)
    if edge_length is not None:
        raise SceneError(f"{path.name} holds tetrahedra; 'tetrahedralise' is for surface files", place)
    data = read_bytes(path, place)
    vertices, tets = (read_vtk if suffix == ".vtk" else read_msh)(data, path, place)
    vertices, tets = check_arrays(path, vertices, tets, place, "tetrahedra")
    vertices, notes = to_metres(path, vertices, units, scale, place)
    vertices, tets, repaired = _sound_tets(path, vertices, tets, repair, place)
    vertices = vertices - origin_of(vertices, origin)
    return TetMesh(vertices, tets, notes + tuple(f"{path.name}: {text}" for text in repaired))


def _sound_tets(path: Path, vertices: np.ndarray, tets: np.ndarray, repair: bool, place: Place | None):
    corners = vertices[tets]
    edges = corners[:, 1:] - corners[:, :1]
    volume = np.linalg.det(edges) / 6.0
    longest = np.linalg.norm(corners[:, [0, 0, 0, 1, 1, 2]] - corners[:, [1, 2, 3, 2, 3, 3]], axis=2).max(axis=1)
    flat = np.abs(volume) <= RELATIVE_VOLUME * longest**3
    inverted = (volume < 0.0) & ~flat
    _, first = np.unique(np.sort(tets, axis=1), axis=0, return_index=True)
    double = np.ones(len(tets), bool)
    double[first] = False
    used = np.zeros(len(vertices), bool)
    used[tets[~flat]] = True
    faults = [
        (inverted, "inverted tetrahedra", "turned"),
        (flat, "degenerate tetrahedra", "removed"),
        (double & ~flat, "repeated tetrahedra", "removed"),
        (~used, "unused vertices", "removed"),
    ]
    found = [(np.flatnonzero(mask), what, cure) for mask, what, cure in faults if mask.any()]
    if not found:
        return vertices, tets, []
    if not repair:
        listed = "; ".join(f"{len(ids)} {what}, first {ids[0]}" for ids, what, _ in found)
        raise SceneError(f"{path.name} is not a sound tet mesh: {listed}. Write repair: true to mend it", place)
    tets = tets.copy()
    tets[inverted] = tets[inverted][:, [0, 2, 1, 3]]
    tets = tets[~flat & ~double]
    if not len(tets):
        raise SceneError(f"{path.name}: nothing is left after dropping degenerate tetrahedra", place)
    used = np.unique(tets)
    repaired = [f"{len(ids)} {what} {cure}" for ids, what, cure in found]
    return vertices[used], np.searchsorted(used, tets).astype(np.int32), repaired


def _filled_surface(path, units, scale, repair, origin, edge_length, place, coarsen) -> TetMesh:
    if edge_length is None:
        message = (
            f"{path.name} is a surface; write tetrahedralise: {{edge_length: 2 mm}} to fill it, or give a .vtk or .msh"
        )
        raise SceneError(message, place)
    surface = read_surface(path, units, scale, repair, origin, place)
    demand_sound(surface, path, place, closed=True, repaired=repair)
    vertices, tets, kept = tetrahedralise(surface.vertices, surface.triangles, edge_length, place, coarsen)
    vertices, tets, repaired = _sound_tets(path, vertices, tets, True, place)
    note = f"{path.name}: filled with {len(tets)} tetrahedra, {len(vertices)} vertices, kept in {kept}"
    return TetMesh(vertices, tets, (*surface.notes, note, *repaired))
