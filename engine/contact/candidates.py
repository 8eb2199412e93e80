"""The candidate list: every pair that may come within reach during a motion, sorted, kept while it holds.

`Candidates.update(x, dx)` makes the list valid for x + t dx, t in [0, 1]: each pair closer than dhat + min_separation
at any such moment is listed. Points store boxes inflated by a slack; while every point stays in its box nothing is
searched again. See docs/physics/candidates.md for the proof and the choices.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.contact import bvh_boxes, pair_filter, parts, sort
from engine.types import CollisionGeometry, Embedding

FRAME_SAMPLES = 16  # points whose mean is a surface's frame; more would only cost time
ROOM_SHARE = 1.0  # of the automatic slack: room for points that move a little
REFITS_PER_REBUILD = 16  # a refitted tree stays correct but slowly loses quality
SLACK_SHARE = 0.1  # automatic slack over the mean edge length of the finest movable surface
LARGE_LIST = 32768  # pairs: beyond this, buffers are kept close to what is needed
CROWDED_LIST, CROWDED_SHARE = 131072, 16  # pairs of a world, pairs a vertex or edge: a list above both is crowded
CUDA_THREADS = 32768


def _first_capacity(elements: int) -> int:
    """Candidates to reserve for so many vertices and edges. A small scene gets more than it will ever need; of a batch
    of worlds each gets what a few contacts take: a slot costs 0.1 kB."""
    return max(1024, min(12 * elements, max(LARGE_LIST, elements // 2)))


class Candidates:
    """Broad phase over all worlds.

    Attributes (device arrays; the first `count[0]` entries are valid, sorted by (kind, i, j) with i a vertex or the
    smaller edge index, j a triangle or the larger edge index):
        points: global point ids of the stencil; PT (p, a, b, c), EE (a0, a1, b0, b1), vec4i (capacity,).
        kind: 0 point-triangle, 1 edge-edge, int (capacity,).
        dhat: activation distance of the pair [m], float64 (capacity,).
        min_separation: sum of the half-thicknesses [m], float64 (capacity,).
        stiffness: kappa * area * dhat of the pair [J], float64 (capacity,).
        friction_mu: geometric mean [-], float64 (capacity,).
        mollifier_eps: parallel-edge threshold [m4], 0 for PT, float64 (capacity,).
        world: int (capacity,).
        count: int (1,).
        version: grows when any array above was reallocated; graphs captured over them must be captured again.
        slack: inflation of every movable point's box [m].
        num_rebuilds: searches so far; num_candidates: length of the list, a host copy.
        topology_version: grows with every `refresh_topology` that changed which pairs may touch.
        crowded_at: pairs of one world from which a list counts as crowded.
    """

    def __init__(self, collision: CollisionGeometry, embedding: Embedding, device: str = "cpu", slack: float = 0.0,
                 capacity: int = 0, expected: int = 0):
        """slack [m], 0 = automatic; capacity: candidates to reserve, 0 = automatic: at least `expected`. Both lists
        grow by themselves.

        Raises ValueError when an element joins points of two surfaces or slack is negative.
        """
        if not slack >= 0.0:
            raise ValueError(f"Candidates slack is {slack!r} (Options.candidate_slack); it must be at least 0")
        self.collision, self.embedding = collision, embedding
        self.device = wp.get_device(device)
        self.threads = CUDA_THREADS if self.device.is_cuda else 1
        self._geometry = {
            name: getattr(collision, name).numpy()
            for name in ("vertices", "edges", "triangles", "point_surface", "point_world", "surface_local", "ignored",
                         "surface_self_collision")
        }
        self._geometry["surfaces_per_world"] = collision.surfaces_per_world
        self.num_points = len(self._geometry["point_surface"])
        self.num_worlds = int(self._geometry["point_world"].max(initial=0)) + 1
        self._requested_slack = float(slack)
        self.slack = 0.0
        self.version = 0
        self.topology_version = 0
        self.num_rebuilds = 0
        self.num_candidates = 0
        self._fraction = -1.0
        self._labels = None
        self._refits = 0
        self._allocate_fixed()
        nv, ne = len(self._geometry["vertices"]), len(self._geometry["edges"])
        self._allocate_list(capacity or max(_first_capacity(nv + ne), expected))
        self.crowded_at = max(CROWDED_LIST, CROWDED_SHARE * (nv + ne) // self.num_worlds)
        self.refresh_topology()

    # Set-up -----------------------------------------------------------------------------------------------------------
    def _zeros(self, count: int, dtype) -> wp.array:
        return wp.zeros(max(int(count), 1), dtype=dtype, device=self.device)

    def _to_device(self, values: np.ndarray, dtype) -> wp.array:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

    def _allocate_fixed(self) -> None:
        g = self._geometry
        surfaces = self.collision.surface_dhat.shape[0]
        self.num_surfaces = surfaces
        self._frame_start, self._frame_end = (wp.zeros(surfaces, dtype=wp.vec3d, device=self.device) for _ in "ab")
        self._point_lower, self._point_upper = (self._zeros(self.num_points, wp.vec3) for _ in "ab")
        self._point_centre, self._point_radius = (self._zeros(self.num_points, t) for t in (wp.vec3d, wp.float64))
        self._edge_lower, self._edge_upper = (self._zeros(len(g["edges"]), wp.vec3) for _ in "ab")
        self._triangle_lower, self._triangle_upper = (self._zeros(len(g["triangles"]), wp.vec3) for _ in "ab")
        self._fraction_device = self._zeros(1, wp.float64)
        self._world_dirty = self._zeros(self.num_worlds, wp.int32)
        self._any_dirty = self._zeros(1, wp.int32)
        rows = len(g["vertices"]) + len(g["edges"])
        self._row_count, self._row_offset = (self._zeros(rows, wp.int32) for _ in "ab")
        self._total = self._zeros(1, wp.int32)
        self.count = self._zeros(1, wp.int32)
        self._surface_table = sort.SurfaceTable()
        c = self.collision
        self._surface_table.dhat, self._surface_table.half_thickness = c.surface_dhat, c.surface_half_thickness
        self._surface_table.kappa, self._surface_table.friction_mu = c.surface_kappa, c.surface_friction_mu
        self._surface_table.lip = self._zeros(surfaces, wp.float64) if c.surface_lip is None else c.surface_lip
        self._point_rest = self._zeros(self.num_points, wp.vec3d) if c.point_rest is None else c.point_rest

    def _allocate_list(self, capacity: int) -> None:
        self.capacity = int(capacity)
        self._buffer = pair_filter.PairBuffer()
        self._buffer.total, self._buffer.row_count = self._total, self._row_count
        self._buffer.row, self._buffer.column, self._buffer.slot = (self._zeros(capacity, wp.int32) for _ in "abc")
        self._sorted_row, self._sorted_column = (self._zeros(capacity, wp.int32) for _ in "ab")
        self.points = self._zeros(capacity, wp.vec4i)
        self.kind, self.world = self._zeros(capacity, wp.int32), self._zeros(capacity, wp.int32)
        self.dhat, self.min_separation, self.stiffness, self.friction_mu, self.mollifier_eps = (
            self._zeros(capacity, wp.float64) for _ in range(5))
        self._published = sort.CandidateArrays()
        for name in ("points", "kind", "world", "dhat", "min_separation", "stiffness", "friction_mu", "mollifier_eps"):
            setattr(self._published, name, getattr(self, name))
        self.version += 1
        self._drop_graphs()

    def _drop_graphs(self) -> None:
        self._check_graphs, self._box_graphs = {}, {}
        self._list_graph = None

    def refresh_topology(self) -> bool:
        """Read the embedding again (rows, counts, offsets) and forget all boxes. True when the pairs that may touch
        have changed; the published arrays stay where they are either way. Call between steps."""
        riders = parts.point_riders(self.embedding.point_count.numpy(), self.embedding.point_node.numpy())
        self.invalidate()
        if self._labels is not None and np.array_equal(riders, self._labels):
            return False
        self._labels = riders
        self._parts = parts.split(self._geometry, riders)
        self._set_slack(riders)
        self._upload_parts(riders)
        self._triangle_bvh = self._edge_bvh = None
        self.topology_version += 1
        self._drop_graphs()
        return True

    def invalidate(self) -> None:
        """Forget all boxes: the next update searches anew, with fresh trees. For a state that was set from outside."""
        self._world_dirty.fill_(1)
        self._forced = True
        self._refits = REFITS_PER_REBUILD

    def _set_slack(self, riders: np.ndarray) -> None:
        """Slack by surface: none where nothing can move, else one number for all [m]."""
        surface = self._geometry["point_surface"]
        movable = np.zeros(self.num_surfaces, bool)
        movable[surface[(surface >= 0) & (riders != parts.STATIC)]] = True
        self._movable_surface = movable
        automatic = self._automatic_slack(movable)
        self.slack = self._requested_slack or automatic
        self._room = ROOM_SHARE * automatic
        self._surface_slack = self._to_device(np.where(movable, self.slack, 0.0), wp.float64)

    def _automatic_slack(self, movable: np.ndarray) -> float:
        """From the surfaces of world 0 alone, so that a world in a batch gets the slack it would have alone."""
        per_world = self.collision.surfaces_per_world
        dhat = self.collision.surface_dhat.numpy()[:per_world]
        edges = self._geometry["edges"]
        owner = self._geometry["point_surface"][edges[:, 0]] if len(edges) else np.zeros(0, int)
        length = self.collision.edge_rest_length.numpy()
        means = [length[owner == s].mean() for s in range(per_world) if movable[s] and np.any(owner == s)]
        smallest_dhat = float(dhat.min()) if len(dhat) else 1e-3
        return max(SLACK_SHARE * float(min(means)), 0.25 * smallest_dhat) if means else smallest_dhat

    def _upload_parts(self, riders: np.ndarray) -> None:
        split, surface = self._parts, self._geometry["point_surface"]
        collide = np.flatnonzero(surface >= 0)
        self._collide_point = self._to_device(collide.astype(np.int32), wp.int32)
        self._check_point = self._to_device(collide[self._movable_surface[surface[collide]]].astype(np.int32), wp.int32)
        # The frame follows the moving points of a surface; pinned ones only where there is nothing else.
        chosen = (riders != parts.STATIC) | ~self._movable_surface[surface]
        pool = np.flatnonzero((surface >= 0) & chosen)
        pool = pool[np.argsort(surface[pool], kind="stable")]
        bounds = np.searchsorted(surface[pool], np.arange(self.num_surfaces + 1))
        samples = [pool[a:b][np.unique(np.linspace(0, b - a - 1, min(FRAME_SAMPLES, b - a)).astype(int))]
                   for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
        self._sample_offset = self._to_device(np.cumsum([0] + [len(s) for s in samples]).astype(np.int32), wp.int32)
        self._sample_point = self._to_device(np.concatenate([*samples, np.zeros(1, int)]).astype(np.int32), wp.int32)
        self._num_pairs = len(split.surface_pair)
        pairs = split.surface_pair if self._num_pairs else np.zeros((0, 2), np.int32)
        self._surface_pair = wp.array(pairs, dtype=wp.vec2i, device=self.device)
        self._pair_lower, self._pair_upper = (self._zeros(self._num_pairs, wp.vec3d) for _ in "ab")
        self._vertex_part = self._to_device(split.vertex_part, wp.int32)
        point_part = np.full(self.num_points, -1, np.int32)
        point_part[self._geometry["vertices"]] = split.vertex_part
        self._point_part = self._to_device(point_part, wp.int32)
        self._edge_part = self._to_device(split.edge_part, wp.int32)
        self._triangle_part = self._to_device(split.triangle_part, wp.int32)
        self._triangle_root, self._edge_root = (self._zeros(split.num_parts, wp.int32) for _ in "ab")
        self._part_lower, self._part_upper = (self._zeros(3 * split.num_parts, wp.vec3) for _ in "ab")
        self._triangle_partners = self._partners(split.vertex_triangle)
        self._edge_partners = self._partners(split.edge_edge)

    def _partners(self, table: parts.PartnerTable) -> pair_filter.Partners:
        dhat, half = self.collision.surface_dhat.numpy(), self.collision.surface_half_thickness.numpy()
        querying = np.repeat(np.arange(len(table.offset) - 1), np.diff(table.offset))
        a, b = self._parts.surface[querying], self._parts.surface[table.part]
        result = pair_filter.Partners()
        for name in ("offset", "part", "pair", "sign"):
            setattr(result, name, self._to_device(getattr(table, name), wp.int32))
        result.querying = self._to_device(querying.astype(np.int32), wp.int32)
        result.open = self._zeros(len(a), wp.int32)
        result.reach = self._to_device(np.minimum(dhat[a], dhat[b]) + half[a] + half[b], wp.float64)
        result.pair_lower, result.pair_upper = self._pair_lower, self._pair_upper
        return result

    # Update -----------------------------------------------------------------------------------------------------------
    def crowded(self, x: wp.array, dx: wp.array) -> np.ndarray | None:
        """Worlds, bool (W,), whose motion x + t dx sweeps over so many pairs that a shorter one would be cheaper; None
        when there are none, and then the list is valid as after `update`. By world, so that a world in a batch is told
        the same as alone."""
        self._told = None
        self.update(x, dx, tell_crowded=True)
        return self._told

    def _find_crowded(self) -> bool:
        """After a count: set `_told`, True when a world is crowded."""
        g = self._geometry
        world = g["point_world"][np.concatenate([g["vertices"], g["edges"][:, 0]])]
        pairs = np.bincount(world, weights=self._row_count.numpy()[: len(world)], minlength=self.num_worlds)
        if not (pairs > self.crowded_at).any():
            return False
        self._told, self._forced = pairs > self.crowded_at, True
        return True

    def update(self, x: wp.array, dx: wp.array, fraction: float = 1.0, tell_crowded: bool = False) -> bool:
        """Make the list valid for x + t fraction dx, t in [0, 1]; True when it was searched anew.

        x, dx: point positions and their change [m], vec3d (P,). Costs one host read when the list is kept, two or
        more when it is not. Pass the same array objects every time: each pair of arrays is captured once.
        """
        for name, array in (("x", x), ("dx", dx)):
            if array.dtype != wp.vec3d or array.shape != (self.num_points,):
                raise ValueError(f"Candidates.update: {name} is {array.dtype.__name__} {array.shape}; "
                                 f"it must be vec3d ({self.num_points},)")
        if fraction != self._fraction:
            self._fraction = float(fraction)
            self._fraction_device.fill_(self._fraction)
        self._launch(self._check_graphs, (x.ptr, dx.ptr), lambda: self.launch_check(x, dx))
        if not self._forced and int(self._any_dirty.numpy()[0]) == 0:
            return False
        self._launch(self._box_graphs, (x.ptr, dx.ptr), lambda: self._launch_boxes(x, dx))
        self._update_trees()
        while True:
            if self._list_graph is None:
                self._list_graph = self._capture(self._launch_list)
            wp.capture_launch(self._list_graph)
            needed = int(self._total.numpy()[0])
            if tell_crowded and needed > self.crowded_at and self._find_crowded():
                return True
            if needed <= self.capacity:
                break
            spare = needed // 2 if needed < LARGE_LIST else needed // 4
            self._allocate_list(needed + spare)
        self._world_dirty.zero_()
        self._forced = False
        self.num_candidates = needed
        self.num_rebuilds += 1
        return True

    def _capture(self, launch):
        with wp.ScopedCapture(device=self.device) as capture:
            launch()
        return capture.graph

    def _launch(self, graphs: dict, key: tuple, launch) -> None:
        """Replay the graph of `key`, capturing it first when it is new; a few keys are kept."""
        if key not in graphs:
            if len(graphs) >= 8:
                graphs.clear()
            graphs[key] = self._capture(launch)
        wp.capture_launch(graphs[key])

    def launch_check(self, x: wp.array, dx: wp.array) -> None:
        """Test whether the list still holds; sets the device flag that `update` reads. No host read."""
        n, surfaces = self.threads, self.collision.surfaces_per_world
        dirty = [self._world_dirty, self._any_dirty]
        self._any_dirty.zero_()
        self._run(bvh_boxes.surface_frame_kernel, [self._sample_offset, self._sample_point, x, dx,
                                                   self._fraction_device, self._frame_start, self._frame_end], n)
        if self._num_pairs:
            self._run(bvh_boxes.check_pairs_kernel, [self._surface_pair, surfaces, self._frame_start, self._frame_end,
                                                     self._pair_lower, self._pair_upper, *dirty], n)
        self._run(bvh_boxes.check_points_kernel,
                  [self._check_point, self.collision.point_surface, self.collision.point_world, x, dx,
                   self._fraction_device, self._frame_start, self._frame_end, self._point_lower, self._point_upper,
                   *dirty], n)

    def _run(self, kernel, inputs: list, threads: int) -> None:
        wp.launch(kernel, dim=threads, inputs=[threads, *inputs], device=self.device)

    def _launch_boxes(self, x: wp.array, dx: wp.array) -> None:
        n, c = self.threads, self.collision
        if self._num_pairs:
            self._run(bvh_boxes.pair_range_kernel,
                      [self._surface_pair, c.surfaces_per_world, wp.float64(self.slack), self._frame_start,
                       self._frame_end, self._world_dirty, self._pair_lower, self._pair_upper], n)
        self._run(bvh_boxes.point_box_kernel,
                  [self._collide_point, c.point_surface, c.point_world, self._surface_slack,
                   wp.float64(self._room), x, dx,
                   self._fraction_device, self._frame_start, self._frame_end, self._world_dirty, self._point_lower,
                   self._point_upper, self._point_centre, self._point_radius], n)
        self._run(bvh_boxes.edge_box_kernel,
                  [c.edges, self._point_lower, self._point_upper, self._edge_lower, self._edge_upper], n)
        self._run(bvh_boxes.triangle_box_kernel,
                  [c.triangles, self._point_lower, self._point_upper, self._triangle_lower, self._triangle_upper], n)

    def _update_trees(self) -> None:
        """Refit, or build anew from time to time: the list does not depend on the tree, only the time does."""
        fresh = self._refits >= REFITS_PER_REBUILD
        self._triangle_bvh = self._update_tree(self._triangle_bvh, self._triangle_lower, self._triangle_upper,
                                               self._triangle_part, self._triangle_root, fresh)
        self._edge_bvh = self._update_tree(self._edge_bvh, self._edge_lower, self._edge_upper, self._edge_part,
                                           self._edge_root, fresh)
        self._refits = 0 if fresh else self._refits + 1

    def _update_tree(self, tree, lower, upper, groups, root, fresh):
        if len(groups) == 0:
            return None
        if tree is None:
            tree = wp.Bvh(lower, upper, groups=groups)
        elif fresh:
            tree.rebuild()
        else:
            tree.refit()
            return tree
        self._run(bvh_boxes.group_root_kernel, [wp.uint64(tree.id), root], self.threads)
        return tree

    def _launch_open_partners(self) -> None:
        """Which parts come within reach of which, as wholes."""
        count = self._parts.num_parts
        points, edges, triangles = ((self._part_lower[k * count : (k + 1) * count],
                                     self._part_upper[k * count : (k + 1) * count]) for k in range(3))
        for box, part, lower, upper in (
            (points, self._point_part, self._point_lower, self._point_upper),
            (edges, self._edge_part, self._edge_lower, self._edge_upper),
            (triangles, self._triangle_part, self._triangle_lower, self._triangle_upper),
        ):
            box[0].fill_(float("inf"))
            box[1].fill_(-float("inf"))
            self._run(pair_filter.part_box_kernel, [part, lower, upper, *box], self.threads)
        self._run(pair_filter.open_partners_kernel, [*points, *triangles, self._triangle_partners], self.threads)
        self._run(pair_filter.open_partners_kernel, [*edges, *edges, self._edge_partners], self.threads)

    def _launch_list(self) -> None:
        """Query both trees and write the sorted list."""
        n, c = self.threads, self.collision
        self._total.zero_()
        self._row_count.zero_()
        self._launch_open_partners()
        if self._triangle_bvh is not None:
            self._run(pair_filter.query_triangles_kernel,
                      [wp.uint64(self._triangle_bvh.id), self._triangle_root, self._triangle_partners, c.vertices,
                       self._vertex_part, c.triangles, self._point_lower, self._point_upper, self._point_centre,
                       self._point_radius, self._buffer], n)
        if self._edge_bvh is not None:
            self._run(pair_filter.query_edges_kernel,
                      [wp.uint64(self._edge_bvh.id), self._edge_root, self._edge_partners, c.edges, self._edge_part,
                       self._edge_lower, self._edge_upper, self._point_centre, self._point_radius, c.vertices.shape[0],
                       self._buffer], n)
        wp.utils.array_scan(self._row_count, self._row_offset, inclusive=False)
        self._run(sort.scatter_kernel,
                  [self._buffer, self._row_offset, self._sorted_row, self._sorted_column, self.count], n)
        self._run(sort.sort_rows_kernel, [self.count, self._row_offset, self._row_count, self._sorted_column], n)
        self._run(sort.fill_kernel,
                  [self.count, self._sorted_row, self._sorted_column, c.vertices, c.edges, c.triangles, c.vertex_area,
                   c.edge_area, c.edge_rest_length, c.point_surface, c.point_world, self._point_rest,
                   self._surface_table, self._published], n)
