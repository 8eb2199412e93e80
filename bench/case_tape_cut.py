"""Case `tape_cut`: the scene `cut`, its blade sharp and, with the same motion, blunt for 6.5 s."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from app.headless import NullView
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.scripted import open_input
from app.session import load_session
from app.tape import strip_rows, strip_tension
from bench.measure import one_core
from bench.registry import Emit
from bench.stress_run import IntersectionOracle
from engine.cutting.splitting import smallest_angle
from scenes.measures import pieces

DESCRIPTION = "strip cut by a blade: steps after the threshold, mass, angles, tension; blunt it holds for 6.5 s"

SECONDS = 6.5
WIDTH, CELL = 0.019, 0.019 / 6  # [m] of the strip in scenes/cut.yaml


def run(emit: Emit, compute: str) -> None:
    with one_core():
        cut, blunt = Played(compute, ()), Played(compute, ("blade.enabled=false",))
    above = int(np.argmax(np.array(blunt.pressure) > blunt.threshold))
    emit("tape_cut.threshold", blunt.threshold, "Pa")
    emit("tape_cut.pressure_after_first_step_above", blunt.pressure[above], "Pa")
    emit("tape_cut.steps_from_threshold_to_cut", cut.parted - above, "steps")
    emit("tape_cut.pieces", cut.pieces[-1], "-")
    emit("tape_cut.mass_error", abs(cut.mass[-1] / cut.mass[0] - 1.0), "-")
    emit("tape_cut.smallest_angle", cut.angle, "deg")
    emit("tape_cut.intersections", cut.crossings, "-")
    emit("tape_cut.tension_before", cut.tension[cut.parted - 1], "N")
    emit("tape_cut.tension_after_0.1_s", float(np.mean(cut.tension[cut.parted + 20 : cut.parted + 40])), "N")
    emit("tape_cut.blunt.tension_then", float(np.mean(blunt.tension[cut.parted + 20 : cut.parted + 40])), "N")
    emit("tape_cut.blunt.seconds", len(blunt.pieces) * blunt.dt, "s")
    emit("tape_cut.blunt.pieces_most", max(blunt.pieces), "-")


class Played:
    """One run of 6.5 s, a value a step."""

    def __init__(self, compute: str, overrides: tuple[str, ...]):
        self.pressure, self.pieces, self.mass, self.tension = [], [], [], []
        self.angle, self.crossings, self.parted = 180.0, 0, -1
        self.session = load_session("cut", overrides, compute)
        self.dt, self.threshold = self.session.dt, self.session.blade.threshold
        script = open_input(f"scripted:{self.session.scene.script}")
        wiring = Wiring(pacing=False, stop_on_failure=True, compute=compute, sinks=[self._note])
        loop = FrameLoop(self.session, Operator(script), NullView(say=lambda text: None), wiring)
        outcome = loop.run(round(SECONDS / self.dt))
        if outcome.failure:
            raise RuntimeError(outcome.failure)

    def _note(self, frame) -> None:
        engine = self.session.engine
        info, part = engine.model.meshes["strip"], engine.model.source.parts["strip"]
        self.pressure.append(self.session.blade.contacts["strip"].pressure)
        self.pieces.append(int(pieces(engine, "strip").max()) + 1)
        spec = SimpleNamespace(cell=CELL, width=WIDTH, material=part.material)
        rows = int(strip_rows(info.rest, CELL).max()) + 1
        x = engine.mesh_positions("strip")
        self.tension.append(strip_tension(spec, info.rest, np.asarray(info.triangles), x, rows))
        self.mass.append(float(part.point_mass.sum()))
        if self.pieces[-1] > 1 and self.parted < 0:
            self.parted = len(self.pieces) - 1
            self.angle = float(np.degrees(smallest_angle(info.rest[info.triangles])))
        if self.parted >= 0 and len(self.pieces) % 10 == 0:
            self.crossings += IntersectionOracle(engine.model, engine.positions()).intersects(engine.positions())
