"""Barrier and friction of single pairs as the solver's kernels write them: gradient, Hessian used, its deviation.

Scales: edges of 10 um to 10 m. Kinks skipped: gap = dhat, borders between closest features, the mollifier's threshold,
slip = epsv h. Figures of the deviation are printed (pytest -s); docs/physics/barrier.md says what is left out.
"""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine.contact.friction import Friction
from engine.energies.base import StepInputs
from tests.engine.contact.contact_pairs import (
    MOLLIFIED,
    PLAIN,
    SLANTS,
    Launcher,
    best_error,
    differences,
    make_pairs,
    stencil_hessian,
)
from tests.engine.distance.pairs import parallel_edges
from tests.engine.energies.harness import lowest_eigenvalue, relative_error

SCALES = 10.0 ** np.arange(-5, 2)
SHARES = (1e-3, 1e-2, 0.1, 0.5, 0.9)
# Largest deviation of the Gauss-Newton Hessian of plain pairs by gap over dhat, as in SHARES: without separation
# (a point or an edge end as closest feature: sqrt(2/3) and sqrt(1/2) as the gap vanishes), and with one of 0.6 dhat.
TOUCHING = {"flat": (0.01, 0.01, 0.04, 0.07, 0.03), "pointed": (0.83, 0.84, 0.84, 0.49, 0.09)}
APART = {"flat": (0.01, 0.01, 0.04, 0.07, 0.03), "pointed": (0.01, 0.03, 0.21, 0.25, 0.05)}


@pytest.fixture(scope="module")
def pairs():
    return make_pairs(SCALES, SHARES)


def test_gradient_is_that_of_the_value(pairs):
    launcher = Launcher(pairs)
    gradient = launcher.gradient(pairs.x)
    assert np.isfinite(gradient).all() and (np.abs(gradient).max(axis=(1, 2)) > 0.0).all()
    assert (launcher.value(pairs.x) > 0.0).all()
    error = best_error(launcher.value, pairs.x, gradient, pairs.varies)
    print(f"barrier gradient against differences of the value, {len(pairs)} pairs: worst {error.max():.1e}")
    assert error.max() < 1e-6


def test_pairs_repel_with_balanced_forces(pairs):
    """Against sign mistakes common to value and gradient: both shrink as the first side moves away."""
    launcher = Launcher(pairs)
    gradient = launcher.gradient(pairs.x)
    size = np.abs(gradient).max(axis=(1, 2))
    assert (np.abs(gradient.sum(axis=1)).max(axis=1) < 1e-12 * size).all()
    assert (launcher.force.numpy() > 0.0).all()
    weights = launcher.weights.numpy()
    away = np.einsum("na,nai->ni", weights, pairs.x - pairs.x[:, :1])
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    first = np.where(np.arange(4) < 1 + pairs.kind[:, None], 1.0, 0.0)
    apart = pairs.x + 0.01 * (pairs.dhat * pairs.share)[:, None, None] * first[:, :, None] * away[:, None, :]
    assert (launcher.value(apart) < launcher.value(pairs.x)).all()


def test_hessian_used_is_semi_definite_and_this_far_from_the_exact_one(pairs):
    launcher = Launcher(pairs)
    used = launcher.hessian(pairs.x)
    exact = differences(launcher.gradient, pairs.x, 1e-2 * pairs.varies).reshape(used.shape)
    assert relative_error(exact.transpose(0, 2, 1), exact).max() < 1e-5
    assert lowest_eigenvalue(used).min() > -1e-12
    assert (np.linalg.norm(used, axis=(1, 2)) > 0.0).all()
    deviation = relative_error(used, exact)
    plain, apart = pairs.slant == 0.0, pairs.min_separation > 0.0
    print("barrier Hessian used against the exact one, relative Frobenius, worst over scales, by gap over dhat", SHARES)
    for case in PLAIN:
        for separated, bounds in ((False, TOUCHING), (True, APART)):
            here = plain & (pairs.case == case) & (apart == separated)
            found = [deviation[here & (pairs.share == share)].max() for share in SHARES]
            print(f"  {case}{', separated' * separated}:", " ".join(f"{d:.3f}" for d in found))
            bound = bounds["flat" if case in ("face", "crossing") else "pointed"]
            assert (np.array(found) < bound).all(), (case, separated, found)
    for case in MOLLIFIED:
        for slant in SLANTS:
            here = (pairs.slant == slant) & (pairs.case == case)
            found = [deviation[here & (pairs.share == share)].max() for share in SHARES]
            print(f"  {case}, mollified at {slant} rad:", " ".join(f"{d:.3f}" for d in found))
    # the part across near-parallel edges outweighs all else; the used one stays the share along the normal
    assert deviation[~plain].max() < 1.01


