"""Blocks of contacts and friction are as many as pairs touch: they grow on the way, lose nothing and change no bit."""

from __future__ import annotations

import numpy as np
import pytest

from engine import Engine
from tests.engine.models import sheet_on_ground
from tests.engine.stepper.test_system import crowded_engine, linearised


def shorten(engine: Engine, capacity: int) -> None:
    """Between steps, when nothing is kept in the blocks."""
    engine.newton.system.size_stencils(capacity)
    engine.newton.stages.clear()


def run(capacity: int, steps: int, **options) -> tuple[Engine, list[str]]:
    """Blocks are shortened to `capacity` before every step; 0 leaves them."""
    engine, messages = crowded_engine(**options), []
    for _ in range(steps):
        if capacity:
            shorten(engine, capacity)
        messages += engine.step().messages
    return engine, messages


@pytest.mark.parametrize("options", [{"friction_iterations": 2}, {"linear_solver": "direct"}], ids=str)
def test_short_blocks_grow_in_the_step_and_give_the_same_bits(options):
    whole, untold = run(0, 3, **options)
    grown, messages = run(3, 3, **options)
    assert whole.report.contacts > 50
    assert not any("buffers grew" in text for text in untold)
    assert sum("contact buffers grew to" in text and "contacts" in text for text in messages) == 3
    assert np.array_equal(whole.state.x.numpy(), grown.state.x.numpy())
    assert np.array_equal(whole.state.v.numpy(), grown.state.v.numpy())
    assert whole.report.newton_iterations == grown.report.newton_iterations
    a, b = whole.signals(), grown.signals()
    assert np.abs(a.friction_force).max() > 0.0
    assert np.array_equal(a.contact_force, b.contact_force) and np.array_equal(a.friction_force, b.friction_force)


def test_friction_lagged_before_is_carried_over():
    """All of it, the turn of the pairs too: the same pull and the same matrix from the longer blocks."""
    engine = crowded_engine()
    for _ in range(12):
        engine.step()
    s = linearised(engine, 2e-6)
    old = s.friction
    n = int(old.blocks.count.numpy()[0])
    pull, block = old.blocks.gradient.numpy()[:n].copy(), old.blocks.block.numpy()[:n].copy()
    matrix_free = int(old.blocks.free_count.numpy()[0])
    assert n > 20 and np.abs(old.turn.numpy()[:n]).max() > 0.0 and matrix_free > 0
    s.size_stencils(4 * n)
    s.friction.take_over(old)
    s.friction.launch_derivatives(s.inputs)
    new = s.friction.blocks
    assert new.capacity == 4 * n and new.count.numpy()[0] == n
    assert np.array_equal(new.gradient.numpy()[:n], pull) and np.array_equal(new.block.numpy()[:n], block)
    s.linearise()
    assert new.free_count.numpy()[0] == matrix_free
    assert np.array_equal(new.turns.turn.numpy()[:n], old.blocks.turns.turn.numpy()[:n])


def test_reading_grows_them_too():
    """After a step the contact is detected anew at the final positions: there may be more of it."""
    engine = sheet_on_ground(height=1e-3)
    for _ in range(6):
        engine.step()
    expected = engine.signals().contact_force
    shorten(engine, 2)
    engine._signals, engine._contact_read = None, False
    found = engine.signals().contact_force
    assert np.abs(expected).max() > 0.0 and np.array_equal(expected, found)
    assert engine.newton.system.contacts.count.numpy()[0] == engine.newton.system.active_count.numpy()[0] > 2


def test_growth_leaves_room_and_an_edit_keeps_it():
    """One growth, not one for each contact more, and none after a rebuild."""
    engine = crowded_engine()
    shorten(engine, 3)
    most = max(engine.step().contacts for _ in range(4))
    system = engine.newton.system
    room, place = system.contacts.capacity, system.contacts.points.ptr
    assert most < room
    engine.step()
    assert system.contacts.points.ptr == place
    engine._rebuild()
    assert engine.newton.system.contacts.capacity >= room
