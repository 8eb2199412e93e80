"""Worlds of one batch: laid out one by one, stacked when they agree in all that a batch shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from engine.builder.joints import add_joint_terms
from engine.builder.layout import WorldLayout, lay_out_world
from engine.builder.parts import MeshPart
from engine.builder.surfaces import WorldSurfaces, build_surfaces, ignored_table
from engine.builder.terms import Term, TermCollector, add_body_terms, add_mesh_terms

SHARED_TOPOLOGY = "what changes the number of vertices, elements or parts cannot differ between the worlds of a batch"


@dataclass
class World:
    """One world before it is stacked; ids are local to it."""

    builder: object  # ModelBuilder or engine.builder.recut.Source
    parts: list[MeshPart]
    layout: WorldLayout
    terms: list[Term]
    coordinates: dict[str, tuple[str, int]]  # joint -> kind of its coordinate term, element there
    surfaces: WorldSurfaces
    ignored: np.ndarray  # int8 (S, S)

    @property
    def node_gravity(self) -> np.ndarray:
        """Gravity on free nodes and body origins, 0 on columns (their share comes through the mass matrix), (N, 3)."""
        acceleration = np.tile(np.asarray(self.builder.gravity, dtype=np.float64), (len(self.layout.node_mass), 1))
        for b, body in enumerate(self.layout.bodies):
            acceleration[4 * b + (1 if body.gravity else 0) : 4 * b + 4] = 0.0
        return acceleration

    def surface_numbers(self) -> dict[str, np.ndarray]:
        """Values by surface that worlds may have each for themselves: CollisionGeometry field -> (S,)."""
        contacts = [part.contact for part in self.parts]
        return {
            "surface_dhat": np.array([c.dhat for c in contacts]),
            "surface_half_thickness": np.array([c.half_thickness for c in contacts]),
            "surface_kappa": np.array([c.kappa for c in contacts]),
            "surface_friction_mu": np.array([c.friction_mu for c in contacts]),
        }


def lay_out(builder) -> World:
    """Number one world and gather its terms."""
    parts, bodies = list(builder.parts.values()), list(builder.bodies.values())
    layout = lay_out_world(parts, bodies)
    terms = TermCollector()
    for part in parts:
        add_mesh_terms(terms, part, layout)
    add_body_terms(terms, layout)
    coordinates = {j.name: add_joint_terms(terms, j, layout) for j in builder.joints.values()}
    layout.close()
    surfaces = build_surfaces(parts, layout)
    ignored = ignored_table(parts, builder.ignored_meshes, builder.ignored_layers)
    return World(builder, parts, layout, terms.terms(), coordinates, surfaces, ignored)


def lay_out_worlds(builders: list) -> list[World]:
    """One World a builder; a builder that stands there several times is laid out once.

    Raises ValueError naming the first world that does not fit the batch, and what differs.
    """
    made: dict[int, World] = {}
    worlds = []
    for w, builder in enumerate(builders):
        if id(builder) not in made:
            made[id(builder)] = lay_out(builder)
            check_same_topology(made[id(builders[0])], made[id(builder)], w)
        worlds.append(made[id(builder)])
    return worlds


def check_same_topology(first: World, other: World, index: int) -> None:
    """Raises ValueError when `other`, world `index` of the batch, has another topology than world 0."""
    if other is first:
        return
    for a, b in zip(first.parts, other.parts, strict=False):
        if a.name != b.name or a.kind != b.kind:
            raise _differs(index, f"mesh '{b.name}' ({b.kind}) stands where world 0 has '{a.name}' ({a.kind})")
        if len(a.vertices) != len(b.vertices) or not np.array_equal(a.triangles, b.triangles):
            raise _differs(
                index,
                f"mesh '{b.name}' has {len(b.vertices)} vertices and {len(b.triangles)} triangles, in world 0 "
                f"{len(a.vertices)} and {len(a.triangles)}, or other ones",
            )
    same = {
        "the number of meshes": len(first.parts) == len(other.parts),
        "gravity": tuple(first.builder.gravity) == tuple(other.builder.gravity),
        "bodies, or which are driven": [(b.name, b.driven) for b in first.layout.bodies]
        == [(b.name, b.driven) for b in other.layout.bodies],
        "joints": [(j.name, j.kind, j.parent, j.child) for j in first.builder.joints.values()]
        == [(j.name, j.kind, j.parent, j.child) for j in other.builder.joints.values()],
        "what rides on which body, or is pinned": all(
            np.array_equal(getattr(first.layout, name), getattr(other.layout, name))
            for name in ("point_node", "point_count", "node_body")
        ),
        "the elements of an energy": len(first.terms) == len(other.terms)
        and all(
            a.kind == b.kind and np.array_equal(a.stencils, b.stencils)
            for a, b in zip(first.terms, other.terms, strict=True)
        ),
        "which meshes never touch": np.array_equal(first.ignored, other.ignored),
        "which meshes touch themselves": [p.contact.self_collision for p in first.parts]
        == [p.contact.self_collision for p in other.parts],
        "wound rolls": list(first.builder.rolls) == list(other.builder.rolls),
    }
    for what, agrees in same.items():
        if not agrees:
            raise _differs(index, what)


def _differs(index: int, what: str) -> ValueError:
    return ValueError(f"world {index} of the batch differs from world 0 in its topology: {what}; {SHARED_TOPOLOGY}")


# One world drawn anew ---------------------------------------------------------------------------------------------

# fields of Model that a run reads only when it starts; everything else that changes needs a new system
START = ("node_start", "node_start_velocity")


def write_world(model, index: int, builder, solo) -> bool:
    """Overwrite world `index` of a batch by another one of the same topology; True when more than its start and its
    contact numbers changed, so that whatever was derived from the model must be made anew.

    builder: ModelBuilder of the new world; solo: its Model of one world on the same device. Raises ValueError when it
    does not fit; nothing is changed then.
    """
    world = lay_out(builder)
    check_same_topology(model.template, world, index)
    derived = False
    for name in ("node_mass", "node_gravity", "node_start", "node_start_velocity", "body_mass"):
        changed = overwrite(getattr(model, name), getattr(solo, name), index)
        derived |= changed and name not in START
    derived |= overwrite(model.embedding.point_weights, solo.embedding.point_weights, index)
    overwrite(model.embedding.point_offset, solo.embedding.point_offset, index)
    for name in ("vertex_area", "edge_area", "edge_rest_length", "surface_dhat", "surface_half_thickness"):
        derived |= overwrite(getattr(model.collision, name), getattr(solo.collision, name), index)
    for name in ("surface_kappa", "surface_friction_mu"):
        overwrite(getattr(model.collision, name), getattr(solo.collision, name), index)
    for energy, other in zip(model.energies, solo.energies, strict=True):
        derived |= energy.overwrite(index, other)
    return derived


def overwrite(array, part, index: int) -> bool:
    """Replace rows [index * n, (index + 1) * n) of a device array by the n rows of `part`; True when they differed."""
    count = len(part)
    rows = array.numpy()[index * count : (index + 1) * count]
    if np.array_equal(rows, part.numpy()):
        return False
    wp.copy(array, part, dest_offset=index * count, count=count)
    return True
