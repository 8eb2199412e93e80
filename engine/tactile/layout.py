"""Sensors as arrays: coat vertices, triangles, pixels and markers of all of them in one row, a row a world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from engine.mesh.rest import vertex_areas
from engine.mesh.topology import vertex_triangles
from engine.tactile.raster import FARTHEST, MAX_TRIANGLES, Cameras
from engine.tactile.spec import SensorSpec


@dataclass
class Layout:
    """Sizes are of one world; S sensors, V coat vertices, T coat triangles, P pixels, M markers, G gel vertices.

    rest (V, 3), rest_markers: in the sensor frame [m]; slices by sensor: where its pixels and markers lie in a row.
    """

    sensors: tuple[SensorSpec, ...]
    device: str
    num_vertices: int
    num_triangles: int
    num_pixels: int
    num_markers: int
    num_gel: int
    pixels: list[slice]
    markers: list[slice]
    vertices: list[slice]
    rest: np.ndarray
    gel_points: np.ndarray  # point in world 0 of each gel vertex, (G,)
    arrays: dict[str, wp.array]
    cameras: Cameras


def make_layout(engine, sensors) -> Layout:
    """Arrays of the sensors on the engine's device.

    Raises KeyError, ValueError: no such mesh or body, a coat that does not fit the mesh, no coat, too many triangles, a
    camera farther than 8 m.
    """
    model = engine.model
    x = model_points(model)
    nodes = model.node_start.numpy()
    parts = [_part(model, x, nodes, spec) for spec in sensors]
    counts = {key: np.array([len(p[key]) for p in parts]) for key in ("vertex", "triangle", "marker", "gel")}
    pixel_counts = np.array([s.camera.width * s.camera.height for s in sensors])
    starts = {key: np.concatenate([[0], np.cumsum(c)]) for key, c in (*counts.items(), ("pixel", pixel_counts))}

    def joined(key, dtype, shift=None, shape=()):
        rows = [np.asarray(p[key]) + (0 if shift is None else starts[shift][k]) for k, p in enumerate(parts)]
        whole = np.concatenate(rows) if rows else np.zeros((0, *shape))
        return whole.astype(dtype)

    def owner(key):
        return np.repeat(np.arange(len(parts)), np.diff(starts[key]).astype(int)).astype(np.int32)

    triangles = joined("triangle", np.int32, "vertex", (3,))
    around = vertex_triangles(triangles, int(starts["vertex"][-1]))
    host = {
        "vertex_point": joined("vertex", np.int32), "vertex_sensor": owner("vertex"),
        "triangle_sensor": owner("triangle"), "triangle_start": starts["triangle"].astype(np.int32),
        "corner_start": around.indptr.astype(np.int32), "corner_triangle": around.indices.astype(np.int32),
        "pixel_sensor": owner("pixel"), "marker_sensor": owner("marker"), "gel_point": joined("gel", np.int32),
        "gel_start": starts["gel"].astype(np.int32), "vertex_gel": joined("vertex_gel", np.int32, "gel"),
        "node": np.array([p["node"] for p in parts], np.int32),
    }  # fmt: skip
    device = model.device
    arrays = {name: wp.array(values, dtype=int, device=device) for name, values in host.items()}
    rest = joined("rest", float, None, (3,))
    vec3i, vec3d, scalar = wp.vec3i, wp.vec3d, wp.float64
    rays = [s.camera.rays() for s in sensors] or [np.zeros((0, 2))]
    for name, values, dtype in (
        ("triangles", triangles, vec3i), ("rest", rest, vec3d), ("vertex_area", joined("area", float), scalar),
        ("marker_corner", joined("marker", np.int32, "vertex", (3,)), vec3i),
        ("marker_weights", joined("marker_weights", float, None, (3,)), vec3d),
        ("pixel_ray", np.concatenate(rays), wp.vec2d),
        ("holder_rotation", np.array([p["holder"][:3, :3] for p in parts]), wp.mat33d),
        ("holder_origin", np.array([p["holder"][:3, 3] for p in parts]), vec3d),
    ):  # fmt: skip
        arrays[name] = wp.array(values, dtype=dtype, device=device)

    def slices(key):
        return [slice(int(a), int(b)) for a, b in zip(starts[key], starts[key][1:], strict=False)]

    total = {key: int(start[-1]) for key, start in starts.items()}
    return Layout(
        tuple(sensors), device, total["vertex"], total["triangle"], total["pixel"], total["marker"], total["gel"],
        slices("pixel"), slices("marker"), slices("vertex"), rest, host["gel_point"], arrays,
        _cameras(sensors, starts["pixel"], device),
    )  # fmt: skip


def model_points(model) -> np.ndarray:
    """Places of all points of world 0 at the model's start [m], (P, 3)."""
    e, p = model.embedding, model.points_per_world
    node, count, weight = e.point_node.numpy()[:p], e.point_count.numpy()[:p], e.point_weights.numpy()[:p]
    start, out = model.node_start.numpy(), e.point_offset.numpy()[:p].copy()
    out[count > 0] = 0.0
    for k in range(4):
        rides = count > k
        out[rides] += weight[rides, k, None] * start[node[rides] + k]
    return out


