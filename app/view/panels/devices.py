"""The device screen: what each device says now, what that does, and everything about it that can be changed."""

from __future__ import annotations

import polyscope.imgui as psim

from app.view import palette, theme
from app.view.layout import Layout
from app.view.panels.frame_of import clickable, dialog, log_item
from app.view.state import ViewState

WIDTH, SIDE = 860.0, 250.0  # [px] at scale 1: the screen, its left column
HEALTH = {"OK": palette.GOOD, "STALE": palette.WARN}
STEPS = {  # setting: (title, unit, factor to the unit, step, least, most)
    "deadband": ("deadband", "%", 100.0, 0.05, 0.0, 0.5),
    "expo": ("curve", "%", 100.0, 0.1, 0.0, 1.0),
    "linear_speed": ("speed", "cm/s", 100.0, 0.05, 0.05, 0.5),
}
CLUTCH = {"hold_out": "held: lets go", "hold_in": "held: drives", "toggle": "press to change"}


def draw(state: ViewState, layout: Layout) -> None:
    if not state.devices:
        return
    s, view = layout.scale, layout["view"]
    width = min(WIDTH * s, layout["timeline"].width - 24 * s)
    info = state.about("devices", {})
    seats = info.get("seats", [])
    with dialog(state, "devices", (0.5 * layout["timeline"].width, view.center[1]), width, view.height):
        theme.line("Devices")
        psim.SameLine(width - 66 * s)
        if clickable(state, "devices.close", "close"):
            state.devices = False
        psim.Separator()
        if not seats:
            theme.wrapped("no device is in use", palette.TEXT_DIM)
            return
        chosen = next((seat for seat in seats if seat["role"] == state.text.get("devices.role")), seats[0])
        psim.BeginGroup()
        _seats(state, seats, chosen, s)
        _listed(state, info, s)
        psim.EndGroup()
        psim.SameLine((SIDE + 26) * s)
        psim.BeginGroup()
        _head(state, chosen, s)
        _axes(state, chosen, (width - (SIDE + 46) * s), s)
        _buttons(state, chosen, (width - (SIDE + 46) * s), s)
        _actions(state, chosen, s)
        psim.EndGroup()


def _seats(state: ViewState, seats: list[dict], chosen: dict, s: float) -> None:
    theme.text("in use", palette.TEXT_DIM)
    for seat in seats:
        on = seat["role"] == chosen["role"]
        if clickable(state, f"devices.seat_{seat['role']}", f"{seat['role']}: {seat['name']}", on, (SIDE * s, 0)):
            state.text["devices.role"] = seat["role"]
        if seat["role"] != "right":
            psim.SameLine(0, -22 * s)
            role = seat["role"]
            if clickable(state, f"devices.free_{role}", f"x##{role}", size=(20 * s, 0), tip=f"nobody is {role}"):
                state.ask("seat_input", {"role": role, "input": None})


def _listed(state: ViewState, info: dict, s: float) -> None:
    """Devices that could drive; a click gives one the role that is chosen below."""
    psim.Spacing()
    searching = info.get("searching", False)
    theme.line("looking ..." if searching else "found", palette.TEXT_DIM)
    psim.SameLine((SIDE - 82) * s)
    if clickable(state, "devices.look", "look again", size=(82 * s, 0)) and not searching:
        state.ask("device_list")
    role = state.text.setdefault("devices.new_role", "right")
    for name, health, message in info.get("listed", []):
        if name in ("none", "scripted:FILE"):
            continue
        color = HEALTH.get(health, palette.BAD)
        x, y = psim.GetCursorScreenPos()
        half = 0.5 * psim.GetFrameHeight()
        psim.GetWindowDrawList().AddCircleFilled((x + 6 * s, y + half), 4 * s, palette.packed(color))
        psim.SetCursorScreenPos((x + 16 * s, y))
        shown = name if len(name) < 25 else name[:22] + "..."
        usable = health in ("OK", "NOT_FOUND", "STALE")
        if clickable(state, f"devices.use_{name}", shown, size=((SIDE - 16) * s, 0), tip=_short(message)) and usable:
            state.ask("seat_input", {"role": role, "input": name})
        if health != "OK":
            psim.PushTextWrapPos(psim.GetCursorPos()[0] + SIDE * s)
            theme.text(_first_sentence(message), palette.TEXT_DIM)
            psim.PopTextWrapPos()
    theme.line("click one to make it", palette.TEXT_DIM)
    for number, name in enumerate(("right", "left", "camera", "pedal")):
        if number:
            psim.SameLine(0, 4 * s)
        if clickable(state, f"devices.role_{name}", name, name == role):
            state.text["devices.new_role"] = name


