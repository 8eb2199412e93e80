"""Small collision scenes for the search tests: plain meshes joined into CollisionGeometry and Embedding by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import warp as wp

from engine.types import CollisionGeometry, Embedding


def grid(columns: int, rows: int, size: float, z: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A flat sheet, `columns` x `rows` points, `size` [m] along its first side."""
    u, v = np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij")
    step = size / (columns - 1)
    points = np.stack([u.ravel() * step, v.ravel() * step, np.full(u.size, z)], axis=1)
    a = (np.arange(columns - 1)[:, None] * rows + np.arange(rows - 1)[None]).ravel()
    triangles = np.concatenate([np.stack([a, a + rows, a + 1], 1), np.stack([a + 1, a + rows, a + rows + 1], 1)])
    return points, triangles


def sphere(subdivisions: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    return np.asarray(mesh.vertices, float), np.asarray(mesh.faces, int)


@dataclass
class Surface:
    points: np.ndarray
    triangles: np.ndarray
    dhat: float = 1e-3
    half_thickness: float = 0.0
    kappa: float = 1e5
    friction_mu: float = 0.3
    self_collision: bool = True
    rides: str = "free"  # "free", "static" or "body"
    static_points: tuple = ()


@dataclass
class Scene:
    """Surfaces of one world, replicated; `collision` and `embedding` are what Candidates takes."""

    surfaces: list[Surface]
    num_worlds: int = 1
    ignored: tuple = ()
    device: str = "cpu"
    x: np.ndarray = field(init=False)

    def __post_init__(self):
        self.world_points = np.concatenate([s.points for s in self.surfaces])
        start = np.cumsum([0] + [len(s.points) for s in self.surfaces])
        count, node, offset, next_node = [], [], [], 0
        for s in self.surfaces:
            n = len(s.points)
            each = {"free": 1, "static": 0, "body": 4}[s.rides]
            counts = np.full(n, each)
            counts[list(s.static_points)] = 0
            nodes = np.full(n, next_node) if each == 4 else next_node + np.arange(n)
            nodes[counts == 0] = -1
            next_node += 4 if each == 4 else (n if each == 1 else 0)
            count.append(counts)
            node.append(nodes)
            offset.append(s.points)
        triangles = np.concatenate([s.triangles + a for s, a in zip(self.surfaces, start[:-1], strict=True)])
        surface = np.concatenate([np.full(len(s.points), k) for k, s in enumerate(self.surfaces)])
        self._replicate(triangles, surface, np.concatenate(count), np.concatenate(node), next_node)

    def _replicate(self, triangles, surface, count, node, nodes_per_world):
        points = self.world_points
        edges, inverse = np.unique(
            np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        corner = points[triangles]
        area = 0.5 * np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
        vertex_area = np.bincount(triangles.ravel(), np.repeat(area / 3, 3), minlength=len(points))
        edge_area = np.bincount(inverse.ravel(), np.repeat(area / 3, 3), minlength=len(edges))
        length = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)
        w, p, s = self.num_worlds, len(points), len(self.surfaces)
        self.edges_per_world, self.triangles_per_world, self.points_per_world = len(edges), len(triangles), p
        self.x = np.tile(points, (w, 1))

        def shifted(values, by):
            return np.concatenate([np.where(values >= 0, values + k * by, values) for k in range(w)])

        def array(values, dtype):
            return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

        ignored = np.zeros((s, s), np.int8)
        for a, b in self.ignored:
            ignored[a, b] = ignored[b, a] = 1

        def by_surface(name, dtype):
            values = np.tile([getattr(q, name) for q in self.surfaces], w).astype(dtype)
            return array(values, wp.dtype_from_numpy(dtype))

        self.edges, self.triangles = shifted(edges, p), shifted(triangles, p)
        self.surface = shifted(surface, s)
        self.count, self.node = np.tile(count, w), shifted(node, nodes_per_world)
        self.collision = CollisionGeometry(
            vertices=array(np.arange(w * p), wp.int32),
            edges=array(self.edges, wp.vec2i),
            triangles=array(self.triangles, wp.vec3i),
            vertex_area=array(np.tile(vertex_area, w), wp.float64),
            edge_area=array(np.tile(edge_area, w), wp.float64),
            edge_rest_length=array(np.tile(length, w), wp.float64),
            point_surface=array(self.surface, wp.int32),
            point_world=array(np.repeat(np.arange(w), p), wp.int32),
            surface_dhat=by_surface("dhat", np.float64),
            surface_half_thickness=by_surface("half_thickness", np.float64),
            surface_kappa=by_surface("kappa", np.float64),
            surface_friction_mu=by_surface("friction_mu", np.float64),
            surface_self_collision=by_surface("self_collision", np.int32),
            surface_local=array(np.tile(np.arange(s), w), wp.int32),
            ignored=array(ignored, wp.int8),
            surfaces_per_world=s,
        )
        self.embedding = Embedding(
            point_node=array(self.node, wp.int32),
            point_count=array(self.count, wp.int32),
            point_weights=array(np.tile([1.0, 0.0, 0.0, 0.0], (w * p, 1)), wp.vec4d),
            point_offset=array(self.x, wp.vec3d),
        )

    def vectors(self, values) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.float64), dtype=wp.vec3d, device=self.device)


def rows(candidates) -> np.ndarray:
    """The list as (n, 5) integers: kind and stencil."""
    n = int(candidates.count.numpy()[0])
    return np.column_stack([candidates.kind.numpy()[:n], candidates.points.numpy()[:n]])


