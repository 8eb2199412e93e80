"""Interface terms of a batch whose worlds differ: each world's materials and start come from a term of its own."""

from __future__ import annotations

import numpy as np

from engine.types import Model


def gathered_term(model: Model, maker, law: int, models: list[Model]):
    """The term of a law over all worlds of `model`.

    maker: makes it with one set of materials for all; law: its index among the makers of each world; models: Model of
    one world, a world. Rows of the material table are world-major. Raises ValueError when a world declares other pairs.
    """
    term = maker(model)
    solos = {id(alone): alone.interfaces[law](alone) for alone in models if len(alone.interfaces) > law}
    fields, materials = term.get_state(), []
    for w, alone in enumerate(models):
        solo = _fitting(solos.get(id(alone)), term, w)
        put_start(fields, solo, w, model.points_per_world)
        materials += solo.sticky.materials
    term.use_materials(materials, per_world=len(materials) // len(models))
    term.start_at(fields)
    return term


def renew_start(term, solo, world: int, points_per_world: int) -> None:
    """Give one world of a gathered term the materials and the start of `solo`, its term alone; reset it next.

    Raises ValueError when the worlds of `term` share their materials, or `solo` declares other pairs.
    """
    solo = _fitting(solo, term, world)
    rows = term.sticky.arrays.rows_per_world
    if rows != len(solo.sticky.materials):
        raise ValueError("the worlds of this batch share their adhesives; build it from one builder a world")
    term.sticky.materials[world * rows : (world + 1) * rows] = solo.sticky.materials
    term.use_materials(term.sticky.materials, rows)
    put_start(term.initial, solo, world, points_per_world)


def put_start(fields: dict[str, np.ndarray], solo, world: int, points_per_world: int) -> None:
    """Write the history of a world alone into the batch's (`AnchoredTerm.get_state`)."""
    size = solo.sticky.per_world
    for name, values in solo.get_state().items():
        values = values[:size].copy()
        if name == "triangle":
            values[values[:, 0] >= 0] += world * points_per_world
        elif name == "row":
            values += world * len(solo.sticky.materials)
        fields[name][world * size : (world + 1) * size] = values


def _fitting(solo, term, world: int):
    same = solo is not None and solo.law == term.law and solo.sticky.per_world == term.sticky.per_world
    if not same or (solo.sticky.table != term.sticky.table).any():
        raise ValueError(f"world {world} of the batch declares other sticky pairs for '{term.law}' than world 0")
    return solo