def _first_sentence(message: str) -> str:
    """Without the lines of commands, which the tooltip and `tacktile devices doctor` show."""
    return message.splitlines()[0].split(". ")[0].split(" (")[0][:90] if message else ""


def _short(message: str) -> str:
    return "\n".join(line[:120] for line in message.splitlines()[:6])


def _head(state: ViewState, seat: dict, s: float) -> None:
    theme.line(seat["product"] or seat["name"])
    psim.SameLine(0, 10 * s)
    theme.pill(seat["health"].replace("_", " "), HEALTH.get(seat["health"], palette.BAD), s)
    psim.SameLine(0, 12 * s)
    age = "-" if seat["age"] is None else f"{1e3 * min(seat['age'], 99.0):.0f} ms"
    theme.line(f"age {age}", palette.TEXT_DIM)
    psim.SameLine(0, 12 * s)
    theme.line(f"{seat['rate']:.0f} readings a second", palette.TEXT_DIM)
    if seat["message"]:
        theme.wrapped(seat["message"], palette.TEXT if seat["health"] == "OK" else palette.BAD)
    if seat["reason"] and seat["reason"] != seat["message"]:
        theme.wrapped(f"does not drive: {seat['reason']}", palette.WARN)
    lock = "" if seat["lock"] == "none" else f", {seat['lock']} only"
    theme.text(f"frame: {seat['frame']}, gain {seat['gain']:g}{lock}", palette.TEXT_DIM)


def _axes(state: ViewState, seat: dict, width: float, s: float) -> None:
    """A bar each: the light part is what the device says, the dark part what is left after deadband and curve."""
    if seat["kind"] != "rate":
        _pose(seat)
        return
    bar = 170 * s
    for index, axis in enumerate(seat["axes"]):
        theme.line(f"{axis['name']:>2}", palette.TEXT_DIM)
        psim.SameLine(34 * s)
        _bar(axis["value"], axis["push"], bar, seat["deadband"], s)
        log_item(state, f"devices.bar_{index}")
        psim.SameLine(0, 8 * s)
        push = axis["push"]
        words = axis["does"] if push >= 0.0 else axis["back"]
        text = f"{words}" if push else f"+ {axis['does']}"
        theme.line(text, palette.ACCENT if push else palette.TEXT_DIM)
        psim.SameLine(386 * s)
        turn = f"turn round##{index}"
        if clickable(state, f"devices.invert_{index}", turn, axis["inverted"], tip="the other way about"):
            state.ask("device_axis", {"role": seat["role"], "axis": index, "what": "invert"})
        psim.SameLine(0, 5 * s)
        if clickable(state, f"devices.swap_{index}", f"swap##{index}", tip="exchange with the next axis"):
            state.ask("device_axis", {"role": seat["role"], "axis": index, "what": "swap"})


def _pose(seat: dict) -> None:
    pose = seat.get("pose")
    where = "out of sight"
    if pose is not None:
        where = "  ".join(f"{name} {100 * value:+.1f} cm" for name, value in zip("xyz", pose[:3], strict=True))
    theme.row("place", where, None if pose else palette.WARN, at=0.45)
    theme.row("confidence", f"{100 * seat['confidence']:.0f} %", at=0.45)
    if seat.get("joints"):
        theme.row("hand", f"{seat['joints']} points", at=0.45)


def _bar(value: float, push: float, width: float, deadband: float, s: float) -> None:
    x, y = psim.GetCursorScreenPos()
    height = psim.GetFrameHeight()
    lst, middle = psim.GetWindowDrawList(), x + 0.5 * width
    top, bottom = y + 4 * s, y + height - 4 * s
    lst.AddRectFilled((x, top), (x + width, bottom), palette.packed(palette.FIELD), 3 * s)
    quiet = 0.5 * width * deadband
    lst.AddRectFilled((middle - quiet, top), (middle + quiet, bottom), palette.packed(palette.FIELD_HOVER))
    for amount, color, inset in ((value, palette.SKY, 0.0), (push, palette.BLUE, 3.0 * s)):
        end = middle + 0.5 * width * max(-1.0, min(1.0, amount))
        left, right = min(middle, end), max(middle, end)
        lst.AddRectFilled((left, top + inset), (right, bottom - inset), palette.packed(color))
    zero = palette.packed(palette.TEXT_DIM)
    lst.AddRectFilled((middle - 0.5 * s, top - 2 * s), (middle + 0.5 * s, bottom + 2 * s), zero)
    psim.Dummy((width, height))


