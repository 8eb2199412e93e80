"""What every energy offers to the stepper. Energies speak of points only; the assembly maps points to nodes.

An energy owns `num_elements` stencils of `stencil_size` points. Values are in joules, gradients in newtons,
Hessian blocks in N/m: the incremental potential is  1/(2 h^2) |x - x_tilde|^2_M + sum of energies,  h the effective
step. So no energy knows dt, except those of velocities, which read `step_size[0]` and `x_start`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp


@dataclass
class StepInputs:
    """Device arrays an energy may read; same objects for the life of an engine, so launches can be captured."""

    x: wp.array  # point positions where the energy is evaluated [m], vec3d (P,)
    x_start: wp.array  # point positions at the start of the step [m], vec3d (P,)
    step_size: wp.array  # effective step h [s], float64 (1,)


class Energy:
    """Base of all energies. `pair(a, b)` blocks are stored for a <= b, row by row: (0,0) (0,1) .. (0,k-1) (1,1) .."""

    name: str = "energy"
    stencil_size: int = 0
    ends_step: bool = False  # whether launch_end_step does anything
    kept: wp.array | None = None  # share of the geometric Hessian by element, float64 (E,); see linear/self_stress.py
    parameters: dict  # constructor arrays by name, one row an element: what engine.reduce makes a smaller one from

    def __init__(self, stencils: np.ndarray, element_world: np.ndarray, device: str):
        """stencils: int (E, stencil_size) global point ids; element_world: int (E,)."""
        self.stencils_host = np.ascontiguousarray(stencils, dtype=np.int32).reshape(-1, self.stencil_size)
        self.stencils = wp.array(self.stencils_host, dtype=wp.int32, device=device)
        self.element_world = wp.array(
            np.ascontiguousarray(element_world, dtype=np.int32), dtype=wp.int32, device=device
        )
        self.device = device

    @property
    def num_elements(self) -> int:
        return len(self.stencils_host)

    @property
    def num_blocks(self) -> int:
        return self.stencil_size * (self.stencil_size + 1) // 2

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        """Add each element's energy [J] to world_energy[world], float64 (W,)."""
        raise NotImplementedError

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        """Write dE/dx_a to gradient[e * stencil_size + a] (vec3d) and the positive semi-definite Hessian the solver
        uses to blocks[e * num_blocks + pair(a, b)] (mat33d). Both are written, not added: every slot."""
        raise NotImplementedError

    def overwrite(self, world: int, other: Energy) -> bool:
        """Take the numbers of world `world` from `other`, the same energy of that world alone; True when one of its
        `parameters` differed. Arrays by element are replaced, on the device and on the host."""
        count = other.num_elements
        rows = slice(world * count, (world + 1) * count)
        changed = False
        for name, values in getattr(other, "parameters", {}).items():
            changed |= not np.array_equal(self.parameters[name][rows], values)
            self.parameters[name][rows] = values
        for name, value in vars(self).items():
            if name in ("stencils", "stencils_host", "element_world"):
                continue
            if isinstance(value, wp.array) and value.ndim and value.shape[0] == self.num_elements:
                fresh = getattr(other, name)
                wp.copy(value, fresh, dest_offset=rows.start * (value.size // value.shape[0]), count=fresh.size)
            elif isinstance(value, np.ndarray) and value.ndim and value.shape[0] == self.num_elements:
                value[rows] = getattr(other, name)
        return changed

    # Optional hooks ------------------------------------------------------------------------------------------------
    def begin_step(self, inputs: StepInputs) -> None:
        """Called with inputs.x at the start guess of a step, before the first Newton iteration."""

    def launch_after_update(self, inputs: StepInputs, dx: wp.array, world_active: wp.array) -> None:
        """Called after an accepted update `dx` (vec3d (P,), already scaled by the step), inputs.x being the new x.
        world_active: int (W,), 1 where a world took part; one that waits keeps what it has."""

    def launch_step_bound(self, inputs: StepInputs, dx: wp.array, world_bound: wp.array) -> None:
        """Lower world_bound[world] (float64, atomic min) so that x + bound * dx stays admissible (no inversion)."""

    def launch_stress(self, inputs: StepInputs, chosen: wp.array, whole: wp.array, positive: wp.array) -> None:
        """Of elements with chosen[e] = 1 add the trace of stress times volume in world axes [J] to whole[world], that
        of the positive part in the Hessian to positive[world], float64 (W,). Only energies that have `kept`."""

    def launch_end_step(self, inputs: StepInputs) -> None:
        """Called once a step with inputs.x at its final positions: history of the energy advances."""
