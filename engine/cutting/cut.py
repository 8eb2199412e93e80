"""The edit `Cut`, and what its line means on the mesh: polylines in the flat rest plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.cutting.planar import RestPlane, rest_plane
from engine.mesh.proximity import BoxTree, boxes
from engine.mesh.topology import edge_table

SPACES = ("rest", "world")
STRAIGHT = 0.02  # of a cell: kinks of a projected line below this are dropped
STEEP = 0.7  # sine of the angle from the normal beyond which a sample lies beside the sheet, not over it


@dataclass(frozen=True)
class Cut:
    """Cut a shell along a polyline, in every world of a batch.

    mesh: name; line: (k, 2) or (k, 3), k >= 2 [m]: places in the flat rest shape (two numbers: x and y of a rest shape
    in a plane z = const), or with space="world" places in world `world`, such as a blade's edge, that are projected on
    the sheet as it lies now, from at most `reach` away (None = half a cell and the contact distance).

    The cut runs from edge to edge of the mesh, within a fraction of a cell of the line; an end inside the sheet moves
    to the nearest vertex. Lines that cross each other take one Cut each.
    """

    mesh: str
    line: tuple
    space: str = "rest"
    world: int = 0
    reach: float | None = None

    def __post_init__(self):
        if self.space not in SPACES:
            raise ValueError(f"Cut.space is {self.space!r}; legal values: {', '.join(SPACES)}")
        line = np.asarray(self.line, dtype=np.float64)
        widths = (2, 3) if self.space == "rest" else (3,)
        if line.ndim != 2 or len(line) < 2 or line.shape[1] not in widths or not np.isfinite(line).all():
            raise ValueError(
                f"Cut.line has shape {line.shape}; it must be finite, (k, {' or '.join(map(str, widths))}) with k >= 2 "
                f"[m] for space={self.space!r}"
            )
        if self.reach is not None and not self.reach > 0.0:
            raise ValueError(f"Cut.reach is {self.reach!r}; it must be greater than 0, or None")
        object.__setattr__(self, "line", tuple(tuple(row) for row in line.tolist()))


@dataclass(frozen=True)
class CutRecord:
    """A cut that was made: polylines (k, 2) in the rest plane of `mesh`. The same record makes the same mesh."""

    mesh: str
    lines: tuple[np.ndarray, ...]


def resolve(cut: Cut, info, positions: np.ndarray | None) -> CutRecord:
    """The record of a cut. info: MeshInfo of a shell; positions (n, 3): its points now, for space="world".

    Raises ValueError when the mesh cannot be cut or the line is not over it.
    """
    if info.kind != "shell":
        raise ValueError(f"mesh '{cut.mesh}' is a {info.kind}; only shells can be cut")
    plane = rest_plane(cut.mesh, info.rest, info.triangles)
    line = np.asarray(cut.line, float)
    if cut.space == "world":
        lines = _project(cut, info, plane, positions)
        if not lines:
            raise ValueError(
                f"the cut's line in the world, from {line[0].tolist()} to {line[-1].tolist()} m, is not over mesh "
                f"'{cut.mesh}' (searched within {_reach(cut, info, info.rest):.3g} m)"
            )
        return CutRecord(cut.mesh, tuple(lines))
    return CutRecord(cut.mesh, (line if line.shape[1] == 2 else plane.flatten(line),))


def mean_edge(places: np.ndarray, triangles: np.ndarray) -> float:
    """[m]"""
    ends = places[edge_table(triangles).edges]
    return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())


def _reach(cut: Cut, info, places: np.ndarray) -> float:
    if cut.reach is not None:
        return cut.reach
    return 0.5 * mean_edge(places, info.triangles) + 2.0 * info.contact.dhat + 2.0 * info.contact.half_thickness


def _project(cut: Cut, info, plane: RestPlane, positions: np.ndarray) -> list[np.ndarray]:
    """Stretches of the line that lie over the sheet, in its rest plane."""
    line, cell = np.asarray(cut.line, float), mean_edge(info.rest, info.triangles)
    samples = np.vstack([_sampled(line, 0.25 * cell)])
    found, places = _feet(samples, positions, info.triangles, info.rest, _reach(cut, info, info.rest))
    flat, pieces, start = plane.flatten(places), [], None
    for k in range(len(samples) + 1):
        joined = k < len(samples) and found[k]
        joined = joined and (start is None or k == start or np.linalg.norm(flat[k] - flat[k - 1]) < 1.5 * cell)
        if start is not None and not joined:
            pieces.append((start, k))
            start = None
        if start is None and k < len(samples) and found[k]:
            start = k
    lines = []
    for a, b in pieces:
        if b - a >= 2:
            ends_open = (a > 0 and not found[a - 1], b < len(samples) and not found[b])
            lines.append(_extended(_straightened(flat[a:b], STRAIGHT * cell), 0.5 * cell, *ends_open))
    return lines


def _sampled(line: np.ndarray, spacing: float) -> np.ndarray:
    parts = [line[:1]]
    for p, q in zip(line[:-1], line[1:], strict=True):
        n = max(1, int(np.ceil(np.linalg.norm(q - p) / spacing)))
        parts.append(p + (np.arange(1, n + 1) / n)[:, None] * (q - p))
    return np.vstack(parts)


def _feet(samples, positions, triangles, rest, reach) -> tuple[np.ndarray, np.ndarray]:
    """Whether each sample lies over the sheet within reach, and the rest place of its foot, bool (k,) and (k, 3)."""
    tree = BoxTree(*boxes(positions, triangles, reach))
    pairs = tree.overlaps(samples, samples)
    found, places = np.zeros(len(samples), bool), np.zeros((len(samples), 3))
    if not len(pairs):
        return found, places
    t = triangles[pairs[:, 1]]
    a, b, c = (positions[t[:, k]] for k in range(3))
    weights = closest_weights(samples[pairs[:, 0]], a, b, c)
    foot = np.einsum("ij,ijk->ik", weights, np.stack([a, b, c], axis=1))
    away = samples[pairs[:, 0]] - foot
    distance = np.linalg.norm(away, axis=1)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    beside = np.linalg.norm(np.cross(away, normal), axis=1)
    size = np.sqrt(np.linalg.norm(np.cross(b - a, c - a), axis=1))
    good = (distance <= reach) & ((beside <= STEEP * distance) | (beside <= 1e-3 * size))
    order = np.lexsort((pairs[:, 1], distance))
    order = order[good[order]]
    sample, first = np.unique(pairs[order, 0], return_index=True)
    chosen = order[first]
    found[sample] = True
    places[sample] = np.einsum("ij,ijk->ik", weights[chosen], rest[t[chosen]])
    return found, places


def closest_weights(p, a, b, c) -> np.ndarray:
    """Barycentric weights of the place on each triangle nearest to p, (m, 3); all (m, 3)."""
    normal = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    w1 = np.einsum("ij,ij->i", np.cross(p - a, c - a), normal) / square
    w2 = np.einsum("ij,ij->i", np.cross(b - a, p - a), normal) / square
    best = np.column_stack([1.0 - w1 - w2, w1, w2])
    outside = (best < 0.0).any(axis=1)
    distance = np.full(len(p), np.inf)
    for i, (s, e) in enumerate(((a, b), (b, c), (c, a))):
        u = e - s
        t = np.clip(np.einsum("ij,ij->i", p - s, u) / np.maximum(np.einsum("ij,ij->i", u, u), 1e-300), 0.0, 1.0)
        away = np.linalg.norm(p - s - t[:, None] * u, axis=1)
        nearer = outside & (away < distance)
        weights = np.zeros((len(p), 3))
        weights[:, i], weights[:, (i + 1) % 3] = 1.0 - t, t
        best[nearer], distance[nearer] = weights[nearer], away[nearer]
    return best


def _straightened(line: np.ndarray, tolerance: float) -> np.ndarray:
    """Fewer points, none left out farther than tolerance from the rest (Douglas and Peucker 1973)."""
    if len(line) < 3:
        return line
    d = line[-1] - line[0]
    t = np.clip((line - line[0]) @ d / max(float(d @ d), 1e-300), 0.0, 1.0)
    away = np.linalg.norm(line - line[0] - t[:, None] * d, axis=1)
    k = int(np.argmax(away))
    if away[k] <= tolerance:
        return line[[0, -1]]
    return np.vstack([_straightened(line[: k + 1], tolerance)[:-1], _straightened(line[k:], tolerance)])


def _extended(line: np.ndarray, by: float, at_start: bool, at_end: bool) -> np.ndarray:
    """Ends where the line left the sheet are drawn out, so that they reach its border."""
    line = line.copy()
    for end, nearby, wanted in ((0, 1, at_start), (-1, -2, at_end)):
        if wanted:
            d = line[end] - line[nearby]
            line[end] = line[end] + d * (by / max(np.linalg.norm(d), 1e-300))
    return line


def to_arrays(records: list[CutRecord], meshes) -> dict[str, np.ndarray]:
    """Records as plain arrays: by line its cut, mesh and number of points, and all points (K, 2)."""
    names = list(meshes)
    rows = [(k, names.index(r.mesh), line) for k, r in enumerate(records) for line in r.lines]
    return {
        "cut_index": np.array([k for k, _, _ in rows], np.int64),
        "cut_mesh": np.array([mesh for _, mesh, _ in rows], np.int64),
        "cut_size": np.array([len(line) for _, _, line in rows], np.int64),
        "cut_points": np.concatenate([np.zeros((0, 2)), *(line for _, _, line in rows)]),
    }


NO_CUTS = to_arrays([], {})


def from_arrays(arrays, meshes) -> list[CutRecord]:
    """Inverse of `to_arrays`; a state without these arrays has no cuts. Raises ValueError when they do not fit."""
    if "cut_index" not in arrays:
        return []
    index, mesh, size = (np.asarray(arrays[f"cut_{k}"], np.int64).reshape(-1) for k in ("index", "mesh", "size"))
    points, names = np.asarray(arrays["cut_points"], float).reshape(-1, 2), list(meshes)
    if not len(index) == len(mesh) == len(size) or size.sum() != len(points):
        raise ValueError("state arrays 'cut_index', 'cut_mesh', 'cut_size' and 'cut_points' do not fit each other")
    if len(mesh) and (mesh.min() < 0 or mesh.max() >= len(names)):
        raise ValueError(f"state array 'cut_mesh' must lie in 0..{len(names) - 1}")
    lines = np.split(points, np.cumsum(size)[:-1]) if len(size) else []
    return [
        CutRecord(names[mesh[index == k][0]], tuple(line for line, i in zip(lines, index, strict=True) if i == k))
        for k in np.unique(index)
    ]


def same_records(first: list[CutRecord], second: list[CutRecord]) -> bool:
    return len(first) == len(second) and all(
        a.mesh == b.mesh
        and len(a.lines) == len(b.lines)
        and all(np.array_equal(x, y) for x, y in zip(a.lines, b.lines, strict=True))
        for a, b in zip(first, second, strict=True)
    )
