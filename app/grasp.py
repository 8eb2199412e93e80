"""The optional grasp constraint: what the fingers touch rides on them until it is let go.

Off by default: the pinch by contact and friction is the honest one. It helps where a demonstration is about what comes
after the pinch.
"""

from __future__ import annotations

import numpy as np


def touched(engine, tool) -> dict[tuple[str, str], np.ndarray]:
    """Vertices of shells and solids that are in contact with the fingers of a tool.

    Args:
        engine: with `model` and `touching(meshes)`.

    Returns:
        (mesh, body) -> local vertex ids; a vertex that two fingers touch goes to the first of them.
    """
    names = list(engine.model.bodies)
    out: dict[tuple[str, str], np.ndarray] = {}
    taken: dict[str, np.ndarray] = {}
    for finger in tool.grasp_meshes:
        info = engine.model.meshes[finger]
        if info.body < 0:
            continue
        for mesh, vertices in engine.touching([finger]).items():
            free = np.setdiff1d(vertices, taken.get(mesh, np.zeros(0, int)))
            if len(free):
                taken[mesh] = np.union1d(taken.get(mesh, np.zeros(0, int)), free)
                out[(mesh, names[info.body])] = free
    return out
