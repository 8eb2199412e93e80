"""What is wrong with a triangle surface, each defect named with its count, an element and a place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RELATIVE_AREA = 1e-12  # [-] a triangle is degenerate when its area is below this share of its longest edge squared


@dataclass(frozen=True)
class Defect:
    """kind: e.g. "open edge"; count; element: what is named first, e.g. "edge 3-17"; where: (3,) [m]."""

    kind: str
    count: int
    element: str
    where: tuple[float, float, float] | None = None

    def __str__(self) -> str:
        if self.where is None:
            return f"{self.kind}: {self.element}"
        plural = "s" if self.count > 1 and not self.kind.endswith(("s", "x")) else ""
        kind = self.kind.replace("vertex", "vertices") if self.count > 1 else self.kind
        at = ", ".join(f"{c:.4g}" for c in self.where)
        return f"{self.count} {kind}{plural}, first {self.element} at ({at})"


def find_defects(vertices: np.ndarray, triangles: np.ndarray) -> list[Defect]:
    """All defects of a surface. vertices (n, 3) [m], triangles (t, 3).

    Kinds: separate vertices (several at one place), unused vertex, degenerate triangle, double triangle, open edge,
    non-manifold edge (three or more triangles), flipped triangle (neighbours disagree), inside-out, zero volume.
    """
    found: list[Defect] = []
    tri = np.asarray(triangles)
    _add(found, "separate vertices", _repeated_rows(vertices), lambda i: (f"vertex {i}", vertices[i]))
    used = np.zeros(len(vertices), bool)
    used[tri] = True
    _add(found, "unused vertex", np.flatnonzero(~used), lambda i: (f"vertex {i}", vertices[i]))
    corners = vertices[tri]
    middle = corners.mean(axis=1)
    edges = np.roll(corners, -1, axis=1) - corners
    longest = (edges**2).sum(axis=2).max(axis=1)
    double_area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    flat = np.flatnonzero(double_area <= 2.0 * RELATIVE_AREA * longest)
    _add(found, "degenerate triangle", flat, lambda t: (f"triangle {t}", middle[t]))
    _add(found, "double triangle", _repeated_rows(np.sort(tri, axis=1)), lambda t: (f"triangle {t}", middle[t]))
    _edge_defects(found, vertices, tri)
    if not any(d.kind in ("open edge", "non-manifold edge", "flipped triangle") for d in found):
        volume = float(np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6.0
        size = float(np.prod(np.ptp(vertices, axis=0).clip(min=1e-300)))
        if abs(volume) <= 1e-9 * np.ptp(vertices, axis=0).max() ** 3 and abs(volume) <= 1e-6 * size:
            found.append(Defect("zero volume", 1, "the surface encloses nothing"))
        elif volume < 0.0:
            found.append(Defect("inside-out", 1, f"all triangles face inwards, volume {volume:.3g} m3"))
    return found


def _edge_defects(found: list[Defect], vertices: np.ndarray, tri: np.ndarray) -> None:
    half = np.concatenate([tri[:, [0, 1]], tri[:, [1, 2]], tri[:, [2, 0]]])
    half = half[half[:, 0] != half[:, 1]]
    low_high = np.sort(half, axis=1)
    unique, inverse, count = np.unique(low_high, axis=0, return_inverse=True, return_counts=True)
    along = np.bincount(inverse.reshape(-1), weights=half[:, 0] < half[:, 1], minlength=len(unique))

    def name(e):
        a, b = unique[e]
        return f"edge {a}-{b}", 0.5 * (vertices[a] + vertices[b])

    _add(found, "open edge", np.flatnonzero(count == 1), name)
    _add(found, "non-manifold edge", np.flatnonzero(count > 2), name)
    _add(found, "flipped triangle", np.flatnonzero((count == 2) & (along != 1)), name)


def _repeated_rows(rows: np.ndarray) -> np.ndarray:
    """Ids of rows that repeat an earlier one."""
    _, first = np.unique(rows + 0, axis=0, return_index=True)
    again = np.ones(len(rows), bool)
    again[first] = False
    return np.flatnonzero(again)


def _add(found: list[Defect], kind: str, ids: np.ndarray, name) -> None:
    if len(ids):
        element, where = name(ids[0])
        found.append(Defect(kind, len(ids), element, tuple(float(c) for c in where)))
