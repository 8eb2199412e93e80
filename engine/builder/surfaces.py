"""Collision geometry of one world: one surface a mesh, in the order of adding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.builder.layout import WorldLayout
from engine.builder.parts import MeshPart
from engine.mesh.rest import edge_areas, vertex_areas
from engine.mesh.topology import edge_table


@dataclass
class WorldSurfaces:
    """Arrays of one world; point ids local to it. Field meanings: engine.types.CollisionGeometry."""

    edges: np.ndarray
    triangles: np.ndarray
    vertex_area: np.ndarray
    edge_area: np.ndarray
    edge_rest_length: np.ndarray
    point_surface: np.ndarray
    point_rest: np.ndarray  # of meshes that have been cut, else 0

    @property
    def vertices(self) -> np.ndarray:
        return np.flatnonzero(self.point_surface >= 0)


def build_surfaces(parts: list[MeshPart], layout: WorldLayout) -> WorldSurfaces:
    """Edges, triangles, areas and owners; rest lengths and areas come from the rest shape."""
    points = layout.num_points
    vertex_area, point_surface = np.zeros(points), np.full(points, -1)
    point_rest = np.zeros((points, 3))
    edges, triangles, edge_area, edge_length = [], [], [], []
    for surface, part in enumerate(parts):
        where = layout.mesh_points[part.name]
        table = edge_table(part.triangles)
        ends = part.rest[table.edges]
        edges.append(table.edges + where.start)
        triangles.append(part.triangles + where.start)
        edge_length.append(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
        edge_area.append(edge_areas(part.rest, part.triangles, table.triangle_edges, len(table.edges)))
        vertex_area[where] = vertex_areas(part.rest, part.triangles)
        point_surface[np.unique(part.triangles) + where.start] = surface
        if part.cut is not None:
            point_rest[where] = part.rest
    return WorldSurfaces(
        np.concatenate(edges), np.concatenate(triangles), vertex_area,
        np.concatenate(edge_area), np.concatenate(edge_length), point_surface, point_rest,
    )  # fmt: skip


def ignored_table(parts: list[MeshPart], ignored_meshes: set, ignored_layers: set) -> np.ndarray:
    """1 where two surfaces of a world never touch, symmetric, int8 (S, S). The diagonal holds only what was asked for
    by `ignore_contact(a, a)` or a layer that ignores itself; ContactMaterial.self_collision is kept apart."""
    names = {part.name: i for i, part in enumerate(parts)}
    table = np.zeros((len(parts), len(parts)), dtype=np.int8)
    for a, b in ignored_meshes:
        table[names[a], names[b]] = table[names[b], names[a]] = 1
    layers = np.array([part.contact.layer for part in parts])
    for a, b in ignored_layers:
        pairs = np.outer(layers == a, layers == b)
        table[pairs | pairs.T] = 1
    return table
