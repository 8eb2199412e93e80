"""Looks of the panels: light, quiet, with one accent; sizes follow the UI scale."""

from __future__ import annotations

import polyscope.imgui as psim
import polyscope.implot as implot

from app.view import palette
from app.view.palette import rgba

FONT_SIZE = 15.0  # [px] at scale 1


def apply_style(scale: float) -> None:
    """Sets ImGui's and ImPlot's style for a UI scale.

    Called every tick (some 50 microseconds): Polyscope renders pictures with panels in a context of its own, which
    would otherwise show its own style.
    """
    psim.StyleColorsLight()
    style = psim.GetStyle()
    style.FontSizeBase = FONT_SIZE
    style.FontScaleMain = scale
    style.WindowRounding = 7 * scale
    style.ChildRounding = style.FrameRounding = style.PopupRounding = style.GrabRounding = 4 * scale
    style.WindowPadding = (10 * scale, 8 * scale)
    style.FramePadding = (7 * scale, 3 * scale)
    style.ItemSpacing = (7 * scale, 5 * scale)
    style.ItemInnerSpacing = (5 * scale, 4 * scale)
    style.CellPadding = (4 * scale, 2 * scale)
    style.ScrollbarSize = 10 * scale
    style.GrabMinSize = 10 * scale
    style.WindowBorderSize = 1.0
    style.FrameBorderSize = 0.0
    colors = {
        "Text": rgba(palette.TEXT),
        "TextDisabled": rgba(palette.TEXT_DIM),
        "WindowBg": rgba(palette.PANEL, 0.97),
        "PopupBg": rgba(palette.PANEL, 0.99),
        "Border": rgba(palette.PANEL_EDGE),
        "FrameBg": rgba(palette.FIELD),
        "FrameBgHovered": rgba(palette.FIELD_HOVER),
        "FrameBgActive": rgba(palette.FIELD_HOVER),
        "Button": rgba(palette.FIELD),
        "ButtonHovered": rgba((0.80, 0.87, 0.93)),
        "ButtonActive": rgba((0.70, 0.82, 0.92)),
        "Header": rgba((0.86, 0.90, 0.94)),
        "HeaderHovered": rgba((0.80, 0.87, 0.93)),
        "HeaderActive": rgba((0.72, 0.82, 0.91)),
        "CheckMark": rgba(palette.ACCENT),
        "SliderGrab": rgba(palette.ACCENT, 0.8),
        "SliderGrabActive": rgba(palette.ACCENT),
        "Separator": rgba(palette.PANEL_EDGE),
        "PlotHistogram": rgba(palette.ACCENT),
        "ScrollbarBg": (0, 0, 0, 0),
        "TitleBg": rgba(palette.PANEL),
        "ModalWindowDimBg": (0.2, 0.22, 0.25, 0.35),
    }
    for name, color in colors.items():
        style.Colors[getattr(psim, f"ImGuiCol_{name}")] = color
    implot.StyleColorsLight()
    plot = implot.GetStyle()
    plot.PlotPadding = (6 * scale, 6 * scale)
    plot.LabelPadding = (3 * scale, 3 * scale)
    plot.LegendPadding = (4 * scale, 4 * scale)
    plot.LegendInnerPadding = (3 * scale, 2 * scale)
    plot.PlotMinSize = (60 * scale, 40 * scale)
    plot.PlotBorderSize = 0.0
    plot.LineWeight = 1.5 * scale
    plot.SetColor(implot.ImPlotCol_FrameBg, (0.0, 0.0, 0.0, 0.0))
    plot.SetColor(implot.ImPlotCol_PlotBg, rgba(palette.FIELD, 0.7))
    plot.SetColor(implot.ImPlotCol_AxisText, rgba(palette.TEXT_DIM))


def text(content: str, color=None) -> None:
    """One line; dim or coloured when asked. Percent signs are safe."""
    if color is None:
        psim.TextUnformatted(content)
    else:
        psim.TextColored(rgba(color), content)  # the binding takes it as it is, not as a format


def wrapped(content: str, color=None) -> None:
    """A paragraph, wrapped at the panel's edge."""
    psim.PushTextWrapPos(0.0)
    text(content, color)
    psim.PopTextWrapPos()


def line(content: str, color=None) -> None:
    """One line of text level with the buttons beside it."""
    psim.AlignTextToFramePadding()
    text(content, color)


def row(label: str, value: str, color=None, at: float = 0.40) -> None:
    """Label on the left (dim), value with its unit at a fixed share of the panel's width."""
    text(label, palette.TEXT_DIM)
    psim.SameLine(at * psim.GetWindowWidth())
    text(value, color)


def button(label: str, on: bool = False, size=(0.0, 0.0), color=palette.ACCENT) -> bool:
    """A button; filled with the colour when it is the one in force."""
    if on:
        psim.PushStyleColor(psim.ImGuiCol_Button, rgba(color))
        psim.PushStyleColor(psim.ImGuiCol_ButtonHovered, rgba(color, 0.9))
        psim.PushStyleColor(psim.ImGuiCol_Text, (1.0, 1.0, 1.0, 1.0))
    hit = psim.Button(label, size)
    if on:
        psim.PopStyleColor(3)
    return hit


def pill(label: str, color, scale: float) -> None:
    """A state word in a filled, rounded field: DRIVING, PAUSED, REC."""
    width, height = psim.CalcTextSize(label)
    x, y = psim.GetCursorScreenPos()
    pad = 9 * scale
    full = psim.GetFrameHeight()
    lst = psim.GetWindowDrawList()
    lst.AddRectFilled((x, y), (x + width + 2 * pad, y + full), palette.packed(color), 0.5 * full)
    lst.AddText((x + pad, y + 0.5 * (full - height)), palette.packed((1.0, 1.0, 1.0)), label)
    psim.Dummy((width + 2 * pad, full))
