"""Case `wire_harness`: the script picks a roll by its end, sticks it to a bundle of wires and wraps the bundle."""

from __future__ import annotations

from bench.registry import Emit
from bench.script_watch import ScriptWatch
from bench.scripted_run import measure_run, play
from bench.stress_run import need_oracle

DESCRIPTION = "a bundle of wires is wrapped with tape by the script: stages, turns, intersections, share of real time"
LOOK_EVERY = 25  # steps between two looks for intersections


def run(emit: Emit, compute: str) -> None:
    from scenes.wrapping import STAGES, WrapWatch

    need_oracle()
    watch = ScriptWatch(emit, LOOK_EVERY)
    played = play("wire_harness", compute, emit.status, watch)
    wrapping = WrapWatch(played.session.scene).read(played.session.engine)
    for name in STAGES:
        emit(f"wire_harness.{name}_at", watch.reached.get(name, float("nan")), "s")
    emit("wire_harness.success", float(wrapping.success))
    emit("wire_harness.turns", wrapping.turns)
    emit("wire_harness.wires", wrapping.wires)
    emit("wire_harness.stuck_points", wrapping.stuck_points)
    emit("wire_harness.looks", len(watch.crossings))
    emit("wire_harness.intersections", sum(watch.crossings))
    measure_run(emit, "wire_harness", played)
