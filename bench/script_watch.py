"""Follows a scripted run of a task: when each of its stages was reached, what crosses, what it weighs."""

from __future__ import annotations

from bench.registry import Emit
from bench.stress_run import IntersectionOracle


class ScriptWatch:
    """Called with each frame, see `bench.scripted_run.play`."""

    def __init__(self, emit: Emit, look_every: int, overlapping: tuple[str, ...] = ()):
        """look_every: steps between two looks for intersections; overlapping: meshes that are left out, `apart` of
        IntersectionOracle."""
        self.emit, self.look_every, self.overlapping = emit, look_every, overlapping
        self.reached: dict[str, float] = {}
        self.crossings: list[bool] = []
        self.mass: list[float] = []  # [kg] of all that is free or a body
        self._oracle: dict[int, IntersectionOracle] = {}  # by topology: a cut makes another mesh

    def __call__(self, session, frame) -> None:
        for name, holds in frame.extra["guide"]["stages"].items():
            if holds and name not in self.reached:
                self.reached[name] = frame.time_sim
                self.emit.status(f"{name} after {frame.time_sim:.1f} s")
        if frame.index % self.look_every:
            return
        engine = session.engine
        self.mass.append(total_mass(engine.model))
        if engine.model.topology_version not in self._oracle:
            fresh = IntersectionOracle(engine.model, engine.positions(), self.overlapping)
            self._oracle[engine.model.topology_version] = fresh
        self.crossings.append(self._oracle[engine.model.topology_version].intersects(engine.positions()))


def total_mass(model) -> float:
    """Of free nodes and bodies, all worlds [kg]."""
    bodies = model.body_mass.numpy().reshape(-1, 4, 4)[:, 0, 0]
    return float(model.node_mass.numpy().sum() + bodies.sum())
