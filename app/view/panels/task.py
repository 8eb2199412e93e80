"""What do I do next: the scene's own description and hints."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import panel
from app.view.state import ViewState


def draw(state: ViewState, layout: Layout) -> None:
    with panel(state, "task", "Task", layout["task"], layout.scale) as open_:
        if not open_:
            return
        scene = state.scene
        if scene is None:
            theme.text("no scene yet", palette.TEXT_DIM)
            return
        theme.wrapped(getattr(scene, "task", "") or scene.description)
        psim.Spacing()
        for number, step in enumerate(getattr(scene, "steps", ()) or (), 1):
            theme.wrapped(f"{number}  {step}")
        for hint in getattr(scene, "hints", ()) or ():
            theme.wrapped(hint, palette.TEXT_DIM)
