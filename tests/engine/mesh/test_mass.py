"""Mass integrals against closed forms and trimesh."""

import numpy as np
import pytest

from engine.mesh import mass, shapes


def _shear(vertices):
    return vertices @ np.array([[1.0, 0.2, 0.1], [0.0, 0.8, 0.3], [0.0, 0.0, 1.3]]) + [3.0, -2.0, 5.0]


def test_box_moments_are_exact():
    size, centre = np.array([0.2, 0.3, 0.5]), np.array([1.0, -2.0, 3.0])
    vertices, triangles = shapes.box_surface(size, (2, 1, 3))
    moments = mass.polyhedron_moments(vertices + centre, triangles)
    volume = size.prod()
    assert np.isclose(moments[0, 0], volume, rtol=1e-12)
    assert np.allclose(moments[0, 1:], volume * centre, rtol=1e-12)
    expected = volume * (np.diag(size**2) / 12.0 + np.outer(centre, centre))
    assert np.allclose(moments[1:, 1:], expected, rtol=1e-12)
    assert np.array_equal(moments, moments.T)


@pytest.mark.parametrize(
    "shape",
    [
        shapes.icosphere(0.1, 2),
        shapes.torus_surface(0.1, 0.03),
        shapes.ring_surface(0.02, 0.05, 0.02),
        shapes.cylinder_surface(0.03, 0.2, 16, 3),
    ],
)
def test_volume_centre_and_inertia_agree_with_trimesh(shape):
    trimesh = pytest.importorskip("trimesh")
    vertices, triangles = _shear(shape[0]), shape[1]
    other = trimesh.Trimesh(vertices, triangles, process=False)
    other.density = 1.0
    moments = mass.polyhedron_moments(vertices, triangles)
    centred = mass.shift_moments(moments, mass.centre_of_mass(moments))
    assert np.isclose(moments[0, 0], other.volume, rtol=1e-9)
    assert np.allclose(mass.centre_of_mass(moments), other.center_mass, rtol=1e-9)
    assert np.allclose(centred[0, 1:], 0.0, atol=1e-12 * moments[0, 0])
    assert np.allclose(
        mass.inertia_from_moments(centred),
        other.moment_inertia,
        rtol=1e-6,
        atol=1e-6 * np.abs(other.moment_inertia).max(),
    )


def test_far_from_the_origin_rounding_stays_relative_to_the_shape():
    vertices, triangles = shapes.box_surface((0.01, 0.01, 0.01))
    assert np.isclose(mass.polyhedron_moments(vertices + 100.0, triangles)[0, 0], 1e-6, rtol=1e-9)


def test_moments_of_a_lopsided_tetrahedron():
    """int X = V (a + b + c + d) / 4, int X X^T = V/20 (sum x_i x_i^T + s s^T): nothing cancels by symmetry."""
    corners = np.array([[0.1, 0.2, 0.3], [1.1, 0.1, 0.2], [0.3, 1.4, 0.1], [0.2, 0.5, 2.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    volume, total = np.linalg.det(corners[1:] - corners[0]) / 6.0, corners.sum(axis=0)
    moments = mass.polyhedron_moments(corners, faces)
    assert np.isclose(moments[0, 0], volume)
    assert np.allclose(moments[0, 1:], volume * total / 4.0)
    assert np.allclose(moments[1:, 1:], volume / 20.0 * (corners.T @ corners + np.outer(total, total)))


def test_inside_out_is_negative():
    vertices, triangles = shapes.box_surface()
    assert np.allclose(
        mass.polyhedron_moments(vertices, triangles[:, ::-1]), -mass.polyhedron_moments(vertices, triangles)
    )


def test_inertia_round_trip_and_refusals():
    inertia = np.diag([2.0, 3.0, 4.0])
    moments = mass.moments_from_inertia(5.0, inertia)
    assert moments[0, 0] == 5.0 and np.allclose(np.diag(moments)[1:], [2.5, 1.5, 0.5])
    assert np.allclose(mass.inertia_from_moments(moments), inertia)
    with pytest.raises(ValueError, match="2, 3, 6 kg m2 break the triangle inequality"):
        mass.moments_from_inertia(1.0, np.diag([2.0, 3.0, 6.0]))
    with pytest.raises(ValueError, match="triangle inequality"):  # a lamina: its mass matrix is singular
        mass.moments_from_inertia(1.0, np.diag([2.0, 3.0, 5.0]))
    with pytest.raises(ValueError, match=r"symmetric \(3, 3\)"):
        mass.moments_from_inertia(1.0, np.triu(np.ones((3, 3))))


def test_lumped_masses_add_up_and_follow_areas():
    vertices, triangles = shapes.grid_mesh(0.2, 0.1, 4, 2)
    m = mass.lumped_shell_mass(vertices, triangles, 0.5)
    assert np.isclose(m.sum(), 0.5 * 0.02)
    one = mass.lumped_shell_mass(np.eye(3), np.array([[0, 1, 2]]), 2.0)
    assert np.allclose(one, 2.0 * np.sqrt(3.0) / 2.0 / 3.0)
    vertices, tets = shapes.box_tets(2, 2, 2, (0.1, 0.1, 0.1))
    assert np.isclose(mass.lumped_solid_mass(vertices, tets, 800.0).sum(), 0.8)
    single = mass.lumped_solid_mass(np.vstack([np.zeros(3), np.eye(3)]), np.array([[0, 1, 2, 3]]), 24.0)
    assert np.allclose(single, 1.0)
