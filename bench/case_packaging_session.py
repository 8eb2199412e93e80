"""Case `packaging_session`: the carton sealed in the real window by key events or by SpaceMouse reports, goal by goal
of its script.

TACKTILE_DEVICE=spacemouse (default keys) feeds report bytes to the real HID binding. Pictures of each stage, and a
strip of them, stay in the folder TACKTILE_BENCH_PICTURES, when that is set.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bench.hand_goals import Hand, HandGoals
from bench.keyed_window import ROOT, KeyedWindow
from bench.pushing_hands import CapHand, KeyHand
from bench.registry import Emit, Unavailable
from bench.spacemouse_reports import PRO, Cap, build_library
from bench.window_strip import draw_strip

DESCRIPTION = "the carton sealed by keys or a SpaceMouse in the real window: stages, pictures, real-time factor"
SCRIPT = ROOT / "scenes" / "scripts" / "box_packaging.yaml"
DEVICES = ("keys", "spacemouse")


def run(emit: Emit, compute: str) -> None:
    from scenes.config import load_config
    from scenes.packaging import STAGES

    device = os.environ.get("TACKTILE_DEVICE", "keys")
    if device not in DEVICES:
        raise Unavailable(f"TACKTILE_DEVICE={device!r}; legal: {', '.join(DEVICES)}")
    carton = np.eye(4)
    carton[:3, 3] = load_config("box_packaging").file.entities["carton"].position
    kept = os.environ.get("TACKTILE_BENCH_PICTURES")
    with ExitStack() as stack:
        place = Path(kept) if kept else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        window, hand = _opened(device, place, compute, stack)
        window.use_world_directions(lambda: hand.tap("frame_next"))
        walls: dict[str, float] = {}
        pictures = [window.picture("0_start.png")]
        begun, busy = time.monotonic(), window.processor_seconds()
        first = window.frames()[-1]["time"]

        def told(stage: str) -> None:
            walls[stage] = time.monotonic() - begun
            emit.status(f"{stage} after {window.frames()[-1]['time']:.1f} s, {walls[stage]:.0f} s by the clock")
            window.redrawn(3)  # the panels show it too
            pictures.append(window.picture(f"{1 + STAGES.index(stage)}_{stage}.png"))

        hands = HandGoals(window, hand, {"carton": carton}, told)
        hands.play(SCRIPT, emit.status)
        pictures.append(window.picture("6_end.png"))
        end = window.frames()[-1]
        busy = window.processor_seconds() - busy
        saved = window.save_checkpoint()
        window.close()
        verdict = _verdict(saved, compute)
        if kept:
            draw_strip(pictures, place / "strip.gif")
    name = f"packaging_session.{device}"
    for stage in STAGES:
        emit(f"{name}.{stage}_at", hands.stages.get(stage, float("nan")), "s")
        emit(f"{name}.{stage}_wall", walls.get(stage, float("nan")), "s")
    emit(f"{name}.stages", sum(end["task"].values()))
    emit(f"{name}.pulled_angle", np.degrees(verdict.pulled_angle), "deg")
    emit(f"{name}.success", float(verdict.success))
    emit(f"{name}.simulated", end["time"], "s")
    emit(f"{name}.realtime_factor", (end["time"] - first) / busy)
    forces = [f["tools"][f["tool"]].get("force", 0.0) for f in window.frames()]
    emit(f"{name}.force_most", max(forces), "N")
    emit(f"{name}.not_converged", sum(f["converged"] is False for f in window.frames()), "steps")


def _opened(device: str, place: Path, compute: str, stack: ExitStack) -> tuple[KeyedWindow, Hand]:
    """The window with something to push it by."""
    options = ("--compute", compute)
    if device == "keys":
        window = stack.enter_context(KeyedWindow("box_packaging", place, options=options))
        return window, KeyHand(window)
    from tests.shared_data import shared_path

    source = shared_path("tools", "fakehid", "fakehid.c")
    if source is None:
        raise Unavailable("the shared folder with the stand-in HID library is not there (TACKTILE_SHARED)")
    try:
        library = build_library(source, Path(stack.enter_context(tempfile.TemporaryDirectory())))
    except RuntimeError as error:
        raise Unavailable(str(error)) from None
    wire = str(library / "hid")
    environment = {"LD_LIBRARY_PATH": str(library), "FAKEHID_PID": PRO, "FAKEHID_SOCK": wire}
    options += ("--input", "spacemouse")
    window = stack.enter_context(KeyedWindow("box_packaging", place, options=options, environment=environment))
    cap = Cap(wire)
    stack.callback(cap.close)
    return window, CapHand(cap)


def _verdict(saved: Path, compute: str):
    """Of the state that the window kept: its stages, and whether the flaps hold when they are pulled."""
    from app.session import load_session
    from scenes.packaging import SealWatch

    session = load_session("box_packaging", (), compute=compute)
    session.engine.load(saved)
    return SealWatch(session.scene).evaluate(session.engine)
