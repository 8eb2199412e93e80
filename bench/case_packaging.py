"""Case `packaging`: the scripted operator seals a carton from start to finish, as the application plays it.

TACKTILE_SEEDS="0 1 2 3 4" does it once for each seed of the scene's draws instead, and repeats each run by its inputs.
TACKTILE_REWINDS=10 goes back by two seconds so often meanwhile; what is done again must end in the same bits.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from bench.registry import Emit
from bench.script_watch import ScriptWatch
from bench.scripted_run import Played, measure_run, play, repeats
from bench.stress_run import need_oracle

DESCRIPTION = "a carton is closed, taped, cut and pressed by the script: stages, verdict, share of real time"
SCENE = "box_packaging"
LOOK_EVERY = 10  # steps between two looks for intersections
OVERLAPPING = ("dispenser",)  # its frame is made of pieces that overlap, and carries core and roller
RETURN_EVERY = 190  # passes of the loop between two returns
PAPER_REALTIME = 0.422  # paper T, box packaging at dt 1/30 s on an RTX 5090


def run(emit: Emit, compute: str) -> None:
    """Prints how far it came, what the verdict says and what it cost; paper T's factor beside."""
    need_oracle()
    seeds = os.environ.get("TACKTILE_SEEDS", "").split()
    rewinds = int(os.environ.get("TACKTILE_REWINDS", "0"))
    if not seeds and not rewinds:
        watch = ScriptWatch(emit, LOOK_EVERY, OVERLAPPING)
        played = play(SCENE, compute, emit.status, watch)
        judge(emit, "packaging", played, watch)
        measure_run(emit, "packaging", played)
        emit("packaging.realtime_factor_paper_on_rtx_5090", PAPER_REALTIME)
    if rewinds:
        rewound(emit, compute, rewinds)
    for seed in map(int, seeds):
        emit.status(f"seed {seed}")
        one_seed(emit, compute, seed)


def one_seed(emit: Emit, compute: str, seed: int) -> None:
    """Plays the start that the scene draws for a seed, judges it, and repeats the recorded inputs."""
    from scenes.config import load_config
    from scenes.worlds import world_draw

    watch, name = ScriptWatch(emit, LOOK_EVERY, OVERLAPPING), f"packaging.seed_{seed}"
    with tempfile.TemporaryDirectory() as folder:
        drawn = world_draw(load_config(SCENE), 0, seed=seed)
        played = play(SCENE, compute, emit.status, watch, overrides=drawn, record=Path(folder))
        judge(emit, name, played, watch)
        emit(f"{name}.not_converged", sum(not report.converged for report in played.reports), "steps")
        emit(f"{name}.realtime_factor_by_processor_time", played.simulated / played.busy)
        emit.status("the inputs are repeated")
        differs = repeats(played.session, Path(folder) / "episode_0001.h5")
    emit(f"{name}.repeated_to_the_bit", float(differs is None))
    if differs is not None:
        emit(f"{name}.first_step_that_differs", differs)


def rewound(emit: Emit, compute: str, times: int) -> None:
    """The run with returns by two seconds in it: rows of one step must have one hash, whatever was taken back."""
    from app.frame import Request
    from app.headless import NullView
    from app.record import Episode

    class Returning(NullView):
        passes = 0

        def poll(self):
            self.passes += 1
            due = self.passes % RETURN_EVERY == 0 and self.passes <= times * RETURN_EVERY
            return [Request("rewind")] if due else []

    with tempfile.TemporaryDirectory() as folder:
        view = Returning(say=lambda text: None)
        watch = ScriptWatch(emit, LOOK_EVERY, OVERLAPPING)
        played = play(SCENE, compute, emit.status, watch, record=Path(folder), view=view)
        with Episode(Path(folder) / "episode_0001.h5") as episode:
            index, after = episode["frame/index"], episode.hashes()[1:]
            told = sum(reason.startswith("back at") for _, reason in episode.segments())
    again = [np.flatnonzero(index == number) for number in np.unique(index)]
    emit("packaging.rewinds", np.sum(np.diff(index) < 0))
    emit("packaging.rewinds_told_by_the_episode", told)
    emit("packaging.steps_taken_again", sum(len(rows) - 1 for rows in again))
    emit("packaging.steps_taken_again_that_differ", sum(len(set(after[rows])) > 1 for rows in again))
    emit("packaging.rewound_steps", len(played.reports))


def judge(emit: Emit, name: str, played: Played, watch: ScriptWatch) -> None:
    """The lines about the carton as the run left it."""
    from scenes.packaging import STAGES, SealWatch

    for stage in STAGES:
        emit(f"{name}.{stage}_at", watch.reached.get(stage, float("nan")), "s")
    emit.status("the flaps are pulled")
    verdict = SealWatch(played.session.scene).evaluate(played.session.engine)
    sealing = verdict.sealing
    emit(f"{name}.success", float(verdict.success))
    emit(f"{name}.covered_length", 1e3 * sealing.covered_length, "mm")
    emit(f"{name}.seam_length", 1e3 * sealing.seam_length, "mm")
    emit(f"{name}.stuck_area", 1e4 * sealing.stuck_area, "cm2")
    emit(f"{name}.stuck_share", sealing.stuck_share)
    emit(f"{name}.pulled_angle", np.degrees(verdict.pulled_angle), "deg")
    emit(f"{name}.roll_length_left", 1e3 * sealing.roll_length, "mm")
    emit(f"{name}.looks", len(watch.crossings))
    emit(f"{name}.intersections", sum(watch.crossings))
    emit(f"{name}.mass_error", np.ptp(watch.mass) / watch.mass[0])
