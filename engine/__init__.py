"""The physics: numpy and Warp only. It knows nothing of YAML, screens or devices.

from engine import ModelBuilder, Engine, Options
"""

from __future__ import annotations

from engine.builder import ModelBuilder
from engine.cutting.cut import Cut
from engine.edits import Grasp, Release
from engine.materials import (
    ContactMaterial,
    JointDrive,
    JointFriction,
    JointSpring,
    ShellMaterial,
    SolidMaterial,
)
from engine.options import Options

__all__ = [
    "ContactMaterial",
    "Cut",
    "Engine",
    "Grasp",
    "JointDrive",
    "JointFriction",
    "JointSpring",
    "ModelBuilder",
    "Options",
    "Release",
    "ShellMaterial",
    "SolidMaterial",
]


def __getattr__(name: str):
    if name == "Engine":  # on first use: it loads every kernel module
        from engine.engine import Engine

        return Engine
    raise AttributeError(f"module 'engine' has no attribute {name!r}; available: {', '.join(__all__)}")
