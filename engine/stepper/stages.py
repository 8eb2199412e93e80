"""Stages of a step as captured graphs: each is captured at its first run and replayed afterwards; times are kept."""

from __future__ import annotations

import time
from collections.abc import Callable

import warp as wp


class Stages:
    """Named launch sequences on one device. `clear()` after arrays were reallocated: captures hold their addresses."""

    def __init__(self, device: str, capture: bool = True):
        self.device = wp.get_device(device)
        self.capture = capture
        self.functions: dict[str, Callable[[], None]] = {}
        self.graphs: dict[str, object] = {}
        self.seconds: dict[str, float] = {}

    def add(self, name: str, function: Callable[[], None]) -> None:
        self.functions[name] = function

    def clear(self) -> None:
        self.graphs.clear()

    def run(self, name: str) -> None:
        started = time.perf_counter()
        if not self.capture:
            self.functions[name]()
        else:
            if name not in self.graphs:
                with wp.ScopedCapture(device=self.device, force_module_load=False) as captured:
                    self.functions[name]()
                self.graphs[name] = captured.graph
            wp.capture_launch(self.graphs[name])
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def reset_times(self) -> None:
        self.seconds = {}
