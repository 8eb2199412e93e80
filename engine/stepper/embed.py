"""Points from nodes: positions, displacements, and the size of an update as points feel it."""

from __future__ import annotations

import warp as wp

from engine.reduce import point_tables

wp.set_module_options({"enable_backward": False})


@wp.kernel
def positions_kernel(
    point_node: wp.array(dtype=int),
    point_count: wp.array(dtype=int),
    point_weights: wp.array(dtype=wp.vec4d),
    point_offset: wp.array(dtype=wp.vec3d),
    x: wp.array(dtype=wp.vec3d),
    points_out: wp.array(dtype=wp.vec3d),
):
    p = wp.tid()
    n = point_count[p]
    total = point_offset[p]
    if n > 0:
        total = wp.vec3d()
        w = point_weights[p]
        for k in range(n):
            total = total + x[point_node[p] + k] * w[k]
    points_out[p] = total


@wp.kernel
def displacements_kernel(
    point_node: wp.array(dtype=int),
    point_count: wp.array(dtype=int),
    point_weights: wp.array(dtype=wp.vec4d),
    dx: wp.array(dtype=wp.vec3d),
    points_out: wp.array(dtype=wp.vec3d),
):
    p = wp.tid()
    total = wp.vec3d()
    w = point_weights[p]
    for k in range(point_count[p]):
        total = total + dx[point_node[p] + k] * w[k]
    points_out[p] = total


@wp.kernel
def update_size_kernel(
    point_count: wp.array(dtype=int),
    point_world: wp.array(dtype=int),
    measured: wp.array(dtype=int),
    dx: wp.array(dtype=wp.vec3d),
    world_update_out: wp.array(dtype=wp.float64),
):
    """Largest component of any mesh point's displacement by world [m]; handles of bodies and joints are no places."""
    p = wp.tid()
    if measured[p] == 1 and point_count[p] > 0:
        d = wp.abs(dx[p])
        wp.atomic_max(world_update_out, point_world[p], wp.max(d[0], wp.max(d[1], d[2])))


class PointMap:
    """Launchers over one model's embedding."""

    def __init__(self, model):
        self.model, self.device = model, model.device
        world, measured = point_tables(model)
        self.measured = wp.array(measured, dtype=int, device=self.device)
        self.point_world = wp.array(world, dtype=int, device=self.device)

    def launch_positions(self, x, points) -> None:
        e = self.model.embedding
        wp.launch(
            positions_kernel,
            self.model.num_points,
            [e.point_node, e.point_count, e.point_weights, e.point_offset, x],
            [points],
            device=self.device,
        )

    def launch_displacements(self, dx, points) -> None:
        e = self.model.embedding
        wp.launch(
            displacements_kernel,
            self.model.num_points,
            [e.point_node, e.point_count, e.point_weights, dx],
            [points],
            device=self.device,
        )

    def launch_update_size(self, dx_points, world_update) -> None:
        e, m = self.model.embedding, self.model
        wp.launch(
            update_size_kernel,
            m.num_points,
            [e.point_count, self.point_world, self.measured, dx_points],
            [world_update],
            device=self.device,
        )
