"""What is told of tape beside positions: regions, damage, and the numbers of the tape panel.

Recorded with the frame as `extra["tape"]`: one entry a roll (`front` and `collar` in rows, `free_rows`, `payout` [m],
`turned` [rad], `tension` [N]), and of every mesh with a sticky side how far each point has come off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engine.adhesion.numbering import whole_state
from engine.tape.placing import core_name

_STRENGTH = {"front": ("work", "J/m2"), "rcc": ("work", "J/m2"), "bond": ("break_force", "N")}  # law -> key, unit
TENSION_ROWS = 12  # rows of cells next to the roll over which tension is averaged
FOLD_ROWS = 2  # rows of cells between the last stuck row and those


def tape_reader(session) -> TapeReader | None:
    """For a scene with something sticky, else None."""
    if not getattr(session.engine, "interfaces", ()):
        return None
    return TapeReader(session.engine, getattr(session.scene, "rolls", {}) or {})


class TapeReader:
    """Reads one engine. `rolls`: name of a roll's strip -> its asset (`Scene.rolls`)."""

    def __init__(self, engine, rolls: dict[str, Any]):
        self.engine, self.rolls = engine, rolls
        self._angle: dict[str, float] = {}
        self._turned = dict.fromkeys(rolls, 0.0)

    def reset(self) -> None:
        """After a jump of the state: turns are counted from here."""
        self._angle.clear()
        self._turned = dict.fromkeys(self.rolls, 0.0)

    def read(self) -> dict[str, Any]:
        """For `Frame.extra["tape"]`: {"rolls": {name: numbers}, "damage": {mesh: (n,) float32}}."""
        partners = [
            (term, whole_state(term)["triangle"][: term.sticky.size])
            for term in self.engine.interfaces
            if hasattr(term, "sticky")
        ]
        return {
            "rolls": {name: self._roll(name, partners) for name in self.rolls},
            "damage": self._damage(partners),
        }

    def _damage(self, partners: list) -> dict[str, np.ndarray]:
        """0 stuck and intact to 1 free, by vertex of every mesh with a sticky side; other vertices of it are NaN."""
        model, found = self.engine.model, {}
        for term, partner in partners:
            points, stuck = term.sticky.points, partner[:, 0] >= 0
            # records set aside behind a cluster look free to the law's kernels; they are intact
            values = np.where(stuck, term.damage(), 1.0)
            values[stuck & _aside(term)] = 0.0
            for name, info in model.meshes.items():
                mine = (points >= info.points.start) & (points < info.points.stop)
                if mine.any():
                    out = found.setdefault(name, np.full(info.points.stop - info.points.start, np.nan, np.float32))
                    local = points[mine] - info.points.start
                    out[local] = np.fmin(out[local], values[mine])  # two laws: stuck by either is stuck
        return found

    def _roll(self, name: str, partners: list) -> dict[str, float]:
        asset, engine = self.rolls[name], self.engine
        pose = engine.body_transform(core_name(name))
        self._count_turns(name, pose)
        cluster = engine.rolls.get(name)
        info = engine.model.meshes[name]
        row = strip_rows(info.rest, asset.spec.cell)
        free = free_rows(row, self._stuck_to_roll(name, partners) - info.points.start)
        return {
            "front": 0 if cluster is None else int(cluster.front[0]),
            "collar": 0 if cluster is None else cluster.spec.collar_rows,
            "free_rows": free,
            "payout": free * asset.spec.cell,
            "turned": self._turned[name],
            "tension": strip_tension(
                asset.spec, info.rest, np.asarray(info.triangles), engine.mesh_positions(name), free
            ),
        }

    def _count_turns(self, name: str, pose: np.ndarray) -> None:
        """Turns of the core about its own axis since the start [rad], positive as it pays out."""
        x, y = pose[:3, 0], pose[:3, 1]
        across = np.array([0.0, 0.0, 1.0]) - y[2] * y  # upward, square to the axis; sideways for an upright axis
        if np.linalg.norm(across) < 1e-3:
            across = np.array([1.0, 0.0, 0.0]) - y[0] * y
        angle = float(np.arctan2(x @ np.cross(y, across), x @ across))
        step = angle - self._angle.get(name, angle)
        self._turned[name] += (step + np.pi) % (2.0 * np.pi) - np.pi
        self._angle[name] = angle

    def _stuck_to_roll(self, name: str, partners: list) -> np.ndarray:
        """Global ids of the strip's points that are stuck to the strip itself or to its core."""
        model = self.engine.model
        own = (model.meshes[name].points, model.meshes[core_name(name)].points)
        strip, found = own[0], [np.zeros(0, int)]
        for term, partner in partners:
            points, corner = term.sticky.points, partner[:, 0]
            to_own = np.any([(corner >= p.start) & (corner < p.stop) for p in own], axis=0)
            found.append(points[to_own & (points >= strip.start) & (points < strip.stop)])
        return np.unique(np.concatenate(found))


