"""Meshes as a draughtsman draws them: borders, creases and the edges where a surface turns away. For what is shown
beside the scene itself: the second episode of a comparison, the recording beside a replay by inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polyscope as ps
import polyscope.imgui as psim

from app.view import palette
from app.view.ghost import project
from app.view.layout import Rect

CREASE = 30.0  # [deg] between two faces at rest from which their edge is always drawn
WIDTH = 1.7  # [px]
COLOR = palette.PURPLE


@dataclass(frozen=True)
class _Edges:
    points: slice  # of the mesh in a row of positions
    triangles: np.ndarray  # (t, 3)
    ends: np.ndarray  # (e, 2) vertices
    faces: np.ndarray  # (e, 2) triangles on both sides, the same one twice at a border
    always: np.ndarray  # (e,) borders and creases


class Outline:
    """Of everything in a model that moves."""

    def __init__(self, model: Any):
        self._meshes = [_edges(info) for info in model.meshes.values() if info.kind != "static" and len(info.triangles)]

    def segments(self, points: np.ndarray, eye: np.ndarray) -> np.ndarray:
        """(k, 2, 3) [m], of positions (P, 3) [m] seen from `eye`; empty when they are not of this model."""
        found = [np.zeros((0, 2, 3))]
        for mesh in self._meshes:
            if mesh.points.stop > len(points):
                return found[0]
            x = points[mesh.points]
            a, b, c = (x[mesh.triangles[:, k]] for k in range(3))
            towards = np.einsum("ij,ij->i", np.cross(b - a, c - a), eye - a) > 0.0
            shown = mesh.always | (towards[mesh.faces[:, 0]] != towards[mesh.faces[:, 1]])
            found.append(x[mesh.ends[shown]])
        return np.concatenate(found)

    def draw(self, points: np.ndarray, view: Rect) -> None:
        """Over the 3D view."""
        canvas = psim.GetBackgroundDrawList()
        canvas.PushClipRect((view.x, view.y), (view.right, view.bottom))
        color = palette.packed(COLOR, 0.9)
        for p, q in self.pixels(points).tolist():
            canvas.AddLine(tuple(p), tuple(q), color, WIDTH)
        canvas.PopClipRect()

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """(k, 2, 2) window pixels of the segments in front of the camera."""
        eye = np.asarray(ps.get_view_camera_parameters().get_position())
        segments = self.segments(points, eye)
        if not len(segments):
            return np.zeros((0, 2, 2))
        pixels, front = project(segments.reshape(-1, 3))
        return pixels.reshape(-1, 2, 2)[front.reshape(-1, 2).all(axis=1)]

    def onto(self, image: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The same lines on a picture of the whole window (h, w, 3) uint8."""
        from PIL import Image, ImageDraw

        picture = Image.fromarray(image)
        pen = ImageDraw.Draw(picture)
        color = tuple(round(255 * c) for c in COLOR)
        for p, q in self.pixels(points).tolist():
            pen.line([tuple(p), tuple(q)], fill=color, width=2)
        return np.asarray(picture)


def _edges(info: Any) -> _Edges:
    triangles = np.asarray(info.triangles, int)
    owner = np.tile(np.arange(len(triangles)), 3)
    ends = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, owner = ends[order], owner[order]
    first = np.flatnonzero(np.concatenate([[True], (ends[1:] != ends[:-1]).any(axis=1)]))
    count = np.diff(np.append(first, len(ends)))
    faces = np.stack([owner[first], owner[first + np.minimum(count - 1, 1)]], axis=1)
    always = count == 1
    if info.rest is not None and info.kind == "body":
        a, b, c = (np.asarray(info.rest, float)[triangles[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        always |= np.einsum("ij,ij->i", normal[faces[:, 0]], normal[faces[:, 1]]) < np.cos(np.radians(CREASE))
    return _Edges(info.points, triangles, ends[first], faces, always)