def _part(model, x: np.ndarray, nodes: np.ndarray, spec: SensorSpec) -> dict:
    """One sensor, in its own numbering."""
    if spec.mesh not in model.meshes:
        raise KeyError(f"sensor {spec.name}: no mesh '{spec.mesh}'; available: {', '.join(model.meshes)}")
    info = model.meshes[spec.mesh]
    coat = np.asarray(spec.coat)
    count = info.points.stop - info.points.start
    if not len(coat) or coat.min() < 0 or coat.max() >= count:
        what = "has no coat" if not len(coat) else f"has a coat of vertices up to {coat.max()}, its mesh has {count}"
        raise ValueError(f"sensor {spec.name} {what}")
    if len(coat) >= MAX_TRIANGLES:
        raise ValueError(f"sensor {spec.name} has {len(coat)} coat triangles; {MAX_TRIANGLES - 1} at most")
    holder, node = spec.world_from_sensor, -1
    if spec.body is not None:
        if spec.body not in model.bodies:
            raise KeyError(f"sensor {spec.name}: no body '{spec.body}'; available: {', '.join(model.bodies) or 'none'}")
        node = model.bodies[spec.body].node
        pose = np.eye(4)
        pose[:3, 3], pose[:3, :3] = nodes[node], nodes[node + 1 : node + 4].T
        holder = np.linalg.inv(pose) @ spec.world_from_sensor
    vertex, local = np.unique(coat, return_inverse=True)
    inverse = np.linalg.inv(spec.world_from_sensor)
    mine = x[info.points]
    rest = mine[vertex] @ inverse[:3, :3].T + inverse[:3, 3]
    far = (rest - spec.camera.sensor_from_camera[:3, 3]) @ spec.camera.sensor_from_camera[:3, 2]
    if far.max() >= FARTHEST:
        raise ValueError(
            f"sensor {spec.name}: its coat lies {far.max():.3g} m before its camera; {FARTHEST:g} m at most"
        )
    triangles = local.reshape(coat.shape)
    surface = np.unique(info.triangles)
    return {
        "vertex": vertex + info.points.start, "triangle": triangles, "rest": rest,
        "area": vertex_areas(rest, triangles), "marker": triangles[spec.marker_triangle],
        "marker_weights": spec.marker_weights, "holder": holder, "node": node,
        "gel": surface + info.points.start, "vertex_gel": np.searchsorted(surface, vertex),
    }  # fmt: skip


def _cameras(sensors, pixel_start: np.ndarray, device: str) -> Cameras:
    out = Cameras()
    cameras = [s.camera for s in sensors]

    def array(values, dtype):
        return wp.array(np.array(values), dtype=dtype, device=device)

    out.width = array([c.width for c in cameras], int)
    out.height = array([c.height for c in cameras], int)
    out.parallel = array([int(c.orthographic) for c in cameras], int)
    out.step = array([c.pixel_pitch if c.orthographic else 1.0 / c.focal_length for c in cameras], wp.float64)
    out.axes = array([c.sensor_from_camera[:3, :3] for c in cameras], wp.mat33d)
    out.origin = array([c.sensor_from_camera[:3, 3] for c in cameras], wp.vec3d)
    out.pixel_start = array(pixel_start, int)
    return out
