"""From named meshes, bodies and joints to an `engine.types.Model`."""

from engine.builder.model_builder import ModelBuilder, build_worlds

__all__ = ["ModelBuilder", "build_worlds"]
