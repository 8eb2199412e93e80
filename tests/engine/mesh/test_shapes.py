"""Procedural meshes: sizes, winding, order of points, diagonals."""

import numpy as np
import pytest

from engine.mesh import rest, shapes, topology


@pytest.mark.parametrize("pattern", shapes.PATTERNS)
def test_strip_covers_its_rectangle_with_normals_up(pattern):
    vertices, triangles = shapes.strip_mesh(0.3, 0.019, 6, pattern)
    normals = rest.triangle_normals(vertices, triangles)
    assert (normals[:, 2] > 0.0).all() and np.allclose(normals[:, :2], 0.0)
    assert np.isclose(rest.triangle_areas(vertices, triangles).sum(), 0.3 * 0.019)
    assert np.allclose(vertices.min(axis=0), [-0.15, -0.0095, 0.0]) and np.allclose(
        vertices.max(axis=0), [0.15, 0.0095, 0.0]
    )
    assert (np.diff(vertices[:, 0]) >= -1e-12).all()  # row by row


def _diagonals(pattern):
    """Slope sign of each cell's diagonal, (rows, cells across)."""
    vertices, triangles = shapes.grid_mesh(4.0, 3.0, 4, 3, pattern)
    edges = topology.edge_table(triangles).edges
    d = vertices[edges[:, 1]] - vertices[edges[:, 0]]
    slanted = (np.abs(d[:, 0]) > 0.5) & (np.abs(d[:, 1]) > 0.5)
    out = np.zeros((4, 3))
    cell = np.floor(vertices[edges[slanted]].mean(axis=1)[:, :2] + [2.0, 1.5]).astype(int)
    out[cell[:, 0], cell[:, 1]] = np.sign(d[slanted, 0] * d[slanted, 1])
    return out


def test_patterns_of_diagonals():
    rows, across = np.meshgrid(np.arange(4), np.arange(3), indexing="ij")
    assert np.array_equal(_diagonals("one"), np.ones((4, 3)))
    assert np.array_equal(_diagonals("zigzag_rows"), 1 - 2 * (across % 2))  # a row runs along x
    assert np.array_equal(_diagonals("union_jack"), 1 - 2 * ((rows + across) % 2))


def test_equilateral_cells_are_nearly_equilateral():
    vertices, triangles = shapes.strip_mesh(0.3, 0.03, 6, "equilateral")
    sides = np.linalg.norm(vertices[triangles] - vertices[np.roll(triangles, -1, axis=1)], axis=2)
    inner = np.abs(vertices[triangles][:, :, 1]).max(axis=1) < 0.0149
    assert np.allclose(sides[inner], 0.005, rtol=0.02)


@pytest.mark.parametrize(
    "shape,volume",
    [
        (shapes.box_surface((1, 2, 3), (2, 3, 4)), 6.0),
        (shapes.cylinder_surface(0.5, 2.0, 200, 3), np.pi * 0.5),
        (shapes.ring_surface(0.4, 0.5, 0.3, 200), np.pi * 0.09 * 0.3),
        (shapes.torus_surface(1.0, 0.25, 128, 64), 2 * np.pi**2 * 0.0625),
        (shapes.icosphere(1.0, 4), 4 / 3 * np.pi),
    ],
)
def test_closed_shapes_enclose_their_volume(shape, volume):
    vertices, triangles = shape
    assert len(topology.open_half_edges(triangles)) == 0
    corners = vertices[triangles]
    enclosed = np.einsum("ij,ij->i", np.cross(corners[:, 0], corners[:, 1]), corners[:, 2]).sum() / 6.0
    assert np.isclose(enclosed, volume, rtol=0.01)
    assert rest.triangle_areas(vertices, triangles).min() > 0.0
    assert np.unique(triangles).tolist() == list(range(len(vertices)))


def test_box_tets_fill_the_box_with_good_shapes():
    vertices, tets = shapes.box_tets(3, 4, 2, (0.03, 0.04, 0.02))
    volume = rest.tet_volumes(vertices, tets)
    assert len(tets) == 5 * 24 and volume.min() > 0.0
    assert np.isclose(volume.sum(), 0.03 * 0.04 * 0.02)
    assert np.isclose(volume.min() / volume.max(), 0.5)
    surface = topology.boundary_of_tets(tets)  # neighbours' faces match: nothing inside is left open
    assert np.isclose(rest.triangle_areas(vertices, surface).sum(), 2 * (12e-4 + 8e-4 + 6e-4))


def test_bad_arguments_are_named():
    with pytest.raises(
        ValueError, match="pattern is 'zigzag'; legal values: zigzag_rows, one, equilateral, union_jack"
    ):
        shapes.strip_mesh(1.0, 0.1, 4, "zigzag")
    with pytest.raises(ValueError, match="cells_across is 0; it must be a whole number of at least 1"):
        shapes.strip_mesh(1.0, 0.1, 0)
    with pytest.raises(ValueError, match=r"size_y is -1.0; it must be greater than 0 \[m\]"):
        shapes.box_surface((1, -1, 1))
    with pytest.raises(ValueError, match="outer_radius is 0.1; it must be greater than 0.2"):
        shapes.ring_surface(0.2, 0.1, 0.1)
    with pytest.raises(ValueError, match="segments is 2; it must be at least 3"):
        shapes.cylinder_surface(0.1, 0.1, 2)
