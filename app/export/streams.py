"""Images of a demonstration, one a state: of its pads as recorded, of its cameras as drawn; and what they look like in
eight bits, for formats that hold nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from app.export.demonstrations import Demonstration
from app.record.camera_file import CameraPictures, encode_depth

# what is white, or for shear fully red and green, in a picture of eight bits
WHITE = {"indentation": 2e-3, "pressure": 2e5, "depth": 1.5}  # [m, Pa, m]
SHEAR_SPAN = 1e5  # [Pa]


@dataclass(frozen=True)
class Stream:
    """key: a name within the demonstration; source: pad or camera; of_camera: which of both; kind: rgb, depth (of a
    camera), indentation, pressure, shear or contact (of a pad); images: makes n arrays, (h, w, 3) uint8, (h, w) or, of
    shear, (h, w, 2)."""

    key: str
    source: str
    of_camera: bool
    kind: str
    images: Callable[[], Iterator[np.ndarray]]

    def in_eight_bits(self) -> Iterator[np.ndarray]:
        """The images as `as_rgb` shows them."""
        return (as_rgb(image, self.kind) for image in self.images())


def streams(demo: Demonstration) -> list[Stream]:
    """Those of pads, then those of cameras that were drawn; none without `options.images`."""
    found = []
    for path in demo.image_names():
        pad, name = path.split("/")[1:]
        kind = {"depth": "indentation", "image": "rgb"}.get(name, name)  # as older versions called them
        found.append(Stream(f"{pad}_{name}", pad, False, kind, lambda path=path: demo.images(path)))
    for camera in camera_names(demo):
        for kind, key in (("rgb", "image"), ("depth", "depth")):
            images = lambda c=camera, k=kind: camera_pictures(demo, c, k, demo.frames + 1)  # noqa: E731
            found.append(Stream(f"{camera}_{key}", camera, True, kind, images))
    return found


def camera_names(demo: Demonstration) -> list[str]:
    """Cameras whose pictures were drawn; none without `options.images`."""
    pictures = demo.episode.cameras if demo.options.images else None
    return [] if pictures is None else pictures.names


def camera_pictures(demo: Demonstration, camera: str, kind: str, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Of each row of positions the picture (kind: rgb or depth) at or before it."""
    pictures: CameraPictures = demo.episode.cameras
    read = pictures.rgb if kind == "rgb" else pictures.depth
    known, image = -1, None
    for row in rows:
        k = pictures.at(int(row))
        if k != known:
            known, image = k, read(camera, k)
        yield image


def camera_geometry(demo: Demonstration, camera: str) -> tuple[np.ndarray, np.ndarray]:
    """Intrinsics (n, 3, 3) [pixel] and world from camera (n, 4, 4) of the picture of each state."""
    pictures = demo.episode.cameras
    shown = [pictures.at(int(row)) for row in demo.frames + 1]
    return pictures.intrinsics(camera)[shown], pictures.poses(camera)[shown]


def as_rgb(image: np.ndarray, kind: str) -> np.ndarray:
    """uint8 (h, w, 3): colours as they are, a field grey from 0 to WHITE, contact black and white, shear along x in red
    and along y in green, 128 for none and 0 and 255 at -SHEAR_SPAN and SHEAR_SPAN."""
    if kind == "rgb":
        if image.dtype == np.uint8:
            return image
        return np.rint(255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8)
    field = np.nan_to_num(np.asarray(image, float))
    if kind == "shear":
        out = np.full((*field.shape[:2], 3), 128, np.uint8)
        out[..., :2] = np.rint(127.5 + 127.5 * np.clip(field / SHEAR_SPAN, -1.0, 1.0))
        return out
    field = field.reshape(field.shape[:2]) / WHITE.get(kind, 1.0)
    return np.repeat(np.rint(255.0 * np.clip(field, 0.0, 1.0)).astype(np.uint8)[..., None], 3, axis=2)


def depth_png(depth: np.ndarray) -> bytes:
    """A PNG of sixteen bits, in units of 0.1 mm, 0 where nothing is seen; depth (h, w) [m]."""
    return png(encode_depth(depth))


def png(image: np.ndarray) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    return out.getvalue()
