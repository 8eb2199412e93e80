"""The flat rest plane of a shell, in which cuts are planned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.mesh.rest import triangle_normals

FLAT = 1e-5  # height over size up to which a rest shape counts as flat


@dataclass(frozen=True)
class RestPlane:
    """origin (3,), axes (2, 3): orthonormal, in the mesh's rest frame."""

    origin: np.ndarray
    axes: np.ndarray

    def flatten(self, places: np.ndarray) -> np.ndarray:
        """(k, 3) rest places [m] -> (k, 2)."""
        return (np.asarray(places, float) - self.origin) @ self.axes.T

    def lift(self, places: np.ndarray) -> np.ndarray:
        """(k, 2) -> (k, 3) rest places [m]."""
        return np.asarray(places, float) @ self.axes + self.origin


def rest_plane(name: str, rest: np.ndarray, triangles: np.ndarray) -> RestPlane:
    """Raises ValueError when the rest shape of mesh `name` is not flat."""
    normal = triangle_normals(rest, triangles).sum(axis=0)
    normal /= max(np.linalg.norm(normal), 1e-300)
    origin = rest[triangles[0, 0]]
    height = np.abs((rest - origin) @ normal).max()
    size = float(np.ptp(rest, axis=0).max())
    if height > FLAT * size:
        raise ValueError(
            f"mesh '{name}' cannot be cut: its rest shape is not flat (it leaves its plane by {height:.3g} m); cutting "
            "plans its line in a flat rest shape, as tape and sheets have"
        )
    axis = np.eye(3)[int(np.argmin(np.abs(normal)))] if abs(normal[2]) < 1.0 - 1e-12 else np.array([1.0, 0.0, 0.0])
    first = axis - normal * (axis @ normal)
    first /= np.linalg.norm(first)
    second = np.cross(normal, first) * (np.sign(normal[2]) if abs(normal[2]) > 0.5 else 1.0)
    return RestPlane(origin * 0.0 + normal * (origin @ normal), np.stack([first, second]))
