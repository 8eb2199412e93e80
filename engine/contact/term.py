"""What an interface law with a history (cohesion, bonds) offers to the stepper.

Like friction, its forces act through stencils of four points with weights that sum to zero and one 3x3 block, and may
follow the turn of the surface that they hold on to (engine.contact.turning), so assembly, solvers, line search and
worlds need to know nothing of it. Its history (anchors, damage, ages) is part of the engine's state: frozen inside a
step, advanced once at its end.
"""

from __future__ import annotations

import numpy as np

from engine.contact.stencils import StencilBlocks
from engine.energies.base import StepInputs

MUTED = -1e3  # [m] min_separation of a pair that is no contact: its gap is beyond any reach


class StencilTerm:
    name: str = "interface"
    blocks: StencilBlocks  # capacity fixed for the life of the engine: one stencil a point that can stick, say

    def launch_begin_step(self, inputs: StepInputs) -> None:
        """Fill blocks.points, weights, first_side and count from the history. inputs.x: positions at the start."""
        raise NotImplementedError

    def launch_derivatives(self, inputs: StepInputs) -> None:
        """Write blocks.block (positive semi-definite [N/m]) and blocks.gradient (count, 4) [N] at inputs.x, and where
        the blocks follow a turn, blocks.turns."""
        raise NotImplementedError

    def launch_value(self, inputs: StepInputs, world_energy) -> None:
        """Add the energies [J] at inputs.x to world_energy (W,)."""
        raise NotImplementedError

    def launch_mute(self, candidates) -> None:
        """Take the pairs that the term replaces out of contact: set min_separation of these entries to MUTED, and give
        entries muted earlier their own back. candidates: engine.contact.narrow.CandidateArrays. Before each detection.
        """

    def launch_end_step(self, system) -> None:
        """Advance the history at the final positions system.points; system.list, active, active_count and gap hold the
        contact pairs there, system.points_start the positions before the step."""
        raise NotImplementedError

    def messages(self, options) -> list[str]:
        """What a user should know of the last step: sentences for StepReport.messages. options: Options."""
        return []

    def get_state(self) -> dict[str, np.ndarray]:
        """The whole history, host copies; fixed shapes."""
        raise NotImplementedError

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        raise NotImplementedError

    def reset(self, world: int | None = None) -> None:
        """Back to the initial history, all worlds or one."""
        raise NotImplementedError
