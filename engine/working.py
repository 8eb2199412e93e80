"""The stepper's own copy of the state when it works on a reduced model: gathered before a step, scattered after it."""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.reduce import Reduction
from engine.types import State

wp.set_module_options({"enable_backward": False})

FIELDS = ("x", "v", "x_prev", "v_prev")


@wp.kernel
def gather_kernel(rows: wp.array(dtype=int), whole: wp.array(dtype=wp.vec3d), part_out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    part_out[i] = whole[rows[i]]


@wp.kernel
def scatter_kernel(rows: wp.array(dtype=int), part: wp.array(dtype=wp.vec3d), whole_out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    whole_out[rows[i]] = part[i]


class Working:
    """State of a reduction's nodes and the copies between it and the whole."""

    def __init__(self, reduction: Reduction, whole: State):
        self.reduction, self.whole = reduction, whole
        device = whole.x.device
        self.rows = wp.array(reduction.nodes.astype(np.int32), dtype=wp.int32, device=device)
        arrays = {name: wp.zeros(len(reduction.nodes), dtype=wp.vec3d, device=device) for name in FIELDS}
        self.state = State(**arrays, step_index=whole.step_index, time=whole.time)
        self.gather()

    def gather(self) -> None:
        for name in FIELDS:
            self._launch(gather_kernel, getattr(self.whole, name), getattr(self.state, name))

    def scatter(self) -> None:
        for name in FIELDS:
            self._launch(scatter_kernel, getattr(self.state, name), getattr(self.whole, name))

    def _launch(self, kernel, source, target) -> None:
        wp.launch(kernel, len(self.rows), [self.rows, source], [target], device=self.rows.device)
