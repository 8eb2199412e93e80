"""Case `stress`: 1,000 steps of the four stress scenes, watched by ipctk."""

from __future__ import annotations

import numpy as np

from bench.registry import Emit
from bench.stress_run import SCENES, need_oracle, run_stress

DESCRIPTION = "1,000 steps of four stress scenes: intersections found by ipctk (must be 0), share of steps in contact"
STEPS = 1000


def run(emit: Emit, compute: str) -> None:
    need_oracle()
    total = 0
    for name in SCENES:
        emit.status(f"{name}: {STEPS} steps")
        result = run_stress(name, STEPS, compute, _tell(emit, name))
        total += len(result.intersecting)
        emit(f"stress.{name}.intersections", len(result.intersecting), "steps")
        emit(f"stress.{name}.looks", result.looks, "steps")
        emit(f"stress.{name}.impacts", result.impacts, "steps")
        emit(f"stress.{name}.share_in_contact", result.active_share)
        emit(f"stress.{name}.contacts_most", result.most_contacts)
        emit(f"stress.{name}.smallest_gap", 1e6 * result.smallest_gap, "um")
        emit(f"stress.{name}.newton_per_step", result.newton / result.steps)
        emit(f"stress.{name}.not_converged", result.unconverged, "steps")
        emit(f"stress.{name}.stalled", result.stalled, "steps")
        emit(f"stress.{name}.step_median", 1e3 * np.median(result.seconds), "ms")
        emit(f"stress.{name}.step_largest", 1e3 * max(result.seconds), "ms")
    emit("stress.intersections", total, "steps")


def _tell(emit: Emit, name: str):
    def watch(step: int, result) -> None:
        if step % 100 == 0:
            found = f"{len(result.intersecting)} intersections in {result.looks} looks"
            emit.status(f"{name}: step {step} of {STEPS}, {found}")

    return watch
