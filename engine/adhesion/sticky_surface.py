"""Sticky points of a model: which sides of which meshes stick, to what, with which material. Fixed during a step.

A point is sticky when a triangle next to it is; one record a point. Cell length c = sqrt(2 * mean area of the sticky
triangles at the point): the side of an interior cell on a mesh of about six triangles a vertex, also at a border, where
the point's own area would halve it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from engine.mesh.rest import triangle_areas
from engine.mesh.topology import vertex_neighbours
from engine.types import Model

wp.set_module_options({"enable_backward": False})

SIDES = {"positive": 1, "negative": -1, "both": 2}


@dataclass(frozen=True)
class AdhesionPart:
    """One `add_adhesion`: a side of `mesh` sticks to each of `partners`, by `material`.

    triangle_side: int (t,), 1 sticky where the normal points, -1 on the other side, 2 both, 0 not sticky.
    """

    mesh: str
    triangle_side: np.ndarray
    partners: tuple[str, ...]
    material: object
    stuck: bool = True  # points within reach at the start are stuck
    start: np.ndarray | None = None  # instead these, at any distance: point, its triangle on the partner, int (k, 4)


@wp.struct
class StickyArrays:
    """S sticky points of all worlds, world-major; "slot" is a row of these arrays."""

    point: wp.array(dtype=int)  # global point id, (S,)
    world: wp.array(dtype=int)  # (S,)
    area: wp.array(dtype=wp.float64)  # a third of the sticky triangles at the point [m2], (S,)
    cell: wp.array(dtype=wp.float64)  # cell length c [m], (S,)
    two_sided: wp.array(dtype=int)  # (S,)
    triangle_offset: wp.array(dtype=int)  # sticky triangles at a point, (S + 1,)
    triangle: wp.array(dtype=wp.vec3i)  # point ids, wound so that the normal leaves the sticky side
    neighbour_offset: wp.array(dtype=int)  # mesh neighbours that are sticky too, (S + 1,)
    neighbour: wp.array(dtype=int)  # slots
    slot: wp.array(dtype=int)  # slot of a point, -1 = not sticky, (P,)
    point_surface: wp.array(dtype=int)  # (P,)
    surface_local: wp.array(dtype=int)
    material: wp.array2d(dtype=int)  # row in the law's material table by (sticky, partner) local surface, -1 = none
    rows_per_world: int  # rows of the material table that each world has for itself, 0 = one table for all


@dataclass
class StickySurface:
    """Host side of one law's sticky points: arrays, and what the start needs."""

    arrays: StickyArrays
    size: int  # S
    per_world: int
    materials: list  # material objects, rows of the law's table
    points: np.ndarray  # int (S,)
    cells: np.ndarray  # [m], float64 (S,)
    normal_triangles: list  # for each slot of world 0, (k, 3) global point ids
    two_sided: np.ndarray  # bool (S,)
    table: np.ndarray  # int (surfaces, surfaces)
    start_stuck: np.ndarray  # bool (surfaces, surfaces)
    start: np.ndarray  # points of world 0 that start stuck to given triangles, global ids, int (k, 4)
    names: list[str]  # meshes by local surface

    def row_of(self, mesh: str, partner: str) -> int:
        """Material row of a pair. Raises KeyError when the law does not rule it."""
        known = [(self.names[a], self.names[b]) for a, b in np.argwhere(self.table >= 0)]
        if (mesh, partner) not in known:
            pairs = ", ".join(f"{a} to {b}" for a, b in known) or "none"
            raise KeyError(f"'{mesh}' does not stick to '{partner}' by this law; pairs: {pairs}")
        return int(self.table[self.names.index(mesh), self.names.index(partner)])


def resolve(parts: list[AdhesionPart]) -> dict[tuple[str, str], AdhesionPart]:
    """Which part rules a (sticky mesh, partner) pair: the last one that names it."""
    return {(part.mesh, partner): part for part in parts for partner in part.partners}


def sticky_surface(model: Model, parts: list[AdhesionPart], law: str) -> StickySurface:
    """Sticky points of the meshes that have at least one pair under `law`."""
    ruled = {pair: part for pair, part in resolve(parts).items() if part.material.law == law}
    names, sides = list(model.meshes), {part.mesh: part.triangle_side for part in parts}
    surfaces = len(names)
    table, stuck = np.full((surfaces, surfaces), -1, np.int32), np.zeros((surfaces, surfaces), bool)
    declared: list = []  # one row of the material table a declaration, so that each can be edited by itself
    start: list = [np.zeros((0, 4), np.int64)]
    for (mesh, partner), part in ruled.items():
        if not any(part is other for other in declared):
            declared.append(part)
        row = next(i for i, other in enumerate(declared) if other is part)
        table[names.index(mesh), names.index(partner)] = row
        stuck[names.index(mesh), names.index(partner)] = part.stuck and part.start is None
        if part.start is not None:
            first = [model.meshes[name].points.start for name in (mesh, partner)]
            start.append(part.start + np.array([first[0], *3 * [first[1]]]))
    meshes = [name for name in names if any(pair[0] == name for pair in ruled)]
    rows = [_mesh_rows(model.meshes[name], sides[name]) for name in meshes]
    return _assemble(model, rows, [part.material for part in declared], table, stuck, np.concatenate(start))


