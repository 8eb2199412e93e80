"""A calibrated sensor on disk: reference image and pixel network, with the camera that they were made for."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.npz import read_npz
from engine.tactile.colour_network import MAX_LAYERS, ColourNetwork, field_places

VERSION = 1
MAX_SIDE = 4096  # [pixel] of a reference image
MAX_BYTES = 100_000_000  # of a file's arrays, unpacked
FIELD_TOLERANCE = 0.01  # [-] by which two fields of view may differ


class CalibrationError(ValueError):
    """A calibration cannot be read, or is not this sensor's. The text says which file and what would fit."""


@dataclass(frozen=True)
class Calibration:
    """sensor: name of the sensor; pixel_pitch [m] on the coat; reference (height, width, 3) uint8: the image of the
    undeformed coat; notes: origin, licence, scores, as text; source: the file, for messages."""

    sensor: str
    pixel_pitch: float
    reference: np.ndarray
    network: ColourNetwork
    notes: dict[str, str] = field(default_factory=dict)
    source: str = "calibration"

    def __post_init__(self):
        r = self.reference
        if r.dtype != np.uint8 or r.ndim != 3 or r.shape[2] != 3 or min(r.shape) < 1 or max(r.shape) > MAX_SIDE:
            raise CalibrationError(
                f"{self.source}: reference is {r.dtype} {r.shape}; it must be uint8 (height, width, 3)"
            )
        if not (np.isfinite(self.pixel_pitch) and self.pixel_pitch > 0.0):
            raise CalibrationError(f"{self.source}: pixel_pitch is {self.pixel_pitch!r}; it must be greater than 0 [m]")

    @property
    def width(self) -> int:
        return self.reference.shape[1]

    @property
    def height(self) -> int:
        return self.reference.shape[0]

    @property
    def field_of_view(self) -> tuple[float, float]:
        """Extent of the seen coat along columns and rows [m]."""
        return self.width * self.pixel_pitch, self.height * self.pixel_pitch

    def check_camera(self, camera, sensor: str | None = None) -> None:
        """Raises CalibrationError when these weights are another sensor's: another name, or another field of view.

        camera: `engine.tactile.spec.Camera`; sensor: name to compare with, None = any. Coarser or finer pixels over the
        same field are right: the weights speak of places on the coat.
        """
        own = f"{self.source} was made for sensor '{self.sensor}'"
        if sensor is not None and sensor != self.sensor:
            raise CalibrationError(f"{own}, this sensor is a '{sensor}': calibrate it, or name its own file")
        if not camera.orthographic:
            raise CalibrationError(f"{own} with parallel rays; this camera is a pinhole")
        seen = (camera.width * camera.pixel_pitch, camera.height * camera.pixel_pitch)
        off = max(abs(a / b - 1.0) for a, b in zip(seen, self.field_of_view, strict=True))
        if off > FIELD_TOLERANCE:
            raise CalibrationError(
                f"{own} with {_field(self.width, self.height, self.pixel_pitch)}; this camera sees "
                f"{_field(camera.width, camera.height, camera.pixel_pitch)}. The fields must agree within "
                f"{100 * FIELD_TOLERANCE:g} %"
            )

    def reference_at(self, width: int, height: int) -> np.ndarray:
        """Reference as other pixels over the same field see it, means over areas, (height, width, 3) uint8."""
        if (width, height) == (self.width, self.height):
            return self.reference
        rows, columns = _overlap(self.height, height), _overlap(self.width, width)
        mean = np.einsum("rh,hwc,dw->rdc", rows, self.reference.astype(float), columns, optimize=True)
        return np.rint(mean).astype(np.uint8)

    def image(self, normal: np.ndarray) -> np.ndarray:
        """Colour image, (height, width, 3) uint8, from unit normals (height, width, 3) in the camera's frame: columns,
        rows, outward. The plain way, on the host; `engine.tactile.rgb` is the fast one. A normal of 0 sees nothing and
        gives the reference."""
        height, width = normal.shape[:2]
        tilt = normal.reshape(-1, 3)[:, :2].astype(float)
        change = self.network.change(field_places(width, height), tilt).reshape(height, width, 3)
        value = self.reference_at(width, height) + 255.0 * change
        return np.rint(np.clip(value, 0.0, 255.0)).astype(np.uint8)

    def save(self, path: str | Path) -> None:
        """Write an .npz; the reference as differences of neighbours in a row, which pack to half the size."""
        n = self.network
        arrays = {"version": VERSION, "sensor": self.sensor, "pixel_pitch": self.pixel_pitch,
                  "reference_differences": np.diff(self.reference, axis=1, prepend=np.uint8(0)),
                  "places": n.places.astype(np.float32), "degree": n.degree, "low": n.low, "high": n.high,
                  "notes": np.array([f"{k}: {v}" for k, v in self.notes.items()] or [""])}  # fmt: skip
        for k, (w, b) in enumerate(n.layers):
            arrays[f"weights_{k}"], arrays[f"bias_{k}"] = w.astype(np.float32), b.astype(np.float32)
        with open(path, "wb") as file:
            np.savez_compressed(file, **arrays)


def load_calibration(path: str | Path) -> Calibration:
    """Read a calibration. Raises CalibrationError naming the file and what is wrong with it."""
    path = Path(path)
    if not path.is_file():
        raise CalibrationError(f"there is no calibration {path}; make one with: tacktile sensor calibrate IMAGES")
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > MAX_BYTES:
            raise CalibrationError(f"{path}: {size / 1e6:.0f} MB unpacked; at most {MAX_BYTES / 1e6:.0f} MB")
        return _read(path, read_npz(path, MAX_BYTES))
    except CalibrationError:
        raise
    except Exception as error:  # whatever zip, zlib and npy parsers throw at bytes that are none of theirs
        raise CalibrationError(f"{path} is not a calibration of this program: {error}") from None


def _read(path: Path, found: dict[str, np.ndarray]) -> Calibration:
    if int(found["version"]) != VERSION:
        raise CalibrationError(f"{path}: version {int(found['version'])}; this program reads version {VERSION}")
    layers = []
    while f"weights_{len(layers)}" in found and len(layers) < MAX_LAYERS:
        k = len(layers)
        layers.append((found[f"weights_{k}"].astype(float), found[f"bias_{k}"].astype(float)))
    network = ColourNetwork(
        tuple(layers), found["places"].astype(float), int(found["degree"]), found["low"].astype(float),
        found["high"].astype(float),
    )  # fmt: skip
    differences = found["reference_differences"]
    if differences.dtype != np.uint8:
        raise CalibrationError(f"{path}: its reference is {differences.dtype}; it must be uint8")
    notes = dict(line.split(": ", 1) for line in found["notes"].tolist() if ": " in line)
    reference = np.cumsum(differences, axis=1, dtype=np.uint8)
    return Calibration(str(found["sensor"]), float(found["pixel_pitch"]), reference, network, notes, str(path))


def _overlap(count: int, wanted: int) -> np.ndarray:
    """Shares of `count` even cells in each of `wanted` even cells over one length, (wanted, count); rows sum to 1."""
    edges, cells = np.arange(wanted + 1) * (count / wanted), np.arange(count)
    covered = np.minimum(edges[1:, None], cells + 1.0) - np.maximum(edges[:-1, None], cells)
    share = np.maximum(covered, 0.0)
    return share / share.sum(axis=1, keepdims=True)


def _field(width: int, height: int, pitch: float) -> str:
    return (
        f"{width} x {height} pixels of {1e6 * pitch:.3g} um, {1e3 * width * pitch:.3g} x {1e3 * height * pitch:.3g} mm"
    )
