"""Rest measures against closed forms, and against the energies' own conventions."""

import numpy as np
import pytest
import warp as wp

from engine.energies.base import StepInputs
from engine.energies.hinge import Hinge
from engine.mesh import rest, shapes, topology

RNG = np.random.default_rng(3)


def _rotation():
    q, r = np.linalg.qr(RNG.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def test_shell_dm_inv_gives_the_identity_strain_at_rest_and_the_stretch_when_stretched():
    vertices = RNG.normal(size=(9, 3))
    triangles = np.arange(9).reshape(3, 3)
    dm_inv = rest.shell_dm_inv(vertices, triangles)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    F = np.stack([b - a, c - a], axis=2) @ dm_inv
    assert np.allclose(F.transpose(0, 2, 1) @ F, np.eye(2), atol=1e-12)
    # Stretch along the first edge by 1.5 and check F along and across it.
    square = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.7, 3.0, 0.0]])
    ds = (square * [1.5, 1.0, 1.0])[[1, 2]].T - 0.0
    F = ds @ rest.shell_dm_inv(square, np.array([[0, 1, 2]]))[0]
    assert np.allclose(F, [[1.5, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert np.isclose(1.0 / np.linalg.det(rest.shell_dm_inv(square, np.array([[0, 1, 2]]))[0]), 2.0 * 3.0)


def test_dm_inv_of_a_flat_triangle_is_refused():
    with pytest.raises(ZeroDivisionError, match="triangle 0 has no area"):
        rest.shell_dm_inv(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), np.array([[0, 1, 2]]))


def test_tet_measures():
    vertices = np.array([[0.0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4]])
    tets = np.array([[0, 1, 2, 3]])
    assert np.isclose(rest.tet_volumes(vertices, tets)[0], 4.0)
    assert np.isclose(rest.tet_volumes(vertices, tets[:, [1, 0, 2, 3]])[0], -4.0)
    assert np.allclose(rest.tet_dm_inv(vertices, tets)[0], np.diag([1 / 2, 1 / 3, 1 / 4]))
    skew = vertices @ np.array([[1.0, 0.3, 0], [0, 1, 0.2], [0, 0, 1]])
    ds = np.stack([skew[k] - skew[0] for k in (1, 2, 3)], axis=1)
    assert np.allclose(ds @ rest.tet_dm_inv(vertices, tets)[0], np.array([[1.0, 0.3, 0], [0, 1, 0.2], [0, 0, 1]]).T)


def test_hinge_angle_sign_size_and_invariance():
    """A box's edges fold by +90 degrees (outward normals, convex); a valley by -90; the flat diagonals by 0."""
    vertices, triangles = shapes.box_surface((1, 2, 3))
    turned = vertices @ _rotation().T + [1.0, 2.0, 3.0]
    angles = np.sort(rest.hinge_angles(turned, topology.hinges(triangles)))
    assert np.allclose(angles[:6], 0.0, atol=1e-12)
    assert np.allclose(angles[6:], np.pi / 2)
    inward = rest.hinge_angles(turned, topology.hinges(triangles[:, ::-1]))
    assert np.isclose(inward.min(), -np.pi / 2) and np.isclose(inward.sum(), -12 * np.pi / 2)
    fold = np.array([[0.0, 0, 0], [0, 1, 0], [-1, 0, 0], [np.cos(0.3), 0, -np.sin(0.3)]])  # e = y, right wing down
    assert np.isclose(rest.hinge_angles(fold, np.array([[0, 1, 2, 3]]))[0], 0.3)


def test_hinge_angle_and_energy_agree():
    """The bending energy is zero exactly where its rest angles were measured, and 1/2 w 0.1^2 a hinge 0.1 rad away."""
    vertices, triangles = shapes.icosphere(0.1, 1)
    vertices = vertices + 0.01 * RNG.normal(size=vertices.shape)
    h = topology.hinges(triangles)
    x = wp.array(vertices, dtype=wp.vec3d)
    inputs, angles = StepInputs(x, x, None), rest.hinge_angles(vertices, h)
    for offset, expected in ((0.0, 0.0), (0.1, len(h) * 0.5 * 2.0 * 0.01)):
        energy = wp.zeros(1, dtype=wp.float64)
        Hinge(h, angles + offset, np.full(len(h), 2.0), np.zeros(len(h)), "cpu").launch_value(inputs, energy)
        assert np.isclose(energy.numpy()[0], expected, atol=1e-20)


def test_hinge_shape_of_an_equilateral_pair():
    side = 0.7
    v = side * np.array([[0.0, 0, 0], [1, 0, 0], [0.5, np.sqrt(0.75), 0], [0.5, -np.sqrt(0.75), 0]])
    area = np.sqrt(3.0) / 4.0 * side**2
    assert np.isclose(rest.hinge_shape(v, np.array([[0, 1, 2, 3]]))[0], side**2 / (2.0 * area))


@pytest.mark.parametrize(
    "pattern,angle", [("zigzag_rows", 0), ("zigzag_rows", 90), *(("equilateral", a) for a in (0, 20, 30, 45, 70, 90))]
)
def test_cylinder_bending_energy_is_plate_theory(pattern, angle):
    """Sum of 1/2 shape theta^2 over hinges, per hinge area, against 1/2 kappa^2 (D = 1): within 2 %.

    Hinges well inside the sheet only: an open border lacks a row of them.
    """
    vertices, triangles = shapes.strip_mesh(0.4, 0.4, 40, pattern)
    radius, a = 1.0, np.radians(angle)
    along = vertices[:, 0] * np.cos(a) + vertices[:, 1] * np.sin(a)
    across = -vertices[:, 0] * np.sin(a) + vertices[:, 1] * np.cos(a)
    bent = np.column_stack([radius * np.sin(along / radius), across, radius * np.cos(along / radius)])
    h = topology.hinges(triangles)
    h = h[np.abs(vertices[h[:, :2]].mean(axis=1)).max(axis=1) < 0.15]
    energy = 0.5 * (rest.hinge_shape(vertices, h) * rest.hinge_angles(bent, h) ** 2).sum()
    x0, x1, x2, x3 = (vertices[h[:, k]] for k in range(4))
    wings = np.linalg.norm(np.cross(x1 - x0, x2 - x0), axis=1) + np.linalg.norm(np.cross(x1 - x0, x3 - x0), axis=1)
    assert np.isclose(energy / (wings.sum() / 6.0), 0.5 / radius**2, rtol=0.02)


def test_areas_add_up_to_the_surface():
    vertices, triangles = shapes.box_surface((1, 2, 3), (2, 2, 2))
    table = topology.edge_table(triangles)
    assert np.isclose(rest.vertex_areas(vertices, triangles).sum(), 22.0)
    assert np.isclose(rest.edge_areas(vertices, triangles, table.triangle_edges, len(table.edges)).sum(), 22.0)
    corner = shapes.box_surface((1, 1, 1))
    assert np.isclose(rest.vertex_areas(*corner).min() * 3 % 0.5, 0.0)
