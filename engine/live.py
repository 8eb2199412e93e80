"""Materials edited while an engine runs: friction of a mesh, adhesives of a pair. They belong to the engine, not to the
state: a reset leaves them, `Engine.save` writes them beside the state.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import warp as wp


def friction_of(engine, mesh: str) -> float:
    """friction_mu of a mesh now, in world 0 [-]; a pair of meshes has the geometric mean of both.

    Raises KeyError naming the meshes that touch anything.
    """
    collision = engine.model.collision
    if mesh not in engine.model.meshes or collision is None or _surface(engine.model, mesh) < 0:
        legal = [] if collision is None else [n for n in engine.model.meshes if _surface(engine.model, n) >= 0]
        raise KeyError(f"no mesh '{mesh}' that touches others; available: {', '.join(legal) or 'none'}")
    return float(collision.surface_friction_mu.numpy()[_surface(engine.model, mesh)])


def check_friction(mesh: str, value) -> float:
    """Raises ValueError for what is no coefficient of friction."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < np.inf:
        raise ValueError(f"friction_mu of '{mesh}' is {value!r}; it must be a number from 0 on [-]")
    return float(value)


def with_friction(model, edited: dict[str, float]):
    """The model with the coefficients of some meshes replaced in all worlds; the one given is not changed."""
    if not edited or model.collision is None:
        return model
    c = model.collision
    values = c.surface_friction_mu.numpy().copy()
    per_world = len(values) // model.num_worlds
    for mesh, value in edited.items():
        values[_surface(model, mesh) % per_world :: per_world] = value
    array = wp.array(values, dtype=wp.float64, device=model.device)
    return replace(model, collision=replace(c, surface_friction_mu=array))


def _surface(model, mesh: str) -> int:
    """Surface of a mesh in world 0, -1 when it has none."""
    return int(model.collision.point_surface.numpy()[model.meshes[mesh].points.start])


def edited_materials(engine) -> dict:
    """All that was edited, plain values for a file."""
    terms = {term.name: [asdict(m) for m in term.sticky.materials] for term in engine.interfaces}
    return {"friction": dict(engine.friction_edits), "adhesives": terms}


def check_materials(engine, saved: dict) -> None:
    """Raises ValueError when `edited_materials` of a file does not fit this engine."""
    for term in engine.interfaces:
        there, here = len(saved.get("adhesives", {}).get(term.name, ())), len(term.sticky.materials)
        if there != here:
            raise ValueError(f"the file has {there} adhesives of '{term.name}'; this model has {here}")


def take_materials(engine, saved: dict) -> None:
    """Inverse of `edited_materials`."""
    check_materials(engine, saved)
    for term in engine.interfaces:
        found = saved["adhesives"][term.name]
        term.sticky.materials[:] = [
            type(old)(**values) for old, values in zip(term.sticky.materials, found, strict=True)
        ]
        term._write_materials()
    engine.friction_edits = {name: float(value) for name, value in saved.get("friction", {}).items()}
