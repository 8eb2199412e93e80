"""Edge-triangle intersections: for the start checks and for the monitor that nothing has passed through.

Two surfaces cross exactly when an edge of one crosses a triangle of the other, so no other pair needs a test. Pairs
found by the same grouped BVH as the candidates; the test itself is fp64 and counts a touch as a crossing. An edge that
lies in the plane of a triangle is not reported: that is a distance of zero, which the distance check names.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.contact import bvh_boxes, parts
from engine.contact.pair_filter import Partners, query_lower, query_upper

wp.set_module_options({"enable_backward": False})

OPTIONAL = ("vertices", "point_surface", "point_world", "surface_local", "ignored", "surface_self_collision")


@wp.func
def volume(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.float64:
    """Six times the signed volume of the tetrahedron of the origin and three points [m3]."""
    return wp.dot(wp.cross(a, b), c)


@wp.func
def segment_crosses_triangle(p: wp.vec3d, q: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> bool:
    """Whether the segment p-q meets the triangle a-b-c, its border included; False when they are coplanar.

    Signs of five volumes, each taken from the differences of neighbouring points, so that distance from the origin
    costs no accuracy.
    """
    side_p = volume(b - a, c - a, p - a)
    side_q = volume(b - a, c - a, q - a)
    zero = wp.float64(0.0)
    crosses = False
    apart = (side_p > zero and side_q > zero) or (side_p < zero and side_q < zero)
    if not apart and (side_p != zero or side_q != zero):
        d = q - p
        u = volume(d, a - p, b - p)
        v = volume(d, b - p, c - p)
        w = volume(d, c - p, a - p)
        crosses = (u >= zero and v >= zero and w >= zero) or (u <= zero and v <= zero and w <= zero)
    return crosses


@wp.kernel
def query_crossings_kernel(
    stride: int,
    bvh: wp.uint64,
    root: wp.array(dtype=int),
    partners: Partners,
    x: wp.array(dtype=wp.vec3d),
    edges: wp.array(dtype=wp.vec2i),
    edge_part: wp.array(dtype=int),
    triangles: wp.array(dtype=wp.vec3i),
    edge_lower: wp.array(dtype=wp.vec3),
    edge_upper: wp.array(dtype=wp.vec3),
    # Out:
    total_out: wp.array(dtype=int),
    pair_out: wp.array(dtype=wp.vec2i),
):
    for i in range(wp.tid(), edges.shape[0], stride):
        part = edge_part[i]
        if part >= 0:
            e = edges[i]
            for k in range(partners.offset[part], partners.offset[part + 1]):
                lower = query_lower(partners, k, edge_lower[i])
                upper = query_upper(partners, k, edge_upper[i])
                query = wp.bvh_query_aabb(bvh, lower, upper, root[partners.part[k]])
                j = int(0)
                while wp.bvh_query_next(query, j):
                    t = triangles[j]
                    if t[0] != e[0] and t[1] != e[0] and t[2] != e[0] \
                            and t[0] != e[1] and t[1] != e[1] and t[2] != e[1]:
                        if segment_crosses_triangle(x[e[0]], x[e[1]], x[t[0]], x[t[1]], x[t[2]]):
                            n = wp.atomic_add(total_out, 0, 1)
                            if n < pair_out.shape[0]:
                                pair_out[n] = wp.vec2i(i, j)


class Intersections:
    """Finds crossing edge-triangle pairs of one set of surfaces again and again; see `find_intersections`."""

    def __init__(self, collision, embedding=None, device: str = "cpu", num_points: int | None = None):
        """collision: CollisionGeometry, or any object with `edges` (ne, 2) and `triangles` (nt, 3), Warp or numpy;
        its filter fields are honoured where it has them. embedding: also skip static against static and a body
        against itself. num_points: needed when the object has no `point_surface`.
        """
        self.device = wp.get_device(device)
        self.threads = 32768 if self.device.is_cuda else 1
        geometry = _host_geometry(collision, num_points)
        self.num_points = len(geometry["point_surface"])
        riders = np.full(self.num_points, parts.FREE)
        if embedding is not None:
            riders = parts.point_riders(embedding.point_count.numpy(), embedding.point_node.numpy())
        split = parts.split(geometry, riders, edge_triangle=True)
        self._edges = wp.array(geometry["edges"], dtype=wp.vec2i, device=self.device)
        self._triangles = wp.array(geometry["triangles"], dtype=wp.vec3i, device=self.device)
        self._edge_part = wp.array(split.edge_part, dtype=wp.int32, device=self.device)
        self._triangle_part = wp.array(split.triangle_part, dtype=wp.int32, device=self.device)
        self._root = wp.zeros(max(split.num_parts, 1), dtype=wp.int32, device=self.device)
        self._partners = _same_frame_partners(split.edge_triangle, self.device)
        n, ne, nt = self.num_points, len(geometry["edges"]), len(geometry["triangles"])
        self._point_lower, self._point_upper = (wp.zeros(max(n, 1), dtype=wp.vec3, device=self.device) for _ in "ab")
        self._edge_lower, self._edge_upper = (wp.zeros(max(ne, 1), dtype=wp.vec3, device=self.device) for _ in "ab")
        self._lower, self._upper = (wp.zeros(nt, dtype=wp.vec3, device=self.device) for _ in "ab")
        self._total = wp.zeros(1, dtype=wp.int32, device=self.device)
        self._pairs = wp.zeros(1024, dtype=wp.vec2i, device=self.device)
        self._bvh = None

    def find(self, points: np.ndarray) -> np.ndarray:
        """Crossing (edge, triangle) index pairs, sorted, int (k, 2). points: positions [m], (P, 3).

        Raises ValueError when points have the wrong shape or are not finite.
        """
        points = np.ascontiguousarray(points, dtype=np.float64)
        if points.shape != (self.num_points, 3):
            raise ValueError(f"find_intersections: points are {points.shape}; they must be ({self.num_points}, 3)")
        if not np.all(np.isfinite(points)):
            bad = int(np.flatnonzero(~np.all(np.isfinite(points), axis=1))[0])
            raise ValueError(f"find_intersections: points[{bad}] is {points[bad].tolist()}; it must be finite")
        if len(self._edges) == 0 or len(self._triangles) == 0:
            return np.zeros((0, 2), np.int32)
        # One frame for all: the centre, so that fp32 boxes stay sharp far from the origin.
        local = points - 0.5 * (points.min(axis=0) + points.max(axis=0))
        self._boxes(local)
        x = wp.array(local, dtype=wp.vec3d, device=self.device)
        while True:
            self._total.zero_()
            self._run(query_crossings_kernel, wp.uint64(self._bvh.id), self._root, self._partners, x, self._edges,
                      self._edge_part, self._triangles, self._edge_lower, self._edge_upper, self._total, self._pairs)
            n = int(self._total.numpy()[0])
            if n <= len(self._pairs):
                break
            self._pairs = wp.zeros(2 * n, dtype=wp.vec2i, device=self.device)
        pairs = self._pairs.numpy()[:n].reshape(-1, 2)
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].copy()

    def _boxes(self, local: np.ndarray) -> None:
        near = local.astype(np.float32)
        self._point_lower.assign(np.nextafter(near, np.float32(-np.inf)))
        self._point_upper.assign(np.nextafter(near, np.float32(np.inf)))
        self._run(bvh_boxes.edge_box_kernel, self._edges, self._point_lower, self._point_upper, self._edge_lower,
                  self._edge_upper)
        self._run(bvh_boxes.triangle_box_kernel, self._triangles, self._point_lower, self._point_upper, self._lower,
                  self._upper)
        if self._bvh is None:
            self._bvh = wp.Bvh(self._lower, self._upper, groups=self._triangle_part)
        else:
            self._bvh.rebuild()
        self._run(bvh_boxes.group_root_kernel, wp.uint64(self._bvh.id), self._root)

    def _run(self, kernel, *inputs) -> None:
        wp.launch(kernel, dim=self.threads, inputs=[self.threads, *inputs], device=self.device)


def find_intersections(points: np.ndarray, collision, embedding=None, device: str = "cpu") -> np.ndarray:
    """Crossing (edge, triangle) index pairs of surfaces at `points` [m] (P, 3), sorted, int (k, 2); empty when none.

    collision: CollisionGeometry, or any object with `edges` and `triangles`; see `Intersections`, which is the thing
    to keep when the test is repeated. Worlds never meet; ignored surfaces and surfaces without self-collision are
    left out, as in contact. Raises ValueError when points have the wrong shape or are not finite.
    """
    return Intersections(collision, embedding, device, num_points=len(points)).find(points)


def _host_geometry(collision, num_points: int | None) -> dict:
    def host(name):
        values = getattr(collision, name, None)
        return values.numpy() if isinstance(values, wp.array) else values

    geometry = {name: host(name) for name in ("edges", "triangles", *OPTIONAL)}
    geometry["edges"] = np.asarray(geometry["edges"], np.int32).reshape(-1, 2)
    geometry["triangles"] = np.asarray(geometry["triangles"], np.int32).reshape(-1, 3)
    if geometry["point_surface"] is None:  # plain arrays: one surface, everything may touch
        zeros, one = np.zeros(num_points, np.int32), np.ones(1, np.int32)
        geometry.update(point_surface=zeros, surface_local=0 * one, surface_self_collision=one,
                        ignored=np.zeros((1, 1), np.int8))
    geometry["vertices"] = np.zeros(0, np.int32)
    geometry["surfaces_per_world"] = getattr(collision, "surfaces_per_world", 1)
    return geometry


def _same_frame_partners(table: parts.PartnerTable, device) -> Partners:
    """All surfaces in one frame and no reach: boxes are compared as they are."""
    partners = Partners()
    for name in ("offset", "part", "sign"):
        setattr(partners, name, wp.array(getattr(table, name), dtype=wp.int32, device=device))
    partners.pair = wp.full(len(table.part), -1, dtype=wp.int32, device=device)
    partners.reach = wp.zeros(len(table.part), dtype=wp.float64, device=device)
    partners.pair_lower = partners.pair_upper = wp.zeros(1, dtype=wp.vec3d, device=device)
    return partners
