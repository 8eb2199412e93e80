"""The frame loop: one pass, one direction, one writer for each thing. See docs/architecture.md.

    requests -> sample -> command -> control -> apply -> step -> signals -> Frame -> sinks

The window is ticked between Newton iterations, so the camera turns smoothly while a step takes 300 ms; it only queues
Requests, which are carried out here, between steps.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from app.checkpoints import Checkpoints
from app.frame import Frame, Request
from app.operator import Operator, lost
from app.session import Progress, Session, read_pads
from devices.contract import Feedback

SLOW_MOTION = 0.25  # [-] simulated time over wall time while slow motion is on
BLOCKED = 2e-3  # [m] gap between target and tool that is told to the operator
STALLS = 3  # steps in a row without descent that pause the loop
PAUSED_PERIOD = 1.0 / 30.0  # [s] of the loop while nothing is stepped

# verbs of the operator's side: pressed by a button of the window they take the same way as a key
OPERATOR_VERBS = ("grip_toggle", "grasp_assist", "next_tool", "gain_up", "gain_down", "frame_next", "axis_lock")
# verbs that a device may give and that the loop, not the mapping, carries out
LOOP_VERBS = (
    "pause", "step", "reset", "reload", "slow", "record", "label_success", "label_failure", "discard", "undo",
    "checkpoint", "load_checkpoint", "help",
)  # fmt: skip


class View(Protocol):
    """What the loop asks of a view; `app.headless.NullView` is the one without a window."""

    closed: bool

    def progress(self, text: str, fraction: float) -> None: ...
    def set_scene(self, scene, points: np.ndarray) -> None: ...
    def draw(self, frame: Frame, info: dict) -> None: ...
    def tick(self) -> None: ...
    def tick_if_due(self) -> None: ...
    def poll(self) -> list[Request]: ...
    def camera_rotation(self) -> np.ndarray | None: ...
    def toggle_help(self) -> None: ...
    def close(self) -> None: ...


@dataclass
class Wiring:
    """What a loop is made of beside session, operator and view; everything here is optional."""

    recorder: Any = None  # app.record.recorder.Recorder, or None
    make_recorder: Callable[[Session], Any] | None = None  # a new one when another scene is loaded
    load: Callable[[str, Progress], Session] | None = None  # loads a scene by path or name
    open_device: Callable[[str], Any] | None = None  # --input value -> device
    sinks: Sequence[Callable[[Frame], None]] = ()
    checkpoint_folder: Path | None = None
    pacing: bool = True  # wait when the simulation is faster than real time
    stop_on_failure: bool = False  # headless: there is nobody to press Resume
    compute: str = ""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Outcome:
    """How a run ended."""

    steps: int = 0
    failure: str = ""
    seconds: float = 0.0  # [s] wall clock inside the loop
    events: list[tuple[float, str]] = field(default_factory=list)  # (simulated time, text)


class FrameLoop:
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
        self._single_steps = 0
        self._stalls = 0
        self._lost = False
        self._without_device = False  # the operator pressed Resume although the device is lost
        self._blocked = False
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
        for request in [r for r in requests if r.verb in OPERATOR_VERBS]:
            self.operator.press(request.verb)
        sample, status = self.operator.poll(now, self.time_sim)
        self._watch_device(status)
        requests = [r for r in requests if r.verb not in OPERATOR_VERBS]
        # a device's verbs become requests of the same frame, every press once
        requests += [Request(verb) for verb in sample.pressed if verb in LOOP_VERBS]
        for request in requests:
            self._carry_out(request)
        stepping = (not self.paused or self._single_steps > 0) and not self._stop
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
        control = engine.control()
        if hasattr(self.session.scene, "control_motion"):
            self.session.scene.control_motion(control, self._time + dt)
        return command, self.operator.to_control(command, dt, engine, control)

    def _step(self, control) -> np.ndarray | None:
        """Steps; anything that goes wrong pauses the loop and keeps what was recorded. Returns points or None."""
        engine = self.session.engine
        try:
            self._report = engine.step(control, on_iteration=lambda *_: self.view.tick_if_due())
            points = engine.positions()
            if not np.isfinite(points).all():
                raise FloatingPointError("the step gave positions that are not finite")
            self._signals = engine.signals()
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
            self._pause(f"The solver found no descent in {STALLS} steps in a row. Go back to the last checkpoint, or resume.")
            if self.wiring.stop_on_failure:
                self._end_with(self.paused_reason)
        if self._report.overflow:
            self._say(self._report.overflow)
        self.checkpoints.take_when_due(self._time, self.index, self.operator.teleop)
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
                factor = self.session.dt / (now - self._last_step_at)
                self.realtime = factor if self.realtime == 0.0 else 0.9 * self.realtime + 0.1 * factor
            self._last_step_at = now
            self._points = points
        else:
            self._last_step_at = self._last_sample_time = None
        mode = "PAUSED" if self.paused else "DRIVING"
        if mode == "DRIVING" and command is not None and not command.engaged:
            mode = "CLUTCH OUT"
        extra: dict[str, Any] = {}
        if stepped and self.session.pads:
            extra["tactile"], self._coats = read_pads(self.session, points)
            self._add_pad_forces(extra["tactile"])
            self._tactile = extra["tactile"]
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
            mode=mode, paused_reason=self.paused_reason if self.paused else "", realtime_factor=self.realtime, extra=extra,
        )  # fmt: skip

    def _add_pad_forces(self, tactile: dict[str, dict]) -> None:
        for image in self.session.pads:
            points = self.session.scene.model.meshes[image.mesh].points
            force = self._signals.contact_force[0, points].sum(axis=0) + self._signals.friction_force[0, points].sum(axis=0)
            tactile[image.name]["force"] = force

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
            self.operator.device.observe(frame, self.session.scene)
        row = self.operator.row_of_active()
        if frame.stepped and row is not None:
            force = float(np.linalg.norm(frame.signals.drive_force[0, row]))
            self.operator.device.feedback(Feedback(force=force, events=("blocked",) if self._blocked else ()))
        for sink in self.wiring.sinks:
            try:
                sink(frame)
            except Exception as error:  # noqa: BLE001 - one bad sink must not end a demonstration
                self._say(f"a sink failed: {type(error).__name__}: {error}")
        self.view.draw(frame, self.info(frame))
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
                self._pause(f"{self.operator.device.name}: {status.message or status.health.value}")
        elif self._lost:
            self._lost = False
            self._say(f"{self.operator.device.name} is back")
            if not self._without_device:
                self._resume()

    # -- requests

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
        point = self.checkpoints.take(self._time, self.index, self.operator.teleop, "before reset", automatic=True)
        self._undo.append(("checkpoint", point.number))
        self.session.engine.reset()
        self._after_jump("reset", 0.0, 0)

    def _do_checkpoint(self, value) -> None:
        point = self.checkpoints.take(self._time, self.index, self.operator.teleop, str(value or ""))
        self._say(f"{point.label} at {point.time:.2f} s")

    def _do_load_checkpoint(self, value) -> None:
        point = self.checkpoints.find(value)
        before = self.checkpoints.take(self._time, self.index, self.operator.teleop, "before going back", automatic=True)
        self._undo.append(("checkpoint", before.number))
        self._restore(point)

    def _restore(self, point) -> None:
        self.session.engine.set_state(point.state)
        self._after_jump(f"back at {point.label}", point.time, point.index, point.teleop)

    def _after_jump(self, what: str, time_sim: float, index: int, teleop=None) -> None:
        """The state was set: targets, clocks, recorder and pause follow."""
        self._time, self.index = time_sim, index
        self.operator.settle(self.session.scene, self.session.engine)
        if teleop is not None:
            self.operator.teleop = teleop
        self.operator.hold_until_rest()
        self._points = self.session.engine.positions()
        self._signals = self._report = None
        self._stalls = 0
        if self.wiring.recorder is not None:
            self.wiring.recorder.restart_point(what)
        self._say(what)
        if self.paused_reason and not self._lost:
            self.paused_reason = ""
            self.outcome.failure = ""

    def _do_undo(self, value) -> None:
        kind, number = self._undo.pop() if self._undo else ("record", 0)
        if kind == "checkpoint":
            self._restore(self.checkpoints.find(number))
            return
        recorder = self.wiring.recorder
        self._say((recorder.undo() if recorder is not None else None) or "there is nothing to undo")

    def _do_record(self, value) -> None:
        recorder = self._recorder()
        if recorder.state.value in ("REC", "PAUSED"):
            self._say(f"{recorder.stop()} is being saved")
        else:
            name = recorder.start(self._points, self._time)
            self._say(f"recording {name}")

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
            raise
        self._adopt(session)
        if self.wiring.make_recorder is not None:
            old, self.wiring.recorder = self.wiring.recorder, self.wiring.make_recorder(session)
            if old is not None:
                old.close()
        self._say(f"scene {session.scene.name}, loaded in {session.seconds:.1f} s")

    def _adopt(self, session: Session) -> None:
        self.session = session
        engine = session.engine
        self._time, self.index = 0.0, 0
        self._points = engine.positions()
        self._signals = self._report = None
        self._coats: dict[str, np.ndarray] = {}
        self._tactile: dict[str, dict] = {}
        self._undo.clear()
        self.operator.settle(session.scene, engine)
        self.checkpoints = Checkpoints(engine.get_state, getattr(engine, "save", None), self.wiring.checkpoint_folder)
        self.checkpoints.take(0.0, 0, self.operator.teleop, "start", automatic=True)
        self.view.set_scene(session.scene, self._points)
        for note in (*getattr(session.scene, "notes", ()), *getattr(session.scene.model, "warnings", ())):
            self._say(str(note))
        if self.paused_reason and not self._lost:
            self.paused, self.paused_reason = False, ""

    # -- for the window

    def info(self, frame: Frame) -> dict[str, Any]:
        """What the panels show beside the Frame; not recorded.

        scene_name, compute, input, latency_ms, slow, teleop (Operator.about), record, checkpoints, forces
        (name -> (3,) [N]), pads (list of name, depth, force [N]), coat_depth (mesh -> (k,) [m]), scenes.
        """
        sample = frame.sample
        latency = None
        if sample is not None and sample.t_receive and not self.operator.scripted:
            latency = max(0.0, 1e3 * (frame.time_mono - sample.t_receive))
        forces = {}
        row = self.operator.row_of_active()
        if frame.signals is not None and row is not None:
            forces[self.operator.tools[self.operator.teleop.active].name] = -frame.signals.drive_force[0, row]
        pads = [
            {"name": name, "depth": pad["depth"], "force": float(np.linalg.norm(pad["force"]))}
            for name, pad in self._tactile.items()
        ]
        marks = [
            {"id": c.number, "label": c.label, "time": c.time, "automatic": c.automatic} for c in self.checkpoints
        ]
        return {
            "scene_name": self.session.scene.name, "compute": self.wiring.compute, "input": self.operator.device.name,
            "latency_ms": latency, "slow": self.slow, "teleop": self.operator.about(frame.signals),
            "record": record_info(self.wiring.recorder), "checkpoints": marks, "forces": forces, "pads": pads,
            "coat_depth": self._coats,
        }  # fmt: skip

    def close(self) -> None:
        """Seals what is being recorded, gives the device back, closes the view. May be called again."""
        recorder, self.wiring.recorder = self.wiring.recorder, None
        try:
            if recorder is not None:
                recorder.close()
                self.outcome.events += [(self._time, text) for text in recorder.poll_messages()]
        finally:
            for device in {id(d): d for d in (self.operator.device, self.operator.keyboard) if d is not None}.values():
                device.close()
            self.view.close()


def record_info(recorder) -> dict[str, Any]:
    """The record panel's numbers; {} without a recorder."""
    if recorder is None:
        return {}
    status = recorder.status()
    info = {
        "state": status.state.value,
        "seconds": status.duration,
        "frames": status.num_frames,
        "disk_free": status.disk_free,
        "message": status.problem or status.reason,
        "problem": bool(status.problem),
        "folder": getattr(recorder, "folder", ""),
        "progress": status.progress,
    }
    if status.episode:
        info["last"] = {"name": status.episode, "label": status.label, "seconds": status.duration}
    return info
