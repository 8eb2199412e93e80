"""The solver's blocks of every adhesion law know that the anchor turns with its triangle."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.adhesion import test_bonds, test_front_term, test_rcc
from tests.engine.adhesion.test_front_term import positions
from tests.engine.contact.contact_pairs import stencil_hessian

PROBES = {
    "front": lambda: test_front_term.Probe(0.0, 1),
    "bond": test_bonds.Probe,
    "rcc": lambda: test_rcc.Probe(1.0),
}


def hessian(probe, x: np.ndarray) -> np.ndarray:
    """What the solver uses, (12, 12) [N/m]."""
    probe.derivatives(x)
    b = probe.term.blocks
    parts = (b.weights, b.block, b.turns.turn, b.turns.normal)
    return stencil_hessian(*(part.numpy()[:1] for part in parts))[0]


@pytest.mark.parametrize("law", PROBES)
def test_an_unloaded_bond_does_not_resist_a_rigid_turn(law):
    probe, x = PROBES[law](), positions((0, 0, 0))
    used = hessian(probe, x)
    stiffness = np.linalg.norm(used, 2)
    assert stiffness > 0.0
    for axis in np.eye(3):
        turn = np.cross(axis, x - x[0]).ravel()
        assert np.linalg.norm(used @ turn) < 1e-10 * stiffness * np.linalg.norm(turn)
    high = np.cross((1.0, 0.0, 0.0), x - x[0])
    fixed = np.einsum("a,ai->i", probe.term.blocks.weights.numpy()[0], high)  # what a block without the turn resists
    assert np.linalg.norm(fixed) > 0.1 * np.linalg.norm(high, axis=1).max() * 2e-3 / 0.02


@pytest.mark.parametrize("law", PROBES)
def test_block_of_an_unloaded_bond_is_the_second_derivative(law):
    """A hair open, since rcc holds in tension only."""
    probe, x = PROBES[law](), positions((0, 0, 0))
    n = np.cross(x[2] - x[1], x[3] - x[1])
    x[0] += 3e-10 * n / np.linalg.norm(n)
    used = hessian(probe, x)
    exact = np.zeros((12, 12))
    step = 1e-10
    for k in range(12):
        d = np.zeros(12)
        d[k] = step
        ahead, back = (probe.derivatives(x + sign * d.reshape(4, 3))[0] for sign in (1.0, -1.0))
        exact[k] = ((ahead - back) / (2.0 * step)).ravel()
    assert np.linalg.norm(used - exact) < 1e-6 * np.linalg.norm(exact)
