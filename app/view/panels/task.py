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
    """A line of stages that lights up, and of the one to do next what it asks and how."""
    for place, (name, holds) in enumerate(guide["stages"].items()):
        if place:
            psim.SameLine(0, -1.0)
            if psim.GetContentRegionAvail()[0] < psim.CalcTextSize(name)[0]:
                psim.NewLine()
        current = name == guide["stage"]
        theme.text(name, palette.GOOD if holds else palette.ACCENT if current else palette.TEXT_DIM)
    psim.Spacing()
    if not guide["stage"]:
        theme.wrapped("Sealed.", palette.GOOD)
        return
    number = list(guide["stages"]).index(guide["stage"])
    theme.wrapped(f"{number + 1}  {steps[number]}")
    if number < len(hints):
        theme.wrapped(hints[number], palette.TEXT_DIM)
