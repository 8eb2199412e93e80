"""How far the operator has come in the tactile scenes, for all worlds at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.types import mesh_pose

INSERTED = 0.75  # of the block's height: how deep the peg must stand
UPRIGHT = 0.98  # cosine of the tilt at which the peg counts as standing


def body_poses(engine, body: str) -> np.ndarray:
    """World from mesh frame of a body in every world, (W, 4, 4). Raises KeyError naming the bodies there are."""
    if body not in engine.model.bodies:
        raise KeyError(f"no body '{body}'; available: {', '.join(engine.model.bodies)}")
    info, worlds = engine.model.bodies[body], engine.model.num_worlds
    return mesh_pose(info, engine.state.x.numpy().reshape(worlds, -1, 3)[:, info.node : info.node + 4])


def static_box(engine, mesh: str) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of a static mesh in every world [m], (W, 3) each."""
    info, worlds = engine.model.meshes[mesh].points, engine.model.num_worlds
    places = engine.model.embedding.point_offset.numpy().reshape(worlds, -1, 3)[:, info]
    return places.min(axis=1), places.max(axis=1)


def clearance(engine, mesh: str, floor: float = 0.0) -> np.ndarray:
    """Height of the lowest vertex of a mesh over a floor [m], (W,)."""
    return np.array([engine.mesh_positions(mesh, w)[:, 2].min() for w in range(engine.model.num_worlds)]) - floor


def inserted_depth(engine, peg: str = "peg", block: str = "block") -> np.ndarray:
    """How far the peg's lower end stands below the top of the block, over its hole [m], (W,); 0 beside it."""
    poses, rest = body_poses(engine, peg), engine.model.meshes[peg].rest
    low, high = static_box(engine, block)
    tip = poses @ np.array([*(0.5 * (rest.min(axis=0) + rest.max(axis=0)))[:2], rest[:, 2].min(), 1.0])
    hole = engine.model.meshes[block].rest
    inner = hole[np.abs(hole[:, :2]).max(axis=1) < 0.9 * np.abs(hole[:, :2]).max()]
    reach = np.linalg.norm(inner[:, :2], axis=1).max()
    over = np.linalg.norm(tip[:, :2] - 0.5 * (low + high)[:, :2], axis=1) < reach
    return np.where(over, np.maximum(high[:, 2] - tip[:, 2], 0.0), 0.0)


def inserted(engine, peg: str = "peg", block: str = "block") -> np.ndarray:
    """Whether the peg stands in the hole, bool (W,)."""
    low, high = static_box(engine, block)
    upright = body_poses(engine, peg)[:, 2, 2] > UPRIGHT
    return upright & (inserted_depth(engine, peg, block) > INSERTED * (high - low)[:, 2])


# Relief printed in a coat ------------------------------------------------------------------------------------------
CLEAR = 0.5  # correlation of print and relief from which a print counts as clear
ROOM = 8e-3  # [m] between places that count as two


@dataclass(frozen=True)
class Print:
    """What the coat of a pad shows of a static surface below it. mesh: its name; correlation: of the coat's indentation
    with how far the surface reaches into the undeformed coat, over the coat vertices above it [-]; depth: largest
    indentation [m]; place: middle of the coat, carried undeformed [m], (3,)."""

    mesh: str
    correlation: float
    depth: float
    place: np.ndarray

    @property
    def clear(self) -> bool:
        return self.correlation >= CLEAR


def printed(engine, pad: str, meshes: tuple[str, ...], world: int = 0) -> Print | None:
    """The print of that mesh of `meshes` which the coat of `pad` touches most, None when it touches none of them.

    The coat is the pad's lowest layer at rest, the layer on top is bonded and tells where the pad would be undeformed.
    Raises KeyError naming the meshes there are.
    """
    for name in (pad, *meshes):
        if name not in engine.model.meshes:
            raise KeyError(f"no mesh '{name}'; available: {', '.join(engine.model.meshes)}")
    rest, now = engine.model.meshes[pad].rest, engine.mesh_positions(pad, world)
    low, high = rest[:, 2].min(), rest[:, 2].max()
    coat, held = (np.flatnonzero(np.abs(rest[:, 2] - end) < 1e-3 * (high - low)) for end in (low, high))
    turn, shift = rigid_fit(rest[held], now[held])
    seen = (now[coat] - shift) @ turn  # as if the pad had stayed where it was at rest
    touching = {name: len(engine.touching([name], world).get(pad, ())) for name in meshes}
    name = max(touching, key=touching.get)
    if not touching[name]:
        return None
    surface = (engine.mesh_positions(name, world) - shift) @ turn
    below = surface_height(surface, engine.model.meshes[name].triangles, seen[:, :2])
    over = np.isfinite(below)
    indentation, reach = seen[over, 2] - low, np.maximum(below[over] - low, 0.0)
    even = not over.any() or min(indentation.std(), reach.std()) < 1e-7
    alike = 0.0 if even else float(np.corrcoef(indentation, reach)[0, 1])
    return Print(name, alike, float((seen[:, 2] - low).max()), turn @ rest[coat].mean(axis=0) + shift)


def rigid_fit(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and shift (3,) that carry the points a onto b, (n, 3) each, by least squares (Kabsch 1976)."""
    middle_a, middle_b = a.mean(axis=0), b.mean(axis=0)
    u, _, vt = np.linalg.svd((b - middle_b).T @ (a - middle_a))
    turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
    return turn, middle_b - turn @ middle_a


def surface_height(vertices: np.ndarray, triangles: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Largest z of a surface over places (n, 2) [m], float64 (n,); NaN beside it."""
    corners = vertices[np.asarray(triangles)]
    near = (corners[:, :, :2].max(axis=1) >= places.min(axis=0)).all(axis=1)
    near &= (corners[:, :, :2].min(axis=1) <= places.max(axis=0)).all(axis=1)
    a, u, v = corners[near, 0], *(corners[near, k] - corners[near, 0] for k in (1, 2))
    twice_area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    a, u, v, twice_area = (array[twice_area != 0.0] for array in (a, u, v, twice_area))  # without upright ones
    if not len(a):
        return np.full(len(places), np.nan)
    x, y = (places[:, None, k] - a[:, k] for k in (0, 1))
    wu, wv = (x * v[:, 1] - y * v[:, 0]) / twice_area, (y * u[:, 0] - x * u[:, 1]) / twice_area
    inside = (wu >= -1e-9) & (wv >= -1e-9) & (wu + wv <= 1.0 + 1e-9)
    height = np.where(inside, a[:, 2] + wu * u[:, 2] + wv * v[:, 2], -np.inf).max(axis=1)
    return np.where(np.isfinite(height), height, np.nan)


class Felt:
    """What a pad has felt since a scene began: `watch` after every step, or every few."""

    def __init__(self):
        self.prints: list[Print] = []  # the clearest of each place

    def watch(self, engine, pad: str, meshes: tuple[str, ...]) -> None:
        """Note the present print where it is clear."""
        now = printed(engine, pad, meshes)
        if now is None or not now.clear:
            return
        for k, known in enumerate(self.prints):
            if known.mesh == now.mesh and np.linalg.norm(known.place - now.place) < ROOM:
                if now.correlation > known.correlation:
                    self.prints[k] = now
                return
        self.prints.append(now)

    @property
    def names(self) -> list[str]:
        """Meshes felt, in the order in which they were."""
        return list(dict.fromkeys(one.mesh for one in self.prints))
