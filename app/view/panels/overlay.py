"""The first page: what this is, the first keys, what to do first. F1 brings it back."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, dialog
from app.view.state import ViewState

FIRST = (
    (("move +y", "move -x", "move -y", "move +x"), "move the tool"),
    (("move +z", "move -z"), "up and down"),
    (("turn -y", "turn +y", "turn -x", "turn +x", "turn +z", "turn -z"), "roll, nod, swing it"),
    (("grip_toggle",), "close and open the gripper"),
    (("next_tool",), "take the next tool"),
    (("record",), "start and stop recording"),
    (("pause",), "pause"),
    (("rewind",), "take back two seconds"),
    (("reset",), "start over; a checkpoint is kept"),
)
REPLAY = (
    (("pause",), "stop and go on"),
    (("step",), "one step"),
    (("slow",), "slow motion"),
    (("reset",), "from the beginning"),
)


def draw(state: ViewState, layout: Layout) -> None:
    if not state.overlay:
        return
    s, view = layout.scale, layout["view"]
    status, timeline = layout["status"], layout["timeline"]
    width = min(480 * s, timeline.width - 24 * s)
    with dialog(state, "overlay", view.center, width, timeline.y - status.bottom - 16 * s):
        theme.text("Tacktile", palette.ACCENT)
        theme.wrapped(
            "Teleoperate packaging scenes with real tape, feel what the finger feels, record it.", palette.TEXT_DIM
        )
        psim.Spacing()
        for actions, meaning in REPLAY if state.about("replay") else FIRST:
            keys = "  ".join(state.keymap.get(a, "") for a in actions if a in state.keymap)
            if keys and _useful(state, actions[0]):
                theme.row(keys, meaning, at=0.34)
        theme.row("F1", "this page", at=0.34)
        theme.row("mouse", "left: turn   right: shift   wheel: closer", at=0.34)
        psim.Spacing()
        if not state.about("replay"):
            _first_steps(state)
        if clickable(state, "overlay.close", "Start", True, (110 * s, 0)):
            state.overlay = False
            state.settings.overlay_seen = True


def _useful(state: ViewState, action: str) -> bool:
    """Is there anything in this scene that the key does?"""
    tools = getattr(state.scene, "tools", ()) or ()
    return {"grip_toggle": state.has_fingers, "next_tool": len(tools) > 1}.get(action, True)


def _first_steps(state: ViewState) -> None:
    psim.SeparatorText("first")
    steps = getattr(state.scene, "steps", None) or ["Move the tool, close the gripper, see what happens"]
    for number, step in enumerate(steps[:5], 1):
        theme.wrapped(f"{number}  {step}")
    psim.Spacing()
