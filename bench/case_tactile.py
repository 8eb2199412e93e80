"""Case `tactile`: paper C's Figure 4 in its layout: world-steps a second and memory against the number of worlds, peg
task at low and high resolution, its H100 value beside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.measure import one_core, resident_memory
from bench.peg_problem import PAPER, PegRun, loaded, own, record_script, reference, run_peg
from bench.registry import Emit

DESCRIPTION = "paper C's Figure 4: world-steps a second and memory against worlds, peg low and high resolution"
WORLDS = {"cpu": {"low": (1, 4, 16, 64), "high": (1, 4)}, "cuda": {"low": (1, 64, 1024, 4096), "high": (1, 64, 512)}}
STEPS = {"low": 200, "high": 100}  # the high one up to the lift
ROOT = Path(__file__).resolve().parents[1]


def run(emit: Emit, compute: str) -> None:
    emit("tactile.paper_files", reference() is not None)
    for resolution, counts in WORLDS["cpu" if compute == "cpu" else "cuda"].items():
        for count in counts:
            emit.status(f"peg, {resolution} resolution, {count} worlds")
            command = [sys.executable, "-m", "bench.case_tactile", resolution, str(count), compute]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
            label = f"tactile.peg.{resolution}_resolution.worlds_{count}"
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


def _measure(resolution: str, count: int, compute: str) -> tuple[float, float, float, float]:
    """Rate [1/s], memory that the batch added [MB], points a world, steps that did not converge; in this process."""
    overrides = (reference() or own()) if resolution == "low" else own(fine=True)
    with one_core():
        script = record_script(overrides, compute)
        before = resident_memory() or np.nan
        done: PegRun = run_peg(loaded(overrides), script, count, compute, STEPS[resolution])
        memory = (resident_memory() or np.nan) - before
    return done.rate, memory, done.engine.model.points_per_world, sum(not r.converged for r in done.reports)


if __name__ == "__main__":
    print(*_measure(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
