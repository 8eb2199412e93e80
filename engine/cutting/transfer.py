"""What a cut does to everything that moves: places, velocities, grasps, rolls and histories on the new mesh.

Pure numpy on host arrays: old values in, new values out. The old ones are not touched.
"""

from __future__ import annotations

import numpy as np

from engine.adhesion.anchored import anchor_coordinates_host
from engine.adhesion.numbering import adopt_state, whole_state
from engine.cutting.cut import closest_weights
from engine.cutting.surgery import Surgery
from engine.edits import Riding
from engine.tape.cluster import RollCluster
from engine.types import Model

EXTENSIVE = ("spent",)  # sums over points: stays with the point that had it


class Transfer:
    """From a model to the same model with one mesh cut.

    riding: who rides on whom before (engine.edits.Riding over the old model); x, v (N, 3): old nodes.
    """

    def __init__(self, riding: Riding, new: Model, mesh: str, surgery: Surgery, x: np.ndarray):
        self.old, self.new, self.mesh, self.surgery = riding.base, new, mesh, surgery
        old = self.old
        self.first, self.size = old.meshes[mesh].points.start, len(surgery.corners)
        self.old_size = old.meshes[mesh].points.stop - self.first
        local = np.arange(old.points_per_world)
        local = np.where(local < self.first + self.old_size, local, local + self.size - self.old_size)
        worlds = np.arange(old.num_worlds)[:, None]
        self.point_map = (local + worlds * new.points_per_world).reshape(-1)
        self._embedding = _riding_table(riding)
        self.points_before = self.point_values(x, offset=True)
        self.points_after = self.on_points(self.points_before)
        self.riding = self._ride(riding, x)

    # values -----------------------------------------------------------------------------------------------------
    def point_values(self, nodes: np.ndarray, offset: bool = False) -> np.ndarray:
        """Node values of the old model at its points, (P, 3); offset: static points have their place, else 0."""
        node, count, weights, base = self._embedding
        values = base.copy() if offset else np.zeros_like(base)
        for k in range(4):
            rides = count > k
            values[rides] = (values[rides] if k else 0.0) + weights[rides, k, None] * nodes[node[rides] + k]
        return values

    def on_points(self, values: np.ndarray, material: bool = False) -> np.ndarray:
        """Values by old point at the new points, (P', ...)."""
        result = np.zeros((self.new.num_points, *values.shape[1:]), values.dtype)
        result[self.point_map] = values
        for before, after in self.blocks():
            result[after] = self.surgery.mixed(values[before], material)
        return result

    def blocks(self):
        """Slices of the cut mesh's points before and after, a world each."""
        for w in range(self.old.num_worlds):
            a, b = self.first + w * self.old.points_per_world, self.first + w * self.new.points_per_world
            yield slice(a, a + self.old_size), slice(b, b + self.size)

    def nodes(self, values: np.ndarray, kind: str) -> np.ndarray:
        """Node values (N, 3) on the new nodes. kind: "place" (positions) or "velocity"."""
        place = kind == "place"
        points = self.on_points(self.point_values(values, offset=place), material=not place)
        e = self.new.embedding
        node, count = e.point_node.numpy(), e.point_count.numpy()
        result = np.zeros((self.new.num_nodes, 3))
        own = count == 1
        result[node[own]] = points[own]  # frame points of bodies are among them
        if not place:
            self._keep_momentum(result, points)
        return result

    def _keep_momentum(self, v: np.ndarray, points: np.ndarray) -> None:
        """Riders that the kerf has moved on their body keep their momentum: the body takes up the change. v: new nodes'
        velocities, changed in place; points: velocities of the material at the new points."""
        node, _, weights, _ = _riding_table(self.riding)
        mass = self.new.source.parts[self.mesh].point_mass
        bodies, count = self.new.node_body.numpy(), self.riding.count.copy()
        count[self.riding.points] = 4
        for _, block in self.blocks():
            local = np.flatnonzero((count[block] == 4) & self.surgery.changed)
            ids = block.start + local
            for first in np.unique(node[ids]):
                mine, i = ids[node[ids] == first], local[node[ids] == first]
                w, m = weights[mine], mass[i, None]
                change = w.T @ (m * (points[mine] - w @ v[first : first + 4]))
                v[first : first + 4] += np.linalg.solve(self.riding._mass_of(int(bodies[first])), change)

    # riders -----------------------------------------------------------------------------------------------------
    def _ride(self, before: Riding, x: np.ndarray) -> Riding:
        """Grasped points keep their rows; a new point whose parents all ride on one body rides there too."""
        after = Riding(self.new)
        body_of = np.full(self.old.num_points, -1)
        body_of[before.points] = before.bodies
        weights_of = np.zeros((self.old.num_points, 4))
        weights_of[before.points] = before.weights
        s, points, bodies, weights = self.surgery, [self.point_map[before.points]], [before.bodies], [before.weights]
        kept = np.ones(len(before.points), bool)
        first = self.old.body_node.numpy()
        for old_block, new_block in self.blocks():
            alike, mine = riders_alike(s, body_of[old_block])
            refuse_wound(s, alike, mine, before, self.mesh, self.points_before[old_block])
            for i in np.flatnonzero(alike & s.changed):
                node = first[mine[i]]
                frame = x[node + 1 : node + 4].T
                away = self.points_after[new_block.start + i] - x[node]
                points.append([new_block.start + i])
                bodies.append([mine[i]])
                weights.append([np.concatenate([[1.0], np.linalg.solve(frame, away)])])
                if i < self.old_size:
                    kept &= before.points != old_block.start + i
        after.points = np.concatenate([points[0][kept], *points[1:]]).astype(np.int64)
        after.bodies = np.concatenate([bodies[0][kept], *bodies[1:]]).astype(np.int64)
        after.weights = np.concatenate([weights[0][kept], *weights[1:]]).reshape(-1, 4)
        return after

    # rolls ------------------------------------------------------------------------------------------------------
    def rolls(self, rolls: dict[str, RollCluster]) -> dict[str, RollCluster]:
        result = {}
        for name, roll in rolls.items():
            fresh = RollCluster(roll.spec, self.new)
            place = roll.place
            if roll.spec.mesh == self.mesh:
                place = np.stack([self.surgery.mixed(p) for p in place])
            fresh.set_state({"front": roll.front, "place": place})
            result[name] = fresh
        return result

    # histories --------------------------------------------------------------------------------------------------
    def interfaces(self, terms: tuple) -> tuple:
        """The same terms on the new model, with the records of the old ones."""
        fresh = tuple(make(self.new) for make in self.new.interfaces)
        keep_materials(terms, fresh)
        for before, after in zip(terms, fresh, strict=True):
            adopt_state(after, _Histories(self, before, after).moved())
        return fresh


