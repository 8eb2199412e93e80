"""From the parts of one world to a Model of W worlds on a device. World-major: world w starts at w * stride."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import warp as wp

from engine.builder.adhesion import interface_makers
from engine.builder.joints import add_joint_terms
from engine.builder.layout import WorldLayout, lay_out_world
from engine.builder.recut import Source
from engine.builder.surfaces import WorldSurfaces, build_surfaces, ignored_table
from engine.builder.terms import Term, TermCollector, add_body_terms, add_mesh_terms
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


def build_model(builder, num_worlds: int, device: str) -> Model:
    """Lay out one world, gather its terms, replicate. `builder` is a ModelBuilder."""
    parts, bodies = list(builder.parts.values()), list(builder.bodies.values())
    layout = lay_out_world(parts, bodies)
    terms = TermCollector()
    for part in parts:
        add_mesh_terms(terms, part, layout)
    add_body_terms(terms, layout)
    coordinates = {j.name: add_joint_terms(terms, j, layout) for j in builder.joints.values()}
    layout.close()
    surfaces = build_surfaces(parts, layout)
    energies = {t.kind: _make_energy(t, num_worlds, layout.num_points, device) for t in terms.terms()}
    nodes = len(layout.node_mass)
    return Model(
        device=str(device), num_worlds=num_worlds, nodes_per_world=nodes, points_per_world=layout.num_points,
        bodies_per_world=len(bodies), gravity=builder.gravity,
        node_world=_int(np.repeat(np.arange(num_worlds), nodes), device),
        node_body=_int(_replicate_ids(layout.node_body, num_worlds, len(bodies)), device),
        node_mass=_float(np.tile(layout.node_mass, num_worlds), device),
        node_gravity=_vec3(np.tile(_node_gravity(layout, builder.gravity), (num_worlds, 1)), device),
        node_start=_vec3(np.tile(layout.node_start, (num_worlds, 1)), device),
        node_start_velocity=_vec3(np.tile(layout.node_velocity, (num_worlds, 1)), device),
        body_node=_int(_replicate_ids(4 * np.arange(len(bodies)), num_worlds, nodes), device),
        body_mass=wp.array(np.tile(layout.body_mass, (num_worlds, 1, 1)), dtype=wp.mat44d, device=device),
        embedding=_embedding(layout, num_worlds, device),
        collision=_collision(builder, parts, surfaces, num_worlds, layout.num_points, device),
        energies=list(energies.values()),
        meshes=_mesh_infos(parts, layout),
        bodies=_body_infos(parts, layout),
        joints=_joint_infos(builder, coordinates, energies),
        interfaces=interface_makers(builder.adhesion),
        rolls=dict(builder.rolls),
        warnings=tuple(builder.model_warnings),
        source=Source(builder),
    )  # fmt: skip


def _replicate_ids(ids: np.ndarray, num_worlds: int, stride: int) -> np.ndarray:
    """Repeat an index array (E, ...) with `stride` added a world; negative ids mean "none" and stay."""
    shift = (stride * np.arange(num_worlds)).reshape(-1, *([1] * ids.ndim))
    stacked = np.where(ids[None] >= 0, ids[None] + shift, ids[None])
    return stacked.reshape(-1, *ids.shape[1:])


def _make_energy(term: Term, num_worlds: int, points: int, device: str):
    module, name = ENERGY_CLASSES[term.kind]
    energy_class = getattr(import_module(module), name)
    values = {k: np.tile(v, (num_worlds, *([1] * (v.ndim - 1)))) for k, v in term.values.items()}
    energy = energy_class(
        stencils=_replicate_ids(term.stencils, num_worlds, points),
        element_world=np.repeat(np.arange(num_worlds), len(term.stencils)),
        device=device,
        **values,
    )
    energy.parameters = values
    return energy


def _node_gravity(layout: WorldLayout, gravity) -> np.ndarray:
    """Gravity on free nodes and body origins, 0 on columns (their share comes through the mass matrix), (N, 3)."""
    acceleration = np.tile(np.asarray(gravity, dtype=np.float64), (len(layout.node_mass), 1))
    for b, body in enumerate(layout.bodies):
        acceleration[4 * b + (1 if body.gravity else 0) : 4 * b + 4] = 0.0
    return acceleration


def _embedding(layout: WorldLayout, num_worlds: int, device: str) -> Embedding:
    return Embedding(
        point_node=_int(_replicate_ids(layout.point_node, num_worlds, len(layout.node_mass)), device),
        point_count=_int(np.tile(layout.point_count, num_worlds), device),
        point_weights=wp.array(np.tile(layout.point_weights, (num_worlds, 1)), dtype=wp.vec4d, device=device),
        point_offset=_vec3(np.tile(layout.point_offset, (num_worlds, 1)), device),
    )


def _collision(builder, parts, surfaces: WorldSurfaces, num_worlds: int, points: int, device) -> CollisionGeometry:
    def ids(array, stride=points):
        return _replicate_ids(array, num_worlds, stride)

    def per_surface(values):
        return np.tile(np.array(values), num_worlds)

    contacts, lips = [part.contact for part in parts], any(part.cut for part in parts)
    ignored = ignored_table(parts, builder.ignored_meshes, builder.ignored_layers)
    return CollisionGeometry(
        vertices=_int(ids(surfaces.vertices), device),
        edges=wp.array(ids(surfaces.edges).astype(np.int32), dtype=wp.vec2i, device=device),
        triangles=wp.array(ids(surfaces.triangles).astype(np.int32), dtype=wp.vec3i, device=device),
        vertex_area=_float(np.tile(surfaces.vertex_area, num_worlds), device),
        edge_area=_float(np.tile(surfaces.edge_area, num_worlds), device),
        edge_rest_length=_float(np.tile(surfaces.edge_rest_length, num_worlds), device),
        point_surface=_int(ids(surfaces.point_surface, len(parts)), device),
        point_world=_int(np.repeat(np.arange(num_worlds), points), device),
        surface_dhat=_float(per_surface([c.dhat for c in contacts]), device),
        surface_half_thickness=_float(per_surface([c.half_thickness for c in contacts]), device),
        surface_kappa=_float(per_surface([c.kappa for c in contacts]), device),
        surface_friction_mu=_float(per_surface([c.friction_mu for c in contacts]), device),
        surface_self_collision=_int(per_surface([int(c.self_collision) for c in contacts]), device),
        surface_local=_int(per_surface(range(len(parts))), device),
        point_rest=_vec3(np.tile(surfaces.point_rest, (num_worlds, 1)), device) if lips else None,
        surface_lip=_float(per_surface([0.5 * p.cut.kerf if p.cut else 0.0 for p in parts]), device) if lips else None,
        ignored=wp.array(ignored, dtype=wp.int8, device=device),
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


def _body_infos(parts, layout: WorldLayout) -> dict[str, BodyInfo]:
    infos = {}
    for index, body in enumerate(layout.bodies):
        com_from_mesh = np.eye(4)
        com_from_mesh[:3, 3] = -body.com
        mass = float(layout.body_mass[index, 0, 0])
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
