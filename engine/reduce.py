"""A model without what cannot move by itself: the wound part of a roll costs nothing while it rides on its cluster.

Elements whose points all ride on one body drop out, buried faces leave the collision geometry, and nodes and points
that nothing uses any more are left out of every array. The stepper works on the reduced model with a compact numbering;
the engine keeps the whole state and copies between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import warp as wp

from engine.types import CollisionGeometry, Embedding, Model

_NOBODY = np.zeros(0, np.int64)
REDUCIBLE = ("membrane", "hinge", "neo_hookean", "damping")  # the others tie bodies: few, and always needed


@dataclass(frozen=True)
class Reduction:
    """points, nodes: ids in the whole model of the reduced one's points and nodes, ascending; *_map: the inverse, -1
    where left out."""

    model: Model
    points: np.ndarray
    nodes: np.ndarray
    point_map: np.ndarray
    node_map: np.ndarray


def carriers(model: Model) -> np.ndarray:
    """What moves each point, int (P,): equal means moving as one; below -1 a node of its own, -1 nothing."""
    e = model.embedding
    node, count = e.point_node.numpy(), e.point_count.numpy()
    return np.where(count == 4, node, np.where(count == 1, -2 - node, -1))


def reduce_model(model: Model, buried: np.ndarray, needed: np.ndarray = _NOBODY) -> Reduction:
    """Reduce `model`, whose embedding says who rides on whom.

    Args:
        buried: points whose faces nothing can reach, bool (P,); only faces with all corners buried leave.
        needed: further points to keep, ids (anchors of interfaces).
    """
    e, carrier = model.embedding, carriers(model)
    node, count = e.point_node.numpy(), e.point_count.numpy()
    elements = [_moving_elements(energy, carrier) for energy in model.energies]
    faces = _open_faces(model.collision, buried) if model.collision is not None else None
    used = np.zeros(model.num_points, bool)
    for energy, keep in zip(model.energies, elements, strict=True):
        used[energy.stencils_host[keep].reshape(-1)] = True
    if faces is not None:
        c = model.collision
        for array, keep in zip((c.vertices, c.edges, c.triangles), faces, strict=True):
            used[array.numpy()[keep].reshape(-1)] = True
    used[needed] = True
    points = np.flatnonzero(used)
    used_nodes = model.node_body.numpy() >= 0
    used_nodes[node[points][count[points] == 1]] = True
    nodes = np.flatnonzero(used_nodes)
    point_map, node_map = _inverse(points, model.num_points), _inverse(nodes, model.num_nodes)
    energies = [_subset(en, keep, point_map) for en, keep in zip(model.energies, elements, strict=True)]
    renewed = {id(old): new for old, new in zip(model.energies, energies, strict=True)}
    device = model.device

    def take(array, rows, dtype):
        return wp.array(array.numpy()[rows], dtype=dtype, device=device)

    world, measured = point_tables(model)
    reduced = replace(
        model,
        node_world=take(model.node_world, nodes, wp.int32),
        node_body=take(model.node_body, nodes, wp.int32),
        node_mass=take(model.node_mass, nodes, wp.float64),
        node_gravity=take(model.node_gravity, nodes, wp.vec3d),
        node_start=take(model.node_start, nodes, wp.vec3d),
        node_start_velocity=take(model.node_start_velocity, nodes, wp.vec3d),
        node_unused=None if model.node_unused is None else take(model.node_unused, nodes, wp.int32),
        body_node=wp.array(_mapped(model.body_node.numpy(), node_map), dtype=wp.int32, device=device),
        embedding=Embedding(
            wp.array(_mapped(node[points], node_map), dtype=wp.int32, device=device),
            take(e.point_count, points, wp.int32),
            take(e.point_weights, points, wp.vec4d),
            take(e.point_offset, points, wp.vec3d),
        ),
        collision=_subset_collision(model.collision, faces, points, point_map, device),
        energies=energies,
        joints={k: replace(j, coordinate=renewed.get(id(j.coordinate))) for k, j in model.joints.items()},
        point_world=wp.array(world[points], dtype=wp.int32, device=device),
        point_measured=wp.array(measured[points], dtype=wp.int32, device=device),
    )
    return Reduction(reduced, points, nodes, point_map, node_map)


def point_tables(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """World of each point, and 1 where it is a vertex of a mesh, int32 (P,) each."""
    if model.point_world is not None:
        return model.point_world.numpy(), model.point_measured.numpy()
    world = np.repeat(np.arange(model.num_worlds, dtype=np.int32), model.points_per_world)
    measured = np.zeros(model.points_per_world, np.int32)
    for mesh in model.meshes.values():
        measured[mesh.points] = 1
    return world, np.tile(measured, model.num_worlds)


def _moving_elements(energy, carrier: np.ndarray) -> np.ndarray:
    """bool (E,): elements whose points can move against each other."""
    stencils = energy.stencils_host
    if energy.name not in REDUCIBLE or not len(stencils):
        return np.ones(len(stencils), bool)
    carried = carrier[stencils]
    alike = (carried == carried[:, :1]).all(axis=1) & (carried[:, 0] > -2)
    return ~alike


def _open_faces(c: CollisionGeometry, buried: np.ndarray) -> list[np.ndarray]:
    return [
        ~buried[c.vertices.numpy()],
        ~buried[c.edges.numpy()].all(axis=1),
        ~buried[c.triangles.numpy()].all(axis=1),
    ]


def _subset(energy, keep: np.ndarray, point_map: np.ndarray):
    """The same energy over some of its elements, in the new numbering."""
    values = {}
    for name, value in energy.parameters.items():
        values[name] = value[keep]
    fresh = type(energy)(
        stencils=point_map[energy.stencils_host[keep]],
        element_world=energy.element_world.numpy()[keep],
        device=energy.device,
        **values,
    )
    fresh.parameters = values
    return fresh


def _subset_collision(c, faces, points, point_map, device):
    if c is None:
        return None
    vertices, edges, triangles = faces

    def take(array, rows, dtype):
        return wp.array(array.numpy()[rows], dtype=dtype, device=device)

    def ids(array, rows, dtype):
        return wp.array(point_map[array.numpy()[rows]].astype(np.int32), dtype=dtype, device=device)

    return replace(
        c,
        vertices=ids(c.vertices, vertices, wp.int32),
        edges=ids(c.edges, edges, wp.vec2i),
        triangles=ids(c.triangles, triangles, wp.vec3i),
        vertex_area=take(c.vertex_area, points, wp.float64),
        edge_area=take(c.edge_area, edges, wp.float64),
        edge_rest_length=take(c.edge_rest_length, edges, wp.float64),
        point_surface=take(c.point_surface, points, wp.int32),
        point_world=take(c.point_world, points, wp.int32),
        point_rest=None if c.point_rest is None else take(c.point_rest, points, wp.vec3d),
    )


def _inverse(ids: np.ndarray, size: int) -> np.ndarray:
    inverse = np.full(size, -1)
    inverse[ids] = np.arange(len(ids))
    return inverse


def _mapped(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    """table[ids], -1 staying -1."""
    return np.where(ids >= 0, table[np.maximum(ids, 0)], -1)
