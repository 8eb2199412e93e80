"""What the operator may ask for between steps, one method a wish: pause, reset, checkpoints, recording, other scenes.

Part of `FrameLoop`; a file of its own because the loop should read as the loop.
"""

from __future__ import annotations

from app.cutting import aimed_cuts, cut_of, cut_request
from app.frame import Request
from app.grasp import touched
from app.tape import edit_adhesive, edit_friction

SLOW_MOTION = 0.25  # [-] simulated time over wall time while slow motion is on


class Wishes:
    """Mixin of `app.loop.FrameLoop`: `_do_VERB(value)` carries out `Request(VERB, value)`."""

    def _carry_out(self, request: Request) -> None:
        """One wish, between steps. What cannot be done is said, never raised."""
        action = getattr(self, f"_do_{request.verb}", None)
        if action is None:
            self._say(f"{request.verb!r} is not something this window can do")
            return
        try:
            action(request.value)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # noqa: BLE001 - the operator's wish failed, not the run
            self._say(f"{request.verb.replace('_', ' ')}: {error}")

    def _do_pause(self, value) -> None:
        wanted = (not self.paused) if value is None else bool(value)
        if wanted:
            self._pause()
        else:
            self._without_device = self._lost  # the operator decides to go on without it
            self._resume()

    def _do_step(self, value) -> None:
        self._pause()
        self._single_steps += int(value or 1)

    def _do_slow(self, value) -> None:
        self.slow = float(value) if value else (1.0 if self.slow < 1.0 else SLOW_MOTION)
        self.slow = min(max(self.slow, 0.01), 1.0)
        self._say("full speed" if self.slow == 1.0 else f"slow motion, {self.slow:g} of real time")

    def _do_quit(self, value) -> None:
        self._stop = True

    def _do_help(self, value) -> None:
        self.view.toggle_help()

    def _do_reset(self, value) -> None:
        self._keep_for_undo("before reset")
        self.session.engine.reset()
        self.checkpoints.restored(self._start)
        self._after_jump("reset", 0.0, 0)

    def _do_show_world(self, value) -> None:
        """Another world of the batch in view, in the panels and, from its next episode on, in the recording."""
        engine, recorder = self.session.engine, self.wiring.recorder
        if not hasattr(engine, "show"):
            raise ValueError("this run has one world")
        if recorder is not None and recorder.status().state.value == "recording":
            raise ValueError("an episode keeps one world: stop recording first")
        engine.show(int(value))
        if recorder is not None and self.wiring.make_recorder is not None:
            recorder.close()
            self.wiring.recorder = self.wiring.make_recorder(self.session)
        if self.session.tactile is not None:
            self.session.tactile.world = engine.world
        self._points = engine.positions()
        drawn = ", ".join(self.session.scene.draws[engine.world])
        self._say(f"world {engine.world} of {engine.model.num_worlds}: {drawn}")

    def _do_checkpoint(self, value) -> None:
        point = self._take_checkpoint(str(value or ""))
        self._say(f"{point.label} at {point.time:.2f} s")

    def _do_load_checkpoint(self, value) -> None:
        self._go_back(self.checkpoints.find(value))

    def _do_rewind(self, value) -> None:
        """Back by about two seconds (value: by so many) of what was done on this branch; can be undone."""
        self._go_back(self.checkpoints.rewind(self._time, **({} if value is None else {"by": float(value)})))

    def _do_last_stage(self, value) -> None:
        """Back to where the last stage of the task was reached; again within a second: to the one before."""
        self._go_back(self.checkpoints.last_stage(self._time))

    def _go_back(self, point) -> None:
        self._keep_for_undo("before going back")
        self._restore(point)

    def _keep_for_undo(self, label: str) -> None:
        self._undo.append(("checkpoint", self._take_checkpoint(label, automatic=True).number))

    def _take_checkpoint(self, label: str = "", automatic: bool = False):
        return self.checkpoints.take(
            self._time, self.index, self.operator.teleop, label, automatic=automatic, beside=self._beside()
        )

    def _restore(self, point) -> None:
        left = self._time
        self.session.engine.set_state(point.state)
        self.checkpoints.restored(point)
        said = f"back at {point.label}, from {left:.2f} s to {point.time:.2f} s"
        self._after_jump(said, point.time, point.index, point.teleop)
        self._take_beside(point.beside)

    def _beside(self) -> dict:
        """What decides how the loop goes on, beside the engine's state and the targets: the blade's memory, the cuts
        that it asked for in the last step, what the task guide read last."""
        blade, guide = self.session.blade, self._guide
        return {
            "blade": None if blade is None else blade.memory(), "due_cuts": list(self._due_cuts),
            "guide": None if guide is None else guide.memory(), "felt": self.operator.felt,
        }  # fmt: skip

    def _take_beside(self, beside: dict | None) -> None:
        if beside is None:
            return
        if self.session.blade is not None:
            self.session.blade.remember(beside["blade"])
        self._due_cuts, self.operator.felt = list(beside["due_cuts"]), beside["felt"]
        if self._guide is not None:
            self._guide.remember(beside["guide"])
            self._guide_now = self._guide.last or {}

    def _after_jump(self, what: str, time_sim: float, index: int, teleop=None) -> None:
        """The state was set: targets, clocks, recorder and pause follow. This frame does not step: what its sample asks
        was meant for the state before."""
        self._time, self.index, self._jumped = time_sim, index, True
        self.operator.settle(self.session.scene, self.session.engine)
        if teleop is not None:
            self.operator.teleop = teleop
        self.operator.hold_until_rest()
        self._points = self.session.engine.positions()
        self._signals = self._report = self.operator.felt = None
        self._tape_now, self._guide_now = {}, {}
        self._operator_cut.disarm()
        self._due_cuts = []
        if self.session.blade is not None:
            self.session.blade.forget()
        if self._tape is not None:
            self._tape.reset()
        if self._guide is not None:
            self._guide.reset()
        self._cues.reset()
        self._stalls = 0
        if self.wiring.recorder is not None:
            self.wiring.recorder.restart_point(what)
        self._say(what)
        if self.paused_reason and not self._lost:
            self.paused_reason = ""
            self.outcome.failure = ""

    def _do_undo(self, value) -> None:
        if self.episodes_info() is not None:  # what lies in front is what is meant
            self._do_episodes_undo(None)
            return
        while self._undo and self._undo[-1][0] == "checkpoint" and self._undo[-1][1] not in self.checkpoints:
            self._undo.pop()  # too long ago: its state is not kept any more
        kind, number = self._undo.pop() if self._undo else ("record", 0)
        if kind == "checkpoint":
            self._restore(self.checkpoints.find(number))
            return
        recorder = self.wiring.recorder
        self._say((recorder.undo() if recorder is not None else None) or "there is nothing to undo")

    def _do_grasp_assist(self, value) -> None:
        """Lets what the fingers touch ride on them, or gives it back."""
        from engine.edits import Grasp

        if self._let_go():
            return
        engine, tools = self.session.engine, self.operator.tools
        found = touched(engine, tools[self.operator.teleop.active]) if tools else {}
        if not found:
            self._say("grasp assist: the fingers touch nothing that can be held")
            return
        engine.apply([Grasp(mesh, tuple(map(int, ids)), body) for (mesh, body), ids in found.items()])
        self._edited(f"grasp assist: {', '.join(sorted({mesh for mesh, _ in found}))} held")

    def _let_go(self) -> bool:
        """Ends the grasp assist; also called when the fingers open, which would tear what rides on both of them."""
        from engine.edits import Release

        held = sorted(mesh for mesh, vertices in self.session.engine.grasped().items() if len(vertices))
        if held:
            self.session.engine.apply([Release(mesh) for mesh in held])
            self._edited(f"grasp assist: {', '.join(held)} let go")
        return bool(held)

    def _do_arm_cut(self, value) -> None:
        """Shows where a cut would run: as given (`app.cutting.cut_of`), else under the blade, else across the sheet
        nearest to the tool. Nothing is changed."""
        engine, problem = self.session.engine, None
        tools = self.operator.tools
        place = engine.body_transform(tools[self.operator.teleop.active].palm)[:3, 3] if tools else None
        for cut in [cut_of(value)] if value else aimed_cuts(engine, self.session.blade, place):
            try:
                self._operator_cut.arm(cut)
            except ValueError as error:
                problem = problem or error
                continue
            self._say(f"cut armed across {cut.mesh}")
            return
        raise problem

    def _do_disarm_cut(self, value) -> None:
        if self._operator_cut.armed:
            self._operator_cut.disarm()
            self._say("cut disarmed")

    def _do_confirm_cut(self, value) -> None:
        armed = self._operator_cut
        if not armed.armed:
            raise ValueError("none is armed yet")
        cuts = armed.cuts
        armed.disarm()
        for cut in cuts:
            self._make_cut(cut)
            self._retold.append(cut_request(cut))  # a replay cuts by this, not by the key

    def armed_cut(self) -> dict:
        """For the view: mesh and `lines` of the armed cut as it lies now, {} when none is."""
        armed = self._operator_cut
        return {"mesh": armed.cuts[0].mesh, "lines": armed.ghost()} if armed.armed else {}

    def _do_cut(self, value) -> None:
        """A cut at once, as the blade asks for it. One that cannot be made is told; the blade asks again when it has
        lifted."""
        try:
            self._make_cut(cut_of(value))
        except ValueError as error:
            if value.get("by") != "blade":
                raise
            if self.session.blade is not None:
                self.session.blade.refuse(value["mesh"], str(error))
            self._say(f"the blade does not cut: {error}; lift it to try again")

    def _make_cut(self, cut) -> None:
        engine = self.session.engine
        engine.plan_cut(cut)  # what cannot be made leaves no checkpoint
        point = self._take_checkpoint("before cut", automatic=True)
        engine.apply([cut])
        self._undo.append(("checkpoint", point.number))
        self._edited(f"{cut.mesh} cut")

    def _edited(self, said: str) -> None:
        self._say(said)
        if self.wiring.recorder is not None:
            self.wiring.recorder.restart_point(said)  # replay by inputs goes on from the exact state after the edit

    def _do_set_adhesion(self, value) -> None:
        """Another work of adhesion (or strength of bonds) for one pair, from the next step on. Recorded as a request,
        which a replay by inputs repeats; it stays through resets and checkpoints."""
        self._say(edit_adhesive(self.session.engine, value))
        self._material_edits[("adhesion", value["mesh"], value["partner"])] = Request("set_adhesion", dict(value))

    def _do_set_friction(self, value) -> None:
        """Another coefficient of friction for one mesh, from the next step on; kept and recorded as `set_adhesion`."""
        self._say(edit_friction(self.session.engine, value))
        self._material_edits[("friction", value["mesh"])] = Request("set_friction", dict(value))

    def _do_record(self, value) -> None:
        recorder = self._recorder()
        if recorder.state.value in ("REC", "PAUSED"):
            self._say(f"{recorder.stop()} is being saved")
        else:
            name = recorder.start(self._points, self._time)
            self._say(f"recording {name}")
            self._retold = list(self._material_edits.values())  # what was edited before belongs to the episode too

    def _do_label_success(self, value) -> None:
        self._label("success")

    def _do_label_failure(self, value) -> None:
        self._label("failure")

    def _do_discard(self, value) -> None:
        self._label("discard")

    def _label(self, label: str) -> None:
        name = self._recorder().label(label)
        if name is None:
            self._say("there is no episode to label yet")
            return
        self._undo.append(("record", 0))
        self._say(f"{name}: {label}")

    def _do_set_instruction(self, value) -> None:
        self._recorder().set_instruction(str(value))

    def _recorder(self):
        if self.wiring.recorder is None:
            raise RuntimeError("this run has no recorder")
        return self.wiring.recorder

    def _do_set_frame(self, value) -> None:
        self.operator.set_frame(value)

    def _do_use_input(self, value) -> None:
        if self.wiring.open_device is None:
            raise RuntimeError("this run cannot change its input")
        if value == "keyboard" and self.operator.keyboard is not None:
            device = self.operator.keyboard
        else:
            device = self.wiring.open_device(str(value))
        if self.operator.device is not device:
            old = self.operator.device
            self.operator.use(device)
            self.operator.hold_until_rest()
            if old is not self.operator.keyboard:
                old.close()
        self._lost = False
        self._say(f"input: {device.name}")
        self._resume()

    def _do_reload(self, value) -> None:
        self._do_load_scene(self.session.path)

    def _do_load_scene(self, value) -> None:
        if self.wiring.load is None:
            raise RuntimeError("this run cannot load another scene")
        if self.wiring.recorder is not None and self.wiring.recorder.state.value in ("REC", "PAUSED"):
            self.wiring.recorder.stop()
        try:
            session = self.wiring.load(str(value), self.view.progress)
        except Exception:
            # the old scene is still there and goes on
            self.view.set_scene(self.session.scene, self.session.engine.positions())
            if self.session.model.meshes is not self.session.scene.model.meshes:
                self.view.set_model(self.session.model, self.session.engine.positions())
            raise
        self._adopt(session)
        if self.wiring.make_recorder is not None:
            old, self.wiring.recorder = self.wiring.recorder, self.wiring.make_recorder(session)
            if old is not None:
                old.close()
        self._say(f"scene {session.scene.name}, loaded in {session.seconds:.1f} s")
