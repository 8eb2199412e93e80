"""Sensors as arrays: coat vertices, triangles, pixels and markers of all of them in one row, a row a world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from engine.mesh.rest import vertex_areas
from engine.mesh.topology import vertex_triangles
from engine.tactile.raster import FARTHEST, MAX_TRIANGLES, Cameras
from engine.tactile.spec import SensorSpec

SAME_SHAPE = 1e-7  # [m] by which two gels may differ that count as equal


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
    x = start_points(model, np.arange(model.points_per_world))[0]
    parts = [_part(model, x, spec) for spec in sensors]
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


def start_points(model, points: np.ndarray) -> np.ndarray:
    """Places of points (n,) of world 0 and of their copies in other worlds at the model's start [m], (W, n, 3)."""
    w = np.arange(model.num_worlds)[:, None]
    rows = points[None, :] + w * model.points_per_world
    e, start = model.embedding, model.node_start.numpy()
    node, count, weight = (a.numpy()[rows] for a in (e.point_node, e.point_count, e.point_weights))
    out = np.where((count > 0)[..., None], 0.0, e.point_offset.numpy()[rows])
    for k in range(4):
        rides = count > k
        out[rides] += weight[rides, k, None] * start[node[rides] + k]
    return out


def holder_frames(model, sensors) -> tuple[np.ndarray, np.ndarray]:
    """The sensor frame in the frame of its holder, or in the world when the pad is pinned: axes (W, S, 3, 3) and origin
    (W, S, 3). Worlds may start with their gels elsewhere.

    Raises ValueError when a gel has another shape than in world 0: one undeformed image serves all worlds.
    """
    worlds, start = model.num_worlds, model.node_start.numpy().reshape(model.num_worlds, -1, 3)
    frames = np.zeros((worlds, len(sensors), 4, 4))
    for s, spec in enumerate(sensors):
        slots = model.meshes[spec.mesh].points
        moved = _rigid_motions(start_points(model, np.arange(slots.start, slots.stop)), spec.name)
        frames[:, s] = moved @ spec.world_from_sensor
        if spec.body is not None:
            node = model.bodies[spec.body].node
            pose = np.tile(np.eye(4), (worlds, 1, 1))
            pose[:, :3, 3], pose[:, :3, :3] = start[:, node], np.swapaxes(start[:, node + 1 : node + 4], 1, 2)
            frames[:, s] = np.linalg.inv(pose) @ frames[:, s]
    return frames[:, :, :3, :3], frames[:, :, :3, 3]


def _rigid_motions(x: np.ndarray, name: str) -> np.ndarray:
    """(W, 4, 4): motions that carry the points x[0] to x[w] (Kabsch 1976). x (W, n, 3)."""
    out = np.tile(np.eye(4), (len(x), 1, 1))
    other = np.flatnonzero((x != x[:1]).any(axis=(1, 2)))
    if not len(other):
        return out
    middle = x.mean(axis=1, keepdims=True)
    u, _, vt = np.linalg.svd(np.swapaxes(x[other] - middle[other], 1, 2) @ (x[0] - middle[0]))
    sign = np.ones((len(other), 1, 3))
    sign[:, 0, 2] = np.linalg.det(u @ vt)
    turn = (u * sign) @ vt
    out[other, :3, :3] = turn
    out[other, :3, 3] = middle[other, 0] - turn @ middle[0, 0]
    left = np.abs(x[0] @ np.swapaxes(turn, 1, 2) + out[other, None, :3, 3] - x[other]).max(axis=(1, 2))
    if left.max() > SAME_SHAPE:
        world = other[int(np.argmax(left))]
        raise ValueError(
            f"sensor {name}: its gel in world {world} is shaped otherwise than in world 0, by {left.max():.2g} m; "
            "the gels of a batch must be equal"
        )
    return out


def _part(model, x: np.ndarray, spec: SensorSpec) -> dict:
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
    node = -1
    if spec.body is not None:
        if spec.body not in model.bodies:
            raise KeyError(f"sensor {spec.name}: no body '{spec.body}'; available: {', '.join(model.bodies) or 'none'}")
        node = model.bodies[spec.body].node
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
        "marker_weights": spec.marker_weights, "node": node,
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
