"""An edit builds a new solver and gives the old one's buffers back at once."""

import gc
import weakref

from engine import Engine, Grasp, ModelBuilder, Release
from engine.mesh import shapes


def test_the_old_solver_is_freed_by_an_edit():
    builder = ModelBuilder()
    builder.add_shell("sheet", *shapes.grid_mesh(0.1, 0.1, 4, 4))
    builder.add_body("hand", *shapes.box_surface((0.02, 0.02, 0.02)), density=1000.0, driven=True,
                     transform=[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.05], [0, 0, 0, 1]])  # fmt: skip
    engine = Engine(builder.finalize())
    engine.step()
    gc.disable()
    try:
        kept = [weakref.ref(engine.newton), weakref.ref(engine.newton.system), weakref.ref(engine.newton.stages)]
        engine.apply([Grasp("sheet", [0, 1], "hand")])
        assert [reference() for reference in kept] == [None, None, None]
        engine.step()
        engine.apply([Release("sheet", [0, 1])])
        assert engine.step().converged
    finally:
        gc.enable()
