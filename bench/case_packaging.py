"""Case `packaging`: the scripted operator seals a carton from start to finish, as the application plays it."""

from __future__ import annotations

import numpy as np

from bench.registry import Emit, Unavailable
from bench.scripted_run import measure_run, play
from bench.stress_run import IntersectionOracle

DESCRIPTION = "a carton is closed, taped, cut and pressed by the script: stages, verdict, share of real time"
SCENE = "box_packaging"
LOOK_EVERY = 10  # steps between two looks for intersections
OVERLAPPING = ("dispenser",)  # its frame is made of pieces that overlap, and carries core and roller
PAPER_REALTIME = 0.422  # paper T, box packaging at dt 1/30 s on an RTX 5090


def run(emit: Emit, compute: str) -> None:
    """Prints how far it came, what the verdict says and what it cost; paper T's factor beside."""
    from scenes.packaging import STAGES, SealWatch

    try:
        import ipctk  # noqa: F401
    except ImportError as error:
        raise Unavailable(f"ipctk looks for intersections ({error}): pip install 'tacktile[dev]'") from error
    seen: dict[str, float] = {}
    crossings: list[bool] = []
    oracle: dict[int, IntersectionOracle] = {}  # by topology: the cut makes another mesh

    def watch(session, frame) -> None:
        for name, holds in frame.extra["guide"]["stages"].items():
            if holds and name not in seen:
                seen[name] = frame.time_sim
                emit.status(f"{name} after {frame.time_sim:.1f} s")
        if frame.index % LOOK_EVERY == 0:
            engine = session.engine
            if engine.model.topology_version not in oracle:
                fresh = IntersectionOracle(engine.model, engine.positions(), OVERLAPPING)
                oracle[engine.model.topology_version] = fresh
            crossings.append(oracle[engine.model.topology_version].intersects(engine.positions()))

    played = play(SCENE, compute, emit.status, watch)
    engine = played.session.engine
    for name in STAGES:
        emit(f"packaging.{name}_at", seen.get(name, float("nan")), "s")
    emit.status("the flaps are pulled")
    verdict = SealWatch(played.session.scene).evaluate(engine)
    sealing = verdict.sealing
    emit("packaging.success", float(verdict.success))
    emit("packaging.covered_length", 1e3 * sealing.covered_length, "mm")
    emit("packaging.seam_length", 1e3 * sealing.seam_length, "mm")
    emit("packaging.stuck_area", 1e4 * sealing.stuck_area, "cm2")
    emit("packaging.stuck_share", sealing.stuck_share)
    emit("packaging.pulled_angle", np.degrees(verdict.pulled_angle), "deg")
    emit("packaging.roll_length_left", 1e3 * sealing.roll_length, "mm")
    emit("packaging.looks", len(crossings))
    emit("packaging.intersections", sum(crossings))
    measure_run(emit, "packaging", played)
    emit("packaging.realtime_factor_paper_on_rtx_5090", PAPER_REALTIME)
