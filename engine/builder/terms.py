"""Energy terms of one world as plain arrays; `assembly` replicates them and makes the Energy instances."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.builder.layout import WorldLayout
from engine.builder.parts import MeshPart
from engine.mesh import rest
from engine.mesh.topology import hinges


@dataclass
class Term:
    """Elements of one energy in one world. `kind` names the class in `assembly.ENERGY_CLASSES`."""

    kind: str
    stencils: np.ndarray  # local point ids, int (E, k)
    values: dict[str, np.ndarray] = field(default_factory=dict)  # constructor argument -> (E, ...)


class TermCollector:
    """Gathers elements of the same kind from several meshes into one Term each, in the order of first use."""

    def __init__(self):
        self._pieces: dict[str, list[Term]] = {}

    def add(self, kind: str, stencils, **values) -> int:
        """Append elements; returns the index of the first one within its kind. Scalars are broadcast."""
        pieces = self._pieces.setdefault(kind, [])
        first = sum(len(p.stencils) for p in pieces)
        stencils = np.asarray(stencils, dtype=np.int64)
        count = len(stencils)
        arrays = {
            k: np.full(count, v, dtype=np.float64) if np.ndim(v) == 0 else np.asarray(v) for k, v in values.items()
        }
        pieces.append(Term(kind, stencils, arrays))
        return first

    def terms(self) -> list[Term]:
        out = []
        for kind, pieces in self._pieces.items():
            values = {k: np.concatenate([p.values[k] for p in pieces]) for k in pieces[0].values}
            out.append(Term(kind, np.concatenate([p.stencils for p in pieces]), values))
        return [term for term in out if len(term.stencils)]


def add_mesh_terms(terms: TermCollector, part: MeshPart, layout: WorldLayout) -> None:
    """Membrane, hinges, tetrahedra and damping of one mesh. Elements that cannot deform are left out: all corners
    static, or all riding on one body."""
    if part.kind == "shell":
        _add_shell(terms, part, layout)
    elif part.kind == "solid":
        _add_solid(terms, part, layout)
    if part.kind in ("shell", "solid") and part.material.damping > 0.0:
        moving = np.flatnonzero(~part.pinned)
        ids = layout.mesh_points[part.name].start + moving
        terms.add("damping", ids[:, None], coefficient=part.material.damping * part.point_mass[moving])


def _deformable(layout: WorldLayout, stencils: np.ndarray) -> np.ndarray:
    """bool (E,): not all corners move with the same body, and not all of them are static."""
    carrier = layout.carrier_key()[stencils]
    return (carrier != carrier[:, :1]).any(axis=1)


def _add_shell(terms: TermCollector, part: MeshPart, layout: WorldLayout) -> None:
    m, start = part.material, layout.mesh_points[part.name].start
    keep = _deformable(layout, part.triangles + start)
    t = part.triangles[keep]
    terms.add(
        "membrane", t + start,
        dm_inv=rest.shell_dm_inv(part.rest, t), rest_area=rest.triangle_areas(part.rest, t), thickness=m.thickness,
        lame_mu=m.young / (2.0 * (1.0 + m.poisson)),
        lame_lambda=m.young * m.poisson / (1.0 - m.poisson**2),  # plane stress
    )  # fmt: skip
    h = hinges(part.triangles)
    shape = rest.hinge_shape(part.rest, h) if part.cut is None else part.cut.hinge_shape
    keep = _deformable(layout, h + start)
    h, shape = h[keep], shape[keep]
    rigidity = m.young * m.thickness**3 / (12.0 * (1.0 - m.poisson**2))
    scale = {"plate": 1.0, "grinspun": 3.0}[m.bending_weight]
    terms.add(
        "hinge", h + start,
        rest_angle=rest.hinge_angles(part.rest, h), weight=scale * rigidity * shape,
    )  # fmt: skip


def _add_solid(terms: TermCollector, part: MeshPart, layout: WorldLayout) -> None:
    m, start = part.material, layout.mesh_points[part.name].start
    tets = part.tets[_deformable(layout, part.tets + start)]
    terms.add(
        "neo_hookean", tets + start,
        dm_inv=rest.tet_dm_inv(part.rest, tets), rest_volume=rest.tet_volumes(part.rest, tets),
        lame_mu=m.young / (2.0 * (1.0 + m.poisson)),
        lame_lambda=m.young * m.poisson / ((1.0 + m.poisson) * (1.0 - 2.0 * m.poisson)),
    )  # fmt: skip


def add_body_terms(terms: TermCollector, layout: WorldLayout) -> None:
    """Orthogonality of every body, then the drive of the driven ones, both in the order of adding."""
    bodies = layout.bodies
    if not bodies:
        return
    frames = np.arange(4 * len(bodies)).reshape(-1, 4)
    terms.add("orthogonality", frames, stiffness=np.array([b.stiffness * b.volume for b in bodies]))
    driven = np.array([b.driven for b in bodies])
    if driven.any():
        moments = layout.body_mass[driven]
        limits = [np.inf if b.force_limit is None else b.force_limit for b in bodies if b.driven]
        terms.add(
            "drive", frames[driven],
            metric=moments / moments[:, :1, :1],
            stiffness=np.array([b.drive_stiffness for b in bodies if b.driven]),
            force_limit=np.array(limits, dtype=np.float64),
        )  # fmt: skip
