"""Depth pictures as textures: one Polyscope image quantity a pad, updated in place."""

from __future__ import annotations

import numpy as np
import polyscope as ps
import polyscope.imgui as psim

from app.view.palette import VIRIDIS

_TABLE = np.asarray(VIRIDIS)


def viridis(values: np.ndarray) -> np.ndarray:
    """RGBA float32 (..., 4) of values clipped to [0, 1]."""
    place = np.clip(np.nan_to_num(values), 0.0, 1.0) * (len(_TABLE) - 1)
    low = np.minimum(place.astype(int), len(_TABLE) - 2)
    part = (place - low)[..., None]
    rgb = (1.0 - part) * _TABLE[low] + part * _TABLE[low + 1]
    return np.concatenate([rgb, np.ones((*rgb.shape[:-1], 1))], axis=-1).astype(np.float32)


class DepthImages:
    """Textures by pad name; registered anew when a picture's size changes or Polyscope was cleared."""

    def __init__(self):
        self._buffers: dict[str, tuple[tuple[int, int], object]] = {}
        self._pending: dict[str, tuple[np.ndarray, float]] = {}

    def clear(self) -> None:
        self._buffers.clear()
        self._pending.clear()

    def prepare(self, pads: list, limit: float) -> None:
        """Uploads the pictures of a frame. Called outside ImGui's frame: registering inside it would redraw."""
        for pad in pads:
            colors = viridis(pad["depth"] / limit)
            name, shape = f"pad {pad['name']}", pad["depth"].shape
            known = self._buffers.get(pad["name"])
            if known is None or known[0] != shape:
                ps.add_color_alpha_image_quantity(
                    name, colors, enabled=True, show_in_imgui_window=False, show_fullscreen=False
                )
                self._buffers[pad["name"]] = (shape, ps.get_quantity_buffer(name, "colors"))
            else:
                known[1].update_data(colors.reshape(-1, 4))

    def show(self, name: str, depth: np.ndarray, limit: float, size: tuple[float, float]) -> None:
        """The picture as an ImGui item; an empty field until its texture exists."""
        known = self._buffers.get(name)
        texture = known[1].get_texture_native_id() if known else 0
        if texture:
            psim.Image(psim.ImTextureRef(texture), size)
        else:
            psim.Dummy(size)
