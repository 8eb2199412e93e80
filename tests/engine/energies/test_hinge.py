"""Hinge bending: derivatives, sign, wrap near +-pi, plate theory on structured meshes."""

from __future__ import annotations

import numpy as np
import pytest

from engine.energies.hinge import Hinge
from engine.mesh.rest import hinge_angles
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


def folded(angle, lengths=(1.0, 0.8, 0.9)):
    """Hinge along x with dihedral angle `angle`: edge0, edge1, wing0 at +y, wing1 turned down from -y; (4, 3)."""
    edge, h0, h1 = lengths
    wing1 = [0.6 * edge, -h1 * np.cos(angle), -h1 * np.sin(angle)]
    return np.array([[0.0, 0.0, 0.0], [edge, 0.0, 0.0], [0.4 * edge, h0, 0.0], wing1])


def hinge(rest_angle, weight, count, device="cpu"):
    return Hinge(stencils_for(count, 4), rest_angle, weight, np.arange(count), device)


def test_sign_ridge_is_positive():
    """Normals of the flat pair point to +z; wings that fold away from them (a ridge seen from +z) give theta > 0."""
    one = np.array([[0, 1, 2, 3]])
    for angle in (0.3, -0.3, 0.0):
        assert hinge_angles(folded(angle), one) == pytest.approx(angle)  # rest angles share the convention
    energy = hinge([0.3, 0.3], [2.0, 2.0], 2)
    value = Probe(energy).value(np.stack([folded(0.3), folded(-0.3)]))
    assert value == pytest.approx([0.0, 0.5 * 2.0 * 0.6**2], abs=1e-14)


def test_gradient_unfolds_a_ridge():
    gradient = Probe(hinge([0.0], [1.0], 1)).gradient(folded(0.5)[None])[0]
    assert gradient[2, 2] < 0.0 and gradient[2, 2] == pytest.approx(-0.5 / 0.8)  # lifting wing 0 lowers the energy
    assert np.abs(gradient.sum(axis=0)).max() < 1e-14
    assert np.abs(np.cross(folded(0.5), gradient).sum(axis=0)).max() < 1e-14


def test_wrap_near_pi(device):
    """Across the fold the difference to rest stays the short way round, and the gradient keeps its sign."""
    cases = [(3.1, -3.1), (-3.1, 3.1), (3.1, 3.0), (-3.14, 3.14), (0.1, -3.1)]
    x = np.stack([folded(theta) for theta, _ in cases])
    probe = Probe(hinge([rest for _, rest in cases], np.ones(len(cases)), len(cases), device))
    turn = 2.0 * np.pi
    expected = np.array([6.2 - turn, turn - 6.2, 0.1, turn - 6.28, 3.2 - turn])
    assert probe.value(x) == pytest.approx(0.5 * expected**2, rel=1e-9)
    # moment is the coefficient of the wing's turn: raising wing 0 lowers theta by 1/height
    assert probe.gradient(x)[:, 2, 2] == pytest.approx(-expected / 0.8, rel=1e-9)
    single = Probe(hinge([0.0], [1.0], 1, device))
    assert single.value(folded(np.pi)[None]) == pytest.approx(0.5 * np.pi**2)


def states(rng, count, scale, low=-3.1, high=3.1):
    angles = rng.uniform(low, high, count)
    x = np.stack([folded(angle, rng.uniform(0.4, 1.2, 3)) for angle in angles])
    x[:, 2:, 0] += rng.uniform(-0.6, 0.6, (count, 2))
    return (x * scale[:, None, None]) @ random_rotations(rng, count).transpose(0, 2, 1), angles


def references(x, rest, weight):
    def gradient(e, y):
        return exact.hinge_gradient(y, rest[e], weight[e])

    return exact.exact_hessians(gradient, x), np.stack([gradient(e, x[e]).real for e in range(len(x))])


def test_derivatives_over_scales(device):
    """Kink skipped: differences to rest within 0.05 of +-pi, where the energy has a crease by construction."""
    rng = np.random.default_rng(1)
    scale = np.repeat(10.0 ** np.arange(-6, 2), 12)
    x, angles = states(rng, len(scale), scale)
    rest = angles + rng.uniform(0.1, 3.0, len(scale)) * rng.choice([-1.0, 1.0], len(scale))
    weight = scale**2
    probe = Probe(hinge(rest, weight, len(scale), device))
    hessian, gradient = references(x, rest, weight)
    analytic = probe.gradient(x)
    assert np.all(np.linalg.norm(analytic, axis=(1, 2)) > 0.0)
    assert relative_error(analytic, gradient).max() < 1e-10
    assert relative_error(difference_gradient(probe, x), analytic).max() < 1e-6
    assert relative_error(difference_hessian(probe, x), hessian).max() < 1e-6


