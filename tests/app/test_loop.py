"""The frame loop with an engine without physics, a device on strings and a view that remembers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from app.frame import Request
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.session import Session
from devices.contract import Health, Status
from tests.app.fake_scene import DT, FakeEngine, FakeScene
from tests.app.fakes import FakeDevice, FakeRecorder, FakeView, make_loop, texts


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


def test_the_window_is_ticked_between_newton_iterations():
    loop = make_loop(iterations=7)
    loop.frame_once()
    assert loop.view.ticks >= 7


def test_a_sink_that_fails_does_not_end_the_demonstration():
    def bad(frame):
        raise OSError("disk full")

    loop = make_loop(wiring=Wiring(pacing=False, sinks=[bad]))
    loop.frame_once()
    assert any("disk full" in text for text in loop.frame_once().events)


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


def test_the_real_time_factor_is_that_of_the_whole_time():
    """Steps of 0.1 s and 0.01 s in turn: 0.055 s each on average, whatever the mean of their factors is."""
    clock = Ticking()
    loop = make_loop(wiring=Wiring(pacing=False, clock=clock))
    for index in range(400):
        clock.now += 0.1 if index % 2 else 0.01
        loop.frame_once()
    assert loop.realtime == pytest.approx(DT / 0.055, rel=0.1)


class Ticking:
    now = 1.0

    def __call__(self) -> float:
        return self.now
