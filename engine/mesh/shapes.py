"""Procedural meshes. Every function returns (vertices float64 (n, 3) [m], elements int64); closed surfaces wind
outward.

Each is centred at the origin unless said otherwise.
"""

from __future__ import annotations

import numpy as np

from engine.mesh.topology import edge_table

PATTERNS = ("zigzag_rows", "one", "equilateral", "union_jack")


def strip_mesh(length: float, width: float, cells_across: int, pattern: str = "zigzag_rows"):
    """Flat strip in the plane z = 0, along x, normals +z; points ordered row by row (a row runs across, along y).

    Cells are as square as the length allows (for "equilateral": rows sqrt(3)/2 of a cell apart, every other row shifted
    by half a cell, straight sides). Patterns: "zigzag_rows", the default for tape: the diagonal flips from one
    lengthwise row of cells to the next (use an even number across, so that there is no net twist); a clamped heavy
    strip sags within 0.2 % of the elastica, while diagonals that flip along the strip let the free sides give and sag
    6 % too far (tests/engine/stepper/test_statics.py). "one" (all diagonals alike: 15 % too far, and it twists),
    "union_jack" (locks in the membrane). x runs from -length/2 to length/2.
    """
    _check_pattern("strip_mesh", pattern)
    _check_sizes("strip_mesh", length=length, width=width)
    _check_counts("strip_mesh", cells_across=cells_across)
    cell = width / cells_across
    spacing = cell * (np.sqrt(0.75) if pattern == "equilateral" else 1.0)
    rows = max(2, round(length / spacing))
    return grid_mesh(length, width, rows, cells_across, pattern)


def grid_mesh(size_x: float, size_y: float, cells_x: int, cells_y: int, pattern: str = "zigzag_rows"):
    """Flat rectangle in the plane z = 0 with normals +z, points ordered row by row (x outer, y inner)."""
    _check_pattern("grid_mesh", pattern)
    _check_sizes("grid_mesh", size_x=size_x, size_y=size_y)
    _check_counts("grid_mesh", cells_x=cells_x, cells_y=cells_y)
    if pattern == "equilateral":
        return _shifted_rows(size_x, size_y, cells_x, cells_y)
    x = np.linspace(-0.5 * size_x, 0.5 * size_x, cells_x + 1)
    y = np.linspace(-0.5 * size_y, 0.5 * size_y, cells_y + 1)
    gx, gy = np.meshgrid(x, y, indexing="ij")
    vertices = np.column_stack([gx.ravel(), gy.ravel(), np.zeros(gx.size)])
    i, j = (k.ravel() for k in np.meshgrid(np.arange(cells_x), np.arange(cells_y), indexing="ij"))
    a, c = i * (cells_y + 1) + j, (i + 1) * (cells_y + 1) + j  # a (x0, y0), c (x1, y0), b and d at y1
    b, d = a + 1, c + 1
    flip = {"one": np.zeros_like(i), "zigzag_rows": j % 2, "union_jack": (i + j) % 2}[pattern].astype(bool)[:, None]
    straight = np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)  # diagonal a-d
    crossed = np.stack([a, c, b], axis=1), np.stack([c, d, b], axis=1)  # diagonal c-b
    pairs = np.stack([np.where(flip, crossed[k], straight[k]) for k in (0, 1)], axis=1)
    return vertices, pairs.reshape(-1, 3)


def _shifted_rows(size_x: float, size_y: float, cells_x: int, cells_y: int):
    """Rows of points across y; odd rows are shifted by half a cell and closed by half cells at the sides."""
    even = np.linspace(-0.5 * size_y, 0.5 * size_y, cells_y + 1)
    odd = np.concatenate([even[:1], 0.5 * (even[1:] + even[:-1]), even[-1:]])
    rows, starts, count = [], [], 0
    for r, x in enumerate(np.linspace(-0.5 * size_x, 0.5 * size_x, cells_x + 1)):
        y = odd if r % 2 else even
        rows.append(np.column_stack([np.full(len(y), x), y, np.zeros(len(y))]))
        starts.append(count)
        count += len(y)
    triangles = []
    for r in range(cells_x):
        shorter, longer = (r, r + 1) if r % 2 == 0 else (r + 1, r)
        e, o = starts[shorter], starts[longer]
        band = [(e + k, o + k, o + k + 1) for k in range(cells_y + 1)]
        band += [(e + k, o + k + 1, e + k + 1) for k in range(cells_y)]
        triangles += [t if r % 2 == 0 else t[::-1] for t in band]
    return np.vstack(rows), np.array(triangles, dtype=np.int64)


