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
        guide = state.about("guide")
        steps, hints = list(getattr(scene, "steps", ()) or ()), list(getattr(scene, "hints", ()) or ())
        if guide and len(steps) == len(guide["stages"]):
            _checklist(guide, steps, hints)
            return
        for number, step in enumerate(steps, 1):
            theme.wrapped(f"{number}  {step}")
        for hint in hints:
            theme.wrapped(hint, palette.TEXT_DIM)


def _checklist(guide: dict, steps: list[str], hints: list[str]) -> None:
    """Each stage with its tick; under the one to do next, its hint."""
    for number, (step, (name, holds)) in enumerate(zip(steps, guide["stages"].items(), strict=True), 1):
        current = name == guide["stage"]
        mark = "done" if holds else f"{number}"
        color = palette.GOOD if holds else palette.TEXT if current else palette.TEXT_DIM
        theme.wrapped(f"{mark}  {step}", color)
        if current and number <= len(hints):
            theme.wrapped(hints[number - 1], palette.ACCENT)
    if not guide["stage"]:
        theme.wrapped("Sealed.", palette.GOOD)
