"""Another scene without leaving the window."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout, Rect
from app.view.panels.frame_of import clickable, window
from app.view.state import ViewState


def draw(state: ViewState, layout: Layout) -> None:
    if not state.picker:
        return
    s, view = layout.scale, layout["view"]
    width = min(420 * s, view.width)
    height = min((96 + 58 * max(len(state.scenes), 1)) * s, view.height)
    rect = Rect(view.center[0] - 0.5 * width, view.center[1] - 0.5 * height, width, height)
    psim.SetNextWindowFocus()
    with window(state, "picker", rect):
        theme.text("Scenes")
        psim.SameLine(width - 64 * s)
        if clickable(state, "picker.close", "close"):
            state.picker = False
        psim.Separator()
        if not state.scenes:
            theme.wrapped("No scene files were found.", palette.TEXT_DIM)
        for name, path, description in state.scenes:
            if clickable(state, f"picker.{name}", name, name == state.about("scene_name"), (psim.GetContentRegionAvail()[0], 0)):
                state.ask("load_scene", str(path))
                state.picker = False
            theme.wrapped(description, palette.TEXT_DIM)
