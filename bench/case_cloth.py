"""Case `cloth`: a cloth on a sphere, side by side with MuJoCo 4's IPC mode on one core."""

from __future__ import annotations

import numpy as np

from bench.cloth_problem import Cloth, TacktileCloth
from bench.measure import add_stages, clock, emit_shares, largest_difference, one_core, timed
from bench.registry import Emit, Unavailable

DESCRIPTION = "20 x 20 and 40 x 40 cloth on a sphere beside MuJoCo's IPC mode: time ratio at equal accuracy"

STEPS = 50
PROBES = range(3, STEPS, 7)  # steps whose velocity is compared with the tight solve from the same state
# The loosest settings whose error stays near ERROR, found by trying; the error of both is printed with every run.
ERROR = 4e-3  # [m/s]
OURS = {
    points: {"newton_tolerance": tolerance, "linear_tolerance": 3e-2, "newton_max_iterations": 200}
    for points, tolerance in ((20, 3e-3), (40, 5e-4))
}
TIGHT = {
    "newton_tolerance": 1e-7, "linear_tolerance": 1e-8, "contact_tolerance": 1e-6, "newton_max_iterations": 400,
}  # fmt: skip
MUJOCO = {20: {"tolerance": "1e-2"}, 40: {"tolerance": "1e-5"}}  # 1e-2 errs by 2e-2 at 40 x 40
REPEATS = {20: 3, 40: 1}


def run(emit: Emit, compute: str) -> None:
    try:
        from bench.peers.mujoco_cloth import MujocoCloth

        MujocoCloth(Cloth(3), True)
    except (ImportError, ValueError) as error:
        raise Unavailable(f"MuJoCo 4 is needed beside it ({error}): pip install 'tacktile[bench]'") from error
    with one_core():
        for points, self_contact in ((20, True), (20, False), (40, True)):
            name = f"cloth{points}" if self_contact else f"cloth{points}.no_self_contact"
            _compare(emit, compute, name, Cloth(points), self_contact)


def _compare(emit: Emit, compute: str, name: str, cloth: Cloth, self_contact: bool) -> None:
    from bench.peers.mujoco_cloth import TIGHT as PEER_TIGHT
    from bench.peers.mujoco_cloth import MujocoCloth

    emit.status(f"{name}: {STEPS} steps of each, {REPEATS[cloth.points]} times")
    ours = TacktileCloth(cloth, self_contact, compute, **OURS[cloth.points])
    ours.step()  # captures its graphs, grows its buffers
    sides = {
        "tacktile": (ours, TacktileCloth(cloth, self_contact, compute, **TIGHT)),
        "mujoco": tuple(MujocoCloth(cloth, self_contact, **o) for o in (MUJOCO[cloth.points], PEER_TIGHT)),
    }
    errors: dict[str, list] = {side: [] for side in sides}
    seconds = {side: np.zeros((REPEATS[cloth.points], STEPS)) for side in sides}
    stages: dict[str, float] = {}
    reports, iterations = [], []
    now = clock(compute)
    for repeat in range(REPEATS[cloth.points]):
        for sim, _ in sides.values():
            sim.reset()
        for step in range(STEPS):
            for side, (sim, tight) in sides.items():  # interleaved: both meet the same weather
                probe = repeat == 0 and step in PROBES
                if probe:
                    tight.copy_state(sim)
                    tight.step()
                seconds[side][repeat, step] = timed(sim.step, now)
                if probe:
                    errors[side].append(largest_difference(sim.velocities, tight.velocities))
            add_stages(stages, ours.report)
            if repeat == 0:
                iterations.append(sides["mujoco"][0].iterations)
                reports.append(ours.report)
    _print(emit, name, seconds, errors, reports, iterations, stages)


def _print(emit: Emit, name, seconds, errors, reports, iterations, stages) -> None:
    mean = {side: float(np.median(values, axis=0).mean()) for side, values in seconds.items()}
    emit(f"{name}.ratio_to_mujoco", mean["tacktile"] / mean["mujoco"], "-")
    for side, value in mean.items():
        emit(f"{name}.{side}_ms_per_step", 1e3 * value, "ms")
        emit(f"{name}.{side}_velocity_error", max(errors[side]), "m/s")
    newton = sum(report.newton_iterations for report in reports)
    emit(f"{name}.newton_per_step", newton / len(reports), "-")
    emit(f"{name}.newton_most", max(report.newton_iterations for report in reports), "-")
    emit(f"{name}.pcg_per_newton", sum(report.linear_iterations for report in reports) / newton, "-")
    emit(f"{name}.mujoco_iterations_per_step", np.mean(iterations), "-")
    emit(f"{name}.candidates", max(report.candidates for report in reports), "-")
    emit(f"{name}.contacts", max(report.contacts for report in reports), "-")
    emit(f"{name}.not_converged", sum(not report.converged for report in reports), "steps")
    emit_shares(emit, name, stages)
