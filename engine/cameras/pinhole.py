"""The camera model: a pinhole with square pixels and the principal point in the middle, axes as in computer vision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MAX_SIDE = 4096  # [pixel]


@dataclass(frozen=True)
class Pinhole:
    """width, height [pixel]; fov: angle from the upper to the lower edge of the image [rad].

    Camera axes: x to the right in the image, y down, z into the scene. The middle of pixel (column, row) has the image
    coordinates (column, row). Raises ValueError naming field, value and what is legal.
    """

    width: int = 640
    height: int = 480
    fov: float = np.pi / 3.0

    def __post_init__(self):
        for name in ("width", "height"):
            side = getattr(self, name)
            if not 1 <= side <= MAX_SIDE:
                raise ValueError(f"{name} is {side}; legal: 1 to {MAX_SIDE} pixels")
        if not 0.0 < self.fov < np.pi:
            raise ValueError(f"fov is {self.fov:g} rad; legal: above 0 and below pi")

    @property
    def step(self) -> float:
        """From pixel to pixel at distance 1 [-]."""
        return 2.0 * np.tan(0.5 * self.fov) / self.height

    @property
    def intrinsics(self) -> np.ndarray:
        """(3, 3) [pixel]: image coordinates times depth = intrinsics @ point in camera axes."""
        focal = 1.0 / self.step
        middle = 0.5 * (self.width - 1), 0.5 * (self.height - 1)
        return np.array([[focal, 0.0, middle[0]], [0.0, focal, middle[1]], [0.0, 0.0, 1.0]])


def look_at(eye, target, up=(0.0, 0.0, 1.0)) -> np.ndarray:
    """(4, 4), outer frame from camera, of a camera at `eye` whose z axis points at `target` (3,) [m] and whose image is
    upright along `up`. Raises ValueError: eye and target coincide, or up lies along the line of sight."""
    eye, up = np.asarray(eye, float), np.asarray(up, float)
    ahead = np.asarray(target, float) - eye
    distance = np.linalg.norm(ahead)
    if not distance > 1e-9:
        raise ValueError(f"eye and target are the same place {eye.tolist()}; a camera must look somewhere")
    ahead /= distance
    right = np.cross(ahead, up)
    if not np.linalg.norm(right) > 1e-6 * np.linalg.norm(up):
        raise ValueError(f"up {up.tolist()} lies along the line of sight {ahead.round(6).tolist()}; choose another")
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([right, np.cross(ahead, right), ahead], axis=1)
    pose[:3, 3] = eye
    return pose
