"""Base of the energies with one stiffness an element and nothing else: ties, slides."""

from __future__ import annotations

import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.per_element import non_negative, per_element, upload


class Springs(Energy):
    """A subclass names its stencil and writes two kernels."""

    kernels: tuple[wp.Kernel, wp.Kernel]  # value, derivatives

    def __init__(self, stencils, stiffness, element_world, device):
        """stencils (E, stencil_size) point ids; stiffness (E,) [N/m]; element_world (E,)."""
        super().__init__(stencils, element_world, device)
        name = type(self).__name__
        spring = per_element(name, "stiffness", stiffness, self.num_elements)
        self.stiffness = upload(non_negative(name, "stiffness", spring), wp.float64, device)

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            self.kernels[0],
            dim=self.num_elements,
            inputs=[self.stencils, self.element_world, self.stiffness, inputs.x, world_energy],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            self.kernels[1],
            dim=self.num_elements,
            inputs=[self.stencils, self.stiffness, inputs.x, gradient, blocks],
            device=self.device,
        )
