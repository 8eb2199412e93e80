"""Projected Newton on the incremental potential: the order of the stages, on the host.

An iteration reads three small arrays (did the solver find a direction, is the candidate list still valid, how many
worlds iterate), on the CPU also the count of PCG iterations.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import warp as wp

from engine.linear.direct import solve_direct
from engine.options import Options
from engine.stepper.drives import MAX_ROUNDS, DriveControl
from engine.stepper.stages import Stages
from engine.stepper.system import System
from engine.types import Control, Model, State, StepReport

SHORT_LIST = 2000  # pairs: a list below this costs nothing worth saving
SHORTENINGS, SHORTER = 3, 0.25  # a motion that sweeps over too many pairs is cut to a quarter, three times at most
WIDE_SWEEP = 2.0  # a list made for this many times the motion of the step is made anew


class Newton:
    """Advances `state` by one step in place."""

    def __init__(
        self, model: Model, state: State, options: Options, interfaces: tuple = (), capture: bool = True,
        reserve: tuple[int, int] = (0, 0),
    ):  # fmt: skip
        options = options.in_force()
        self.model, self.state, self.options = model, state, options
        self.system = s = System(model, state, options, interfaces, reserve)
        self.drives = DriveControl(model, float(s.step_size.numpy()[0]))
        self.stages = stages = Stages(model.device, capture)
        stages.add("predict", lambda: (s.predict(), self.drives.launch_guess(state.x, s.dx), s.map_start()))
        stages.add("detect", s.detect)
        stages.add("soften", self._soften)
        stages.add("start", lambda: (s.bound_step(), s.apply_guess()))
        stages.add("hold", lambda: self.drives.launch_measure_and_hold(state.x, s.node_fixed))
        stages.add("lag", s.lag_friction)
        stages.add("linearise", s.linearise)
        stages.add("factor", s.factor)
        stages.add("push", s.measure_push)
        stages.add("common motion", s.find_common_motion)
        stages.add("solve", s.solve)
        stages.add("solve common", s.solve_common)
        stages.add("solve plain", s.solve_plain)
        stages.add("update", s.measure_update)
        stages.add("early", s.shorten_early)
        stages.add("bound", s.bound_step)
        stages.add("energy", s.evaluate_current)
        stages.add("search", s.line_search)
        stages.add("accept", s.accept)
        stages.add("finish", s.finish)
        stages.add("histories", s.end_histories)
        stages.add("read", self._read)
        self._on_cpu = wp.get_device(model.device).is_cpu
        self._listed_sweep = 0.0  # longest displacement plus slack that the pair list was made for [m]
        self.on_iteration: Callable[[], None] | None = None

    def release(self) -> None:
        """Let go of the stages: they refer back to this object, and its buffers would wait for the garbage collector.
        It cannot step any more."""
        self.stages.functions.clear()
        self.stages.clear()

    def _soften(self) -> None:
        s = self.system
        s.begin_energies()  # at the last converged state: the guess may carry strains that no force backs
        if s.common.possible:
            s.common.launch_members(s.state.x)
            s.self_stress.launch_within(s.common.member)
        s.lag_friction()
        s.soften_guess()

    # reading between steps ------------------------------------------------------------------------------------------
    def _read(self) -> None:
        s = self.system
        s.detect()
        s.linearise()

    def read_contact(self) -> None:
        """Contact and friction derivatives at the final positions of the last step."""
        self.stages.run("read")
        if self._grow_stencils(StepReport()):
            self.stages.run("read")

    def body_reaction(self) -> np.ndarray:
        """Gradient without the drives' own pull at the final positions [N], (N, 3): on the origin node of a driven
        body this is the force that the drive exerts. Call after `read_contact`."""
        if not self.system.has_contact:
            self.stages.run("read")
        gradient = self.system.assembly.gradient.numpy().copy()
        return gradient - self.drives.node_gradient(self.system.assembly, self.system.energies)

    # ----------------------------------------------------------------------------------------------------------------
    def step(self, control: Control) -> StepReport:
        self.stages.begin_step()
        report = StepReport(linear_solver=self.system.solver_name)
        self.system.cg.total.zero_()
        self.drives.begin(control.body_transform)
        self._start_guess(report)
        for friction_pass in range(self.options.friction_iterations):
            if friction_pass > 0:
                self._refresh_friction(report)
            self._minimise(report)
        self.stages.run_joined("finish", *(("histories",) if self.system.interfaces else ()))
        self._finish_report(report)
        return report

    def _start_guess(self, report: StepReport) -> None:
        self.stages.run("predict")
        s = self.system
        if s.has_contact:
            sweep = float(s.worlds.update.numpy().max()) + s.candidates.slack
            if s.candidates.num_candidates > SHORT_LIST and self._listed_sweep > WIDE_SWEEP * sweep:
                s.candidates.invalidate()  # made for faster motion: every pass over it would cost too much
            self._update_candidates(report)
        self.stages.run_joined("detect", "soften")
        if self._grow_stencils(report):
            self.stages.run("lag")
        s.common.read()
        if self._update_candidates(report):  # the guess has changed: it must still be one that the list covers
            self.stages.run("detect")
        self.stages.run_joined("start", "hold")

    def _refresh_friction(self, report: StepReport) -> None:
        self.system.worlds.active.fill_(1)
        self.stages.run("detect")
        self._grow_stencils(report)
        self.stages.run("lag")

    def _minimise(self, report: StepReport) -> None:
        """Newton to convergence, then multipliers of blocked drives, until both are done."""
        gap = self.system.worlds.min_gap
        for drive_round in range(MAX_ROUNDS + 1):
            self._iterate(report)
            self.stages.run("hold")
            if drive_round == MAX_ROUNDS or not self.drives.behind(gap).any():
                break
            self.drives.launch_raise(self.state.x, gap, self.system.worlds.active)
            self.system.worlds.iterations.zero_()

    def _iterate(self, report: StepReport) -> None:
        s, stages = self.system, self.stages
        energy, early = ("energy",), ()  # of the first positions; afterwards that of the accepted trial is known
        direct = self.options.linear_solver == "direct"
        weigh = s.common.active and not direct
        solve = ("factor", "solve", "update")
        while True:
            stages.run_joined("detect", "linearise", *(("push",) if weigh else () if direct else (*solve, *early)))
            if self._grow_stencils(report):
                continue
            if direct:
                self._solve_direct()
                stages.run_joined("update", *early)
            elif weigh:
                weigh = False
                if s.common.read_needed():
                    solve = ("factor", "solve common", "update")
                    stages.run_joined("factor", "common motion", "solve common", "update")
                else:
                    stages.run_joined(*solve)
            if not direct:
                self._mend_direction(report, early)
            if self._update_candidates(report):
                stages.run("detect")
            stages.run_joined("bound", *energy, "search", "accept")
            energy, early = (), ("early",) if self.options.newton == "guided" else ()
            report.newton_iterations += 1
            if self.on_iteration is not None:
                self.on_iteration()
            if s.remaining.numpy()[0] == 0:
                return

    def _mend_direction(self, report: StepReport, early: tuple) -> None:
        """Other ways to a direction for the worlds in which the solver found none; the others keep theirs. early: the
        stage that shortens the update, once it can."""
        s = self.system
        broken, short = (getattr(s.cg.scalars, name).numpy() != 0 for name in ("broken", "running"))
        plain = broken if s.use_band else np.zeros_like(broken)
        if plain.any():
            self._solve_again(plain, lambda: self.stages.run("solve plain"))
            report.linear_solver = "pcg (band factor broke down)"
            short = np.where(plain, s.cg.scalars.running.numpy() != 0, short)
        if self._on_cpu and short.any():
            self._solve_again(short, self._solve_direct)  # a factorisation is dearer, a wrong direction dearer still
            report.linear_solver = "direct (PCG ran out of iterations)"
        if plain.any() or (self._on_cpu and short.any()):
            self.stages.run_joined("update", *early)

    def _solve_again(self, chosen: np.ndarray, solve: Callable[[], None]) -> None:
        """Run `solve` for the worlds in `chosen`, bool (W,), alone."""
        s, node_world = self.system, self.model.node_world.numpy()
        kept, free, broken = s.cg.x.numpy().copy(), s.node_free.numpy().copy(), s.cg.scalars.broken.numpy().copy()
        mine = chosen[node_world]
        s.node_free.assign(np.where(mine, free, 0).astype(np.int32))
        solve()
        s.node_free.assign(free)
        s.cg.x.assign(np.where(mine[:, None], s.cg.x.numpy(), kept))
        s.cg.scalars.broken.assign(np.where(chosen, s.cg.scalars.broken.numpy(), broken).astype(np.int32))

    def _solve_direct(self) -> None:
        s = self.system
        started = time.perf_counter()
        blocks = s.stencils if s.has_contact else ()
        s.cg.x.assign(solve_direct(s.assembly, blocks, s.node_free.numpy()))
        s.cg.scalars.broken.zero_()
        self.stages.seconds["solve"] = self.stages.seconds.get("solve", 0.0) + time.perf_counter() - started

    def _update_candidates(self, report: StepReport) -> bool:
        """Make the pair list valid for the motion points + points_dx; True when it was rebuilt."""
        s = self.system
        if not s.has_contact:
            return False
        started = time.perf_counter()
        rebuilds = s.candidates.num_rebuilds
        self._list_pairs()
        rebuilt = s.candidates.num_rebuilds > rebuilds
        if rebuilt:
            s.forget_gaps()
            longest = np.minimum(s.worlds.update.numpy(), s.worlds.reach.numpy()).max()
            self._listed_sweep = float(longest) + s.candidates.slack
        report.candidate_rebuilds += int(rebuilt)
        if s.candidates.version != s.candidate_version:
            report.overflow = f"contact buffers grew to {len(s.candidates.points)} pairs"
            s.size_contact()
            self.stages.clear()
        self.stages.seconds["candidates"] = self.stages.seconds.get("candidates", 0.0) + time.perf_counter() - started
        return rebuilt

    def _list_pairs(self) -> None:
        """A wild direction may sweep over millions of pairs, wound layers above all: it is shortened before they are
        listed. Where that does not help, the worlds are crowded as they stand, and keep the motion that they had."""
        s = self.system
        share = np.ones(s.num_worlds)
        for _ in range(SHORTENINGS):
            crowded = s.candidates.crowded(s.points, s.points_dx)
            if crowded is None:
                return
            share[crowded] *= SHORTER
            s.shorten(np.where(crowded, SHORTER, 1.0))
        crowded = s.candidates.crowded(s.points, s.points_dx)
        if crowded is not None:
            s.shorten(np.where(crowded, 1.0 / share, 1.0))
            s.candidates.update(s.points, s.points_dx)

    def _grow_stencils(self, report: StepReport) -> bool:
        """After a detection: True when more pairs touch than the stencils held, and what was made of them is void."""
        grown = self.system.grow_stencils()
        if grown:
            report.overflow = f"contact buffers grew to {self.system.contacts.capacity} contacts"
            self.stages.clear()
        return grown

    def _finish_report(self, report: StepReport) -> None:
        s, w = self.system, self.system.worlds
        dt = self.options.dt
        update = w.update.numpy() / dt
        stalled = w.stalled.numpy().astype(bool)
        settled = np.ones(len(update), bool)
        if s.has_contact:
            allowed = self.options.contact_tolerance * (w.contact_force.numpy() + s.force_floor.numpy())
            settled = w.force_change.numpy() <= allowed
        report.world_converged = (update <= self.options.newton_tolerance) & settled
        report.converged = bool(report.world_converged.all())
        report.stalled = bool((stalled & ~report.world_converged).any())  # at rounding there is no descent to find
        report.linear_iterations = int(s.cg.total.numpy()[0])
        report.line_search_halvings = int(w.halvings.numpy().sum())
        report.newton_update = float(update.max())
        report.newton_residual = float(s.residual.velocity(float(s.step_size.numpy()[0])).max())
        report.step_bound = float(w.smallest_bound.numpy().min())
        report.drive_gap = self.drives.largest_gap()
        if s.has_contact:
            report.contacts = int(s.active_count.numpy()[0])
            report.candidates = int(s.candidates.count.numpy()[0])
            report.min_distance = float(w.min_gap.numpy().min())
        adhesion = [sentence for term in s.interfaces for sentence in term.messages(self.options)]
        report.messages = (*_messages(report, self.drives, self.options, w.min_gap), *adhesion)
        report.stage_seconds = dict(self.stages.seconds)


def _messages(report: StepReport, drives: DriveControl, options: Options, gap: wp.array) -> list[str]:
    found = []
    if report.stalled:
        found.append("line search found no descent: the step was cut short (still intersection-free)")
    elif not report.converged:
        found.append(
            f"not converged after {report.newton_iterations} Newton iterations: update {report.newton_update:.2g} m/s, "
            f"tolerance {options.newton_tolerance:g} m/s "
            f"(Options.newton_max_iterations={options.newton_max_iterations})"
        )
    found += drives.blocked(gap)
    if report.overflow:
        found.append(report.overflow)
    return found
