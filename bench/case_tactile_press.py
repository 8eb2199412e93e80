"""Case `tactile_press`: the scene's script as the application plays it."""

from __future__ import annotations

from bench.registry import Emit
from bench.scripted_run import measure_scene

DESCRIPTION = "a gel pad is pressed on a relief: share of real time"


def run(emit: Emit, compute: str) -> None:
    measure_scene(emit, compute, "tactile_press")
