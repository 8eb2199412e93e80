"""Rolls by name: numbers of real tapes, and where their settled assets lie. Sources: docs/physics/roll.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from engine.materials import ContactMaterial, FrontAdhesive, ShellMaterial
from engine.tape.winding import RollSpec

SHIPPED_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "rolls"


@dataclass(frozen=True)
class Preset:
    spec: RollSpec
    adhesive: FrontAdhesive  # between layers and on the core


PRESETS = {
    "cloth_19mm": Preset(
        RollSpec(
            width=0.019, cells_across=6, turns=8, free_length=0.03,
            core_inner_radius=0.01905, core_outer_radius=0.0211,
            material=ShellMaterial(young=1e8, poisson=0.45, thickness=0.178e-3, density=1300.0),
            contact=ContactMaterial(dhat=0.18e-3, kappa=1e5, friction_mu=0.3),
        ),
        FrontAdhesive(work=263.0),
    ),
    # Twelve cells across: with eight, a chord of 6 mm lies 0.11 mm inside its circle, more than the tape is thick.
    "scotch_3850": Preset(
        RollSpec(
            width=0.048, cells_across=12, turns=4, free_length=0.048,
            core_inner_radius=0.038, core_outer_radius=0.041,
            material=ShellMaterial(young=2e9, poisson=0.35, thickness=0.079e-3, density=1000.0),
            contact=ContactMaterial(dhat=0.11e-3, kappa=1e5, friction_mu=0.3),
        ),
        FrontAdhesive(work=330.0),
    ),
}  # fmt: skip


def preset(name: str, turns: float | None = None, free_length: float | None = None) -> Preset:
    """A preset, with other turns or another free end [m] if asked. Raises ValueError for an unknown name."""
    if name not in PRESETS:
        raise ValueError(f"roll preset is {name!r}; legal values: {', '.join(PRESETS)}")
    found = PRESETS[name]
    changes = {k: v for k, v in (("turns", turns), ("free_length", free_length)) if v is not None}
    return replace(found, spec=replace(found.spec, **changes))


def shipped_roll(name: str, turns: float | None = None) -> Path:
    """File of a settled preset. Raises ValueError for an unknown name, FileNotFoundError naming what ships."""
    spec = preset(name, turns).spec
    path = SHIPPED_FOLDER / f"{name}_{spec.turns:g}.npz"
    if not path.is_file():
        shipped = sorted(p.name for p in SHIPPED_FOLDER.glob("*.npz"))
        raise FileNotFoundError(
            f"no settled roll '{path.name}' ships; there are: {', '.join(shipped) or 'none'}. Wind one with wind_roll "
            "and settle_roll"
        )
    return path