def adhesive_pairs(engine) -> list[dict[str, Any]]:
    """What may be edited live: mesh, partner, law, value and unit of each pair that sticks (W, or a bond's limit)."""
    found = []
    for term in engine.interfaces:
        sticky = getattr(term, "sticky", None)
        for a, b in np.argwhere(sticky.table >= 0) if sticky is not None else ():
            key, unit = _STRENGTH[term.law]
            value = float(getattr(sticky.materials[sticky.table[a, b]], key))
            found.append(
                {"mesh": sticky.names[a], "partner": sticky.names[b], "law": term.law, "value": value, "unit": unit}
            )
    return found


def edit_adhesive(engine, edit: dict[str, Any]) -> str:
    """Carry out the wish `set_adhesion` between steps: {"mesh", "partner", "value"}.

    What is stuck pulls by the new value from the next step on. Returns what to say. Raises KeyError for a pair that
    does not stick, ValueError for a value that is not a number from 0 on (a bond's must be above 0).
    """
    mesh, partner, value = str(edit["mesh"]), str(edit["partner"]), edit["value"]
    for term in engine.interfaces:
        sticky = getattr(term, "sticky", None)
        if sticky is None or mesh not in sticky.names or partner not in sticky.names:
            continue
        row = sticky.table[sticky.names.index(mesh), sticky.names.index(partner)]
        if row >= 0:
            key, unit = _STRENGTH[term.law]
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < np.inf:
                raise ValueError(f"{key} of {mesh} on {partner} is {value!r}; it must be a number from 0 on [{unit}]")
            term.set_material(mesh, partner, replace(sticky.materials[row], **{key: float(value)}))
            return f"{mesh} on {partner}: {value:.4g} {unit}"
    pairs = ", ".join(f"{p['mesh']} on {p['partner']}" for p in adhesive_pairs(engine)) or "none"
    raise KeyError(f"{mesh} does not stick to {partner}; pairs: {pairs}")


def friction_pairs(engine) -> list[dict[str, Any]]:
    """What may be edited live beside adhesives: mesh and friction_mu of each mesh that touches others [-]."""
    model = engine.model
    collision = getattr(model, "collision", None)
    if collision is None:
        return []
    values, surface = collision.surface_friction_mu.numpy(), collision.point_surface.numpy()
    first = {name: int(surface[info.points.start]) for name, info in model.meshes.items()}
    return [{"mesh": name, "value": float(values[s])} for name, s in first.items() if s >= 0]


def edit_friction(engine, edit: dict[str, Any]) -> str:
    """Carry out the wish `set_friction` between steps: {"mesh", "value"}. Returns what to say. Raises KeyError or
    ValueError naming what does not fit."""
    mesh = str(edit["mesh"])
    engine.set_friction(mesh, edit["value"])
    return f"friction of {mesh}: {edit['value']:.3g}"


def _aside(term) -> np.ndarray:
    """Records that the law's kernels do not see at present, bool (S,)."""
    numbering = getattr(term, "numbering", None)
    size = term.sticky.size
    return np.zeros(size, bool) if numbering is None else ~numbering.present[:size]


def strip_rows(rest: np.ndarray, cell: float) -> np.ndarray:
    """Row of each vertex of a strip from its inner end, int (n,). By its rest place (n, 3) [m], since a cut adds points
    that stand in no row of the wound mesh; they count to the row further in."""
    return np.floor((rest[:, 0] - rest[:, 0].min()) / cell + 1e-6).astype(int)


def free_rows(row: np.ndarray, stuck: np.ndarray) -> int:
    """Rows of the outer end of which no point is stuck to the roll. row: of each vertex; stuck: vertices that are."""
    return int(row.max() - row[stuck].max()) if len(stuck) else int(row.max()) + 1


def strip_tension(spec, rest: np.ndarray, triangles: np.ndarray, x: np.ndarray, free: int) -> float:
    """Mean force along the free end next to the roll [N]: second Piola stress times stretch, as the membrane has it.

    spec: RollSpec; rest, x: vertices (n, 3) [m]; triangles (t, 3); free: rows that are off the roll. 0 while fewer than
    five rows are.
    """
    row = strip_rows(rest, spec.cell)
    count = int(row.max()) + 1
    first = count - free + FOLD_ROWS  # row of cells k lies between rows k and k + 1 of points
    last = min(first + TENSION_ROWS, count - 2)  # the outermost one is bent by what holds the end
    of_cell = row[triangles].min(axis=1)
    t = triangles[(of_cell >= first) & (of_cell < last)]
    if not len(t):
        return 0.0
    edges = np.stack([rest[t[:, k], :2] - rest[t[:, 0], :2] for k in (1, 2)], axis=2)
    now = np.stack([x[t[:, k]] - x[t[:, 0]] for k in (1, 2)], axis=2)
    f = now @ np.linalg.inv(edges)  # (t, 3, 2), first column along the strip
    strain = 0.5 * (np.einsum("tki,tkj->tij", f, f) - np.eye(2))
    m = spec.material
    stress = m.young / (1.0 - m.poisson**2) * (strain[:, 0, 0] + m.poisson * strain[:, 1, 1])
    force = stress * np.linalg.norm(f[:, :, 0], axis=1)
    return float(np.average(force, weights=np.abs(np.linalg.det(edges)))) * m.thickness * spec.width