def box_surface(size=(1.0, 1.0, 1.0), cells=(1, 1, 1)):
    """Closed box, size (3,) [m], each side split into cells (3,) along x, y, z; diagonals alternate."""
    sx, sy, sz = (float(s) for s in np.broadcast_to(size, (3,)))
    nx, ny, nz = (int(c) for c in np.broadcast_to(cells, (3,)))
    _check_sizes("box_surface", size_x=sx, size_y=sy, size_z=sz)
    _check_counts("box_surface", cells_x=nx, cells_y=ny, cells_z=nz)
    sides = []
    for u, v, w in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # right-handed: u x v = w
        extent, count = (sx, sy, sz), (nx, ny, nz)
        flat, t = grid_mesh(extent[u], extent[v], count[u], count[v], "union_jack")
        for sign in (1.0, -1.0):
            side = np.empty_like(flat)
            side[:, u], side[:, v], side[:, w] = flat[:, 0], flat[:, 1], sign * 0.5 * extent[w]
            sides.append((side, t if sign > 0 else t[:, ::-1]))
    return _weld(sides)


def box_tets(cells_x: int, cells_y: int, cells_z: int, size=(1.0, 1.0, 1.0)):
    """Box of tetrahedra: five a cell, mirrored from cell to cell so that faces match; positively oriented.

    One regular tetrahedron in the middle and four right corners (for cubic cells): better shaped than the six of a
    Kuhn split, and without its one preferred diagonal. size (3,) [m].
    """
    _check_counts("box_tets", cells_x=cells_x, cells_y=cells_y, cells_z=cells_z)
    sx, sy, sz = (float(s) for s in np.broadcast_to(size, (3,)))
    _check_sizes("box_tets", size_x=sx, size_y=sy, size_z=sz)
    axes = [np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in ((sx, cells_x), (sy, cells_y), (sz, cells_z))]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    # Corners of a cell by bits xyz: 0 = 000, 1 = 001, .. 7 = 111.
    even = np.array([[0, 4, 2, 1], [6, 2, 4, 7], [5, 4, 1, 7], [3, 1, 2, 7], [4, 2, 1, 7]])
    odd = (even ^ 4)[:, [1, 0, 2, 3]]  # mirrored in x, orientation restored
    i, j, k = (a.ravel() for a in np.meshgrid(*(np.arange(n) for n in (cells_x, cells_y, cells_z)), indexing="ij"))
    bits = np.arange(8)
    corner = (
        (i[:, None] + (bits >> 2 & 1)) * (cells_y + 1) + j[:, None] + (bits >> 1 & 1)
    ) * (cells_z + 1) + k[:, None] + (bits & 1)  # fmt: skip
    local = np.where(((i + j + k) % 2 == 0)[:, None, None], even, odd)
    tets = np.take_along_axis(corner, local.reshape(len(i), -1), axis=1).reshape(-1, 4)
    return vertices, tets


def cylinder_surface(radius: float, length: float, segments: int = 24, rings: int = 1):
    """Closed cylinder along z; rings: cells along z. The caps are fans around a centre point."""
    _check_sizes("cylinder_surface", radius=radius, length=length)
    _check_counts("cylinder_surface", segments=segments, rings=rings)
    if segments < 3:
        raise ValueError(f"cylinder_surface: segments is {segments!r}; it must be at least 3")
    profile = [(0.0, -0.5 * length), *((radius, z) for z in np.linspace(-0.5 * length, 0.5 * length, rings + 1))]
    return revolve([*profile, (0.0, 0.5 * length)], segments)


def ring_surface(inner_radius: float, outer_radius: float, height: float, segments: int = 24, rings: int = 1):
    """Closed tube along z with a rectangular section (the core of a roll); rings: cells along z."""
    _check_sizes("ring_surface", inner_radius=inner_radius, height=height)
    if not outer_radius > inner_radius:
        raise ValueError(f"ring_surface: outer_radius is {outer_radius!r}; it must be greater than {inner_radius!r}")
    z = np.linspace(-0.5 * height, 0.5 * height, rings + 1)
    profile = [(outer_radius, h) for h in z] + [(inner_radius, h) for h in z[::-1]]
    return revolve(profile, segments, closed=True)


