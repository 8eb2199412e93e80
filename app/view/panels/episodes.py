"""The browser of episodes: sets, a list with pictures and forces, the chosen one, and numbers of what is shown."""

from __future__ import annotations

import polyscope.imgui as psim

from app.episode_rows import FILTERS, EpisodeRow, chosen, numbers
from app.episode_shelf import ShelfView
from app.view import palette, theme
from app.view.episode_pictures import EpisodePictures
from app.view.layout import Layout, Rect
from app.view.panels import episode_details
from app.view.panels.episode_line import HEIGHT, draw_line
from app.view.panels.frame_of import FIXED, clickable, shortened
from app.view.panels.status_bar import clock
from app.view.state import ViewState

WIDEST, SETS, DETAILS = 1240.0, 178.0, 318.0  # [px] at scale 1: all of it, the left and the right column
FRONT = FIXED & ~psim.ImGuiWindowFlags_NoBringToFrontOnFocus | psim.ImGuiWindowFlags_NoScrollbar


def draw(state: ViewState, layout: Layout, pictures: EpisodePictures) -> None:
    shelf: ShelfView | None = state.about("episodes")
    if not state.browser or shelf is None:
        state.browser = state.browser and shelf is None  # asked for, the loop's answer comes with the next frame
        return
    s = layout.scale
    status, timeline = layout["status"], layout["timeline"]
    width = min(WIDEST * s, timeline.width - 16 * s)
    height = timeline.y - status.bottom - 12 * s
    place = Rect(0.5 * (timeline.width - width), status.bottom + 6 * s, width, height)
    psim.SetNextWindowPos((place.x, place.y))
    psim.SetNextWindowSize((place.width, place.height))
    if state.ui.pop("episodes.raise", False):
        psim.SetNextWindowFocus()
    psim.SetNextWindowBgAlpha(1.0)
    psim.Begin("##episodes", FRONT)
    try:
        state.rects["episodes"] = (place.x, place.y, place.right, place.bottom)
        rows = _filtered(state, shelf)
        row = _selected(state, rows)
        _head(state, shelf, width, s)
        foot = psim.GetFrameHeight() + psim.GetTextLineHeight() + 22 * s
        room = psim.GetContentRegionAvail()[1] - foot
        _sets(state, shelf, (SETS * s, room), s)
        psim.SameLine(0, 8 * s)
        list_width = psim.GetContentRegionAvail()[0] - DETAILS * s - 8 * s
        _list(state, shelf, rows, row, (list_width, room), s, pictures)
        psim.SameLine(0, 8 * s)
        psim.BeginChild("##episode_details", (DETAILS * s, room), psim.ImGuiChildFlags_Borders)
        episode_details.draw(state, shelf, row, s, pictures)
        psim.EndChild()
        _foot(state, shelf, rows, s)
    finally:
        psim.End()


def _filtered(state: ViewState, shelf: ShelfView) -> list[EpisodeRow]:
    """Kept until rows or filter change: a set may hold thousands."""
    ui = state.ui
    key = (id(shelf.rows), ui.get("episodes.label", "all"), ui.get("episodes.scene", ""),
           state.text.get("episodes.words", ""))  # fmt: skip
    if ui.get("episodes.key") != key:
        ui["episodes.key"], ui["episodes.source"] = key, shelf.rows  # held, so that the id stays taken
        ui["episodes.rows"] = chosen(shelf.rows, *key[1:])
        ui["episodes.numbers"] = numbers(ui["episodes.rows"])
    return ui["episodes.rows"]


def _selected(state: ViewState, rows: list[EpisodeRow]) -> EpisodeRow | None:
    """The chosen row; the first one when the chosen one is not in the list."""
    wanted = state.ui.get("episodes.path")
    row = next((row for row in rows if row.path == wanted), None)
    if row is None and rows:
        at = min(state.ui.get("episodes.at", 0), len(rows) - 1)
        row = rows[at]
        state.ui["episodes.path"] = row.path
    if row is not None:
        state.ui["episodes.at"] = rows.index(row)
    return row


def _head(state: ViewState, shelf: ShelfView, width: float, s: float) -> None:
    theme.line("Episodes")
    psim.SameLine(0, 16 * s)
    label = state.ui.setdefault("episodes.label", "all")
    for name in FILTERS:
        if clickable(state, f"episodes.only_{name}", name, name == label):
            state.ui["episodes.label"] = name
        psim.SameLine(0, 4 * s)
    scenes = sorted({row.scene for row in shelf.rows})
    wanted = state.ui.get("episodes.scene", "")
    if wanted and wanted not in scenes and not shelf.busy:
        state.ui["episodes.scene"] = ""
    if len(scenes) > 1:
        shown = f"scene: {wanted or 'all'}"
        psim.SameLine(0, 10 * s)
        tip = "only one scene; click for the next"
        if clickable(state, "episodes.scene", f"{shown}###scene", bool(wanted), tip=tip):
            order = ["", *scenes]
            state.ui["episodes.scene"] = order[(order.index(wanted) + 1) % len(order)]
        psim.SameLine(0, 4 * s)
    psim.SameLine(0, 10 * s)
    psim.SetNextItemWidth(150 * s)
    text = state.text.get("episodes.words", "")
    _, state.text["episodes.words"] = psim.InputTextWithHint("##words", "search", text)
    state.rects["episodes.words"] = (*psim.GetItemRectMin(), *psim.GetItemRectMax())
    psim.SameLine(width - 66 * s)
    if clickable(state, "episodes.close", "close"):
        state.browser = False
        state.ask("browse", {"open": False})
    psim.Separator()


