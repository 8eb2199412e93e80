"""The frame loop with an engine without physics, a device on strings and a view that remembers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from app.frame import Request
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.session import Session
from devices.contract import Health, Sample, Status
from tests.app.fake_scene import DT, FakeEngine, FakeScene


class FakeDevice:
    """Gives what the test puts in."""

    name = "strings"

    def __init__(self, twist=(0.0,) * 6):
        self.twist = np.array(twist, float)
        self.health = Status(Health.OK)
        self.pressed: list[str] = []
        self.closed = False
        self.felt = []
        self.log: list[str] = []

    def poll(self, now):
        self.log.append("poll")
        sample = Sample(t_receive=now, twist=self.twist.copy(), pressed=tuple(self.pressed))
        self.pressed = []
        return sample

    def status(self):
        return self.health

    def describe(self):
        return {"name": self.name, "mapping": {"deadband": 0.0, "expo": 0.0, "ramp_time": 0.0, "rest_time": 0.0}}

    def feedback(self, feedback):
        self.felt.append(feedback.force)

    def close(self):
        self.closed = True


class FakeView:
    """Queues what the test wants and keeps every frame."""

    def __init__(self, log=None):
        self.closed = False
        self.wishes: list[Request] = []
        self.frames, self.infos = [], []
        self.ticks = 0
        self.scenes = 0
        self.log = log if log is not None else []

    def poll(self):
        self.log.append("requests")
        wishes, self.wishes = self.wishes, []
        return wishes

    def draw(self, frame, info):
        self.log.append("draw")
        self.frames.append(frame)
        self.infos.append(info)

    def tick(self):
        self.ticks += 1

    def tick_if_due(self):
        self.ticks += 1

    def progress(self, text, fraction):
        pass

    def set_scene(self, scene, points):
        self.scenes += 1

    def camera_rotation(self):
        return None

    def toggle_help(self):
        self.log.append("help")

    def close(self):
        self.closed = True


class FakeRecorder:
    """State and calls only."""

    def __init__(self):
        from app.record.recorder import RecorderState

        self.State = RecorderState
        self.state = RecorderState.IDLE
        self.calls: list = []
        self.frames: list = []

    def start(self, points, time_sim):
        self.state = self.State.REC
        self.calls.append("start")
        return "episode_0001"

    def stop(self):
        self.state = self.State.IDLE
        self.calls.append("stop")
        return "episode_0001"

    def label(self, label):
        self.calls.append(label)
        return "episode_0001"

    def undo(self):
        self.calls.append("undo")
        return "episode_0001 is unlabelled again"

    def restart_point(self, reason):
        self.calls.append(reason)

    def write(self, frame):
        if self.state is self.State.REC:
            self.frames.append(frame)

    def poll_messages(self):
        return ()

    def status(self):
        from app.record.recorder import RecorderStatus

        return RecorderStatus(self.state, "episode_0001", None, len(self.frames), 0.0, 0, 10**9, 0, 0.0, "", "")

    def close(self):
        self.calls.append("close")


def make_loop(device=None, view=None, wiring=None, **engine):
    scene = FakeScene()
    session = Session("fake", (), "cpu", scene, FakeEngine(scene, **engine))
    device = device or FakeDevice()
    wiring = wiring or Wiring(pacing=False)
    return FrameLoop(session, Operator(device), view or FakeView(), wiring)


def texts(loop):
    return [text for frame in loop.view.frames for text in frame.events]


def test_one_frame_goes_one_way():
    """requests, sample, step, signals, recorder, view: in this order, each once."""
    device = FakeDevice()
    recorder = FakeRecorder()
    loop = make_loop(
        device,
        FakeView(device.log),
        Wiring(pacing=False, recorder=recorder, sinks=[lambda f: device.log.append("sink")]),
    )
    engine = loop.session.engine
    engine.calls = device.log
    recorder.write = lambda frame: device.log.append("record")
    device.log.clear()
    loop.frame_once()
    assert device.log == ["requests", "poll", "step", "signals", "record", "sink", "draw"]


def test_a_push_moves_the_tool_by_speed_times_simulated_time():
    loop = make_loop(FakeDevice((1.0, 0, 0, 0, 0, 0)))
    start = loop.session.engine.body_transform("palm")[:3, 3].copy()
    for _ in range(10):
        loop.frame_once()
    moved = loop.session.engine.body_transform("palm")[:3, 3] - start
    speed = loop.operator.settings.linear_speed
    assert moved == pytest.approx([10 * DT * speed, 0, 0], abs=1e-12)
    assert loop.time_sim == pytest.approx(10 * DT)
    assert loop.view.frames[-1].index == 10


def test_a_frame_carries_everything_of_its_step():
    loop = make_loop()
    frame = loop.frame_once()
    assert frame.stepped and frame.mode == "DRIVING"
    for name in ("sample", "status", "command", "control", "report", "signals", "points"):
        assert getattr(frame, name) is not None, name
    assert frame.points.shape == loop.session.scene.points.shape
    assert frame.time_sim == pytest.approx(DT)


def test_pause_stops_steps_and_keeps_frames_coming():
    loop = make_loop()
    loop.frame_once()
    loop.view.wishes = [Request("pause")]
    for _ in range(3):
        frame = loop.frame_once()
    assert (frame.mode, frame.stepped, frame.index) == ("PAUSED", False, 1)
    assert frame.time_sim == pytest.approx(DT)
    assert frame.points is not None
    loop.view.wishes = [Request("pause")]
    assert loop.frame_once().stepped


def test_single_steps_while_paused_are_counted():
    loop = make_loop()
    loop.view.wishes = [Request("step"), Request("step")]
    assert [loop.frame_once().stepped for _ in range(4)] == [True, True, False, False]
    assert loop.view.frames[-1].mode == "PAUSED"


def test_every_press_counts_once():
    """Two presses of pause inside one slow step cancel; a press is not seen again by the next frame."""
    device = FakeDevice()
    loop = make_loop(device)
    device.pressed = ["pause", "pause"]
    loop.frame_once()
    assert not loop.paused
    device.pressed = ["pause"]
    loop.frame_once()
    assert loop.paused
    loop.frame_once()
    assert loop.paused


def test_verbs_of_the_window_reach_the_mapping():
    loop = make_loop()
    before = loop.operator.mapping.gain_index
    loop.view.wishes = [Request("gain_down"), Request("gain_down")]
    loop.frame_once()
    assert loop.operator.mapping.gain_index == before - 2


def test_grip_toggle_closes_the_fingers_over_time():
    device = FakeDevice()
    loop = make_loop(device)
    device.pressed = ["grip_toggle"]
    for _ in range(60):
        loop.frame_once()
    assert loop.session.engine._joints == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_lost_device_pauses_with_its_own_sentence_and_comes_back_without_a_jump():
    device = FakeDevice((1.0, 0, 0, 0, 0, 0))
    loop = make_loop(device)
    loop.frame_once()
    device.health = Status(Health.LOST, "the SpaceMouse was unplugged: plug it back in")
    frame = loop.frame_once()
    assert frame.mode == "PAUSED" and "plug it back in" in frame.paused_reason
    held = loop.session.engine.body_transform("palm").copy()
    for _ in range(5):
        loop.frame_once()
    assert np.array_equal(loop.session.engine.body_transform("palm"), held)
    device.health = Status(Health.OK)  # the cap is still pushed
    frame = loop.frame_once()
    assert frame.stepped and not frame.command.engaged and frame.mode == "CLUTCH OUT"
    assert loop.session.engine.body_transform("palm")[0, 3] == pytest.approx(held[0, 3])
    device.twist[:] = 0.0
    loop.frame_once()
    loop.frame_once()
    device.twist[0] = 1.0
    loop.frame_once()
    assert loop.session.engine.body_transform("palm")[0, 3] > held[0, 3]
    assert "strings is back" in texts(loop)


def test_resume_without_the_device_is_the_operators_choice():
    device = FakeDevice()
    loop = make_loop(device)
    device.health = Status(Health.LOST, "gone")
    loop.frame_once()
    loop.view.wishes = [Request("pause", False)]
    assert loop.frame_once().stepped
    assert loop.frame_once().stepped


def test_a_failing_step_pauses_keeps_the_recording_and_offers_a_checkpoint():
    recorder = FakeRecorder()
    loop = make_loop(wiring=Wiring(pacing=False, recorder=recorder), fail_at=4)
    loop.view.wishes = [Request("record")]
    for _ in range(6):
        frame = loop.frame_once()
    assert frame.mode == "PAUSED"
    assert "RuntimeError: the fake engine was asked to fail" in frame.paused_reason
    assert [f.index for f in recorder.frames if f.stepped] == [1, 2, 3]
    assert recorder.state is recorder.State.REC
    assert len(loop.checkpoints) >= 1
    loop.view.wishes = [Request("load_checkpoint")]
    frame = loop.frame_once()
    assert frame.index == loop.checkpoints.find().index
    assert not frame.paused_reason
    assert any(str(call).startswith("back at") for call in recorder.calls)


def test_positions_that_are_not_finite_pause_and_are_never_handed_on():
    loop = make_loop(nan_at=2)
    frames = [loop.frame_once() for _ in range(3)]
    assert frames[1].mode == "PAUSED" and "not finite" in frames[1].paused_reason
    assert all(np.isfinite(f.points).all() for f in frames)


def test_headless_failure_ends_the_run_with_its_text():
    loop = make_loop(wiring=Wiring(pacing=False, stop_on_failure=True), fail_at=3)
    outcome = loop.run(10)
    assert outcome.steps == 2
    assert "asked to fail" in outcome.failure
    assert loop.view.closed and loop.operator.device.closed


def test_exhausted_memory_is_named():
    loop = make_loop()
    loop.session.engine.step = lambda *a, **k: (_ for _ in ()).throw(RuntimeError("CUDA out of memory"))
    assert "Memory is exhausted" in loop.frame_once().paused_reason


def test_checkpoint_and_back_is_exact_and_can_be_undone():
    device = FakeDevice((1.0, 0, 0, 0, 0, 0))
    loop = make_loop(device)
    engine = loop.session.engine
    for _ in range(3):
        loop.frame_once()
    loop.view.wishes = [Request("checkpoint", "here")]
    loop.frame_once()  # taken before this frame's step
    marked = loop.checkpoints.find()
    assert (marked.label, marked.index, marked.automatic) == ("here", 3, False)
    for _ in range(5):
        loop.frame_once()
    later = engine.positions()
    loop.view.wishes = [Request("pause", True), Request("load_checkpoint")]
    frame = loop.frame_once()
    assert np.array_equal(engine.positions(), marked.state["x"])
    assert frame.index == 3 and frame.time_sim == pytest.approx(3 * DT)
    loop.view.wishes = [Request("undo")]
    loop.frame_once()
    assert np.array_equal(engine.positions(), later)


def test_reset_goes_to_the_start_and_can_be_undone():
    loop = make_loop(FakeDevice((0, 1.0, 0, 0, 0, 0)))
    for _ in range(4):
        loop.frame_once()
    later = loop.session.engine.positions()
    loop.view.wishes = [Request("pause", True), Request("reset")]
    frame = loop.frame_once()
    assert (frame.index, frame.time_sim) == (0, 0.0)
    assert np.array_equal(frame.points, loop.session.scene.points)
    assert loop.operator.teleop.tools[0].position == pytest.approx(loop.session.engine.body_transform("palm")[:3, 3])
    loop.view.wishes = [Request("undo")]
    loop.frame_once()
    assert np.array_equal(loop.session.engine.positions(), later)


def test_a_reset_while_recording_is_told_to_the_recorder():
    recorder = FakeRecorder()
    loop = make_loop(wiring=Wiring(pacing=False, recorder=recorder))
    loop.view.wishes = [Request("record"), Request("reset")]
    loop.frame_once()
    assert recorder.calls == ["start", "reset"]


def test_record_label_undo_reach_the_recorder_in_order():
    recorder = FakeRecorder()
    loop = make_loop(wiring=Wiring(pacing=False, recorder=recorder))
    for verb in ("record", "record", "label_success", "undo", "discard"):
        loop.view.wishes = [Request(verb)]
        loop.frame_once()
    assert recorder.calls == ["start", "stop", "success", "undo", "discard"]


def test_the_window_is_ticked_between_newton_iterations():
    loop = make_loop(iterations=7)
    loop.frame_once()
    assert loop.view.ticks >= 7


def test_a_wish_nobody_knows_is_said_and_harms_nothing():
    loop = make_loop()
    loop.view.wishes = [Request("fly"), Request("load_checkpoint", 999)]
    frame = loop.frame_once()
    assert frame.stepped
    assert "'fly' is not something this window can do" in frame.events
    assert any("no checkpoint 999; there are: 1 (start)" in text for text in frame.events)


def test_a_sink_that_fails_does_not_end_the_demonstration():
    def bad(frame):
        raise OSError("disk full")

    loop = make_loop(wiring=Wiring(pacing=False, sinks=[bad]))
    loop.frame_once()
    assert any("disk full" in text for text in loop.frame_once().events)


def test_another_scene_is_loaded_and_a_broken_one_leaves_the_old_one():
    def load(path, progress):
        if path == "broken":
            raise ValueError("broken.yaml:3: unknown key")
        scene = FakeScene(path)
        return Session(path, (), "cpu", scene, FakeEngine(scene))

    loop = make_loop(wiring=Wiring(pacing=False, load=load))
    loop.frame_once()
    loop.view.wishes = [Request("load_scene", "broken")]
    assert any("unknown key" in text for text in loop.frame_once().events)
    assert loop.session.scene.name == "fake_strip" and loop.index == 2
    loop.view.wishes = [Request("load_scene", "other")]
    loop.frame_once()
    assert loop.session.scene.name == "other" and loop.index == 1
    assert loop.view.infos[-1]["scene_name"] == "other"


def test_another_input_takes_over():
    other = FakeDevice()
    other.name = "other"
    first = FakeDevice()
    loop = make_loop(first, wiring=Wiring(pacing=False, open_device=lambda spec: other))
    loop.view.wishes = [Request("use_input", "other")]
    loop.frame_once()
    assert loop.operator.device is other and first.closed
    assert loop.view.infos[-1]["input"] == "other"


def test_keyboard_verbs_count_while_another_device_drives():
    device, keyboard = FakeDevice((1.0, 0, 0, 0, 0, 0)), FakeDevice((0, 0, 1.0, 0, 0, 0))
    scene = FakeScene()
    loop = FrameLoop(
        Session("fake", (), "cpu", scene, FakeEngine(scene)),
        Operator(device, keyboard),
        FakeView(),
        Wiring(pacing=False),
    )
    keyboard.pressed = ["pause"]
    loop.frame_once()
    assert loop.paused
    keyboard.pressed = ["pause"]
    frame = loop.frame_once()
    assert frame.sample.twist[2] == 0.0  # its push does not drive


def test_pacing_waits_for_the_clock_and_slow_motion_stretches_it():
    class Clock:
        now = 100.0

        def time(self):
            return self.now

        def sleep(self, seconds):
            self.now += seconds

    for slow, expected in ((1.0, 30 * DT), (0.25, 120 * DT)):
        clock = Clock()
        loop = make_loop(wiring=Wiring(clock=clock.time, sleep=clock.sleep))
        loop.slow = slow
        for _ in range(30):
            loop.frame_once()
        assert clock.now - 100.0 == pytest.approx(expected, abs=2.1 * DT / slow)


def test_closing_the_view_ends_the_run_and_seals():
    recorder = FakeRecorder()
    loop = make_loop(wiring=Wiring(pacing=False, recorder=recorder))
    loop.view.tick = lambda: setattr(loop.view, "closed", len(loop.view.frames) >= 3)
    outcome = loop.run()
    assert outcome.steps == 3 and recorder.calls == ["close"] and loop.operator.device.closed


def test_ctrl_c_ends_in_good_order():
    recorder = FakeRecorder()
    loop = make_loop(wiring=Wiring(pacing=False, recorder=recorder))

    def interrupted(frame, info):
        raise KeyboardInterrupt

    loop.view.draw = interrupted
    loop.run(5)
    assert recorder.calls == ["close"]


def test_feedback_is_the_force_of_the_drive():
    device = FakeDevice((0, 0, -1.0, 0, 0, 0))
    loop = make_loop(device)
    for _ in range(40):
        loop.frame_once()
    force = loop.view.frames[-1].signals.drive_force[0, 0]
    assert device.felt[-1] == pytest.approx(np.linalg.norm(force))
    assert any("held back" in text for text in texts(loop))  # the fake table stops it


def test_a_tool_that_is_not_driven_is_refused():
    scene = FakeScene()
    scene.model.bodies["palm"] = dataclasses.replace(scene.model.bodies["palm"], driven=False)
    with pytest.raises(ValueError, match="tool 'gripper' moves 'palm', which is not driven"):
        FrameLoop(Session("f", (), "cpu", scene, FakeEngine(scene)), Operator(FakeDevice()), FakeView(), Wiring())


def test_grasp_assist_takes_what_the_fingers_touch_and_lets_it_go():
    recorder = FakeRecorder()
    loop = make_loop(wiring=Wiring(pacing=False, recorder=recorder))
    engine = loop.session.engine
    loop.view.wishes = [Request("record"), Request("grasp_assist")]
    assert any("touch nothing" in text for text in loop.frame_once().events)
    engine.touch = {"finger_a": {"strip": np.array([3, 4])}, "finger_b": {"strip": np.array([4, 5])}}
    applied = []
    engine.apply = lambda edits: (applied.extend(edits), FakeEngine.apply(engine, edits))
    loop.view.wishes = [Request("grasp_assist")]
    loop.frame_once()
    assert [(edit.mesh, edit.vertices, edit.body) for edit in applied] == [
        ("strip", (3, 4), "finger_a"),
        ("strip", (5,), "finger_b"),
    ]
    assert recorder.calls[-1] == "grasp assist: strip held"
    loop.view.wishes = [Request("grasp_assist")]
    loop.frame_once()
    assert engine.held == {} and recorder.calls[-1] == "grasp assist: strip let go"
