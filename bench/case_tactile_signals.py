"""Case `tactile_signals`: what the signals of two sensors of 160 x 120 pixels cost a frame."""

from __future__ import annotations

import numpy as np
import warp as wp

from bench.measure import clock, one_core, timed
from bench.registry import Emit
from bench.tactile_problem import PressedPads
from engine.tactile.array import TactileArray
from engine.tactile.memory import image_bytes
from engine.tactile.signal_table import GROUPS

DESCRIPTION = "all signals of two 160 x 120 sensors: milliseconds a frame, and of each signal"
FRAMES = 60


def run(emit: Emit, compute: str) -> None:
    emit.status("two pads pressed on balls")
    scene = PressedPads(compute=compute)
    scene.step(15)
    cameras = {(s.camera.width, s.camera.height) for s in scene.pads}
    assert cameras == {(160, 120)}, cameras
    now = clock(compute)
    with one_core():
        everything = TactileArray(scene.engine, scene.pads)
        emit("tactile_signals.colour", bool(everything.colours))
        emit("tactile_signals.coat_triangles", everything.layout.num_triangles)
        emit("tactile_signals.two_sensors_ms", 1e3 * _frame(scene, everything, compute, now), "ms")
        emit("tactile_signals.deepest", 1e3 * float(everything.numpy("indentation", "pad_0").max()), "mm")
        for group in GROUPS:
            alone = TactileArray(scene.engine, scene.pads, [group])
            emit(f"tactile_signals.{group}_ms", 1e3 * _frame(scene, alone, compute, now), "ms")
        emit("tactile_signals.read_to_host_ms", 1e3 * _reading(scene, everything, compute, now), "ms")
    emit("tactile_signals.memory_a_world", image_bytes(scene.pads, tuple(GROUPS)) / 1e6, "MB")


def _frame(scene: PressedPads, tactile: TactileArray, compute: str, now) -> float:
    """Median seconds of one update after a step, the read-out of the contact included."""
    times = []
    for k in range(FRAMES + 3):
        scene.step(1, moving=False)
        wp.synchronize_device(compute)
        seconds = timed(lambda: _update(tactile, compute), now)
        if k >= 3:
            times.append(seconds)
    return float(np.median(times))


def _update(tactile: TactileArray, compute: str) -> None:
    tactile.update()
    wp.synchronize_device(compute)


def _reading(scene: PressedPads, tactile: TactileArray, compute: str, now) -> float:
    """Seconds to copy what a recording keeps to the host."""
    kept = ("indentation", "marker", "marker_pixel", "wrench")
    return timed(lambda: [tactile.numpy(n, s.name) for _ in range(20) for n in kept for s in scene.pads], now) / 20.0
