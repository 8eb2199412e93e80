"""Case `tactile_worlds`: the peg task in 1, 8 and 64 worlds; what a world of the batch costs beside one alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.measure import one_core, resident_memory
from bench.peg_problem import PegRun, loaded, own, record_script, reference, run_peg
from bench.registry import Emit
from scenes.tactile_measures import inserted

DESCRIPTION = "peg task in 1, 8 and 64 worlds: rate of the batch over one alone, memory a world, bit equality"
WORLDS = (1, 8, 64)
COMPARED = 3  # worlds of the batch that are run alone too
ROOT = Path(__file__).resolve().parents[1]


def run(emit: Emit, compute: str) -> None:
    emit("tactile_worlds.paper_files", reference() is not None)
    for drawn in (False, True):
        label = "tactile_worlds.drawn" if drawn else "tactile_worlds.alike"
        alone = None
        for count in WORLDS:
            emit.status(f"{count} worlds, {'each drawn' if drawn else 'all alike'}")
            rate, memory, equal, done = _in_process(count, drawn, compute)
            alone = rate if count == 1 else alone
            emit(f"{label}.{count}_worlds.world_steps_per_second", rate, "1/s")
            emit(f"{label}.{count}_worlds.efficiency", rate / alone)
            emit(f"{label}.{count}_worlds.inserted", done)
            if count > 1:
                emit(f"{label}.{count}_worlds.memory_a_world", memory, "MB")
                emit(f"{label}.{count}_worlds.equal_to_solo_runs", equal)
        emit("tactile_worlds.efficiency_64" + ("_drawn" if drawn else ""), rate / alone)


def _in_process(count: int, drawn: bool, compute: str) -> tuple[float, float, float, float]:
    """Rate [1/s], memory a world [MB], worlds compared that equal their solo run [share], share of worlds that insert;
    in a process of its own, so that memory is that of this batch."""
    command = [sys.executable, "-m", "bench.case_tactile_worlds", str(count), str(int(drawn)), compute]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError(f"{count} worlds in a process of their own:\n{done.stderr}")
    return tuple(float(word) for word in done.stdout.split()[-4:])


def _measure(count: int, drawn: bool, compute: str) -> tuple[float, float, float, float]:
    overrides = reference() or own()
    config = loaded(overrides)
    with one_core():
        script = record_script(overrides, compute)
        first = 0 if drawn else None
        alone = run_peg(config, script, 1, compute, first=first)  # also what every process holds whatever the batch
        before = resident_memory() or np.nan
        chosen = config if drawn else _plain(config)
        done = alone if count == 1 else run_peg(chosen, script, count, compute, first=first)
        memory = ((resident_memory() or np.nan) - before) / count
    compared = range(min(COMPARED, count) if count > 1 else 0)
    equal = [_same(done, w, config, script, compute, drawn) for w in compared] or [True]
    return done.rate, memory, float(np.mean(equal)), float(inserted(done.engine).mean())


def _plain(config):
    """Without draws: all worlds alike."""
    from dataclasses import replace

    return replace(config, file=replace(config.file, randomise=None))


def _same(done: PegRun, world: int, config, script, compute: str, drawn: bool) -> bool:
    solo = run_peg(config, script, 1, compute, first=world if drawn else None)
    return np.array_equal(solo.engine.positions(), done.engine.positions(world))


if __name__ == "__main__":
    print(*_measure(int(sys.argv[1]), sys.argv[2] == "1", sys.argv[3]))
