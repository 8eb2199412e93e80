"""Reference robots: loaded with their pads, moved through their joint range, touched on every pad."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.registry import Emit, Unavailable

DESCRIPTION = "four robots from URDF: joint range without intersection, every pad touched (needs shared/)"


def run(emit: Emit, compute: str) -> None:
    from bench.robot_problem import CASES
    from tests.shared_data import shared_path

    data = shared_path("data", "taccel")
    if data is None:
        raise Unavailable("the reference data are not beside the checkout (../shared, or TACKTILE_SHARED)")
    for name, case in CASES.items():
        _measure(emit, compute, name, case, data)


def _measure(emit: Emit, compute: str, name: str, case, data: Path) -> None:
    from bench.robot_problem import sweep, touch, write_scene
    from engine import Engine
    from engine.tactile.array import TactileArray
    from scenes import build_scene, load_config

    emit.status(f"{name}: loading")
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        scene = build_scene(load_config(str(write_scene(case, data, Path(folder)))), device=compute)
    engine = Engine(scene.model, scene.options)
    emit(f"robots.{name}.load", time.process_time() - started, "s")
    emit(f"robots.{name}.links", len(scene.model.bodies) - 1)
    emit(f"robots.{name}.pads", len(scene.pads))
    array = TactileArray(engine, tuple(scene.pads), ("indentation", "forces"))
    touched = []
    for pad in scene.pads:
        emit.status(f"{name}: pad {pad.name}")
        touched.append(touch(scene, engine, array, pad.name))
    emit(f"robots.{name}.pads_that_feel", sum(t.depth > 3e-4 and t.force > 0.0 for t in touched))
    emit(f"robots.{name}.least_depth", 1e3 * min(t.depth for t in touched), "mm")
    emit(f"robots.{name}.least_force", min(t.force for t in touched), "N")
    emit(f"robots.{name}.others_feel_at_most", 1e3 * max(t.quiet for t in touched), "mm")
    engine.reset()
    swept = sweep(scene, engine, watch=lambda text: emit.status(f"{name}: {text}"))
    emit(f"robots.{name}.strides", swept.strides)
    emit(f"robots.{name}.strides_intersecting", swept.intersecting)
    emit(f"robots.{name}.strides_blocked", swept.blocked)
    emit(f"robots.{name}.strides_not_converged", swept.unconverged)
    emit(f"robots.{name}.newton_per_stride", swept.newton / max(swept.strides, 1))
    emit(f"robots.{name}.least_share_of_a_joints_range", swept.reached.min())
    emit(f"robots.{name}.mean_share_of_a_joints_range", swept.reached.mean())
