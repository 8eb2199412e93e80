"""Pads for tests: a gel on a driven holder, in worlds that may be moved and deformed by hand."""

from __future__ import annotations

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh import shapes
from scenes.build import Draft
from scenes.build_sensor import add_sensor
from scenes.motion import rigid_transform
from scenes.sensors import BoxGel, OrthographicCamera, Sensor

POSE = rigid_transform((0.03, -0.02, 0.05), (0.4, -0.7, 1.1))  # nothing is aligned with the world


class Pad:
    """engine, spec and how to move the coat. Keys of the sensor: see scenes.sensors."""

    def __init__(self, pose=POSE, worlds: int = 1, device: str = "cpu", body: str | None = "holder", add=None,
                 gravity=(0.0, 0.0, 0.0), options: Options | None = None, slip=(0.0, 0.0, 0.0), **keys):  # fmt: skip
        keys.setdefault("gel", BoxGel(size=(0.008, 0.006, 0.002), cells=(16, 12, 1)))
        keys.setdefault("camera", OrthographicCamera(pixel_pitch=1e-4))
        draft = Draft(ModelBuilder(gravity=gravity))
        if body:
            vertices, triangles = shapes.box_surface((0.01, 0.01, 0.004))
            back = pose @ rigid_transform((0.0, 0.0, -0.0035), (0.0, 0.0, 0.0))
            draft.builder.add_body(
                "holder", vertices, triangles, ContactMaterial(), transform=back, density=2000.0, driven=True
            )
        own = pose @ rigid_transform(slip, (0.0, 0.0, 100.0 * slip[0]))  # glued elsewhere on the holder
        self.spec = add_sensor(draft, "pad", Sensor(link="holder", **keys), body, own)
        self.builder = draft.builder
        if add is not None:
            add(draft.builder)
        self.engine = Engine(draft.builder.finalize(worlds, device), options or Options(dt=0.02))
        model = self.engine.model
        points = np.arange(model.points_per_world)[model.meshes["pad"].points]
        self.node = model.embedding.point_node.numpy()[points]
        self.free = model.embedding.point_count.numpy()[points] == 1
        to_sensor = np.linalg.inv(self.spec.world_from_sensor)
        x = self.engine.mesh_positions("pad")
        self.rest = x @ to_sensor[:3, :3].T + to_sensor[:3, 3]

    def deform(self, move, world: int = 0) -> np.ndarray:
        """Put the free vertices at move(rest (n, 3) in the sensor frame [m]); returns all of them, sensor frame."""
        local = self.rest.copy()
        local[self.free] = move(self.rest[self.free])
        pose = self.spec.world_from_sensor
        state = self.engine.get_state()
        rows = self.node[self.free] + world * self.engine.model.nodes_per_world
        state["x"][rows] = local[self.free] @ pose[:3, :3].T + pose[:3, 3]
        self.engine.set_state(state)
        return local

    def carry(self, motion: np.ndarray, world: int = 0) -> None:
        """Move the whole world rigidly. motion (4, 4)."""
        model = self.engine.model
        state, n = self.engine.get_state(), model.nodes_per_world
        x = state["x"][world * n : (world + 1) * n].copy()
        body = model.node_body.numpy()[:n] >= 0
        moved = x @ motion[:3, :3].T + motion[:3, 3]
        for info in model.bodies.values():
            moved[info.node + 1 : info.node + 4] -= motion[:3, 3]  # columns are directions
        assert body.sum() == 4 * len(model.bodies)
        state["x"][world * n : (world + 1) * n] = moved
        self.engine.set_state(state)


def pixel_rays(camera) -> tuple[np.ndarray, np.ndarray]:
    """Start and direction (height, width, 3) of the pixels' rays in the sensor frame, by a formula of their own."""
    rows, columns = np.mgrid[: camera.height, : camera.width].astype(float)
    x, y = columns - (camera.width - 1) / 2.0, rows - (camera.height - 1) / 2.0
    zero, one = np.zeros_like(x), np.ones_like(x)
    if camera.orthographic:
        start = np.stack([x * camera.pixel_pitch, y * camera.pixel_pitch, zero], axis=-1)
        along = np.stack([zero, zero, one], axis=-1)
    else:
        start = np.stack([zero, zero, zero], axis=-1)
        along = np.stack([x / camera.focal_length, y / camera.focal_length, one], axis=-1)
    turn, move = camera.sensor_from_camera[:3, :3], camera.sensor_from_camera[:3, 3]
    return start @ turn.T + move, along @ turn.T
