"""Case `pad`: sphere on a bonded 4 mm gel pad, force over depth against layer theory."""

from __future__ import annotations

import time

from bench.pad_problem import Indentation, Indenter, hertz_force, layer_force
from bench.registry import Emit

DESCRIPTION = "sphere pressed into a bonded 4 mm pad: force against layer theory (Dimitriadis et al. 2002), refined"
CELLS = (2, 3, 5)  # along the contact radius
DEPTHS = (0.25, 0.5, 0.75, 1.0)  # shares of the full depth
PRESSES = {
    "chi_0.1": Indentation(radius=4e-3, depth=0.04e-3),
    "chi_0.25": Indentation(depth=0.1e-3),  # the one that is held against the bounds
    "chi_0.5": Indentation(depth=0.4e-3),  # there the refined force itself lies some 8 % above the series
}
HEADLINE = "chi_0.25"


def run(emit: Emit, compute: str) -> None:
    for name, problem in PRESSES.items():
        errors, forces = [], []
        emit(f"pad.{name}.poisson", problem.poisson)
        emit(f"pad.{name}.depth", 1e3 * problem.depth, "mm")
        emit(f"pad.{name}.contact_radius", 1e3 * problem.contact_radius, "mm")
        emit(f"pad.{name}.theory", layer_force(problem, problem.depth), "N")
        emit(f"pad.{name}.theory_over_hertz", layer_force(problem, problem.depth) / hertz_force(problem, problem.depth))
        for cells in CELLS:
            refined = Indentation(**{**vars(problem), "cells_per_radius": cells})
            emit.status(f"{name}, cells of 1/{cells} of the contact radius")
            begin = time.perf_counter()
            indenter = Indenter(refined, compute)
            label = f"pad.{name}.cells_{cells}"
            for share in DEPTHS:
                force = indenter.press(share * refined.depth)
                forces.append(force)
                emit(f"{label}.force_at_{share:g}_depth", force, "N")
                emit(f"{label}.error_at_{share:g}_depth", force / layer_force(refined, share * refined.depth) - 1.0)
            errors.append(forces[-1] / layer_force(refined, refined.depth) - 1.0)
            emit(f"{label}.error", errors[-1])
            emit(f"{label}.points", indenter.points)
            emit(f"{label}.all_converged", indenter.converged)
            emit(f"{label}.seconds", time.perf_counter() - begin, "s")
        if name == HEADLINE:
            emit("pad.error_third", errors[CELLS.index(3)])
            emit("pad.error_fifth", errors[CELLS.index(5)])
        curves = [forces[k : k + len(DEPTHS)] for k in range(0, len(forces), len(DEPTHS))]
        rising = all(a < b for curve in curves for a, b in _neighbours(curve))
        emit(f"pad.{name}.force_rises_with_depth", rising)
        emit(f"pad.{name}.error_falls_with_cells", all(abs(a) > abs(b) for a, b in _neighbours(errors)))


def _neighbours(values: list) -> zip:
    return zip(values, values[1:], strict=False)
