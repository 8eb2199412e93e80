"""Running without a window: a progress bar, pictures through an off-screen context when there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from app.frame import Frame, Request
from devices.rotations import camera_rotation


class NullView:
    """A view that shows nothing: collects events, ticks a progress bar and asks for pictures now and then.

    Args:
        say: prints one line (rich or print). pictures: an `app.view.offscreen.Offscreen` or None. bar: has
        update(steps, text), or None. steps: physics steps expected, for the pictures at start, middle and end.
    """

    def __init__(self, say=print, pictures=None, bar=None, steps: int | None = None, folder: Path | None = None):
        self.closed = False
        self._say = say
        self._pictures = pictures
        self._bar = bar
        self._marks = _marks(steps)
        self._folder = folder
        self._scene: Any = None
        self._last: tuple[Frame, dict] | None = None
        self.written: list[Path] = []
        self._told = ""

    def progress(self, text: str, fraction: float) -> None:
        if self._bar is not None:
            self._bar.loading(text, fraction)

    def ready(self) -> None:
        """There is no loading page."""

    def set_scene(self, scene, points: np.ndarray) -> None:
        self._scene = scene
        if self._pictures is not None:
            self._pictures.set_scene(scene, points)

    def set_model(self, model, points: np.ndarray) -> None:
        if self._pictures is not None:
            self._pictures.set_model(model, points)

    def draw(self, frame: Frame, info: dict) -> None:
        for text in frame.events:
            self._say(f"{frame.time_sim:8.2f} s  {text}")
        if frame.stepped:
            self._last = (frame, info)
            if frame.index in self._marks:
                self._picture(f"{info.get('scene_name', 'scene')}_{frame.index:05d}.png")
        if self._bar is not None:
            self._bar.update(frame)

    def _picture(self, name: str) -> None:
        if self._pictures is None or self._folder is None or self._last is None:
            return
        try:
            self.written.append(self._pictures.picture(*self._last, self._folder / name))
        except Exception as error:  # noqa: BLE001 - a picture is a courtesy, the run is not
            self._say(f"no picture: {type(error).__name__}: {error}")
            self._pictures = None

    def tick(self) -> None:
        """Nothing to redraw."""

    def tick_if_due(self) -> None:
        """Nothing to redraw."""

    def poll(self) -> list[Request]:
        return []

    def camera_rotation(self) -> np.ndarray | None:
        """The scene's camera: what the operator of a script would see."""
        if self._scene is None:
            return None
        eye, target, up = self._scene.camera
        return camera_rotation(np.asarray(eye), np.asarray(target), np.asarray(up))

    def toggle_help(self) -> None:
        """There is nobody to read it."""

    def close(self) -> None:
        if self._last is not None and self._last[0].index not in self._marks:
            self._picture(f"{self._last[1].get('scene_name', 'scene')}_{self._last[0].index:05d}.png")
        self._last = None
        if self._pictures is not None:
            self._pictures.close()
            self._pictures = None


def _marks(steps: int | None) -> set[int]:
    """Frames to take a picture of: the first, then every sixth of the run; every 90 when its length is unknown."""
    if steps is None:
        return {1, *range(90, 100_000, 90)}
    return {1, *(round(steps * k / 6) for k in range(1, 6)), steps}


def has_display() -> bool:
    """True when a window can be expected to open."""
    import os
    import sys

    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
