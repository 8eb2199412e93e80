"""Line search of the Newton system: trials by world, and what follows an accepted step.

A part of `System`, whose arrays it uses; `newton.py` says in which order its stages run.
"""

from __future__ import annotations

import warp as wp

from engine.contact import narrow
from engine.stepper import worlds


class LineSearch:
    """Base of engine.stepper.system.System."""

    def evaluate(self, inputs, x_nodes, world_energy) -> None:
        self.evaluate_unlisted(inputs, x_nodes, world_energy)
        if self.has_contact:
            wp.launch(
                narrow.value_kernel,
                self.stride,
                [self.list, inputs.x, self.near, self.near_count, self.stride],
                [world_energy],
                device=self.device,
            )

    def evaluate_unlisted(self, inputs, x_nodes, world_energy) -> None:
        """All but the barrier, which is never negative and alone needs a list of pairs."""
        world_energy.zero_()
        self.assembly.launch_value(inputs, x_nodes, self.x_tilde, world_energy)
        if self.has_contact:
            for term in self.terms:
                term.launch_value(inputs, world_energy)

    def evaluate_current(self) -> None:
        self.evaluate(self.inputs, self.state.x, self.worlds.energy)

    def shorten_early(self) -> None:
        """Halve the motion while its energy without the barrier is too high already: the barrier would only add to it.
        So no pairs are searched along motions that the line search would refuse: those that turn something far, above
        all, which stretches it by the square of the angle. Needs the energy of the present positions."""
        w, n = self.worlds, self.model.num_nodes
        self.search_halvings.zero_()
        wp.launch(worlds.begin_early_kernel, 1, [w, self.search_condition], device=self.device)

        def attempt():
            self._launch_trial()
            self.evaluate_unlisted(self.trial_inputs, self.trial, w.trial_energy)
            wp.launch(
                worlds.judge_early_kernel, 1, [w, self.search_condition, self.search_halvings], device=self.device
            )

        wp.capture_while(self.search_condition, attempt)
        wp.copy(w.early, w.alpha)
        wp.launch(worlds.shorten_motion_kernel, n, [self.model.node_world, w.early, self.dx], device=self.device)
        wp.launch(worlds.shorten_kernel, self.num_worlds, [w, w.early], device=self.device)
        self.map.launch_displacements(self.dx, self.points_dx)

    def _launch_trial(self) -> None:
        w, n = self.worlds, self.model.num_nodes
        wp.launch(
            worlds.trial_kernel, n, [w, self.model.node_world, self.state.x, self.dx], [self.trial], device=self.device
        )
        self.map.launch_positions(self.trial, self.points_trial)

    def line_search(self) -> None:
        w = self.worlds
        self.search_halvings.zero_()
        wp.launch(worlds.begin_search_kernel, 1, [w, self.search_condition], device=self.device)

        def attempt():
            self._launch_trial()
            self.evaluate(self.trial_inputs, self.trial, w.trial_energy)
            wp.launch(
                worlds.judge_kernel,
                1,
                [w, self.options.line_search_max, self.search_condition, self.search_halvings],
                device=self.device,
            )

        wp.capture_while(self.search_condition, attempt)

    def accept(self) -> None:
        w = self.worlds
        wp.launch(
            worlds.accept_kernel,
            self.model.num_nodes,
            [w, self.model.node_world, self.dx],
            [self.state.x, self.accepted],
            device=self.device,
        )
        self.map.launch_positions(self.state.x, self.points)
        self.map.launch_displacements(self.accepted, self.points_dx)
        for energy in self.energies:
            energy.launch_after_update(self.inputs, self.points_dx, w.active)
        wp.launch(
            worlds.converge_kernel,
            1,
            [w, self.tolerance, wp.float64(self.options.contact_tolerance), self.force_floor]
            + [
                self.cg.scalars.broken,
                self.options.newton_max_iterations,
                self.remaining,
            ],
            device=self.device,
        )
