"""Small pictures of episodes as textures: a few slots, the one unused longest is given away."""

from __future__ import annotations

import io

import numpy as np
import polyscope as ps
import polyscope.imgui as psim

from app.thumbnail import SIZE
from app.view.images import opaque

SLOTS = 24  # more than a 4K window shows at once
MAX_SIDE = 1024  # [pixel]
A_TICK = 4  # pictures decoded and uploaded in one redraw


class EpisodePictures:
    """`show` draws a picture when its texture exists and remembers that it was wanted; `prepare` makes some of them."""

    def __init__(self):
        self._buffers: list = []
        self._slots: dict[str, int] = {}  # key -> slot, the one wanted longest ago first
        self._wanted: dict[str, bytes] = {}

    def clear(self) -> None:
        """Polyscope was cleared."""
        self._buffers.clear()
        self._slots.clear()

    def prepare(self) -> None:
        """Uploads a few of the pictures that were wanted. Called outside ImGui's frame."""
        for key, png in list(self._wanted.items())[:A_TICK]:
            image = decoded(png)
            if image is not None:
                self._upload(key, image)
        self._wanted.clear()

    def show(self, key: str, png: bytes | None, low: tuple[float, float], high: tuple[float, float]) -> bool:
        """Draws into the window's list; False while there is nothing to draw."""
        if png is None:
            return False
        slot = self._slots.pop(key, None)
        if slot is None:
            self._wanted[key] = png
            return False
        self._slots[key] = slot
        texture = self._buffers[slot].get_texture_native_id()
        if texture:
            psim.GetWindowDrawList().AddImage(psim.ImTextureRef(texture), low, high)
        return bool(texture)

    def _upload(self, key: str, image: np.ndarray) -> None:
        colors = opaque(image)
        if len(self._buffers) < SLOTS:
            name = f"episode picture {len(self._buffers)}"
            ps.add_color_alpha_image_quantity(
                name, colors, enabled=True, show_in_imgui_window=False, show_fullscreen=False
            )
            self._slots[key] = len(self._buffers)
            self._buffers.append(ps.get_quantity_buffer(name, "colors"))
            return
        slot = self._slots.pop(next(iter(self._slots)))
        self._buffers[slot].update_data(colors.reshape(-1, 4))
        self._slots[key] = slot


def decoded(png: bytes) -> np.ndarray | None:
    """(h, w, 3) uint8 of the size that is shown; None for what is no picture, or too large to take memory for."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            if max(image.size) > MAX_SIDE:
                return None
            image = image.convert("RGB")
            return np.asarray(image if image.size == SIZE else image.resize(SIZE))
    except (OSError, ValueError, SyntaxError):
        return None
