"""Choosing vertices of a mesh by side and box."""

from __future__ import annotations

import numpy as np

from scenes.errors import SceneError
from scenes.placed import Region

SIDE_SHARE = 1e-6  # [-] vertices within this share of the extent belong to a side


def vertices_in(region: Region, vertices: np.ndarray, owner: str) -> np.ndarray:
    """Ids of the vertices of a region. vertices (n, 3) in the mesh's own frame [m]. SceneError when there are none."""
    mask = np.ones(len(vertices), bool)
    if region.side is not None:
        mask &= on_side(vertices, region.side)
    if region.low is not None:
        mask &= (vertices >= np.array(region.low)).all(axis=1)
    if region.high is not None:
        mask &= (vertices <= np.array(region.high)).all(axis=1)
    if not mask.any():
        low, high = (", ".join(f"{c:.4g}" for c in f(vertices, axis=0)) for f in (np.min, np.max))
        raise SceneError(f"{owner}: no vertex lies in this region; the mesh spans ({low}) to ({high}) m", region.place)
    return np.flatnonzero(mask)


def on_side(vertices: np.ndarray, side: str) -> np.ndarray:
    """Mask (n,) of the vertices that are extreme along `side`: one of -x +x -y +y -z +z."""
    axis, sign = "xyz".index(side[1]), 1.0 if side[0] == "+" else -1.0
    reach = SIDE_SHARE * float(np.ptp(vertices, axis=0).max())
    along = sign * vertices[:, axis]
    return along >= along.max() - reach
