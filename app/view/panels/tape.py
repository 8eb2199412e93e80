"""How the tape comes off: how much was paid out, with which force, how far the hub has turned."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim
import polyscope.implot as implot

from app.fields import nice_limit
from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, panel
from app.view.state import HISTORY, ViewState

PLOTS = (  # title, unit, factor, [(trace, name, colour)]
    ("force", "N", 1.0, (("peel", "pull", palette.VERMILION), ("tension", "tension", palette.BLUE))),
    ("paid out", "mm", 1e3, (("payout", "", palette.GREEN),)),
    ("hub", "deg", 180.0 / np.pi, (("turned", "", palette.PURPLE),)),
)


def draw(state: ViewState, layout: Layout) -> None:
    s = layout.scale
    with panel(state, "tape", "Tape", layout["tape"], s) as open_:
        if not open_:
            return
        tape = state.about("tape") or {}
        if not tape:
            theme.text("no step yet", palette.TEXT_DIM)
            return
        _numbers(state, tape)
        _adhesive(state, s)
        _plots(state, s)


def _numbers(state: ViewState, tape: dict) -> None:
    """Label and value, two to a line."""
    cells = []
    if "peel" in state.tape_traces:
        cells.append(("pull", _newtons(state.tape_traces["peel"][-1])))
    for name, roll in tape["rolls"].items():
        prefix = f"{name} " if len(tape["rolls"]) > 1 else ""
        cells.append((f"{prefix}tension", _newtons(roll["tension"])))
        cells.append((f"{prefix}paid out", f"{1e3 * roll['payout']:.0f} mm"))
        cells.append((f"{prefix}hub", f"{np.degrees(roll['turned']):.0f} deg"))
    for mesh, damage in tape["damage"].items():
        if mesh not in tape["rolls"]:
            held = float(np.mean(1.0 - damage[~np.isnan(damage)]))
            cells.append((f"{mesh} stuck", f"{100.0 * held:.0f} %"))
    width = psim.GetWindowWidth()
    for index, (label, value) in enumerate(cells):
        left = 0.5 * (index % 2) * width
        if left:
            psim.SameLine(left)
        theme.text(label, palette.TEXT_DIM)
        psim.SameLine(left + 0.24 * width)
        theme.text(value)


def _newtons(force: float) -> str:
    return f"{round(force, 2) + 0.0:.2f} N"  # + 0.0: no minus before zero


def _adhesive(state: ViewState, s: float) -> None:
    """Adhesives a pair at a time and friction a mesh at a time, a quarter more or less by a click; the name shows the
    next one."""
    if state.about("replay"):
        return
    for pairs, key, tip, verb in (
        (state.about("adhesives") or [], "pair", "adhesive of this pair; click for the next one", "set_adhesion"),
        (state.about("frictions") or [], "mesh", "friction of this mesh; click for the next one", "set_friction"),
    ):
        if pairs:
            _editable(state, s, pairs, key, tip, verb)


def _editable(state: ViewState, s: float, pairs: list[dict], key: str, tip: str, verb: str) -> None:
    index = int(state.text.get(f"tape.{key}", "0")) % len(pairs)
    pair = pairs[index]
    name = pair["mesh"]
    if "partner" in pair:
        name += f" on {'itself' if pair['partner'] == pair['mesh'] else pair['partner']}"
    if clickable(state, f"tape.{key}", f"{name}##{key}", tip=tip):
        state.text[f"tape.{key}"] = str((index + 1) % len(pairs))
    words = {"pair": ("weaker", "stronger"), "mesh": ("smoother", "rougher")}[key]
    for word, sign, factor in zip(words, "-+", (0.8, 1.25), strict=True):
        psim.SameLine(0, 4 * s)
        if clickable(state, f"tape.{word}", f"{sign}##{word}", tip=f"{word} by a quarter"):
            edit = {k: pair[k] for k in ("mesh", "partner") if k in pair} | {"value": factor * pair["value"]}
            state.ask(verb, edit)
    value = f"{pair['value']:.3g} {pair['unit']}" if "unit" in pair else f"friction {pair['value']:.3g}"
    psim.SameLine(0, 8 * s)
    if psim.GetContentRegionAvail()[0] < psim.CalcTextSize(value)[0]:  # long names: the value goes below
        psim.NewLine()
    theme.line(value)


def _plots(state: ViewState, s: float) -> None:
    """Those whose numbers exist, the room shared among them; rather fewer than too low to read."""
    shown = [plot for plot in PLOTS if any(name in state.tape_traces for name, _, _ in plot[3])]
    psim.Spacing()
    room = psim.GetContentRegionAvail()[1]
    line = psim.GetTextLineHeightWithSpacing() + 5 * s
    while shown and room / len(shown) - line < 40 * s:
        shown = shown[:-1]
    for title, unit, factor, traces in shown:
        _plot(state, s, title, unit, factor, traces, room / len(shown) - line)


def _plot(state, s, title, unit, factor, traces, height) -> None:
    values = {name: factor * np.asarray(state.tape_traces[name]) for name, _, _ in traces if name in state.tape_traces}
    top = nice_limit(max(float(np.abs(v).max(initial=0.0)) for v in values.values()))
    low = -top if min(float(v.min(initial=0.0)) for v in values.values()) < -0.02 * top else 0.0
    theme.text(f"{title} [{unit}]", palette.TEXT_DIM)
    for name, word, color in traces:
        if word and name in values:
            psim.SameLine(0, 8 * s)
            theme.text(word, color)
    flags = (
        implot.ImPlotFlags_NoLegend
        | implot.ImPlotFlags_NoMenus
        | implot.ImPlotFlags_NoMouseText
        | implot.ImPlotFlags_NoInputs
    )
    if not implot.BeginPlot(f"##tape_{title}", (-1.0, height), flags):
        return
    bare = implot.ImPlotAxisFlags_NoTickLabels | implot.ImPlotAxisFlags_NoTickMarks | implot.ImPlotAxisFlags_NoGridLines
    ticks = [low, top] if low == 0.0 else [low, 0.0, top]
    implot.SetupAxes("", "", bare, 0)
    margin = 0.06 * (top - low)
    implot.SetupAxesLimits(0.0, float(HISTORY), low - margin, top + margin, implot.ImPlotCond_Always)
    implot.SetupAxisTicks(implot.ImAxis_Y1, np.array(ticks), [f"{tick:g}" for tick in ticks])
    for name, word, color in traces:
        if name in values:
            implot.SetNextLineStyle((*color, 1.0), 1.5 * s)
            line = np.ascontiguousarray(values[name])
            implot.PlotLine(word or title, np.arange(len(line), dtype=float), line)
    implot.EndPlot()