def torus_surface(major_radius: float, minor_radius: float, segments: int = 32, sides: int = 16):
    """Closed torus around z: segments around the axis, sides around the tube."""
    _check_sizes("torus_surface", minor_radius=minor_radius)
    if not major_radius > minor_radius:
        raise ValueError(f"torus_surface: major_radius is {major_radius!r}; it must be greater than {minor_radius!r}")
    angle = 2.0 * np.pi * np.arange(sides) / sides
    profile = [(major_radius + minor_radius * np.cos(a), minor_radius * np.sin(a)) for a in angle]
    return revolve(profile, segments, closed=True)


def revolve(profile, segments: int, closed: bool = False):
    """Surface of a profile [(r, z), ..] turned around z. Going up along the outside gives outward normals.

    closed: the profile's end meets its start. Points with r = 0 are poles. Diagonals alternate.
    """
    if segments < 3:
        raise ValueError(f"revolve: segments is {segments!r}; it must be at least 3")
    angle = 2.0 * np.pi * np.arange(segments) / segments
    rows, vertices, count = [], [], 0
    for r, z in profile:
        pole = r == 0.0
        ring = (
            [(0.0, 0.0, z)] if pole else np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(segments, z)])
        )
        rows.append(np.full(segments, count) if pole else count + np.arange(segments))
        vertices.append(np.asarray(ring))
        count += 1 if pole else segments
    triangles = []
    links = list(zip(rows, rows[1:], strict=False)) + ([(rows[-1], rows[0])] if closed else [])
    for row, (low, high) in enumerate(links):
        for s in range(segments):
            a, b, c, d = low[s], low[(s + 1) % segments], high[(s + 1) % segments], high[s]
            if a == b:
                triangles.append((a, c, d))  # a pole below
            elif c == d:
                triangles.append((a, b, c))  # a pole above
            else:
                triangles += [(a, b, c), (a, c, d)] if (row + s) % 2 == 0 else [(a, b, d), (b, c, d)]
    return np.vstack(vertices), np.array(triangles, dtype=np.int64)


def icosphere(radius: float, subdivisions: int = 2):
    """Closed sphere: an icosahedron whose triangles are split in four `subdivisions` times; points on the sphere."""
    _check_sizes("icosphere", radius=radius)
    if subdivisions < 0:
        raise ValueError(f"icosphere: subdivisions is {subdivisions!r}; it must be at least 0")
    g = (1.0 + np.sqrt(5.0)) / 2.0
    vertices = np.array(
        [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g),
         (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)], dtype=np.float64,
    )  # fmt: skip
    triangles = np.array(
        [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6),
         (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10),
         (8, 6, 7), (9, 8, 1)], dtype=np.int64,
    )  # fmt: skip
    for _ in range(subdivisions):
        vertices, triangles = subdivide(vertices, triangles)
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return radius * vertices / np.linalg.norm(vertices, axis=1, keepdims=True), triangles


def subdivide(vertices: np.ndarray, triangles: np.ndarray):
    """Each triangle in four, new points in the middle of the edges."""
    table = edge_table(triangles)
    middle = vertices[table.edges].mean(axis=1)
    ab, bc, ca = (len(vertices) + table.triangle_edges).T
    a, b, c = triangles.T
    quarters = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.vstack([vertices, middle]), np.stack([np.stack(q, axis=1) for q in quarters], axis=1).reshape(-1, 3)


def _weld(pieces):
    """Join meshes at equal positions (to a billionth of the size)."""
    vertices = np.vstack([v for v, _ in pieces])
    offsets = np.cumsum([0] + [len(v) for v, _ in pieces])
    triangles = np.vstack([t + o for (_, t), o in zip(pieces, offsets, strict=False)])
    size = np.ptp(vertices, axis=0).max()
    _, first, inverse = np.unique(
        np.round(vertices / (1e-9 * size)).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    return vertices[first], inverse.reshape(-1)[triangles]


def _check_pattern(owner: str, pattern: str) -> None:
    if pattern not in PATTERNS:
        raise ValueError(f"{owner}: pattern is {pattern!r}; legal values: {', '.join(PATTERNS)}")


def _check_sizes(owner: str, **sizes: float) -> None:
    for name, value in sizes.items():
        if not value > 0.0:
            raise ValueError(f"{owner}: {name} is {value!r}; it must be greater than 0 [m]")


def _check_counts(owner: str, **counts: int) -> None:
    for name, value in counts.items():
        if int(value) != value or value < 1:
            raise ValueError(f"{owner}: {name} is {value!r}; it must be a whole number of at least 1")
