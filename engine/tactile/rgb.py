"""Colour images on the device, for all worlds at once.

Of the pixel network (`engine.tactile.colour_network`) the factor of the place is constant, so it is evaluated when the
sensor is made; the factor of the tilt becomes a table over the two components of the normal along the undeformed coat.
A pixel then costs one bilinear look-up of RANK numbers and three scalar products.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.tactile.calibration import Calibration
from engine.tactile.colour_network import RANK, field_places

wp.set_module_options({"enable_backward": False})

TABLE = 193  # entries along each axis of the tilt; odd, so that no tilt is an entry and its change exactly 0
LAST = wp.constant(TABLE - 2)
HALF = wp.constant(wp.float32(0.5 * (TABLE - 1)))
Factors = wp.types.vector(length=RANK, dtype=wp.float32)


@wp.kernel
def colour_kernel(
    # Sensor:
    reference: wp.array2d(dtype=wp.vec3ub),
    along_columns: wp.array2d(dtype=wp.vec3f),  # tangents of the undeformed coat, in the frame of the normals
    along_rows: wp.array2d(dtype=wp.vec3f),
    red: wp.array2d(dtype=Factors),
    green: wp.array2d(dtype=Factors),
    blue: wp.array2d(dtype=Factors),
    table: wp.array2d(dtype=Factors),
    # In:
    normal: wp.array3d(dtype=wp.vec3f),
    stride: int,
    # Out:
    rgb_out: wp.array3d(dtype=wp.vec3ub),
):
    w, i, j = wp.tid()
    one = wp.float32(1.0)
    while j < reference.shape[1]:  # on the CPU a thread takes a whole row: starting one costs more than a pixel
        n = normal[w, i, j]
        x = wp.dot(n, along_columns[i, j])
        y = wp.dot(n, along_rows[i, j])
        rest = reference[i, j]
        seen = rest
        if x != wp.float32(0.0) or y != wp.float32(0.0):  # else undeformed, or nothing seen
            gx = (wp.clamp(x, -one, one) + one) * HALF
            gy = (wp.clamp(y, -one, one) + one) * HALF
            kx = wp.min(int(gx), LAST)
            ky = wp.min(int(gy), LAST)
            fx = gx - wp.float32(kx)
            fy = gy - wp.float32(ky)
            near = table[kx, ky] * (one - fx) + table[kx + 1, ky] * fx
            far = table[kx, ky + 1] * (one - fx) + table[kx + 1, ky + 1] * fx
            q = near * (one - fy) + far * fy
            seen = wp.vec3ub(
                shifted(rest[0], wp.dot(q, red[i, j])),
                shifted(rest[1], wp.dot(q, green[i, j])),
                shifted(rest[2], wp.dot(q, blue[i, j])),
            )
        rgb_out[w, i, j] = seen
        j += stride


@wp.func
def shifted(rest: wp.uint8, change: wp.float32) -> wp.uint8:
    value = wp.float32(int(rest)) + wp.float32(255.0) * change
    return wp.uint8(int(wp.rint(wp.clamp(value, wp.float32(0.0), wp.float32(255.0)))))


class ColourModel:
    """Colour images of one sensor; what `TactileArray(colours={name: ...})` takes.

    Args:
        calibration: weights and reference. camera: `engine.tactile.spec.Camera`, of the same field of view.
        device: of the arrays. sensor: name of the sensor, to refuse another one's weights; None = any.
        rest_normals: (height, width, 3) of the undeformed coat in the sensor frame, 0 where none is seen; None: flat.

    Raises CalibrationError: weights of another sensor.
    """

    def __init__(
        self, calibration: Calibration, camera, device: str = "cpu", sensor: str | None = None,
        rest_normals: np.ndarray | None = None,
    ):  # fmt: skip
        calibration.check_camera(camera, sensor)
        self.calibration, self.camera, self.device = calibration, camera, device
        shape = (camera.height, camera.width)
        self._reference = calibration.reference_at(camera.width, camera.height)
        self._rest = wp.array(self._reference, dtype=wp.vec3ub, device=device)
        factors = calibration.network.place_factors(field_places(camera.width, camera.height))
        self._places = [
            wp.array(np.ascontiguousarray(factors[:, :, c]).reshape(*shape, RANK), dtype=Factors, device=device)
            for c in range(3)
        ]
        self._table = wp.array(_tilt_table(calibration.network), dtype=Factors, device=device)
        self.set_rest(rest_normals)

    def set_rest(self, normals: np.ndarray | None) -> None:
        """Normals of the undeformed coat in the sensor frame, (height, width, 3); None: a flat coat."""
        tangents = _tangents(self.camera, normals)
        self._tangents = [wp.array(t, dtype=wp.vec3f, device=self.device) for t in tangents]

    def reference(self) -> np.ndarray:
        """Image of the undeformed coat, (height, width, 3) uint8, a copy."""
        return self._reference.copy()

    def launch(self, depth, normal: wp.array, rgb: wp.array) -> None:
        """Colour images of all worlds: normal (W, height, width) vec3f in the sensor frame -> rgb (W, height, width)
        vec3ub. depth is not used: what the light does depends on the tilt alone."""
        worlds, height, width = normal.shape
        stride = 1 if wp.get_device(self.device).is_cpu else width
        wp.launch(
            colour_kernel, (worlds, height, stride),
            [self._rest, *self._tangents, *self._places, self._table, normal, stride], [rgb], device=self.device,
        )  # fmt: skip

    def image(self, normal: np.ndarray) -> np.ndarray:
        """One image, (height, width, 3) uint8, from normals in the sensor frame (height, width, 3)."""
        given = wp.array(normal[None], dtype=wp.vec3f, device=self.device)
        rgb = wp.empty(given.shape, dtype=wp.vec3ub, device=self.device)
        self.launch(None, given, rgb)
        return rgb.numpy()[0]


def _tilt_table(network) -> np.ndarray:
    """Q on the grid, (TABLE, TABLE, RANK). Corners beyond the unit circle take the nearest tilt on it."""
    axis = np.linspace(-1.0, 1.0, TABLE)
    tilt = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    tilt /= np.maximum(np.linalg.norm(tilt, axis=1, keepdims=True), 1.0)
    return network.tilt_factors(tilt).reshape(TABLE, TABLE, RANK).astype(np.float32)


def _tangents(camera, normals: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Unit tangents of the undeformed coat along columns and rows, (height, width, 3) each; 0 where nothing is seen.

    On a flat coat before an upright camera they are the sensor's x and y to the bit, and an undeformed normal's
    products with them are exactly 0."""
    shape = (camera.height, camera.width, 3)
    columns, rows = camera.sensor_from_camera[:3, 0], camera.sensor_from_camera[:3, 1]
    n = np.broadcast_to((0.0, 0.0, 1.0), shape) if normals is None else np.asarray(normals, float)
    seen = (np.linalg.norm(n, axis=2, keepdims=True) > 0.5).astype(float)
    along = columns - n * (n @ columns)[:, :, None]
    across = rows - n * (n @ rows)[:, :, None]
    along /= np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-12)
    across -= along * (across * along).sum(axis=2, keepdims=True)
    across /= np.maximum(np.linalg.norm(across, axis=2, keepdims=True), 1e-12)
    return along * seen, across * seen
