"""How far a carton is sealed, by the physics alone: five stages, and the figures behind them.

    closed      all four flaps lie flat
    anchored    the tape's end sticks to one end wall of the carton
    dispensed   tape sticks to both flaps along the seam, from end to end
    cut         what sticks to the carton is no longer joined to the roll
    pressed     the piece sticks down onto the other end wall too, nearly everywhere

Lengths along the seam are the carton's own x. `evaluate` adds what only a trial can tell: whether the flaps hold when
they are pulled.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from engine.mesh.rest import vertex_areas
from scenes.build_carton import carton_flaps
from scenes.build_dispenser import tape_name
from scenes.carton import FLAPS
from scenes.measures import pieces, stuck_vertices
from scenes.motion import transform_points

STAGES = ("closed", "anchored", "dispensed", "cut", "pressed")
FLAT = np.radians(6.0)  # a flap open by less is closed; between rest on its neighbours and the spring-back of a crease
WALL_LENGTH = 12e-3  # of tape that must stick to an end wall [m]
COVERED = 0.9  # share of the seam with tape on both flaps
STUCK = 0.75  # share of the piece's area that must stick, of what lies against the carton
PULL = 2.0  # with which a flap is pulled open at its edge [N]
PULL_TIME = 0.5  # [s]


@dataclass(frozen=True)
class Sealing:
    """What the carton and the tape are like now.

    flap_angle: of each flap, open [rad]; wall_length: of tape on the left and right end wall [m]; covered_length: of
    the seam with tape on both flaps, seam_length: its whole [m]; stuck_area: of tape on the carton [m2]; stuck_share:
    of the area of the piece that sticks to the carton [-]; separated: that piece is not joined to the roll;
    roll_length: tape still joined to the roll [m].
    """

    flap_angle: dict[str, float]
    wall_length: tuple[float, float]
    covered_length: float
    seam_length: float
    stuck_area: float
    stuck_share: float
    separated: bool
    roll_length: float

    @property
    def stages(self) -> dict[str, bool]:
        """Whether each stage holds now; a later one may hold before an earlier one (flaps may spring open again)."""
        return {
            "closed": max(self.flap_angle.values()) < FLAT,
            "anchored": max(self.wall_length) >= WALL_LENGTH,
            "dispensed": self.covered_length >= COVERED * self.seam_length,
            "cut": self.separated,
            "pressed": self.separated and min(self.wall_length) >= WALL_LENGTH and self.stuck_share >= STUCK,
        }


@dataclass(frozen=True)
class Verdict:
    """Sealing, and whether the flaps hold. pulled_angle: by how much front or back opened at most when pulled [rad]."""

    sealing: Sealing
    pulled_angle: float

    @property
    def holds(self) -> bool:
        return self.pulled_angle < FLAT

    @property
    def success(self) -> bool:
        return all(self.sealing.stages.values()) and self.holds and self.sealing.roll_length > 0.0

    def figures(self) -> dict:
        """Plain numbers for an episode or a table."""
        return asdict(self.sealing) | {
            "stages": self.sealing.stages, "pulled_angle": self.pulled_angle, "holds": self.holds,
            "success": self.success,
        }  # fmt: skip


class SealWatch:
    """Reads one scene with a `seal` section. Raises KeyError when the scene has none."""

    def __init__(self, scene):
        seal = scene.config.file.seal
        if seal is None:
            raise KeyError(f"scene '{scene.name}' has no 'seal' section: there is nothing to seal")
        self.carton_name, self.tape = seal.carton, tape_name(seal.dispenser)
        self.carton = scene.config.file.entities[seal.carton]
        flap = carton_flaps(self.carton)[0]
        self._pull = PULL * flap.reach / (0.5 * (flap.reach + flap.inset))  # at the middle of a flap [N]

    def read(self, engine, world: int = 0) -> Sealing:
        """Where it stands after the last step."""
        info = engine.model.meshes[self.tape]
        along = info.rest[:, 0]
        area = vertex_areas(info.rest, info.triangles)
        cell = float(np.sqrt(np.median(area[area > 0.0])))
        stuck = {s: stuck_vertices(engine, self.tape, self._mesh(s), world) for s in ("", *FLAPS)}
        place = self._places(engine, world)
        on_carton = np.unique(np.concatenate(list(stuck.values())))
        piece = pieces(engine, self.tape)
        ours = np.isin(piece, np.unique(piece[on_carton])) if len(on_carton) else np.zeros(len(piece), bool)
        roll = piece == piece[np.argmin(along)]  # the innermost end
        separated = bool(len(on_carton)) and not (ours & roll).any()
        half = 0.5 * self.carton.size[0]
        return Sealing(
            flap_angle={side: self._angle(engine, side, world) for side in FLAPS},
            wall_length=tuple(_length(along[stuck[""][sign * place[stuck[""], 0] > half]], cell) for sign in (-1, 1)),
            covered_length=_covered(place[stuck["front"], 0], place[stuck["back"], 0], half, cell),
            seam_length=2.0 * half,
            stuck_area=float(area[on_carton].sum()),
            stuck_share=float(area[on_carton].sum() / area[ours].sum()) if separated else 0.0,
            separated=separated,
            roll_length=_length(along[roll], cell),
        )

    def evaluate(self, engine, world: int = 0) -> Verdict:
        """The verdict, with a trial on a copy of the engine: front and back are pulled open for half a second, with as
        much moment about their crease as PULL has at the free edge. The engine itself is not touched."""
        from engine import Engine

        sealing = self.read(engine, world)
        trial = Engine(engine._uncut, engine.options)
        trial.set_state(engine.get_state())
        before = {side: self._angle(trial, side, world) for side in ("front", "back")}
        up = trial.body_transform(self.carton_name, world)[:3, 2]
        for side in before:
            trial.set_body_force(self._mesh(side), self._pull * up, world)
        opened = 0.0
        for _ in range(int(np.ceil(PULL_TIME / engine.options.dt))):
            trial.step()
            opened = max(opened, *(self._angle(trial, side, world) - before[side] for side in before))
        return Verdict(sealing, opened)

    def _mesh(self, side: str) -> str:
        return f"{self.carton_name}.{side}" if side else self.carton_name

    def _places(self, engine, world: int) -> np.ndarray:
        """Vertices of the tape in the carton's frame [m], (n, 3)."""
        pose = engine.body_transform(self.carton_name, world)
        return transform_points(np.linalg.inv(pose), engine.mesh_positions(self.tape, world))

    def _angle(self, engine, side: str, world: int) -> float:
        return engine.joint_position(f"{self._mesh(side)}_crease", world)


def _length(places: np.ndarray, cell: float) -> float:
    """From the first to the last of some places along a line, one cell included [m]; 0 of none."""
    return float(np.ptp(places)) + cell if len(places) else 0.0


def _covered(front: np.ndarray, back: np.ndarray, half: float, cell: float) -> float:
    """Length of the seam, -half..half, with places of both kinds [m], counted in stretches of about two cells."""
    count = max(1, int(half / cell))
    edges = np.linspace(-half, half, count + 1)
    both = (np.histogram(front, edges)[0] > 0) & (np.histogram(back, edges)[0] > 0)
    return float(both.sum() * (edges[1] - edges[0]))
