"""The Newton system of one model: arrays, energies, contact and solver, joined as launch sequences.

`System` owns scratch and says what each stage launches; `newton.py` says in which
order the stages run.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.contact import guess, narrow
from engine.contact.candidates import Candidates
from engine.contact.friction import Friction
from engine.contact.stencils import MatrixTarget, Riders, StencilBlocks, stride_of
from engine.energies.base import StepInputs
from engine.linear.assembly import Assembly
from engine.linear.band import BandFactor
from engine.linear.common_motion import CommonMotion
from engine.linear.jacobi import BlockJacobi
from engine.linear.operator import launch_multiply_stencils, multiply_kernel
from engine.linear.pattern import build_pattern
from engine.linear.pcg import ConjugateGradients
from engine.linear.self_stress import SelfStress
from engine.options import Options
from engine.stepper import predict, stretch, worlds
from engine.stepper.embed import PointMap
from engine.stepper.residual import Residual
from engine.stepper.search import LineSearch
from engine.types import Model, State

FEWEST_CONTACTS, CONTACTS_A_WORLD = 1024, 32  # stencils to begin with


class System(LineSearch):
    def __init__(self, model: Model, state: State, options: Options, interfaces: tuple = (), reserve: tuple = (0, 0)):
        """interfaces: further stencil terms with a history of their own (engine.contact.term.StencilTerm); reserve:
        candidates and contacts to expect, 0 = unknown."""
        self.model, self.state, self.options = model, state, options
        self.interfaces, self._reserve = tuple(interfaces), reserve
        self.device = device = model.device
        self.stride = stride_of(device)
        n, p, w = model.num_nodes, model.num_points, model.num_worlds
        vec = lambda size: wp.zeros(max(size, 1), dtype=wp.vec3d, device=device)  # noqa: E731
        self.x_start, self.x_hat, self.x_tilde = vec(n), vec(n), vec(n)
        self.dx, self.trial, self.accepted = vec(n), vec(n), vec(n)
        self.points, self.points_start, self.points_trial, self.points_dx = vec(p), vec(p), vec(p), vec(p)
        self.node_fixed = wp.zeros(n, dtype=int, device=device)
        self.node_free = wp.zeros(n, dtype=int, device=device)
        self.bdf2 = int(options.integrator == "bdf2")
        h = options.dt * (2.0 / 3.0 if self.bdf2 else 1.0)
        self.step_size = wp.array([h], dtype=wp.float64, device=device)
        self.inputs = StepInputs(self.points, self.points_start, self.step_size)
        self.trial_inputs = StepInputs(self.points_trial, self.points_start, self.step_size)
        self.worlds = worlds.make_worlds(w, device)
        for energy in model.energies:
            if hasattr(energy, "set_extrapolation"):
                energy.set_extrapolation(options.membrane_extrapolation)
        self.energies = [e for e in model.energies if e.num_elements > 0]
        self.map = PointMap(model)
        self.num_worlds = w
        self.search_condition = wp.zeros(1, dtype=int, device=device)
        self.search_halvings = wp.zeros(1, dtype=int, device=device)
        self.remaining = wp.zeros(1, dtype=int, device=device)
        self.tolerance = wp.array([options.newton_tolerance * options.dt], dtype=wp.float64, device=device)
        self.residual = Residual(model)
        floor = self.residual.total_mass * options.newton_tolerance / options.dt
        self.force_floor = wp.array(floor, dtype=wp.float64, device=device)
        self.reach_floor = worlds.reach_floor(model)
        self._make_solver()
        self._make_contact()

    # construction ---------------------------------------------------------------------------------------------------
    def _make_solver(self) -> None:
        model, options = self.model, self.options
        self.pattern, gather = build_pattern(model, self.energies)
        self.assembly = Assembly(model, self.energies, self.pattern, gather)
        self.jacobi = BlockJacobi(model, self.assembly)
        wants_band = options.linear_solver in ("auto", "band")
        always = options.linear_solver == "band"
        self.band = BandFactor(model, self.assembly, self._stiffness_ratio(), always=always, wanted=wants_band)
        self.use_band = wants_band and self.band.available
        self.solver_name = "direct" if options.linear_solver == "direct" else ("band" if self.use_band else "pcg")
        helped = self.interfaces if options.newton == "guided" else ()
        self.common = CommonMotion(model, helped, self.stride)
        self.self_stress = SelfStress(model, self.energies)
        self.cg = ConjugateGradients(model, options.linear_max_iterations)
        self.cg.tolerance.fill_(options.linear_tolerance)

    def _stiffness_ratio(self) -> np.ndarray:
        """Elastic over inertial diagonal of each free node at the initial positions [-], (N,)."""
        self.map.launch_positions(self.state.x, self.points)
        wp.copy(self.points_start, self.points)
        self.begin_energies()
        self.assembly.launch(self.inputs, self.state.x, self.state.x)
        diagonal = self.assembly.values.numpy()[self.pattern.diagonal]
        inertia = np.maximum(self.model.node_mass.numpy(), 1e-300) / float(self.step_size.numpy()[0]) ** 2
        return np.trace(diagonal, axis1=1, axis2=2) / 3.0 / inertia - 1.0

    def _make_contact(self) -> None:
        model, options = self.model, self.options
        self.has_contact = model.collision is not None and len(model.collision.triangles) > 0
        if not self.has_contact:
            return
        listed, touching = self._reserve
        self.candidates = Candidates(
            model.collision, model.embedding, device=self.device, slack=options.candidate_slack, expected=listed
        )
        self.riders = riders = Riders()
        e = model.embedding
        riders.point_node, riders.point_count, riders.point_weights = e.point_node, e.point_count, e.point_weights
        riders.node_free, riders.node_body, riders.body_node = self.node_free, model.node_body, model.body_node
        self.target = target = MatrixTarget()
        target.row_start, target.column = self.assembly.row_start, self.assembly.column
        target.values, target.extra = self.assembly.values, self.jacobi.extra
        target.body_extra, target.band = self.jacobi.body_extra, self.band.band
        target.component_of, target.position_of = self.band.component_of, self.band.position_of
        target.width, target.storage = self.band.width, self.band.storage
        self.active_count = wp.zeros(1, dtype=int, device=self.device)
        self.near_count = wp.zeros(1, dtype=int, device=self.device)
        self.size_contact()
        self.size_stencils(max(touching, FEWEST_CONTACTS, CONTACTS_A_WORLD * self.num_worlds))

    def size_contact(self) -> None:
        """What is kept of every candidate."""
        capacity = len(self.candidates.points)
        self.candidate_version = self.candidates.version
        self.list = narrow.candidate_arrays(self.candidates)
        self.gap = wp.zeros(capacity, dtype=wp.float64, device=self.device)
        self.seen = wp.zeros(capacity, dtype=wp.float64, device=self.device)
        self.forget_gaps()
        self.active = wp.zeros(2 * capacity, dtype=int, device=self.device)  # twice: the sort's scratch
        if self.stride > 1:
            self.active_order = wp.zeros(2 * capacity, dtype=int, device=self.device)
        self.near = wp.zeros(capacity, dtype=int, device=self.device)

    def size_stencils(self, capacity: int) -> None:
        """Contacts and friction, 1.1 kB each: few candidates touch, so there are as many as that has taken so far."""
        self.normal_force = wp.zeros(capacity, dtype=wp.float64, device=self.device)
        self.contacts = StencilBlocks(capacity, self.device)
        self.friction = Friction(capacity, self.options.epsv, self.device)
        self.terms = (self.friction, *self.interfaces)  # beside the contacts: lagged or with history
        self.stencils = (self.contacts, *(t.blocks for t in self.terms))

    def grow_stencils(self) -> bool:
        """True when more pairs touch than the stencils hold: they are longer now, with the lagged friction of the
        running step, and what was made of the pairs must be made again. Reads a count, where the list is long enough
        for that."""
        if not self.has_contact or self.candidates.num_candidates <= self.contacts.capacity:
            return False
        needed, lagged = int(self.active_count.numpy()[0]), self.friction
        if needed <= self.contacts.capacity:
            return False
        self.size_stencils(needed + needed // 4)
        self.friction.take_over(lagged)
        return True

    # stages ---------------------------------------------------------------------------------------------------------
    def predict(self) -> None:
        m, s, o = self.model, self.state, self.options
        wp.launch(worlds.begin_step_kernel, self.num_worlds, [self.worlds], device=self.device)
        wp.launch(
            predict.predict_kernel,
            m.num_nodes,
            [s.x, s.v, s.x_prev, s.v_prev, m.node_gravity, self.step_size, wp.float64(o.dt), self.bdf2]
            + [int(o.start == "velocity")],
            [self.x_start, self.x_hat, self.x_tilde, self.dx],
            device=self.device,
        )
        bodies = self.num_worlds * m.bodies_per_world
        if bodies and o.start == "velocity":
            wp.launch(
                predict.rigid_guess_kernel,
                bodies,
                [m.body_node, s.x, s.v, wp.float64(o.dt)],
                [self.dx],
                device=self.device,
            )
        if m.node_unused is None:
            self.node_fixed.zero_()
        else:
            wp.copy(self.node_fixed, m.node_unused)

    def map_start(self) -> None:
        self.map.launch_positions(self.state.x, self.points)
        if self.has_contact:
            self.forget_gaps()
        wp.copy(self.points_start, self.points)
        self.map.launch_displacements(self.dx, self.points_dx)
        self.measure_guess()
        wp.launch(
            worlds.open_reach_kernel,
            self.num_worlds,
            [self.worlds, wp.float64(self.reach_floor)],
            device=self.device,
        )

    def measure_guess(self) -> None:
        w = self.worlds
        w.update.zero_()
        self.map.launch_update_size(self.points_dx, w.update)
        wp.copy(w.longest, w.update)

    def detect(self) -> None:
        if not self.has_contact:
            return
        for term in self.interfaces:
            term.launch_mute(self.list)
        self.active_count.zero_()
        self.worlds.min_gap.fill_(float("inf"))
        wp.launch(
            narrow.detect_kernel,
            self.stride,
            [self.list, self.points, self.worlds.travel, self.stride, self.gap, self.seen],
            [self.active, self.active_count, self.worlds.min_gap],
            device=self.device,
        )
        if self.stride > 1:
            self._sort_active()

    def _sort_active(self) -> None:
        """Many threads list active pairs in any order: back to candidate order, so that sums do not depend on it."""
        capacity = len(self.active) // 2
        wp.launch(
            narrow.pad_active_kernel, capacity, [self.active_count, self.active, self.active_order], device=self.device
        )
        wp.utils.radix_sort_pairs(self.active, self.active_order, capacity)

    def forget_gaps(self) -> None:
        """The list, or the positions, changed in a way that the travel does not count."""
        self.gap.fill_(narrow.FORGOTTEN)
        self.worlds.travel.zero_()

    def lag_friction(self) -> None:
        if self.has_contact:
            self.contacts.launch_take_count(self.active_count)
            self.friction.launch_lag(self.list, self.points, self.active, self.contacts.count)

    def soften_guess(self) -> None:
        """Take from the start guess what would press contacts together; see engine.contact.guess."""
        if not self.has_contact:
            return
        wp.launch(
            guess.soften_kernel,
            self.stride,
            [self.list, self.points, self.active, self.active_count, self.riders, self.stride],
            [self.points_dx, self.dx],
            device=self.device,
        )
        self.map.launch_displacements(self.dx, self.points_dx)
        self.measure_guess()

    def list_near(self) -> None:
        """Candidates that points_dx may bring together; worlds.longest bounds its components."""
        w = self.worlds
        self.near_count.zero_()
        wp.launch(
            narrow.near_kernel,
            self.stride,
            [self.list, self.gap, self.seen, w.travel, w.longest, self.points, self.points_dx, self.stride]
            + [self.near, self.near_count],
            device=self.device,
        )

    def bound_step(self) -> None:
        """Safe share of points_dx by world: contact and inversion."""
        wp.launch(worlds.open_bound_kernel, self.num_worlds, [self.worlds], device=self.device)
        for energy in self.energies:
            energy.launch_step_bound(self.inputs, self.points_dx, self.worlds.bound)
        if not self.has_contact:
            return
        self.list_near()
        wp.launch(
            narrow.step_bound_kernel,
            self.stride,
            [self.list, self.points, self.points_dx, self.near, self.near_count]
            + [wp.float64(self.options.ccd_conservative), self.stride],
            [self.worlds.bound],
            device=self.device,
        )

    def apply_guess(self) -> None:
        wp.launch(
            worlds.apply_guess_kernel,
            self.model.num_nodes,
            [self.worlds, self.model.node_world, self.dx, self.state.x],
            device=self.device,
        )
        self.map.launch_positions(self.state.x, self.points)
        if self.has_contact:
            self.forget_gaps()

    def begin_energies(self) -> None:
        for energy in self.energies:
            energy.begin_step(self.inputs)
        for term in self.interfaces:
            term.launch_begin_step(self.inputs)

    def linearise(self) -> None:
        """Gradient, matrix, contact stencils, preconditioner at the current positions."""
        wp.launch(
            worlds.node_free_kernel,
            self.model.num_nodes,
            [self.worlds, self.model.node_world, self.node_fixed],
            [self.node_free],
            device=self.device,
        )
        if self.common.possible:
            self.self_stress.launch(self.inputs)
        self.assembly.launch(self.inputs, self.state.x, self.x_tilde)
        self.jacobi.launch_clear()
        if self.use_band:
            self.band.launch_clear()
        if self.has_contact:
            self._linearise_contact()
        self.residual.launch(self.assembly.gradient, self.node_free, self.worlds)

    def _linearise_contact(self) -> None:
        c = self.contacts
        c.launch_take_count(self.active_count)
        wp.launch(
            narrow.derivatives_kernel,
            self.stride,
            [self.list, self.points, self.active, c.count, self.stride],
            [c.points, c.weights, c.block, c.gradient, self.normal_force, c.first_side],
            device=self.device,
        )
        for term in self.terms:
            term.launch_derivatives(self.inputs)
        for blocks in self.stencils:
            blocks.launch_scatter_gradient(self.riders, self.assembly.gradient)
            blocks.launch_fold(self.riders, self.target)

    def factor(self) -> None:
        self.jacobi.launch_factor()
        if self.use_band:
            self.band.launch_factor(self.jacobi.extra)

    def multiply(self, p, ap) -> None:
        a = self.assembly
        wp.launch(
            multiply_kernel,
            self.model.num_nodes,
            [a.row_start, a.column, a.values, self.node_free, p],
            [ap],
            device=self.device,
        )
        if self.has_contact:
            for b in self.stencils:
                launch_multiply_stencils(b, p, ap)

    def precondition(self, r, z) -> None:
        self._precondition_local(r, z)
        self.common.launch_add(r, z, self.node_free)

    def _precondition_local(self, r, z) -> None:
        self.jacobi.launch_apply(r, z, self.node_free)
        if self.use_band:
            self.band.launch_apply(r, z, self.node_free)

    def measure_push(self) -> None:
        self.common.launch_push(
            self.state.x, self.node_free, self.assembly.gradient, self.tolerance, self.step_size
        )

    def find_common_motion(self) -> None:
        """Once a step, after `factor`."""
        self.common.launch_make(self.state.x, self.node_free, self.multiply, self._precondition_local)

    def solve(self) -> None:
        self.cg.launch(self.assembly.gradient, self.node_free, self.multiply, self._precondition_local)

    def solve_common(self) -> None:
        """With the common motions of what sticks together."""
        self.cg.launch(self.assembly.gradient, self.node_free, self.multiply, self.precondition)

    def solve_plain(self) -> None:
        """Fallback when the band factor broke down: block Jacobi alone."""

        def precondition(r, z):
            self.jacobi.launch_apply(r, z, self.node_free)

        self.cg.launch(self.assembly.gradient, self.node_free, self.multiply, precondition)

    def measure_update(self) -> None:
        w = self.worlds
        wp.copy(self.dx, self.cg.x)
        if self.options.newton == "guided":
            self._stretch_update()
        self.map.launch_displacements(self.dx, self.points_dx)
        w.update.zero_()
        self.map.launch_update_size(self.points_dx, w.update)
        wp.launch(worlds.limit_kernel, self.model.num_nodes, [w, self.model.node_world, self.dx], device=self.device)
        self.map.launch_displacements(self.dx, self.points_dx)
        wp.launch(worlds.bound_longest_kernel, self.num_worlds, [w], device=self.device)
        w.contact_force.zero_()
        w.force_change.zero_()
        if self.has_contact:
            c = self.contacts
            wp.launch(
                narrow.force_change_kernel,
                self.stride,
                [self.list, self.active, c.count, c.points, c.weights, c.block, self.normal_force]
                + [self.points_dx, self.stride],
                [w.contact_force, w.force_change],
                device=self.device,
            )
        w.slope.zero_()
        wp.launch(
            worlds.slope_kernel,
            self.model.num_nodes,
            [w, self.model.node_world, self.assembly.gradient, self.dx],
            device=self.device,
        )

    def shorten(self, share: np.ndarray) -> None:
        """Cut the motion of each world to a share of itself, (W,)."""
        factor = wp.array(share, dtype=wp.float64, device=self.device)
        motion = [self.model.node_world, factor, self.dx]
        wp.launch(worlds.shorten_motion_kernel, self.model.num_nodes, motion, device=self.device)
        wp.launch(worlds.shorten_kernel, self.num_worlds, [self.worlds, factor], device=self.device)
        self.map.launch_displacements(self.dx, self.points_dx)

    def _stretch_update(self) -> None:
        w, m = self.worlds, self.model
        wp.launch(stretch.clear_kernel, self.num_worlds, [w], device=self.device)
        wp.launch(
            stretch.dot_kernel,
            m.num_nodes,
            [w, m.node_world, m.node_mass, self.dx, self.accepted],
            device=self.device,
        )
        wp.launch(stretch.factor_kernel, self.num_worlds, [w], device=self.device)
        wp.launch(stretch.scale_kernel, m.num_nodes, [w, m.node_world, self.dx], device=self.device)

    def end_histories(self) -> None:
        """Histories of interfaces advance once a step, at its final positions, with contact detected anew."""
        self.detect()
        for term in self.interfaces:
            term.launch_end_step(self)

    def finish(self) -> None:
        s = self.state
        wp.launch(
            predict.finish_kernel,
            self.model.num_nodes,
            [s.x, self.x_start, self.x_hat, self.step_size, s.v],
            [s.x_prev, s.v_prev],
            device=self.device,
        )
        for energy in self.energies:
            if energy.ends_step:
                energy.launch_end_step(self.inputs)