def brute_force_pairs(scene: Scene) -> np.ndarray:
    """Every pair that may touch, filters applied pair by pair, as (n, 5) rows of kind and stencil."""
    vertices = np.arange(len(scene.x))
    v, t = (q.ravel() for q in np.meshgrid(vertices, np.arange(len(scene.triangles)), indexing="ij"))
    i, j = np.triu_indices(len(scene.edges), 1)
    stencils = np.concatenate(
        [np.column_stack([v, scene.triangles[t]]), np.column_stack([scene.edges[i], scene.edges[j]])]
    )
    kind = np.repeat([0, 1], [len(v), len(i)])
    first, second = stencils[:, 0], stencils[:, 2]
    world = scene.collision.point_world.numpy()
    a, b = scene.surface[first], scene.surface[second]
    local = scene.collision.surface_local.numpy()
    own = scene.collision.surface_self_collision.numpy()
    keep = (world[first] == world[second]) & (scene.collision.ignored.numpy()[local[a], local[b]] == 0)
    keep &= (a != b) | (own[a] != 0)
    count, node = scene.count[stencils], scene.node[stencils]
    keep &= ~np.all(count == 0, axis=1)
    keep &= ~(np.all(count == 4, axis=1) & np.all(node == node[:, :1], axis=1))
    ordered = np.sort(stencils, axis=1)
    keep &= np.all(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return np.column_stack([kind, stencils])[keep]


def _segment_distance(p, a, b):
    ab = b - a
    t = np.clip(np.sum((p - a) * ab, -1) / np.maximum(np.sum(ab * ab, -1), 1e-300), 0.0, 1.0)
    return np.linalg.norm(p - a - t[..., None] * ab, axis=-1)


def distances(x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """True distance of each pair (kind and stencil rows), written apart from the engine's own laws."""
    out = np.empty(len(pairs))
    for kind, law in ((0, _point_triangle), (1, _edge_edge)):
        chosen = pairs[:, 0] == kind
        out[chosen] = law(*(x[pairs[chosen, k]] for k in range(1, 5)))
    return out


def _point_triangle(p, a, b, c):
    n = np.cross(b - a, c - a)
    size = np.maximum(np.linalg.norm(n, axis=1), 1e-300)
    inside = np.ones(len(p), bool)
    for u, v in ((a, b), (b, c), (c, a)):
        inside &= np.sum(np.cross(v - u, p - u) * n, 1) >= 0
    plane = np.where(inside, np.abs(np.sum((p - a) * n, 1)) / size, np.inf)
    border = [_segment_distance(p, u, v) for u, v in ((a, b), (b, c), (c, a))]
    return np.minimum.reduce([plane, *border])


def _edge_edge(a, b, c, d):
    ends = np.minimum.reduce(
        [_segment_distance(a, c, d), _segment_distance(b, c, d), _segment_distance(c, a, b), _segment_distance(d, a, b)]
    )
    u, v, w = b - a, d - c, a - c
    n = np.cross(u, v)
    square = np.sum(n * n, 1)
    safe = np.maximum(square, 1e-300)
    s = -np.sum(np.cross(w, v) * n, 1) / safe
    t = -np.sum(np.cross(w, u) * n, 1) / safe
    crossing = (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1) & (square > 1e-20 * np.sum(u * u, 1) * np.sum(v * v, 1))
    return np.where(crossing, np.abs(np.sum(w * n, 1)) / np.sqrt(safe), ends)


def needed_pairs(scene: Scene, x: np.ndarray, dx: np.ndarray, moments: int = 9) -> np.ndarray:
    """Pairs of `brute_force_pairs` that come within dhat + min_separation at one of the sampled moments."""
    pairs = brute_force_pairs(scene)
    a, b = scene.surface[pairs[:, 1]], scene.surface[pairs[:, 3]]
    dhat, half = scene.collision.surface_dhat.numpy(), scene.collision.surface_half_thickness.numpy()
    reach = np.minimum(dhat[a], dhat[b]) + half[a] + half[b]
    chosen = _swept_boxes_meet(pairs, np.stack([x, x + dx]), reach)  # only to save time
    pairs, reach = pairs[chosen], reach[chosen]
    near = np.zeros(len(pairs), bool)
    for t in np.linspace(0.0, 1.0, moments):
        near |= distances(x + t * dx, pairs) < reach
    return pairs[near]


def _swept_boxes_meet(pairs: np.ndarray, ends: np.ndarray, reach: np.ndarray) -> np.ndarray:
    split = pairs[:, 2].copy()  # a point-triangle pair has one point on its first side, an edge-edge pair two
    split[pairs[:, 0] == 0] = pairs[pairs[:, 0] == 0, 1]
    middle = np.where(pairs[:, 0] == 0, pairs[:, 2], pairs[:, 3])
    sides = (np.column_stack([pairs[:, 1], split]), np.column_stack([middle, pairs[:, 3], pairs[:, 4]]))
    (lower_a, upper_a), (lower_b, upper_b) = (
        (ends[:, side].min(axis=(0, 2)), ends[:, side].max(axis=(0, 2))) for side in sides)
    return np.all((lower_a <= upper_b + reach[:, None]) & (lower_b <= upper_a + reach[:, None]), axis=1)


def missing(listed: np.ndarray, needed: np.ndarray) -> list:
    return sorted(set(map(tuple, needed.tolist())) - set(map(tuple, listed.tolist())))
