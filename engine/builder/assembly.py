"""From the parts of one world to a Model of W worlds on a device. World-major: world w starts at w * stride."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module

import numpy as np
import warp as wp

from engine.adhesion.gathered import gathered_term
from engine.builder.adhesion import interface_makers
from engine.builder.layout import WorldLayout
from engine.builder.recut import Source
from engine.builder.worlds import World, lay_out_worlds
from engine.types import BodyInfo, CollisionGeometry, Embedding, JointInfo, MeshInfo, Model

# kind of a Term -> where its Energy class lives; imported when a model needs it
ENERGY_CLASSES = {
    "membrane": ("engine.energies.membrane", "Membrane"),
    "hinge": ("engine.energies.hinge", "Hinge"),
    "neo_hookean": ("engine.energies.neo_hookean", "NeoHookean"),
    "orthogonality": ("engine.energies.orthogonality", "Orthogonality"),
    "drive": ("engine.energies.drive", "BodyDrive"),
    "point_tie": ("engine.energies.tie", "PointTie"),
    "slide": ("engine.energies.slide", "Slide"),
    "direction_tie": ("engine.energies.slide", "DirectionTie"),
    "slide_coordinate": ("engine.energies.joint_coordinate", "SlideCoordinate"),
    "angle_coordinate": ("engine.energies.joint_coordinate", "AngleCoordinate"),
    "damping": ("engine.energies.damping", "PointDamping"),
}


def build_model(builders: list, device: str) -> Model:
    """A world a builder (a ModelBuilder or a recut.Source): laid out, stacked. Equal worlds name the same object.

    Names, rest shapes and looks are those of world 0. Raises ValueError when the worlds differ in topology.
    """
    worlds = lay_out_worlds(builders)
    first, count = worlds[0], len(worlds)
    layout, builder, bodies = first.layout, builders[0], first.layout.bodies
    energies = {t.kind: _make_energy(k, worlds, device) for k, t in enumerate(first.terms)}
    nodes = len(layout.node_mass)
    alike = all(world is first for world in worlds)
    return Model(
        device=str(device), num_worlds=count, nodes_per_world=nodes, points_per_world=layout.num_points,
        bodies_per_world=len(bodies), gravity=builder.gravity,
        node_world=_int(np.repeat(np.arange(count), nodes), device),
        node_body=_int(_replicate_ids(layout.node_body, count, len(bodies)), device),
        node_mass=_float(_stack(w.layout.node_mass for w in worlds), device),
        node_gravity=_vec3(_stack(w.node_gravity for w in worlds), device),
        node_start=_vec3(_stack(w.layout.node_start for w in worlds), device),
        node_start_velocity=_vec3(_stack(w.layout.node_velocity for w in worlds), device),
        body_node=_int(_replicate_ids(4 * np.arange(len(bodies)), count, nodes), device),
        body_mass=wp.array(_stack(w.layout.body_mass for w in worlds), dtype=wp.mat44d, device=device),
        embedding=_embedding(worlds, device),
        collision=_collision(worlds, device),
        energies=list(energies.values()),
        meshes=_mesh_infos(first.parts, layout),
        bodies=_body_infos(worlds),
        joints=_joint_infos(builder, first.coordinates, energies),
        interfaces=_interfaces(worlds, device),
        rolls=dict(builder.rolls),
        warnings=tuple(dict.fromkeys(text for b in builders for text in b.model_warnings)),
        source=Source(builder) if alike else None,
        template=first,
    )  # fmt: skip


def _interfaces(worlds: list[World], device: str) -> tuple:
    """Makers of interface terms. Where worlds differ each brings its own materials and what sticks at its start."""
    first = worlds[0]
    makers = interface_makers(first.builder.adhesion)
    if not makers or all(world is first for world in worlds):
        return makers
    alone = {id(world): build_model([world.builder], device) for world in worlds}
    return tuple(
        partial(gathered_term, maker=maker, law=law, models=[alone[id(world)] for world in worlds])
        for law, maker in enumerate(makers)
    )


def _stack(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate(list(arrays))


def _replicate_ids(ids: np.ndarray, num_worlds: int, stride: int) -> np.ndarray:
    """Repeat an index array (E, ...) with `stride` added a world; negative ids mean "none" and stay."""
    shift = (stride * np.arange(num_worlds)).reshape(-1, *([1] * ids.ndim))
    stacked = np.where(ids[None] >= 0, ids[None] + shift, ids[None])
    return stacked.reshape(-1, *ids.shape[1:])


def _make_energy(index: int, worlds: list[World], device: str):
    """Energy of the term with this index in every world."""
    term, count = worlds[0].terms[index], len(worlds)
    module, name = ENERGY_CLASSES[term.kind]
    energy_class = getattr(import_module(module), name)
    values = {k: _stack(w.terms[index].values[k] for w in worlds) for k in term.values}
    energy = energy_class(
        stencils=_replicate_ids(term.stencils, count, worlds[0].layout.num_points),
        element_world=np.repeat(np.arange(count), len(term.stencils)),
        device=device,
        **values,
    )
    energy.parameters = values
    return energy


def _embedding(worlds: list[World], device: str) -> Embedding:
    layout, count = worlds[0].layout, len(worlds)
    return Embedding(
        point_node=_int(_replicate_ids(layout.point_node, count, len(layout.node_mass)), device),
        point_count=_int(np.tile(layout.point_count, count), device),
        point_weights=wp.array(_stack(w.layout.point_weights for w in worlds), dtype=wp.vec4d, device=device),
        point_offset=_vec3(_stack(w.layout.point_offset for w in worlds), device),
    )


def _collision(worlds: list[World], device) -> CollisionGeometry:
    first, count, points = worlds[0], len(worlds), worlds[0].layout.num_points
    parts, surfaces = first.parts, first.surfaces

    def ids(array, stride=points):
        return _replicate_ids(array, count, stride)

    def per_surface(values):
        return np.tile(np.array(values), count)

    lips = any(part.cut for part in parts)
    numbers = [world.surface_numbers() for world in worlds]
    return CollisionGeometry(
        vertices=_int(ids(surfaces.vertices), device),
        edges=wp.array(ids(surfaces.edges).astype(np.int32), dtype=wp.vec2i, device=device),
        triangles=wp.array(ids(surfaces.triangles).astype(np.int32), dtype=wp.vec3i, device=device),
        vertex_area=_float(_stack(w.surfaces.vertex_area for w in worlds), device),
        edge_area=_float(_stack(w.surfaces.edge_area for w in worlds), device),
        edge_rest_length=_float(_stack(w.surfaces.edge_rest_length for w in worlds), device),
        point_surface=_int(ids(surfaces.point_surface, len(parts)), device),
        point_world=_int(np.repeat(np.arange(count), points), device),
        **{name: _float(_stack(n[name] for n in numbers), device) for name in numbers[0]},
        surface_self_collision=_int(per_surface([int(p.contact.self_collision) for p in parts]), device),
        surface_local=_int(per_surface(range(len(parts))), device),
        point_rest=_vec3(np.tile(surfaces.point_rest, (count, 1)), device) if lips else None,
        surface_lip=_float(per_surface([0.5 * p.cut.kerf if p.cut else 0.0 for p in parts]), device) if lips else None,
        ignored=wp.array(first.ignored, dtype=wp.int8, device=device),
        surfaces_per_world=len(parts),
    )


def _mesh_infos(parts, layout: WorldLayout) -> dict[str, MeshInfo]:
    return {
        p.name: MeshInfo(
            p.name, p.kind, layout.mesh_points[p.name], p.triangles, p.tets, p.body, p.rest, p.contact, p.material,
            p.visual, p.cut,
        )
        for p in parts
    }  # fmt: skip


def _body_infos(worlds: list[World]) -> dict[str, BodyInfo]:
    infos = {}
    masses = np.array([world.layout.body_mass[:, 0, 0] for world in worlds])
    for index, body in enumerate(worlds[0].layout.bodies):
        com_from_mesh = np.eye(4)
        com_from_mesh[:3, 3] = -body.com
        alike = (masses[:, index] == masses[0, index]).all()
        mass = float(masses[0, index]) if alike else masses[:, index].copy()
        infos[body.name] = BodyInfo(body.name, 4 * index, 4 * index, body.driven, body.force_limit, mass, com_from_mesh)
    return infos


def _joint_infos(builder, coordinates: dict, energies: dict) -> dict[str, JointInfo]:
    infos = {}
    for joint in builder.joints.values():
        kind, element = coordinates[joint.name]
        lower = None if np.isinf(joint.lower) else joint.lower
        upper = None if np.isinf(joint.upper) else joint.upper
        infos[joint.name] = JointInfo(
            joint.name, joint.kind, joint.parent, joint.child, joint.drive, lower, upper, energies.get(kind), element
        )
    return infos


def _int(array, device) -> wp.array:
    return wp.array(np.ascontiguousarray(array, dtype=np.int32), dtype=wp.int32, device=device)


def _float(array, device) -> wp.array:
    return wp.array(np.ascontiguousarray(array, dtype=np.float64), dtype=wp.float64, device=device)


def _vec3(array, device) -> wp.array:
    return wp.array(np.ascontiguousarray(array, dtype=np.float64).reshape(-1, 3), dtype=wp.vec3d, device=device)
