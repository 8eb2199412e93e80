"""What the finger feels: depth image and force traces, both with a scale that stays put until asked to change."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim
import polyscope.implot as implot

from app.fields import nice_limit
from app.view import palette, theme
from app.view.images import DepthImages
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, panel
from app.view.state import HISTORY, ViewState


def draw(state: ViewState, layout: Layout, images: DepthImages) -> None:
    s = layout.scale
    with panel(state, "tactile", "Tactile", layout["tactile"], s) as open_:
        if not open_:
            return
        pads = state.about("pads", [])
        if not pads and not state.traces:
            theme.wrapped("This scene has no pad and no tool that feels a force.", palette.TEXT_DIM)
            return
        if pads:
            _depth(state, pads, images, s)
        if state.traces:
            _traces(state, s)


def _depth(state: ViewState, pads: list, images: DepthImages, s: float) -> None:
    """One pad: a large picture and its numbers to the right. Several: the first two side by side, numbers beneath."""
    limit = state.settings.scales["depth"]
    room, height = psim.GetContentRegionAvail()
    alone = len(pads) == 1
    columns = min(len(pads), 2)
    scale_width, share = 46 * s, 0.52 if state.traces else 0.85
    beside = 96 * s if alone else 0.0  # [px] for the numbers
    below = 4 * s if alone else 56 * s
    width = (room - scale_width - beside - (columns - 1) * 6 * s) / columns
    top = max((float(np.max(p["depth"], initial=0.0)) for p in pads), default=0.0)
    tallest = 0.0
    for index, pad in enumerate(pads[:columns]):
        rows, cols = pad["depth"].shape
        size = max(min(width, (share * height - below) * cols / rows), 24 * s)
        tallest = max(tallest, size * rows / cols)
        if index:
            psim.SameLine(0, 6 * s)
        psim.BeginGroup()
        images.show(pad["name"], pad["depth"], limit, (size, size * rows / cols))
        if not alone:
            theme.text(f"{pad['name']}  {pad.get('force', 0.0):.2f} N")
        psim.EndGroup()
    psim.SameLine(0, 8 * s)
    psim.BeginGroup()
    _scale(limit, s, tallest)
    psim.EndGroup()
    if alone:
        psim.SameLine(0, 4 * s)
    psim.BeginGroup()
    if alone:
        theme.text(str(pads[0]["name"]), palette.TEXT_DIM)
        theme.text(f"{pads[0].get('force', 0.0):.2f} N")
    over = top > limit
    theme.line(f"{1e3 * top:.2f} mm deep", palette.WARN if over else palette.TEXT)
    if not alone:
        psim.SameLine(0, 6 * s)
    if over:
        theme.line("over scale", palette.WARN)
    if not alone:
        psim.SameLine(0.66 * psim.GetWindowWidth())
    if clickable(state, "tactile.fit", "fit scale", tip="set the depth scale to what is pressed now"):
        state.settings.scales["depth"] = nice_limit(top if top > 0 else 1e-3)
    psim.EndGroup()


def _scale(limit: float, s: float, height: float) -> None:
    """A vertical viridis bar with its two ends in mm."""
    x, y = psim.GetCursorScreenPos()
    lst = psim.GetWindowDrawList()
    height = max(height, 40 * s)
    steps = len(palette.VIRIDIS)
    for k in range(steps):
        low = y + height * (1 - (k + 1) / steps)
        lst.AddRectFilled((x, low), (x + 10 * s, low + height / steps + 1), palette.packed(palette.VIRIDIS[k]))
    dim = palette.packed(palette.TEXT_DIM)
    line = psim.GetTextLineHeight()
    lst.AddText((x + 14 * s, y - 2 * s), dim, f"{1e3 * limit:g}")
    lst.AddText((x + 14 * s, y + 0.5 * height - 0.5 * line), dim, "mm")
    lst.AddText((x + 14 * s, y + height - line + 2 * s), dim, "0")
    psim.Dummy((40 * s, height))


def _traces(state: ViewState, s: float) -> None:
    limit = state.settings.scales["trace"]
    now = max((float(np.abs(np.asarray(t)).max(initial=0.0)) for t in state.traces.values()), default=0.0)
    theme.line("force", palette.TEXT_DIM)
    for axis in range(3):
        psim.SameLine(0, 8 * s)
        theme.line("xyz"[axis], palette.TRACES[axis])
    psim.SameLine(0, 14 * s)
    theme.line(f"\u00b1{limit:g} N", palette.WARN if now > limit else palette.TEXT_DIM)
    psim.SameLine(0.66 * psim.GetWindowWidth())
    if clickable(state, "tactile.fit_trace", "fit scale##trace", tip="set the force scale to the last seconds"):
        state.settings.scales["trace"] = nice_limit(now if now > 0 else 5.0)
    names = list(state.traces)[:2]
    height = psim.GetContentRegionAvail()[1] / len(names) - psim.GetTextLineHeightWithSpacing() - 2 * s
    if height < 40 * s:
        return
    flags = (
        implot.ImPlotFlags_NoLegend
        | implot.ImPlotFlags_NoMenus
        | implot.ImPlotFlags_NoMouseText
        | implot.ImPlotFlags_NoInputs
    )
    bare = implot.ImPlotAxisFlags_NoTickLabels | implot.ImPlotAxisFlags_NoTickMarks | implot.ImPlotAxisFlags_NoGridLines
    ticks = [-limit, 0.0, limit] if height < 120 * s else [-limit, -0.5 * limit, 0.0, 0.5 * limit, limit]
    for name in names:
        values = np.asarray(state.traces[name])
        if not implot.BeginPlot(f"##{name}", (-1.0, height), flags):
            continue
        implot.SetupAxes("", "", bare, 0)
        implot.SetupAxesLimits(0.0, float(HISTORY), -1.08 * limit, 1.08 * limit, implot.ImPlotCond_Always)
        implot.SetupAxisTicks(implot.ImAxis_Y1, np.array(ticks), [f"{tick:g}" for tick in ticks])
        for axis in range(3):
            implot.SetNextLineStyle((*palette.TRACES[axis], 1.0), 1.4 * s)
            implot.PlotLine("xyz"[axis], np.arange(len(values), dtype=float), np.ascontiguousarray(values[:, axis]))
        implot.EndPlot()
        theme.text(f"on the {name}, last {HISTORY * state.frame.dt:.0f} s", palette.TEXT_DIM)
