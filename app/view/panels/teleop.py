"""Am I driving, how fast, in which frame, and which keys do it."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, panel
from app.view.panels.status_bar import device_line
from app.view.state import ViewState

# (what it does, actions of the keymap that do it); the keymap says which keys these are
KEYS = (
    ("move", ("move +y", "move -x", "move -y", "move +x")),
    ("up, down", ("move +z", "move -z")),
    ("swing", ("turn +z", "turn -z")),
    ("nod", ("turn -x", "turn +x")),
    ("roll", ("turn -y", "turn +y")),
    ("gripper", ("grip_toggle",)),
    ("next tool", ("next_tool",)),
    ("grasp assist", ("grasp_assist",)),
    ("fine (hold)", ("fine",)),
    ("clutch (hold)", ("clutch",)),
    ("speed", ("gain_down", "gain_up")),
    ("record", ("record",)),
    ("surface", ("to_surface",)),
    ("force limit", ("force_limit",)),
    ("cut", ("arm_cut", "confirm_cut")),
    ("pause, step", ("pause", "step")),
    ("checkpoint", ("checkpoint", "load_checkpoint")),
    ("take back", ("rewind", "last_stage")),
    ("reset", ("reset",)),
    ("undo", ("undo",)),
)
FRAMES = ("world", "camera", "tool")


def draw(state: ViewState, layout: Layout) -> None:
    s = layout.scale
    line, color = device_line(state)
    with panel(state, "teleop", "Teleop", layout["teleop"], s, line, color) as open_:
        if not open_:
            return
        frame = state.frame
        if frame is not None and frame.status is not None and frame.status.message:
            theme.wrapped(frame.status.message, palette.TEXT if frame.status.ok else palette.BAD)
        info = state.about("teleop", {})
        if info.get("reason") and frame is not None and frame.status is not None and frame.status.ok:
            theme.wrapped(info["reason"], palette.WARN)
        if info.get("tool"):
            push = info.get("drive_force")
            held = info.get("limited")
            text = str(info["tool"]) if push is None else f"{info['tool']}, {push:.1f} N"
            theme.row("tool", text + (f", {held}" if held else ""), palette.WARN if held else None)
        if info.get("grip_force") is not None:
            theme.row("fingers", f"{100 * info['closure']:.0f} % closed, {info['grip_force']:.1f} N")
        cut = state.about("cut")
        if cut:
            keys = {verb: state.keymap.get(verb, "-") for verb in ("confirm_cut", "disarm_cut")}
            text = f"{keys['confirm_cut']} cuts, {keys['disarm_cut']} drops it"
            theme.row("cut armed", text, palette.WARN)
        _gains(state, info, s)
        _keys(state, s)


def _gains(state: ViewState, info: dict, s: float) -> None:
    speed = info.get("linear_speed")
    if speed is not None:
        theme.line("speed", palette.TEXT_DIM)
        psim.SameLine(0.40 * psim.GetWindowWidth())
        theme.line(f"{speed:.2g} m/s")
        psim.SameLine(0, 8 * s)
        if clickable(state, "teleop.slower", "-", size=(24 * s, 0), tip="slower"):
            state.ask("gain_down")
        psim.SameLine(0, 4 * s)
        if clickable(state, "teleop.faster", "+", size=(24 * s, 0), tip="faster"):
            state.ask("gain_up")
    current = info.get("frame")
    if current is not None:
        theme.line("frame", palette.TEXT_DIM)
        for index, name in enumerate(FRAMES):
            psim.SameLine(0.30 * psim.GetWindowWidth() if index == 0 else 0.0, 4 * s if index else -1.0)
            if clickable(state, f"teleop.frame_{name}", name, name == current, tip=f"push in the {name}'s directions"):
                state.ask("set_frame", name)
    if info.get("axis_lock", "none") != "none":
        theme.row("only", str(info["axis_lock"]), palette.WARN)
    helps = ["keeps to the surface"] if info.get("to_surface") else []
    helps += [f"at most {info['force_limit']:g} N"] if info.get("force_limit") else []
    if helps:
        theme.row("help", ", ".join(helps), palette.WARN)
    if info.get("grasp_assist"):
        theme.row("grasp assist", "on", palette.WARN)


def _keys(state: ViewState, s: float) -> None:
    """Two columns: what it does (dim) and its keys."""
    psim.Separator()
    psim.PushStyleVar(psim.ImGuiStyleVar_ItemSpacing, (7 * s, 3 * s))
    unused = () if state.has_fingers else ("gripper", "grasp assist")
    unused += () if state.has_sheets else ("cut",)
    unused += () if len(getattr(state.scene, "tools", ()) or ()) > 1 else ("next tool",)
    wanted = [row for row in KEYS if row[0] not in unused]
    shown = [(label, " ".join(state.keymap[a] for a in actions if a in state.keymap)) for label, actions in wanted]
    for index, (label, keys) in enumerate([pair for pair in shown if pair[1]]):
        if index % 2:
            psim.SameLine(0.54 * psim.GetWindowWidth())
        theme.text(label, palette.TEXT_DIM)
        psim.SameLine(0, 6 * s)
        theme.text(keys)
    psim.PopStyleVar()