def _sets(state: ViewState, shelf: ShelfView, size: tuple[float, float], s: float) -> None:
    """Which set, and its trash."""
    psim.BeginChild("##episode_sets", size, psim.ImGuiChildFlags_Borders)
    theme.text("sets", palette.TEXT_DIM)
    wide = psim.GetContentRegionAvail()[0]
    recording = str(state.about("record", {}).get("folder", ""))
    entries = [("all sets", None, sum(count for _, _, count in shelf.sets)), *shelf.sets]
    for name, folder, count in entries:
        on = folder == shelf.folder
        tail = f"  {count}"
        text = shortened(name, wide - psim.CalcTextSize(tail)[0] - 20 * s) + tail
        tip = "" if folder is None else f"{folder}\nnew episodes go here" if str(folder) == recording else str(folder)
        if clickable(state, f"episodes.set_{name}", f"{text}##{folder}", on, (wide, 0), tip):
            state.ask("browse", {"folder": folder, "trash": False})
        if folder is not None and str(folder) == recording:
            x, y = psim.GetItemRectMax()
            mid = 0.5 * (psim.GetItemRectMin()[1] + y)
            psim.GetWindowDrawList().AddCircleFilled((x - 9 * s, mid), 4 * s, palette.packed(palette.REC))
    psim.Spacing()
    title = f"trash  {shelf.thrown}"
    if clickable(state, "episodes.trash", f"{title}###trash", shelf.trash, (wide, 0), "what was discarded, to restore"):
        state.ask("browse", {"folder": shelf.folder, "trash": not shelf.trash})
    psim.Spacing()
    _resume(state, shelf, recording, wide)
    psim.EndChild()


def _resume(state: ViewState, shelf: ShelfView, recording: str, wide: float) -> None:
    """Where new episodes go, and how to go on with another set."""
    if not recording or shelf.folder is None:
        return
    if str(shelf.folder) == recording:
        theme.wrapped("new episodes go into this set", palette.TEXT_DIM)
        return
    scenes = {row.scene for row in shelf.rows}
    here = state.about("scene_name")
    if scenes and here not in scenes:
        theme.wrapped(f"recorded in {', '.join(sorted(scenes))}; this is {here}", palette.TEXT_DIM)
        if len(scenes) == 1 and clickable(state, "episodes.resume", "load it and go on", size=(wide, 0)):
            state.ask("use_set", {"folder": shelf.folder, "scene": next(iter(scenes))})
    elif clickable(state, "episodes.resume", "go on with this set", size=(wide, 0), tip="record new episodes into it"):
        state.ask("use_set", {"folder": shelf.folder})


def _list(state, shelf: ShelfView, rows, row, size, s: float, pictures: EpisodePictures) -> None:
    psim.BeginChild("##episode_list", size, psim.ImGuiChildFlags_Borders)
    if shelf.busy:
        theme.text(shelf.busy, palette.TEXT_DIM)
        psim.ProgressBar(float(shelf.done), (-1.0, 6 * s), "")
    if not rows and not shelf.busy:
        what = "The trash is empty." if shelf.trash and not shelf.thrown else "No episode fits the filter."
        if not shelf.rows and not shelf.trash:
            key = state.keymap.get("record", "R")
            what = f"No episodes yet. Close this window and press {key} or the button Record."
        theme.wrapped(what, palette.TEXT_DIM)
    height, top = HEIGHT * s, psim.GetCursorPosY()
    scroll, seen = psim.GetScrollY(), psim.GetWindowSize()[1]
    first = max(int((scroll - top) / height) - 1, 0)
    last = min(first + int(seen / height) + 3, len(rows))
    for number in range(first, last):  # only what can be seen
        psim.SetCursorPosY(top + number * height)
        if draw_line(state, rows[number], rows[number] is row, s, pictures, shelf.folder is None):
            state.ui["episodes.path"] = rows[number].path
    if rows:
        psim.SetCursorPosY(top + len(rows) * height)
        psim.Dummy((1.0, 1.0))
    psim.EndChild()


def _foot(state: ViewState, shelf: ShelfView, rows, s: float) -> None:
    """Numbers of what is shown; what happened last, and undo."""
    n = state.ui["episodes.numbers"]
    parts = [f"{n.episodes} episode{'' if n.episodes == 1 else 's'}"]
    parts += [f"{count} {word}" for count, word in
              ((n.success, "success"), (n.failure, "failure"), (n.unlabelled, "unlabelled")) if count]  # fmt: skip
    if n.success + n.failure:
        parts.append(f"{100 * n.success / (n.success + n.failure):.0f} % of the labelled succeed")
    if n.episodes:
        parts.append(f"{clock(n.seconds)} simulated ({n.shortest:.1f} to {n.longest:.1f} s each)")
        if n.kept < n.seconds - 0.05:
            parts.append(f"{clock(n.kept)} after trims")
        if n.wall_seconds > 0.0:
            parts.append(f"x{n.seconds / n.wall_seconds:.2f} real time")
        if n.peak:
            parts.append(f"up to {n.peak:.2g} N")
        parts.append(f"{n.size / 1e6:.1f} MB")
    if n.findings:
        parts.append(f"{n.findings} with findings")
    theme.text("   ".join(parts))
    state.rects["episodes.numbers"] = (*psim.GetItemRectMin(), *psim.GetItemRectMax())
    if not shelf.undo:
        theme.line("drag, label, discard: everything here can be undone", palette.TEXT_DIM)
    elif clickable(state, "episodes.undo", f"undo: {shelf.undo}###undo", tip="take the last change made here back"):
        state.ask("episodes_undo")
    if shelf.said and (shelf.failed or shelf.said != shelf.undo):
        psim.SameLine(0, 12 * s)
        theme.line(shelf.said, palette.BAD if shelf.failed else palette.TEXT_DIM)
