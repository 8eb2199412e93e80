"""Where a cut runs through a mesh: the path from edge to edge that follows a line best without leaving slivers.

Inside a triangle a path is a chord between two places on its border. Only chords whose pieces keep MIN_ANGLE and a
height of `clearance` are legal; sides of the mesh always are, so a legal path exists, and a poor line is moved by less
than a cell rather than refused. Along the border, also that of an older cut, a path runs without cutting; within
BORDER_REACH of the line that is as good as the line itself, so that a cut joins an older one and trims no shavings.
Among the legal paths the one nearest to the line is taken (Dijkstra over chords, cost = length weighted by the squared
distance from the line). A path ends at a vertex, or anywhere on the border.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from engine.cutting.splitting import (
    MIN_ANGLE,
    Node,
    edge_node,
    is_vertex,
    node_place,
    quality,
    smallest_height,
    split_triangle,
    vertex_node,
)
from engine.mesh.topology import edge_table

SHARES = (1.0 / 3.0, 0.5, 2.0 / 3.0)  # where a path may cross an edge besides where the line does
NEAR_END = 0.02  # crossings nearer to a vertex than this share are never used as they are
BORDER_REACH = 0.6  # of a cell
ALONG_SIDE, ALONG_BORDER = -1, -2  # in place of the triangle that an arc crosses
OWN_HEIGHT = 0.3  # clearance asked of pieces is at most this share of the triangle's own height


@dataclass(frozen=True)
class Run:
    """One connected stretch of the line over the mesh, from s0 to s1 along it [m]; enters, leaves: through the border,
    else the line itself begins or ends there."""

    triangles: np.ndarray  # that it touches
    s0: float
    s1: float
    enters: bool
    leaves: bool


def plan_paths(points: np.ndarray, triangles: np.ndarray, line: np.ndarray, clearance: float) -> list[list[Node]]:
    """Paths of a cut along `line`, each a list of nodes.

    points (n, 2), line (k, 2) [m] in the flat rest plane; triangles (t, 3); clearance: height that pieces keep where
    the triangle itself is high enough [m]. Empty where the line misses the mesh or is shorter than a cell.
    """
    paths = []
    for run in find_runs(points, triangles, line):
        paths += _PathFinder(points, triangles, line, run, clearance).find()
    return paths


def find_runs(points: np.ndarray, triangles: np.ndarray, line: np.ndarray) -> list[Run]:
    """Stretches of the line over the mesh, in order along the line. Triangles that share no vertex (the two sides of an
    older cut) are not connected."""
    size = float(np.ptp(points[triangles.reshape(-1)], axis=0).max())
    low, high = _intervals(points, triangles, line, 1e-9 * size)
    touched = np.flatnonzero(high >= low)
    if not len(touched):
        return []
    used = triangles[touched]
    rows = np.repeat(np.arange(len(touched)), 3)
    incidence = coo_matrix((np.ones(len(rows)), (rows, used.reshape(-1))), shape=(len(touched), len(points))).tocsr()
    labels = connected_components(incidence @ incidence.T, directed=False)[1]
    total, runs = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum()), []
    for label in np.unique(labels):
        mine = touched[labels == label]
        for group in _merged(mine, low, high, 1e-7 * size):
            s0, s1 = float(low[group].min()), float(high[group].max())
            if s1 - s0 > 1e-6 * size:
                runs.append(Run(np.sort(group), s0, s1, s0 > 1e-7 * size, s1 < total - 1e-7 * size))
    return sorted(runs, key=lambda run: run.s0)


def _intervals(points, triangles, line, slack) -> tuple[np.ndarray, np.ndarray]:
    """First and last arc length of the line inside each triangle grown by slack [m], (t,) each; inf, -inf where it
    misses."""
    corners = points[triangles]
    ccw = np.sign(_cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    low, high = np.full(len(triangles), np.inf), np.full(len(triangles), -np.inf)
    start = 0.0
    for p, q in zip(line[:-1], line[1:], strict=True):
        length = float(np.linalg.norm(q - p))
        t0, t1 = np.zeros(len(triangles)), np.ones(len(triangles))
        for k in range(3):
            a, side = corners[:, k], corners[:, (k + 1) % 3] - corners[:, k]
            at = ccw * _cross(side, p - a) + slack * np.linalg.norm(side, axis=1)  # inside where >= 0
            change = ccw * _cross(side, np.broadcast_to(q - p, side.shape))
            with np.errstate(divide="ignore", invalid="ignore"):
                root = -at / change
            t0 = np.where(change > 0.0, np.maximum(t0, root), t0)
            t1 = np.where(change < 0.0, np.minimum(t1, root), t1)
            t1 = np.where((change == 0.0) & (at < 0.0), -1.0, t1)
        hit = t1 >= t0
        low = np.where(hit, np.minimum(low, start + t0 * length), low)
        high = np.where(hit, np.maximum(high, start + t1 * length), high)
        start += length
    return low, high


def _merged(triangles, low, high, slack) -> list[np.ndarray]:
    """Groups of triangles whose intervals overlap or touch."""
    order = triangles[np.lexsort((triangles, low[triangles]))]
    groups, end = [[order[0]]], high[order[0]]
    for t in order[1:]:
        if low[t] <= end + slack:
            groups[-1].append(t)
        else:
            groups.append([t])
        end = max(end, high[t])
    return [np.array(group) for group in groups]


def _cross(u: np.ndarray, w: np.ndarray) -> np.ndarray:
    return u[..., 0] * w[..., 1] - u[..., 1] * w[..., 0]


class _PathFinder:
    """Shortest legal path of one run. Nodes are compared by value, arcs are (node, triangle or -1 along a side)."""

    def __init__(self, points, triangles, line, run: Run, clearance: float):
        self.points, self.triangles, self.line, self.run, self.clearance = points, triangles, line, run, clearance
        near = np.isin(triangles, np.unique(triangles[run.triangles])).any(axis=1)
        self.band = np.flatnonzero(near)
        table = edge_table(triangles)
        self.border = {tuple(e) for e in table.edges[table.edge_count == 1].tolist()}
        self.border_vertices = {v for edge in self.border for v in edge}
        sides = self.points[table.edges[np.unique(table.triangle_edges[self.band])]]
        self.cell = float(np.linalg.norm(sides[:, 1] - sides[:, 0], axis=1).mean())
        self.arcs: dict[Node, list[tuple[Node, int, float]]] = {}
        self._gather(table)

    def _gather(self, table) -> None:
        on_edge = {e: self._edge_nodes(*table.edges[e]) for e in np.unique(table.triangle_edges[self.band]).tolist()}
        for t in self.band.tolist():
            corners = self.triangles[t]
            own = smallest_height(self.points[corners][None])
            height = min(self.clearance, OWN_HEIGHT * own)
            sides = [on_edge[e] for e in table.triangle_edges[t]]
            for k in range(3):
                opposite = vertex_node(corners[(k + 2) % 3])
                for node in sides[k]:
                    self._try(t, opposite, node, height)
                    for other in sides[(k + 1) % 3]:
                        self._try(t, node, other, height)
                a, b = int(corners[k]), int(corners[(k + 1) % 3])
                if (min(a, b), max(a, b)) in self.border:
                    ends = [vertex_node(a), *sorted(sides[k], key=lambda n, a=a: n[2] if n[0] == a else 1.0 - n[2])]
                    for first, second in zip(ends, [*ends[1:], vertex_node(b)], strict=True):
                        self._join(first, second, ALONG_BORDER)
                elif a < b:
                    self._join(vertex_node(a), vertex_node(b), ALONG_SIDE)

    def _edge_nodes(self, a: int, b: int) -> list[Node]:
        """Places where a path may cross this edge: none unless the line does."""
        crossings = []
        p, u = self.points[a], self.points[b] - self.points[a]
        for q0, q1 in zip(self.line[:-1], self.line[1:], strict=True):
            d = q1 - q0
            det = _cross(u, d)
            if abs(det) > 1e-12 * np.linalg.norm(u) * np.linalg.norm(d):
                t, s = _cross(q0 - p, d) / det, _cross(q0 - p, u) / det
                if 0.0 <= t <= 1.0 and -1e-9 <= s <= 1.0 + 1e-9:
                    crossings.append(float(t))
        if not crossings:
            return []
        shares = {t for t in crossings if NEAR_END < t < 1.0 - NEAR_END} | set(SHARES)
        return [edge_node(a, b, t) for t in sorted(shares)]

    def _try(self, triangle: int, first: Node, second: Node, height: float) -> None:
        pieces = split_triangle(self.points, self.triangles[triangle], first, second)
        angle, low = quality(self.points, pieces)
        if angle >= MIN_ANGLE and low >= height:
            self._join(first, second, triangle)

    def _join(self, first: Node, second: Node, triangle: int) -> None:
        p, q = node_place(self.points, first), node_place(self.points, second)
        samples = np.array([p, 0.5 * (p + q), q])
        away, price = line_distance(self.line, samples), 0.05
        if triangle == ALONG_BORDER:
            away, price = np.maximum(away - BORDER_REACH * self.cell, 0.0), 0.01  # rather around than through
        away = away / (0.3 * self.cell)
        cost = float(np.linalg.norm(q - p) * (price + np.array([1.0, 4.0, 1.0]) @ away**2 / 6.0))
        self.arcs.setdefault(first, []).append((second, triangle, cost))
        self.arcs.setdefault(second, []).append((first, triangle, cost))

    def _ends(self, s: float, at_border: bool) -> dict[Node, float]:
        """Nodes where the path may end near arc length s, with their cost."""
        place, ends = point_at(self.line, s), {}
        for node in self.arcs:
            border = node[:2] in self.border if not is_vertex(node) else node[0] in self.border_vertices
            if not border and (at_border or not is_vertex(node)):
                continue
            away = float(np.linalg.norm(node_place(self.points, node) - place))
            if away <= 1.5 * self.cell:
                ends[node] = self.cell * (away / (0.5 * self.cell)) ** 2
        return ends

    def find(self) -> list[list[Node]]:
        """The cheapest path without the stretches along the border, [] when nothing is left."""
        starts, goals = self._ends(self.run.s0, self.run.enters), self._ends(self.run.s1, self.run.leaves)
        path = self._search(starts, goals)
        if _crosses_twice(path):  # a triangle takes one chord only: follow the sides instead
            self.arcs = {n: [a for a in arcs if a[1] < 0] for n, arcs in self.arcs.items() if is_vertex(n)}
            self.arcs = {n: [a for a in arcs if is_vertex(a[0])] for n, arcs in self.arcs.items()}
            starts, goals = ({n: c for n, c in ends.items() if n in self.arcs} for ends in (starts, goals))
            path = self._search(starts, goals)
        parts: list[list[Node]] = [[]]
        for node, through in path:
            if through == ALONG_BORDER:
                parts.append([])
            parts[-1].append(node)
        return [part for part in parts if len(part) > 1]

    def _search(self, starts, goals) -> list[tuple[Node, int]]:
        """States are (node, triangle it was reached through): a path leaves an edge on its other side."""
        best: dict[tuple[Node, int], float] = {}
        came: dict[tuple[Node, int], tuple | None] = {}
        queue = [(cost, node, ALONG_SIDE) for node, cost in starts.items()]
        for cost, node, via in queue:
            best[node, via], came[node, via] = cost, None
        heapq.heapify(queue)
        goal, reached = np.inf, None
        while queue:
            cost, node, via = heapq.heappop(queue)
            if cost > best[node, via] or cost >= goal:
                continue
            if node in goals and cost + goals[node] < goal:
                goal, reached = cost + goals[node], (node, via)
            for other, triangle, step in self.arcs.get(node, ()):
                if triangle >= 0 and triangle == via and not is_vertex(node):
                    continue
                state = (other, ALONG_SIDE if is_vertex(other) else triangle)
                if cost + step < best.get(state, np.inf):
                    best[state], came[state] = cost + step, (node, via, triangle)
                    heapq.heappush(queue, (cost + step, *state))
        path = []
        while reached is not None:
            before = came[reached]
            path.append((reached[0], ALONG_SIDE if before is None else before[2]))
            reached = None if before is None else before[:2]
        return path[::-1]


def _crosses_twice(path: list[tuple[Node, int]]) -> bool:
    chords = [triangle for _, triangle in path if triangle >= 0]
    cut = [k for k, (_, triangle) in enumerate(path) if triangle >= 0]
    sides = {path[j][0][:2] + path[j][0][2:] for k in cut for j in (k - 1, k) if not is_vertex(path[j][0])}
    return len(set(chords)) != len(chords) or len({side[:2] for side in sides}) != len(sides)


def line_distance(line: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distance of points (m, d) from a polyline (k, d) [m], (m,)."""
    best = np.full(len(points), np.inf)
    for p, q in zip(line[:-1], line[1:], strict=True):
        d = q - p
        t = np.clip((points - p) @ d / max(float(d @ d), 1e-300), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(points - p - t[:, None] * d, axis=1))
    return best


def point_at(line: np.ndarray, s: float) -> np.ndarray:
    """Place at arc length s, (d,)."""
    for p, q in zip(line[:-1], line[1:], strict=True):
        length = float(np.linalg.norm(q - p))
        if s <= length:
            return p + (q - p) * (s / max(length, 1e-300))
        s -= length
    return line[-1]
