"""Case `tape_session`: the scene `unwind` in the real window, worked by keys: pinch, draw tape off, stick it, cut it.

Pictures of each stage stay in the folder TACKTILE_BENCH_PICTURES, when that is set.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from bench.keyed_window import KeyedWindow
from bench.registry import Emit

DESCRIPTION = "30 cm of tape drawn off a roll, stuck to a box and cut, by keys in the real window: real-time factor"

UNWOUND = 0.30  # [m]
SUMMARY = {  # what the application says at its end -> figure, unit
    r"x([\d.]+) of real time by the clock": ("realtime_factor_by_clock", "-"),
    r"x([\d.]+) by processor time": ("realtime_factor_by_processor_time", "-"),
    r"x([\d.]+) for the steps alone": ("realtime_factor", "-"),
    r"a step took ([\d.]+) ms": ("step", "ms"),
    r"([\d.]+) Newton": ("newton_per_step", "-"),
    r"and (\d+) linear iterations": ("pcg_per_step", "-"),
}


def run(emit: Emit, compute: str) -> None:
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    kept = os.environ.get("TACKTILE_BENCH_PICTURES")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(kept) if kept else Path(folder)
        with KeyedWindow("unwind", place, core=core, options=("--compute", compute)) as window:
            start = window.frames()[-1]
            work(window, emit.status)
            end = window.frames()[-1]
            said = window.close()
    emit("tape_session.unwound", 1e3 * (_roll(end)["payout"] - _roll(start)["payout"]), "mm")
    emit("tape_session.stuck", _roll(end)["laid"], "points")
    emit("tape_session.cut", float(any("roll cut" in e for f in window.frames() for e in f["events"])), "-")
    emit("tape_session.simulated", end["time"], "s")
    emit("tape_session.not_converged", sum(f["converged"] is False for f in window.frames()), "steps")
    for pattern, (name, unit) in SUMMARY.items():
        emit(f"tape_session.{name}", float(re.search(pattern, said).group(1)), unit)
    shares = re.search(r"a step took [^:]*: ([^;]*);", said).group(1)
    for stage, share in re.findall(r"([a-z ]+?) (\d+) %", shares):
        emit(f"tape_session.share.{stage.strip().replace(' ', '_')}", float(share), "%")


def work(window: KeyedWindow, status=lambda text: None) -> None:
    """The whole session. x runs from the roll to the box, z up; speeds are those of the keys."""
    at = lambda axis: lambda frame: frame["tools"]["gripper"]["reached"][axis]  # noqa: E731
    x, z = at(0), at(2)
    window.use_world_directions()
    window.click("view.tape")
    first = window.frames()[-1]
    window.picture("1_start.png")
    status("pinching the end")
    window.press("minus")
    window.hold("a", lambda frame: x(frame) < x(first) - 0.031)
    window.press("space")
    window.until(lambda frame: frame["tools"]["gripper"]["closure"] == 1.0)
    window.wait(0.2)
    window.press("minus")
    status("drawing tape off")
    paid = lambda frame: _roll(frame)["payout"] - _roll(first)["payout"]  # noqa: E731
    window.hold("d", lambda frame: paid(frame) > 0.5 * UNWOUND)
    window.picture("2_drawing.png")
    window.hold("d", lambda frame: paid(frame) > UNWOUND + 0.006)
    status("laying it over the box")
    window.hold("q", lambda frame: z(frame) < z(first) - 0.031)
    window.wait(0.4)
    window.picture("3_laid.png")
    window.press("space")
    window.until(lambda frame: frame["tools"]["gripper"]["closure"] == 0.0)
    window.press("equal")
    window.press("equal")
    window.hold("d", lambda frame: x(frame) > x(first) + 0.33)
    window.hold("e", lambda frame: z(frame) > z(first) + 0.055)
    status("back to the roll, and the cut")
    window.hold("a", lambda frame: x(frame) < x(first) + 0.01)
    window.picture("4_stuck.png")
    begin = len(window.frames())
    window.press("t")
    window.until(lambda frame: any("cut armed" in event for event in frame["events"]), begin=begin)
    window.wait(0.2)
    window.picture("5_armed.png")
    begin = len(window.frames())
    window.press("Return")
    window.until(lambda frame: any("roll cut" in event for event in frame["events"]), begin=begin)
    window.wait(0.6)
    window.picture("6_cut.png")


def _roll(frame: dict) -> dict:
    return frame["tape"]["roll"]
