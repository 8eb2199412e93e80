"""The frame every panel stands in: fixed rectangle, title that collapses, logged rectangle."""

from __future__ import annotations

from contextlib import contextmanager

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Rect
from app.view.state import ViewState

FIXED = (
    psim.ImGuiWindowFlags_NoMove
    | psim.ImGuiWindowFlags_NoResize
    | psim.ImGuiWindowFlags_NoTitleBar
    | psim.ImGuiWindowFlags_NoSavedSettings
    | psim.ImGuiWindowFlags_NoCollapse
    | psim.ImGuiWindowFlags_NoBringToFrontOnFocus
    | psim.ImGuiWindowFlags_NoFocusOnAppearing
    | psim.ImGuiWindowFlags_NoNav
)


@contextmanager
def window(state: ViewState, name: str, rect: Rect, flags: int = 0, background: float | None = None):
    """A fixed ImGui window at a rectangle; its true rectangle is logged under its name."""
    psim.SetNextWindowPos((rect.x, rect.y))
    psim.SetNextWindowSize((rect.width, rect.height))
    if background is not None:
        psim.SetNextWindowBgAlpha(background)
    psim.Begin(f"##{name}", FIXED | flags)
    try:
        x, y = psim.GetWindowPos()
        w, h = psim.GetWindowSize()
        state.rects[name] = (x, y, x + w, y + h)
        yield
    finally:
        psim.End()


@contextmanager
def dialog(state: ViewState, name: str, center: tuple[float, float], width: float, most: float):
    """A window in front of everything, centred, as high as its content and at most `most` [px]."""
    psim.SetNextWindowPos(center, 0, (0.5, 0.5))
    psim.SetNextWindowSizeConstraints((width, 0.0), (width, most))
    psim.SetNextWindowFocus()
    psim.Begin(
        f"##{name}", FIXED & ~psim.ImGuiWindowFlags_NoBringToFrontOnFocus | psim.ImGuiWindowFlags_AlwaysAutoResize
    )
    try:
        x, y = psim.GetWindowPos()
        w, h = psim.GetWindowSize()
        state.rects[name] = (x, y, x + w, y + h)
        yield
    finally:
        psim.End()


@contextmanager
def panel(state: ViewState, name: str, title: str, rect: Rect, scale: float, note: str = "", color=palette.TEXT_DIM):
    """A titled panel. Yields True when it is open; the click on its title toggles it and is remembered.

    note: at the right end of the title, in its colour.
    """
    collapsed = name in state.settings.collapsed
    flags = psim.ImGuiWindowFlags_NoScrollbar if collapsed else 0
    with window(state, name, rect, flags):
        x, y = psim.GetCursorScreenPos()
        height = psim.GetTextLineHeight()
        if psim.InvisibleButton(f"##title_{name}", (psim.GetContentRegionAvail()[0], height + 2 * scale)):
            (state.settings.collapsed.remove if collapsed else state.settings.collapsed.append)(name)
        hovered = psim.IsItemHovered()
        state.rects[f"{name}.title"] = (*psim.GetItemRectMin(), *psim.GetItemRectMax())
        lst = psim.GetWindowDrawList()
        arrow = palette.packed(palette.ACCENT if hovered else palette.TEXT_DIM)
        size, cx, cy = 3.6 * scale, x + 5 * scale, y + 0.5 * height
        if collapsed:
            lst.AddTriangleFilled((cx - size * 0.7, cy - size), (cx + size, cy), (cx - size * 0.7, cy + size), arrow)
        else:
            lst.AddTriangleFilled((cx - size, cy - size * 0.7), (cx + size, cy - size * 0.7), (cx, cy + size), arrow)
        lst.AddText((x + 16 * scale, y), palette.packed(palette.TEXT), title)
        if note:
            room = psim.GetContentRegionAvail()[0] - 28 * scale - psim.CalcTextSize(title)[0]
            note = shortened(note, room)
            lst.AddText((psim.GetItemRectMax()[0] - psim.CalcTextSize(note)[0], y), palette.packed(color), note)
        yield not collapsed


def shortened(text: str, room: float) -> str:
    """`text`, or its end behind two dots when it is wider than `room` [px]: what matters of a status stands last."""
    if psim.CalcTextSize(text)[0] <= room:
        return text
    while len(text) > 1 and psim.CalcTextSize(f"..{text}")[0] > room:
        text = text[1:]
    return f"..{text}"


def log_item(state: ViewState, name: str) -> None:
    """Logs the last widget's rectangle, so that a test can click it."""
    state.rects[name] = (*psim.GetItemRectMin(), *psim.GetItemRectMax())


def clickable(
    state: ViewState, name: str, label: str, on: bool = False, size=(0.0, 0.0), tip: str = "", color=None
) -> bool:
    """A logged button with a tooltip."""
    hit = theme.button(label, on, size, color or palette.ACCENT)
    log_item(state, name)
    if tip and psim.IsItemHovered():
        psim.SetTooltip(tip)
    return hit
