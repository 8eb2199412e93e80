"""Surfaces of the `shape` tables: primitives of the engine, and the few that only scenes need."""

from __future__ import annotations

import numpy as np

from engine.mesh import shapes
from scenes import lofts, patterns, tables
from scenes.errors import Place, SceneError
from scenes.mesh_files import demand_sound, read_surface
from scenes.reading import Record

MAX_VERTICES = 200_000  # of one procedural mesh


def make_surface(shape: Record, closed: bool) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """(vertices (n, 3) [m], triangles (t, 3), notes) of a shape table.

    closed: a mesh file must be closed and face outwards; otherwise open edges pass. Raises SceneError with the place.
    """
    try:
        if isinstance(shape, tables.SurfaceFile):
            return _from_file(shape, closed)
        return (*_MAKERS[type(shape)](shape), ())
    except SceneError:
        raise
    except ValueError as error:  # the engine's own size checks
        raise SceneError(str(error), shape.place) from None


def _from_file(shape: tables.SurfaceFile, closed: bool):
    place = shape.at("file")
    mesh = read_surface(shape.file, shape.units, shape.scale, shape.repair, shape.origin, place)
    demand_sound(mesh, shape.file, place, closed, shape.repair)
    return mesh.vertices, mesh.triangles, mesh.notes


def _box(shape: tables.BoxShape):
    check_count(
        sum(a * b for a, b in zip(shape.cells, shape.cells[1:] + shape.cells[:1], strict=True)) * 2, shape.place
    )
    return shapes.box_surface(shape.size, shape.cells)


def _pattern(shape: tables.PatternShape):
    check_count(round(shape.size / shape.cell + 1) ** 2, shape.place)
    return patterns.pattern_block(shape.pattern, shape.size, shape.height, shape.depth, shape.cell)


def rounded_box(size, radius: float, segments: int, place: Place | None = None):
    """Closed box with rounded edges: a grid on each side of a cube, pushed out from an inner box by `radius` [m].

    size (3,) full extents [m]; segments of a quarter circle. Flat sides stay two triangles wide between the edges.
    """
    half = 0.5 * np.asarray(size, dtype=np.float64)
    if not radius < half.min():
        raise SceneError(
            f"radius is {radius:g} m; it must be below half of the smallest extent, {half.min():g} m", place
        )
    # Grid lines: the corner arc before, the flat middle cell, the corner arc after.
    steps = np.tan(np.linspace(0.0, 0.25 * np.pi, segments + 1))[1:]
    arc = np.concatenate([-steps[::-1], [0.0]])  # -1 .. 0: offset within a corner octant
    line = [(-1.0, a) for a in arc] + [(1.0, -a) for a in arc[::-1]]  # (side of the inner box, offset)
    count = len(line)
    _, faces = shapes.grid_mesh(1.0, 1.0, count - 1, count - 1, "union_jack")
    sides = []
    for u, v, w in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        for sign in (1.0, -1.0):
            inner, direction = np.zeros((count, count, 3)), np.zeros((count, count, 3))
            inner[..., u], direction[..., u] = (np.array(line)[:, k][:, None] for k in (0, 1))
            inner[..., v], direction[..., v] = (np.array(line)[:, k][None, :] for k in (0, 1))
            inner[..., w] = direction[..., w] = sign
            direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
            points = (inner * (half - radius) + radius * direction).reshape(-1, 3)
            sides.append((points, faces if sign > 0 else faces[:, ::-1]))
    return weld(sides)


def open_box(size, wall: float, place: Place | None = None):
    """Closed surface of a box with bottom and four walls, open at +z; centred at the origin.

    size (3,) outer extents [m]; wall: thickness of walls and bottom [m].
    """
    sx, sy, sz = (float(s) for s in size)
    if not (2.0 * wall < min(sx, sy) and wall < sz):
        raise SceneError(f"wall is {wall:g} m; it leaves no room in a box of {sx:g} x {sy:g} x {sz:g} m", place)

    def ring(x: float, y: float, z: float):
        return [(-x, -y, z), (x, -y, z), (x, y, z), (-x, y, z)]

    hx, hy, hz = 0.5 * sx, 0.5 * sy, 0.5 * sz
    vertices = (
        ring(hx, hy, -hz) + ring(hx, hy, hz) + ring(hx - wall, hy - wall, hz) + ring(hx - wall, hy - wall, wall - hz)
    )
    triangles = [(0, 2, 1), (0, 3, 2), (12, 13, 14), (12, 14, 15)]  # bottom from below, floor from above
    for low in (0, 4, 8):  # outer walls, rim, inner walls
        for k in range(4):
            a, b, c, d = low + k, low + (k + 1) % 4, low + 4 + (k + 1) % 4, low + 4 + k
            triangles += [(a, b, c), (a, c, d)]
    return np.array(vertices), np.array(triangles, dtype=np.int64)


