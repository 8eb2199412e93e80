"""Cohesion rcc: the law's derivatives, work of separation, bonding, rate, and the paper's scaling."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine.adhesion import rcc_law as law
from engine.energies.base import StepInputs
from engine.materials import RccAdhesive
from tests.engine.adhesion.adhesion_scenes import GAP, SIZE, WORK, move, separation_work, stamp
from tests.engine.adhesion.test_front_term import positions
from tests.engine.warp_eval import evaluate
from tests.finite_difference import assert_derivative

wp.set_module_options({"enable_backward": False})

PHYSICAL = RccAdhesive(work=WORK)


@wp.kernel
def weakened(beta: wp.array(dtype=wp.float64), strain: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = law.rcc_weakened(beta[i], strain[i], wp.float64(263.0), wp.float64(5.0), wp.float64(0.01))


def test_beta_never_grows_in_tension_and_solves_its_implicit_law():
    beta, strain = (v.ravel() for v in np.meshgrid([0.1, 0.5, 1.0], [0.0, 100.0, 400.0, 1e4]))
    new = evaluate(weakened, wp.float64, beta, strain)
    assert (new <= beta).all() and (new > 0.0).all()
    fell = new < beta
    assert fell.sum() == 4
    # b (beta_new - beta)/dt = W - strain beta_new
    assert np.allclose(5.0 * (new - beta)[fell] / 0.01, (263.0 - strain * new)[fell], rtol=1e-12)


class Probe:
    """The first stencil of a stamp's term, its four points freely placed; C_n and C_t differ."""

    def __init__(self, side: float):
        engine = stamp(RccAdhesive(stiffness_normal=3e9, stiffness_tangential=1e9), cells=2)
        self.term = engine.interfaces[0]
        state = self.term.get_state()
        keep = np.flatnonzero(state["triangle"][:, 0] >= 0)[0]
        state["triangle"][np.arange(len(state["triangle"])) != keep] = -1
        state["place"][keep], state["beta"][keep] = (0.2, 0.3, side * 2e-3), 0.6
        self.term.set_state(state)
        x = wp.zeros(engine.model.num_points, dtype=wp.vec3d)
        self.inputs = StepInputs(x, x, wp.array([0.01], dtype=wp.float64))
        self.term.launch_begin_step(self.inputs)
        self.points = self.term.blocks.points.numpy()[0]

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


@pytest.mark.parametrize("opening", [(2e-4, -1e-4, 1e-4), (1e-4, 2e-4, -3e-4)])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_gradient_is_that_of_the_value_and_balances(opening, side):
    probe = Probe(side)
    x = positions(opening)
    if side < 0.0:  # the anchor lies under the triangle
        e, f = x[2] - x[1], x[3] - x[1]
        x[0] -= 4e-3 * np.cross(e, f) / np.linalg.norm(np.cross(e, f))
    gradient, block = probe.derivatives(x)
    assert np.abs(gradient).max() > 0.0
    assert_derivative(probe.value, x, gradient, scale=1e-5)
    size = np.abs(gradient).max()
    assert np.abs(gradient.sum(axis=0)).max() < 1e-12 * size
    assert np.abs(np.cross(x, gradient).sum(axis=0)).max() < 1e-11 * size * SIZE
    assert np.linalg.eigvalsh(block).min() >= -1e-9 * np.abs(block).max()

    def on_point(y):
        return probe.derivatives(np.vstack([y, x[1:]]))[0][0]

    assert_derivative(on_point, x[0], block, scale=1e-5)


@pytest.mark.parametrize("cells", [3, 12])
def test_flat_patch_takes_its_work_of_separation(cells):
    engine = stamp(PHYSICAL, cells=cells)
    assert separation_work(engine, (0, 0, 1), 4.5e-3, 1500) == pytest.approx(WORK * SIZE**2, rel=0.01)
    assert engine.interfaces[0].spent_work()[0] == pytest.approx(WORK * SIZE**2, rel=0.01)
    assert len(engine.interfaces[0].stuck_points()) == 0


