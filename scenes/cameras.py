"""Cameras of a scene, as its file describes them: fixed in the world or mounted on a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.cameras.pinhole import MAX_SIDE, Pinhole, look_at
from scenes.errors import SceneError
from scenes.reading import Integer, MapOf, OrNone, Quantity, Record, Table, Vector, setting
from scenes.tables import NAME, POINT


@dataclass(frozen=True)
class MountedCamera(Record):
    """A camera whose pictures belong to an episode: colour and depth, drawn from the recorded states. Places and
    directions are in the frame of the body that it is mounted on."""

    on: str | None = setting(OrNone(NAME), "body that carries it; none: it stands in the world", None)
    eye: tuple = setting(POINT, "where the camera is")
    target: tuple = setting(POINT, "a place in the middle of the picture")
    up: tuple = setting(Vector(Quantity()), "direction that is up in the picture", (0.0, 0.0, 1.0))
    fov: float = setting(Quantity("angle"), "from the upper to the lower edge of the picture", np.pi / 3.0)
    width: int = setting(Integer(16, MAX_SIDE), "of the picture, in pixels", 640)
    height: int = setting(Integer(16, MAX_SIDE), "of the picture, in pixels", 480)


CAMERAS = MapOf(Table(MountedCamera, title="camera of an episode"))


@dataclass(frozen=True, eq=False)
class SceneCamera:
    """body: its name, or None; mount (4, 4): body (or world) from camera, axes x right, y down, z ahead."""

    name: str
    body: str | None
    mount: np.ndarray
    pinhole: Pinhole


def scene_cameras(file) -> dict[str, SceneCamera]:
    """By name, in the order of the file; a scene without the section has `ego`, the camera of the window at start.

    Raises SceneError: a camera that looks nowhere, an impossible angle.
    """
    if not file.cameras:
        return {"ego": SceneCamera("ego", None, _of_window(file.camera), Pinhole())}
    found = {}
    for name, camera in file.cameras.items():
        try:
            mount = look_at(camera.eye, camera.target, camera.up)
            pinhole = Pinhole(camera.width, camera.height, camera.fov)
        except ValueError as error:
            raise SceneError(f"cameras.{name}: {error}", camera.place) from None
        found[name] = SceneCamera(name, camera.on, mount, pinhole)
    return found


def _of_window(camera) -> np.ndarray:
    """World from the window's camera at start, (4, 4); one that looks straight down has the world's y up."""
    for up in (camera.up, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)):
        try:
            return look_at(camera.eye, camera.target, up)
        except ValueError:
            continue
    return look_at(camera.eye, np.asarray(camera.eye) + (0.0, 1.0, 0.0))  # eye and target are one place
