"""Over the 3D view: what the colours mean, where the camera stands; the legend with its locked scale; the banner."""

from __future__ import annotations

import polyscope.imgui as psim

from app.fields import nice_limit
from app.settings import COLOR_MODES
from app.view import palette, tape_colors, theme
from app.view.layout import Layout, Rect
from app.view.panels.frame_of import clickable, window
from app.view.state import ViewState

NO_INPUT = psim.ImGuiWindowFlags_NoScrollbar | psim.ImGuiWindowFlags_NoBackground
TITLES = {mode: mode.capitalize() for mode in COLOR_MODES}
UNITS = {  # field: (title, factor to the shown unit, unit)
    "adhesion": ("how far the tape has come off", 100.0, "%"),
    "strain": ("largest strain", 100.0, "%"),
    "force": ("contact force per vertex", 1.0, "N"),
    "depth": ("pad depth", 1e3, "mm"),
}


def draw(state: ViewState, layout: Layout, bookmarks: dict) -> None:
    s = layout.scale
    with window(state, "view_bar", layout["view_bar"], NO_INPUT):
        for index, mode in enumerate(_modes(state)):
            if index:
                psim.SameLine(0, 3 * s)
            if clickable(state, f"view.{mode}", TITLES[mode], mode == state.settings.color_mode):
                state.settings.color_mode = mode
        _world(state, s)
        names = list(bookmarks)[:5]
        width = sum(psim.CalcTextSize(n)[0] + 17 * s for n in names) + psim.CalcTextSize("+")[0] + 26 * s
        free = layout["view_bar"].width - width - 14 * s
        if names and free > psim.GetItemRectMax()[0] - layout["view_bar"].x + 10 * s:
            psim.SameLine(free)
            for name in names:
                if clickable(state, f"view.camera_{name}", name, tip=f"camera: {name}"):
                    state.ask("camera", name)
                psim.SameLine(0, 3 * s)
            if clickable(state, "view.bookmark", "+", tip="remember this camera"):
                state.ask("bookmark")
    if state.settings.color_mode == "tape" and state.sticky:
        _regions(state, layout)
    elif state.settings.color_mode in UNITS:
        _legend(state, layout)


def _world(state: ViewState, s: float) -> None:
    """Which world of a batch is shown, with steps to the one before and after."""
    count, shown = state.info.get("worlds", 1), state.info.get("world", 0)
    if count < 2:
        return
    for step, sign in ((-1, "<"), (1, ">")):
        psim.SameLine(0, (12 if step < 0 else 3) * s)
        if clickable(state, f"view.world{sign}", sign, tip=f"world {(shown + step) % count}"):
            state.ask("show_world", (shown + step) % count)
        if step < 0:
            psim.SameLine(0, 3 * s)
            psim.TextUnformatted(f"world {shown} of {count}")


def _modes(state: ViewState) -> list[str]:
    """Colour modes that have something to show in this scene."""
    without = set()
    if not state.sticky:
        without |= {"tape", "adhesion"}
    if not getattr(state.scene, "pads", ()):
        without.add("depth")
    return [mode for mode in COLOR_MODES if mode not in without]


def _regions(state: ViewState, layout: Layout) -> None:
    """Colours of the tape by name, as wide as the words need."""
    s = layout.scale
    names = tape_colors.shown_names(getattr(state.scene, "rolls", {}))
    side, gap = 9 * s, 14 * s
    widths = [side + 5 * s + psim.CalcTextSize(tape_colors.LEGEND[name])[0] for name in names]
    rect, view = layout["legend"], layout["view"]
    width = min(sum(widths) + gap * (len(names) - 1) + 24 * s, view.width)
    height = psim.GetTextLineHeight() + 18 * s
    place = Rect(view.center[0] - 0.5 * width, rect.bottom - height, width, height)
    with window(state, "legend", place, psim.ImGuiWindowFlags_NoScrollbar, 0.9):
        lst, line = psim.GetWindowDrawList(), psim.GetTextLineHeight()
        x, y = psim.GetCursorScreenPos()
        for name, step in zip(names, widths, strict=True):
            low = y + 0.5 * (line - side)
            if name == "front":
                low, high = y + 0.5 * line - 1.5 * s, y + 0.5 * line + 1.5 * s
            else:
                high = low + side
            lst.AddRectFilled((x, low), (x + side, high), palette.packed(palette.TAPE[name]), 2 * s)
            lst.AddText((x + side + 5 * s, y), palette.packed(palette.TEXT), tape_colors.LEGEND[name])
            x += step + gap