def riders_alike(s: Surgery, body_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """New vertices whose parents all ride on one body, bool (m,), and that body, int (m,). body_of: of each old vertex,
    -1 = none, (n,)."""
    ride = body_of[s.corners]
    mine = ride[np.arange(len(ride)), np.argmax(s.material, axis=1)]
    return ((ride == mine[:, None]) | (s.material < 1e-9)).all(axis=1) & (mine >= 0), mine


def refuse_wound(s: Surgery, alike, body, riding: Riding, mesh: str, places: np.ndarray) -> None:
    """Raises ValueError when a cut would change tape that rides on a roll's cluster, a body without mass of its own.

    alike, body: of `riders_alike`; places (n, 3): old vertices now [m].
    """
    changed = alike & s.changed
    wound = changed & (riding.body_mass[:, 0, 0] == 0.0)[np.maximum(body, 0)] if changed.any() else changed
    if wound.any():
        place = s.mixed(places)[int(np.argmax(wound))]
        raise ValueError(
            f"the cut in mesh '{mesh}' reaches tape that is wound on its roll's cluster, near "
            f"({', '.join(f'{c:.4g}' for c in place)}) m; cut in the collar or in the free tape"
        )


def keep_materials(before: tuple, after: tuple) -> None:
    """Materials may have been edited in a running scene: the terms `after` take them from the same terms `before`."""
    for old, new in zip(before, after, strict=True):
        new.sticky.materials[:] = old.sticky.materials
        new._write_materials()


class _Histories:
    """Records by sticky point (engine.adhesion.anchored) of one term, moved to the new mesh."""

    def __init__(self, transfer: Transfer, before, after):
        self.t, self.before, self.after = transfer, before.sticky, after.sticky
        self.arrays = whole_state(before)
        self.changed = transfer.surgery.changed
        self.fresh = after.get_state()
        self.slot = np.full(transfer.old.num_points, -1)
        self.slot[self.before.points] = np.arange(self.before.size)
        self.new_slot = np.full(transfer.new.num_points, -1)
        self.new_slot[self.after.points] = np.arange(self.after.size)
        self.children: dict[int, list[int]] = {}
        for child, parent in enumerate(transfer.surgery.parent.tolist()):
            self.children.setdefault(parent, []).append(child)
        triangles = transfer.old.meshes[transfer.mesh].triangles
        self.triangle_of = {tuple(sorted(t)): k for k, t in enumerate(triangles.tolist())}

    def moved(self) -> dict[str, np.ndarray]:
        """get_state() of the new term."""
        size = self.after.size
        result = {k: np.zeros_like(v) for k, v in self.fresh.items()}
        result["triangle"][:] = -1
        if "ready" in result:
            result["ready"][:] = 1
        new_of_old = self.t.point_map[self.before.points]
        kept = self.new_slot[new_of_old]
        for name in result:
            result[name][kept] = self.arrays[name][: self.before.size]
        self._new_points(result)
        stuck = result["triangle"][:size, 0] >= 0
        for k in np.flatnonzero(stuck):
            self._partner(result, int(k))
        return result

    def _new_points(self, result) -> None:
        """Records of points that the cut made or moved; triangles are old ids still."""
        s, t = self.t.surgery, self.t
        for old_block, new_block in t.blocks():
            for i in np.flatnonzero(self.changed):
                k = self.new_slot[new_block.start + i]
                if k < 0:
                    continue
                parents = [
                    (old_block.start + c, w) for c, w in zip(s.corners[i], s.material[i], strict=True) if w > 1e-9
                ]
                slots = np.array([self.slot[p] for p, _ in parents])
                weights = np.array([w for _, w in parents])
                self._record(result, k, new_block.start + i, slots, weights, moved=i < t.old_size)

    def _record(self, result, k: int, point: int, slots, weights, moved: bool) -> None:
        """Between stuck points a point is stuck too, with the mean of their openings and histories; where they are in
        different states, with those of the nearest."""
        main = slots[int(np.argmax(weights))]
        stuck = (slots >= 0).all() and (self.arrays["triangle"][slots, 0] >= 0).all()
        for name, values in self.arrays.items():
            if name in ("triangle", "place") or (name in EXTENSIVE and moved):
                continue
            if name in EXTENSIVE or main < 0:
                result[name][k] = 0
            else:
                result[name][k] = values[main]
        if not stuck:
            if moved:
                return
            result["triangle"][k] = -1
            for name in ("reached", "beta", "active"):
                if name in result:
                    result[name][k] = 0
            return
        whole = [v for n, v in self.arrays.items() if v.dtype.kind == "i" and n != "triangle"]
        if len(slots) > 1 and not all((v[slots] == v[main]).all() for v in whole):
            slots, weights = np.array([main]), np.ones(1)
        opening = sum(w * self._opening(int(s)) for s, w in zip(slots, weights, strict=True))
        for name, values in self.arrays.items():
            if values.dtype.kind == "f" and values.ndim == 1 and name not in EXTENSIVE:
                result[name][k] = weights @ values[slots]
        anchor = self.t.points_after[point] - opening
        candidates = self.arrays["triangle"][slots]
        corners = self.t.points_before[candidates]
        weights3 = closest_weights(np.tile(anchor, (len(slots), 1)), corners[:, 0], corners[:, 1], corners[:, 2])
        foot = np.einsum("ij,ijk->ik", weights3, corners)
        best = int(np.argmin(np.linalg.norm(foot - anchor, axis=1)))
        result["triangle"][k] = candidates[best]
        result["place"][k] = _coordinates(anchor, corners[best])

    def _opening(self, slot: int) -> np.ndarray:
        corners = self.t.points_before[self.arrays["triangle"][slot]]
        return self.t.points_before[self.before.points[slot]] - _place(self.arrays["place"][slot], corners)

    def _partner(self, result, k: int) -> None:
        """New ids of the triangle to which record k is stuck: of its piece under the anchor when it was split."""
        t, old = self.t, result["triangle"][k]
        world, local = divmod(int(old[0]), t.old.points_per_world)
        ids = old - world * t.old.points_per_world - t.first
        if (ids < 0).any() or (ids >= t.old_size).any():
            result["triangle"][k] = t.point_map[old]
            return
        children = self.children[self.triangle_of[tuple(sorted(ids.tolist()))]]
        start = t.first + world * t.new.points_per_world
        pieces = t.surgery.triangles[children]
        if len(children) == 1 and not self.changed[pieces[0]].any():
            result["triangle"][k] = ids + start
            return
        anchor = _place(result["place"][k], t.points_before[old])
        corners = t.points_after[pieces + start]
        tiled = np.tile(anchor, (len(children), 1))
        foot = np.einsum("ij,ijk->ik", closest_weights(tiled, *(corners[:, j] for j in range(3))), corners)
        best = int(np.argmin(np.linalg.norm(foot - anchor, axis=1)))
        chosen = pieces[best]
        if (result["place"][k][2] < 0.0) != (_coordinates(anchor, corners[best])[2] < 0.0):
            chosen = chosen[::-1]  # the record was wound the other way
        result["triangle"][k] = chosen + start
        result["place"][k] = _coordinates(anchor, t.points_after[chosen + start])


def _place(q: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Host twin of engine.adhesion.anchor.anchor_place; corners (3, 3)."""
    a, b, c = corners
    n = np.cross(b - a, c - a)
    return a + q[0] * (b - a) + q[1] * (c - a) + q[2] * n / np.linalg.norm(n)


def _coordinates(y: np.ndarray, corners: np.ndarray) -> np.ndarray:
    return anchor_coordinates_host(y[None], corners[None, 0], corners[None, 1], corners[None, 2])[0]


def _riding_table(riding: Riding):
    """(first node, count, weights, offset) by point with the grasps written in, host arrays."""
    e = riding.base.embedding
    node, count = riding.node.copy(), riding.count.copy()
    weights, offset = e.point_weights.numpy().copy(), e.point_offset.numpy()
    node[riding.points] = riding.base.body_node.numpy()[riding.bodies]
    count[riding.points] = 4
    weights[riding.points] = riding.weights
    return node, count, weights, offset
