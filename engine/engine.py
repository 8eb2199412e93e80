"""Engine: owns the data of one model and steps it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

import numpy as np
import warp as wp

from engine.adhesion.numbering import adopt_state, moving_points, renumber, whole_state
from engine.asked import (
    checked_control,
    driven_bodies,
    driven_joints,
    initial_control,
    initial_state,
    write_joint_targets,
)
from engine.cutting.cut import NO_CUTS, Cut, CutRecord, from_arrays, same_records, to_arrays
from engine.edits import Grasp, Release, Riding
from engine.live import check_friction, check_materials, edited_materials, friction_of, take_materials, with_friction
from engine.mesh.checks import check_options
from engine.options import Options
from engine.pushing import pushed
from engine.reduce import carriers, reduce_model
from engine.saving import HostViews, load_state, model_fingerprint, save_state
from engine.signals import read_signals, touching_vertices
from engine.stepper.embed import PointMap
from engine.stepper.newton import Newton
from engine.tape.cluster import RollCluster
from engine.topology import check_apart, make_cut, planned_cut, replay_cuts, restore_topology, start_from, topology_of
from engine.types import Control, Model, Signals, StepReport, mesh_pose
from engine.working import Working
from engine.yielding import Yielding


class Engine:
    """Steps a Model. One instance, one thread.

    Args:
        model: from `ModelBuilder.finalize`; its device is the engine's.
        options: see `Options`.
        capture: replay stages as captured graphs (False: eager launches, for debugging).
    """

    def __init__(self, model: Model, options: Options | None = None, capture: bool = True):
        self.options = options or Options()
        self._capture = capture
        self._uncut = model
        self.friction_edits: dict[str, float] = {}  # mesh -> friction_mu set by set_friction [-]
        self.report = StepReport()
        self.renewed = 0  # how often worlds were drawn anew (engine.renewal)
        self.warnings = tuple(check_options(self.options, model))  # settings that give wrong results without a sign
        self._start(model, [])
        self._control = initial_control(self.model)
        self._rebuild()

    def _start(self, model: Model, cuts: list[CutRecord]) -> None:
        """Everything at the model's initial state; `cuts` made it from the model without cuts. Rebuild next."""
        self.model, self.cuts = model, cuts
        self._riding = Riding(model)
        self.interfaces = tuple(make(model) for make in model.interfaces)
        self._yielding, self._host_views = Yielding(model), HostViews()
        self._body_force: dict[tuple[str, int], np.ndarray] = {}
        self.state = initial_state(self.model, self.options.dt)
        self.rolls = {name: RollCluster(spec, model) for name, spec in model.rolls.items()}
        self._form_rolls(range(model.num_worlds))

    # stepping -------------------------------------------------------------------------------------------------------
    def step(self, control: Control | None = None, on_iteration: Callable[[], None] | None = None) -> StepReport:
        """Advance every world by dt. `control` None keeps the last targets. `on_iteration` is called between Newton
        iterations (the window ticks there); it must not touch the engine.

        Raises:
            ValueError: a control array of the wrong shape or not finite.
            FloatingPointError: the state became not finite; the state before the step is restored.
        """
        if control is not None:
            self._control = checked_control(control, self.model)
        write_joint_targets(self.newton.model, self._control.joint_target)
        before = (self.state.x.numpy().copy(), self.state.v.numpy().copy())
        self._signals, self._contact_read = None, False
        self.newton.on_iteration = on_iteration
        if self._working is not None:
            self._working.gather()
        self.report = self.newton.step(self._control)
        self._contact_known = True
        self._yielding.read(self.newton.model)
        if self._working is not None:
            self._working.scatter()
            self._whole_map.launch_positions(self.state.x, self._whole_points)
        if not np.isfinite(self.state.x.numpy()).all():
            self.state.x.assign(before[0])
            self.state.v.assign(before[1])
            raise FloatingPointError(
                f"the step at t = {self.state.time.max():.4f} s gave positions that are not finite; the state before "
                "it was restored. Smaller Options.dt or softer materials may help; the last checkpoint is safe."
            )
        self.state.step_index += 1
        self.state.time += self.options.dt
        if self.rolls:
            self._advance_rolls()
        return self.report

    def control(self) -> Control:
        """A copy of the current targets, to be changed and handed to `step`."""
        return Control(self._control.body_transform.copy(), self._control.joint_target.copy())

    @property
    def driven_bodies(self) -> list[str]:
        """Names of the rows of Control.body_transform."""
        return [body.name for body in driven_bodies(self.model)]

    @property
    def driven_joints(self) -> list[str]:
        """Names of the rows of Control.joint_target."""
        return [joint.name for joint in driven_joints(self.model)]

    def apply(self, edits) -> None:
        """Carry out `Grasp`, `Release` and `Cut` edits between steps; momentum of points and bodies is kept.

        A cut changes the number of points and nodes: `model` is another one afterwards, with a larger
        topology_version; meshes, bodies and joints keep their names, meshes their first vertices.
        Raises KeyError or ValueError naming what does not fit; nothing is changed then.
        """
        kept, riders = topology_of(self), self._riding.state()
        x, v, cut = self.state.x.numpy().copy(), self.state.v.numpy().copy(), False
        try:
            for edit in edits:
                if isinstance(edit, Grasp):
                    self._riding.grasp(edit, x, v)
                elif isinstance(edit, Release):
                    self._riding.release(edit, x, v)
                elif isinstance(edit, Cut):
                    x, v = make_cut(self, edit, x, v)
                    cut = True
                else:
                    raise ValueError(f"cannot apply {edit!r}; legal edits: Grasp, Release, Cut")
            if cut:
                self.state.x.assign(x)
                self.state.v.assign(v)
                self._rebuild()
                check_apart(self)
        except (KeyError, ValueError):
            restore_topology(self, kept)
            self._riding.restore(riders)
            if cut:
                self._rebuild()
            raise
        if not cut:
            self.state.x.assign(x)
            self.state.v.assign(v)
            self._rebuild()

    def set_friction(self, mesh: str, friction_mu: float) -> None:
        """Edit between steps: another coefficient for a mesh, in all worlds; a pair has the geometric mean of both. It
        stays through reset, cuts and `set_state`. Raises KeyError or ValueError naming what does not fit."""
        friction_of(self, mesh)
        self.friction_edits[mesh] = check_friction(mesh, friction_mu)
        self._rebuild()

    def set_body_force(self, name: str, force, world: int = 0) -> None:
        """Push a body at its centre of mass with a steady force (3,) [N], world frame, until it is set anew; None or
        zero ends it. No part of the state: it is neither saved nor recorded. Raises KeyError for an unknown body,
        ValueError for one without a mass of its own or a force that is not three finite numbers."""
        if not self._body(name).mass > 0.0:
            raise ValueError(f"body '{name}' has no mass of its own: there is nothing to push")
        value = np.zeros(3) if force is None else np.asarray(force, float)
        if value.shape != (3,) or not np.isfinite(value).all():
            raise ValueError(f"force on body '{name}' is {force!r}; it must be three finite numbers [N]")
        self._body_force[name, world] = value
        self._rebuild()

    def plan_cut(self, cut: Cut) -> tuple[list[Cut], list[list[tuple[int, int, float]]]]:
        """What a cut would do, to show it first (engine.cutting.operator): the same cut in rest places, one edit a
        stretch, and its paths on the mesh. Nothing is changed; raises like `apply`."""
        return planned_cut(self, cut)

    def grasped(self, world: int = 0) -> dict[str, np.ndarray]:
        """Vertices held by `Grasp` edits, by mesh, local ids; wound tape on its cluster is not held."""
        found = {}
        held = self._riding.points[~self._riding.on_carrier]
        for name, info in self.model.meshes.items():
            start = info.points.start + world * self.model.points_per_world
            local = held - start
            mine = np.sort(local[(local >= 0) & (local < info.points.stop - info.points.start)])
            if len(mine):
                found[name] = mine
        return found

    def touching(self, meshes, world: int = 0) -> dict[str, np.ndarray]:
        """Vertices of shells and solids now in contact with any of the named meshes, by mesh, local ids."""
        return touching_vertices(self, meshes, world)

    def reset(self, world: int | Sequence[int] | None = None) -> None:
        """Back to the model's initial state: all worlds, one or several; the others go on undisturbed. Cuts are undone
        when all worlds are reset; a world of a batch alone keeps them, its sheets lie cut where they started.

        Raises ValueError for a world that is none of the model's."""
        if world is None and self.cuts:
            start_from(self, self._uncut, [])
            self._control = initial_control(self.model)
            self._rebuild()
            return
        total = self.model.num_worlds
        chosen = list(range(total)) if world is None else [int(w) for w in np.atleast_1d(world)]
        for w in chosen:
            if not 0 <= w < total:
                raise ValueError(f"world is {w}; this model has worlds 0..{total - 1}")
        edited = False
        for one in [None] if world is None else chosen:
            edited |= bool(self._riding.clear(one))
            for interface in self.interfaces:
                renumber(interface, None)
                interface.reset(one)
            self._yielding.reset(one)
        self._yielding.write(self.newton.model)
        fresh = initial_state(self.model, self.options.dt)
        for name in ("x", "v", "x_prev", "v_prev"):
            values = getattr(self.state, name).numpy().copy().reshape(total, -1, 3)
            values[chosen] = getattr(fresh, name).numpy().reshape(total, -1, 3)[chosen]
            getattr(self.state, name).assign(values.reshape(-1, 3))
        initial = initial_control(self.model)
        self.state.step_index[chosen] = 0
        self.state.time[chosen] = 0.0
        self._control.body_transform[chosen] = initial.body_transform[chosen]
        self._control.joint_target[chosen] = initial.joint_target[chosen]
        self._form_rolls(chosen)
        if edited or self.rolls:
            self._rebuild()
        self._refresh_points()

    # reading --------------------------------------------------------------------------------------------------------
    def positions(self, world: int = 0) -> np.ndarray:
        """All point positions of one world [m], (P, 3) float64, a copy."""
        p = self.model.points_per_world
        return self._points().numpy()[world * p : (world + 1) * p].copy()

    def mesh_positions(self, name: str, world: int = 0) -> np.ndarray:
        """Vertices of a named mesh [m], (n, 3) float64."""
        points = self._mesh(name).points
        offset = world * self.model.points_per_world
        return self._points().numpy()[points.start + offset : points.stop + offset].copy()

    def body_transform(self, name: str, world: int = 0) -> np.ndarray:
        """Pose of a body's mesh frame in the world, (4, 4). The matrix part carries the small affine strain."""
        body = self._body(name)
        node = body.node + world * self.model.nodes_per_world
        return mesh_pose(body, self.state.x.numpy()[node : node + 4])

    def joint_position(self, name: str, world: int = 0) -> float:
        """Coordinate of a revolute or prismatic joint [rad or m]. Raises KeyError for another name."""
        joint = self.newton.model.joints.get(name)
        if joint is None or joint.coordinate is None:
            able = [n for n, j in self.newton.model.joints.items() if j.coordinate is not None]
            raise KeyError(f"no joint '{name}' with a coordinate; available: {', '.join(able) or 'none'}")
        values = joint.coordinate.coordinate_host(self.newton.system.points.numpy())
        return float(values.reshape(self.model.num_worlds, -1)[world, joint.element])

    def signals(self) -> Signals:
        """Contact forces, drives and joints after the last step."""
        return self._signals or read_signals(self)

    @property
    def points(self) -> wp.array:
        """Positions of all points of all worlds on the device [m], vec3d (W * P,). To be read, not to be written."""
        return self._points()

    def read_contact(self) -> None:
        """Contact, friction and adhesion at the end of the last step into `newton.system`, on the device; done once a
        step, whoever asks first."""
        if not self._contact_read:
            self.newton.read_contact()
            self._contact_read = True

    @property
    def contact_known(self) -> bool:
        """Whether the stepper's contact belongs to the present state: not after a reset, an edit or a loaded state,
        until the next step."""
        return self._contact_known

    @property
    def told(self) -> Signals | None:
        """The last `signals()` when they still hold, None after a step until they are asked for."""
        return self._signals

    # saving ---------------------------------------------------------------------------------------------------------
    def get_state(self) -> dict[str, np.ndarray]:
        """All that a restart needs, host copies."""
        return {name: array.copy() for name, array in self.view_state().items()}

    def view_state(self) -> dict[str, np.ndarray]:
        """`get_state` without copies where memory is shared (on the CPU): to be read before the next step or edit and
        never written. A recording hashes every state; copying 0.1 MB first would cost it more than the hash."""
        s, control, host = self.state, self._control, self._host_views
        arrays = {"x": host(s.x), "v": host(s.v), "x_prev": host(s.x_prev), "v_prev": host(s.v_prev)}
        arrays["step_index"], arrays["time"] = s.step_index, s.time
        arrays["control_body_transform"], arrays["control_joint_target"] = control.body_transform, control.joint_target
        for name, values in self._yielding.target.items():
            arrays[f"yielding_{name}"] = values
        arrays.update(self._riding.views())
        arrays.update(to_arrays(self.cuts, self.model.meshes) if self.cuts else NO_CUTS)
        for interface in self.interfaces:
            for name, values in whole_state(interface, host).items():
                arrays[f"{interface.name}_{name}"] = values
        for name, roll in self.rolls.items():
            arrays[f"roll_{name}_front"], arrays[f"roll_{name}_place"] = roll.front, roll.place
        return arrays

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore `get_state`; cuts that the state has are made, others undone. Raises ValueError naming the array that
        does not fit this model; the state before is kept then."""
        kept, riders = topology_of(self), self._riding.state()
        records = from_arrays(arrays, self.model.meshes)
        recut_needed = not same_records(records, self.cuts)
        try:
            if recut_needed:
                replay_cuts(self, records)
            self._take_state(arrays, recut_needed)
        except ValueError:
            restore_topology(self, kept)
            if recut_needed:
                self._riding.restore(riders)
                self._rebuild()
            raise

    def _take_state(self, arrays: dict[str, np.ndarray], rebuild: bool) -> None:
        expected = self.get_state()
        for name, current in expected.items():
            if name.startswith("cut_"):
                continue
            if name not in arrays:
                raise ValueError(f"state lacks the array '{name}'; it needs {', '.join(expected)}")
            if not name.startswith("grasp_") and np.shape(arrays[name]) != current.shape:
                raise ValueError(
                    f"state array '{name}' has shape {np.shape(arrays[name])}; this model needs {current.shape}"
                )
        changed = self._riding.restore(arrays)
        self._yielding.set_state({k: arrays[f"yielding_{k}"] for k in self._yielding.get_state()})
        for name, roll in self.rolls.items():
            roll.set_state({k: arrays[f"roll_{name}_{k}"] for k in roll.get_state()})
        for interface in self.interfaces:
            prefix = f"{interface.name}_"
            mine = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            adopt_state(interface, {k: v for k, v in mine.items() if k in interface.get_state()})
        for name in ("x", "v", "x_prev", "v_prev"):
            getattr(self.state, name).assign(np.asarray(arrays[name], float))
        self.state.step_index[:] = arrays["step_index"]
        self.state.time[:] = arrays["time"]
        self._control.body_transform[:] = arrays["control_body_transform"]
        self._control.joint_target[:] = arrays["control_joint_target"]
        if changed or rebuild or self._working is not None:
            self._rebuild()
        self._yielding.write(self.newton.model)
        self._refresh_points()

    def save(self, path) -> None:
        """Write the state with version and model fingerprint, and the materials as they are edited; `load` resumes bit
        for bit on the CPU."""
        kept = {"materials": np.frombuffer(json.dumps(edited_materials(self)).encode(), np.uint8)}
        save_state(path, self.get_state() | kept, model_fingerprint(self._uncut), self.options)

    def load(self, path, any_options: bool = False) -> None:
        """Restore `save`. Raises ValueError when the file is of another model, of a later version, or (unless
        any_options) was saved under other options."""
        options = None if any_options else self.options
        arrays = load_state(path, model_fingerprint(self._uncut), options)
        materials = arrays.pop("materials", None)
        if materials is not None:
            materials = json.loads(materials.tobytes().decode())
            check_materials(self, materials)
        self.set_state(arrays)
        if materials is not None and materials != edited_materials(self):
            take_materials(self, materials)
            self._rebuild()

    # private --------------------------------------------------------------------------------------------------------
    def _rebuild(self) -> None:
        """The embedding has changed: a new system over the same state, reduced where tape rides on a cluster."""
        self._signals: Signals | None = None
        self.model = self._riding.model() if self._riding.needed else self._riding.base
        self.model = with_friction(self.model, self.friction_edits)
        self._working = None
        if any((roll.front > 0).any() for roll in self.rolls.values()):
            buried = np.any([roll.buried() for roll in self.rolls.values()], axis=0)
            carrier = carriers(self.model)
            anchors = [moving_points(term, carrier) for term in self.interfaces]
            needed = np.concatenate(anchors) if anchors else np.zeros(0, np.int64)
            self._working = Working(reduce_model(self.model, buried, needed), self.state)
            self._whole_map = PointMap(self.model)
            self._whole_points = wp.zeros(self.model.num_points, dtype=wp.vec3d, device=self.model.device)
        for term in self.interfaces:
            surface = None if self._working is None else self.reduction.model.collision.point_surface
            renumber(term, self.reduction, surface)
        model, state = (
            (self.model, self.state) if self._working is None else (self.reduction.model, self._working.state)
        )
        self._yielding.write(model)
        model = pushed(model, self._body_force)
        expected = self._expected_contact()
        if hasattr(self, "newton"):
            self.newton.release()
        self.newton = Newton(model, state, self.options, self.interfaces, self._capture, expected)
        self._refresh_points()

    def _expected_contact(self) -> tuple[int, int]:
        """Candidates and contacts to expect, so that buffers do not grow anew after every edit: the length of the last
        list and a quarter, as many contacts as there was room for; 0 = unknown."""
        newton = getattr(self, "newton", None)
        if newton is None or not newton.system.has_contact:
            return 0, 0
        return newton.system.candidates.num_candidates * 5 // 4, newton.system.contacts.capacity

    @property
    def reduction(self):
        """engine.reduce.Reduction in use, None when the stepper works on the whole model."""
        return None if self._working is None else self._working.reduction

    def _points(self) -> wp.array:
        """Positions of all points of the whole model [m], vec3d (P,)."""
        return self.newton.system.points if self._working is None else self._whole_points

    def _form_rolls(self, worlds) -> None:
        """Wound tape rides on its cluster from the start; velocities are projected onto the body's motion."""
        x, v = self.state.x.numpy().copy(), self.state.v.numpy().copy()
        for roll in self.rolls.values():
            for world in worlds:
                points = self._base_positions(roll.spec.mesh, world, x)
                for edit in roll.form(world, points, self.body_transform(roll.spec.carrier, world)):
                    self._riding.grasp(edit, x, v)
        self.state.v.assign(v)

    def _base_positions(self, mesh: str, world: int, x: np.ndarray) -> np.ndarray:
        """Places of a shell's vertices that all own a node, from node positions x (N, 3)."""
        points = self.model.meshes[mesh].points
        offset = world * self.model.points_per_world
        return x[self._riding.node[points.start + offset : points.stop + offset]]

    def _advance_rolls(self) -> None:
        """Fronts move at step boundaries, by physics alone."""
        started = time.perf_counter()
        edits = []
        for roll in self.rolls.values():
            for world in range(self.model.num_worlds):
                if roll.front[world] > 0:
                    places = self.mesh_positions(roll.spec.mesh, world)
                    edits += roll.advance(world, places, self.body_transform(roll.spec.carrier, world))
        if edits:
            signals = read_signals(self)  # the new stepper has not seen the step
            self.apply(edits)
            self._signals = signals
        self.report.stage_seconds["front"] = time.perf_counter() - started

    def _refresh_points(self) -> None:
        system, self._contact_read, self._contact_known = self.newton.system, False, False
        if self._working is not None:
            self._working.gather()
            self._whole_map.launch_positions(self.state.x, self._whole_points)
        system.map.launch_positions(self.newton.state.x, system.points)
        if system.has_contact:
            system.candidates.invalidate()  # the kept list belongs to another state
            system.forget_gaps()

    def _mesh(self, name: str):
        if name not in self.model.meshes:
            raise KeyError(f"no mesh '{name}'; available: {', '.join(self.model.meshes)}")
        return self.model.meshes[name]

    def _body(self, name: str):
        if name not in self.model.bodies:
            raise KeyError(f"no body '{name}'; available: {', '.join(self.model.bodies) or 'none'}")
        return self.model.bodies[name]
