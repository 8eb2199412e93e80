"""From named meshes, bodies and joints to an `engine.types.Model`."""

from engine.builder.model_builder import ModelBuilder

__all__ = ["ModelBuilder"]