def test_gauss_newton_hessian():
    """Positive semi-definite also when folded to +-pi, exact at rest, off in proportion to the angle from rest."""
    rng = np.random.default_rng(2)
    ones = np.ones(200)
    x, angles = states(rng, 200, ones, -np.pi, np.pi)
    assert lowest_eigenvalue(Probe(hinge(0.0, 1.0, 200)).hessian(x)).min() > -1e-12
    x, angles = states(rng, 200, ones)
    for offset in (0.0, 1e-3, 1e-2, 1e-1):
        rest = angles - offset
        deviation = relative_error(Probe(hinge(rest, 1.0, 200)).hessian(x), references(x, rest, ones)[0]).max()
        print(f"hinge, {offset} rad from rest: deviation from the exact Hessian, worst {deviation:.2e}")
        assert deviation < 6.0 * offset + 1e-9


def test_collapsed_wing_stays_finite():
    x = folded(0.4)
    x[2] = 0.5 * (x[0] + x[1])
    probe = Probe(hinge([0.1], [1.0], 1))
    assert np.isfinite(probe.value(x[None])).all()
    probe.hessian(x[None])  # asserts that every slot is finite
    probe.hessian(np.zeros((1, 4, 3)))


# Plate theory ------------------------------------------------------------------------------------------------------
def grid_mesh(kind, nx, ny, cell):
    """Rest vertices (n, 2) and triangles of a strip: "equilateral", or "zigzag" (the diagonal flips row by row)."""
    height = cell * np.sqrt(0.75) if kind == "equilateral" else cell
    shift = 0.5 * cell if kind == "equilateral" else 0.0
    rows, columns = np.mgrid[: ny + 1, : nx + 1]
    vertices = np.stack([columns * cell + shift * (rows % 2), rows * height], axis=2).reshape(-1, 2)
    triangles = []
    for j in range(ny):
        for i in range(nx):
            a = j * (nx + 1) + i
            b, c, d = a + 1, a + nx + 2, a + nx + 1
            triangles += [[a, b, d], [b, c, d]] if j % 2 == 0 else [[a, b, c], [a, c, d]]
    return vertices, np.array(triangles)


def interior_hinges(triangles):
    wings = {}
    for triangle in triangles:
        for k in range(3):
            edge = tuple(sorted((triangle[k], triangle[(k + 1) % 3])))
            wings.setdefault(edge, []).append(triangle[(k + 2) % 3])
    return np.array([(*edge, *tips) for edge, tips in wings.items() if len(tips) == 2])


def cylinder_ratio(kind, degrees, cells=40, cell=0.01, radius=1.0):
    """Hinge energy of a sheet bent to a cylinder over plate theory, D/(2 R^2) times area, in a window of whole periods
    of the mesh well inside the sheet (an open border lacks hinges)."""
    rest, triangles = grid_mesh(kind, cells, cells, cell)
    direction = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    across = np.array([-direction[1], direction[0]])
    u, w = rest @ direction, rest @ across
    x = np.zeros((len(rest), 3))
    x[:, :2] = np.outer(w, across) + np.outer(radius * np.sin(u / radius), direction)
    x[:, 2] = radius * (1.0 - np.cos(u / radius))

    height = rest[:, 1].max() / cells
    stencils = interior_hinges(triangles)
    place = rest[stencils[:, :2]].mean(axis=1) / [cell, height]
    stencils = stencils[np.all((place >= 4.0 - 1.0 / 8.0) & (place < 36.0 - 1.0 / 8.0), axis=1)]
    window = 32 * cell * 32 * height

    flat = np.pad(rest, ((0, 0), (0, 1)))[stencils]
    edge = flat[:, 1] - flat[:, 0]
    area = sum(0.5 * np.linalg.norm(np.cross(edge, flat[:, k] - flat[:, 0]), axis=1) for k in (2, 3))
    stiffness = 2.0e-4  # D [J]
    weight = stiffness * (edge**2).sum(axis=1) / area
    energy = Hinge(stencils_for(len(stencils), 4), 0.0, weight, np.arange(len(stencils)), "cpu")
    return Probe(energy).value(x[stencils]).sum() / (0.5 * stiffness / radius**2 * window)


@pytest.mark.parametrize("kind, angles", [("equilateral", (0, 22.5, 45, 60, 90, 135)), ("zigzag", (0, 90))])
def test_cylinder_has_the_bending_energy_of_plate_theory(kind, angles):
    for degrees in angles:
        ratio = cylinder_ratio(kind, degrees)
        print(f"hinge, {kind}, cylinder at {degrees} degrees: energy over plate theory {ratio:.4f}")
        assert ratio == pytest.approx(1.0, abs=0.02)


def test_zigzag_is_stiff_along_its_diagonals():
    """Known limit of the law on this mesh, stated in docs/physics/bending.md."""
    assert cylinder_ratio("zigzag", 45) == pytest.approx(1.75, abs=0.1)
