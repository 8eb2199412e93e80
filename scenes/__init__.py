"""Scenes: YAML files, their schema, meshes from files, and the builders that turn them into an engine model."""

from scenes.config import SceneConfig, list_scenes, load_config
from scenes.errors import SceneError

__all__ = ["SceneConfig", "SceneError", "build_scene", "list_scenes", "load_config"]


def build_scene(config: SceneConfig, device: str = "cpu", num_worlds: int | None = None, first: int | None = None,
                batch: int = 0):  # fmt: skip
    """See scenes.build.build_scene. Imported here so that listing and validating scenes stays quick."""
    from scenes.build import build_scene as build

    return build(config, device, num_worlds, first, batch)
