"""Case `wire_harness`: the script picks a roll by its end, sticks it to a bundle of wires and wraps the bundle."""

from __future__ import annotations

from bench.registry import Emit, Unavailable
from bench.scripted_run import measure_run, play
from bench.stress_run import IntersectionOracle

DESCRIPTION = "a bundle of wires is wrapped with tape by the script: stages, turns, intersections, share of real time"
LOOK_EVERY = 25  # steps between two looks for intersections


def run(emit: Emit, compute: str) -> None:
    from scenes.wrapping import STAGES, WrapWatch

    try:
        import ipctk  # noqa: F401
    except ImportError as error:
        raise Unavailable(f"ipctk looks for intersections ({error}): pip install 'tacktile[dev]'") from error
    seen: dict[str, float] = {}
    crossings: list[bool] = []
    oracle: list[IntersectionOracle] = []

    def watch(session, frame) -> None:
        for name, holds in frame.extra["guide"]["stages"].items():
            if holds and name not in seen:
                seen[name] = frame.time_sim
                emit.status(f"{name} after {frame.time_sim:.1f} s")
        if frame.index % LOOK_EVERY == 0:
            positions = session.engine.positions()
            if not oracle:
                oracle.append(IntersectionOracle(session.engine.model, positions))
            crossings.append(oracle[0].intersects(positions))

    played = play("wire_harness", compute, emit.status, watch)
    wrapping = WrapWatch(played.session.scene).read(played.session.engine)
    for name in STAGES:
        emit(f"wire_harness.{name}_at", seen.get(name, float("nan")), "s")
    emit("wire_harness.success", float(wrapping.success))
    emit("wire_harness.turns", wrapping.turns)
    emit("wire_harness.wires", wrapping.wires)
    emit("wire_harness.stuck_points", wrapping.stuck_points)
    emit("wire_harness.looks", len(crossings))
    emit("wire_harness.intersections", sum(crossings))
    measure_run(emit, "wire_harness", played)
