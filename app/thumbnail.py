"""Small pictures of a scene without a graphics context: triangles splatted into a depth buffer, in any thread."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = (288, 180)  # [pixel] width, height
FINE = 2  # samples a pixel along each side
FIELD_OF_VIEW = 38.0  # [deg] vertical, as in the window
BACKDROP = np.array([228.0, 229.0, 231.0])
LOOKS = {"shell": (0.80, 0.62, 0.36), "solid": (0.63, 0.68, 0.73), "body": (0.72, 0.56, 0.39), "static": (0.86,) * 3}
LARGE = 64  # samples: longer triangles are split
SPLATS = 40_000  # at a time: numpy holds the interpreter meanwhile, and the frame loop waits for it
NEAR = 1e-3  # [m] in front of the camera
ROUNDS = 12  # of splitting; what is larger still is left out


class Painter:
    """Pictures of one model from the scene's own camera. Keeps triangles and colours; `paint` may run in any thread."""

    def __init__(self, scene: Any, model: Any):
        visuals = getattr(scene, "visuals", {}) or {}
        faces, colors = [np.zeros((0, 3), int)], [np.zeros((0, 3))]
        for name, info in model.meshes.items():
            look = visuals.get(name)
            if look is not None and not getattr(look, "show", True):
                continue
            triangles = np.asarray(info.triangles, int).reshape(-1, 3) + info.points.start
            color = getattr(look, "color", None) or LOOKS.get(info.kind, LOOKS["body"])
            faces.append(triangles)
            colors.append(np.broadcast_to(np.asarray(color, float)[:3], triangles.shape))
        self._faces, self._colors = np.concatenate(faces), np.concatenate(colors)
        self._eye, self._target = (np.asarray(place, float) for place in tuple(scene.camera)[:2])
        self.num_points = int(model.points_per_world)

    def paint(self, points: np.ndarray) -> np.ndarray | None:
        """(h, w, 3) uint8 of positions (P, 3) [m]; None when they are not of this model or not finite."""
        if len(points) != self.num_points or not len(self._faces) or not np.isfinite(points).all():
            return None
        width, height = SIZE[0] * FINE, SIZE[1] * FINE
        corners, shade = self._in_frame(self._in_camera(points)[self._faces], self._shade(points))
        pixel, depth = _projected(corners)
        return self._splat(pixel, depth, shade, width, height)

    def png(self, points: np.ndarray) -> bytes | None:
        """The same as a PNG file."""
        image = self.paint(points)
        if image is None:
            return None
        from PIL import Image

        out = io.BytesIO()
        Image.fromarray(image).save(out, "PNG", optimize=True)
        return out.getvalue()

    def _in_camera(self, points: np.ndarray) -> np.ndarray:
        """World to camera: x right, y up, looking along -z."""
        back = self._eye - self._target
        back /= np.linalg.norm(back)
        right = np.cross((0.0, 0.0, 1.0), back)
        right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([1.0, 0.0, 0.0])
        return (points - self._eye) @ np.stack([right, np.cross(back, right), back], axis=1)

    def _shade(self, points: np.ndarray) -> np.ndarray:
        """Colours of the triangles (t, 3) in 0..255, lit from the upper left of the camera, both sides alike."""
        a, b, c = (points[self._faces[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        towards = self._eye - (a + b + c) / 3.0
        normal[np.einsum("ij,ij->i", normal, towards) < 0.0] *= -1.0
        light = np.array([-0.25, -0.35, 0.9]) / np.linalg.norm([-0.25, -0.35, 0.9])
        return 255.0 * self._colors * (0.52 + 0.48 * np.clip(normal @ light, 0.0, 1.0))[:, None]

    def _in_frame(self, corners: np.ndarray, shade: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Triangles (t, 3, 3) in the camera's frame that may be seen; large ones in pieces, of which those that lie
        outside the picture or behind the camera are left out."""
        done = [(np.zeros((0, 3, 3)), np.zeros((0, 3)))]
        for _ in range(ROUNDS):
            pixel, depth = _projected(corners)
            ahead = depth > NEAR
            outside = (pixel < 0.0).all(axis=1) | (pixel > (SIZE[0] * FINE, SIZE[1] * FINE)).all(axis=1)
            seen = ahead.any(axis=1) & ~(outside.any(axis=1) & ahead.all(axis=1))
            side = np.linalg.norm(pixel - np.roll(pixel, 1, axis=1), axis=2).max(axis=1, initial=0.0)
            small = seen & ahead.all(axis=1) & (side <= LARGE)
            done.append((corners[small], shade[small]))
            a, b, c = np.moveaxis(corners[seen & ~small], 1, 0)
            ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
            pieces = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
            corners = np.concatenate([np.stack(piece, axis=1) for piece in pieces])
            shade = np.tile(shade[seen & ~small], (4, 1))
        return np.concatenate([one for one, _ in done]), np.concatenate([two for _, two in done])

    def _splat(self, corners, depth, shade, width: int, height: int) -> np.ndarray:
        """Points spread evenly over each triangle, half a sample apart; the nearest one of each sample wins."""
        side = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0.0)
        rows = np.clip(np.ceil(1.35 * side).astype(int) + 1, 2, 2 * LARGE)
        picture = np.broadcast_to(BACKDROP, (height * width, 3)).copy()
        nearest = np.full(height * width, np.inf)
        for count in np.unique(rows):  # triangles that are sampled alike, together
            which = np.flatnonzero(rows == count)
            i, j = np.triu_indices(count)
            u, v = i / (count - 1), (count - 1 - j) / (count - 1)
            weight = np.stack([u, v, 1.0 - u - v], axis=1)  # (s, 3)
            for some in np.array_split(which, max(1, len(which) * len(weight) // SPLATS)):
                place = np.einsum("sk,tkd->tsd", weight, corners[some]).astype(int).reshape(-1, 2)
                far = (depth[some] @ weight.T).reshape(-1)
                owner = np.repeat(some, len(weight))
                inside = ((place >= 0) & (place < (width, height))).all(axis=1)
                cell = place[inside, 1] * width + place[inside, 0]
                far, owner = far[inside], owner[inside]
                np.minimum.at(nearest, cell, far)
                won = far <= nearest[cell]
                picture[cell[won]] = shade[owner[won]]
        small = picture.reshape(SIZE[1], FINE, SIZE[0], FINE, 3).mean(axis=(1, 3))
        return np.clip(np.rint(small), 0, 255).astype(np.uint8)


def _projected(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples (t, 3, 2) and depth [m] (t, 3) of triangles in the camera's frame."""
    scale = 0.5 * SIZE[1] * FINE / np.tan(0.5 * np.radians(FIELD_OF_VIEW))
    depth = -corners[..., 2]
    across = corners[..., :2] * (scale / np.maximum(depth, NEAR))[..., None] * (1.0, -1.0)
    return across + (0.5 * SIZE[0] * FINE, 0.5 * SIZE[1] * FINE), depth


def session_painter(session: Any) -> Callable[[np.ndarray], bytes | None]:
    """PNG of positions of what a session shows, whole or as it is cut now; made at the first call, in any thread."""
    made: dict[int, Painter] = {}

    def png(points: np.ndarray) -> bytes | None:
        for model in (session.model, session.scene.model):
            if len(points) == int(model.points_per_world):
                if len(points) not in made:
                    made[len(points)] = Painter(session.scene, model)
                return made[len(points)].png(points)
        return None

    return png
