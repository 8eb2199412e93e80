"""Is the physics keeping up, and how far can it be trusted."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim
import polyscope.implot as implot

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import panel
from app.view.state import HISTORY, ViewState


def draw(state: ViewState, layout: Layout) -> None:
    s = layout.scale
    with panel(state, "solver", "Solver", layout["solver"], s) as open_:
        if not open_:
            return
        frame = state.frame
        report = frame.report if frame else None
        if report is None:
            theme.text("no step yet", palette.TEXT_DIM)
            return
        word = "converged" if report.converged else "stalled" if report.stalled else "budget spent"
        theme.row("step", word, palette.GOOD if report.converged else palette.WARN)
        theme.row("Newton", f"{report.newton_iterations}, PCG {report.linear_iterations} ({report.linear_solver})")
        theme.row("update", f"{report.newton_update:.1e} m/s")
        theme.row("residual", f"{report.newton_residual:.1e} m/s")
        gap = f"{1e3 * report.min_distance:.3f} mm" if np.isfinite(report.min_distance) else "-"
        theme.row("contacts", f"{report.contacts}, gap {gap}")
        if report.overflow:
            theme.wrapped(report.overflow, palette.WARN)
        for message in report.messages[:2]:
            theme.wrapped(message, palette.WARN)
        _stage_bar(state, s)
        _realtime_plot(state, s)


def _stage_bar(state: ViewState, s: float) -> None:
    """One bar of the step's time, a colour a stage, names beneath."""
    total = sum(state.stages.values())
    if total <= 0.0:
        return
    psim.Spacing()
    x, y = psim.GetCursorScreenPos()
    width, height = psim.GetContentRegionAvail()[0], 9 * s
    lst = psim.GetWindowDrawList()
    named = state.dearest(4)
    ranked = sorted(state.stages.items(), key=lambda item: -item[1])
    at = x
    for stage, seconds in ranked:
        span = width * seconds / total
        color = palette.packed(state.stage_colors.get(stage, palette.IDLE))
        lst.AddRectFilled((at, y), (max(at + span - 1, at), y + height), color)
        at += span
    psim.Dummy((width, height))
    for stage, seconds in named:
        cx, cy = psim.GetCursorScreenPos()
        side = 8 * s
        color = palette.packed(state.stage_colors.get(stage, palette.IDLE))
        lst.AddRectFilled((cx, cy + 4 * s), (cx + side, cy + 4 * s + side), color, 2 * s)
        psim.Dummy((side, side))
        psim.SameLine(0, 6 * s)
        theme.text(stage.replace("_", " "), palette.TEXT_DIM)
        psim.SameLine(0.62 * psim.GetWindowWidth())
        theme.text(f"{1e3 * seconds:.1f} ms  {100 * seconds / total:.0f} %")


def _realtime_plot(state: ViewState, s: float) -> None:
    height = psim.GetContentRegionAvail()[1]
    if len(state.realtime) < 2 or height < 52 * s:
        return
    flags = (
        implot.ImPlotFlags_NoLegend
        | implot.ImPlotFlags_NoMenus
        | implot.ImPlotFlags_NoMouseText
        | implot.ImPlotFlags_NoInputs
    )
    theme.text("real-time factor", palette.TEXT_DIM)
    height = psim.GetContentRegionAvail()[1]
    if not implot.BeginPlot("##realtime", (-1.0, max(min(height, 110 * s), 40 * s)), flags):
        return
    bare = implot.ImPlotAxisFlags_NoTickLabels | implot.ImPlotAxisFlags_NoTickMarks | implot.ImPlotAxisFlags_NoGridLines
    implot.SetupAxes("", "", bare, 0)
    implot.SetupAxesLimits(0.0, float(HISTORY), 0.0, 1.1, implot.ImPlotCond_Always)
    implot.SetupAxisTicks(implot.ImAxis_Y1, np.array([0.0, 1.0]), ["0", "1"])  # its own ticks meet in a low plot
    implot.SetNextLineStyle((*palette.ACCENT, 1.0), 1.6 * s)
    values = np.minimum(np.array(state.realtime, float), 1.1)
    implot.PlotLine("x real time", np.arange(len(values), dtype=float), values)
    implot.EndPlot()
