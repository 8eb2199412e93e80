"""The term's value against its gradient, balance of forces and moments, and the block that the solver uses."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine.energies.base import StepInputs
from tests.engine.adhesion.adhesion_scenes import SIZE, stamp
from tests.finite_difference import assert_derivative


class Probe:
    """The first stencil of a stamp's term, its four points freely placed."""

    def __init__(self, reached: float, active: int):
        self.engine = stamp(cells=2)
        self.term = self.engine.interfaces[0]
        state = self.term.get_state()
        keep = np.flatnonzero(state["triangle"][:, 0] >= 0)[:1]
        state["triangle"][np.arange(len(state["triangle"])) != keep[0]] = -1
        state["reached"][keep], state["active"][keep] = reached, active
        state["place"][keep] = (0.2, 0.3, 2e-3)  # high over the triangle, so that the turn of its normal counts
        self.term.set_state(state)
        x = wp.zeros(self.engine.model.num_points, dtype=wp.vec3d)
        self.inputs = StepInputs(x, x, wp.array([0.01], dtype=wp.float64))
        self.term.launch_begin_step(self.inputs)
        assert self.term.blocks.count.numpy()[0] == 1
        self.points = self.term.blocks.points.numpy()[0]
        self.cell = float(self.term.sticky.cells[keep[0]])

    def place(self, x: np.ndarray) -> None:
        values = self.inputs.x.numpy()
        values[self.points] = x
        self.inputs.x.assign(values)

    def value(self, x: np.ndarray) -> float:
        self.place(x)
        energy = wp.zeros(1, dtype=wp.float64)
        self.term.launch_value(self.inputs, energy)
        return float(energy.numpy()[0])

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.place(x)
        self.term.launch_derivatives(self.inputs)
        return self.term.blocks.gradient.numpy()[0].copy(), self.term.blocks.block.numpy()[0].copy()


def positions(opening) -> np.ndarray:
    """A tilted triangle of 20 mm and a point off the anchor by `opening` (3,) in its frame."""
    rng = np.random.default_rng(3)
    triangle = np.array([[0, 0, 0], [0.02, 0.001, 0.003], [0.004, 0.018, -0.002]]) + 0.001 * rng.normal(size=(3, 3))
    e, f = triangle[1] - triangle[0], triangle[2] - triangle[0]
    n = np.cross(e, f) / np.linalg.norm(np.cross(e, f))
    anchor = triangle[0] + 0.2 * e + 0.3 * f + 2e-3 * n
    return np.vstack([anchor + opening, triangle])


@pytest.mark.parametrize("active", [0, 1])
@pytest.mark.parametrize("share", [0.001, 0.4, 0.9, 2.5, 3.5])
def test_gradient_is_that_of_the_value_and_balances(active, share):
    for reached in (0.0, 0.5, 3.0):
        probe = Probe(0.0, active)
        probe = Probe(reached * probe.cell, active)
        x = positions(share * probe.cell * np.array([0.48, -0.6, 0.64]))
        gradient, block = probe.derivatives(x)
        assert np.abs(gradient).max() > 0.0
        assert_derivative(probe.value, x, gradient, scale=1e-3 * probe.cell)
        size = np.abs(gradient).max()
        assert np.abs(gradient.sum(axis=0)).max() < 1e-12 * size
        assert np.abs(np.cross(x, gradient).sum(axis=0)).max() < 1e-12 * size * SIZE
        assert np.linalg.eigvalsh(block).min() >= -1e-9 * np.abs(block).max()


def test_block_is_the_hessian_where_it_is_positive():
    probe = Probe(0.0, 1)
    u = 0.7 * probe.cell * np.array([0.0, 0.6, 0.8])
    x = positions(u)
    _, block = probe.derivatives(x)

    def on_point(y):
        return probe.derivatives(np.vstack([y, x[1:]]))[0][0]

    assert_derivative(on_point, x[0], block, scale=1e-3 * probe.cell)