def _buttons(state: ViewState, seat: dict, width: float, s: float) -> None:
    theme.line("grip", palette.TEXT_DIM)
    psim.SameLine(34 * s)
    rate = seat["kind"] == "rate"
    amount = seat["gripper"] if rate else 2.0 * seat["gripper"] - 1.0
    _bar(amount, 0.0, 170 * s, 0.0, s)
    psim.SameLine(0, 8 * s)
    theme.line("closes with +" if rate else f"{100 * seat['gripper']:.0f} % closed", palette.TEXT_DIM)
    pressed = ", ".join(seat["tested"]) if seat["testing"] else ""
    held = "  ".join([*seat["buttons"], *(f"= {verb}" for verb in seat["verbs"])])
    theme.line("held", palette.TEXT_DIM)
    psim.SameLine(34 * s)
    theme.line(held or "no button", palette.ACCENT if held else palette.TEXT_DIM)
    if pressed:
        theme.line(f"pressed: {pressed}", palette.ACCENT)


def _actions(state: ViewState, seat: dict, s: float) -> None:
    role = {"role": seat["role"]}
    psim.Separator()
    if seat["kind"] == "rate":
        for number, (name, (title, unit, factor, step, least, most)) in enumerate(STEPS.items()):
            if number:
                psim.SameLine(0, 14 * s)
            _stepper(state, seat, name, title, f"{factor * seat[name]:.0f} {unit}", step, least, most, s)
    theme.line("clutch", palette.TEXT_DIM)
    for mode, text in CLUTCH.items():
        psim.SameLine(0, 5 * s)
        if clickable(state, f"devices.clutch_{mode}", text, seat["clutch_mode"] == mode):
            state.ask("device_setting", {**role, "name": "clutch_mode", "value": mode})
    psim.Separator()
    calibration = seat["calibration"]
    if calibration is not None:
        _calibrating(state, calibration, role, s)
        return
    label = ("end the test: drive again" if seat["testing"] else "test without moving the robot") + "###test"
    if clickable(state, "devices.test", label, seat["testing"], color=palette.WARN):
        state.ask("device_test", role)
    if seat["kind"] == "rate":
        psim.SameLine(0, 6 * s)
        tip = "find rest and ends of the axes; the robot does not move"
        if clickable(state, "devices.calibrate", "calibrate", seat["calibrated"], tip=tip):
            state.ask("device_calibrate", {**role, "step": "start"})
    psim.SameLine(0, 6 * s)
    if clickable(state, "devices.reset", "as it was made", tip="all settings of this device"):
        state.ask("device_reset", role)
    if seat["testing"]:
        theme.wrapped("TEST: the robot does not move, buttons do nothing", palette.WARN)


def _stepper(state, seat, name, title, shown, step, least, most, s) -> None:
    theme.line(f"{title} {shown}", palette.TEXT_DIM)
    for label, sign in (("-", -1.0), ("+", 1.0)):
        psim.SameLine(0, 4 * s)
        if clickable(state, f"devices.{name}{label}", f"{label}##{name}", size=(22 * s, 0)):
            value = min(max(round(seat[name] + sign * step, 3), least), most)
            state.ask("device_setting", {"role": seat["role"], "name": name, "value": value})


def _calibrating(state: ViewState, calibration: dict, role: dict, s: float) -> None:
    failed = calibration["phase"] == "failed"
    theme.wrapped(f"calibration: {calibration['text']}", palette.BAD if failed else palette.ACCENT)
    psim.ProgressBar(float(calibration["progress"]), (300 * s, 10 * s), "")
    if calibration["ready"]:
        if clickable(state, "devices.calibrated", "done", True):
            state.ask("device_calibrate", {**role, "step": "done"})
        psim.SameLine(0, 6 * s)
    elif failed:
        if clickable(state, "devices.again", "again", True):
            state.ask("device_calibrate", {**role, "step": "start"})
        psim.SameLine(0, 6 * s)
    if clickable(state, "devices.cancel", "cancel"):
        state.ask("device_calibrate", {**role, "step": "cancel"})
