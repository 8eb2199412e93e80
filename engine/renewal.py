"""Worlds of a batch drawn anew: other places, materials and contact numbers, the same topology."""

from __future__ import annotations

from collections.abc import Mapping

from engine.adhesion.gathered import renew_start
from engine.builder.assembly import build_model
from engine.builder.worlds import check_same_topology, lay_out, write_world


def renew_worlds(engine, builders: Mapping[int, object], check_start: bool = True, like=None) -> None:
    """Replace worlds by those that the builders (ModelBuilder, by world) describe, at their start; the others go on.

    From then on each runs as it would in a batch built with it, to the bit on the CPU. Places, velocities, friction and
    barrier stiffness cost little; other materials or masses make a new system, once for all of them. like: a builder
    of the same topology that has passed the start checks, see `ModelBuilder.check`.

    Raises what `ModelBuilder.finalize` raises, and ValueError when a topology differs, the model has been cut, or a
    world is none of the batch; nothing is changed then.
    """
    model = engine.model
    for world in builders:
        if not 0 <= world < model.num_worlds:
            raise ValueError(f"world is {world}; this model has worlds 0..{model.num_worlds - 1}")
    if engine.cuts:
        raise ValueError("a model that has been cut cannot take a new world; reset the engine first")
    base = engine._riding.base
    for world, builder in builders.items():
        check_same_topology(base.template, lay_out(builder), world)
        builder.check(check_start, like)
    derived = False
    for world, builder in builders.items():
        solo = build_model([builder], model.device)
        derived |= write_world(base, world, builder, solo)
        for term, maker in zip(engine.interfaces, solo.interfaces, strict=True):
            renew_start(term, maker(solo), world, base.points_per_world)
    engine._yielding.renew(base)
    engine.renewed += 1
    engine.reset(list(builders))
    if derived:
        engine._rebuild()


def renew_world(engine, world: int, builder, check_start: bool = True) -> None:
    """`renew_worlds` for one world."""
    renew_worlds(engine, {world: builder}, check_start)
