"""Recording: state, time, what is on the disk, labels with undo."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, panel
from app.view.panels.status_bar import clock
from app.view.state import ViewState

LABELS = (
    ("success", "label_success", palette.GOOD),
    ("failure", "label_failure", palette.WARN),
    ("discard", "discard", palette.BAD),
)


def draw(state: ViewState, layout: Layout) -> None:
    s = layout.scale
    with panel(state, "record", "Record", layout["record"], s) as open_:
        if not open_:
            return
        record = state.about("record", {})
        name = record.get("state", "IDLE")
        recording = name in ("REC", "PAUSED")
        label = "Stop" if recording else "Record"
        if name == "SAVING":
            theme.pill("SAVING", palette.SAVING, s)
        elif clickable(state, "record.toggle", label, recording, (72 * s, 0), color=palette.REC):
            state.ask("record")
        psim.SameLine(0, 10 * s)
        if recording:
            theme.line(f"{clock(record.get('seconds', 0.0))}  {record.get('frames', 0)} frames", palette.REC)
        else:
            count = record.get("count", 0)
            theme.line(f"{count} episode{'' if count == 1 else 's'}", palette.TEXT_DIM)
        psim.SameLine(psim.GetWindowWidth() - psim.CalcTextSize("browse")[0] - 26 * s)
        if clickable(state, "record.browse", "browse", tip="episodes: see, label, trim, replay, compare"):
            state.browser, state.ui["episodes.raise"] = True, True
            state.ask("browse", {"open": True})
        last = record.get("last")
        if last and not recording:
            _label_last(state, last, s)
        if record.get("message"):
            theme.wrapped(record["message"], palette.WARN if record.get("problem") else palette.TEXT_DIM)
        if record.get("folder") and psim.GetContentRegionAvail()[1] >= psim.GetTextLineHeight():
            theme.text(_end_of(str(record["folder"])), palette.TEXT_DIM)
            if psim.IsItemHovered():
                psim.SetTooltip(str(record["folder"]))


def _label_last(state: ViewState, last: dict, s: float) -> None:
    """The last episode: its name, the three labels, undo."""
    theme.text(f"{last.get('name', '')}  {clock(last.get('seconds', 0.0))}", palette.TEXT_DIM)
    for index, (word, verb, color) in enumerate(LABELS):
        if index:
            psim.SameLine(0, 4 * s)
        if clickable(state, f"record.{word}", word, last.get("label") == word, color=color):
            state.ask(verb)
    psim.SameLine(0, 4 * s)
    if clickable(state, "record.undo", "undo", tip="take the last label or discard back"):
        state.ask("undo")


def _end_of(path: str) -> str:
    """As much of the end of a path as fits the panel."""
    room = psim.GetContentRegionAvail()[0]
    if psim.CalcTextSize(path)[0] <= room:
        return path
    parts = path.replace("\\", "/").split("/")
    while len(parts) > 1 and psim.CalcTextSize("\u2026/" + "/".join(parts[1:]))[0] > room:
        parts = parts[1:]
    return "\u2026/" + "/".join(parts[1:] if len(parts) > 1 else parts)
