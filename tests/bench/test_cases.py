"""The cases' own arithmetic, and short runs of those that prove physics."""

from __future__ import annotations

import numpy as np
import pytest

from bench import registry
from bench.cloth_problem import Cloth, TacktileCloth
from bench.pad_problem import Indentation, Indenter, graded, hertz_force, layer_force, pad_mesh

NAMES = (
    "cloth", "kill", "memory", "meshes", "pad", "startup", "stiff_strip", "stress", "strip_on_box", "tactile",
    "tactile_peg", "tactile_press", "tactile_worlds",
    "tape_peel", "tape_turns",
)  # fmt: skip


def test_the_agreed_cases_are_there():
    assert set(NAMES) <= set(registry.list_cases())


def test_layer_theory_has_its_published_coefficients():
    """Incompressible, bonded: 1 + 1.133 chi + 1.283 chi^2 + 0.769 chi^3 and 0.0975 chi^4 (Dimitriadis et al. 2002)."""
    chi = np.array([0.05, 0.1, 0.2, 0.3, 0.4])
    p = Indentation(poisson=0.5, radius=1e-2, layer=4e-3)
    depth = (chi * p.layer) ** 2 / p.radius
    ratio = np.array([layer_force(p, d) / hertz_force(p, d) for d in depth])
    fitted = np.linalg.solve(chi[:, None] ** np.arange(5), ratio)
    assert fitted[:4] == pytest.approx([1.0, 1.133, 1.283, 0.769], abs=1.5e-3)
    assert abs(fitted[4]) == pytest.approx(0.0975, abs=2e-3)


def test_hertz_force_is_sixteen_ninths_for_an_incompressible_half_space():
    p = Indentation(poisson=0.5, radius=4.0, young=1.0)
    assert hertz_force(p, 1.0) == pytest.approx(16.0 / 9.0 * 2.0)


def test_the_pad_mesh_is_fine_at_the_contact_and_fills_the_layer():
    p = Indentation(depth=0.1e-3)
    x = graded(0.2, 1.0, 5.0)
    assert x[0] == 0.0 and x[-1] == pytest.approx(5.0) and np.diff(x)[:5] == pytest.approx(0.2)
    vertices, tets = pad_mesh(p)
    corners = vertices[tets]
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0
    assert (volume > 0.0).all()
    assert volume.sum() == pytest.approx(np.prod(np.ptp(vertices, axis=0)))
    assert vertices[:, 2].min() == pytest.approx(-p.layer) and vertices[:, 2].max() == pytest.approx(0.0)
    lines = np.unique(vertices[:, 0].round(12))
    assert np.diff(lines).min() == pytest.approx(p.contact_radius / p.cells_per_radius, rel=1e-6)


def test_sphere_on_the_bonded_pad_follows_layer_theory():
    """15 % at cells of a third of the contact radius; the bench refines it."""
    p = Indentation(depth=0.1e-3, cells_per_radius=3)
    indenter = Indenter(p)
    half, full = (indenter.press(share * p.depth) for share in (0.5, 1.0))
    assert indenter.converged and 0.0 < half < full
    assert full == pytest.approx(layer_force(p, p.depth), rel=0.15)


def test_both_cloths_are_the_same():
    cloth = Cloth(5)
    ours = TacktileCloth(cloth, self_contact=True, newton_tolerance=1e-4)
    mass = ours.engine.model.node_mass.numpy()
    assert mass.sum() == pytest.approx(cloth.mass)
    start = ours.engine.mesh_positions("cloth")
    assert np.ptp(start, axis=0) == pytest.approx([cloth.size, cloth.size, 0.0])
    pytest.importorskip("mujoco", minversion="4.0")
    from bench.peers.mujoco_cloth import MujocoCloth

    peer = MujocoCloth(cloth, self_contact=True)
    assert peer.model.body_mass.sum() == pytest.approx(cloth.mass)
    for _ in range(3):  # free fall
        ours.step()
        peer.step()
    expected = -9.81 * 3 * cloth.dt
    assert ours.velocities[:, 2] == pytest.approx(expected, rel=1e-3)
    assert peer.velocities.reshape(-1, 3)[:, 2] == pytest.approx(expected, rel=1e-3)
