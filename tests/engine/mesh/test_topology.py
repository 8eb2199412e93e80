"""Edges, hinges and boundaries against hand counts and Euler's formula."""

import numpy as np
import pytest

from engine.mesh import rest, shapes, topology

TWO = np.array([[0, 1, 2], [0, 2, 3]])  # a square split along 0-2, normals +z


def test_edge_table_of_two_triangles():
    table = topology.edge_table(TWO)
    assert table.edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]
    assert table.edge_count.tolist() == [1, 2, 1, 1, 1]
    assert table.triangle_edges.tolist() == [[0, 3, 1], [1, 4, 2]]
    assert topology.boundary_edges(TWO).tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]


@pytest.mark.parametrize("triangles", [TWO, TWO[::-1], np.array([[2, 0, 1], [3, 0, 2]])])
def test_hinge_starts_in_the_triangle_that_runs_along_it(triangles):
    """(edge0, edge1, wing0) and (edge1, edge0, wing1) are the triangles in their own winding, however listed."""
    assert topology.hinges(triangles).tolist() == [[0, 2, 3, 1]]


@pytest.mark.parametrize("pattern", shapes.PATTERNS)
def test_hinge_count_is_the_number_of_interior_edges(pattern):
    vertices, triangles = shapes.strip_mesh(0.1, 0.02, 4, pattern)
    edges = 3 * len(triangles) - len(topology.edge_table(triangles).edges)  # each interior edge is counted twice
    assert len(topology.hinges(triangles)) == edges
    assert len(vertices) - len(topology.edge_table(triangles).edges) + len(triangles) == 1  # a disc


def test_closed_surfaces_have_no_open_edge_and_only_hinges():
    for vertices, triangles in (shapes.box_surface((1, 2, 3), (2, 3, 1)), shapes.icosphere(1.0, 2)):
        assert len(topology.open_half_edges(triangles)) == 0
        assert len(topology.hinges(triangles)) * 2 == 3 * len(triangles)
        assert len(vertices) - len(topology.edge_table(triangles).edges) + len(triangles) == 2
    torus = shapes.torus_surface(1.0, 0.3, 12, 8)
    assert len(torus[0]) - len(topology.edge_table(torus[1]).edges) + len(torus[1]) == 0


def test_open_half_edges_finds_a_hole_and_a_flipped_triangle():
    _, triangles = shapes.box_surface()
    hole = triangles[1:]
    assert len(topology.open_half_edges(hole)) == 3
    flipped = triangles.copy()
    flipped[0] = flipped[0, ::-1]
    assert len(topology.open_half_edges(flipped)) == 6  # three edges, both of whose sides now run the same way


def test_two_boxes_that_share_an_edge_are_closed():
    v, t = shapes.box_surface()
    both = np.vstack([v, v + [1.0, 1.0, 0.0]])
    _, first, inverse = np.unique(np.round(both, 9), axis=0, return_index=True, return_inverse=True)
    triangles = inverse.reshape(-1)[np.vstack([t, t + len(v)])]
    assert topology.edge_table(triangles).edge_count.max() == 4
    assert len(topology.open_half_edges(triangles)) == 0
    assert len(first) == 14


def test_boundary_of_tets_is_closed_and_outward():
    vertices, tets = shapes.box_tets(3, 2, 2, (0.3, 0.2, 0.2))
    faces = topology.boundary_of_tets(tets)
    assert len(faces) == 2 * 2 * (3 * 2 + 2 * 2 + 3 * 2)
    assert len(topology.open_half_edges(faces)) == 0
    normals = rest.triangle_normals(vertices, faces)
    assert (np.einsum("ij,ij->i", normals, vertices[faces].mean(axis=1)) > 0.0).all()
    assert topology.boundary_of_tets(np.array([[0, 1, 2, 3]])).tolist() == topology.TET_FACES.tolist()


def test_adjacency():
    near = topology.vertex_neighbours(TWO, 4)
    assert near[0].indices.tolist() == [1, 2, 3]
    assert near[1].indices.tolist() == [0, 2]
    assert topology.vertex_triangles(TWO, 4)[2].indices.tolist() == [0, 1]
    assert topology.vertex_triangles(TWO, 4)[3].indices.tolist() == [1]
