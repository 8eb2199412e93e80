"""A stress scene stepped under the eyes of an independent intersection test (ipctk)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import bench.measure  # noqa: F401 - quiet results
from bench.registry import Unavailable

SCENES = ("stress_crumple", "stress_drop", "stress_ring", "stress_squeeze")
EVERY = 10  # steps between looks when nothing happens
AFTER_IMPACT = 3  # steps that are all looked at after an impact


@dataclass
class StressResult:
    """steps: taken; looks: states handed to ipctk; intersecting: steps whose state intersected; active: steps with
    contacts; impacts: steps in which contacts came quickly or CCD cut the motion; unconverged, stalled: steps."""

    steps: int = 0
    looks: int = 0
    intersecting: list[int] = field(default_factory=list)
    active: int = 0
    impacts: int = 0
    unconverged: int = 0
    stalled: int = 0
    newton: int = 0
    most_contacts: int = 0
    smallest_gap: float = float("inf")  # [m]
    seconds: list[float] = field(default_factory=list)  # of each step

    @property
    def active_share(self) -> float:
        return self.active / max(self.steps, 1)


def need_oracle() -> None:
    """Raises Unavailable without ipctk."""
    try:
        import ipctk  # noqa: F401
    except ImportError as error:
        raise Unavailable(f"ipctk looks for intersections ({error}): pip install 'tacktile[dev]'") from error


class IntersectionOracle:
    """Collision surfaces of a model's first world in one ipctk mesh: all, or without the meshes in `apart` (what is
    bonded to another mesh lies on it). Raises ImportError without ipctk."""

    def __init__(self, model, positions: np.ndarray, apart: tuple[str, ...] = ()):
        import ipctk

        self._test = ipctk.has_intersections
        points, collision = model.points_per_world, model.collision
        edges, triangles = collision.edges.numpy(), collision.triangles.numpy()
        kept = np.ones(points, bool)
        for name in apart:
            kept[model.meshes[name].points] = False
        edges, triangles = edges[(edges < points).all(axis=1)], triangles[(triangles < points).all(axis=1)]
        edges, triangles = edges[kept[edges].all(axis=1)], triangles[kept[triangles].all(axis=1)]
        self._mesh = ipctk.CollisionMesh(positions, edges, triangles)

    def intersects(self, positions: np.ndarray) -> bool:
        return bool(self._test(self._mesh, positions))


def run_stress(name: str, steps: int, compute: str = "cpu", watch=lambda step, result: None) -> StressResult:
    """Steps a scene under its keyframes. watch: called after each step."""
    from engine import Engine
    from scenes import build_scene, load_config

    scene = build_scene(load_config(name), device=compute)
    engine = Engine(scene.model, scene.options)
    oracle = IntersectionOracle(scene.model, engine.positions())
    result, control, contacts, look_until = StressResult(), engine.control(), 0, 0
    for step in range(1, steps + 1):
        scene.control_motion(control, step * scene.options.dt)
        report = engine.step(control)
        if _is_impact(report, contacts):
            result.impacts += 1
            look_until = step + AFTER_IMPACT
        contacts = report.contacts
        if step <= look_until or step % EVERY == 0:
            result.looks += 1
            if oracle.intersects(engine.positions()):
                result.intersecting.append(step)
        _count(result, report)
        watch(step, result)
    return result


def _is_impact(report, contacts_before: int) -> bool:
    return report.contacts > 1.2 * contacts_before + 5 or report.step_bound < 0.9


def _count(result: StressResult, report) -> None:
    result.steps += 1
    result.active += report.contacts > 0
    result.unconverged += not report.converged
    result.stalled += report.stalled
    result.newton += report.newton_iterations
    result.most_contacts = max(result.most_contacts, report.contacts)
    result.smallest_gap = min(result.smallest_gap, report.min_distance)
    result.seconds.append(sum(report.stage_seconds.values()))
