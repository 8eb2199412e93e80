"""What do I do next: the scene's own description and hints."""

from __future__ import annotations

import re

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
            _checklist(guide, steps, hints, state.keymap)
            return
        for number, step in enumerate(steps, 1):
            theme.wrapped(f"{number}  {step}")
        for hint in hints:
            theme.wrapped(with_keys(hint, state.keymap), palette.TEXT_DIM)


def with_keys(text: str, keymap: dict[str, str]) -> str:
    """A hint with the keys of today: "{next_tool}" and "{turn +y}" become what the key map gives these actions."""
    return re.sub(r"\{([^{}]+)\}", lambda found: keymap.get(found[1], found[1]), text)


def _checklist(guide: dict, steps: list[str], hints: list[str], keymap: dict[str, str]) -> None:
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
        theme.wrapped("Done.", palette.GOOD)
        theme.wrapped(with_keys("Once more: {reset}. Recorded? {label_success} says that it worked.", keymap))
        return
    number = list(guide["stages"]).index(guide["stage"])
    theme.wrapped(f"{number + 1}  {steps[number]}")
    if number < len(hints):
        theme.wrapped(with_keys(hints[number], keymap), palette.TEXT_DIM)
