"""The chosen episode: picture, replay, label, instruction, trim on its force trace, findings."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim

from app.episode_rows import EpisodeRow
from app.episode_shelf import ShelfView
from app.view import palette, theme
from app.view.episode_pictures import EpisodePictures
from app.view.panels.episode_line import LABELS, picture
from app.view.panels.frame_of import clickable, log_item
from app.view.panels.status_bar import length
from app.view.state import ViewState

LEAST = 0.05  # [s] that a trim keeps


def draw(state: ViewState, shelf: ShelfView, row: EpisodeRow | None, s: float, pictures: EpisodePictures) -> None:
    if row is None:
        theme.wrapped("Click an episode to see it, label it, trim it or replay it.", palette.TEXT_DIM)
        return
    wide = psim.GetContentRegionAvail()[0]
    low = psim.GetCursorScreenPos()
    size = (wide, 0.625 * wide)
    picture(pictures, row, low, size, s)
    psim.Dummy(size)
    theme.text(f"{row.name.replace('_', ' ')}   {length(row.seconds)}   {row.frames} frames")
    theme.text(f"{row.created}   {row.scene}   {row.size / 1e6:.1f} MB", palette.TEXT_DIM)
    if row.problem:
        theme.wrapped(row.problem, palette.BAD)
    elif shelf.trash:
        if clickable(state, "episodes.restore", "restore", True, (wide, 0), "back into its set, with its label"):
            state.ask("episode", {"path": row.path, "do": "restore"})
    else:
        if clickable(state, "episodes.replay", "replay", True, (wide, 0), "see it, compare it, run its inputs again"):
            state.ask("replay", {"path": row.path})
        _labels(state, row, s)
        _instruction(state, row, wide)
        _trim(state, row, wide, s)
    for severity, text in row.findings:
        theme.wrapped(f"{severity}: {text}", palette.BAD if severity == "error" else palette.TEXT_DIM)


def _labels(state: ViewState, row: EpisodeRow, s: float) -> None:
    for index, word in enumerate(("success", "failure")):
        if index:
            psim.SameLine(0, 4 * s)
        on = row.label == word
        if clickable(state, f"episodes.label_{word}", word, on, color=LABELS[word], tip="again: no label"):
            state.ask("episode", {"path": row.path, "do": "label", "label": None if on else word})
    psim.SameLine(0, 4 * s)
    if clickable(state, "episodes.discard", "discard", tip="into the trash; undo brings it back"):
        state.ask("episode", {"path": row.path, "do": "discard"})


def _instruction(state: ViewState, row: EpisodeRow, wide: float) -> None:
    key = f"episodes.instruction {row.path}"
    known = state.ui.get("episodes.instruction")
    if known != (row.path, row.instruction):  # another episode, or changed elsewhere
        state.ui["episodes.instruction"] = (row.path, row.instruction)
        state.text["episodes.instruction"] = row.instruction
    psim.SetNextItemWidth(wide)
    text = state.text["episodes.instruction"]
    _, text = psim.InputTextWithHint(f"##{key}", "what was to be done, in words", text, 0, 500)
    state.text["episodes.instruction"] = text
    log_item(state, "episodes.instruction")
    if psim.IsItemDeactivatedAfterEdit() and text != row.instruction:
        state.ask("episode", {"path": row.path, "do": "instruct", "text": text})


def _trim(state: ViewState, row: EpisodeRow, wide: float, s: float) -> None:
    """The force over time with two handles; what lies outside of them is left out of exports."""
    theme.text("trim: drag the ends", palette.TEXT_DIM)
    start, end = _ends(state, row)
    x, y = psim.GetCursorScreenPos()
    height, seconds = 64 * s, max(row.seconds, 1e-6)
    psim.InvisibleButton("##trim", (wide, height))
    log_item(state, "episodes.trim")
    if psim.IsItemActive():
        moment = seconds * min(max((psim.GetMousePos()[0] - x) / wide, 0.0), 1.0)
        dragged = state.ui.setdefault("episodes.dragged", "start" if moment < 0.5 * (start + end) else "end")
        start, end = (min(moment, end - LEAST), end) if dragged == "start" else (start, max(moment, start + LEAST))
        start, end = max(start, 0.0), min(end, seconds)
        state.ui["episodes.ends"] = (row.path, start, end)
    elif state.ui.pop("episodes.dragged", None):
        state.ask("episode", {"path": row.path, "do": "trim", "start": start, "end": end})
    _trace(row, (x, y), (wide, height), start / seconds, end / seconds, s)
    words = f"keeps {end - start:.1f} of {row.seconds:.1f} s" if (start, end) != (0.0, row.seconds) else "all is kept"
    theme.line(words, palette.TEXT_DIM)
    psim.SameLine(0, 8 * s)
    if clickable(state, "episodes.trim_idle", "cut idle ends", tip="keep what lies between first and last command"):
        state.ui.pop("episodes.ends", None)
        state.ask("episode", {"path": row.path, "do": "trim_idle"})
    if row.kept is not None:
        psim.SameLine(0, 4 * s)
        if clickable(state, "episodes.untrim", "whole", tip="keep all of it again"):
            state.ui.pop("episodes.ends", None)
            state.ask("episode", {"path": row.path, "do": "trim", "start": 0.0, "end": row.seconds})


def _ends(state: ViewState, row: EpisodeRow) -> tuple[float, float]:
    """What is being dragged, until the row itself says so."""
    kept = row.kept or (0.0, row.seconds)
    path, start, end = state.ui.get("episodes.ends", (None, 0.0, 0.0))
    known = state.ui.get("episodes.kept")
    if known != (row.path, row.kept):
        state.ui["episodes.kept"] = (row.path, row.kept)
        if "episodes.dragged" not in state.ui:
            state.ui.pop("episodes.ends", None)
            return kept
    return (start, end) if path == row.path else kept


def _trace(row: EpisodeRow, low, size, start: float, end: float, s: float) -> None:
    """start, end: shares of the length."""
    (x, y), (width, height) = low, size
    lst = psim.GetWindowDrawList()
    lst.AddRectFilled((x, y), (x + width, y + height), palette.packed(palette.FIELD), 3 * s)
    if len(row.trace) > 1:
        level = row.trace / max(row.peak, 1e-9)
        across, up = x + width * np.linspace(0, 1, len(level)), y + height - 3 - (height - 18 * s) * level
        places = np.stack([across, up], axis=1).astype(np.float32)
        lst.AddPolyline(np.asfortranarray(places), palette.packed(palette.ACCENT), 0, 1.5 * s)
        words = f"{row.trace_of} up to {row.peak:.2g} N"
        lst.AddText((x + 0.5 * (width - psim.CalcTextSize(words)[0]), y + 1), palette.packed(palette.TEXT_DIM), words)
    left, right = x + width * start, x + width * end
    veil = palette.packed((0.62, 0.64, 0.67), 0.45)
    for a, b in ((x, left), (right, x + width)):
        if b - a > 0.5:
            lst.AddRectFilled((a, y), (b, y + height), veil, 3 * s)
    for at in (left, right):
        at = min(max(at, x + 1.5 * s), x + width - 1.5 * s)
        lst.AddRectFilled((at - 1.5 * s, y), (at + 1.5 * s, y + height), palette.packed(palette.ACCENT), 1 * s)
        lst.AddCircleFilled((at, y + 0.5 * height), 5 * s, palette.packed(palette.ACCENT))
