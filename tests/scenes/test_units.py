"""Numbers with units: factors against hand-computed SI values, and the text of every refusal."""

import math

import pytest

from scenes.units import UNITS, legal_units, parse_quantity


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("0.019", "length", 0.019),
        ("0.178 mm", "length", 0.178e-3),
        ("19mm", "length", 0.019),
        ("2 in", "length", 0.0508),
        ("5 µm", "length", 5e-6),
        ("1.5 GPa", "pressure", 1.5e9),
        ("3 N/mm2", "pressure", 3e6),
        ("30 deg", "angle", math.pi / 6),
        ("-90°", "angle", -math.pi / 2),
        ("1/30 s", "time", 1 / 30),
        ("1/30", "time", 1 / 30),
        ("20 ms", "time", 0.02),
        ("1.3 g/cm3", "density", 1300.0),
        ("10 mm/s", "velocity", 0.01),
        ("180 deg/s", "angular velocity", math.pi),
        ("4 N/mm", "stiffness", 4000.0),
        ("1e9", "pressure", 1e9),
        ("+.5e-3", "length", 0.5e-3),
        ("2 g cm2", "inertia", 2e-7),
        ("20 N s/m", "joint damping", 20.0),
        ("5  N   m", "joint force", 5.0),
    ],
)
def test_values(text, dimension, value):
    assert parse_quantity(text, dimension) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        ("3 GPa", "length", "'3 GPa' is a pressure; a length belongs here, legal units: m, mm, cm, um, in"),
        ("3 mmm", "length", "unknown unit 'mmm' in '3 mmm' (did you mean 'mm'?); legal units: m, mm"),
        ("wide", "length", "'wide' is not a number; write a length as a plain number in m or with a unit: m, mm"),
        ("3 m", "number", "has a unit, but a plain number without unit belongs here"),
        ("1/0 s", "time", "divides by zero"),
        ("1e400", "length", "not a finite number"),
        ("", "length", "'' is not a number"),
        ("1 2", "length", "unknown unit '2'"),
        (".inf", "length", "not a number"),
    ],
)
def test_refusals(text, dimension, message):
    with pytest.raises(ValueError) as error:
        parse_quantity(text, dimension)
    assert message in str(error.value)


def test_the_si_unit_of_every_dimension_has_factor_one():
    for dimension, table in UNITS.items():
        assert next(iter(table.values())) == 1.0, dimension
        for unit in legal_units(dimension):
            assert parse_quantity(f"2 {unit}", dimension) == pytest.approx(2.0 * table[unit])
