"""Pictures of pads as textures: one Polyscope image quantity a picture, updated in place."""

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


def opaque(rgb: np.ndarray) -> np.ndarray:
    """RGBA float32 (..., 4) of colours uint8 (..., 3)."""
    out = np.ones((*rgb.shape[:-1], 4), np.float32)
    out[..., :3] = rgb * np.float32(1.0 / 255.0)
    return out


class PadImages:
    """Textures by pad name and kind ("depth", "rgb"); registered anew when a picture's size changes or Polyscope was
    cleared."""

    def __init__(self):
        self._buffers: dict[tuple[str, str], tuple[tuple[int, int], object]] = {}

    def clear(self) -> None:
        self._buffers.clear()

    def prepare(self, pads: list, limit: float) -> None:
        """Uploads the pictures of a frame. Called outside ImGui's frame: registering inside it would redraw."""
        for pad in pads:
            self._upload((pad["name"], "depth"), viridis(np.asarray(pad["depth"]) / limit))
            if pad.get("rgb") is not None:
                self._upload((pad["name"], "rgb"), opaque(pad["rgb"]))

    def _upload(self, key: tuple[str, str], colors: np.ndarray) -> None:
        known, shape = self._buffers.get(key), colors.shape[:2]
        if known is None or known[0] != shape:
            name = f"pad {key[0]} {key[1]}"
            ps.add_color_alpha_image_quantity(
                name, colors, enabled=True, show_in_imgui_window=False, show_fullscreen=False
            )
            self._buffers[key] = (shape, ps.get_quantity_buffer(name, "colors"))
        else:
            known[1].update_data(colors.reshape(-1, 4))

    def show(self, name: str, kind: str, size: tuple[float, float]) -> None:
        """The picture as an ImGui item; an empty field until its texture exists."""
        known = self._buffers.get((name, kind))
        texture = known[1].get_texture_native_id() if known else 0
        if texture:
            psim.Image(psim.ImTextureRef(texture), size)
        else:
            psim.Dummy(size)
