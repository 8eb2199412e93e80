"""Strips, sheets, solids and pads."""

from __future__ import annotations

import numpy as np

from engine.mesh.shapes import box_tets, grid_mesh
from engine.mesh.topology import boundary_of_tets
from scenes.errors import SceneError
from scenes.motion import rigid_transform, transform_points
from scenes.regions import on_side, vertices_in
from scenes.scene import Pad
from scenes.schema import Pad as PadEntity
from scenes.schema import Sheet, Solid, Strip
from scenes.shapes import check_count
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
    vertices, tets = _tets(draft, solid, solid.size, solid.cells, solid.mesh)
    pose = rigid_transform(solid.position, solid.rotation)
    draft.builder.add_solid(
        name, transform_points(pose, vertices), tets, material=solid.material, contact=solid.contact,
        pinned=_pinned(name, solid, vertices), velocity=solid.velocity,
    )  # fmt: skip
    attach_regions(draft, name, solid, vertices)
    draft.show(name, solid)


def add_pad(draft, name: str, pad: PadEntity) -> None:
    """A gel pad: the face opposite to the coat rides on a body."""
    vertices, tets = _tets(draft, pad, None if pad.mesh else pad.size, pad.cells, pad.mesh)
    pose = rigid_transform(pad.position, pad.rotation)
    draft.builder.add_solid(name, transform_points(pose, vertices), tets, material=pad.material, contact=pad.contact)
    back = {"+": "-", "-": "+"}[pad.coat[0]] + pad.coat[1]
    held = np.flatnonzero(on_side(vertices, back))
    draft.builder.attach(name, held, pad.held_by)
    surface = boundary_of_tets(tets)
    coat = surface[on_side(vertices, pad.coat)[surface].all(axis=1)]
    if not len(coat):
        raise SceneError(f"{name}: no triangle of the pad lies flat on its side {pad.coat}", pad.at("coat"))
    frame = _coat_frame(vertices[np.unique(coat)], pad.coat)
    resolution = pad.resolution
    if resolution is None:
        spanned = np.ptp(transform_points(np.linalg.inv(frame), vertices[np.unique(coat)]), axis=0)[:2]
        resolution = tuple(int(n) for n in np.ceil(spanned / pad.pixel_pitch - 1e-9))
    if not 2 <= min(resolution) <= max(resolution) <= 4096:
        message = f"{name}: a depth map of {resolution[0]} x {resolution[1]} pixels; each must lie in 2..4096"
        raise SceneError(message, pad.at("pixel_pitch"))
    draft.pads.append(Pad(name, coat, frame, pad.pixel_pitch, resolution, pad.held_by, held))
    draft.show(name, pad)


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


def _coat_frame(points: np.ndarray, side: str) -> np.ndarray:
    """(4, 4) mesh from pad frame: origin in the middle of the coat, z out of it, y along the coat's later mesh axis."""
    axis, sign = "xyz".index(side[1]), 1.0 if side[0] == "+" else -1.0
    frame = np.eye(4)
    z = sign * np.eye(3)[axis]
    y = np.eye(3)[2 if axis != 2 else 1]
    frame[:3, :3] = np.stack([np.cross(y, z), y, z], axis=1)
    frame[:3, 3] = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return frame
