"""Strips, sheets, solids and pads."""

from __future__ import annotations

import numpy as np

from engine.mesh.shapes import box_tets, grid_mesh
from scenes.build_sensor import add_sensor
from scenes.motion import rigid_transform, transform_points
from scenes.regions import vertices_in
from scenes.schema import Pad as PadEntity
from scenes.schema import Sheet, Solid, Strip
from scenes.shapes import check_count
from scenes.soft_balls import soft_balls
from scenes.tables import TetFile
from scenes.tet_files import read_tets


def add_strip(draft, name: str, strip: Strip) -> None:
    """A strip: row-wise zig-zag, points ordered row by row along x, cells as square as an even row count allows."""
    cell = strip.width / strip.cells_across
    rows = strip.cells_along or max(2, 2 * round(strip.length / cell / 2))
    check_count((rows + 1) * (strip.cells_across + 1), strip.place)
    vertices, triangles = grid_mesh(strip.length, strip.width, rows, strip.cells_across)
    _add_shell(draft, name, strip, vertices, triangles)


def add_sheet(draft, name: str, sheet: Sheet) -> None:
    """A rectangular sheet."""
    check_count((sheet.cells[0] + 1) * (sheet.cells[1] + 1), sheet.place)
    vertices, triangles = grid_mesh(*sheet.size, *sheet.cells)
    _add_shell(draft, name, sheet, vertices, triangles)


def add_solid(draft, name: str, solid: Solid) -> None:
    """A soft solid."""
    if solid.balls is not None:
        items = solid.balls.items
        vertices, tets = soft_balls([b.at for b in items], [b.radii for b in items], solid.balls.cell)
    else:
        vertices, tets = _tets(draft, solid, solid.size, solid.cells, solid.mesh)
    pose = rigid_transform(solid.position, solid.rotation)
    draft.builder.add_solid(
        name, transform_points(pose, vertices), tets, material=solid.material, contact=solid.contact,
        pinned=_pinned(name, solid, vertices), velocity=solid.velocity,
    )  # fmt: skip
    attach_regions(draft, name, solid, vertices)
    draft.show(name, solid)


def add_pad(draft, name: str, pad: PadEntity) -> None:
    """A gel pad: its held faces ride on a body, its coat is seen by a camera."""
    add_sensor(draft, name, pad, pad.held_by, rigid_transform(pad.position, pad.rotation))


def _add_shell(draft, name: str, shell: Strip | Sheet, vertices: np.ndarray, triangles: np.ndarray) -> None:
    pose = rigid_transform(shell.position, shell.rotation)
    draft.builder.add_shell(
        name, transform_points(pose, vertices), triangles, material=shell.material, contact=shell.contact,
        rest_vertices=vertices, pinned=_pinned(name, shell, vertices), velocity=shell.velocity,
    )  # fmt: skip
    attach_regions(draft, name, shell, vertices)
    draft.show(name, shell)


def _tets(draft, entity, size, cells, mesh: TetFile | None) -> tuple[np.ndarray, np.ndarray]:
    if mesh is None:
        check_count(int(np.prod([c + 1 for c in cells])), entity.place)
        return box_tets(*cells, size=size)
    edge = mesh.tetrahedralise.edge_length if mesh.tetrahedralise else None
    read = read_tets(mesh.file, mesh.units, mesh.scale, mesh.repair, mesh.origin, edge, mesh.at("file"))
    draft.notes += read.notes
    return read.vertices, read.tets


def _pinned(name: str, entity, vertices: np.ndarray) -> np.ndarray | None:
    if not entity.pinned:
        return None
    return np.unique(np.concatenate([vertices_in(r, vertices, f"{name}.pinned") for r in entity.pinned]))


def attach_regions(draft, name: str, entity, vertices: np.ndarray) -> None:
    """Let the vertices in the regions of `attach` ride. vertices (n, 3): in the frame of the regions [m]."""
    for region in entity.attach:
        draft.builder.attach(name, vertices_in(region, vertices, f"{name}.attach"), region.body, region.ignore_contact)
