"""One line of the browser: picture, name and length, label, what was said, the force over time."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim

from app.episode_rows import EpisodeRow
from app.view import palette
from app.view.episode_pictures import EpisodePictures
from app.view.panels.frame_of import log_item
from app.view.panels.status_bar import length
from app.view.state import ViewState

HEIGHT = 68.0  # [px] at scale 1
PICTURE = (96.0, 60.0)
LABELS = {"success": palette.GOOD, "failure": palette.WARN, "discard": palette.BAD}


def draw_line(state: ViewState, row: EpisodeRow, on: bool, s: float, pictures: EpisodePictures, with_set: bool) -> bool:
    """Draws at the cursor, as wide as there is room; True when it was clicked."""
    x, y = psim.GetCursorScreenPos()
    width, height = psim.GetContentRegionAvail()[0], (HEIGHT - 4.0) * s
    hit = psim.InvisibleButton(f"##line_{row.path}", (max(width, 1.0), height))
    log_item(state, f"episodes.row_{row.set_name}_{row.name}" if with_set else f"episodes.row_{row.name}")
    lst = psim.GetWindowDrawList()
    if on or psim.IsItemHovered():
        color = (0.84, 0.90, 0.96) if on else palette.FIELD
        lst.AddRectFilled((x, y), (x + width, y + height), palette.packed(color), 4 * s)
    picture(pictures, row, (x + 3 * s, y + 2 * s), (PICTURE[0] * s, PICTURE[1] * s), s)
    text, dim, line = palette.packed(palette.TEXT), palette.packed(palette.TEXT_DIM), psim.GetTextLineHeight()
    left = x + (PICTURE[0] + 14) * s
    lst.AddText((left, y + 3 * s), text, row.name.replace("episode_", "episode "))
    at = left + psim.CalcTextSize("episode 00000")[0] + 8 * s
    lst.AddText((at, y + 3 * s), dim, length(row.seconds) if not row.problem else "")
    at += psim.CalcTextSize("00.0 s")[0] + 12 * s
    if row.label in LABELS:
        at = _word(lst, at, y + 3 * s, row.label, LABELS[row.label], s)
    if row.kept is not None:
        at = _word(lst, at, y + 3 * s, "trimmed", palette.IDLE, s)
    if row.problem or row.worst:
        word = "damaged" if row.problem and "not sealed" not in row.problem else row.worst or "not saved yet"
        _word(lst, at, y + 3 * s, word, palette.BAD if word in ("error", "damaged") else palette.SAVING, s)
    where = f"{row.set_name}, {row.scene}" if with_set and row.set_name != row.scene else row.scene
    lst.AddText((left, y + 5 * s + line), dim, f"{row.created}   {where}")
    spark = min(max(0.26 * width, 90 * s), 200 * s)
    right = x + width - spark - 10 * s
    said = row.problem or row.instruction
    if said:
        lst.PushClipRect((left, y), (right - 6 * s, y + height), True)
        lst.AddText((left, y + 7 * s + 2 * line), dim, said)
        lst.PopClipRect()
    sparkline(lst, row, (right, y + 5 * s), (spark, height - 10 * s), s)
    return hit


def picture(pictures: EpisodePictures, row: EpisodeRow, low, size, s: float) -> None:
    """The picture, or an empty field that says so."""
    high, lst = (low[0] + size[0], low[1] + size[1]), psim.GetWindowDrawList()
    if not pictures.show(f"{row.path} {len(row.picture or b'')}", row.picture, low, high):
        lst.AddRectFilled(low, high, palette.packed(palette.FIELD_HOVER), 3 * s)
        if row.picture is None:
            words = "no picture"
            wide, high_ = psim.CalcTextSize(words)
            if wide < size[0]:
                place = (low[0] + 0.5 * (size[0] - wide), low[1] + 0.5 * (size[1] - high_))
                lst.AddText(place, palette.packed(palette.TEXT_DIM), words)


def sparkline(lst, row: EpisodeRow, low, size, s: float) -> None:
    """The force over the episode, its peak in words; grey where a trim leaves it out."""
    (x, y), (width, height) = low, size
    if not len(row.trace):
        return
    trace = row.trace / max(row.peak, 1e-9)
    line = psim.GetTextLineHeight()
    base, span = y + height - 1.0, height - line - 2 * s
    places = np.stack([x + width * np.linspace(0, 1, len(trace)), base - span * trace], axis=1).astype(np.float32)
    lst.AddLine((x, base), (x + width, base), palette.packed(palette.FIELD_HOVER), 1.0)
    if len(places) > 1:
        lst.AddPolyline(np.asfortranarray(places), palette.packed(palette.ACCENT), 0, 1.4 * s)
    if row.kept is not None and row.seconds > 0.0:
        veil = palette.packed(palette.PANEL, 0.75)
        start, end = (x + width * moment / row.seconds for moment in row.kept)
        for a, b in ((x, start), (end, x + width)):
            if b - a > 1.0:
                lst.AddRectFilled((a, y + line), (b, base), veil)
    words = f"{row.trace_of} up to {row.peak:.2g} N"
    lst.AddText((x + width - psim.CalcTextSize(words)[0], y - 1 * s), palette.packed(palette.TEXT_DIM), words)


def _word(lst, x: float, y: float, word: str, color, s: float) -> float:
    """A small filled field with a word; returns where the next one begins."""
    wide, high = psim.CalcTextSize(word)
    lst.AddRectFilled((x, y), (x + wide + 10 * s, y + high + 2 * s), palette.packed(color), 0.4 * high)
    lst.AddText((x + 5 * s, y + 1 * s), palette.packed((1.0, 1.0, 1.0)), word)
    return x + wide + 16 * s
