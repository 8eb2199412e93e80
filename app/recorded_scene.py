"""The scene that an episode was recorded in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.record import Episode


def versions_of(episode: Episode) -> dict[str, Any]:
    """Versions, processor, input and overrides of the recording; {} when the episode has lost them."""
    versions = episode.meta.get("versions")
    return versions if isinstance(versions, dict) else {}


def scene_of(episode: Episode, scene: str | None) -> tuple[str, list[str]]:
    """Scene and overrides of the recording; another scene than the recorded one comes as it is.

    Raises ValueError when the recorded one does not ship and no file was named.
    """
    from scenes.config import list_scenes

    overrides = [str(text) for text in versions_of(episode).get("overrides", [])]
    if scene is not None:
        return scene, overrides if Path(scene).stem == episode.scene_name else []
    if episode.scene_name not in {name for name, _, _ in list_scenes()}:
        raise ValueError(
            f"{episode.name} was recorded in the scene '{episode.scene_name}', which does not ship: "
            "name its file with --scene FILE.yaml"
        )
    return episode.scene_name, overrides
