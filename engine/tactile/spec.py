"""What a sensor is: fixed data, one instance a sensor, made by the scene.

Frames. *Sensor frame*: in the middle of the undeformed coat, z out of it; it moves with the body that holds the pad.
*Camera frame*: x along the columns of the image, y along its rows, z forward (the direction in which it looks).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Camera:
    """An ideal camera; pixel (row r, column c) is sampled at its middle.

    width, height [pixel]; sensor_from_camera (4, 4). Orthographic (`focal_length` 0): parallel rays `pixel_pitch` [m]
    apart. Pinhole: rays through the origin, `focal_length` [pixel]. The image is centred on the camera's z axis.
    """

    width: int
    height: int
    sensor_from_camera: np.ndarray
    pixel_pitch: float = 0.0
    focal_length: float = 0.0

    @property
    def orthographic(self) -> bool:
        return self.focal_length == 0.0

    def rays(self) -> np.ndarray:
        """Where the pixels' rays cross the plane z = 0 (orthographic [m]) or z = 1 (pinhole [-]) of the camera frame,
        row by row, float64 (height * width, 2)."""
        step = self.pixel_pitch if self.orthographic else 1.0 / self.focal_length
        x = (np.arange(self.width) - 0.5 * (self.width - 1)) * step
        y = (np.arange(self.height) - 0.5 * (self.height - 1)) * step
        return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Columns and rows [pixel], float64 (n, 2), of points (n, 3) in the sensor frame [m]: (0, 0) is the middle of
        the first pixel. NaN behind the camera."""
        rotation, origin = self.sensor_from_camera[:3, :3], self.sensor_from_camera[:3, 3]
        seen = (np.asarray(points, float) - origin) @ rotation
        middle = 0.5 * np.array([self.width - 1, self.height - 1])
        if self.orthographic:
            flat = seen[:, :2] / self.pixel_pitch
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                flat = self.focal_length * seen[:, :2] / seen[:, 2:]
        return np.where(seen[:, 2:] > 0.0, flat, np.nan) + middle


@dataclass(frozen=True)
class SensorSpec:
    """One tactile sensor.

    mesh: name of the solid that is its gel; body: name of what holds it, None when it is pinned in the world;
    coat (k, 3): local vertex ids of the sensing faces, wound outwards; held (h,): local ids of the bonded vertices;
    world_from_sensor (4, 4): the sensor frame at the model's start; marker_triangle (m,), marker_weights (m, 3): coat
    triangle and barycentric weights of each dot; marker_shape: (rows, columns), (0, 0) when they form no grid;
    calibration: engine.tactile.calibration.Calibration of the colour image, None for none; preset: name that it was
    made from, or None.
    """

    name: str
    mesh: str
    body: str | None
    coat: np.ndarray
    held: np.ndarray
    world_from_sensor: np.ndarray
    camera: Camera
    marker_triangle: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    marker_weights: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    marker_shape: tuple[int, int] = (0, 0)
    calibration: object = None
    preset: str | None = None


def place_markers(places, points: np.ndarray, coat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coat triangle (m,), its weights (m, 3) and found (m,) of dots at `places` (m, 2), sensor's x and y [m].

    A dot lies where a line along z meets the coat; of several places the outermost. points (n, 3) of the undeformed
    mesh in the sensor frame [m]; coat (k, 3).
    """
    corners = points[coat]
    a, b, c = (corners[:, k, :2] for k in range(3))
    area = _cross(b - a, c - a)
    safe = np.where(area == 0.0, 1.0, area)
    triangle, weights = np.full(len(places), -1), np.zeros((len(places), 3))
    for i, p in enumerate(np.asarray(places, float)):
        wb, wc = _cross(p - a, c - a) / safe, _cross(b - a, p - a) / safe
        w = np.stack([1.0 - wb - wc, wb, wc], axis=1)
        inside = (w.min(axis=1) >= -1e-9) & (area != 0.0)
        if inside.any():
            height = np.where(inside, (w * corners[:, :, 2]).sum(axis=1), -np.inf)
            triangle[i] = int(np.argmax(height))
            weights[i] = np.maximum(w[triangle[i]], 0.0)
            weights[i] /= weights[i].sum()
    return triangle.astype(np.int32), weights, triangle >= 0


def _cross(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
