"""One pad in large over the 3D view; a click on it, or Escape, puts it away."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim

from app.view import palette, theme
from app.view.images import PadImages
from app.view.layout import Layout, Rect
from app.view.panels.frame_of import clickable, log_item, window
from app.view.panels.pad_pictures import aspect, kinds, picture, scales, trace
from app.view.state import ViewState

NAMES = {"rgb": "colour", "depth": "depth", "markers": "markers"}


def draw(state: ViewState, layout: Layout, images: PadImages) -> None:
    pads = {pad["name"]: pad for pad in state.about("pads", [])}
    pad = pads.get(state.enlarged)
    if pad is None or state.picker or state.overlay:  # a dialog would lie under it
        return
    s, view = layout.scale, layout["view"]
    shown = kinds(pad)
    line = psim.GetTextLineHeightWithSpacing()
    margin, gap, top = 14 * s, 8 * s, 46 * s  # top: the buttons of the view stay free
    spare = view.height - top - margin - 4.5 * line - 120 * s  # title, captions, trace
    width = (view.width - 2 * margin - 24 * s - (len(shown) - 1) * gap) / len(shown)
    width = max(min(width, spare / aspect(pad)), 60 * s)
    wide = max(len(shown) * width + (len(shown) - 1) * gap + 24 * s, 430 * s)  # the title needs that much
    high = width * aspect(pad) + 4.5 * line + 120 * s
    rect = Rect(view.center[0] - 0.5 * wide, view.y + top, wide, min(high, view.height - top - margin))
    with window(state, "pad_large", rect, background=0.96):
        _title(state, pad, s)
        _pictures(state, pad, shown, images, width, gap, s)
        values = np.asarray(state.pad_traces.get(pad["name"], np.zeros((0, 3)))).reshape(-1, 3)
        room = psim.GetContentRegionAvail()[1] - 4 * s
        if len(values) and room > 40 * s:
            trace("large", values, scales(state)[2], room, s)


def _title(state: ViewState, pad: dict, s: float) -> None:
    x, y, z = pad["local"]
    theme.line(str(pad["name"]))
    psim.SameLine(0, 16 * s)
    theme.line(f"press {0.0 - z:.2f} N", palette.TEXT)
    psim.SameLine(0, 12 * s)
    theme.line(f"shear {np.hypot(x, y):.2f} N", palette.TEXT)
    psim.SameLine(0, 12 * s)
    theme.line(f"{1e3 * np.max(pad['depth'], initial=0.0):.2f} mm deep", palette.TEXT)
    psim.SameLine(psim.GetWindowWidth() - 62 * s)
    if clickable(state, "pad_large.close", "close", tip="Esc"):
        state.enlarged = ""


def _pictures(state, pad: dict, shown: list[str], images: PadImages, width: float, gap: float, s: float) -> None:
    depth, flow, _ = scales(state)
    notes = {"depth": f"0 to {1e3 * depth:g} mm", "markers": f"0 to {flow:g} px"}
    for k, kind in enumerate(shown):
        if k:
            psim.SameLine(0, gap)
        psim.BeginGroup()
        if picture(pad, kind, images, (width, width * aspect(pad)), flow, s):
            state.enlarged = ""
        log_item(state, f"pad_large.{kind}")
        theme.text(f"{NAMES[kind]}  {notes.get(kind, '')}", palette.TEXT_DIM)
        psim.EndGroup()
