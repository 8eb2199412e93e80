"""Replay: which episode, by states or by inputs, beside which other one, and onto a film."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim
import polyscope.implot as implot

from app.view import palette, theme
from app.view.layout import Layout
from app.view.outline import COLOR
from app.view.panels.episode_line import LABELS
from app.view.panels.frame_of import clickable, log_item, panel
from app.view.panels.status_bar import length
from app.view.state import ViewState

SPEEDS = ((1.0, "1"), (0.5, "1/2"), (0.25, "1/4"), (0.1, "1/10"))
LEAST = 1e-13  # [m] lower end of the divergence plot; "equal to the bit" is drawn there
PLOT_FLAGS = implot.ImPlotFlags_NoLegend | implot.ImPlotFlags_NoMenus | implot.ImPlotFlags_NoMouseText
PLOT_FLAGS |= implot.ImPlotFlags_NoInputs


def draw(state: ViewState, layout: Layout) -> None:
    s = layout.scale
    with panel(state, "replay", "Replay", layout["replay"], s) as open_:
        about = state.about("replay")
        if not open_ or not about:
            return
        if about["back"] and clickable(state, "replay.close", about["back"], True, (-1.0, 0)):
            state.ask("replay_close")
        theme.text(f"{about['name'].replace('_', ' ')}   {length(about['seconds'])}")
        if about["label"]:
            psim.SameLine(0, 8 * s)
            theme.text(about["label"], LABELS.get(about["label"], palette.TEXT))
        theme.text(f"step {about['row']} of {about['rows']}", palette.TEXT_DIM)
        if about["instruction"]:
            theme.wrapped(about["instruction"], palette.TEXT_DIM)
        _speed(state, s)
        psim.Spacing()
        _by(state, about, s)
        if about["by"] == "inputs":
            _meter(state, about, s)
        psim.Spacing()
        _compare(state, about, s)
        psim.Spacing()
        _film(state, about, s)
        if about["problem"]:
            theme.wrapped(about["problem"], palette.BAD)


def _speed(state: ViewState, s: float) -> None:
    theme.line("speed", palette.TEXT_DIM)
    for speed, text in SPEEDS:
        psim.SameLine(0, 5 * s)
        if clickable(state, f"replay.speed_{text}", f"x{text}", abs(state.about("slow", 1.0) - speed) < 1e-6):
            state.ask("slow", speed)


def _by(state: ViewState, about: dict, s: float) -> None:
    theme.line("show", palette.TEXT_DIM)
    for name, text, tip in (
        ("states", "recorded", "the recorded positions"),
        ("inputs", "run inputs again", "the engine does the recorded steps again"),
    ):
        psim.SameLine(0, 5 * s)
        if clickable(state, f"replay.by_{name}", text, about["by"] == name, tip=tip):
            state.ask("replay_by", name)


def _meter(state: ViewState, about: dict, s: float) -> None:
    """How far the engine is from what was recorded."""
    meter = about["meter"]
    done = f"{meter.known} of {about['rows']} steps repeated" + (", ended" if about["ended"] else "")
    theme.text(done, palette.TEXT_DIM)
    if meter.first_bit is None:
        if meter.compared:
            theme.wrapped(f"equal to the bit in all {meter.compared} steps compared", palette.GOOD)
        log_item(state, "replay.verdict")
    else:
        theme.wrapped(f"differs from step {meter.first_bit} on", palette.BAD)
        log_item(state, "replay.verdict")
        theme.row("largest", _metres(meter.largest, about["resolution"]), at=0.42)
        for threshold in (1e-12, 1e-6, 1e-3):
            row = meter.first_over.get(threshold)
            text = "never so far" if row is None else f"step {row}"
            theme.row(f"over {_metres(threshold, 0.0)}", text, palette.TEXT_DIM if row is None else None, at=0.42)
        for note in about["notes"][:2]:
            theme.wrapped(note, palette.TEXT_DIM)
    _meter_plot(state, about, meter, s)
    theme.text("lines: what was recorded", COLOR)


def _meter_plot(state: ViewState, about: dict, meter, s: float) -> None:
    """Logarithm of the distance; from recorded positions it is known to a micrometre, at exact states fully."""
    rows = np.arange(meter.known + 1, dtype=float)
    distance = meter.distance[: meter.known + 1]
    level = np.log10(np.maximum(distance, LEAST))
    theme.text("distance to the recording, by step", palette.TEXT_DIM)
    if not implot.BeginPlot("##meter", (-1.0, 96 * s), PLOT_FLAGS):
        return
    none = implot.ImPlotAxisFlags_NoGridLines | implot.ImPlotAxisFlags_NoHighlight
    implot.SetupAxes("", "", none, 0)
    implot.SetupAxesLimits(0.0, float(max(about["rows"], 1)), -13.4, 0.0, implot.ImPlotCond_Always)
    implot.SetupAxisTicks(implot.ImAxis_Y1, np.array([-13.0, -9.0, -6.0, -3.0]), ["bit", "1 nm", "1 um", "1 mm"])
    limit = float(np.log10(about["resolution"]))
    implot.SetNextLineStyle((*palette.IDLE, 0.8), 1.0 * s)
    implot.PlotLine("known to", np.array([0.0, float(about["rows"])]), np.full(2, limit))
    good = np.isfinite(distance)
    implot.SetNextLineStyle((*palette.VERMILION, 1.0), 1.8 * s)
    implot.PlotLine("distance", rows[good], level[good])
    implot.SetNextLineStyle((*palette.ACCENT, 1.0), 1.0 * s)
    implot.PlotLine("now", np.full(2, float(about["row"])), np.array([-13.4, 0.0]))
    implot.EndPlot()
    log_item(state, "replay.meter")


def _compare(state: ViewState, about: dict, s: float) -> None:
    """The other episode as an outline, and the distance between the two over time."""
    other = about.get("compare")
    theme.line("beside", palette.TEXT_DIM)
    psim.SameLine(0, 6 * s)
    psim.SetNextItemWidth(-1.0)
    shown = other["name"].replace("_", " ") if other else "no other episode"
    opened = psim.BeginCombo("##compare", shown)
    log_item(state, "replay.compare")
    if opened:
        if psim.Selectable("no other episode", other is None):
            state.ask("compare", None)
        log_item(state, "replay.compare_none")
        for name, path in about["others"]:
            if psim.Selectable(name.replace("_", " "), bool(other) and other["path"] == path):
                state.ask("compare", path)
            log_item(state, f"replay.compare_{name}")
        psim.EndCombo()
    if not other:
        if not about["others"]:
            theme.text("the set has no other of this scene", palette.TEXT_DIM)
        return
    apart = other["now"]
    theme.text(f"lines: {other['name'].replace('_', ' ')}", COLOR)
    theme.row("apart now", _metres(apart, 0.0) if np.isfinite(apart) else "other meshes", at=0.42)
    log_item(state, "replay.apart")
    if other["done"] < 1.0:
        psim.ProgressBar(float(other["done"]), (-1.0, 5 * s), "")
    good = np.isfinite(other["distance"])
    if good.sum() < 2 or not implot.BeginPlot("##apart", (-1.0, 96 * s), PLOT_FLAGS):
        return
    values = 1e3 * other["distance"][good]
    implot.SetupAxes("", "", implot.ImPlotAxisFlags_NoGridLines, 0)
    implot.SetupAxisFormat(implot.ImAxis_Y1, "%.3g mm")
    top = 1.1 * max(float(values.max()), 1e-3)
    implot.SetupAxesLimits(0.0, float(about["seconds"]), 0.0, top, implot.ImPlotCond_Always)
    implot.SetNextLineStyle((*COLOR, 1.0), 1.8 * s)
    implot.PlotLine("apart", other["times"][good], values)
    implot.SetNextLineStyle((*palette.ACCENT, 1.0), 1.0 * s)
    implot.PlotLine("now", np.full(2, about["now"]), np.array([0.0, top]))
    implot.EndPlot()
    log_item(state, "replay.apart_plot")


def _film(state: ViewState, about: dict, s: float) -> None:
    if about["film"] is not None:
        psim.ProgressBar(float(about["film"]), (psim.GetContentRegionAvail()[0] - 66 * s, 0), "")
        psim.SameLine(0, 6 * s)
        if clickable(state, "replay.film", "give up###film"):
            state.ask("film")
        return
    tip = "an MP4 of this view at simulated time, of what the trim keeps"
    if clickable(state, "replay.film", "make a film###film", tip=tip):
        state.ask("film")
    if about["filmed"]:
        theme.wrapped(about["filmed"], palette.TEXT_DIM)


def _metres(value: float, resolution: float) -> str:
    """A length in the unit that suits it; below what recorded positions can tell it says so."""
    if 0.0 < value < resolution:
        return "under 1 um"
    for factor, unit in ((1.0, "m"), (1e3, "mm"), (1e6, "um"), (1e9, "nm")):
        if value * factor >= 1.0 or unit == "nm" and value * factor >= 1e-2:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.0e} m" if value > 0.0 else "0"
