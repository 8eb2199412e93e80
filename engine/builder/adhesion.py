"""Declarations of `ModelBuilder.add_adhesion`, and the makers of the interface terms that they need."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np

from engine.adhesion.sticky_surface import SIDES, AdhesionPart, resolve

# law of a material -> where its term lives; imported when a model needs it
LAWS = {
    "front": ("engine.adhesion.front", "FrontCohesion"),
    "rcc": ("engine.adhesion.rcc", "RccCohesion"),
    "bond": ("engine.adhesion.bonds", "Bonds"),
}


def adhesion_part(parts: dict, declared: list, mesh: str, side, partners, material, stuck) -> AdhesionPart:
    """A checked declaration. `parts`: the builder's meshes by name; `declared`: the declarations so far."""
    owner = f"add_adhesion of mesh '{mesh}'"
    names = tuple(parts) if isinstance(partners, str) and partners == "all" else partners
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in parts:
            raise ValueError(f"{owner}: no mesh named {name!r}; available: {', '.join(parts)}")
    if not names:
        raise ValueError(f"{owner}: partners is empty; name meshes, or 'all'")
    law = getattr(material, "law", None)
    if law not in LAWS:
        raise ValueError(f"{owner}: material is {material!r}; its law must be one of: {', '.join(LAWS)}")
    triangle_side = _triangle_side(owner, side, len(parts[mesh].triangles))
    for other in declared:
        if other.mesh == mesh and not np.array_equal(other.triangle_side, triangle_side):
            raise ValueError(f"{owner}: side differs from an earlier call for this mesh; a mesh has one sticky side")
    if isinstance(stuck, (bool, np.bool_)):
        return AdhesionPart(mesh, triangle_side, names, material, bool(stuck))
    start = np.asarray(stuck)
    limits = [len(parts[name].vertices) for name in (mesh, names[0], names[0], names[0])]
    fits = start.ndim == 2 and start.shape[1] == 4 and (start >= 0).all() and (start < limits).all()
    if not fits or len(names) != 1 or len(np.unique(start[:, 0])) != len(start):
        raise ValueError(
            f"{owner}: stuck has shape {start.shape}, partners {', '.join(names)}; it must be True, False, or (k, 4) "
            "for one partner: each vertex of the mesh once, then the three vertices of its triangle on the partner"
        )
    return AdhesionPart(mesh, triangle_side, names, material, True, start.astype(np.int64))


def _triangle_side(owner: str, side, triangles: int) -> np.ndarray:
    if isinstance(side, str):
        if side not in SIDES:
            raise ValueError(f"{owner}: side is {side!r}; legal values: {', '.join(SIDES)}, or an array by triangle")
        return np.full(triangles, SIDES[side], dtype=np.int64)
    values = np.asarray(side)
    if values.shape != (triangles,) or not np.isin(values, (-1, 0, 1, 2)).all():
        raise ValueError(
            f"{owner}: side by triangle must have shape ({triangles},) and values 1 (where the normal points), -1 (the "
            f"other side), 2 (both), 0 (not sticky); got shape {values.shape}"
        )
    return values.astype(np.int64)


def interface_makers(declared: list[AdhesionPart]) -> tuple:
    """One maker a law that rules at least one pair of meshes, in the order of LAWS."""
    used = {part.material.law for part in resolve(declared).values()}
    classes = [getattr(import_module(module), name) for law, (module, name) in LAWS.items() if law in used]
    return tuple(partial(term, parts=tuple(declared)) for term in classes)
