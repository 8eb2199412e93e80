"""Stages of a step as captured graphs: each is captured at its first run and replayed afterwards; times are kept.

Stages that always follow each other run as one graph, which saves their launches: on a small scene a third of the step.
Every DETAILED-th step runs them one by one, and the time of a joined run is told apart by the shares seen there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import warp as wp

DETAILED = 16  # steps from one detailed one to the next


class Stages:
    """Named launch sequences on one device. `clear()` after arrays were reallocated: captures hold their addresses."""

    def __init__(self, device: str, capture: bool = True):
        self.device = wp.get_device(device)
        self.capture = capture
        self.functions: dict[str, Callable[[], None]] = {}
        self.graphs: dict[str, object] = {}
        self.seconds: dict[str, float] = {}
        self.typical: dict[str, float] = {}  # seconds of one run of a stage, lately
        self.steps = 0
        self.detailed = True

    def add(self, name: str, function: Callable[[], None]) -> None:
        self.functions[name] = function

    def clear(self) -> None:
        self.graphs.clear()

    def begin_step(self) -> None:
        self.seconds = {}
        self.detailed = self.steps % DETAILED == 0
        self.steps += 1

    def run(self, name: str) -> None:
        seconds = self._replay(name, (name,))
        self._book(name, seconds)
        self.typical[name] = seconds if name not in self.typical else 0.8 * self.typical[name] + 0.2 * seconds

    def run_joined(self, *names: str) -> None:
        """Run stages in this order, as one graph unless this is a detailed step."""
        if self.detailed or not self.capture or any(name not in self.typical for name in names):
            for name in names:
                self.run(name)
            return
        seconds = self._replay(" + ".join(names), names)
        whole = sum(self.typical[name] for name in names) or 1.0
        for name in names:
            self._book(name, seconds * self.typical[name] / whole)

    def _replay(self, key: str, names: tuple[str, ...]) -> float:
        """Seconds that it took."""
        started = time.perf_counter()
        if not self.capture:
            for name in names:
                self.functions[name]()
        else:
            if key not in self.graphs:
                with wp.ScopedCapture(device=self.device, force_module_load=False) as captured:
                    for name in names:
                        self.functions[name]()
                self.graphs[key] = captured.graph
            wp.capture_launch(self.graphs[key])
        return time.perf_counter() - started

    def _book(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
