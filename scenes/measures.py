"""How far the operator has come in the tape and tactile scenes: small functions of an engine, and of forces over time.

Each answers with a number and leaves the verdict to `success`, whose limits follow paper T: the strip off altogether;
the roll lifted and hanging by its stuck end; one turn wrapped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from engine.adhesion.numbering import whole_state
from scenes.patterns import PATTERNS
from scenes.tactile_measures import Felt, clearance, inserted, inserted_depth


def stuck_vertices(engine, mesh: str, partner: str | None = None, world: int = 0) -> np.ndarray:
    """Local ids of the vertices of `mesh` that are stuck, to `partner` only if given, int (k,).

    Raises KeyError naming the meshes there are.
    """
    model = engine.model
    for name in (mesh, *([partner] if partner else [])):
        if name not in model.meshes:
            raise KeyError(f"no mesh '{name}'; available: {', '.join(model.meshes)}")
    own, shift, found = model.meshes[mesh].points, world * model.points_per_world, [np.zeros(0, np.int64)]
    for term in engine.interfaces:
        points = term.sticky.points - shift
        corner = whole_state(term)["triangle"][: len(points), 0].astype(np.int64)
        keep = (points >= own.start) & (points < own.stop) & (corner >= 0)
        if partner:
            other = model.meshes[partner].points
            keep &= (corner - shift >= other.start) & (corner - shift < other.stop)
        found.append(points[keep] - own.start)
    return np.unique(np.concatenate(found))


def stuck_share(engine, mesh: str, partner: str, of: int | None = None) -> float:
    """Share of the vertices of `mesh` (or of `of` of them) that are stuck to `partner` [-]."""
    info = engine.model.meshes[mesh]
    return len(stuck_vertices(engine, mesh, partner)) / (of or info.points.stop - info.points.start)


def ideal_peel_force(work: float, width: float, angle: float) -> float:
    """Rivlin and Kendall, for an unstretchable strip [N]: F = W b / (1 - cos angle). work [J/m2], width [m],
    angle [rad] between the pull and the stuck strip. Raises ValueError for an angle outside 0..pi."""
    if not 0.0 < angle <= np.pi + 1e-12:
        raise ValueError(f"peel angle is {angle!r}; it must lie above 0 and at most at pi [rad]")
    return work * width / (1.0 - np.cos(angle))


def mean_between(time, values, begin: float, end: float) -> float:
    """Mean of a signal over begin <= time < end [s]. Raises ValueError when no sample lies there."""
    time, values = np.asarray(time, float), np.asarray(values, float)
    chosen = (time >= begin) & (time < end)
    if not chosen.any():
        raise ValueError(f"no sample lies between {begin:g} and {end:g} s; there are {len(time)}")
    return float(values[chosen].mean())


def swing_range(hand: np.ndarray, core: np.ndarray) -> float:
    """Largest minus smallest angle of the line from hand to core, in the x-z plane [rad]. Both (frames, 3) [m]."""
    way = np.asarray(core, float) - np.asarray(hand, float)
    return float(np.ptp(np.arctan2(way[:, 0], -way[:, 2])))


def wrapped_turns(engine, mesh: str, bar: str, axis: int = 1) -> float:
    """Turns of a bar over which `mesh` is stuck to it [-]: angle from the first to the last stuck row.

    The bar's middle is that of its vertices; axis: the world axis along it. Stuck vertices are followed in order along
    the strip, so that more than one turn counts.
    """
    vertices = stuck_vertices(engine, mesh, bar)
    if len(vertices) < 2:
        return 0.0
    corners = engine.mesh_positions(bar)
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    way = engine.mesh_positions(mesh)[vertices] - middle
    across = [k for k in range(3) if k != axis]
    angle = np.unwrap(np.arctan2(way[:, across[1]], way[:, across[0]]))
    return float(np.ptp(angle)) / (2.0 * np.pi)


@dataclass(frozen=True)
class Success:
    """reached: what was measured, in words with units; done: whether it is enough."""

    done: bool
    reached: str


def success(name: str, engine, start: dict | None = None) -> Success:
    """Verdict on a shipped scene as it stands. start: what `beginning` gave when the scene began (payout), and `follow`
    added since (tile_probe, press_patterns).

    Raises KeyError for a scene without a measure.
    """
    if name not in _VERDICTS:
        raise KeyError(f"scene '{name}' has no measure of success; those that have: {', '.join(_VERDICTS)}")
    return _VERDICTS[name](engine, start or {})


def beginning(engine) -> dict:
    """What `success` compares with later: places of bodies, stuck points, and nothing felt."""
    return {
        "felt": Felt(),
        "bodies": {name: engine.body_transform(name)[:3, 3] for name in engine.model.bodies},
        "stuck": {n: len(stuck_vertices(engine, n)) for n, i in engine.model.meshes.items() if i.kind == "shell"},
    }


def follow(name: str, engine, start: dict) -> None:
    """Note in `start` what cannot be told from the end of a scene: what its pad has felt. To be called after every step
    or every few; scenes without such a measure take no notice."""
    if name in _FELT:
        start["felt"].watch(engine, "pad", _FELT[name])


def _peel(engine, start) -> Success:
    left = len(stuck_vertices(engine, "strip", "plate"))
    return Success(left == 0, f"{left} points of the strip still stick")


def _payout(engine, start) -> Success:
    moved = float(np.linalg.norm(engine.body_transform("hub")[:3, 3] - start["bodies"]["hub"]))
    gone = start["stuck"]["roll"] - len(stuck_vertices(engine, "roll"))
    return Success(moved > 0.24 and gone > 0, f"hub moved by {1e3 * moved:.0f} mm, {gone} points came off")


def _swing(engine, start) -> Success:
    lost = start["stuck"]["roll"] - len(stuck_vertices(engine, "roll"))
    return Success(lost < 70, f"{lost} points came off")


def _stick(engine, start) -> Success:
    held = len(stuck_vertices(engine, "roll", "shelf"))
    height = float(engine.body_transform("roll_core")[2, 3])
    touched = engine.touching(["gripper.left", "gripper.right"])
    text = f"{held} points stick to the shelf, core at {1e3 * height:.0f} mm"
    return Success(held >= 7 and height > 0.06 and "roll" not in touched, text + ", held" * ("roll" in touched))


def _wrap(engine, start) -> Success:
    turns = wrapped_turns(engine, "roll", "bar")
    return Success(turns >= 0.9, f"{turns:.2f} turns of the bar wrapped")


def pieces(engine, mesh: str) -> np.ndarray:
    """Piece of each vertex of a mesh, int (n,): all 0 until it is cut in two."""
    info = engine.model.meshes[mesh]
    t = np.asarray(info.triangles)
    count = info.points.stop - info.points.start
    links = coo_matrix((np.ones(3 * len(t)), (t.reshape(-1), np.roll(t, 1, axis=1).reshape(-1))), shape=(count, count))
    return connected_components(links, directed=False)[1]


def _cut(engine, start) -> Success:
    piece, rest = pieces(engine, "strip"), engine.model.meshes["strip"].rest
    ends = piece[np.argmin(rest[:, 0])], piece[np.argmax(rest[:, 0])]
    text = f"the strip is in {piece.max() + 1} pieces" if piece.max() else "the strip is whole"
    return Success(ends[0] != ends[1], text)


def length_off_roll(engine, roll: str) -> float:
    """Tape from the outermost place that sticks to the roll or its core to the outer end, at rest [m]."""
    along = engine.model.meshes[roll].rest[:, 0]
    held = np.concatenate([stuck_vertices(engine, roll, name) for name in (roll, f"{roll}_core")])
    return float(along.max() - along[held].max()) if len(held) else float(np.ptp(along))


def _unwind(engine, start) -> Success:
    off, on_box = length_off_roll(engine, "roll"), stuck_vertices(engine, "roll", "box")
    piece = pieces(engine, "roll")
    parted = len(on_box) > 0 and not np.isin(piece[on_box], piece[0]).any()  # vertex 0 is the inner end
    text = f"{1e3 * off:.0f} mm are off the roll, {len(on_box)} points stick to the box"
    return Success(off > 0.38 and len(on_box) >= 100 and parted, text + ", cut off" * parted)


def _grasp_teddy(engine, start) -> Success:
    height = float(clearance(engine, "toy")[0])
    return Success(height > 0.03, f"the toy hangs {1e3 * height:.0f} mm above the table")


def _peg_insertion(engine, start) -> Success:
    depth = float(inserted_depth(engine)[0])
    return Success(bool(inserted(engine)[0]), f"the peg stands {1e3 * depth:.1f} mm deep in the hole")


_FELT = {"tile_probe": ("tile",), "press_patterns": tuple(PATTERNS)}


def _felt(name: str, engine, start) -> Felt:
    """With what the pad feels now."""
    felt = start.get("felt") or Felt()
    felt.watch(engine, "pad", _FELT[name])
    return felt


def _tile_probe(engine, start) -> Success:
    places = len(_felt("tile_probe", engine, start).prints)
    return Success(places >= 2, f"the relief was felt in {places} places")


def _press_patterns(engine, start) -> Success:
    names, every = _felt("press_patterns", engine, start).names, len(PATTERNS)
    return Success(len(names) == every, f"{len(names)} of {every} patterns were felt: {', '.join(names) or 'none'}")


_VERDICTS = {
    "peel": _peel, "payout": _payout, "swing": _swing, "stick": _stick, "wrap": _wrap, "cut": _cut,
    "unwind": _unwind, "peg_insertion": _peg_insertion, "grasp_teddy": _grasp_teddy,
    "tile_probe": _tile_probe, "press_patterns": _press_patterns,
}  # fmt: skip