def _mesh_rows(info, triangle_side: np.ndarray) -> dict:
    """Sticky points of one mesh in world 0, global ids."""
    first, n = info.points.start, info.points.stop - info.points.start
    sticky = np.flatnonzero(triangle_side)
    triangles = info.triangles[sticky]
    area = triangle_areas(info.rest, triangles)
    total, count = np.zeros(n), np.zeros(n)
    np.add.at(total, triangles.reshape(-1), np.repeat(area, 3))
    np.add.at(count, triangles.reshape(-1), 1.0)
    points = np.flatnonzero(count)
    wound = np.where((triangle_side[sticky] == -1)[:, None], triangles[:, ::-1], triangles)
    order = np.argsort(triangles.reshape(-1), kind="stable")
    owners = np.split(order // 3, np.cumsum(count[points].astype(int))[:-1])
    both = np.zeros(n, bool)
    both[triangles[triangle_side[sticky] == 2].reshape(-1)] = True
    near = vertex_neighbours(triangles, n)
    cells = total
    if info.cut is not None:  # pieces keep the cell of the mesh before the cut: their history was made with it
        cells = np.zeros(n)
        np.add.at(cells, triangles.reshape(-1), np.repeat(info.cut.cell_area[sticky], 3))
        area = info.cut.area[sticky]
        total = np.bincount(triangles.reshape(-1), weights=np.repeat(area, 3), minlength=n)
    return {
        "points": points + first,
        "area": total[points] / 3.0,
        "cell": np.sqrt(2.0 * cells[points] / count[points]),
        "two_sided": both[points],
        "triangles": [wound[rows] + first for rows in owners],
        "neighbours": [np.sort(near.indices[near.indptr[p] : near.indptr[p + 1]]) + first for p in points],
    }


def _assemble(
    model: Model, rows: list[dict], materials: list, table: np.ndarray, stuck: np.ndarray, start: np.ndarray
) -> StickySurface:
    def joined(key):
        return np.concatenate([r[key] for r in rows]) if rows else np.zeros(0)

    points = joined("points").astype(np.int64)
    triangles = [t for r in rows for t in r["triangles"]]
    neighbours = [t for r in rows for t in r["neighbours"]]
    worlds, stride, per_world = model.num_worlds, model.points_per_world, len(points)
    slot = np.full(model.num_points, -1, np.int64)
    all_points = (points[None] + stride * np.arange(worlds)[:, None]).reshape(-1)
    slot[all_points] = np.arange(len(all_points))
    flat = np.concatenate([np.zeros((0, 3)), *triangles]).astype(np.int64)
    near = slot[np.concatenate([np.zeros(0), *neighbours]).astype(np.int64)]
    shift = np.arange(worlds)
    arrays, device, c = StickyArrays(), model.device, model.collision

    def put(values, dtype):
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=device)

    def offsets(lists):
        return np.concatenate([[0], np.cumsum(np.tile([len(v) for v in lists], worlds))]).astype(np.int32)

    arrays.point = put(all_points.astype(np.int32), wp.int32)
    arrays.world = put(np.repeat(np.arange(worlds), per_world).astype(np.int32), wp.int32)
    arrays.area = put(np.tile(joined("area"), worlds), wp.float64)
    arrays.cell = put(np.tile(joined("cell"), worlds), wp.float64)
    arrays.two_sided = put(np.tile(joined("two_sided"), worlds).astype(np.int32), wp.int32)
    arrays.triangle_offset = put(offsets(triangles), wp.int32)
    arrays.triangle = put((flat[None] + stride * shift[:, None, None]).reshape(-1, 3).astype(np.int32), wp.vec3i)
    arrays.neighbour_offset = put(offsets(neighbours), wp.int32)
    arrays.neighbour = put((near[None] + per_world * shift[:, None]).reshape(-1).astype(np.int32), wp.int32)
    arrays.slot = put(slot.astype(np.int32), wp.int32)
    arrays.point_surface, arrays.surface_local = c.point_surface, c.surface_local
    arrays.material = put(table, wp.int32)
    return StickySurface(
        arrays, len(all_points), per_world, materials, all_points, np.tile(joined("cell"), worlds), triangles,
        np.tile(joined("two_sided"), worlds).astype(bool), table, stuck, start, list(model.meshes),
    )  # fmt: skip
