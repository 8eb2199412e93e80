"""One glance: am I driving, am I recording, is the physics keeping up?"""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, window
from app.view.state import ViewState

MODE_COLORS = {
    "DRIVING": palette.GOOD,
    "CLUTCH OUT": palette.BLUE,
    "PAUSED": palette.WARN,
    "REPLAY": palette.PURPLE,
    "LOADING": palette.IDLE,
}
RECORD_COLORS = {"REC": palette.REC, "PAUSED": palette.SAVING, "SAVING": palette.SAVING}
SLOW = 0.5  # real-time factor under which the bar turns amber and names the dearest stage


def clock(seconds: float) -> str:
    """mm:ss, or h:mm:ss from an hour on."""
    whole = int(max(seconds, 0.0))
    if whole >= 3600:
        return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{whole // 60:02d}:{whole % 60:02d}"


def length(seconds: float) -> str:
    """12.3 s, or mm:ss from 100 s on."""
    return f"{seconds:.1f} s" if seconds < 99.95 else clock(seconds)


def device_line(state: ViewState) -> tuple[str, tuple]:
    """'SpaceMouse OK 8 ms' and the colour of its health."""
    frame = state.frame
    name = state.about("input", "no input")
    if frame is None or frame.status is None:
        return name, palette.TEXT_DIM
    health = frame.status.health.value
    latency = state.about("latency_ms")
    tail = f" {latency:.0f} ms" if latency is not None and health == "OK" else ""
    color = palette.GOOD if health == "OK" else palette.WARN if health == "STALE" else palette.BAD
    return f"{name} {health.replace('_', ' ')}{tail}", color


def draw(state: ViewState, layout: Layout) -> None:
    rect, s = layout["status"], layout.scale
    psim.PushStyleVar(psim.ImGuiStyleVar_WindowRounding, 0.0)
    with window(state, "status", rect, psim.ImGuiWindowFlags_NoScrollbar, 0.98):
        psim.PopStyleVar()
        frame = state.frame
        psim.AlignTextToFramePadding()
        if state.about("replay"):
            theme.line(str(state.about("scene_name")))
        elif clickable(
            state, "status.scene", f"{state.about('scene_name', 'Tacktile')}  \u2026", tip="Choose another scene"
        ):
            state.picker = not state.picker
        psim.SameLine(0, 12 * s)
        line, color = device_line(state)
        psim.PushStyleColor(psim.ImGuiCol_Text, palette.rgba(color))
        wanted = clickable(state, "status.devices", f"{line}###devices")
        psim.PopStyleColor()
        if psim.IsItemHovered():
            psim.SetTooltip("Devices: what each axis and button does")
        if wanted and not state.about("replay"):
            state.devices = not state.devices
            if state.devices:
                state.ask("device_list")
        mode = frame.mode if frame else "LOADING"
        psim.SameLine(0, 14 * s)
        theme.pill(mode, MODE_COLORS.get(mode, palette.IDLE), s)
        if state.about("slow", 1.0) < 1.0:
            psim.SameLine(0, 8 * s)
            theme.line(f"slow motion x{state.about('slow'):.2g}", palette.WARN)
        _right_side(state, rect.width, s)


def _dearest(state: ViewState) -> str:
    """What a slow frame goes to: the dearest stage of the step, or drawing when the step is the smaller part."""
    if not state.stages:
        return ""
    wall = state.frame.dt / max(state.frame.realtime_factor, 1e-6)
    if sum(state.stages.values()) < 0.5 * wall and state.draw_seconds > 0.25 * wall:
        return "drawing"
    return max(state.stages, key=state.stages.get).replace("_", " ")


def _right_side(state: ViewState, width: float, s: float) -> None:
    """Recording, disk, compute, real-time factor, help: right-aligned, measured before they are placed."""
    frame = state.frame
    record = state.about("record", {})
    name = record.get("state", "IDLE")
    word = "REC PAUSED" if name == "PAUSED" else name
    replay = bool(state.about("replay"))
    idle = "as it was recorded:" if replay else "not recording"
    label = f"{word} {clock(record.get('seconds', 0.0))}" if name in RECORD_COLORS else idle
    disk = f"{record['disk_free'] / 1e9:.1f} GB free" if record.get("disk_free") else ""
    factor = frame.realtime_factor if frame else 0.0
    speed = f"x{factor:.2f} real time"
    slow = frame is not None and frame.stepped and factor < SLOW and not replay
    stage = _dearest(state) if slow else ""
    compute = state.about("compute", "")
    bar = 54 * s

    def measure(text: str) -> float:
        return psim.CalcTextSize(text)[0] if text else 0.0

    need = measure(label) + measure(speed) + measure(" F1 ") + bar + 110 * s
    left = psim.GetItemRectMax()[0]
    shown = []  # in a narrow window the last ones give way
    room = width - left - need
    for key, text in (("disk", disk), ("stage", f"mostly {stage}" if stage else ""), ("compute", compute)):
        if text and measure(text) + 16 * s < room:
            shown.append(key)
            room -= measure(text) + 16 * s
    extra = {"disk": disk, "stage": f"mostly {stage}", "compute": compute}
    total = measure(label) + measure(speed) + measure("F1") + bar + (52 + (18 if name in RECORD_COLORS else 0)) * s
    total += sum(measure(extra[k]) + (8 if k == "stage" else 16) * s for k in shown)
    psim.SameLine(max(width - total - 10 * s, left + 12 * s))
    if name in RECORD_COLORS:
        theme.pill(label, RECORD_COLORS[name], s)
    else:
        theme.line(label, palette.TEXT_DIM)
    for key in ("disk", "compute"):
        if key in shown:
            psim.SameLine(0, 16 * s)
            theme.line(extra[key], palette.TEXT_DIM)
    psim.SameLine(0, 16 * s)
    color = palette.WARN if slow else palette.TEXT
    theme.line(speed, color)
    psim.SameLine(0, 8 * s)
    x, y = psim.GetCursorScreenPos()
    height = psim.GetFrameHeight()
    lst = psim.GetWindowDrawList()
    y += 0.5 * height - 3 * s
    lst.AddRectFilled((x, y), (x + bar, y + 6 * s), palette.packed(palette.FIELD_HOVER), 3 * s)
    fill = bar * min(factor, 1.0)
    lst.AddRectFilled((x, y), (x + fill, y + 6 * s), palette.packed(palette.WARN if slow else palette.GOOD), 3 * s)
    psim.Dummy((bar, height))
    if "stage" in shown:
        psim.SameLine(0, 8 * s)
        theme.line(extra["stage"], palette.WARN)
    psim.SameLine(0, 14 * s)
    if clickable(state, "status.help", "F1", on=state.overlay, tip="Keys and first steps"):
        state.overlay = not state.overlay
