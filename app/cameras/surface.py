"""The triangles of a scene as its cameras see them: what is drawn, in which colour, and where it is at each state."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.view.shading import split_sharp_edges
from engine.cameras import Surface
from engine.types import mesh_pose

GLOSS = {  # finish of a look -> strength of its highlight, and how often its cosine is squared
    "matte": (0.02, 3), "cardboard": (0.01, 3), "satin": (0.12, 4), "tape": (0.16, 5), "gel": (0.25, 6),
    "gloss": (0.35, 6), "metal": (0.30, 5),
}  # fmt: skip
PLAIN = (0.7, 0.7, 0.7)


class SceneSurface:
    """Every mesh that the window draws at start, once a model (a cut makes another).

    Sheets are drawn as they are, without thickness: the depth is that of their middle. Nothing is transparent. A link
    of a robot is drawn as finely as in the window.
    """

    def __init__(self, scene: Any, model: Any, points: np.ndarray):
        self._gathered: list[np.ndarray] = []  # by mesh: point of each drawn vertex, or none
        self._riding: list[tuple[Any, np.ndarray] | None] = []  # by mesh: body and places in its mesh frame
        triangles, colors, gloss, casts, count = [], [], [], [], 0
        floor = _floor(model, points)
        bodies = list(model.bodies.values())
        for name, info in model.meshes.items():
            visual = scene.visuals.get(name)
            if not len(info.triangles) or (visual is not None and not visual.show):
                continue
            fine = info.visual if info.kind == "body" and info.visual is not None and info.body >= 0 else None
            if fine is not None:
                shown = np.asarray(fine[0], float)
                source, faces = split_sharp_edges(shown, np.asarray(fine[1]))
                self._riding.append((bodies[info.body], shown[source]))
                self._gathered.append(np.zeros(0, int))
            else:
                rest = points[info.points] if info.rest is None else np.asarray(info.rest)
                source, faces = split_sharp_edges(rest, np.asarray(info.triangles))
                self._riding.append(None)
                self._gathered.append(info.points.start + source)
            triangles.append(faces + count)
            count += len(source)
            colors.append(np.tile(PLAIN if visual is None else visual.color, (len(faces), 1)))
            gloss.append(np.tile(GLOSS["matte" if visual is None else visual.finish], (len(faces), 1)))
            casts.append(np.full(len(faces), name != floor))
        self.surface = Surface(
            np.concatenate(triangles), np.concatenate(colors), np.concatenate(gloss), np.concatenate(casts), count
        )

    def positions(self, points: np.ndarray) -> np.ndarray:
        """Drawn vertices [m] (V, 3) in the world, from a row of points (P, 3)."""
        parts = []
        for gathered, riding in zip(self._gathered, self._riding, strict=True):
            if riding is None:
                parts.append(points[gathered])
            else:
                pose = body_pose(riding[0], points)
                parts.append(riding[1] @ pose[:3, :3].T + pose[:3, 3])
        return np.concatenate(parts)


def body_pose(body: Any, points: np.ndarray) -> np.ndarray:
    """World from the mesh frame of a body, (4, 4), from its four frame points in a row of points (P, 3) [m]."""
    return mesh_pose(body, points[body.points : body.points + 4])


def _floor(model: Any, points: np.ndarray) -> str:
    """The static mesh with the largest extent seen from above: it throws no shadow: the lamp's image may be small."""
    areas = {n: np.prod(np.ptp(points[i.points], axis=0)[:2]) for n, i in model.meshes.items() if i.kind == "static"}
    return max(areas, key=areas.get, default="")
