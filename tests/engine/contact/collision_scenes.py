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
        edges, inverse = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0,
                                   return_inverse=True)
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
            return array(np.tile([getattr(q, name) for q in self.surfaces], w).astype(dtype), wp.dtype_from_numpy(dtype))

        self.edges, self.triangles = shifted(edges, p), shifted(triangles, p)
        self.surface = shifted(surface, s)
        self.count, self.node = np.tile(count, w), shifted(node, nodes_per_world)
        self.collision = CollisionGeometry(
            vertices=array(np.arange(w * p), wp.int32), edges=array(self.edges, wp.vec2i),
            triangles=array(self.triangles, wp.vec3i), vertex_area=array(np.tile(vertex_area, w), wp.float64),
            edge_area=array(np.tile(edge_area, w), wp.float64), edge_rest_length=array(np.tile(length, w), wp.float64),
            point_surface=array(self.surface, wp.int32), point_world=array(np.repeat(np.arange(w), p), wp.int32),
            surface_dhat=by_surface("dhat", np.float64), surface_half_thickness=by_surface("half_thickness", np.float64),
            surface_kappa=by_surface("kappa", np.float64), surface_friction_mu=by_surface("friction_mu", np.float64),
            surface_self_collision=by_surface("self_collision", np.int32),
            surface_local=array(np.tile(np.arange(s), w), wp.int32), ignored=array(ignored, wp.int8),
            surfaces_per_world=s)
        self.embedding = Embedding(
            point_node=array(self.node, wp.int32), point_count=array(self.count, wp.int32),
            point_weights=array(np.tile([1.0, 0.0, 0.0, 0.0], (w * p, 1)), wp.vec4d),
            point_offset=array(self.x, wp.vec3d))

    def vectors(self, values) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.float64), dtype=wp.vec3d, device=self.device)


def rows(candidates) -> np.ndarray:
    """The list as (n, 5) integers: kind and stencil."""
    n = int(candidates.count.numpy()[0])
    return np.column_stack([candidates.kind.numpy()[:n], candidates.points.numpy()[:n]])
