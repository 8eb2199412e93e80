"""Case `tape`: paper T's tables, its values beside ours: swing, step time, comparable motion, clustering error, payout.

Everything is kept in `runs/bench_tape` as it is found; what lies there is not run again, so remove a file (or the
folder) to measure it anew. TACKTILE_TAPE_PARTS=swing,window,clustering,turns,payout chooses parts;
TACKTILE_TAPE_SHORT=1 swings for 1 s instead of 10 s (3 s at eight turns) and leaves the payout out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import numpy as np

from bench import case_tape_payout, case_tape_turns
from bench.measure import one_core
from bench.registry import Emit
from bench.swing_problem import Model
from bench.swing_runs import KEPT, Run, clustering_error, run_swing, run_window

DESCRIPTION = "paper T's tables beside ours: swing range and step time by turns and tolerance, clustering error, payout"

PARTS = ("swing", "window", "clustering", "turns", "payout")
TOLERANCES = (1e-2, 1e-3, 1e-4)  # newton_tolerance [m/s]: the default, that of scenes/parts/tape.yaml, a tight one
DEFAULT, TIGHT = TOLERANCES[0], TOLERANCES[-1]
TURNS = {False: (2, 4, 8), True: (2, 8, 16, 24, 32)}  # by whether there is a cluster
WORDS = {"coh": "Coh", "bond": "Bond"}
PAPER_RANGE = {  # [deg] (name, turns, tolerance)
    ("Coh-F", 32, 1e-2): 9.7, ("Bond-F", 32, 1e-2): 26.6, ("Bond-R", 32, 1e-2): 37.7, ("Coh-R", 32, 1e-2): 52.2,
    ("Coh-F", 32, 1e-3): 38.1, ("Coh-F", 2, 1e-2): 28.1,
}  # fmt: skip
PAPER_STEP = {"Bond-F": 366.0, "Bond-R": 115.0, "Coh-R": 116.0}  # [ms] 32 turns, 1e-3 m/s, RTX PRO 6000
PAPER_COMPARABLE = {"coh": (307.8, 36.7), "bond": (130.4, 29.1)}  # [ms] F, R
PAPER_CLUSTERING = ((5.09, 2.17), (11.11, 4.68))  # [mm, deg] R at 1e-3; Bond-F at 1e-3: each against F at 1e-4


def run(emit: Emit, compute: str) -> None:
    parts = [p for p in os.environ.get("TACKTILE_TAPE_PARTS", ",".join(PARTS)).split(",") if p]
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise ValueError(f"TACKTILE_TAPE_PARTS names {', '.join(unknown)}; legal parts: {', '.join(PARTS)}")
    short = os.environ.get("TACKTILE_TAPE_SHORT", "0") not in ("", "0")
    with one_core():
        if "swing" in parts:
            _swings(emit, compute, short)
        if "window" in parts:
            _windows(emit, compute)
        if "clustering" in parts:
            _clustering(emit, compute, short)
        if "turns" in parts:
            _turns(emit, compute)
        if "payout" in parts and not short:
            _payout(emit, compute)


def paper_name(model: Model) -> str:
    return f"{WORDS[model.adhesive]}-{'R' if model.clustered else 'F'}"


def seconds_of(model: Model, tolerance: float, short: bool) -> float:
    """Length of a swing [s]. The range shows in the first half second; the rest of the ten seconds proves it."""
    if short:
        return 1.0
    if not model.clustered and model.turns > 4:
        return 3.0
    return 10.0 if tolerance == DEFAULT else 3.0


# swing --------------------------------------------------------------------------------------------------------------
def _swings(emit: Emit, compute: str, short: bool) -> None:
    found: dict[tuple[Model, float, str], float] = {}
    steps: dict[tuple[Model, float, str], float] = {}
    for run_ in swing_runs(short):
        result = run_swing(run_, emit, compute)
        key = run_.model, run_.tolerance, run_.newton
        found[key], steps[key] = result.range(), 1e3 * float(np.median(result.seconds))
        name = f"tape.swing.{run_.name}"
        emit(f"{name}.range", found[key], "deg")
        emit(f"{name}.seconds", len(result.newton) / 100.0, "s")
        emit(f"{name}.step_median", steps[key], "ms")
        emit(f"{name}.step_mean_with_front_updates", 1e3 * float((result.seconds + result.front_seconds).mean()), "ms")
        emit(f"{name}.newton_per_step", float(result.newton.mean()))
        emit(f"{name}.pcg_per_newton", float(result.linear.sum() / max(result.newton.sum(), 1)))
        emit(f"{name}.core_turn_range", float(np.ptp(result.turn)), "deg")
        emit(f"{name}.not_converged", int(result.missed.sum()), "steps")
        if run_.tolerance == TIGHT and run_.newton == "guided":
            for word, tolerance in (("default", DEFAULT), ("tape_scenes", 1e-3)):
                error = 100.0 * (found[(run_.model, tolerance, "guided")] / found[key] - 1.0)
                emit(f"tape.swing.{run_.model.name}.{word}_against_tight", error, "%")
    _range_table(emit, found)
    _step_table(emit, steps)


def swing_runs(short: bool) -> list[Run]:
    """All models at all tolerances; full shells of two to eight turns with the plain solver too."""
    runs = []
    for tolerance in TOLERANCES:
        for clustered, turns in TURNS.items():
            for adhesive in WORDS:
                models = [Model(adhesive, clustered, t) for t in turns]
                runs += [Run(m, tolerance, seconds_of(m, tolerance, short)) for m in models]
                if not clustered and tolerance != TIGHT:
                    runs += [Run(m, tolerance, 1.0, "plain") for m in models]
    return runs


def _range_table(emit: Emit, found: dict) -> None:
    header = ["model", "turns", "solver", *(f"{t:.0e} m/s" for t in TOLERANCES), "default / tight"]
    rows = []
    for model, newton in dict.fromkeys((m, n) for m, _, n in found):
        cells = []
        for tolerance in TOLERANCES:
            value = found.get((model, tolerance, newton))
            paper = PAPER_RANGE.get((paper_name(model), model.turns, tolerance))
            cells.append(_beside(value, paper))
        pair = [found.get((model, t, newton)) for t in (DEFAULT, TIGHT)]
        ratio = "" if None in pair else f"{pair[0] / pair[1]:.3f}"
        rows.append([paper_name(model), model.turns, newton, *cells, ratio])
    rows += [
        [name, turns, "paper", *(_beside(None, value if t == tolerance else None) for t in TOLERANCES), ""]
        for (name, turns, tolerance), value in PAPER_RANGE.items() if turns == 32 and name.endswith("F")
    ]  # fmt: skip
    emit.table("Range of the hub angle while swinging [deg], paper T's in brackets", header, rows)


def _step_table(emit: Emit, steps: dict) -> None:
    turns = sorted({m.turns for m, _, _ in steps})
    rows = []
    for name in dict.fromkeys(paper_name(m) for m, _, _ in steps):
        row = [name]
        for t in turns:
            of = Model(name.split("-")[0].lower(), name.endswith("R"), t)
            row.append(_beside(steps.get((of, 1e-3, "guided")), PAPER_STEP.get(name) if t == 32 else None))
        rows.append(row)
    emit.table("Step time at 1e-3 m/s against turns [ms], one core; in brackets paper T's, on a GPU",
               ["model", *(f"{t} turns" for t in turns)], rows)  # fmt: skip


def _beside(value: float | None, paper: float | None) -> str:
    """ours (paper)"""
    return " ".join(p for p in ("" if value is None else f"{value:.1f}", "" if paper is None else f"({paper:g})") if p)


# comparable motion --------------------------------------------------------------------------------------------------
def _windows(emit: Emit, compute: str) -> None:
    """Full shell and cluster over the same first steps of the swing, step by step in turn."""
    rows = []
    for adhesive, word in WORDS.items():
        for turns, steps in ((8, 20), (32, 5)):
            found = run_window(Model(adhesive, True, turns), steps, emit, compute)
            name = f"tape.window.{adhesive}.{turns}_turns"
            for letter, shell in (("f", 0), ("r", 1)):
                emit(f"{name}.{letter}.step_mean", found.step_ms[shell], "ms")
                emit(f"{name}.{letter}.newton_per_step", found.newton[shell])
                emit(f"{name}.{letter}.pcg_per_newton", found.linear[shell])
            ratio = found.step_ms[0] / found.step_ms[1]
            emit(f"{name}.speedup_f_to_r", ratio)
            emit(f"{name}.angle_apart", found.apart, "deg")
            paper = PAPER_COMPARABLE[adhesive] if turns == 32 else (None, None)
            rows.append([
                word, turns, *(_beside(v, p) for v, p in zip(found.step_ms, paper, strict=True)),
                _beside(ratio, round(paper[0] / paper[1], 1) if turns == 32 else None),
            ])  # fmt: skip
    header = ["layers", "turns", "full shell", "cluster", "ratio"]
    emit.table("Comparable motion, step time [ms] (paper T)", header, rows)


# clustering ---------------------------------------------------------------------------------------------------------
def _clustering(emit: Emit, compute: str, short: bool) -> None:
    """Eight turns: the cluster at 1e-3, and the shell itself at 1e-3, against the shell at 1e-4."""
    rows, seconds = [], 1.0 if short else 3.0
    for adhesive, word in WORDS.items():
        reference = run_swing(Run(Model(adhesive, False, 8), TIGHT, seconds), emit, compute)
        for clustered in (True, False):
            other = run_swing(Run(Model(adhesive, clustered, 8), 1e-3, seconds), emit, compute)
            centre, angle = clustering_error(other, reference)
            name = f"tape.clustering.{adhesive}.{'r' if clustered else 'f'}_at_1e-3_against_f_at_1e-4"
            emit(f"{name}.centre_rmse", centre, "mm")
            emit(f"{name}.orientation_rmse", angle, "deg")
            paper = PAPER_CLUSTERING[0] if clustered else PAPER_CLUSTERING[1] if adhesive == "bond" else (None, None)
            label = f"{word}-{'R' if clustered else 'F'} at 1e-3"
            rows.append([label, _beside(centre, paper[0]), _beside(angle, paper[1])])
    header = ["model", "centre [mm]", "orientation [deg]"]
    emit.table("Against the full shell at 1e-4, 8 turns (paper T: 32 turns)", header, rows)


# the other cases ----------------------------------------------------------------------------------------------------
def _turns(emit: Emit, compute: str) -> None:
    values = _kept_case("tape_turns", case_tape_turns.run, emit, compute)
    rows = [
        [f"{WORDS[a]}-R", t, *(f"{values[f'tape_turns.{a}_r.{t}_turns.{k}']:.1f}" for k in
         ("step_median", "step_mean_with_front_updates", "newton_per_step", "pcg_per_newton"))]
        for a in WORDS for t in case_tape_turns.TURNS
    ]  # fmt: skip
    header = ["model", "turns", "without front", "with front updates", "Newton", "PCG"]
    emit.table("Payout, step time [ms]", header, rows)


def _payout(emit: Emit, compute: str) -> None:
    values = _kept_case("tape_payout", case_tape_payout.run, emit, compute)
    rows = [
        [f"{WORDS[a]}-R", _beside(values[f"tape_payout.{a}_r.front_travel"], 370.5 if a == "bond" else None),
         *(f"{values[f'tape_payout.{a}_r.{k}']:.1f}" for k in ("tip_travel", "front_lag_mean", "length_error_worst"))]
        for a in WORDS
    ]  # fmt: skip
    header = ["model", "front travel [mm]", "tip [mm]", "lag [mm]", "length error [%]"]
    emit.table("Payout for 17.75 s at 25 mm/s, 32 turns (paper T)", header, rows)


def _kept_case(name: str, case: Callable[[Emit, str], None], emit: Emit, compute: str) -> dict[str, float]:
    """Run another case, its lines printed and kept; or print the kept ones."""
    path = KEPT / f"{name}.json"
    if path.is_file():
        lines = json.loads(path.read_text())
        for line in lines:
            emit(line[0], line[1], line[2])
    else:
        lines = []

        class Keeping(Emit):
            def __call__(self, name: str, value: float, unit: str = "-") -> None:
                emit(name, value, unit)
                lines.append((name, float(value), unit))

        case(Keeping(lambda line: None, emit.status), compute)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(lines))
    return {line[0]: line[1] for line in lines}
