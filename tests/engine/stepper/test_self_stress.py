"""A body in balance with itself turns as freely as an unloaded one; parts that pull each other keep their stiffness."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine.energies.membrane import Membrane
from engine.energies.orthogonality import Orthogonality
from engine.linear.self_stress import keep_kernel, share_kernel
from tests.engine.energies.exact import membrane_gradient
from tests.engine.energies.harness import Probe, random_rotations
from tests.engine.energies.test_membrane import LAME_LAMBDA, LAME_MU, membrane, states
from tests.engine.energies.test_orthogonality import STIFFNESS, frames, orthogonality
from tests.engine.stepper.test_common_motion import falling_roll


def stress_sums(energy, probe, x, chosen):
    whole, positive = (wp.zeros(energy.num_elements, dtype=wp.float64, device=energy.device) for _ in range(2))
    probe.begin_step(x)
    chosen = wp.array(chosen, dtype=int, device=energy.device)
    energy.launch_stress(probe.inputs, chosen, whole, positive)
    return whole.numpy(), positive.numpy()


def test_stress_of_elements(device):
    """The trace of stress times volume is the virial: sum of x . dE/dx, for every element alone."""
    rng = np.random.default_rng(3)
    x, dm_inv, area, thickness = states(rng, 20)
    energy = membrane(dm_inv, area, thickness, device)
    whole, positive = stress_sums(energy, Probe(energy), x, np.ones(20, int))
    virial = [
        np.sum(x[e] * membrane_gradient(x[e], dm_inv[e], area[e] * thickness[e], LAME_MU, LAME_LAMBDA).real)
        for e in range(20)
    ]
    assert whole == pytest.approx(virial, rel=1e-9)
    assert np.all(positive >= np.maximum(whole, 0.0) - 1e-9 * np.abs(whole)) and whole.min() < 0.0
    stretches = np.array([1.002, 0.997])
    a = random_rotations(rng, 2) * stretches[:, None, None]
    energy = orthogonality(2, device)
    whole, positive = stress_sums(energy, Probe(energy), frames(a, rng), np.array([1, 0]))
    assert whole == pytest.approx([12.0 * STIFFNESS * (1.002**2 - 1.0) * 1.002**2, 0.0], rel=1e-9)
    assert positive == pytest.approx(whole, rel=1e-9)


def test_the_share_is_what_is_not_in_balance():
    whole = wp.array([3.0, -1.0, 2.0, 0.0], dtype=wp.float64, device="cpu")
    positive = wp.array([4.0, 4.0, 2.0, 0.0], dtype=wp.float64, device="cpu")
    wp.launch(share_kernel, 4, [whole, positive], device="cpu")
    assert whole.numpy().tolist() == [0.75, 0.0, 1.0, 1.0]
    kept = wp.zeros(3, dtype=wp.float64, device="cpu")
    within, world = (wp.array(v, dtype=wp.int32, device="cpu") for v in ([1, 0, 1], [0, 0, 1]))
    wp.launch(keep_kernel, 3, [within, world, whole], [kept], device="cpu")
    assert kept.numpy().tolist() == [0.75, 1.0, 0.0]


@pytest.mark.parametrize("kind", [Membrane, Orthogonality])
def test_kept_scales_the_geometric_part_alone(kind):
    """Half way between the whole Hessian and the one without it; energy and gradient do not know of it."""
    rng = np.random.default_rng(5)
    if kind is Membrane:
        x, dm_inv, area, thickness = states(rng, 4)
        energy = membrane(dm_inv, area, thickness)
    else:
        x, energy = frames(random_rotations(rng, 4) * 1.01, rng), orthogonality(4)
    found = {}
    for share in (0.0, 0.5, 1.0):
        energy.kept.fill_(share)
        found[share] = Probe(energy).hessian(x), Probe(energy).gradient(x)
    assert np.abs(found[1.0][0] - found[0.0][0]).max() > 1e-4 * np.abs(found[1.0][0]).max()
    assert found[0.5][0] == pytest.approx(0.5 * (found[0.0][0] + found[1.0][0]), rel=1e-12)
    assert np.array_equal(found[0.0][1], found[1.0][1])


def turning_stiffness(s) -> np.ndarray:
    """Of the matrix less its inertia along turns about three axes, over the inertia (3,)."""
    x, body, first = s.state.x.numpy(), s.model.node_body.numpy(), s.model.body_node.numpy()
    place = body < 0
    middle, out = x[place].mean(axis=0), []
    for axis in np.eye(3):
        turn = np.cross(axis, x - middle)
        for i in np.flatnonzero(~place):
            if i > first[body[i]]:
                turn[i] = np.cross(axis, x[i])
        ap = wp.zeros(len(x), dtype=wp.vec3d, device="cpu")
        s.multiply(wp.array(turn, dtype=wp.vec3d, device="cpu"), ap)
        inertia = _inertia(s, turn)
        out.append(((ap.numpy() * turn).sum() - inertia) / inertia)
    return np.array(out)


def _inertia(s, motion) -> float:
    m, h = s.model, float(s.step_size.numpy()[0])
    body = m.node_body.numpy()
    total = (m.node_mass.numpy()[body < 0, None] * motion[body < 0] ** 2).sum()
    for b, first in enumerate(m.body_node.numpy()):
        total += np.einsum("ik,ij,jk->", motion[first : first + 4], m.body_mass.numpy()[b], motion[first : first + 4])
    return total / h**2


def test_a_roll_under_its_own_stress_turns_freely():
    """Wound tape in tension on a pressed core, falling freely. A turn of the whole is opposed by nothing but inertia;
    each element's positive part alone would oppose it many times over."""
    engine = falling_roll(newton_max_iterations=60, newton_tolerance=1e-5)
    for _ in range(3):
        engine.step()
    s = engine.newton.system
    s.worlds.active.fill_(1)
    s.detect()
    s.linearise()
    free = turning_stiffness(s)
    for energy in s.self_stress.energies:
        energy.kept.fill_(1.0)
    s.self_stress.launch = lambda inputs: None
    s.linearise()
    held = turning_stiffness(s)
    print(f"turning stiffness over inertia: {free.round(3)}, with every positive part {held.round(3)}")
    assert free.max() < 1.5 and held.min() > 10.0
