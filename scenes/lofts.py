"""Pegs and the blocks they go into: outlines in a plane, joined ring by ring to closed surfaces."""

from __future__ import annotations

import numpy as np

PROFILES = ("round", "square", "hexagon", "star")
ROUND_SEGMENTS = 24
CUT_CORNER = 0.1  # of the width: how far the corners of the square profile are cut
STAR_POINTS, STAR_NOTCH = 5, 0.72  # notch radius over tip radius


def outline(profile: str, width: float) -> np.ndarray:
    """Corners of a profile, anticlockwise, (n, 2) [m].

    width [m]: across flats (square, hexagon: flats face +x and -x), diameter (round), or twice the tip radius (star).
    """
    half = 0.5 * width
    if profile == "round":
        angle = 2.0 * np.pi * (np.arange(ROUND_SEGMENTS) + 0.5) / ROUND_SEGMENTS  # a flat faces x here too
        return half * np.column_stack([np.cos(angle), np.sin(angle)])
    if profile == "square":
        cut = half - CUT_CORNER * width
        return np.array([
            (half, -cut), (half, cut), (cut, half), (-cut, half), (-half, cut), (-half, -cut), (-cut, -half),
            (cut, -half),
        ])  # fmt: skip
    if profile == "hexagon":
        angle = np.pi * (np.arange(6) / 3.0 + 1.0 / 6.0)
        return half / np.cos(np.pi / 6.0) * np.column_stack([np.cos(angle), np.sin(angle)])
    angle = np.pi * np.arange(2 * STAR_POINTS) / STAR_POINTS
    radius = np.where(np.arange(2 * STAR_POINTS) % 2 == 0, half, STAR_NOTCH * half)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def peg(profile: str, width: float, height: float, taper: float, taper_width: float):
    """Closed peg along z, centred; its lower end narrows to `taper_width` over `taper` [m] (0: blunt)."""
    rings = [(outline(profile, width), z) for z in (-0.5 * height + taper, 0.5 * height)]
    if taper > 0.0:
        rings.insert(0, (outline(profile, taper_width), -0.5 * height))
    return loft([_lift(points, z) for points, z in rings], closed=False)


def hole_block(size, profile: str, width: float, chamfer: float):
    """Closed block with a hole through it along z, centred; the hole widens by `chamfer` towards its mouth at +z.

    size (3,) [m]; width [m] of the hole, as for `outline`. Raises ValueError when the mouth does not fit the block.
    """
    half = 0.5 * np.asarray(size, dtype=np.float64)
    mouth = outline(profile, width + 2.0 * chamfer)
    if not (np.abs(mouth).max(axis=0) < half[:2]).all() or not chamfer < size[2]:
        raise ValueError(
            f"the mouth of the hole is {1e3 * (width + 2.0 * chamfer):g} mm wide; it does not fit a block of "
            f"{size[0]:g} x {size[1]:g} x {size[2]:g} m"
        )
    rectangle = np.array([(half[0], -half[1]), (half[0], half[1]), (-half[0], half[1]), (-half[0], -half[1])])
    corners = np.arctan2(rectangle[:, 1], rectangle[:, 0])
    inner = outline(profile, width)
    angles = np.unique(np.round(np.concatenate([np.arctan2(inner[:, 1], inner[:, 0]), corners]), 12))
    outer, inner, mouth = (_at_angles(points, angles) for points in (rectangle, inner, mouth))
    rings = [_lift(outer, -half[2]), _lift(outer, half[2]), _lift(mouth, half[2])]
    if chamfer > 0.0:
        rings.append(_lift(inner, half[2] - chamfer))
    return loft([*rings, _lift(inner, -half[2])], closed=True)


def loft(rings: list[np.ndarray], closed: bool):
    """Surface through rings of equally many points, anticlockwise seen from +z, the first one lowest on the outside.

    closed: the last ring is joined to the first (a body with a hole); otherwise both ends are capped from their middle.
    """
    count = len(rings[0])
    vertices = [*rings]
    triangles = []
    links = list(zip(range(len(rings)), range(1, len(rings)), strict=False))
    if closed:
        links.append((len(rings) - 1, 0))
    k = np.arange(count)
    after = (k + 1) % count
    for low, high in links:
        a, b, c, d = low * count + k, low * count + after, high * count + after, high * count + k
        triangles += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    if not closed:
        for ring, flip in ((0, True), (len(rings) - 1, False)):
            middle = len(rings) * count + (0 if flip else 1)
            vertices.append(rings[ring].mean(axis=0, keepdims=True))
            rim = (ring * count + k, ring * count + after)
            triangles.append(np.stack([rim[1], rim[0], np.full(count, middle)] if flip
                                      else [rim[0], rim[1], np.full(count, middle)], axis=1))  # fmt: skip
    return np.vstack(vertices), np.concatenate(triangles).astype(np.int64)


def _lift(points: np.ndarray, z: float) -> np.ndarray:
    return np.column_stack([points, np.full(len(points), z)])


def _at_angles(points: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Where rays from the origin at `angles` meet a star-shaped outline, (m, 2)."""
    after = np.roll(points, -1, axis=0)
    direction = np.column_stack([np.cos(angles), np.sin(angles)])
    edge = after - points
    # ray t d = p + s e, solved for all rays and edges
    denominator = direction[:, None, 0] * edge[:, 1] - direction[:, None, 1] * edge[:, 0]
    safe = np.where(np.abs(denominator) < 1e-300, np.inf, denominator)
    t = (points[:, 0] * edge[:, 1] - points[:, 1] * edge[:, 0]) / safe
    s = (points[:, 0] * direction[:, None, 1] - points[:, 1] * direction[:, None, 0]) / safe
    hit = (t > 0.0) & (s >= -1e-9) & (s <= 1.0 + 1e-9)
    return np.where(hit, t, 0.0).max(axis=1)[:, None] * direction
