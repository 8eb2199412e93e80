"""Indenters: blocks whose top carries a pattern of known height, to be pressed into a pad.

`pattern_height` is exact; the mesh carries it on a grid, so an edge is one cell wide.
"""

from __future__ import annotations

import numpy as np

from engine.mesh.shapes import grid_mesh

# Letters as strokes on a grid of 2 x 4, from the lower left: pairs of points that are joined.
_STROKES = {
    "T": [((0, 4), (2, 4)), ((1, 0), (1, 4))],
    "A": [((0, 0), (1, 4)), ((1, 4), (2, 0)), ((0.5, 1.5), (1.5, 1.5))],
    "C": [((2, 4), (0, 4)), ((0, 4), (0, 0)), ((0, 0), (2, 0))],
    "K": [((0, 0), (0, 4)), ((0, 1.7), (2, 4)), ((0.6, 2.3), (2, 0))],
}
WORD = "TACK"


def _radius(x, y):
    return np.hypot(x, y)


def _sphere(x, y, s, h):
    r = 0.45 * s  # footprint radius; the ball's own follows from the height
    ball = (r**2 + h**2) / (2.0 * h)
    return np.where(_radius(x, y) < r, np.sqrt(np.maximum(ball**2 - x**2 - y**2, 0.0)) - (ball - h), 0.0)


def _cylinder(x, y, s, h):
    return h * _flank(_radius(x, y) - 0.3 * s, s)


def _cylinder_side(x, y, s, h):
    r = 0.25 * s
    ball = (r**2 + h**2) / (2.0 * h)
    return np.where(np.abs(x) < r, np.sqrt(np.maximum(ball**2 - x**2, 0.0)) - (ball - h), 0.0) * _flank(
        np.abs(y) - 0.42 * s, s
    )


def _cone(x, y, s, h):
    return h * np.maximum(1.0 - _radius(x, y) / (0.45 * s), 0.0)


def _torus(x, y, s, h):
    tube = 0.13 * s
    away = np.abs(_radius(x, y) - 0.3 * s) / tube
    return h * np.sqrt(np.maximum(1.0 - away**2, 0.0))


def _dots(x, y, s, h):
    pitch = 0.25 * s
    away = np.hypot(x - pitch * np.round(x / pitch), y - pitch * np.round(y / pitch)) / (0.3 * pitch)
    inside = (np.abs(x) < 1.5 * pitch) & (np.abs(y) < 1.5 * pitch)
    return np.where(inside, h * np.sqrt(np.maximum(1.0 - away**2, 0.0)), 0.0)


def _waves(x, y, s, h):
    return 0.5 * h * (1.0 - np.cos(2.0 * np.pi * x / (0.3 * s))) * _flank(np.maximum(abs(x), abs(y)) - 0.45 * s, s)


def _bars(x, y, s, h):
    pitch = 0.25 * s
    away = np.abs(x - pitch * np.round(x / pitch)) - 0.22 * pitch
    return h * _flank(away, s) * _flank(np.maximum(np.abs(x) - 1.5 * pitch, np.abs(y) - 0.4 * s), s)


def _cross(x, y, s, h):
    near = np.minimum(np.maximum(np.abs(x) - 0.06 * s, np.abs(y) - 0.42 * s),
                      np.maximum(np.abs(y) - 0.06 * s, np.abs(x) - 0.42 * s))  # fmt: skip
    return h * _flank(near, s)


def _star(x, y, s, h):
    angle = np.arctan2(y, x)
    rim = s * (0.32 + 0.1 * np.cos(5.0 * angle))
    return h * _flank(_radius(x, y) - rim, s)


def _letters(x, y, s, h):
    unit, step = 0.075 * s, 0.235 * s
    away = np.full(np.broadcast(x, y).shape, np.inf)
    for k, letter in enumerate(WORD):
        left = (k - 0.5 * len(WORD)) * step + 0.5 * (step - 2.0 * unit)
        for a, b in _STROKES[letter]:
            ends = np.array([a, b], float) * (unit, 1.6 * unit) + (left, -3.2 * unit)
            away = np.minimum(away, _from_segment(x, y, *ends))
    return h * _flank(away - 0.32 * unit, 0.5 * s)


def _tile(x, y, s, h):
    """Fine relief: a knurl of diamonds around rings, a rim."""
    ring = 0.5 + 0.5 * np.cos(2.0 * np.pi * _radius(x, y) / (0.09 * s))
    knurl = np.abs(np.sin(np.pi * (x + y) / (0.11 * s)) * np.sin(np.pi * (x - y) / (0.11 * s)))
    inner = _flank(_radius(x, y) - 0.28 * s, s)
    frame = _flank(np.abs(np.maximum(np.abs(x), np.abs(y)) - 0.45 * s) - 0.02 * s, s)
    body = _flank(np.maximum(np.abs(x), np.abs(y)) - 0.42 * s, s)
    return h * np.maximum(frame, body * (inner * ring + (1.0 - inner) * knurl))


def _flank(outside, s):
    """1 inside, 0 outside, straight over 3 % of the size."""
    return np.clip(0.5 - outside / (0.03 * s), 0.0, 1.0)


def _from_segment(x, y, a, b):
    way = b - a
    t = np.clip(((x - a[0]) * way[0] + (y - a[1]) * way[1]) / (way @ way), 0.0, 1.0)
    return np.hypot(x - a[0] - t * way[0], y - a[1] - t * way[1])


PATTERNS = {
    "sphere": _sphere, "cylinder": _cylinder, "cylinder_side": _cylinder_side, "cone": _cone, "torus": _torus,
    "dots": _dots, "waves": _waves, "bars": _bars, "cross": _cross, "star": _star, "letters": _letters, "tile": _tile,
}  # fmt: skip


def pattern_height(pattern: str, x: np.ndarray, y: np.ndarray, size: float, height: float) -> np.ndarray:
    """Height over the plane [m] at x, y [m]; size: side of the square it fills, height: of its highest point [m]."""
    return np.maximum(PATTERNS[pattern](np.asarray(x, float), np.asarray(y, float), size, height), 0.0)


def pattern_block(pattern: str, size: float, height: float, depth: float, cell: float):
    """Closed block below z = 0 (`depth` [m] thick, square of side `size`), whose top rises by the pattern.

    cell: of the grid [m]. Raises ValueError for a cell that is no smaller than the block.
    """
    count = round(size / cell)
    if count < 4:
        raise ValueError(f"cell is {cell:g} m; a pattern of {size:g} m needs at least four cells a side")
    top, faces = grid_mesh(size, size, count, count, "union_jack")
    edge = np.abs(top[:, :2]).max(axis=1) > 0.5 * size - 1e-9
    top[:, 2] = np.where(edge, 0.0, pattern_height(pattern, top[:, 0], top[:, 1], size, height))
    bottom = top.copy()
    bottom[:, 2] = -depth
    index = np.arange((count + 1) ** 2).reshape(count + 1, count + 1)
    rim = np.concatenate([index[:-1, 0], index[-1, :-1], index[:0:-1, -1], index[0, :0:-1]])  # anticlockwise from above
    low = np.arange(len(top), len(top) + len(rim))
    after, low_after = np.roll(rim, -1), np.roll(low, -1)
    walls = np.concatenate([np.stack([low, low_after, after], 1), np.stack([low, after, rim], 1)])
    middle = len(top) + len(rim)
    floor = np.stack([low_after, low, np.full(len(rim), middle)], axis=1)  # it needs no grid: a fan of its rim
    vertices = np.vstack([top, bottom[rim], [[0.0, 0.0, -depth]]])
    return vertices, np.vstack([faces, walls, floor])
