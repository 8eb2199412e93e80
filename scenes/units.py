"""Numbers with units. A plain number is SI; a text carries its unit: `0.178 mm`, `1.5 GPa`, `30 deg`, `1/30 s`."""

from __future__ import annotations

import math
import re

from scenes.errors import did_you_mean, legal_list

_PI_180 = math.pi / 180.0

# dimension -> unit -> factor to SI. The first unit of each row is the SI one, shown in the reference.
UNITS: dict[str, dict[str, float]] = {
    "number": {"": 1.0},
    "length": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254},
    "volume": {"m3": 1.0, "mm3": 1e-9, "cm3": 1e-6},
    "time": {"s": 1.0, "ms": 1e-3, "min": 60.0},
    "angle": {"rad": 1.0, "deg": _PI_180},
    "mass": {"kg": 1.0, "g": 1e-3, "mg": 1e-6},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "pressure": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "N/mm2": 1e6},
    "density": {"kg/m3": 1.0, "g/cm3": 1e3},
    "surface energy": {"J/m2": 1.0, "mJ/m2": 1e-3, "kJ/m2": 1e3},
    "inertia": {"kg m2": 1.0, "g mm2": 1e-9, "g cm2": 1e-7},
    "velocity": {"m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2},
    "angular velocity": {"rad/s": 1.0, "deg/s": _PI_180},
    "acceleration": {"m/s2": 1.0, "mm/s2": 1e-3},
    "rate": {"1/s": 1.0, "Hz": 1.0},
    "stiffness": {"N/m": 1.0, "N/mm": 1e3, "kN/m": 1e3},
    "damping": {"N s/m": 1.0, "N s/mm": 1e3},
    # C_n and C_t of the rcc law: by area, or by point in the paper's scaling
    "cohesion stiffness": {"Pa/m or N": 1.0, "Pa/m": 1.0, "MPa/mm": 1e9, "N": 1.0},
    # of a joint: linear for prismatic ones, angular for revolute ones
    "joint position": {"m or rad": 1.0, "m": 1.0, "mm": 1e-3, "rad": 1.0, "deg": _PI_180},
    "joint stiffness": {"N/m or N m/rad": 1.0, "N/m": 1.0, "N/mm": 1e3, "N m/rad": 1.0},
    "joint damping": {"N s/m or N m s/rad": 1.0, "N s/m": 1.0, "N m s/rad": 1.0},
    "joint force": {"N or N m": 1.0, "N": 1.0, "N m": 1.0, "mN": 1e-3},
}

_SPELLINGS = str.maketrans({"µ": "u", "μ": "u", "°": "deg", "²": "2", "³": "3"})
_DECIMAL = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"^\s*({_DECIMAL})\s*(?:/\s*({_DECIMAL}))?\s*(.*?)\s*$")


def si_unit(dimension: str) -> str:
    """The SI unit of a dimension, '-' for a plain number."""
    return next(iter(UNITS[dimension])) or "-"


def legal_units(dimension: str) -> list[str]:
    """Units that may be written after a number of this dimension."""
    return [unit for unit in UNITS[dimension] if unit and " or " not in unit]


def parse_quantity(text: str, dimension: str) -> float:
    """SI value of `text`.

    Raises ValueError with the legal units when the text is not a number, the unit is unknown or belongs to another
    dimension, or the value is not finite.
    """
    match = _QUANTITY.match(text)
    if not match:
        raise ValueError(f"'{text}' is not a number{_unit_hint(dimension)}")
    value = float(match[1])
    if match[2] is not None:
        if float(match[2]) == 0.0:
            raise ValueError(f"'{text}' divides by zero")
        value /= float(match[2])
    unit = " ".join(match[3].translate(_SPELLINGS).split())
    if unit:
        value *= _factor(text, unit, dimension)
    if not math.isfinite(value):
        raise ValueError(f"'{text}' is not a finite number")
    return value


def _factor(text: str, unit: str, dimension: str) -> float:
    units = UNITS[dimension]
    if unit in legal_units(dimension):
        return units[unit]
    legal = legal_units(dimension)
    if not legal:
        raise ValueError(f"'{text}' has a unit, but a plain number without unit belongs here")
    homes = [name for name, table in UNITS.items() if unit in table and not name.startswith("joint")]
    if homes:
        raise ValueError(f"'{text}' is a {homes[0]}; a {dimension} belongs here, legal units: {legal_list(legal)}")
    raise ValueError(f"unknown unit '{unit}' in '{text}'{did_you_mean(unit, legal)}; legal units: {legal_list(legal)}")


def _unit_hint(dimension: str) -> str:
    legal = legal_units(dimension)
    if not legal:
        return ""
    return f"; write a {dimension} as a plain number in {si_unit(dimension)} or with a unit: {legal_list(legal)}"
