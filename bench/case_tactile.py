"""Case `tactile`: paper C's Figure 4 in its layout: world-steps a second and memory against the number of worlds, peg
task at low and high resolution and a hand with pads all over, its H100 value beside. Then a ball on a gel pad beside
MuJoCo (`bench.ball_on_pad`), the soft contact that both can do. TACKTILE_TACTILE_PARTS=hand,peers chooses parts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.ball_on_pad import PEERS, BallOnPad, settle
from bench.measure import one_core, resident_memory
from bench.peg_problem import PAPER, PegRun, loaded, own, record_script, reference, run_peg
from bench.registry import Emit

DESCRIPTION = "paper C's Figure 4: rate and memory against worlds, peg low and high, hand; a ball on a pad beside peers"
WORLDS = {
    "cpu": {"low": (1, 4, 16, 64), "high": (1, 4), "hand": (1, 4)},
    "cuda": {"low": (1, 64, 1024, 4096), "high": (1, 64, 512), "hand": (1, 64, 512)},
}
STEPS = {"low": 200, "high": 100, "hand": 120}  # high and hand up to the lift
LABELS = {"low": "peg.low_resolution", "high": "peg.high_resolution", "hand": "hand"}
ROOT = Path(__file__).resolve().parents[1]


def run(emit: Emit, compute: str) -> None:
    parts = [part for part in os.environ.get("TACKTILE_TACTILE_PARTS", "").split(",") if part]
    emit("tactile.paper_files", reference() is not None)
    for row, counts in WORLDS["cpu" if compute == "cpu" else "cuda"].items():
        for count in counts if not parts or row in parts else ():
            emit.status(f"{LABELS[row]}, {count} worlds")
            command = [sys.executable, "-m", "bench.case_tactile", row, str(count), compute]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
            label = f"tactile.{LABELS[row]}.worlds_{count}"
            if done.returncode != 0:  # too many for this machine: the series ends, and says why
                emit.status(done.stderr.strip().splitlines()[-1])
                emit(f"{label}.fits", False)
                break
            rate, memory, points, unconverged = (float(word) for word in done.stdout.split()[-4:])
            emit(f"{label}.world_steps_per_second", rate, "1/s")
            emit(f"{label}.memory", memory, "MB")
            emit(f"{label}.points_a_world", points)
            emit(f"{label}.not_converged", unconverged, "steps")
    for name, value in PAPER.items():
        emit(f"tactile.paper_h100.{name}.world_steps_per_second", value, "1/s")
    if not parts or "peers" in parts:
        _beside(emit, compute)


def _measure(row: str, count: int, compute: str) -> tuple[float, float, float, float]:
    """Rate [1/s], memory that the batch added [MB], points a world, steps that did not converge; in this process."""
    overrides = {"low": reference() or own(), "high": own(fine=True), "hand": []}[row]
    scene = "hand_grasp" if row == "hand" else "peg_insertion"
    with one_core():
        script = record_script(overrides, compute, scene, STEPS[row])
        before = resident_memory() or np.nan
        done: PegRun = run_peg(loaded(overrides, scene), script, count, compute, STEPS[row])
        memory = (resident_memory() or np.nan) - before
    return done.rate, memory, done.engine.model.points_per_world, sum(not r.converged for r in done.reports)


def _beside(emit: Emit, compute: str) -> None:
    """The same ball on the same pad in every engine that is installed, one after the other on one core."""
    problem = BallOnPad()
    emit("tactile.ball_on_pad.theory", 1e3 * problem.theory, "mm")
    rows = []
    for name in PEERS:
        emit.status(f"a ball on a pad: {name}")
        try:
            done = settle(name, problem, compute)
        except ImportError as error:
            emit.status(f"{name} is not here ({error}): pip install 'tacktile[bench]'")
            continue
        label = f"tactile.ball_on_pad.{name}"
        emit(f"{label}.depth", 1e3 * done.depth, "mm")
        emit(f"{label}.error_to_theory", done.depth / problem.theory - 1.0)
        emit(f"{label}.overlap", 1e6 * done.overlap, "um")
        emit(f"{label}.still_moving", 1e3 * done.speed, "mm/s")
        emit(f"{label}.seconds_per_simulated_second", done.busy / done.simulated, "s/s")
        emit(f"{label}.step", 1e3 * done.dt, "ms")
        figures = (1e3 * done.depth, 1e6 * done.overlap, done.busy / done.simulated, 1e3 * done.dt)
        rows.append([name, f"{done.depth / problem.theory - 1.0:+.1%}", *(f"{figure:.3g}" for figure in figures)])
    header = ["", "to theory", "depth [mm]", "overlap [um]", "s a simulated s", "step [ms]"]
    emit.table(f"a ball of {problem.mass:g} kg on a pad of {done.points} points", header, rows)


if __name__ == "__main__":
    print(*_measure(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
