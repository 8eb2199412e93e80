"""How far a bundle is wrapped with tape from a roll, by the physics alone: five stages, and the figures behind them.

    lifted     the roll is above where it began
    stuck      its end sticks to the bundle, and the hand has let go
    smoothed   the end lies around a quarter of the bundle
    threaded   the finger is in the roll's core
    wrapped    tape sticks around the whole bundle, and to its own beginning
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.tape.placing import core_name
from scenes.measures import stuck_vertices

STAGES = ("lifted", "stuck", "smoothed", "threaded", "wrapped")
LIFTED = 15e-3  # [m]
SMOOTHED, WRAPPED = 0.25, 1.1  # turns of the bundle over which tape sticks
NEAR = 1.15  # of the bundle's radius: tape that sticks to tape there lies on the bundle, not on the roll


@dataclass(frozen=True)
class Wrapping:
    """What the bundle and the roll are like now.

    height: of the roll's middle above where it began [m]; stuck_points: of tape on the bundle; wires: parts of it that
    tape sticks to; turns: of the bundle over which it sticks, to the bundle or to tape that lies on it [-]; held: the
    hand touches the roll; threaded: the finger's middle is inside the core; row: points of tape across its width.
    """

    height: float
    stuck_points: int
    wires: int
    turns: float
    held: bool
    threaded: bool
    row: int

    @property
    def stages(self) -> dict[str, bool]:
        """Whether each stage holds now."""
        stuck = self.stuck_points >= self.row and not self.held
        return {
            "lifted": self.height > LIFTED,
            "stuck": stuck,
            "smoothed": stuck and self.turns >= SMOOTHED,
            "threaded": self.threaded,
            "wrapped": stuck and self.turns >= WRAPPED,
        }

    @property
    def success(self) -> bool:
        """The bundle is wrapped, whatever the finger does now."""
        return self.stages["wrapped"]

    @property
    def text(self) -> str:
        return f"{self.turns:.2f} turns of the bundle wrapped, {self.stuck_points} points on {self.wires} wires"


class WrapWatch:
    """Reads one scene with a `wrap` section. Raises KeyError when the scene has none."""

    def __init__(self, scene):
        wrap = scene.config.file.wrap
        if wrap is None:
            raise KeyError(f"scene '{scene.name}' has no 'wrap' section: there is nothing to wrap")
        self.wrap, self.core = wrap, core_name(wrap.roll)
        spec = scene.rolls[wrap.roll].spec
        self.row, self.inside = spec.cells_across + 1, (spec.core_inner_radius, 0.5 * spec.width)
        self.start = scene.config.file.entities[wrap.roll].position[2]
        tools = {tool.name: tool for tool in scene.tools}
        self.hand = tools[wrap.hand].grasp_meshes
        self.finger = tools[wrap.finger].palm

    def read(self, engine, world: int = 0) -> Wrapping:
        """Where it stands after the last step."""
        wrap = self.wrap
        stuck = {name: stuck_vertices(engine, wrap.roll, name, world) for name in wrap.around}
        core = engine.body_transform(self.core, world)
        place = np.linalg.inv(core) @ engine.body_transform(self.finger, world)[:, 3]
        radius, half = self.inside
        return Wrapping(
            height=float(core[2, 3]) - self.start,
            stuck_points=len(np.unique(np.concatenate(list(stuck.values())))),
            wires=sum(len(points) > 0 for points in stuck.values()),
            turns=turns_around(engine, wrap.roll, stuck, world),
            held=wrap.roll in engine.touching(list(self.hand)),
            threaded=bool(np.hypot(place[0], place[2]) < radius and abs(place[1]) < half),
            row=self.row,
        )

    def evaluate(self, engine, world: int = 0) -> Wrapping:
        """The same: nothing here needs a trial."""
        return self.read(engine, world)


def turns_around(engine, roll: str, stuck: dict[str, np.ndarray], world: int = 0) -> float:
    """Turns of a bundle along y over which the strip of a roll sticks, to it or to tape on it [-]: the angle about the
    bundle's middle, followed along the strip.

    stuck: mesh of the bundle -> vertices of the strip that stick to it. 0 while nothing sticks.
    """
    on_bundle = np.unique(np.concatenate(list(stuck.values())))
    if len(on_bundle) < 2:
        return 0.0
    corners = np.concatenate([engine.mesh_positions(name, world) for name in stuck])[:, [0, 2]]
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    radius = np.linalg.norm(corners - middle, axis=1).max()
    way = engine.mesh_positions(roll, world)[:, [0, 2]] - middle
    on_tape = stuck_vertices(engine, roll, roll, world)
    on_tape = on_tape[np.linalg.norm(way[on_tape], axis=1) < NEAR * radius]
    there = np.union1d(on_bundle, on_tape)
    return float(np.ptp(np.unwrap(np.arctan2(way[there, 1], way[there, 0])))) / (2.0 * np.pi)
