"""Run a test kernel over numpy rows, so that device laws are tested like functions."""

from __future__ import annotations

import numpy as np
import warp as wp


def evaluate(kernel: wp.Kernel, out_dtype, *inputs, device: str = "cpu") -> np.ndarray:
    """Launch `kernel` with one thread a row and return its last argument, an array of `out_dtype`, as numpy.

    Inputs are in the kernel's order: arrays become Warp arrays of the dtype that the kernel declares, scalars pass
    through. The number of rows is that of the first array.
    """
    parameters = kernel.adj.args[:-1]
    if len(inputs) != len(parameters):
        names = ", ".join(p.label for p in parameters)
        raise ValueError(f"kernel {kernel.key} takes {len(parameters)} inputs ({names}); {len(inputs)} were given")
    rows = None
    arguments = []
    for value, parameter in zip(inputs, parameters, strict=True):
        if isinstance(parameter.type, wp.array):
            rows = len(value) if rows is None else rows
            value = wp.array(
                np.ascontiguousarray(value), dtype=parameter.type.dtype, ndim=parameter.type.ndim, device=device
            )
        arguments.append(value)
    out = wp.zeros(rows, dtype=out_dtype, device=device)
    wp.launch(kernel, dim=rows, inputs=[*arguments, out], device=device)
    return out.numpy()
