"""Case `tape_turns`: what a step of a roll costs against its turns, clustered (R) and whole (F)."""

from __future__ import annotations

import numpy as np

from bench.measure import clock, one_core
from bench.registry import Emit
from bench.roll_problem import pull, roll_engine

DESCRIPTION = "roll paid out: step time at 2, 8 and 32 turns with a cluster, speed-up over the whole shell at 8 turns"

TURNS = (2, 8, 32)
WARM, STEPS = 30, 120  # steps before and in the window that is timed
WHOLE_STEPS = 6  # of the whole shell, from the state where the window begins
PAPER_SPEEDUP = {"coh": 307.8 / 36.7, "bond": 4.5}  # comparable motion, 32 turns, RTX PRO 6000 (paper T)


def run(emit: Emit, compute: str) -> None:
    with one_core():
        for adhesive, word in (("coh", "cohesive"), ("bond", "bond")):
            median = {turns: _clustered(emit, compute, adhesive, turns) for turns in TURNS}
            emit(f"tape_turns.step_ratio_32_to_2.{adhesive}_r", median[32] / median[2], "-")
            emit(f"tape_turns.step_ratio_32_to_8.{adhesive}_r", median[32] / median[8], "-")
            whole, clustered = _whole(emit, compute, adhesive, 8)
            emit(f"tape_turns.speedup_f_to_r.{word}", whole / clustered, "-")
            emit(f"tape_turns.paper.speedup_f_to_r.{word}_32_turns", PAPER_SPEEDUP[adhesive], "-")


def _clustered(emit: Emit, compute: str, adhesive: str, turns: int) -> float:
    """Median step time without front updates [s]."""
    emit.status(f"{adhesive}, {turns} turns, cluster")
    engine, now = roll_engine(turns, True, compute, adhesive=adhesive), clock(compute)
    name = f"tape_turns.{adhesive}_r.{turns}_turns"
    for step in range(WARM):
        pull(engine, step)
    plain, fronts, newton, linear, missed = [], [], 0, 0, 0
    for step in range(WARM, WARM + STEPS):
        begin = now()
        report = pull(engine, step)
        seconds = now() - begin
        front = report.stage_seconds.get("front", 0.0)
        plain.append(seconds - front)
        fronts.append(front)
        newton, linear = newton + report.newton_iterations, linear + report.linear_iterations
        missed += not report.converged
    advances = [f for f in fronts if f > 5e-3]
    emit(f"{name}.step_median", 1e3 * float(np.median(plain)), "ms")
    emit(f"{name}.step_mean_with_front_updates", 1e3 * float(np.mean(plain) + np.mean(fronts)), "ms")
    emit(f"{name}.front_update", 1e3 * float(np.mean(advances)) if advances else 0.0, "ms")
    emit(f"{name}.front_updates", len(advances), "-")
    emit(f"{name}.newton_per_step", newton / STEPS, "-")
    emit(f"{name}.pcg_per_newton", linear / max(newton, 1), "-")
    emit(f"{name}.not_converged", missed, "steps")
    emit(f"{name}.points", engine.model.num_points, "-")
    emit(f"{name}.points_stepped", len(engine.reduction.points), "-")
    return float(np.median(plain))


def _whole(emit: Emit, compute: str, adhesive: str, turns: int) -> tuple[float, float]:
    """Median step times of the whole shell and of the cluster over the same few steps [s]."""
    now, medians = clock(compute), []
    for clustered in (False, True):
        emit.status(f"{adhesive}, {turns} turns, {'cluster' if clustered else 'whole shell'}")
        engine = roll_engine(turns, clustered, compute, adhesive=adhesive)
        seconds, newton, linear = [], 0, 0
        for step in range(WHOLE_STEPS + 2):
            begin = now()
            report = pull(engine, step + 20)
            seconds.append(now() - begin - report.stage_seconds.get("front", 0.0))
            newton, linear = newton + report.newton_iterations, linear + report.linear_iterations
        medians.append(float(np.median(seconds[2:])))
        name = f"tape_turns.{adhesive}_{'r' if clustered else 'f'}.{turns}_turns.window"
        emit(f"{name}.step_median", 1e3 * medians[-1], "ms")
        emit(f"{name}.newton_per_step", newton / (WHOLE_STEPS + 2), "-")
        emit(f"{name}.pcg_per_newton", linear / max(newton, 1), "-")
    return medians[0], medians[1]
