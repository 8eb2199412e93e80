"""Pictures without a display: the same structures and looks as the window, drawn through EGL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polyscope as ps

from app.frame import Frame
from app.settings import Settings
from app.view.quality import Quality
from app.view.structures import Structures
from app.view.window import FIELD_OF_VIEW, set_up


class Offscreen:
    """Draws frames to PNG files.

    Raises:
        RuntimeError: there is no EGL; the message says what Polyscope said.
    """

    def __init__(
        self, size: tuple[int, int] = (1280, 720), settings: Settings | None = None, quality: str = "high"
    ):
        self._settings = settings or Settings()
        set_up(True, size)
        self._quality = Quality(quality)
        self._quality.apply()
        self._structures = Structures()

    def set_scene(self, scene, points: np.ndarray) -> None:
        self._structures.register(scene, points)
        self._quality.apply()
        eye, target = tuple(scene.camera)[:2]
        ps.set_vertical_fov_degrees(FIELD_OF_VIEW)
        ps.look_at(tuple(map(float, eye)), tuple(map(float, target)))

    def set_model(self, model, points: np.ndarray) -> None:
        self._structures.set_model(model, points)
        self._quality.apply()

    def picture(self, frame: Frame, info: dict, path: Path) -> Path:
        """Writes one PNG of the scene in the colour mode of the settings."""
        from PIL import Image

        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(self.pixels(frame, info)).save(path)
        return path

    def pixels(self, frame: Frame, info: dict) -> np.ndarray:
        """The same picture as an array (h, w, 3) uint8."""
        mode = self._settings.color_mode
        self._structures.update(
            frame,
            mode,
            self._settings.scales.get(mode, 1.0),
            info.get("coat_depth"),
            info.get("tape"),
            info.get("cut"),
        )
        return ps.screenshot_to_buffer(transparent_bg=False, include_UI=False)[..., :3]

    def close(self) -> None:
        ps.shutdown()
