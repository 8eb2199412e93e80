"""Numbering of one world: which nodes there are and how every point rides on them.

Points: four frame points of each body (point 4 b + k rides on node 4 b + k alone), then the vertices of each mesh in
the order of adding, then the hidden points of joints. Nodes: four a body, then one for each free vertex in mesh order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.builder.parts import BodyPart, MeshPart
from engine.mesh.mass import point_moments


@dataclass
class WorldLayout:
    """Arrays of one world; ids are local to it. N nodes, P points, B bodies."""

    point_node: np.ndarray  # first node, -1 static, int (P,)
    point_count: np.ndarray  # 0, 1 or 4, int (P,)
    point_weights: np.ndarray  # float64 (P, 4)
    point_offset: np.ndarray  # static positions [m], float64 (P, 3)
    node_body: np.ndarray  # int (N,)
    node_mass: np.ndarray  # [kg], 0 for nodes of bodies, float64 (N,)
    node_start: np.ndarray  # [m], float64 (N, 3)
    node_velocity: np.ndarray  # [m/s], float64 (N, 3)
    body_mass: np.ndarray  # float64 (B, 4, 4)
    mesh_points: dict[str, slice]
    bodies: list[BodyPart]
    _riders: list[tuple[int, np.ndarray]] = field(default_factory=list)

    @property
    def num_points(self) -> int:
        return len(self.point_node) + len(self._riders)

    def add_rider(self, body: int, position: np.ndarray) -> int:
        """Hidden point that rides on `body` (-1: fixed in the world) and is at `position` (3,) [m] now; its id."""
        self._riders.append((body, np.asarray(position, dtype=np.float64)))
        return self.num_points - 1

    def close(self) -> None:
        """Append the riders to the point arrays; afterwards the numbering is final."""
        for body, position in self._riders:
            node, count, weights, offset = _ride(self.bodies[body], body, position) if body >= 0 else _fixed(position)
            self.point_node = np.append(self.point_node, node)
            self.point_count = np.append(self.point_count, count)
            self.point_weights = np.vstack([self.point_weights, weights])
            self.point_offset = np.vstack([self.point_offset, offset])
        self._riders = []

    def carrier_key(self) -> np.ndarray:
        """What moves each point, int (P,): -1 nothing, b body b, and B + node for a point with a node of its own."""
        own = self.point_count == 1
        key = np.where(self.point_count == 4, self.node_body[self.point_node], -1)
        return np.where(own, len(self.bodies) + self.point_node, key)


def _ride(part: BodyPart, body: int, position: np.ndarray):
    return 4 * body, 4, np.concatenate([[1.0], part.local(position)]), np.zeros(3)


def _fixed(position: np.ndarray):
    return -1, 0, np.zeros(4), position


def lay_out_world(parts: list[MeshPart], bodies: list[BodyPart]) -> WorldLayout:
    """Number nodes and points of one world and gather masses."""
    frames = 4 * len(bodies)
    sizes = [len(part.vertices) for part in parts]
    starts = frames + np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    total = int(starts[-1])
    layout = WorldLayout(
        point_node=np.full(total, -1),
        point_count=np.zeros(total, dtype=int),
        point_weights=np.zeros((total, 4)),
        point_offset=np.zeros((total, 3)),
        node_body=np.repeat(np.arange(len(bodies)), 4),
        node_mass=np.zeros(frames),
        node_start=np.vstack([body.nodes for body in bodies]) if bodies else np.zeros((0, 3)),
        node_velocity=np.vstack([body.node_velocities for body in bodies]) if bodies else np.zeros((0, 3)),
        body_mass=np.array([body.moments for body in bodies]).reshape(-1, 4, 4),
        mesh_points={p.name: slice(int(a), int(b)) for p, a, b in zip(parts, starts[:-1], starts[1:], strict=True)},
        bodies=bodies,
    )
    layout.point_node[:frames] = np.arange(frames)
    layout.point_count[:frames] = 1
    layout.point_weights[:frames, 0] = 1.0
    for part in parts:
        _place_mesh(layout, part)
    return layout


def _place_mesh(layout: WorldLayout, part: MeshPart) -> None:
    ids = np.arange(layout.mesh_points[part.name].start, layout.mesh_points[part.name].stop)
    if part.kind == "static":
        layout.point_offset[ids] = part.vertices
        return
    if part.kind == "body":
        _carry(layout, ids, part.body, part.rest - layout.bodies[part.body].com)
        return
    for body in np.unique(part.carrier[part.carrier >= 0]):
        mine = part.carrier == body
        local = layout.bodies[body].local(part.vertices[mine])
        _carry(layout, ids[mine], int(body), local)
        layout.body_mass[body] += point_moments(local, part.point_mass[mine])
    layout.point_offset[ids[part.pinned]] = part.vertices[part.pinned]
    free = ~part.pinned & (part.carrier < 0)
    first = len(layout.node_mass)
    layout.point_node[ids[free]] = first + np.arange(int(free.sum()))
    layout.point_count[ids[free]] = 1
    layout.point_weights[ids[free], 0] = 1.0
    layout.node_body = np.concatenate([layout.node_body, np.full(int(free.sum()), -1)])
    layout.node_mass = np.concatenate([layout.node_mass, part.point_mass[free]])
    layout.node_start = np.vstack([layout.node_start, part.vertices[free]])
    layout.node_velocity = np.vstack([layout.node_velocity, part.velocity[free]])


def _carry(layout: WorldLayout, ids: np.ndarray, body: int, local: np.ndarray) -> None:
    layout.point_node[ids] = 4 * body
    layout.point_count[ids] = 4
    layout.point_weights[ids, 0] = 1.0
    layout.point_weights[ids, 1:] = local
