"""Cameras that look at a scene: exact depth and shaded colour of any triangles, without OpenGL. docs/cameras.md."""

from engine.cameras.pinhole import Pinhole, look_at
from engine.cameras.renderer import Picture, Renderer, Surface

__all__ = ["Picture", "Pinhole", "Renderer", "Surface", "look_at"]
