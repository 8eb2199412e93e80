"""Meshes of gel pads: a box, a curved layer, a filled surface or a file, to a target volume of a tetrahedron."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.mesh.rest import tet_volumes
from engine.mesh.shapes import box_tets
from scenes.errors import Place, SceneError
from scenes.mesh_files import read_surface
from scenes.reading import Record
from scenes.sensors import BoxGel, ShellGel, SurfaceGel
from scenes.shapes import check_count
from scenes.tables import TetFile
from scenes.tet_files import TetMesh, read_tets

TETS_A_CELL = 5  # of engine.mesh.shapes.box_tets
FILLS = 4  # attempts at a target volume
NEAR = 1.4  # mean cell over target, or its inverse, that is near enough
THINNEST = 1e-5  # [m] a layer below this is a mistake in units, and its tetrahedra would be needles


@dataclass(frozen=True)
class GelMesh:
    """vertices (n, 3) in the gel frame [m]; tets (m, 4); outer, inner: vertices of the outer and of the inner side of a
    box or a layer, None for other meshes (their faces are found); notes: guesses and repairs."""

    vertices: np.ndarray
    tets: np.ndarray
    outer: np.ndarray | None = None
    inner: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def make_gel(gel: Record, place: Place | None = None) -> GelMesh:
    """Mesh of one of `scenes.sensors.GEL_TABLES`. Raises SceneError: no thickness, radii too small, bad files."""
    if isinstance(gel, BoxGel):
        return _box(gel, place)
    if isinstance(gel, ShellGel):
        return _shell(gel, place)
    if isinstance(gel, SurfaceGel):
        read = fill_to_volume(gel)
    elif isinstance(gel, TetFile):
        edge = gel.tetrahedralise.edge_length if gel.tetrahedralise else None
        read = read_tets(gel.file, gel.units, gel.scale, gel.repair, gel.origin, edge, gel.at("file"))
    else:
        raise TypeError(f"not a gel: {type(gel).__name__}")
    _refuse_flat(read.vertices, gel.at("file"))
    return GelMesh(read.vertices, read.tets, notes=read.notes)


def fill_to_volume(gel: SurfaceGel, say: Callable[[str, float], None] = lambda text, share: None) -> TetMesh:
    """Fill a closed surface; the edge length asked of the mesher is adapted until the mean cell has nearly the wanted
    volume, or gets no nearer (a thin gel cannot have large cells). say: told what is being done and the share done."""
    surface = read_surface(gel.file, gel.units, gel.scale, gel.repair, gel.origin, gel.at("file"))
    _refuse_flat(surface.vertices, gel.at("file"))
    edge, best, best_error = 0.9 * edge_for_volume(gel.cell_volume), None, np.inf  # fTetWild's come out larger
    for attempt in range(FILLS):
        say(f"filling {gel.file.name}, edges of {1e3 * edge:.3g} mm", 0.9 * attempt / FILLS)
        read = read_tets(gel.file, gel.units, gel.scale, gel.repair, gel.origin, edge, gel.at("file"), coarsen=True)
        ratio = float(tet_volumes(read.vertices, read.tets).mean()) / gel.cell_volume
        error = abs(np.log(ratio))
        if error < 0.95 * best_error:
            best, best_error, stuck = read, error, False
        else:
            stuck = True
        if stuck or best_error < np.log(NEAR):
            break
        edge *= float(np.clip(ratio ** (-1.0 / 3.0), 0.4, 2.5))
    if best_error > np.log(2.0):
        mean = float(tet_volumes(best.vertices, best.tets).mean())
        note = f"{gel.file.name}: cells of {1e9 * mean:.3g} mm3 in place of {1e9 * gel.cell_volume:.3g} mm3"
        best = replace(best, notes=(*best.notes, note))
    return best


def edge_for_volume(volume: float) -> float:
    """Edge of a regular tetrahedron of this volume [m3]: V = a^3 / (6 sqrt 2)."""
    return float((6.0 * np.sqrt(2.0) * volume) ** (1.0 / 3.0))


def cells_for_volume(size, volume: float) -> tuple[int, int, int]:
    """Cells of a box of extents `size` [m] so that its tetrahedra have about `volume` [m3]; nearly cubic, two through
    the thinnest extent at least (a single layer would be too stiff in bending and shear)."""
    edge = (TETS_A_CELL * volume) ** (1.0 / 3.0)
    counts = [max(1, round(float(extent) / edge)) for extent in size]
    thin = int(np.argmin(size))
    counts[thin] = max(counts[thin], 2)
    return tuple(counts)


def quality(vertices: np.ndarray, tets: np.ndarray) -> dict[str, float]:
    """What a mesh is worth: `volume` [m3] of all, `mean_cell` and `largest_cell` [m3], `shortest_edge` [m], and
    `worst_shape`, `mean_shape`: 6 sqrt 2 V / l_rms^3, 1 for a regular tetrahedron, 0 for a flat one (Parthasarathy et
    al. 1994)."""
    x = vertices[tets]
    edges = np.stack([x[:, a] - x[:, b] for a, b in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))], axis=1)
    length = np.linalg.norm(edges, axis=2)
    volume = tet_volumes(vertices, tets)
    shape = 6.0 * np.sqrt(2.0) * volume / np.sqrt((length**2).mean(axis=1)) ** 3
    return {
        "volume": float(volume.sum()), "mean_cell": float(volume.mean()), "largest_cell": float(volume.max()),
        "shortest_edge": float(length.min()), "worst_shape": float(shape.min()), "mean_shape": float(shape.mean()),
    }  # fmt: skip


def _box(gel: BoxGel, place: Place | None) -> GelMesh:
    _refuse_thin(gel.size[2], gel.at("size"))
    cells = gel.cells or cells_for_volume(gel.size, gel.cell_volume)
    check_count(int(np.prod([c + 1 for c in cells])), place)
    vertices, tets = box_tets(*cells, size=gel.size)
    layer = np.arange(len(vertices)) % (cells[2] + 1)
    return GelMesh(vertices, tets, np.flatnonzero(layer == cells[2]), np.flatnonzero(layer == 0))


def _shell(gel: ShellGel, place: Place | None) -> GelMesh:
    """A box bent so that its top takes the outer shape; points below lie along its normals."""
    _refuse_thin(gel.thickness, gel.at("thickness"))
    size = (*gel.size, gel.thickness)
    for key, extent in (("radius_x", gel.size[0]), ("radius_y", gel.size[1])):
        radius = getattr(gel, key)
        if radius is not None and radius < max(0.5 * extent * (1.0 + 1e-9), 1.001 * gel.thickness):
            least = max(0.5 * extent, gel.thickness)
            message = f"{key} is {radius:g} m; a layer {extent:g} m wide and {gel.thickness:g} m thick needs more than "
            raise SceneError(message + f"{least:g} m", gel.at(key))
    cells = gel.cells or cells_for_volume(size, gel.cell_volume)
    check_count(int(np.prod([c + 1 for c in cells])), place)
    flat, tets = box_tets(*cells, size=size)
    down = 0.5 * gel.thickness - flat[:, 2]  # [m] below the outer side
    height, slope = np.zeros(len(flat)), np.zeros((len(flat), 2))
    for axis, radius in enumerate((gel.radius_x, gel.radius_y)):
        if radius is not None:
            root = np.sqrt(radius**2 - flat[:, axis] ** 2)
            height += root - radius
            slope[:, axis] = -flat[:, axis] / root
    normal = np.column_stack([-slope, np.ones(len(flat))])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    vertices = np.column_stack([flat[:, :2], height]) - down[:, None] * normal
    if tet_volumes(vertices, tets).min() <= 0.0:
        raise SceneError("the layer folds over itself: make it thinner or its radii larger", gel.at("thickness"))
    layer = np.arange(len(flat)) % (cells[2] + 1)
    return GelMesh(vertices, tets, np.flatnonzero(layer == cells[2]), np.flatnonzero(layer == 0))


def _refuse_thin(thickness: float, place: Place | None) -> None:
    if thickness < THINNEST:
        raise SceneError(f"the gel is {thickness:g} m thick; it must be at least {THINNEST:g} m", place)


def _refuse_flat(vertices: np.ndarray, place: Place | None) -> None:
    _refuse_thin(float(np.ptp(vertices, axis=0).min()), place)
