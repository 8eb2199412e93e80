"""Case `tactile_forces`: weights, slip and sphere presses, by the pads' own signals."""

from __future__ import annotations

from dataclasses import replace

from bench.pad_problem import Indentation, Indenter, layer_force
from bench.registry import Emit
from bench.tactile_problem import named, pull_bar, sphere_on_pad, weigh

DESCRIPTION = "a known weight, a bar pulled until it slips, a sphere pressed in: what the pads report against theory"
MASSES = (0.02, 0.1, 0.5)  # [kg]
FRICTIONS = (0.3, 0.6, 0.9)
PRESS = Indentation(depth=0.1e-3)  # contact radius 1 mm, chi 0.25: where the series holds


def run(emit: Emit, compute: str) -> None:
    for mass in MASSES:
        emit.status(f"weight of {1e3 * mass:g} g")
        force, converged = weigh(mass, compute=compute)
        emit(f"tactile_forces.weight_{1e3 * mass:g}g.reported", force, "N")
        emit(f"tactile_forces.weight_{1e3 * mass:g}g.error", force / (9.81 * mass) - 1.0)
        emit(f"tactile_forces.weight_{1e3 * mass:g}g.all_converged", converged)
    for friction_mu in FRICTIONS:
        emit.status(f"bar pulled at 2 mm/s, friction {friction_mu:g}")
        slip = pull_bar(friction_mu, compute=compute, seconds=0.6 + 1.2 * friction_mu)
        label = f"tactile_forces.slip_mu_{friction_mu:g}"
        emit(f"{label}.ratio", slip.slip_ratio)
        emit(f"{label}.error", slip.slip_ratio / friction_mu - 1.0)
        emit(f"{label}.largest_ratio", slip.ratio.max())
        onset = min(slip.slips_from, len(slip.time) - 1)
        emit(f"{label}.slips_after", slip.time[onset], "s")
        emit(f"{label}.normal_force", slip.normal[-1], "N")
        emit(f"{label}.marker_at_slip", 1e3 * slip.marker[onset], "mm")
        emit(f"{label}.marker_rises_until_slip", slip.marker_rises)
        emit(f"{label}.all_converged", slip.converged)
    _spheres(emit, compute)


def _spheres(emit: Emit, compute: str) -> None:
    theory = layer_force(PRESS, PRESS.depth)
    emit("tactile_forces.sphere.theory", theory, "N")
    emit.status("sphere, cells of a third of the contact radius")
    fine = Indenter(replace(PRESS, cells_per_radius=3), compute).press(PRESS.depth)
    emit("tactile_forces.sphere.error_third", fine / theory - 1.0)
    for name in ("gelsight", "gelsight_mini"):
        emit.status(f"sphere on {name}'s own mesh")
        sensor = named(name)
        deep = replace(PRESS, depth=0.4e-3)
        for press in (PRESS, deep):
            force = sphere_on_pad(press, sensor, compute)
            label = f"tactile_forces.sphere.{name}_at_{1e3 * press.depth:g}mm"
            emit(f"{label}.error", force / layer_force(press, press.depth) - 1.0)
