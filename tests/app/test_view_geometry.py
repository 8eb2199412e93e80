"""Draw-only geometry, fields and the tactile picture: numbers, no window."""


import numpy as np
import pytest
import trimesh

from app.fields import largest_strain, nice_limit, rest_inverse, to_vertices
from app.view.shading import Slab, split_sharp_edges


def _grid(n=5, size=0.1):
    i, j = np.mgrid[0:n, 0:n].reshape(2, -1)
    x = np.c_[i * size / (n - 1), j * size / (n - 1), np.zeros(n * n)]
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    return x, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def test_strain_of_a_stretch_is_greens():
    x, f = _grid()
    stretched = x * [1.02, 1.0, 1.0]
    strain = largest_strain(stretched, f, rest_inverse(x, f))
    assert strain == pytest.approx(0.5 * (1.02**2 - 1), rel=1e-9)


def test_strain_does_not_see_rotation_and_sees_shear_and_compression():
    x, f = _grid()
    inverse = rest_inverse(x, f)
    turn = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3])[:3, :3]
    assert np.abs(largest_strain(x @ turn.T, f, inverse)).max() < 1e-12
    assert largest_strain(x * [0.9, 1, 1], f, inverse) == pytest.approx(0.5 * (1 - 0.81))
    shear = x + np.c_[0.1 * x[:, 1], 0 * x[:, 1], 0 * x[:, 1]]
    # E = [[0, g/2], [g/2, g^2/2]]
    assert largest_strain(shear, f, inverse) == pytest.approx(0.0025 + np.hypot(0.0025, 0.05))


def test_a_triangle_without_area_has_no_strain():
    x = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0.0]])
    f = np.array([[0, 1, 2], [0, 1, 3]])
    assert largest_strain(2 * x, f, rest_inverse(x, f)) == pytest.approx([0.0, 1.5])


def test_vertex_values_are_means_of_neighbours():
    _, f = _grid(3)
    assert to_vertices(np.full(len(f), 3.0), f, 9) == pytest.approx(np.full(9, 3.0))
    assert to_vertices(np.array([1.0, 3.0]), np.array([[0, 1, 2], [1, 2, 3]]), 5) == pytest.approx([1, 2, 2, 3, 0])


@pytest.mark.parametrize(
    ("value", "limit"), [(0.9, 1.0), (1.0, 1.0), (1.2, 2.0), (2.1, 5.0), (7, 10), (3e-4, 5e-4), (0, 1.0), (np.nan, 1.0)]
)
def test_scales_end_at_1_2_5(value, limit):
    assert nice_limit(value) == pytest.approx(limit)


def test_a_box_gets_flat_faces_and_a_sphere_stays_smooth():
    box = trimesh.creation.box()
    source, faces = split_sharp_edges(np.asarray(box.vertices), np.asarray(box.faces))
    assert len(source) == 24  # three copies of eight corners
    assert np.array_equal(np.asarray(box.vertices)[source][faces], np.asarray(box.vertices)[np.asarray(box.faces)])
    sphere = trimesh.creation.icosphere(2)
    assert len(split_sharp_edges(np.asarray(sphere.vertices), np.asarray(sphere.faces))[0]) == len(sphere.vertices)


def test_a_slab_is_closed_has_its_thickness_and_faces_outwards():
    x, f = _grid()
    slab = Slab(f, len(x))
    drawn = slab.positions(x, 1e-3)
    solid = trimesh.Trimesh(drawn, slab.triangles, process=False)
    solid.merge_vertices()
    assert solid.is_watertight
    assert solid.volume == pytest.approx(0.1 * 0.1 * 2e-3)
    assert drawn[:, 2].max() == pytest.approx(1e-3) and drawn[:, 2].min() == pytest.approx(-1e-3)