def test_work_grows_with_speed():
    works = []
    for steps in (1600, 400, 100):
        engine = stamp(RccAdhesive(work=WORK, viscosity=20.0), cells=1, dt=0.002)
        separation_work(engine, (0, 0, 1), 8e-3, steps)
        works.append(engine.interfaces[0].spent_work()[0] / (WORK * SIZE**2))
    assert 1.0 < works[0] < works[1] < works[2]


def test_in_contact_it_bonds_again_at_its_rate():
    engine = stamp(RccAdhesive(work=WORK, bonding_rate=5.0), cells=2)
    separation_work(engine, (0, 0, 1), 6e-3, 100)
    move(engine, (0, 0, -6e-3 / 0.01 * 0.5), 2)
    beta = []
    for _ in range(3):
        move(engine, (0, 0, 0), 1)
        beta.append(engine.interfaces[0].history.beta.numpy()[:9].mean())
    assert beta[0] == pytest.approx(0.05 / 1.05)
    assert beta[1] == pytest.approx((beta[0] + 0.05) / 1.05)
    assert beta[0] < beta[1] < beta[2] < 1.0


def test_bonding_is_limited_by_the_pressure():
    engine = stamp(RccAdhesive(work=WORK, bonding_rate=1e6, bonding_pressure=1e6), cells=2)
    separation_work(engine, (0, 0, 1), 6e-3, 100)
    move(engine, (0, 0, -6e-3 / 0.01 * 0.5), 2)
    move(engine, (0, 0, -1e-3), 1)
    beta = engine.interfaces[0].history.beta.numpy()[:9]
    u = (GAP - 1e-5) / 0.18e-3
    pressure = -1e5 * (1 - u) * (2 * np.log(u) - (1 - u) / u)
    assert beta == pytest.approx(pressure / 1e6, rel=1e-3)


def test_growing_intensity_gives_no_energy():
    """Slid open in contact, then held: beta grows, the anchor follows, the stored energy does not grow."""
    engine = stamp(RccAdhesive(work=WORK, bonding_rate=5.0), cells=2)
    term, system = engine.interfaces[0], engine.newton.system

    def stored() -> float:
        inputs = StepInputs(system.points, system.points, wp.array([0.01], dtype=wp.float64))
        energy = wp.zeros(1, dtype=wp.float64)
        term.launch_begin_step(inputs)
        term.launch_value(inputs, energy)
        return float(energy.numpy()[0])

    move(engine, (0.05, 0, 0), 1)  # 0.5 mm, too fast to bond meanwhile
    before, beta = stored(), term.history.beta.numpy()[:9].copy()
    assert (beta < 0.9).all() and before > 0.0
    move(engine, (0, 0, 0), 1)
    assert (term.history.beta.numpy()[:9] > beta * 1.01).all()
    assert stored() == pytest.approx(before, rel=1e-6)


def test_paper_scaling_is_a_spring_a_pair_cut_off_at_dhat():
    engine = stamp(RccAdhesive.paper(0.675), cells=2)
    force = []
    for _ in range(20):
        move(engine, (0, 0, 1e-3), 1)  # 10 um a step
        force.append(engine.signals().drive_force[0, 0, 2])
    k = 0.675 / (2 * 0.18e-3)
    assert force[10] - force[9] == pytest.approx(9 * k * 1e-5, rel=0.02)
    assert max(force) == pytest.approx(9 * 0.5 * 0.675, rel=0.06)
    assert force[-1] == pytest.approx(0.0, abs=1e-9) and len(engine.interfaces[0].stuck_points()) == 0


def test_resume_is_bit_for_bit():
    engine, other = (stamp(RccAdhesive(viscosity=5.0), cells=2, worlds=2) for _ in range(2))
    move(engine, (0.02, 0.0, 0.04), 6)
    other.set_state(engine.get_state())
    first, second = move(engine, (0.02, 0, 0.04), 5), move(other, (0.02, 0, 0.04), 5)
    assert np.array_equal(first, second) and np.array_equal(first[:, 0], first[:, 1])
    for name, values in engine.get_state().items():
        assert np.array_equal(other.get_state()[name], values), name


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="RccAdhesive.scaling is 'metric'; legal values: physical, paper"):
        RccAdhesive(scaling="metric")
    with pytest.raises(ValueError, match="RccAdhesive.stiffness_normal is 0"):
        RccAdhesive(stiffness_normal=0)