def test_hessian_used_is_exact_along_the_normal(pairs):
    """Along a rigid motion of the first side by the normal the distance is linear and the mollifier constant: nothing
    is left out, mollified or not, and a wrong factor of the block cannot hide."""
    launcher = Launcher(pairs)
    used = launcher.hessian(pairs.x)
    weights = launcher.weights.numpy()
    normal = np.einsum("na,nai->ni", weights, pairs.x - pairs.x[:, :1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    first = np.where(np.arange(4) < 1 + pairs.kind[:, None], 1.0, 0.0)
    direction = (first[:, :, None] * normal[:, None, :]).reshape(-1, 12)
    step = 1e-2 * pairs.dhat * np.minimum(pairs.share, 1.0 - pairs.share)
    slope = 0.0
    for offset, weight in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)):
        moved = pairs.x + (offset * step)[:, None, None] * direction.reshape(-1, 4, 3)
        slope = slope + weight * np.einsum("nk,nk->n", launcher.gradient(moved).reshape(-1, 12), direction)
    found = np.einsum("nk,nkl,nl->n", direction, used, direction)
    assert found == pytest.approx(slope / step, rel=1e-6)


def test_parallel_edges_feel_nothing_and_stay_finite():
    """Trap 6: where the closest points are not unique the mollifier takes value, gradient and Hessian to zero."""
    pairs = make_pairs((1.0,), (0.5,), (0.0,))
    edges = pairs.kind == 1
    rng = np.random.default_rng(3)
    pairs.x[edges] = parallel_edges(rng, edges.sum(), 0.0, offset=0.04, shift=rng.uniform(-0.2, 0.5, (edges.sum(), 1)))
    launcher = Launcher(pairs)
    size = pairs.stiffness[edges]
    assert (launcher.value(pairs.x)[edges] <= 1e-20 * size).all()
    assert (np.abs(launcher.gradient(pairs.x)[edges]).max(axis=(1, 2)) < 1e-9 * size).all()
    assert (np.abs(launcher.hessian(pairs.x)[edges]).max(axis=(1, 2)) < 1e-9 * size).all()


class SlidingPairs:
    """Friction of all pairs, lagged at pairs.x, with a tangential slip of `share` of epsv h since the step's start."""

    EPSV, STEP = 1e-3, 0.01

    def __init__(self, pairs, launcher: Launcher, share: float, seed: int = 1):
        self.pairs, count = pairs, len(pairs)
        self.friction = f = Friction(count, self.EPSV, "cpu")
        launcher.gradient(pairs.x)
        self.normal_force = launcher.force.numpy().copy()
        f.launch_lag(launcher.candidates, launcher.x, launcher.all, launcher.candidates.count)
        self.weights, self.normal, self.turn = f.blocks.weights.numpy(), f.normal.numpy(), f.turn.numpy()
        self.x = wp.array(pairs.x.reshape(-1, 3), dtype=wp.vec3d, device="cpu")
        h = wp.array([self.STEP], dtype=wp.float64, device="cpu")
        rng = np.random.default_rng(seed)
        self.tangent = np.cross(self.normal, rng.normal(size=(count, 3)))
        self.tangent /= np.linalg.norm(self.tangent, axis=1, keepdims=True)
        self.eps = self.EPSV * self.STEP
        slip = share * self.eps * self.tangent + 3.0 * self.eps * self.normal  # a normal part must not count
        self.first = np.where(np.arange(4) < 1 + pairs.kind[:, None], 1.0, 0.0)
        motion = self.first[:, :, None] * slip[:, None, :]
        rigid = np.repeat(rng.normal(size=(count, 1, 3)) * self.eps, 4, axis=1)
        # positions are of the size of the slip, so that differences lose no digits; friction sees displacements alone
        self.at = motion + rigid
        self.inputs = StepInputs(self.x, wp.zeros(4 * count, dtype=wp.vec3d, device="cpu"), h)
        self.energy = wp.zeros(count, dtype=wp.float64, device="cpu")

    def value(self, x):
        self.x.assign(np.ascontiguousarray(x.reshape(-1, 3)))
        self.energy.zero_()
        self.friction.launch_value(self.inputs, self.energy)
        return self.energy.numpy().copy()

    def gradient(self, x):
        self.x.assign(np.ascontiguousarray(x.reshape(-1, 3)))
        self.friction.launch_derivatives(self.inputs)
        return self.friction.blocks.gradient.numpy().copy()

    def hessian(self, x):
        self.gradient(x)
        return stencil_hessian(self.weights, self.friction.blocks.block.numpy(), self.turn, self.normal)

    def between(self, hessian):
        """By a rigid displacement of the first side against the second, (n, 3, 3)."""
        return np.einsum("na,naibj,nb->nij", self.first, hessian.reshape(-1, 4, 3, 4, 3), self.first)


