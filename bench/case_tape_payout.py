"""Case `tape_payout`: 32 turns with a cluster paid out for 17.75 s at 25 mm/s (paper T, IV-A)."""

from __future__ import annotations

import numpy as np

from bench.measure import one_core
from bench.peel_bend import bend_beyond, bend_length, zone_bend
from bench.registry import Emit
from bench.roll_problem import TAPE, WORK, carry, roll_engine

DESCRIPTION = "32 turns paid out for 17.75 s: length against geometry, lag and travel of the front"

TURNS, DT, SECONDS = 32, 0.01, 17.75
LOOK = 25  # steps between two looks at the geometry
TAUT = 3.0  # [s] from which on the strip counts as taut
LEFT = 0.5e-3  # [m]
PAPER_TRAVEL = 370.5  # [mm] of the front, paper T
WIDTH = 0.019  # [m]
STIFFNESS = TAPE.young * TAPE.thickness**3 / (12.0 * (1.0 - TAPE.poisson**2))  # [N m]


def run(emit: Emit, compute: str) -> None:
    with one_core():
        for adhesive in ("coh", "bond"):
            _pay_out(emit, compute, adhesive)
        for cells in (6, 8, 12):
            _bend(emit, compute, cells)
    emit("tape_payout.paper.front_travel", PAPER_TRAVEL, "mm")


def _pay_out(emit: Emit, compute: str, adhesive: str) -> None:
    """Tip held, hub moved away. Lengths against the straight line, and against the line with the bend in which a strip
    of this stiffness leaves the roll, or one that the front law holds over its zone of four cells (bench.peel_bend;
    pull: W b, for bonds as it was)."""
    engine = roll_engine(TURNS, True, compute, DT, adhesive, carried=True)
    cluster = engine.rolls["roll"]
    name, steps = f"tape_payout.{adhesive}_r", round(SECONDS / DT)
    regions, hub_start = cluster.regions(), _axle(engine)
    begin, shapes, stretches, lags, pulls, missed, jumps = int(cluster.front[0]), [], [], [], [], 0, 0
    for step in range(steps):
        report = carry(engine, DT)
        missed += not report.converged
        pulls.append(float(np.linalg.norm(engine.signals().drive_force[0, 0])))
        now = cluster.regions()
        jumps += int(np.count_nonzero((now < regions) | (now > regions + 1)))
        regions = now
        if step % LOOK == LOOK - 1:
            length, straight, row, rest, radius = free_length(engine)
            shapes.append((length, straight, radius))
            stretches.append(length / rest - 1.0)
            lags.append((row - int(cluster.front[0])) * _cell(engine))
        if step % 250 == 249:
            emit.status(f"{adhesive}, step {step + 1} of {steps}")
    taut = slice(round(TAUT / DT / LOOK), None)
    lag = 1e3 * np.array(lags)[taut]
    length, straight, radius = np.array(shapes)[taut].T
    pull = float(np.mean(pulls[round(TAUT / DT) :]))
    lam = bend_length(STIFFNESS, WORK if adhesive == "coh" else pull / WIDTH)
    bent = straight + [bend_beyond(lam, r - LEFT, LEFT) for r in radius]
    emit(f"{name}.hub_travel", 1e3 * float(np.linalg.norm(_axle(engine) - hub_start)), "mm")
    emit(f"{name}.front_travel", 1e3 * (begin - int(cluster.front[0])) * _cell(engine), "mm")
    # the layer's radius changes by some 6 % over the run; the bend, a hundredth of the length, by less
    zone = straight + zone_bend(_cell(engine), float(radius.mean()) - LEFT, LEFT)[0]
    for word, geometry in (("line", straight), ("elastica", bent), *([("zone", zone)] if adhesive == "coh" else [])):
        errors = 100.0 * (length / geometry - 1.0)
        emit(f"{name}.against_{word}.error_worst", float(np.abs(errors).max()), "%")
        emit(f"{name}.against_{word}.error_last", float(errors[-1]), "%")
        emit(f"{name}.against_{word}.longer_mean", 1e3 * float((length - geometry).mean()), "mm")
        emit(f"{name}.against_{word}.longer_spread", 1e3 * float((length - geometry).std()), "mm")
        within = np.flatnonzero(np.abs(errors) > 1.0)
        longest = float(length[within[-1]]) if len(within) else 0.0
        emit(f"{name}.against_{word}.within_1_percent_beyond", 1e3 * longest, "mm")
    emit(f"{name}.stretch_worst", 100.0 * float(np.abs(stretches[taut]).max()), "%")
    emit(f"{name}.pull_mean", pull, "N")
    if adhesive == "coh":
        emit(f"{name}.pull_by_work_of_separation", WORK * WIDTH, "N")
    emit(f"{name}.front_lag_mean", float(lag.mean()), "mm")
    emit(f"{name}.front_lag_least", float(lag.min()), "mm")
    emit(f"{name}.front_lag_most", float(lag.max()), "mm")
    emit(f"{name}.front_lag_drift", float(np.polyfit(np.linspace(0.0, 1.0, len(lag)), lag, 1)[0]), "mm")
    emit(f"{name}.rows_out_of_order", jumps, "-")
    emit(f"{name}.longest_edge_strain", 100.0 * _edge_strain(engine), "%")
    emit(f"{name}.not_converged", missed, "steps")


