"""The frame loop: one pass, one direction, one writer for each thing. See docs/architecture.md.

    requests -> sample -> command -> control -> apply -> step -> signals -> Frame -> sinks

The window is ticked between Newton iterations, so the camera turns smoothly while a step takes 300 ms; it only queues
Requests, which are carried out here, between steps.
"""

from __future__ import annotations

import time
import traceback
from typing import Any

import numpy as np

from app.checkpoints import Checkpoints
from app.cues import Cues
from app.cutting import cut_request
from app.device_wishes import DeviceWishes
from app.episode_wishes import EpisodeWishes
from app.frame import Frame, Request
from app.guide import guide_reader
from app.info import loop_info
from app.operator import Operator, lost
from app.session import Session
from app.tape import tape_reader
from app.wiring import Outcome, View, Wiring
from app.wishes import Wishes
from engine.cutting.operator import OperatorCut

BLOCKED = 2e-3  # [m] gap between target and tool that is told to the operator
STALLS = 3  # steps in a row without descent that pause the loop
PAUSED_PERIOD = 1.0 / 30.0  # [s] of the loop while nothing is stepped

# verbs of the operator's side: pressed by a button of the window they take the same way as a key
OPERATOR_VERBS = (
    "grip_toggle", "next_tool", "gain_up", "gain_down", "frame_next", "axis_lock", "to_surface", "force_limit",
)  # fmt: skip
# verbs that a device may give and that the loop, not the mapping, carries out
LOOP_VERBS = (
    "pause", "step", "reset", "reload", "slow", "record", "label_success", "label_failure", "discard", "undo",
    "checkpoint", "load_checkpoint", "rewind", "last_stage", "help", "grasp_assist", "arm_cut", "confirm_cut",
    "disarm_cut",
)  # fmt: skip