@pytest.mark.parametrize("share", [1e-2, 0.1, 0.5, 0.9, 1.5, 30.0])
def test_friction_gradient_is_exact_and_its_secant_block_lies_above(pairs, share):
    """By slip over epsv h, from sticking to sliding. What deviates is the part along the slip: zero when sliding, where
    the secant keeps the weight it has across."""
    sliding = SlidingPairs(pairs, Launcher(pairs), share)
    assert sliding.friction.blocks.count.numpy()[0] == len(pairs)  # mollified edges keep theirs
    at = sliding.at
    gradient = sliding.gradient(at)
    scale = np.full(len(pairs), sliding.eps * min(share, abs(1.0 - share)))
    assert best_error(sliding.value, at, gradient, scale).max() < 1e-6
    used = sliding.hessian(at)
    exact = differences(sliding.gradient, at, 1e-2 * scale).reshape(used.shape)
    size = np.linalg.norm(used, axis=(1, 2))
    assert (size > 0.0).all()
    assert lowest_eigenvalue(used).min() > -1e-12
    assert (np.linalg.eigvalsh(used - exact)[:, 0] > -1e-6 * size).all()  # above the exact one
    deviation = relative_error(sliding.between(used), sliding.between(exact))
    # eigenvalues across and along the slip, times eps: exact (2 - y, 2 - 2 y) and (1 / y, 0); used the first twice
    across, along = (2.0 - share, 2.0 - 2.0 * share) if share < 1.0 else (1.0 / share, 0.0)
    print(f"friction, slip {share} of epsv h: deviation from the exact Hessian {deviation.max():.4f}")
    assert deviation == pytest.approx(np.full(len(pairs), (across - along) / np.hypot(across, along)), rel=1e-5)


@pytest.mark.parametrize("share", [0.3, 1.2, 10.0])
def test_friction_secant_bounds_the_energy_everywhere(pairs, share):
    """A majoriser: E(x + d) <= E(x) + g.d + d.B d / 2 for steps of any size, through and past the stop."""
    sliding = SlidingPairs(pairs, Launcher(pairs), share)
    at = sliding.at
    start, gradient, used = sliding.value(at), sliding.gradient(at).reshape(-1, 12), sliding.hessian(at)
    rng = np.random.default_rng(5)
    for reach in (0.1, 1.0, 3.0, 30.0):
        d = rng.normal(size=at.shape) * reach * sliding.eps
        flat = d.reshape(-1, 12)
        bound = start + (gradient * flat).sum(axis=1) + 0.5 * np.einsum("nk,nkl,nl->n", flat, used, flat)
        assert (sliding.value(at + d) <= bound * (1.0 + 1e-12)).all()
    back = -2.0 * at  # a full reversal of the slip
    flat = back.reshape(-1, 12)
    bound = start + (gradient * flat).sum(axis=1) + 0.5 * np.einsum("nk,nkl,nl->n", flat, used, flat)
    assert sliding.value(at + back) == pytest.approx(bound, rel=1e-9)  # touches the energy there: the tightest one


def test_friction_opposes_the_slip_with_mu_times_the_normal_force(pairs):
    """Coulomb by pair, in newtons: the first side is pulled back along the slip; nothing acts along the normal."""
    sliding = SlidingPairs(pairs, Launcher(pairs), 5.0)
    gradient = sliding.gradient(sliding.at)
    first = np.arange(4) < 1 + pairs.kind[:, None]
    pull = np.einsum("na,nai->ni", first, gradient)  # minus the force on the first side
    expected = (pairs.friction_mu * sliding.normal_force)[:, None] * sliding.tangent
    size = np.linalg.norm(expected, axis=1)
    assert (np.abs(pull - expected).max(axis=1) < 1e-9 * size).all()
    assert (np.abs(gradient.sum(axis=1)).max(axis=1) < 1e-12 * size).all()
