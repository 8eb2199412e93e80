"""Case `packaging_session`: the carton sealed in the real window by key events, goal by goal of its script.

Pictures of each stage stay in the folder TACKTILE_BENCH_PICTURES, when that is set.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from bench.hand_goals import HandGoals, KeyHand
from bench.keyed_window import ROOT, KeyedWindow
from bench.registry import Emit

DESCRIPTION = "the carton sealed by keys in the real window: stages, their pictures, simulated and real time"
SCRIPT = ROOT / "scenes" / "scripts" / "box_packaging.yaml"


def run(emit: Emit, compute: str) -> None:
    from scenes.config import load_config
    from scenes.packaging import STAGES

    carton = np.eye(4)
    carton[:3, 3] = load_config("box_packaging").file.entities["carton"].position
    kept = os.environ.get("TACKTILE_BENCH_PICTURES")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(kept) if kept else Path(folder)
        with KeyedWindow("box_packaging", place, options=("--compute", compute)) as window:
            window.use_world_directions()

            def told(stage: str) -> None:
                emit.status(f"{stage} after {window.frames()[-1]['time']:.1f} s")
                window.picture(f"{1 + STAGES.index(stage)}_{stage}.png")

            hands = HandGoals(window, KeyHand(window), {"carton": carton}, told)
            window.picture("0_start.png")
            hands.play(SCRIPT, emit.status)
            window.picture("6_end.png")
            end = window.frames()[-1]
            said = window.close()
    for name in STAGES:
        emit(f"packaging_session.{name}_at", hands.stages.get(name, float("nan")), "s")
    emit("packaging_session.success", float(bool(end["task"]) and all(end["task"].values())))
    emit("packaging_session.simulated", end["time"], "s")
    emit("packaging_session.not_converged", sum(f["converged"] is False for f in window.frames()), "steps")
    emit.status(said[-400:])
