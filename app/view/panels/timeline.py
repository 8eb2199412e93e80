"""Below everything: transport, checkpoints and events over simulated time; scrub in replay."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, window
from app.view.state import ViewState


def draw(state: ViewState, layout: Layout) -> None:
    s = layout.scale
    psim.PushStyleVar(psim.ImGuiStyleVar_WindowRounding, 0.0)
    with window(state, "timeline", layout["timeline"], psim.ImGuiWindowFlags_NoScrollbar, 0.98):
        psim.PopStyleVar()
        frame = state.frame
        paused = frame is not None and frame.mode == "PAUSED"
        psim.SetCursorPosY(0.5 * (layout["timeline"].height - psim.GetFrameHeight()))
        top = psim.GetCursorPosY()
        for name, label, verb, on, tip in _buttons(state, paused):
            wide = (64 * s, 0) if name == "pause" else (0, 0)
            if clickable(state, f"timeline.{name}", label, on, tip=tip, size=wide):
                state.ask(*(("step", -1) if verb == "back" else (verb,)))
            psim.SameLine(0, 4 * s)
        x, _ = psim.GetCursorScreenPos()
        x += 12 * s
        room = layout["timeline"].right - x - 14 * s
        if room > 120 * s:
            psim.SetCursorPosY(top)
            _track(state, x, layout["timeline"].y, room, layout["timeline"].height, s)


def _buttons(state: ViewState, paused: bool) -> list[tuple[str, str, str, bool, str]]:
    """(name, label, verb, on, tooltip); a replay has no checkpoints."""
    replay = state.about("replay")
    paused = replay["paused"] if replay else paused
    over = bool(replay) and replay["now"] >= replay["seconds"]
    buttons = [
        ("pause", ("Again" if over else "Resume") if paused else "Pause", "pause", paused, "stop and go on"),
        ("step", "Step", "step", False, "one step while paused"),
        ("slow", "Slow", "slow", state.about("slow", 1.0) < 1.0, "slow motion"),
    ]
    if replay:
        return [
            ("reset", "|<", "reset", False, "to the beginning"), ("back", "<", "back", False, "one step back"),
            buttons[0], ("step", ">", "step", False, "one step on"), buttons[2],
        ]  # fmt: skip
    return [
        *buttons,
        ("reset", "Reset", "reset", False, "back to the start; can be undone"),
        ("checkpoint", "Checkpoint", "checkpoint", False, "remember this moment"),
        ("back", "Go back", "load_checkpoint", False, "to the last checkpoint"),
        ("rewind", "-2 s", "rewind", False, "take back the last two seconds"),
    ]


def _track(state: ViewState, x: float, y: float, width: float, height: float, s: float) -> None:
    """Time axis, events as ticks, checkpoints as diamonds that can be clicked, the latest event as text."""
    frame = state.frame
    now = frame.time_sim if frame else 0.0
    replay = state.about("replay")
    now = replay["now"] if replay else now
    end = max(replay["seconds"], 1e-3) if replay else max(now, 10.0)
    lst = psim.GetWindowDrawList()
    line = y + 0.66 * height
    stamp = f"{now:.2f} s" + (f" / {end:.2f} s" if replay else "")
    stamp_width = psim.CalcTextSize(stamp)[0] + 10 * s
    width -= stamp_width
    lst.AddRectFilled((x, line - 2 * s), (x + width, line + 2 * s), palette.packed(palette.FIELD_HOVER), 2 * s)
    at = x + width * min(now / end, 1.0)
    lst.AddRectFilled((x, line - 2 * s), (at, line + 2 * s), palette.packed(palette.ACCENT), 2 * s)
    if replay:
        _stretches(replay, x, line, width / end, s)
    events = replay["events"] if replay else list(state.events)[-60:]  # not those of the run that waits meanwhile
    for time, _ in events:
        if 0.0 <= time <= end:
            tick = x + width * time / end
            lst.AddLine((tick, line - 5 * s), (tick, line + 5 * s), palette.packed(palette.TEXT_DIM, 0.6), 1.0)
    lst.AddCircleFilled((at, line), 5 * s, palette.packed(palette.ACCENT))
    for mark in state.about("checkpoints", []):
        cx = x + width * min(mark["time"] / end, 1.0)
        r = (4 if mark.get("automatic") else 6) * s
        color = palette.packed(palette.IDLE if mark.get("automatic") else palette.ORANGE)
        lst.AddQuadFilled((cx, line - r), (cx + r, line), (cx, line + r), (cx - r, line), color)
        psim.SetCursorScreenPos((cx - r, line - r))
        if psim.InvisibleButton(f"##mark{mark['id']}", (2 * r, 2 * r)):
            state.ask("load_checkpoint", mark["id"])
        if psim.IsItemHovered():
            psim.SetTooltip(f"go back to {mark['label']} at {mark['time']:.2f} s")
    lst.AddText((x + width + 10 * s, line - 0.5 * psim.GetTextLineHeight()), palette.packed(palette.TEXT), stamp)
    if replay:
        psim.SetCursorScreenPos((x, line - 8 * s))
        psim.InvisibleButton("##scrub", (width, 16 * s))
        if psim.IsItemActive():
            state.ask("seek", max(0.0, min(1.0, (psim.GetMousePos()[0] - x) / width)) * end)
    past = [event for event in events if event[0] <= now + 1e-9] if replay else events
    if past:
        latest = f"{past[-1][0]:.1f} s  {past[-1][1]}"
        lst.AddText((x, y + 0.08 * height), palette.packed(palette.TEXT_DIM), _shortened(latest, width + stamp_width))
    theme.text("")


def _stretches(replay: dict, x: float, line: float, scale: float, s: float) -> None:
    """What a trim leaves out is pale; by inputs, how far the engine has come."""
    lst = psim.GetWindowDrawList()
    for a, b in ((0.0, replay["kept"][0]), (replay["kept"][1], replay["seconds"])):
        if b - a > 1e-9:
            veil = palette.packed(palette.PANEL, 0.7)
            lst.AddRectFilled((x + scale * a, line - 3 * s), (x + scale * b, line + 3 * s), veil)
    if replay["by"] == "inputs":
        known = palette.packed(palette.GOOD if replay["meter"].first_bit is None else palette.BAD)
        lst.AddRectFilled((x, line + 4 * s), (x + scale * replay["known"], line + 7 * s), known)


def _shortened(text: str, room: float) -> str:
    """The text, cut with an ellipsis where it would leave the room [px]."""
    if psim.CalcTextSize(text)[0] <= room:
        return text
    end = "\u2026"
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if psim.CalcTextSize(text[:middle] + end)[0] <= room else (low, middle - 1)
    return text[:low].rstrip() + end
