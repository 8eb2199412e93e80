"""Where the operator wants the tool when something holds it back: its outline at the target, drawn over everything."""

from __future__ import annotations

import numpy as np
import polyscope as ps
import polyscope.imgui as psim

from app.view import palette
from app.view.layout import Rect
from app.view.structures import body_transform

SHOW_FROM = 2e-3  # [m] gap between target and tool that counts as held back


def feature_edges(vertices: np.ndarray, triangles: np.ndarray, angle: float = 30.0) -> np.ndarray:
    """Edges that carry the shape: sharper than an angle [deg], or at a border. (k, 2) vertex ids."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    owner = np.tile(np.arange(len(triangles)), 3)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    edges, owner = edges[order], owner[order]
    same = np.concatenate([(edges[1:] == edges[:-1]).all(axis=1), [False]])
    first = np.flatnonzero(same)
    flat = np.einsum("ij,ij->i", normal[owner[first]], normal[owner[first + 1]]) > np.cos(np.radians(angle))
    drop = np.zeros(len(edges), bool)
    drop[first[flat]] = drop[first[flat] + 1] = True
    drop[first[~flat] + 1] = True
    return edges[~drop]


class Ghost:
    """Outlines of each tool's bodies, kept in the mesh frame."""

    def __init__(self, scene, model):
        """model: the one of the frames to come; a cut replaces it."""
        self._model = model
        self._rows = {name: i for i, name in enumerate(n for n, b in model.bodies.items() if b.driven)}
        self._names = list(model.bodies)
        self._tools = []
        for tool in getattr(scene, "tools", ()):
            bodies = {tool.palm}
            for joint in getattr(tool, "fingers", ()):
                bodies.add(self._names[model.joints[joint].child])
            parts = [
                (info, feature_edges(np.asarray(info.rest), np.asarray(info.triangles)))
                for info in model.meshes.values()
                if info.kind == "body" and info.rest is not None and self._names[info.body] in bodies
            ]
            if tool.palm in self._rows:
                self._tools.append((tool, self._rows[tool.palm], parts))

    def draw(self, frame, view: Rect) -> bool:
        """Draws every held-back tool's outline into the 3D view. True when there was one."""
        if frame is None or frame.signals is None or frame.control is None:
            return False
        shown = False
        points = np.asarray(frame.points)
        for tool, row, parts in self._tools:
            gap = frame.signals.drive_gap[0, row]
            if float(np.linalg.norm(gap)) < SHOW_FROM:
                continue
            shown = True
            # each part keeps its place relative to the palm's origin; the palm itself stands at its target
            body = self._model.bodies[tool.palm]
            reached = np.eye(4)
            reached[:3, 3] = points[body.points]
            reached[:3, :3] = points[body.points + 1 : body.points + 4].T
            target = np.asarray(frame.control.body_transform[0, row]) @ np.linalg.inv(np.asarray(body.com_from_mesh))
            move = target @ np.linalg.inv(reached)
            for info, edges in parts:
                pose = move @ body_transform(self._model, info, points)
                world = np.asarray(info.rest) @ pose[:3, :3].T + pose[:3, 3]
                _lines(world[edges[:, 0]], world[edges[:, 1]], view)
        return shown


def project(world: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Window pixels (n, 2) of world points, and which lie in front of the camera (n,)."""
    camera = ps.get_view_camera_parameters()
    width, height = ps.get_window_size()
    view = camera.get_view_mat()
    eye = world @ view[:3, :3].T + view[:3, 3]
    depth = -eye[:, 2]
    scale = 0.5 * height / np.tan(0.5 * np.radians(camera.get_fov_vertical_deg()))
    safe = np.where(depth > 1e-6, depth, 1.0)
    pixels = np.stack([0.5 * width + scale * eye[:, 0] / safe, 0.5 * height - scale * eye[:, 1] / safe], axis=1)
    return pixels, depth > 1e-6


def _lines(start: np.ndarray, end: np.ndarray, view: Rect) -> None:
    a, front_a = project(start)
    b, front_b = project(end)
    canvas = psim.GetBackgroundDrawList()
    canvas.PushClipRect((view.x, view.y), (view.right, view.bottom))
    color = palette.packed(palette.GHOST, 0.75)
    for p, q in zip(a[front_a & front_b], b[front_a & front_b], strict=True):
        canvas.AddLine((float(p[0]), float(p[1])), (float(q[0]), float(q[1])), color, 1.6)
    canvas.PopClipRect()
