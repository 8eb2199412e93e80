"""Case `tactile_peg`: paper C's peg insertion, 200 steps of 0.02 s, one world; watched by ipctk."""

from __future__ import annotations

import numpy as np

from bench.measure import emit_shares, one_core, resident_memory
from bench.peg_problem import PADS, STEPS, curved, loaded, own, record_script, reference, run_peg
from bench.registry import Emit
from bench.stress_run import IntersectionOracle, need_oracle
from scenes.tactile_measures import inserted, inserted_depth

DESCRIPTION = "peg insertion with two pads: real-time factor, depth reached, intersections found by ipctk (must be 0)"
FINGERS = ("gripper.left", "gripper.right")
EVERY = 10  # steps from one look for intersections to the next


def run(emit: Emit, compute: str) -> None:
    need_oracle()
    cases = {
        "own_files": own(), "paper_files": reference(), "own_1500_points": own(fine=True), "file_5215_points": curved(),
    }  # fmt: skip
    for name, overrides in cases.items():
        if overrides is None:
            emit.status(f"{name}: the reference files are not there, left out")
            continue
        emit.status(name)
        _one(emit, f"tactile_peg.{name}", overrides, compute)
        if name == "paper_files":
            emit("tactile_peg.realtime_factor", _FACTOR[f"tactile_peg.{name}"])
    if reference() is None:
        emit("tactile_peg.realtime_factor", _FACTOR["tactile_peg.own_files"])


_FACTOR: dict[str, float] = {}


def _one(emit: Emit, label: str, overrides: list[str], compute: str) -> None:
    config = loaded(overrides)
    with one_core():
        script = record_script(overrides, compute)
        oracles, found = [], []

        def look(step: int, engine) -> None:
            if not oracles:  # a pad lies on its finger, to which it is bonded
                start = engine.positions()
                oracles.extend(IntersectionOracle(engine.model, start, apart) for apart in (FINGERS, PADS))
            if step % EVERY == 0 or step == STEPS - 1:
                found.append(any(oracle.intersects(engine.positions()) for oracle in oracles))

        done = run_peg(config, script, 1, compute, watch=look)
    dt = float(config.file.options.dt)
    _FACTOR[label] = STEPS * dt / done.seconds
    newton = np.array([r.newton_iterations for r in done.reports])
    meshes = done.engine.model.meshes
    emit(f"{label}.points_a_pad", len(meshes["left_pad"].rest))
    emit(f"{label}.tets_a_pad", len(meshes["left_pad"].tets))
    emit(f"{label}.realtime_factor", _FACTOR[label])
    emit(f"{label}.steps_per_second", done.rate, "1/s")
    emit(f"{label}.inserted", bool(inserted(done.engine)[0]))
    emit(f"{label}.depth", 1e3 * float(inserted_depth(done.engine)[0]), "mm")
    emit(f"{label}.intersections", sum(found))
    emit(f"{label}.looks_for_intersections", len(found))
    emit(f"{label}.smallest_gap", 1e6 * min(r.min_distance for r in done.reports), "um")
    emit(f"{label}.not_converged", sum(not r.converged for r in done.reports), "steps")
    emit(f"{label}.newton_per_step", newton.mean())
    emit(f"{label}.newton_most", newton.max())
    emit(f"{label}.pcg_per_newton", sum(r.linear_iterations for r in done.reports) / newton.sum())
    memory = resident_memory()
    if memory is not None:
        emit(f"{label}.memory", memory, "MB")
    stages: dict[str, float] = {}
    for report in done.reports:
        for name, seconds in report.stage_seconds.items():
            stages[name] = stages.get(name, 0.0) + seconds
    emit_shares(emit, label, stages, smallest=0.05)
