"""Tetrahedral meshes from legacy VTK (2.0 to 5.1, text and binary) and Gmsh MSH (2.2 and 4.1, text).

Own small readers: the packages that read these formats are either large or no longer kept. A surface file is filled
with tetrahedra when the scene asks for it, through the optional package pytetwild (fTetWild; Mozilla Public Licence
2.0, where TetGen would bring the Affero GPL; wheels for Linux and Windows). It imports pyvista, hence `[all]`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scenes.errors import Place, SceneError, legal_list
from scenes.mesh_files import check_arrays, demand_sound, read_bytes, read_surface, to_metres
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
    centre: bool = False,
    edge_length: float | None = None,
    place: Place | None = None,
) -> TetMesh:
    """Read a tetrahedral mesh, or fill a closed surface whose tetrahedra get edges of about `edge_length` [m].

    Raises SceneError: unreadable file, no tetrahedra, inverted, degenerate or repeated elements, unused vertices
    (they would have no mass) unless `repair` mends them, a surface without `edge_length`, pytetwild missing.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in (".stl", ".obj", ".ply"):
        return _filled_surface(path, units, scale, repair, centre, edge_length, place)
    if suffix not in (".vtk", ".msh"):
        raise SceneError(f"{path.name}: '{suffix}' is not a tet format; legal endings: .vtk, .msh", place)
    if edge_length is not None:
        raise SceneError(f"{path.name} holds tetrahedra; 'tetrahedralise' is for surface files", place)
    data = read_bytes(path, place)
    vertices, tets = (read_vtk if suffix == ".vtk" else read_msh)(data, path, place)
    vertices, tets = check_arrays(path, vertices, tets, place, "tetrahedra")
    vertices, notes = to_metres(path, vertices, units, scale, place)
    vertices, tets, repaired = _sound_tets(path, vertices, tets, repair, place)
    if centre:
        vertices = vertices - 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
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


def _filled_surface(path, units, scale, repair, centre, edge_length, place) -> TetMesh:
    if edge_length is None:
        message = (
            f"{path.name} is a surface; write tetrahedralise: {{edge_length: 2 mm}} to fill it, or give a .vtk or .msh"
        )
        raise SceneError(message, place)
    surface = read_surface(path, units, scale, repair, centre, place)
    demand_sound(surface, path, place, closed=True, repaired=repair)
    vertices, tets = tetrahedralise(surface.vertices, surface.triangles, edge_length, place)
    vertices, tets, repaired = _sound_tets(path, vertices, tets, True, place)
    note = f"{path.name}: filled with {len(tets)} tetrahedra, {len(vertices)} vertices"
    return TetMesh(vertices, tets, (*surface.notes, note, *repaired))


_FILL = """
import numpy as np
import pytetwild
given = np.load("surface.npz")
points, tets = pytetwild.tetrahedralize(
    given["vertices"], given["triangles"], edge_length_fac=float(given["share"]), quiet=True, num_threads=1)[:2]
np.savez("tets.npz", points=points, tets=tets)
"""  # one thread: more would make the result depend on the machine
FILL_SECONDS = 600.0


def tetrahedralise(
    vertices: np.ndarray, triangles: np.ndarray, edge_length: float, place: Place | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Tetrahedra (vertices (n, 3) [m], tets (m, 4)) of a closed surface by fTetWild (Hu et al. 2020).

    The surface is kept within a thousandth of its diagonal, not exactly. Raises SceneError when pytetwild is missing
    or fails, or when edge_length [m] would ask for millions of elements.
    """
    extent = np.ptp(vertices, axis=0)
    wanted = float(np.prod(extent.clip(min=edge_length))) / edge_length**3 * 8.0
    if wanted > 2e6:
        size = " x ".join(f"{e:.3g}" for e in extent)
        raise SceneError(f"edge_length {edge_length:g} m would make some {wanted:.1g} tetrahedra in {size} m", place)
    points, tets = _fill_apart(np.asarray(vertices, dtype=np.float64), triangles, edge_length, place)
    if len(tets) == 0:
        raise SceneError("pytetwild made no tetrahedra: is the surface closed?", place)
    points, tets = np.asarray(points, dtype=np.float64), np.array(tets, dtype=np.int32)
    inverted = np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]]) < 0.0  # its own order of corners
    tets[inverted] = tets[inverted][:, [0, 2, 1, 3]]
    return points, tets


def _fill_apart(vertices: np.ndarray, triangles: np.ndarray, edge_length: float, place: Place | None):
    """Run fTetWild in a process and folder of its own: it leaves files where it runs, and may crash."""
    if importlib.util.find_spec("pytetwild") is None:
        raise SceneError(
            "filling a surface with tetrahedra needs the optional package pytetwild, which is not installed; "
            "install it with: pip install 'pytetwild[all]', or give a .vtk or .msh file",
            place,
        )
    share = float(np.clip(edge_length / np.linalg.norm(np.ptp(vertices, axis=0)), 1e-4, 1.0))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "surface.npz", vertices=vertices, triangles=np.int32(triangles), share=share)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path)}
        try:
            done = subprocess.run(
                [sys.executable, "-c", _FILL], cwd=folder, env=environment, capture_output=True, timeout=FILL_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise SceneError(
                f"filling took longer than {FILL_SECONDS:g} s; choose a larger edge_length", place
            ) from None
        result = Path(folder) / "tets.npz"
        if done.returncode != 0 or not result.is_file():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise SceneError(f"pytetwild could not fill the surface: {said[0]}", place)
        with np.load(result) as made:
            return made["points"], made["tets"]
