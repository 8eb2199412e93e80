"""A world of a batch drawn anew: other places, materials and contact numbers, the same topology."""

from __future__ import annotations

from engine.adhesion.gathered import renew_start
from engine.builder.assembly import build_model
from engine.builder.worlds import write_world


def renew_world(engine, world: int, builder, check_start: bool = True) -> None:
    """Replace world `world` by the one that `builder` (ModelBuilder) describes, at its start; the others go on.

    From then on it runs as it would in a batch built with it, to the bit on the CPU. Places, velocities, friction and
    barrier stiffness cost little; other materials or masses make a new system. Raises what `ModelBuilder.finalize`
    raises, and ValueError when the topology differs, the model has been cut, or `world` is none of the batch; nothing
    is changed then.
    """
    model = engine.model
    if not 0 <= world < model.num_worlds:
        raise ValueError(f"world is {world}; this model has worlds 0..{model.num_worlds - 1}")
    if engine.cuts:
        raise ValueError("a model that has been cut cannot take a new world; reset the engine first")
    builder.check(check_start)
    solo = build_model([builder], model.device)
    base = engine._riding.base
    derived = write_world(base, world, builder, solo)
    for term, maker in zip(engine.interfaces, solo.interfaces, strict=True):
        renew_start(term, maker(solo), world, base.points_per_world)
    engine._yielding.renew(base)
    engine.reset(world)
    if derived:
        engine._rebuild()
