"""Another scene without leaving the window."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, dialog
from app.view.state import ViewState
from scenes.config import list_scenes


def draw(state: ViewState, layout: Layout) -> None:
    if not state.picker:
        return
    s, view = layout.scale, layout["view"]
    width = min(460 * s, layout["timeline"].width - 24 * s)
    with dialog(state, "picker", view.center, width, view.height):
        theme.line("Choose a scene")
        psim.SameLine(width - 68 * s)
        if clickable(state, "picker.close", "close"):
            state.picker = False
        psim.Separator()
        if state.scenes is None:  # reading them all takes most of a second, which no start has to wait for
            state.scenes = list_scenes()
        if not state.scenes:
            theme.wrapped("No scene files were found.", palette.TEXT_DIM)
        for name, path, description in state.scenes:
            if clickable(state, f"picker.{name}", name, name == state.about("scene_name"), (150 * s, 0)):
                state.ask("load_scene", str(path))
                state.picker = False
            psim.SameLine(0, 10 * s)
            theme.wrapped(description, palette.TEXT_DIM)