def _bend(emit: Emit, compute: str, cells: int, seconds: float = 3.5) -> None:
    """How much longer than the straight line the strip is, for finer cells: the cohesive zone is four cells long."""
    emit.status(f"bend with {cells} cells across")
    engine, longer = roll_engine(2, True, compute, DT, carried=True, cells_across=cells), []
    for step in range(round(seconds / DT)):
        carry(engine, DT)
        if step * DT > seconds - 1.5 and step % 5 == 0:
            length, straight, *_, radius = free_length(engine)
            longer.append(length - straight)
    name = f"tape_payout.bend.{cells}_cells"
    emit(f"{name}.cell", 1e3 * _cell(engine), "mm")
    emit(f"{name}.longer_mean", 1e3 * float(np.mean(longer)), "mm")
    emit(f"{name}.zone", 1e3 * zone_bend(_cell(engine), radius - LEFT, LEFT)[0], "mm")
    emit(f"{name}.elastica", 1e3 * bend_beyond(bend_length(STIFFNESS, WORK), radius - LEFT, LEFT), "mm")


def _cell(engine) -> float:
    """Length of a row at rest [m]."""
    roll = engine.rolls["roll"].spec
    middle = engine.model.meshes["tape"].rest.reshape(roll.rows, roll.columns, 3).mean(axis=1)
    return float(np.linalg.norm(np.diff(middle, axis=0), axis=1).mean())


def _axle(engine) -> np.ndarray:
    """Middle of the core (3,) [m]."""
    return engine.body_transform("tape_core")[:3, 3]


def _rows(engine) -> np.ndarray:
    """Middle of every row from the axle, (rows, 3) [m]."""
    columns = engine.rolls["roll"].spec.columns
    return engine.positions()[engine.model.meshes["tape"].points].reshape(-1, columns, 3).mean(axis=1) - _axle(engine)


def free_length(engine) -> tuple[float, float, float, float, float]:
    """Free length: along the strip, by geometry [m]; the row where it leaves the roll; free length at rest [m]; radius
    from which on a row has left [m].

    The axle (y axis) turns freely, so it bears no moment: the pull's line must pass through it, and a strip that sticks
    leaves the roll where that line does, at a right angle, not at the tangent. Geometry: distance of the tip from the
    axle less the radius. A row has left when it is `LEFT` outside of the layer that it comes from.
    """
    rows = _rows(engine)[:, [0, 2]]
    away = np.linalg.norm(rows, axis=1)
    front = int(engine.rolls["roll"].front[0])
    radius = float(np.median(away[front - 10 : front])) + LEFT
    k = len(rows) - 1
    while away[k - 1] > radius:
        k -= 1
    share = (radius - away[k - 1]) / (away[k] - away[k - 1])
    spans = np.linalg.norm(np.diff(rows[k - 1 :], axis=0), axis=1)
    length = spans.sum() - share * spans[0]
    row = k - 1 + float(share)
    return float(length), float(away[-1] - radius), row, (len(rows) - 1 - row) * _cell(engine), radius


def _edge_strain(engine) -> float:
    """Largest stretch between neighbouring rows: what tears would show as."""
    spans = np.linalg.norm(np.diff(_rows(engine), axis=0), axis=1)
    return float(spans.max() / _cell(engine) - 1.0)
