"""What does not fit between an episode and a scene that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from app.record.episode import Episode


def misfits(
    episode: Episode, scene_name: str | None, num_points: int | None, state: dict[str, np.ndarray] | None
) -> list[str]:
    """In words; empty when the episode can be replayed there. None: not compared."""
    found = []
    if scene_name is not None and scene_name != episode.scene_name:
        found.append(f"recorded in the scene {episode.scene_name!r}, this is {scene_name!r}")
    if num_points is not None and episode.num_points and num_points != episode.points_at(0):
        found.append(f"recorded with {episode.points_at(0)} points, this scene has {num_points}")
    if state is not None and len(episode.keyframe_rows):
        found += _of_arrays(episode.keyframe(0), state)
    return found


def _of_arrays(first: dict[str, np.ndarray], state: dict[str, np.ndarray]) -> list[str]:
    found = []
    for name in sorted(set(first) | set(state)):
        if name not in state:
            found.append(f"state array {name!r} was recorded, this scene has none")
        elif name not in first:
            found.append(f"state array {name!r} of this scene was not recorded")
        else:
            now = np.asarray(state[name])
            if now.dtype != first[name].dtype or now.ndim != first[name].ndim:
                found.append(
                    f"state array {name!r}: recorded {first[name].shape} {first[name].dtype}, "
                    f"this scene {now.shape} {now.dtype}"
                )
            elif now.shape != first[name].shape:
                found.append(f"state array {name!r}: recorded {first[name].shape}, this scene {now.shape}")
    return found