def relief_block(shape: tables.ReliefShape):
    """Closed block below z = 0 whose top carries a spherical bump (at -x) and bars along y (at +x)."""
    sx, sy, depth = shape.size
    if not shape.bump_height < shape.bump_radius:
        raise SceneError(
            f"bump_height is {shape.bump_height:g} m; it must be below bump_radius", shape.at("bump_height")
        )
    nx, ny = max(2, round(sx / shape.cell)), max(2, round(sy / shape.cell))
    check_count((nx + 1) * (ny + 1) * 2, shape.place)
    top, faces = shapes.grid_mesh(sx, sy, nx, ny, "union_jack")
    top[:, 2] = _relief_height(top[:, 0], top[:, 1], shape)
    bottom = top.copy()
    bottom[:, 2] = -depth
    index = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    rim = np.concatenate([index[:-1, 0], index[-1, :-1], index[:0:-1, -1], index[0, :0:-1]])  # anticlockwise from above
    after, low = np.roll(rim, -1), rim + len(top)
    low_after = np.roll(low, -1)
    walls = np.concatenate([np.stack([low, low_after, after], 1), np.stack([low, after, rim], 1)])
    return np.vstack([top, bottom]), np.vstack([faces, faces[:, ::-1] + len(top), walls])


def _relief_height(x: np.ndarray, y: np.ndarray, shape: tables.ReliefShape) -> np.ndarray:
    sx, sy, _ = shape.size
    inside = (np.abs(x) < 0.5 * sx - 0.5 * shape.cell) & (np.abs(y) < 0.5 * sy - 0.5 * shape.cell)
    distance2 = (x + 0.22 * sx) ** 2 + y**2
    sink = shape.bump_radius - shape.bump_height
    bump = np.sqrt(np.maximum(shape.bump_radius**2 - distance2, 0.0)) - sink
    height = np.maximum(bump, 0.0)
    if shape.bars:
        span = 0.4 * sx / shape.bars
        middle = 0.06 * sx + span * (np.arange(shape.bars) + 0.5)
        away = np.abs(x[:, None] - middle).min(axis=1) - 0.5 * shape.bar_width
        flank = np.clip(0.5 - away / shape.cell, 0.0, 1.0)  # one cell wide, so that the grid can carry it
        height = np.maximum(height, shape.bar_height * flank * (np.abs(y) < 0.35 * sy))
    return np.where(inside, height, 0.0)


def weld(pieces) -> tuple[np.ndarray, np.ndarray]:
    """Meshes [(vertices, triangles), ..] as one, joined where vertices agree to 1e-9 of the size; flat ones dropped."""
    vertices = np.vstack([v for v, _ in pieces])
    offsets = np.cumsum([0] + [len(v) for v, _ in pieces[:-1]])
    triangles = np.vstack([t + o for (_, t), o in zip(pieces, offsets, strict=True)])
    keys = np.round(vertices / (1e-9 * np.ptp(vertices, axis=0).max())).astype(np.int64)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    triangles = inverse.reshape(-1)[triangles]
    distinct = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    return vertices[first], triangles[distinct]


def check_count(count: int, place: Place | None) -> None:
    """Raise SceneError when a procedural mesh would exceed MAX_VERTICES."""
    if count > MAX_VERTICES:
        raise SceneError(f"this mesh would have {count} vertices; {MAX_VERTICES} at most", place)


_MAKERS = {
    tables.BoxShape: _box,
    tables.RoundedBoxShape: lambda s: rounded_box(s.size, s.radius, s.segments, s.at("radius")),
    tables.CylinderShape: lambda s: shapes.cylinder_surface(s.radius, s.height, s.segments),
    tables.SphereShape: lambda s: shapes.icosphere(s.radius, s.subdivisions),
    tables.RingShape: lambda s: shapes.torus_surface(s.radius, s.tube_radius, s.segments, s.tube_segments),
    tables.OpenBoxShape: lambda s: open_box(s.size, s.wall, s.at("wall")),
    tables.ReliefShape: relief_block,
    tables.PegShape: lambda s: lofts.peg(s.profile, s.width, s.height, s.taper, s.taper_width or 0.8 * s.width),
    tables.PatternShape: lambda s: _pattern(s),
    tables.HoleBlockShape: lambda s: lofts.hole_block(s.size, s.profile, s.width, s.chamfer),
}
