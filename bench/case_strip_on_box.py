"""Case `strip_on_box`: the scene's script as the application plays it."""

from __future__ import annotations

from bench.registry import Emit
from bench.scripted_run import measure_scene

DESCRIPTION = "the strip is pinched, lifted and laid over the box: share of real time"


def run(emit: Emit, compute: str) -> None:
    measure_scene(emit, compute, "strip_on_box")