def _legend(state: ViewState, layout: Layout) -> None:
    s = layout.scale
    mode = state.settings.color_mode
    title, factor, unit = UNITS[mode]
    limit = state.settings.scales[mode]
    with window(state, "legend", layout["legend"], psim.ImGuiWindowFlags_NoScrollbar, 0.9):
        x, y = psim.GetCursorScreenPos()
        width = psim.GetContentRegionAvail()[0] - 62 * s
        lst = psim.GetWindowDrawList()
        steps = len(palette.VIRIDIS)
        for k in range(steps):
            left = x + width * k / steps
            lst.AddRectFilled((left, y), (left + width / steps + 1, y + 9 * s), palette.packed(palette.VIRIDIS[k]))
        over = state.field_max > limit
        dim, low = palette.packed(palette.TEXT_DIM), y + 11 * s
        lst.AddText((x, low), dim, "0")
        end = ("over " if over else "") + f"{factor * limit:g} {unit}"
        end_left = x + width - psim.CalcTextSize(end)[0]
        lst.AddText((end_left, low), palette.packed(palette.WARN) if over else dim, end)
        zero_right = x + psim.CalcTextSize("0")[0]
        lst.AddText((0.5 * (zero_right + end_left - psim.CalcTextSize(title)[0]), low), dim, title)
        psim.SetCursorScreenPos((x + width + 10 * s, y))
        if clickable(
            state, "legend.fit", "fit", size=(44 * s, 26 * s), tip="set the scale to this frame's largest value"
        ):
            state.settings.scales[mode] = nice_limit(state.field_max)


def banner(state: ViewState, layout: Layout) -> None:
    """Across the view when the loop is paused for a reason: what happened and what to do."""
    frame = state.frame
    if frame is None or not frame.paused_reason:
        return
    s = layout.scale
    psim.PushStyleColor(psim.ImGuiCol_WindowBg, palette.rgba((1.0, 0.955, 0.86), 0.98))
    psim.PushStyleColor(psim.ImGuiCol_Border, palette.rgba(palette.WARN))
    rect = layout["banner"]
    lines = psim.CalcTextSize(frame.paused_reason, False, rect.width - 30 * s)[1]
    height = lines + psim.GetFrameHeight() + psim.GetTextLineHeight() + 32 * s
    with window(state, "banner", Rect(rect.x, rect.y, rect.width, height), psim.ImGuiWindowFlags_NoScrollbar):
        theme.text("PAUSED", palette.WARN)
        theme.wrapped(frame.paused_reason)
        if clickable(state, "banner.resume", "Resume"):
            state.ask("pause", False)
        psim.SameLine(0, 6 * s)
        if state.about("checkpoints") and clickable(state, "banner.checkpoint", "Go back to the last checkpoint"):
            state.ask("load_checkpoint")
        if state.about("checkpoints"):
            psim.SameLine(0, 6 * s)
        if clickable(state, "banner.reset", "Reset"):
            state.ask("reset")
        if frame.status is not None and not frame.status.ok and state.about("input") != "keyboard":
            psim.SameLine(0, 6 * s)
            if clickable(state, "banner.keyboard", "Drive with the keyboard"):
                state.ask("use_input", "keyboard")
    psim.PopStyleColor(2)
