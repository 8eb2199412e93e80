"""How far the operator has come in the tactile scenes, for all worlds at once."""

from __future__ import annotations

import numpy as np

INSERTED = 0.75  # of the block's height: how deep the peg must stand
UPRIGHT = 0.98  # cosine of the tilt at which the peg counts as standing


def body_poses(engine, body: str) -> np.ndarray:
    """World from mesh frame of a body in every world, (W, 4, 4). Raises KeyError naming the bodies there are."""
    if body not in engine.model.bodies:
        raise KeyError(f"no body '{body}'; available: {', '.join(engine.model.bodies)}")
    info, worlds = engine.model.bodies[body], engine.model.num_worlds
    x = engine.state.x.numpy().reshape(worlds, -1, 3)[:, info.node : info.node + 4]
    poses = np.tile(np.eye(4), (worlds, 1, 1))
    poses[:, :3, 3], poses[:, :3, :3] = x[:, 0], np.swapaxes(x[:, 1:], 1, 2)
    return poses @ info.com_from_mesh


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
