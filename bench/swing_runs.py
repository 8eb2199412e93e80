"""Runs of the swing for case `tape`, each kept in a file so that a part can be run again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.measure import clock
from bench.registry import Emit
from bench.swing_problem import DT, Model, Swing, released_state, swing, swing_engine

KEPT = Path("runs") / "bench_tape"  # a file here is taken as it is: remove it to run that part again
WARM = 1  # steps before a window is timed: kernels load, graphs are captured


@dataclass(frozen=True)
class Run:
    """One swing. tolerance: newton_tolerance [m/s]; newton: guided (ours) or plain (parity)."""

    model: Model
    tolerance: float
    seconds: float
    newton: str = "guided"

    @property
    def name(self) -> str:
        return f"{self.model.name}.{self.tolerance:.0e}".replace("e-0", "e-") + f".{self.newton}"

    @property
    def file(self) -> Path:
        return KEPT / f"swing.{self.name}.npz"


def start_of(model: Model, emit: Emit, compute: str) -> dict[str, np.ndarray]:
    """State at the release, kept beside the runs."""
    path = KEPT / f"start.{model.name}.npz"
    if path.is_file():
        with np.load(path) as file:
            return dict(file)
    state = released_state(model, compute, emit.status)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **state)
    return state


def run_swing(run: Run, emit: Emit, compute: str) -> Swing:
    """The kept result when there is one of this length, else a new one."""
    if run.file.is_file():
        kept = Swing.load(run.file)
        if len(kept.newton) >= round(run.seconds / DT):
            return kept
    engine = swing_engine(run.model, False, compute, newton_tolerance=run.tolerance, newton=run.newton)
    engine.set_state(start_of(run.model, emit, compute))

    def status(step: int, steps: int) -> None:
        if step % 50 == 0:
            emit.status(f"{run.name}, step {step} of {steps}")

    found = swing(engine, run.seconds, clock(compute), status)
    found.save(run.file)
    return found


@dataclass(frozen=True)
class Window:
    """Full shell, then cluster, over the same steps from the same state."""

    step_ms: tuple[float, float]
    newton: tuple[float, float]  # iterations a step
    linear: tuple[float, float]  # PCG iterations a Newton iteration
    apart: float  # largest difference of their hub angles [deg]


def run_window(model: Model, steps: int, emit: Emit, compute: str, tolerance: float = 1e-3) -> Window:
    """Step by step in turn, so that other programs on the machine slow down both."""
    engines, now = [], clock(compute)
    for clustered in (False, True):
        one = replace(model, clustered=clustered)
        engine = swing_engine(one, False, compute, newton_tolerance=tolerance)
        engine.set_state(start_of(one, emit, compute))
        engines.append(engine)
    parts: tuple[list[Swing], list[Swing]] = ([], [])
    for step in range(WARM + steps):
        emit.status(f"{model.adhesive}, {model.turns} turns, full shell and cluster, step {step + 1} of {WARM + steps}")
        for engine, mine in zip(engines, parts, strict=True):
            mine.append(swing(engine, DT, now))
    timed = [mine[WARM:] for mine in parts]
    newton = [sum(int(s.newton[0]) for s in mine) for mine in timed]
    return Window(
        tuple(1e3 * sum(float(s.seconds[0]) for s in mine) / steps for mine in timed),
        tuple(n / steps for n in newton),
        tuple(sum(int(s.linear[0]) for s in mine) / max(n, 1) for mine, n in zip(timed, newton, strict=True)),
        max(abs(float(a.hub_angle[1] - b.hub_angle[1])) for a, b in zip(*parts, strict=True)),
    )


def clustering_error(other: Swing, reference: Swing) -> tuple[float, float]:
    """Root mean square over time of the distance of the cores' middles [mm] and of the angle between them [deg]."""
    n = min(len(other.centre), len(reference.centre))
    away = np.linalg.norm(other.centre[:n] - reference.centre[:n], axis=1)
    between = np.einsum("nji,njk->nik", reference.rotation[:n], other.rotation[:n])
    angle = np.arccos(np.clip(0.5 * (np.einsum("nii->n", between) - 1.0), -1.0, 1.0))
    return 1e3 * float(np.sqrt((away**2).mean())), float(np.degrees(np.sqrt((angle**2).mean())))
