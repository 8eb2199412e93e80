"""Neo-Hookean tetrahedra: derivatives, filtered Hessian, known answers, inversion bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import warp as wp

from engine.energies.neo_hookean import NeoHookean
from tests.engine.energies import exact
from tests.engine.energies.harness import (
    Probe,
    difference_gradient,
    difference_hessian,
    lowest_eigenvalue,
    random_rotations,
    relative_error,
    stencils_for,
)

REGULAR = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.9, 0.0], [0.3, 0.3, 0.8]])


def lame(young, poisson):
    return young / (2.0 * (1.0 + poisson)), young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))


LAME_MU, LAME_LAMBDA = lame(2e5, 0.4)


def edges(x):
    return np.stack([x[:, 1] - x[:, 0], x[:, 2] - x[:, 0], x[:, 3] - x[:, 0]], axis=2)


def rest_shapes(rng, count, scale=1.0):
    """Rest tets (E, 4, 3) of decent, random shape."""
    rest = REGULAR + 0.08 * rng.standard_normal((count, 4, 3))
    return rest * np.broadcast_to(scale, count)[:, None, None]


def stretched(rng, rest, stretches):
    """x (E, 4, 3): rest stretched by stretches (E, 3) along random axes, then turned."""
    u, v = random_rotations(rng, len(rest)), random_rotations(rng, len(rest))
    f = np.einsum("eik,ek,ejk->eij", u, stretches, v)
    return rest @ f.transpose(0, 2, 1)


def tets(rest, mu=LAME_MU, lam=LAME_LAMBDA, device="cpu"):
    count = len(rest)
    dm = edges(rest)
    volume = np.linalg.det(dm) / 6.0
    return NeoHookean(stencils_for(count, 4), np.linalg.inv(dm), volume, mu, lam, np.arange(count), device)


def references(x, rest, mu=LAME_MU, lam=LAME_LAMBDA):
    dm = edges(rest)
    dm_inv, volume = np.linalg.inv(dm), np.linalg.det(dm) / 6.0

    def gradient(e, y):
        return exact.neo_hookean_gradient(y, dm_inv[e], volume[e], mu, lam)

    return exact.exact_hessians(gradient, x), np.stack([gradient(e, x[e]).real for e in range(len(x))])


def projected(x, rest, mu, lam):
    """Exact projection of the second derivative by F (9x9), pulled back to the corners: what the filter aims at."""
    dm = edges(rest)
    dm_inv, volume = np.linalg.inv(dm), np.linalg.det(dm) / 6.0
    f = edges(x) @ dm_inv
    inverse, count = np.linalg.inv(f), len(x)
    c = (mu - lam * np.log(np.linalg.det(f)))[:, None, None, None, None]
    second = mu * np.einsum("ij,mn->imjn", np.eye(3), np.eye(3))
    second = second + c * np.einsum("emj,eni->eimjn", inverse, inverse)
    second = second + lam * np.einsum("emi,enj->eimjn", inverse, inverse)
    values, vectors = np.linalg.eigh(second.reshape(count, 9, 9))
    second = np.einsum("eik,ek,ejk->eij", vectors, np.maximum(values, 0.0), vectors).reshape(count, 3, 3, 3, 3)
    corner = np.concatenate([-dm_inv.sum(axis=1, keepdims=True), dm_inv], axis=1)
    return np.einsum("e,eam,eimjn,ebn->eaibj", volume, corner, second, corner).reshape(count, 12, 12)


def test_derivatives_over_scales(device):
    rng = np.random.default_rng(1)
    scale = np.repeat(10.0 ** np.arange(-6, 2), 8)
    rest = rest_shapes(rng, len(scale), scale)
    x = stretched(rng, rest, rng.uniform(0.6, 1.5, (len(scale), 3)))
    probe = Probe(tets(rest, device=device))
    hessian, gradient = references(x, rest)
    analytic = probe.gradient(x)
    assert np.all(np.linalg.norm(analytic, axis=(1, 2)) > 0.0)
    assert relative_error(analytic, gradient).max() < 1e-11
    assert relative_error(difference_gradient(probe, x), analytic).max() < 1e-6
    assert relative_error(difference_hessian(probe, x), hessian).max() < 1e-6


@pytest.mark.parametrize(
    "label, low, high, poisson, exact_bound, projection_bound",
    [
        ("small strain", 0.999, 1.001, 0.4, 2e-3, 3e-5),
        ("a gel press", 0.8, 1.1, 0.4, 0.3, 3e-3),
        ("large strain", 0.5, 1.6, 0.4, 0.6, 0.3),
        ("blown up", 1.2, 3.0, 0.4, 1.5, 1.0),
        ("nearly incompressible", 0.8, 1.3, 0.49, 0.8, 0.4),
        ("crushed", 0.02, 0.5, 0.4, 0.8, 0.1),
        ("near inversion", 1e-5, 1e-2, 0.4, 0.9, 0.2),
        ("needles", 1e-3, 10.0, 0.4, np.inf, np.inf),
    ],
)
def test_filtered_hessian(label, low, high, poisson, exact_bound, projection_bound):
    """Positive semi-definite, never below the exact Hessian, and close to its projection."""
    mu, lam = lame(2e5, poisson)
    rng = np.random.default_rng(2)
    rest = rest_shapes(rng, 300)
    stretches = np.exp(rng.uniform(np.log(low), np.log(high), (300, 3)))
    x = stretched(rng, rest, stretches)
    hessian = Probe(tets(rest, mu, lam)).hessian(x)
    reference = references(x, rest, mu, lam)[0]
    assert lowest_eigenvalue(hessian).min() > -1e-12
    largest = np.linalg.eigvalsh(hessian)[:, -1]
    assert (np.linalg.eigvalsh(hessian - reference)[:, 0] / largest).min() > -1e-9
    for name, deviation, bound in (
        ("exact Hessian", relative_error(hessian, reference), exact_bound),
        ("exact projection", relative_error(hessian, projected(x, rest, mu, lam)), projection_bound),
    ):
        print(
            f"neo-Hookean, {label} (stretch {low}..{high}, nu {poisson}): deviation from the {name} "
            f"median {np.median(deviation):.1e} worst {deviation.max():.1e}"
        )
        assert deviation.max() < bound


def test_rest_state(device):
    """No force at rest; the Hessian there is linear elasticity, exactly, and leaves rigid motions free."""
    rng = np.random.default_rng(3)
    rest = rest_shapes(rng, 20)
    x = stretched(rng, rest, np.ones((20, 3)))
    probe = Probe(tets(rest, device=device))
    assert np.abs(probe.gradient(x)).max() < 1e-9 * LAME_MU
    assert np.abs(probe.value(x)).max() < 1e-14 * LAME_MU
    hessian = probe.hessian(x)
    assert relative_error(hessian, references(x, rest)[0]).max() < 1e-8
    spin = np.cross(np.array([0.3, -0.5, 0.8]), x).reshape(20, 12)
    assert np.abs(np.einsum("eij,ej->ei", hessian, spin)).max() < 1e-8 * LAME_MU


def test_uniaxial_strain_pressure(device):
    """Confined compression by l: stress P = mu (l - 1/l) + lambda log(l)/l, a closed form."""
    for stretch in (0.5, 0.9, 1.4):
        rest = REGULAR[None]
        x = rest * np.array([1.0, 1.0, stretch])
        gradient = Probe(tets(rest, device=device)).gradient(x)[0]
        stress = LAME_MU * (stretch - 1.0 / stretch) + LAME_LAMBDA * np.log(stretch) / stretch
        base = 0.5 * np.cross(REGULAR[1], REGULAR[2])[2]
        assert gradient[3, 2] == pytest.approx(stress * base / 3.0, rel=1e-12)  # corner area over three


def test_inverted_value_is_infinite():
    x = REGULAR * np.array([1.0, 1.0, -0.5])
    assert Probe(tets(REGULAR[None])).value(x[None]) == np.inf


# Inversion bound ---------------------------------------------------------------------------------------------------
def step_bound(energy, x, dx):
    probe = Probe(energy)
    probe.place(x)
    bound = wp.array(np.ones(len(x)), dtype=wp.float64, device=energy.device)
    update = wp.array(dx.reshape(-1, 3), dtype=wp.vec3d, device=energy.device)
    energy.launch_step_bound(probe.inputs, update, bound)
    return bound.numpy()


def volume_polynomial(x, dx):
    """Exact coefficients of det(D + t dD)/det(D), as fractions."""
    d = [[Fraction(float(v)) for v in x[k] - x[0]] for k in (1, 2, 3)]
    r = [[Fraction(float(v)) for v in dx[k] - dx[0]] for k in (1, 2, 3)]

    def det(a, b, c):
        return (
            a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])
        )

    whole = det(*d)
    first = det(r[0], d[1], d[2]) + det(d[0], r[1], d[2]) + det(d[0], d[1], r[2])
    second = det(r[0], r[1], d[2]) + det(r[0], d[1], r[2]) + det(d[0], r[1], r[2])
    return [float(c / whole) for c in (whole, first, second, det(*r))]


def first_time_below(polynomial, keep):
    roots = np.roots(np.array(polynomial[::-1]) - np.array([0, 0, 0, keep]))
    real = roots[np.abs(roots.imag) < 1e-9].real
    real = real[(real > 0.0) & (real < 1.0)]
    return real.min() if len(real) else 1.0


@pytest.mark.parametrize("volume", [1e-15, 1e-12, 1e-7, 1e-3, 1.0])
def test_inversion_bound_is_safe_and_tight(device, volume):
    """At the bound a tet keeps `volume_share` of its volume, whatever its size, and never less on the way."""
    rng = np.random.default_rng(4)
    count = 60
    scale = np.cbrt(6.0 * volume / np.linalg.det(edges(REGULAR[None]))[0])
    rest = rest_shapes(rng, count, scale)
    x = stretched(rng, rest, rng.uniform(0.5, 1.5, (count, 3)))
    dx = rng.standard_normal((count, 4, 3)) * scale * 10.0 ** rng.uniform(-2, 1.5, (count, 1, 1))
    energy = tets(rest, device=device)
    bounds = step_bound(energy, x, dx)
    assert np.all(bounds > 0.0) and np.all(bounds <= 1.0)
    assert 10 < np.count_nonzero(bounds < 1.0) < count
    for e in range(count):
        polynomial = volume_polynomial(x[e], dx[e])
        along = np.polynomial.polynomial.polyval(np.linspace(0.0, bounds[e], 400), polynomial)
        assert along.min() > energy.volume_share - 1e-9
        assert bounds[e] == pytest.approx(first_time_below(polynomial, energy.volume_share), rel=1e-7)


def test_inversion_bound_known_cases():
    """Apex pushed through its base; flipped through and out again within one step (two roots); pure expansion."""
    x = np.stack([REGULAR] * 4)
    dx = np.zeros_like(x)
    dx[0, 3, 2] = -0.8 * 2.0  # volume share 1 - 2 t reaches 0.1 at 0.45
    dx[1, 1:] = -2.0 * REGULAR[1:] * np.array([1.0, 1.0, 0.0])  # (1 - 2 t)^2 touches zero at 0.5, ends at 1
    dx[2, 1:] = REGULAR[1:]
    dx[3] = [5.0, -3.0, 2.0]  # translation
    bounds = step_bound(tets(x), x, dx)
    assert bounds[:2] == pytest.approx([0.45, 0.5 * (1.0 - np.sqrt(0.1))], rel=1e-12)
    assert bounds[2] == 1.0 and bounds[3] == 1.0


def test_inversion_bound_only_lowers_its_own_world():
    x = np.stack([REGULAR] * 2)
    dx = np.zeros_like(x)
    dx[1, 3, 2] = -1.6
    energy = tets(x)
    probe = Probe(energy)
    probe.place(x)
    bound = wp.array(np.array([0.3, 0.4]), dtype=wp.float64)
    energy.launch_step_bound(probe.inputs, wp.array(dx.reshape(-1, 3), dtype=wp.vec3d), bound)
    assert bound.numpy() == pytest.approx([0.3, 0.4])  # 0.45 is no lower than what was there


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match=r"NeoHookean: dm_inv has shape \(1, 2, 2\); it must be \(1, 3, 3\)"):
        NeoHookean([[0, 1, 2, 3]], np.ones((1, 2, 2)), 1.0, 1.0, 1.0, [0], "cpu")
