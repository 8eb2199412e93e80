"""What the device screen shows of a seat: axes as they are, what each does now, buttons, age, rate, settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.seats import Seat
from devices.contract import Kind
from devices.mapping import calibrated, gain_of, shaped
from devices.mapping_settings import AXIS_NAMES

# (towards +, towards -) of each output axis in each frame
MOTIONS = {
    "camera": (("right", "left"), ("away", "towards you"), ("up", "down"),
               ("nod towards you", "nod away"), ("roll right", "roll left"), ("swing left", "swing right")),
    **{
        frame: (*((f"{frame} +{a}", f"{frame} -{a}") for a in "xyz"),
                *((f"about {frame} +{a}", f"about {frame} -{a}") for a in "xyz"))
        for frame in ("world", "tool")
    },
}  # fmt: skip


def output_of(axes: tuple[str, ...], index: int) -> tuple[int, int] | None:
    """(output, sign) that a device axis drives, None when it drives nothing; the first one when it drives several."""
    for output, source in enumerate(axes):
        if source.lstrip("+-") == AXIS_NAMES[index]:
            return output, -1 if source.startswith("-") else 1
    return None


def inverted(axes: tuple[str, ...], index: int) -> tuple[str, ...]:
    """The device axis turned round."""
    name = AXIS_NAMES[index]
    return tuple(
        axis if axis.lstrip("+-") != name else (name if axis.startswith("-") else f"-{name}") for axis in axes
    )


def swapped(axes: tuple[str, ...], index: int) -> tuple[str, ...]:
    """What the device axis drives is exchanged with the next one of its half, moves with moves and turns with turns."""
    found = output_of(axes, index)
    if found is None:
        return axes
    output, half = found[0], 3 * (found[0] // 3)
    other = half + (output - half + 1) % 3
    out = list(axes)
    out[output], out[other] = out[other], out[output]
    return tuple(out)


def seat_report(seat: Seat, now: float) -> dict[str, Any]:
    """Numbers and words for the screen; every value is plain."""
    sample, settings = seat.sample, seat.settings
    status = seat.status
    age = max(now - sample.t_receive, 0.0) if sample.t_receive else None
    report: dict[str, Any] = {
        "role": seat.role, "name": seat.device.name, "key": seat.key, "kind": sample.kind.value,
        "product": str(seat.device.describe().get("product", "")), "health": status.health.value,
        "message": status.message, "age": age, "rate": seat.rate, "testing": seat.testing,
        "tested": list(seat.tested), "valid": bool(sample.valid), "confidence": float(sample.confidence),
        "reason": seat.mapping.reason, "frame": seat.mapping.frame, "lock": seat.mapping.axis_lock,
        "gain": gain_of(settings, seat.mapping), "buttons": _raw_buttons(sample), "verbs": sorted(sample.buttons),
        "gripper": float(sample.gripper), "deadband": settings.deadband, "expo": settings.expo,
        "linear_speed": settings.linear_speed, "clutch_mode": settings.clutch_mode,
        "gripper_mode": settings.gripper_mode, "calibration": None,
        "calibrated": settings.centre != (0.0,) * 6 or settings.span != (1.0,) * 6,
        "asked": None if seat.command is None else [float(v) for v in seat.command.twist],
        "axes": [], "scripted": seat.scripted,
    }  # fmt: skip
    if seat.calibration is not None:
        c, ready = seat.calibration, seat.calibration.result() is not None
        report["calibration"] = {"phase": c.phase, "text": c.text, "progress": c.progress, "ready": ready}
    rate = sample.kind is Kind.RATE
    values = calibrated(sample.twist, settings) if rate else np.zeros(6)
    pushes = shaped(values, settings.deadband, settings.expo)
    for index, name in enumerate(AXIS_NAMES):
        report["axes"].append(_axis(index, name, values, pushes, seat))
    if sample.pose is not None:
        report["pose"] = [float(v) for v in sample.pose]
    if sample.joints is not None:
        report["joints"] = len(sample.joints)
    return report


def _axis(index: int, name: str, values: np.ndarray, pushes: np.ndarray, seat: Seat) -> dict[str, Any]:
    found = output_of(seat.settings.axes, index)
    does = back = "nothing"
    sign = 1
    if found is not None:
        output, sign = found
        does, back = MOTIONS[seat.mapping.frame][output][:: 1 if sign > 0 else -1]
        if seat.mapping.axis_lock == ("translation" if output >= 3 else "rotation"):
            does = back = "locked"
    return {
        "name": name, "raw": float(seat.sample.twist[index]), "value": float(values[index]),
        "push": float(pushes[index]), "does": does, "back": back, "inverted": sign < 0,
    }  # fmt: skip


def _raw_buttons(sample) -> list[str]:
    raw = sample.raw.get("buttons", sample.raw.get("down", ()))
    return [str(name) for name in raw][:16]
