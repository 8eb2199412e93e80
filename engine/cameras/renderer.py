"""Pictures of triangles: which of them each pixel sees (`engine/tactile/raster.py`), then its colour and depth.

The same picture to the bit whenever it is drawn again: the nearest triangle is an atomic minimum, and every pixel is
coloured by itself. Runs on the CPU and on CUDA.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp
from scipy.sparse import csr_matrix

from engine.cameras.pinhole import Pinhole
from engine.cameras.shading import Faces, Lamp, average_kernel, shade_kernel
from engine.tactile.raster import FARTHEST, MAX_TRIANGLES, NOTHING, Cameras, cover_kernel

TOWARD_LAMP = np.array([-0.35, -0.45, 1.0])  # in the world
SHADOW_SIDE = 1024  # [pixel] of the lamp's image
COARSE, FINE = 1, 2  # samples along each side of a pixel


@dataclass(frozen=True, eq=False)
class Surface:
    """What is drawn. triangles (T, 3) of V vertices; color (T, 3) as on a screen, 0 to 1; gloss (T, 2): strength of
    the highlight [-], and how often its cosine is squared; casts (T,) bool: throws a shadow.

    Raises ValueError: too many triangles, or arrays that do not fit.
    """

    triangles: np.ndarray
    color: np.ndarray
    gloss: np.ndarray
    casts: np.ndarray
    num_vertices: int

    def __post_init__(self):
        count = len(self.triangles)
        if not 0 < count <= MAX_TRIANGLES:
            raise ValueError(f"{count} triangles to draw; legal: 1 to {MAX_TRIANGLES}")
        for name in ("color", "gloss", "casts"):
            if len(getattr(self, name)) != count:
                raise ValueError(f"{name} has {len(getattr(self, name))} rows; there are {count} triangles")
        if self.triangles.min() < 0 or self.triangles.max() >= self.num_vertices:
            raise ValueError(f"triangles name vertices outside 0..{self.num_vertices - 1}")


@dataclass(frozen=True)
class Picture:
    """rgb (h, w, 3) uint8; depth (h, w) float32: distance along the camera's z [m], 0 where nothing is seen (or nothing
    nearer than 8 m)."""

    rgb: np.ndarray
    depth: np.ndarray


class Renderer:
    """Draws one Surface whose vertices move. samples: along each side of a pixel for the colours, 1 or 2; the depth is
    always that of the pixel's middle."""

    def __init__(self, surface: Surface, device: str = "cpu", samples: int = FINE):
        if samples not in (COARSE, FINE):
            raise ValueError(f"samples is {samples}; legal: {COARSE}, {FINE}")
        self.surface, self.device, self.samples = surface, device, samples
        t = len(surface.triangles)
        self._gather = csr_matrix(
            (np.ones(3 * t), (surface.triangles.reshape(-1), np.repeat(np.arange(t), 3))),
            shape=(surface.num_vertices, t),
        )
        self._triangles = self._array(surface.triangles, wp.vec3i)
        self._owner, self._start = self._array(np.zeros(t), int), self._array(np.zeros(1), int)
        self._casters = self._array(surface.triangles[surface.casts], wp.vec3i)
        self._color = self._array(np.asarray(surface.color, float) ** 2, wp.vec3f)
        self._gloss = self._array(surface.gloss, wp.vec2f)
        self._buffers: dict[Pinhole, tuple] = {}
        self._shadow = wp.empty((1, SHADOW_SIDE * SHADOW_SIDE), dtype=wp.int64, device=device)
        self._x: np.ndarray | None = None

    def move(self, x: np.ndarray) -> None:
        """Vertices [m] (V, 3) in the world, for the pictures that follow. Makes normals and the lamp's image."""
        triangles = self.surface.triangles
        if x.shape != (self.surface.num_vertices, 3):
            raise ValueError(f"vertices are {x.shape}; expected {(self.surface.num_vertices, 3)}")
        self._x = np.ascontiguousarray(x, float)
        corner = self._x[triangles]
        normal = self._gather @ np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        self._normal = self._array(normal, wp.vec3f)
        self._lamp = self._see_casters()

    def picture(self, pinhole: Pinhole, world_from_camera: np.ndarray) -> Picture:
        """What a camera sees of the last `move`. world_from_camera (4, 4), rigid."""
        if self._x is None:
            raise ValueError("there is nothing to see before the first move(x)")
        turn, eye = world_from_camera[:3, :3], world_from_camera[:3, 3]
        seen = self._array(((self._x - eye) @ turn)[None], wp.vec3d)
        faces = Faces()
        faces.seen, faces.normal, faces.triangles = seen, self._normal, self._triangles
        faces.color, faces.gloss = self._color, self._gloss
        views, rgb = self._views(pinhole)
        for cameras, key, light, depth in views:
            self._cover(seen, self._triangles, cameras, key)
            wp.launch(
                shade_kernel, key.shape[1],
                [key, cameras, wp.mat33d(turn), wp.vec3d(eye), faces, self._lamp], [light, depth], device=self.device,
            )  # fmt: skip
        wp.launch(average_kernel, len(rgb), [views[-1][2], pinhole.width, self.samples], [rgb], device=self.device)
        shape = (pinhole.height, pinhole.width)
        return Picture(rgb.numpy().reshape(*shape, 3).copy(), views[0][3].numpy().reshape(shape).copy())

    def _views(self, pinhole: Pinhole) -> tuple:
        """Cameras and buffers of the depth, and of the colours where they are finer."""
        if pinhole not in self._buffers:
            found = []
            for samples in dict.fromkeys((COARSE, self.samples)):
                width, height, step = samples * pinhole.width, samples * pinhole.height, pinhole.step / samples
                arrays = (wp.empty(width * height, dtype=kind, device=self.device) for kind in (wp.vec3f, wp.float32))
                key = wp.empty((1, width * height), dtype=wp.int64, device=self.device)
                found.append((self._cameras(width, height, step, parallel=False), key, *arrays))
            rgb = wp.empty(pinhole.width * pinhole.height, dtype=wp.vec3ub, device=self.device)
            self._buffers[pinhole] = found, rgb
        return self._buffers[pinhole]

    def _see_casters(self) -> Lamp:
        """The lamp's image of what throws a shadow, as large as that is."""
        toward = TOWARD_LAMP / np.linalg.norm(TOWARD_LAMP)
        right = np.cross((0.0, 1.0, 0.0), toward)
        right /= np.linalg.norm(right)
        axes = np.stack([right, np.cross(-toward, right), -toward], axis=1)
        lamp = Lamp()
        lamp.toward, lamp.axes, lamp.side, lamp.key = wp.vec3d(toward), wp.mat33d(axes), 0, self._shadow.flatten()
        casters = self.surface.triangles[self.surface.casts]
        if not len(casters):
            return lamp
        x = self._x[np.unique(casters)]
        local = x @ axes
        low, high = local.min(axis=0), local.max(axis=0)
        width = float(max(high[:2] - low[:2])) + 1e-6
        if not width < FARTHEST or not high[2] - low[2] < FARTHEST - 2e-3:  # something flew away
            return lamp
        origin = axes @ [*(0.5 * (low + high))[:2], low[2] - 1e-3]
        step = width / (SHADOW_SIDE - 2)
        cameras = self._cameras(SHADOW_SIDE, SHADOW_SIDE, step, parallel=True)
        seen = self._array(((self._x - origin) @ axes)[None], wp.vec3d)
        self._cover(seen, self._casters, cameras, self._shadow)
        lamp.origin, lamp.step, lamp.side = wp.vec3d(origin), step, SHADOW_SIDE
        return lamp

    def _cover(self, seen, triangles, cameras: Cameras, key) -> None:
        key.fill_(int(NOTHING))
        wp.launch(
            cover_kernel, (1, len(triangles)), [seen, triangles, self._owner, self._start, cameras], [key],
            device=self.device,
        )  # fmt: skip

    def _cameras(self, width: int, height: int, step: float, parallel: bool) -> Cameras:
        cameras = Cameras()
        cameras.width, cameras.height = self._array([width], int), self._array([height], int)
        cameras.parallel, cameras.step = self._array([int(parallel)], int), self._array([step], wp.float64)
        cameras.axes, cameras.origin = self._array(np.eye(3)[None], wp.mat33d), self._array(np.zeros((1, 3)), wp.vec3d)
        cameras.pixel_start = self._start
        return cameras

    def _array(self, values, dtype):
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)
