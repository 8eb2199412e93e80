"""What sticks together carries its own stress, and that must not stiffen the motion of the whole.

A wound roll is full of stress: tape in tension, core pressed, all in balance. Each element's geometric Hessian is its
stress times identity, cut to its positive part. Under a turn of the whole roll the true terms cancel (their sum is the
stress that comes in from outside), but the cut ones add up: a roll of 8 g turned as if it were ten times heavier, and
Newton needed forty iterations where ten do. So the elements that lie within what sticks together keep only a share of
their positive part, by world:

    share = max(0, sum of tr T) / sum of tr T+,    T = V F S F^T: stress times volume in world axes [J]

T+ with S cut to its positive part. Parts that pull each other keep it all, a body in balance with itself nothing;
across their surface such parts are held by contacts and bonds. Every term stays positive semi-definite.
"""

from __future__ import annotations

from collections.abc import Sequence

import warp as wp

from engine.energies.base import Energy, StepInputs

wp.set_module_options({"enable_backward": False})


@wp.kernel
def within_kernel(
    stencils: wp.array2d(dtype=wp.int32),
    member: wp.array(dtype=int),
    point_node: wp.array(dtype=int),
    point_count: wp.array(dtype=int),
    within_out: wp.array(dtype=int),
):
    """1 where all points of an element ride on nodes that stick."""
    e = wp.tid()
    all_stick = int(1)
    for a in range(stencils.shape[1]):
        p = stencils[e, a]
        if point_count[p] == 0 or member[point_node[p]] == 0:
            all_stick = 0
    within_out[e] = all_stick


@wp.kernel
def share_kernel(whole: wp.array(dtype=wp.float64), positive: wp.array(dtype=wp.float64)):
    """In place: the share, in `whole`."""
    w = wp.tid()
    one = wp.float64(1.0)
    share = one
    if positive[w] > wp.float64(0.0):
        share = wp.clamp(whole[w] / positive[w], wp.float64(0.0), one)
    whole[w] = share


@wp.kernel
def keep_kernel(
    within: wp.array(dtype=int),
    element_world: wp.array(dtype=wp.int32),
    share: wp.array(dtype=wp.float64),
    kept_out: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    kept = wp.float64(1.0)
    if within[e] == 1:
        kept = share[element_world[e]]
    kept_out[e] = kept


class SelfStress:
    """Sets `kept` of the energies that have a geometric term (engine.energies.base.Energy)."""

    def __init__(self, model, energies: Sequence[Energy]):
        self.model, self.device = model, model.device
        self.energies = [e for e in energies if e.kept is not None]
        self.within = [wp.zeros(e.num_elements, dtype=int, device=self.device) for e in self.energies]
        self.whole, self.positive = (wp.zeros(model.num_worlds, dtype=wp.float64, device=self.device) for _ in range(2))

    def launch_within(self, member) -> None:
        """Once a step. member: int (N,), nodes that stick to something that moves."""
        e = self.model.embedding
        for energy, within in zip(self.energies, self.within, strict=True):
            wp.launch(
                within_kernel, energy.num_elements, [energy.stencils, member, e.point_node, e.point_count], [within],
                device=self.device,
            )  # fmt: skip

    def launch(self, inputs: StepInputs) -> None:
        """Before each linearisation: shares at inputs.x."""
        self.whole.zero_()
        self.positive.zero_()
        for energy, within in zip(self.energies, self.within, strict=True):
            energy.launch_stress(inputs, within, self.whole, self.positive)
        wp.launch(share_kernel, self.model.num_worlds, [self.whole, self.positive], device=self.device)
        for energy, within in zip(self.energies, self.within, strict=True):
            wp.launch(
                keep_kernel, energy.num_elements, [within, energy.element_world, self.whole], [energy.kept],
                device=self.device,
            )  # fmt: skip
