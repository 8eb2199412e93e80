"""What the fingers feel: pictures of every pad and force traces, with scales that stay put until asked to change."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim

from app.fields import nice_limit
from app.view import palette, theme
from app.view.images import PadImages
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, log_item, panel
from app.view.panels.pad_pictures import aspect, kinds, largest_flow, picture, scales, trace
from app.view.state import HISTORY, ViewState

IN_FULL = 2  # pads whose pictures all stand in the panel; of more each has one, and a click shows the rest
PLOTS = 2  # traces at most
PLOT_HEIGHT = 62.0  # of a trace and its caption, at scale 1


def draw(state: ViewState, layout: Layout, images: PadImages) -> None:
    s = layout.scale
    with panel(state, "tactile", "Tactile", layout["tactile"], s) as open_:
        if not open_:
            return
        pads = state.about("pads", [])
        if not pads and not state.traces:
            theme.wrapped("This scene has no pad and no tool that feels a force.", palette.TEXT_DIM)
            return
        if pads:
            draw_one = _full if len(pads) <= IN_FULL else _grid
            share = 0.50 if _forces(state) else 0.86
            draw_one(state, pads, images, share * psim.GetContentRegionAvail()[1], s)
            _depth_scale(state, pads, s)
            if len(pads) <= IN_FULL:
                _flow_scale(state, pads, s)
        if _forces(state):
            _traces(state, s)


def _full(state: ViewState, pads: list, images: PadImages, height: float, s: float) -> None:
    """A pad: a line of numbers and a row of pictures."""
    _, flow, _ = scales(state)
    room, line = psim.GetContentRegionAvail()[0], psim.GetTextLineHeightWithSpacing()
    for pad in pads:
        theme.line(str(pad["name"]), palette.TEXT_DIM)
        psim.SameLine(0, 10 * s)
        theme.line(f"{pad['force']:.2f} N")
        psim.SameLine(0, 10 * s)
        theme.line(f"{1e3 * np.max(pad['depth'], initial=0.0):.2f} mm deep")
        shown = kinds(pad)
        width = (room - (len(shown) - 1) * 4 * s) / len(shown)
        width = max(min(width, (height / len(pads) - line - 6 * s) / aspect(pad)), 24 * s)
        for k, kind in enumerate(shown):
            if k:
                psim.SameLine(0, 4 * s)
            _clicked(state, pad, kind, picture(pad, kind, images, (width, width * aspect(pad)), flow, s))


def _grid(state: ViewState, pads: list, images: PadImages, height: float, s: float) -> None:
    """A tile a pad: its first picture, name and force; as many columns as let all be seen."""
    _, flow, _ = scales(state)
    room, line = psim.GetContentRegionAvail()[0], psim.GetTextLineHeightWithSpacing()
    for columns in range(2, 9):
        width = (room - (columns - 1) * 4 * s) / columns
        rows = -(-len(pads) // columns)
        if rows * (width * max(map(aspect, pads)) + line + 4 * s) <= height or columns == 8:
            break
    names = short_names([str(pad["name"]) for pad in pads])
    for k, (pad, name) in enumerate(zip(pads, names, strict=True)):
        if k % columns:
            psim.SameLine(0, 4 * s)
        psim.BeginGroup()
        kind = kinds(pad)[0]
        _clicked(state, pad, kind, picture(pad, kind, images, (width, width * aspect(pad)), flow, s))
        if psim.IsItemHovered():
            psim.SetTooltip(f"{pad['name']}, {pad['force']:.2f} N")
        if psim.CalcTextSize(name)[0] > width:
            name = initials(name)
        theme.text(name, palette.TEXT if pad["force"] > 0.0 else palette.TEXT_DIM)
        psim.EndGroup()


def short_names(names: list[str]) -> list[str]:
    """Without the words that all of them begin or end with: hand.index_1_pad, hand.palm_pad -> index_1, palm."""
    words = [name.replace(".", "_").split("_") for name in names]
    while min(map(len, words)) > 1 and len({w[0] for w in words}) == 1:
        words = [w[1:] for w in words]
    while min(map(len, words)) > 1 and len({w[-1] for w in words}) == 1:
        words = [w[:-1] for w in words]
    return ["_".join(w) for w in words]


def initials(name: str) -> str:
    """index_1 -> i1; a single word keeps two letters."""
    words = name.split("_")
    return name[:2] if len(words) == 1 else "".join(w if w.isdigit() else w[0] for w in words if w)


def _clicked(state: ViewState, pad: dict, kind: str, hit: bool) -> None:
    log_item(state, f"tactile.{pad['name']}.{kind}")
    if hit:
        state.enlarged = "" if state.enlarged == pad["name"] else pad["name"]


def _depth_scale(state: ViewState, pads: list, s: float) -> None:
    """A horizontal viridis bar with its two ends in mm."""
    limit, _, _ = scales(state)
    top = max((float(np.max(p["depth"], initial=0.0)) for p in pads), default=0.0)
    theme.line("depth  0", palette.TEXT_DIM)
    psim.SameLine(0, 4 * s)
    x, y = psim.GetCursorScreenPos()
    canvas, height, width = psim.GetWindowDrawList(), psim.GetTextLineHeight(), 70 * s
    steps = len(palette.VIRIDIS)
    for k, color in enumerate(palette.VIRIDIS):
        low = x + width * k / steps
        canvas.AddRectFilled((low, y + 3 * s), (low + width / steps + 1, y + height - 2 * s), palette.packed(color))
    psim.Dummy((width, height))
    psim.SameLine(0, 4 * s)
    over = top > limit
    theme.line(f"{1e3 * limit:g} mm" + (" over" if over else ""), palette.WARN if over else palette.TEXT_DIM)
    psim.SameLine(0.74 * psim.GetWindowWidth())
    if clickable(state, "tactile.fit", "fit scale", tip="set the depth scale to what is pressed now"):
        state.settings.scales["depth"] = nice_limit(top if top > 0 else 1e-3)


def _flow_scale(state: ViewState, pads: list, s: float) -> None:
    if not any(p["marker"] is not None for p in pads):
        return
    _, limit, _ = scales(state)
    top = largest_flow(pads)
    over = top > limit
    theme.line("markers", palette.TEXT_DIM)
    psim.SameLine(0, 4 * s)
    theme.line(f"0 to {limit:g} px" + (" over" if over else ""), palette.WARN if over else palette.TEXT_DIM)
    psim.SameLine(0.74 * psim.GetWindowWidth())
    if clickable(state, "tactile.fit_flow", "fit scale##flow", tip="set the arrows' scale to what moves now"):
        state.settings.scales["flow"] = nice_limit(top if top > 0 else 2.0)


def _forces(state: ViewState) -> dict[str, np.ndarray]:
    """What is traced, pads first: name -> (n, 3) [N]."""
    pads = {name: np.asarray(t) for name, t in state.pad_traces.items()}
    tools = {f"on the {name}": np.asarray(t) for name, t in state.traces.items()}
    if len(pads) > IN_FULL:  # those that feel most
        strong = sorted(pads, key=lambda name: -float(np.abs(pads[name][-30:]).max(initial=0.0)))[:PLOTS]
        pads = {name: pads[name] for name in strong}
    return dict(list((pads | tools).items())[:PLOTS])


def _traces(state: ViewState, s: float) -> None:
    _, _, limit = scales(state)
    room = psim.GetContentRegionAvail()[1] - psim.GetTextLineHeightWithSpacing()
    shown = dict(list(_forces(state).items())[: max(1, int(room / (PLOT_HEIGHT * s)))])
    now = max((float(np.abs(values).max(initial=0.0)) for values in shown.values()), default=0.0)
    theme.line("force", palette.TEXT_DIM)
    for axis in range(3):
        psim.SameLine(0, 8 * s)
        theme.line("xyz"[axis], palette.TRACES[axis])
    psim.SameLine(0, 14 * s)
    theme.line(f"\u00b1{limit:g} N", palette.WARN if now > limit else palette.TEXT_DIM)
    psim.SameLine(0.74 * psim.GetWindowWidth())
    if clickable(state, "tactile.fit_trace", "fit scale##trace", tip="set the force scale to the last seconds"):
        state.settings.scales["trace"] = nice_limit(now if now > 0 else 5.0)
    height = psim.GetContentRegionAvail()[1] / len(shown) - psim.GetTextLineHeightWithSpacing() - 2 * s
    if height < 30 * s:
        return
    for name, values in shown.items():
        trace(name, values, limit, height, s)
        axes = "in its own axes" if name in state.pad_traces else "in the world"
        theme.text(f"{name}, {axes}, last {HISTORY * state.frame.dt:.0f} s", palette.TEXT_DIM)
