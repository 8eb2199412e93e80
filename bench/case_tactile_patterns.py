"""Case `tactile_patterns`: every pattern and every mechanical part pressed into a sensor, its depth map against the
height of the indenter.

The indenter's height is cast along the sensor's axis at every pixel; Pearson's correlation with the depth map within
the contact must reach 0.9 for each. Every press is kept in `runs/bench_tactile_patterns` and not made again while its
file lies there: remove the folder to begin anew. TACKTILE_PICTURES=FOLDER writes the contact sheet, colour and depth
side by side; TACKTILE_PATTERNS=cone,C6 chooses.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from bench.registry import Emit

DESCRIPTION = "patterns and mechanical parts pressed into a sensor: depth map against the indenter's height, pictures"
BOUND = 0.9
KEPT = Path("runs") / "bench_tactile_patterns"
TITLES = {"patterns": "patterns", "parts": "mechanical parts", "own": "patterns of the project"}


def run(emit: Emit, compute: str) -> None:
    from bench.indenters import indenters
    from bench.pattern_press import DEPTH, Press, kept, press_one

    asked = [name for name in os.environ.get("TACKTILE_PATTERNS", "").split(",") if name]
    chosen = indenters(asked, emit.status)
    done: dict[str, list[tuple[str, Press]]] = {}
    for k, one in enumerate(chosen):
        emit.status(f"{k + 1} of {len(chosen)}: {one.name}")
        pressed = kept(KEPT / f"{one.group}_{one.name}.npz", lambda o=one: press_one(o, compute, emit.status))
        done.setdefault(one.group, []).append((one.name, pressed))
        label = f"tactile_patterns.{one.group}.{one.name}"
        emit(f"{label}.correlation", pressed.correlation)
        emit(f"{label}.correlation_of_the_whole_image", pressed.correlation_everywhere)
        emit(f"{label}.median_error", 1e6 * pressed.error, "um")
        emit(f"{label}.filled", pressed.filled)
        emit(f"{label}.tilt", np.degrees(pressed.tilt), "deg")
        emit(f"{label}.pad_points", pressed.points)
        emit(f"{label}.pad_cell", 1e3 * pressed.cell, "mm")
        emit(f"{label}.force", pressed.force, "N")
        emit(f"{label}.newton", pressed.newton)
        emit(f"{label}.converged", pressed.converged)
    _table(emit, done)
    folder = os.environ.get("TACKTILE_PICTURES")
    if folder:
        from bench.contact_sheet import draw_sheet

        sheet = draw_sheet({TITLES[group]: tiles for group, tiles in done.items()}, DEPTH)
        sheet.save(Path(folder) / "tactile_patterns.jpg", quality=88)
    _judge(emit, done)


def _table(emit: Emit, done: dict) -> None:
    header = ["", "correlation", "of all", "error [um]", "filled", "tilt [deg]", "cell [mm]", "points", "force [N]"]
    rows = [
        [name, f"{p.correlation:.4f}", f"{p.correlation_everywhere:.3f}", f"{1e6 * p.error:.0f}", f"{p.filled:.2f}",
         f"{np.degrees(p.tilt):.1f}" if p.tilt else "", f"{1e3 * p.cell:.2f}", str(p.points), f"{p.force:.2f}"]
        for tiles in done.values() for name, p in tiles
    ]  # fmt: skip
    emit.table("depth map against the indenter's height, within the contact", header, rows)


def _judge(emit: Emit, done: dict) -> None:
    every = {f"{group}.{name}": p.correlation for group, tiles in done.items() for name, p in tiles}
    emit("tactile_patterns.pressed", len(every))
    emit("tactile_patterns.least_correlation", min(every.values(), default=np.nan))
    low = [f"{name} {value:.3f}" for name, value in every.items() if not value >= BOUND]
    emit("tactile_patterns.below_the_bound", len(low))
    if low:
        raise RuntimeError(f"correlation below {BOUND}: {', '.join(low)}")
