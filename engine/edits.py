"""Edits of who rides on whom, between steps: a grasp rewrites rows of the embedding table, nothing else.

A grasped vertex stops riding on its own node and rides on the body, where it is; its mass joins the body's, its
momentum too. Released, it takes the place and velocity that it had on the body. Its node stays reserved meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import warp as wp

from engine.types import Embedding, Model


@dataclass(frozen=True)
class Grasp:
    """Let `vertices` (local ids) of a shell or solid ride on `body` in one world."""

    mesh: str
    vertices: tuple[int, ...]
    body: str
    world: int = 0


@dataclass(frozen=True)
class Release:
    """Give grasped vertices of a mesh (all when `vertices` is None) their own nodes back."""

    mesh: str
    vertices: tuple[int, ...] | None = None
    world: int = 0


class Riding:
    """Which points ride on which body by grasp, over the builder's model. Host-side; makes models."""

    def __init__(self, model: Model):
        self.base = model
        e = model.embedding
        self.node, self.count = e.point_node.numpy().copy(), e.point_count.numpy().copy()
        self.node_mass, self.body_mass = model.node_mass.numpy().copy(), model.body_mass.numpy().copy()
        self.points = np.zeros(0, np.int64)  # grasped points
        self.bodies = np.zeros(0, np.int64)  # body of each (global index)
        self.weights = np.zeros((0, 4))  # (1, X, Y, Z) of each

    def grasp(self, edit: Grasp, x: np.ndarray, v: np.ndarray) -> None:
        """Adds rows and projects velocities in `v` (N, 3) in place: the body takes over the points' momentum.

        Raises KeyError or ValueError when a name or a vertex does not fit.
        """
        points = self._points(edit.mesh, edit.vertices, edit.world)
        if edit.body not in self.base.bodies:
            raise KeyError(f"no body '{edit.body}'; available: {', '.join(self.base.bodies) or 'none'}")
        points = points[(self.count[points] == 1) & ~np.isin(points, self.points)]
        if not len(points):
            return
        local = list(self.base.bodies).index(edit.body)
        body = edit.world * self.base.bodies_per_world + local
        first = int(self.base.body_node.numpy()[body])
        frame = x[first + 1 : first + 4].T
        nodes = self.node[points]
        weights = np.column_stack([np.ones(len(points)), np.linalg.solve(frame, (x[nodes] - x[first]).T).T])
        before = self._mass_of(body)
        momentum = before @ v[first : first + 4] + weights.T @ (self.node_mass[nodes, None] * v[nodes])
        self.points = np.concatenate([self.points, points])
        self.bodies = np.concatenate([self.bodies, np.full(len(points), body)])
        self.weights = np.concatenate([self.weights, weights])
        v[first : first + 4] = np.linalg.solve(self._mass_of(body), momentum)

    def release(self, edit: Release, x: np.ndarray, v: np.ndarray) -> None:
        """Removes rows; places and velocities of the freed nodes are written into x and v (N, 3)."""
        info = self._mesh(edit.mesh)
        vertices = range(info.points.stop - info.points.start) if edit.vertices is None else edit.vertices
        gone = np.isin(self.points, self._points(edit.mesh, vertices, edit.world))
        if edit.vertices is None:
            gone &= ~self.on_carrier  # a hand that lets go does not unwind the roll
        first = self.base.body_node.numpy()[self.bodies[gone]]
        for k in range(4):
            share = self.weights[gone, k, None]
            x[self.node[self.points[gone]]] = share * x[first + k] + (x[self.node[self.points[gone]]] if k else 0.0)
            v[self.node[self.points[gone]]] = share * v[first + k] + (v[self.node[self.points[gone]]] if k else 0.0)
        self._keep(~gone)

    def mesh_places(self, mesh: str, world: int, x: np.ndarray) -> np.ndarray:
        """Vertices of a mesh [m], grasps included, from node positions x (N, 3); float64 (n, 3)."""
        info, e = self._mesh(mesh), self.base.embedding
        start = info.points.start + world * self.base.points_per_world
        ids = np.arange(start, start + info.points.stop - info.points.start)
        node, count = self.node[ids], self.count[ids]
        weights, places = e.point_weights.numpy()[ids], e.point_offset.numpy()[ids].copy()
        held = np.isin(ids, self.points)
        rows = {int(p): k for k, p in enumerate(self.points)}
        chosen = np.array([rows[int(p)] for p in ids[held]], np.int64)
        node[held] = self.base.body_node.numpy()[self.bodies[chosen]]
        count[held], weights[held] = 4, self.weights[chosen]
        for k in range(4):
            rides = count > k
            places[rides] = (places[rides] if k else 0.0) + weights[rides, k, None] * x[node[rides] + k]
        return places

    @property
    def on_carrier(self) -> np.ndarray:
        """Rows whose body has no mass of its own: tape on a cluster, bool."""
        return self.body_mass[self.bodies, 0, 0] == 0.0

    @property
    def needed(self) -> bool:
        """Whether the base model cannot be stepped as it is: something is grasped, or a carrier has no riders."""
        return len(self.points) > 0 or bool((self.body_mass[:, 0, 0] == 0.0).any())

    def clear(self, world: int | None = None) -> bool:
        """Forget all grasps, or those of one world; True when there were any."""
        keep = np.zeros(len(self.points), bool)
        if world is not None:
            keep = self.bodies // self.base.bodies_per_world != world
        changed = not keep.all()
        self._keep(keep)
        return changed

    def state(self) -> dict[str, np.ndarray]:
        return {name: array.copy() for name, array in self.views().items()}

    def views(self) -> dict[str, np.ndarray]:
        """`state()` without copies; not to be written."""
        return {"grasp_points": self.points, "grasp_bodies": self.bodies, "grasp_weights": self.weights}

    def restore(self, arrays: dict[str, np.ndarray]) -> bool:
        """Take `state()` back; True when it differs from the present."""
        points, bodies = (np.asarray(arrays[f"grasp_{k}"], np.int64).reshape(-1) for k in ("points", "bodies"))
        weights = np.asarray(arrays["grasp_weights"], float).reshape(-1, 4)
        bodies_total = self.base.num_worlds * self.base.bodies_per_world
        if len(bodies) != len(points) or len(weights) != len(points):
            raise ValueError("state arrays 'grasp_points', 'grasp_bodies' and 'grasp_weights' differ in length")
        if len(points) and (
            points.min() < 0 or points.max() >= self.base.num_points or (self.count[points] != 1).any()
        ):
            raise ValueError("state array 'grasp_points' names points that this model cannot grasp")
        if len(bodies) and (bodies.min() < 0 or bodies.max() >= bodies_total):
            raise ValueError(f"state array 'grasp_bodies' must lie in 0..{bodies_total - 1}")
        same = np.array_equal(points, self.points) and np.array_equal(bodies, self.bodies)
        same = same and np.array_equal(weights, self.weights)
        self.points, self.bodies, self.weights = points, bodies, weights
        return not same

    def model(self) -> Model:
        """The base model with the grasped rows written in."""
        base, e = self.base, self.base.embedding
        node, count = self.node.copy(), self.count.copy()
        weights, node_mass = e.point_weights.numpy().copy(), self.node_mass.copy()
        node[self.points] = base.body_node.numpy()[self.bodies]
        count[self.points] = 4
        weights[self.points] = self.weights
        node_mass[self.node[self.points]] = 0.0
        body_mass = self.body_mass.copy()
        for body in np.unique(self.bodies):
            body_mass[body] = self._mass_of(int(body))
        device = base.device
        unused = np.zeros(base.num_nodes, np.int32)
        unused[self.node[self.points]] = 1
        empty = base.body_node.numpy()[: len(body_mass)][body_mass[:, 0, 0] == 0.0]
        unused[(empty[:, None] + np.arange(4)).reshape(-1).astype(int)] = 1
        return replace(
            base,
            embedding=Embedding(
                wp.array(node, dtype=wp.int32, device=device),
                wp.array(count, dtype=wp.int32, device=device),
                wp.array(weights, dtype=wp.vec4d, device=device),
                e.point_offset,
            ),
            node_mass=wp.array(node_mass, dtype=wp.float64, device=device),
            body_mass=wp.array(body_mass, dtype=wp.mat44d, device=device),
            node_unused=wp.array(unused, dtype=wp.int32, device=device),
            topology_version=base.topology_version + 1,
        )

    def _mass_of(self, body: int) -> np.ndarray:
        """4x4 mass of a body with its riders, recomputed (never subtracted)."""
        mine = self.bodies == body
        mass = self.node_mass[self.node[self.points[mine]]]
        w = self.weights[mine]
        return self.body_mass[body] + (w * mass[:, None]).T @ w

    def _keep(self, keep: np.ndarray) -> None:
        self.points, self.bodies, self.weights = self.points[keep], self.bodies[keep], self.weights[keep]

    def _mesh(self, name: str):
        if name not in self.base.meshes:
            raise KeyError(f"no mesh '{name}'; available: {', '.join(self.base.meshes)}")
        return self.base.meshes[name]

    def _points(self, name: str, vertices, world: int) -> np.ndarray:
        info = self._mesh(name)
        vertices = np.asarray(list(vertices), np.int64)
        size = info.points.stop - info.points.start
        if len(vertices) and (vertices.min() < 0 or vertices.max() >= size):
            raise ValueError(f"vertices of '{name}' must lie in 0..{size - 1}; got {vertices.min()}..{vertices.max()}")
        if not 0 <= world < self.base.num_worlds:
            raise ValueError(f"world is {world}; this model has worlds 0..{self.base.num_worlds - 1}")
        return info.points.start + vertices + world * self.base.points_per_world