class FrameLoop(Wishes, DeviceWishes, EpisodeWishes):
    """Runs a session. `run` until the view closes, the steps are done or the input has ended."""

    def __init__(self, session: Session, operator: Operator, view: View, wiring: Wiring | None = None):
        self.operator = operator
        self.view = view
        self.wiring = wiring or Wiring()
        self.outcome = Outcome()
        self.paused_reason = ""  # "" = not paused for a reason
        self.paused = False
        self.slow = 1.0
        self.realtime = 0.0
        self.index = 0
        self._stop = False
        self._jumped = False  # the state was set in this frame
        self._single_steps = 0
        self._stalls = 0
        self._lost = False
        self._without_device = False  # the operator pressed Resume although the device is lost
        self._blocked = False
        self._cues = Cues()
        self._events: list[str] = []
        self._undo: list[tuple[str, int]] = []  # ("checkpoint", number) or ("record", 0)
        self._last_sample_time: float | None = None
        self._last_step_at: float | None = None
        self._due = 0.0
        self._signals = None
        self._report = None
        self._adopt(session)

    # -- running

    def run(self, steps: int | None = None) -> Outcome:
        """Loops. Ctrl+C ends the run in good order; whatever is being recorded is sealed.

        Args:
            steps: physics steps at most, None = no limit.
        """
        begin = self.wiring.clock()
        try:
            while not self._done(steps):
                self.frame_once()
        except KeyboardInterrupt:
            self._say("stopped by Ctrl+C")
        finally:
            self.outcome.seconds = self.wiring.clock() - begin
            self.close()
        return self.outcome

    def _done(self, steps: int | None) -> bool:
        if self._stop or self.view.closed:
            return True
        if steps is not None and self.outcome.steps >= steps:
            return True
        return bool(getattr(self.operator.device, "finished", False)) and self.wiring.stop_on_failure and steps is None

    def frame_once(self) -> Frame:
        """One pass."""
        requests = list(self.view.poll())
        now = self.wiring.clock()
        self._due = self._due or now  # the first frame takes its time too
        for request in [r for r in requests if r.verb in OPERATOR_VERBS]:
            self.operator.press(request.verb)
        sample, status = self.operator.poll(now, self.time_sim)
        self._watch_device(status)
        requests = [*self._due_cuts, *(r for r in requests if r.verb not in OPERATOR_VERBS)]
        self._due_cuts = []
        # a device's verbs become requests of the same frame, every press once
        requests += [Request(verb) for verb in sample.pressed if verb in LOOP_VERBS]
        for request in requests:
            self._carry_out(request)
        requests += self._retold
        self._retold = []
        self._follow_model()
        stepping = (not self.paused or self._single_steps > 0) and not self._stop and not self._jumped
        self._jumped = False
        self._single_steps = max(self._single_steps - 1, 0)
        command = control = None
        points = None
        started = (time.time(), now)
        if stepping:
            command, control = self._aim(sample, status, now)
            points = self._step(control)
        frame = self._frame(sample, status, command, control, points, tuple(requests), started)
        self._hand_on(frame)
        self._wait(stepping)
        return frame

    @property
    def time_sim(self) -> float:
        return self._time

    # -- one step

    def _aim(self, sample, status, now):
        """Sample -> Command -> Control."""
        dt = self.session.dt
        dt_wall = dt if self._last_sample_time is None else now - self._last_sample_time
        self._last_sample_time = now
        engine = self.session.engine
        command = self.operator.to_command(sample, status, now, dt, dt_wall, self.view.camera_rotation(), engine)
        control, closure = engine.control(), self.operator.closure
        if hasattr(self.session.scene, "control_motion"):
            self.session.scene.control_motion(control, self._time + dt)
        control = self.operator.to_control(command, dt, engine, control)
        if self.operator.camera_twist.any() and hasattr(self.view, "drive_camera"):
            self.view.drive_camera(self.operator.camera_twist, dt)
        if self.operator.closure < closure:
            self._let_go()
        return command, control

    def _step(self, control) -> np.ndarray | None:
        """Steps; anything that goes wrong pauses the loop and keeps what was recorded. Returns points or None."""
        engine = self.session.engine
        try:
            self._report = engine.step(control, on_iteration=lambda *_: self.view.tick_if_due())
            points = engine.positions()
            if not np.isfinite(points).all():
                raise FloatingPointError("the step gave positions that are not finite")
            self._signals = engine.signals()
            self.operator.felt = np.array(self._signals.drive_force[0])
            if self.session.blade is not None:
                self._due_cuts = [cut_request(cut, "blade") for cut in self.session.blade.update()]
        except KeyboardInterrupt:
            raise
        except Exception as error:  # noqa: BLE001 - told to the operator; the loop and the recording go on
            self._fail(error)
            return None
        self.index += 1
        self.outcome.steps += 1
        self._time += self.session.dt
        self._stalls = self._stalls + 1 if self._report.stalled and not self._report.converged else 0
        if self._stalls >= STALLS:
            self._stalls = 0
            self._pause(
                f"The solver found no descent in {STALLS} steps in a row. Go back to the last checkpoint, or resume."
            )
            if self.wiring.stop_on_failure:
                self._end_with(self.paused_reason)
        if self._report.overflow and self._report.candidates > 2 * self._most_candidates:  # a roll's buffers come anew
            self._most_candidates = self._report.candidates
            self._say(self._report.overflow)
        return points

    def _fail(self, error: Exception) -> None:
        trace = traceback.format_exc()
        text = f"The step failed: {type(error).__name__}: {error}"
        if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
            text = f"Memory is exhausted: {error}. A smaller scene, or the CPU (--compute cpu), may fit."
        self._pause(text + " What was recorded up to here is kept.")
        self.outcome.failure = trace
        if self.wiring.stop_on_failure:
            self._end_with(text)

    def _end_with(self, text: str) -> None:
        self.outcome.failure = self.outcome.failure or text
        self._stop = True

    def _frame(self, sample, status, command, control, points, requests, started) -> Frame:
        stepped = points is not None
        now = self.wiring.clock()
        if stepped:
            if self._last_step_at is not None and now > self._last_step_at:
                # the time a step takes is smoothed, not its inverse, which short steps between long ones would lift
                seconds, dt = now - self._last_step_at, self.session.dt
                smoothed = seconds if self.realtime == 0.0 else 0.9 * dt / self.realtime + 0.1 * seconds
                self.realtime = dt / smoothed
            self._last_step_at = now
            self._points = points
        else:
            self._last_step_at = self._last_sample_time = None
        mode = "PAUSED" if self.paused else "DRIVING"
        if mode == "DRIVING" and command is not None and not command.engaged:
            mode = "CLUTCH OUT"
        extra: dict[str, Any] = {}
        if stepped and self.operator.tools:
            extra["tools"] = self.operator.read_tools(self.session.engine)
            extra["active_tool"] = self.operator.tool_in_hand
            extra["robots"] = self.operator.read_robots(self.session.engine)
        if stepped and self.session.tactile is not None:
            self._tactile = extra["tactile"] = self.session.tactile.read()
        if stepped and self._tape is not None:
            self._tape_now = extra["tape"] = self._tape.read()
        if stepped and self._guide is not None:
            self._guide_now = extra["guide"] = self._guide.read()
        if stepped:
            self._take_due_checkpoint()
        self._note_blocked()
        recorder = self.wiring.recorder
        if recorder is not None:
            self._events += recorder.poll_messages()
        events, self._events = tuple(self._events), []
        self.outcome.events += [(self._time, text) for text in events]
        return Frame(
            index=self.index, stepped=stepped, time_sim=self._time, time_wall=started[0], time_mono=started[1],
            dt=self.session.dt, sample=sample, status=status, command=command, control=control,
            report=self._report, signals=self._signals, points=self._points, requests=requests, events=events,
            mode=mode, paused_reason=self.paused_reason if self.paused else "", realtime_factor=self.realtime,
            extra=extra,
        )  # fmt: skip

    def _take_due_checkpoint(self) -> None:
        """At each new stage of the task, and every second."""
        stage = self._guide.news() if self._guide is not None else ""
        if stage:
            self._say(f"stage {stage} reached")
            self._take_checkpoint(f"stage {stage}", automatic=True)
        self.checkpoints.take_when_due(self._time, self.index, self.operator.teleop, self._beside())

    def _note_blocked(self) -> None:
        """One event when the drive is held back, one when it is free again."""
        row = self.operator.row_of_active()
        if row is None or self._signals is None:
            return
        gap = float(np.linalg.norm(self._signals.drive_gap[0, row]))
        if gap > BLOCKED and not self._blocked:
            self._blocked = True
            self._say("the tool is held back; the outline shows where you want it")
        elif gap < 0.5 * BLOCKED:
            self._blocked = False

    def _hand_on(self, frame: Frame) -> None:
        """Sinks: recorder, device, others, view. A sink that fails is told and left out of this frame only."""
        if self.wiring.recorder is not None:
            self.wiring.recorder.write(frame)
        if frame.stepped and hasattr(self.operator.device, "observe"):
            self.operator.device.observe(frame, self.session.scene, self.session.model)
        if frame.stepped and frame.signals is not None and self.operator.tools:
            self.operator.feel(frame, self._cues.read(frame, self.session.scene, self.session.model), self._blocked)
        for sink in self.wiring.sinks:
            try:
                sink(frame)
            except Exception as error:  # noqa: BLE001 - one bad sink must not end a demonstration
                self._say(f"a sink failed: {type(error).__name__}: {error}")
        self.view.draw(frame, loop_info(self, frame))
        if frame.stepped and self.wiring.pacing and self._due + self.session.dt < self.wiring.clock():
            self.view.tick_if_due()
        else:
            self.view.tick()

    def _wait(self, stepping: bool) -> None:
        """Real-time pacing: never faster than the clock allows; late frames are not caught up in a burst."""
        if not self.wiring.pacing:
            return
        now = self.wiring.clock()
        period = self.session.dt / self.slow if stepping else PAUSED_PERIOD
        self._due = max(self._due + period, now)
        while (left := self._due - self.wiring.clock()) > 1e-4 and not self.view.closed:
            if left > 0.02:
                self.view.tick_if_due()  # slow motion and short steps leave time for the camera
            self.wiring.sleep(min(max(self._due - self.wiring.clock(), 0.0), 0.01))

    # -- pausing, devices

    def _say(self, text: str) -> None:
        self._events.append(text)

    def _pause(self, reason: str = "") -> None:
        if not self.paused or reason:
            self.paused, self.paused_reason = True, reason
            self._say(f"paused: {reason}" if reason else "paused")

    def _resume(self) -> None:
        if self.paused:
            self.paused, self.paused_reason = False, ""
            self.outcome.failure = ""
            self.operator.hold_until_rest()
            self._say("resumed")

    def _watch_device(self, status) -> None:
        """A lost device pauses with its own sentence; when it is back the loop goes on, without a jump."""
        if lost(status):
            if not self._lost:
                self._lost, self._without_device = True, False
                name, text = self.operator.device.name, status.message or status.health.value
                self._pause(text if name in text else f"{name}: {text}")
        elif self._lost:
            self._lost = False
            self._say(f"{self.operator.device.name} is back")
            if not self._without_device:
                self._resume()

    def _adopt(self, session: Session) -> None:
        self.session = session
        engine = session.engine
        self._time, self.index = 0.0, 0
        self._points = engine.positions()
        self._signals = self._report = None
        self._tactile: dict[str, dict] = {}
        self._tape = tape_reader(session)
        self._tape_now: dict[str, Any] = {}
        self._guide = guide_reader(session)
        self._guide_now: dict[str, Any] = {}
        self._most_candidates = 0  # when it was last told that buffers grew
        self._material_edits: dict[tuple[str, ...], Request] = {}
        self._retold: list[Request] = []
        self._meshes = engine.model.meshes
        self._operator_cut = OperatorCut(engine)
        self._due_cuts: list[Request] = []  # asked for by the blade in the last step
        self._undo.clear()
        self.operator.settle(session.scene, engine)
        self.checkpoints = Checkpoints(engine.get_state, getattr(engine, "save", None), self.wiring.checkpoint_folder)
        self._start = self._take_checkpoint("start", automatic=True)
        self.view.set_scene(session.scene, self._points)
        warnings = (*getattr(session.scene.model, "warnings", ()), *getattr(engine, "warnings", ()))
        for note in (*getattr(session.scene, "notes", ()), *warnings):
            self._say(str(note))
        if self.paused_reason and not self._lost:
            self.paused, self.paused_reason = False, ""

    def _follow_model(self) -> None:
        """A cut, or a jump over one, gave the engine other meshes: whatever is numbered by points starts anew."""
        engine = self.session.engine
        if engine.model.meshes is self._meshes:
            return
        self._meshes = engine.model.meshes
        self._points = engine.positions()
        self._signals = None
        if self._tape is not None:
            self._tape_now = self._tape.read()
        self.view.set_model(engine.model, self._points)

    def close(self) -> None:
        """Seals what is being recorded, gives the device back, closes the view. May be called again."""
        recorder, self.wiring.recorder = self.wiring.recorder, None
        self._close_episodes()
        try:
            if recorder is not None:
                recorder.close()
                self.outcome.events += [(self._time, text) for text in recorder.poll_messages()]
        finally:
            used = [seat.device for seat in self.operator.seats.values()] + [self.operator.keyboard]
            for device in {id(d): d for d in used if d is not None}.values():
                device.close()
            self.view.close()
