"""What a cut makes of a mesh: split triangles, doubled points, and where every new point lies in the old mesh.

Every point of the cut mesh is a weighted mean of the corners of one old triangle: positions, velocities and histories
are interpolated there, so strains, momentum and the surface itself stay as they were. The two sides of a cut part by a
kerf, a hair of `kerf` metres taken from both sides alike in the rest and in the present shape: nothing is strained, and
the lips do not touch. The mass of the kerf stays with its triangles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.cutting.splitting import Node, is_vertex, node_place, split_triangle, vertex_node

NARROWEST = 0.35  # sine of half the corner angle below which a sharp corner is moved no further


@dataclass(frozen=True)
class Surgery:
    """n old vertices, m new ones (the first n keep their ids), t' new triangles.

    corners (m, 3): old vertices, corners of the old triangle in which a new vertex lies; place (m, 3): its weights, the
    kerf included; material (m, 3): the weights of the material that it stands for, without the kerf; triangles (t', 3);
    parent (t',): old triangle of each; seam (m,): equal for points that were one before a cut; doubled: how many old
    or new points were doubled.
    """

    corners: np.ndarray
    place: np.ndarray
    material: np.ndarray
    triangles: np.ndarray
    parent: np.ndarray
    seam: np.ndarray
    doubled: int

    @property
    def changed(self) -> np.ndarray:
        """Vertices that are new or were moved by the kerf, bool (m,)."""
        own = np.arange(len(self.corners))
        return (self.corners[:, 0] != own) | (self.place[:, 0] != 1.0)

    def mixed(self, values: np.ndarray, material: bool = False) -> np.ndarray:
        """Old values (n, ...) at the new vertices, (m, ...); `material`: of the material that they stand for."""
        weights = self.material if material else self.place
        return np.einsum("ij,ij...->i...", weights, np.asarray(values)[self.corners])

    def parents_all(self, mask: np.ndarray) -> np.ndarray:
        """Whether a mask (n,) holds for every vertex that a new vertex was made of, bool (m,)."""
        return (mask[self.corners] | (self.material < 1e-9)).all(axis=1)


def operate(
    points: np.ndarray, triangles: np.ndarray, seam: np.ndarray, paths: list[list[Node]], kerf: float
) -> Surgery:
    """Cut along paths (engine.cutting.path.plan_paths).

    points (n, 2): flat rest shape [m]; triangles (t, 3); seam (n,), see Surgery; kerf [m].
    """
    work = _Mesh(points, triangles, seam, paths)
    work.split(paths)
    work.open(paths)
    return work.result(kerf)


class _Mesh:
    """Lists while they grow. Ids of places on edges follow the old vertices."""

    def __init__(self, points, triangles, seam, paths):
        self.points, self.old_triangles = points, np.asarray(triangles, np.int64)
        nodes = [node for path in paths for node in path if not is_vertex(node)]
        self.ids = {node: len(points) + k for k, node in enumerate(dict.fromkeys(nodes))}
        self.nodes: list[Node] = [vertex_node(v) for v in range(len(points))] + list(self.ids)
        self.seam = [*np.asarray(seam).tolist(), *self.ids.values()]
        self.opened: dict[int, list[int]] = {}  # vertex -> its copies, itself first

    def id_of(self, node: Node) -> int:
        return node[0] if is_vertex(node) else self.ids[node]

    def split(self, paths) -> None:
        chord = {}
        for path in paths:
            for first, second in zip(path[:-1], path[1:], strict=True):
                owner = self._owner(first, second)
                if owner >= 0:
                    if owner in chord:
                        raise ValueError("two cuts cross in one triangle; cut along one line after the other")
                    chord[owner] = (first, second)
        pieces, parent = [], []
        for t, corners in enumerate(self.old_triangles.tolist()):
            made = [corners]
            if t in chord:
                made = [[self.id_of(n) for n in piece] for piece in split_triangle(self.points, corners, *chord[t])]
            pieces += made
            parent += [t] * len(made)
        self.triangles, self.parent = np.array(pieces, np.int64), np.array(parent, np.int64)

    def _owner(self, first: Node, second: Node) -> int:
        """Triangle that the chord splits, -1 along a side."""
        if is_vertex(first) and is_vertex(second):
            return -1
        needed = {first[0], first[1], second[0], second[1]}
        return int(np.flatnonzero(np.isin(self.old_triangles, list(needed)).sum(axis=1) == 3)[0])

    def open(self, paths) -> None:
        """Give each side of the cut its own points: around a vertex, triangles that meet over uncut sides stay
        together; the group with the smallest vertex id keeps the point."""
        cut = set()
        for path in paths:
            ids = [self.id_of(node) for node in path]
            cut |= {(min(a, b), max(a, b)) for a, b in zip(ids[:-1], ids[1:], strict=True)}
        for v in sorted({v for side in cut for v in side}):
            groups = self._groups(v, cut)
            copies = [v]
            for group in groups[1:]:
                copies.append(len(self.nodes))
                self.nodes.append(self.nodes[v])
                self.seam.append(self.seam[v])
                fresh = self.triangles[group]
                self.triangles[group] = np.where(fresh == v, copies[-1], fresh)
            if len(groups) > 1:
                self.opened[v] = copies
                self._rename(cut, v, copies)

    def _rename(self, cut: set, v: int, copies: list[int]) -> None:
        """Sides of the cut at v exist once for every copy now."""
        for side in [s for s in cut if v in s]:
            other = side[0] + side[1] - v
            cut |= {(min(other, c), max(other, c)) for c in copies}

    def _groups(self, v: int, cut: set) -> list[np.ndarray]:
        star = np.flatnonzero((self.triangles == v).any(axis=1))
        label = {t: t for t in star.tolist()}

        def root(t):
            while label[t] != t:
                t = label[t]
            return t

        seen: dict[int, int] = {}
        for t in star.tolist():
            for other in self.triangles[t].tolist():
                if other != v and (min(v, other), max(v, other)) not in cut:
                    if other in seen:
                        label[root(t)] = root(seen[other])
                    seen.setdefault(other, t)
        groups: dict[int, list[int]] = {}
        for t in star.tolist():
            groups.setdefault(root(t), []).append(t)
        around = [np.array(group) for group in groups.values()]
        return sorted(around, key=lambda group: sorted(set(self.triangles[group].ravel().tolist()) - {v}))

    def result(self, kerf: float) -> Surgery:
        m = len(self.nodes)
        corners, material = np.zeros((m, 3), np.int64), np.zeros((m, 3))
        for i, (a, b, t) in enumerate(self.nodes):
            corners[i], material[i] = (a, b, a), (1.0 - t, t, 0.0)
        place = material.copy()
        base = np.array([node_place(self.points, node) for node in self.nodes])
        for v in [c for copies in self.opened.values() for c in copies]:
            found = _retreat(base, self.triangles, v, kerf)
            if found is not None:
                triangle, shift = found
                corners[v] = self.old_triangles[self.parent[triangle]]
                frame = self.points[corners[v]]
                material[v] = _barycentric(self.nodes[v], corners[v])
                place[v] = material[v] + _barycentric_shift(frame, shift)
        return Surgery(corners, place, material, self.triangles, self.parent, np.array(self.seam), len(self.opened))


def _retreat(base: np.ndarray, triangles: np.ndarray, v: int, kerf: float):
    """Triangle into which v draws back from the cut, and the shift [m]: along the bisector of its fan, half a kerf away
    from both sides of the fan. None for a closed fan."""
    star = np.flatnonzero((triangles == v).any(axis=1))
    after, owner = {}, {}
    for t in star.tolist():
        ring = triangles[t].tolist()
        k = ring.index(v)
        after[ring[(k + 1) % 3]], owner[ring[(k + 1) % 3]] = ring[(k + 2) % 3], t
    firsts = set(after) - set(after.values())
    if len(firsts) != 1:
        return None
    spokes = [firsts.pop()]
    while spokes[-1] in after:
        spokes.append(after[spokes[-1]])
    directions = base[spokes] - base[v]
    turn = np.array([_angle(a, b) for a, b in zip(directions[:-1], directions[1:], strict=True)])
    total = np.concatenate([[0.0], np.cumsum(turn)])
    half = 0.5 * total[-1]
    k = int(np.clip(np.searchsorted(np.abs(total), abs(half)) - 1, 0, len(turn) - 1))
    rest = half - total[k]
    u = directions[k] / np.linalg.norm(directions[k])
    along = np.array([np.cos(rest) * u[0] - np.sin(rest) * u[1], np.sin(rest) * u[0] + np.cos(rest) * u[1]])
    return owner[spokes[k]], along * (0.5 * kerf / max(abs(np.sin(half)), NARROWEST))


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    """Signed angle from a to b [rad]."""
    return float(np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b))


def _barycentric(node: Node, corners: np.ndarray) -> np.ndarray:
    """Weights of a node in the triangle at whose border it lies; exact at vertices."""
    a, b, t = node
    weights = np.zeros(3)
    ids = corners.tolist()
    weights[ids.index(a)] += 1.0 - t
    if a != b:
        weights[ids.index(b)] += t
    return weights


def _barycentric_shift(frame: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Change of barycentric weights for a shift in the plane; sums to zero."""
    q = np.linalg.solve(np.column_stack([frame[1] - frame[0], frame[2] - frame[0]]), shift)
    return np.array([-q[0] - q[1], q[0], q[1]])
