"""Cuts as the application sees them: wishes that a recording keeps, where an armed one would run, meshes of replays."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.frame import Request
from engine.cutting.cut import Cut, from_arrays, same_records

BELOW = 0.03  # [m] how far under a blade's edge an armed cut looks for a sheet
BEYOND = 0.05  # of a strip's width: how far the line of an armed cut reaches over its borders
BESIDE = 0.15  # [m] farther than this from the tool no sheet is chosen


def cut_request(cut: Cut, by: str = "") -> Request:
    """The wish `cut`: plain values, so that a recording keeps every bit of it. by: who asks, "" = the operator."""
    value = {"mesh": cut.mesh, "line": [list(place) for place in cut.line], "space": cut.space, "reach": cut.reach}
    return Request("cut", value | ({"by": by} if by else {}))


def cut_of(value: dict[str, Any]) -> Cut:
    """Inverse of `cut_request`. Raises KeyError or ValueError for a value that is no cut."""
    if not isinstance(value, dict):
        raise ValueError(f"cut is {value!r}; it must be a table with mesh and line")
    for key in ("mesh", "line"):
        if key not in value:
            raise ValueError(f"cut lacks '{key}'; it needs mesh and line, and may have space and reach")
    return Cut(str(value["mesh"]), value["line"], space=value.get("space") or "rest", reach=value.get("reach"))


def blade_cutter(scene, engine):
    """The cutter of a scene with a blade, else None."""
    blade = getattr(scene, "blade", None)
    if blade is None:
        return None
    from engine.cutting.blade import BladeCutter

    return BladeCutter(
        engine, blade.mesh, blade.edge, blade.targets, threshold=blade.threshold, steps=blade.steps,
        contact_width=blade.contact_width, enabled=blade.enabled,
    )  # fmt: skip


def aimed_cuts(engine, blade, place: np.ndarray | None) -> list[Cut]:
    """Cuts that `arm_cut` may mean, the nearest first: along the blade's edge onto each of its targets; without a
    blade, straight across the sheet nearest to the tool.

    blade: a BladeCutter or None. place: (3,) of the tool [m], None = there is none.

    Raises ValueError when there is neither blade nor tool, or no sheet near it.
    """
    if blade is not None:
        return [Cut(name, blade.edge_now(), space="world", reach=BELOW) for name in blade.targets]
    if place is None:
        raise ValueError("there is neither a blade nor a tool that could say where")
    found = []
    own = engine.model.embedding.point_count.numpy() == 1
    for name, info in engine.model.meshes.items():
        if info.kind != "shell":
            continue
        middle, axes = flat_frame(info.rest)
        along, over = ((info.rest - middle) @ axis for axis in axes[:2])
        free = apart_from_held(along, own[info.points], 0.5 * np.ptp(over))
        away = np.where(free, np.linalg.norm(engine.mesh_positions(name) - place, axis=1), np.inf)
        nearest = int(np.argmin(away))
        if away[nearest] < BESIDE:
            found.append((float(away[nearest]), Cut(name, across(info.rest, nearest))))
    if not found:
        raise ValueError(f"no sheet that is free to be cut lies within {100 * BESIDE:.0f} cm of the tool")
    return [cut for _, cut in sorted(found, key=lambda pair: pair[0])]


def flat_frame(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle (3,) of a flat rest shape (n, 3) [m] and its directions: the longest, across it, the normal, (3, 3)."""
    middle = rest.mean(axis=0)
    return middle, np.linalg.svd(rest - middle, full_matrices=False)[2]


def apart_from_held(along: np.ndarray, own: np.ndarray, margin: float) -> np.ndarray:
    """Vertices at least a margin [m] along the sheet from its ends and from all that is held or wound, bool (n,).

    along: coordinate of each vertex [m], (n,); own: bool (n,), False: it is pinned or rides on a body.
    """
    held = np.sort(np.concatenate([[along.min()], along[~own], [along.max()]]))
    k = np.clip(np.searchsorted(held, along), 1, len(held) - 1)
    return own & (np.minimum(np.abs(along - held[k - 1]), np.abs(along - held[k])) >= (1.0 - 1e-9) * margin)


def across(rest: np.ndarray, vertex: int) -> np.ndarray:
    """Ends of the line through a vertex, square to the longest direction of a flat rest shape (n, 3) [m], (2, 3)."""
    middle, axes = flat_frame(rest)
    over = (rest - middle) @ axes[1]
    foot = middle + ((rest[vertex] - middle) @ axes[0]) * axes[0]
    margin = BEYOND * np.ptp(over)
    return foot + np.array([[over.min() - margin], [over.max() + margin]]) * axes[1]


def take_topology(engine, state: dict[str, np.ndarray]) -> bool:
    """Brings the engine to a recorded state when that has other cuts; False: its meshes fit already."""
    if "cut_index" not in state:
        return False
    meshes = engine.model.meshes
    if same_records(from_arrays(state, meshes), from_arrays(engine.get_state(), meshes)):
        return False
    engine.set_state(state)
    return True
