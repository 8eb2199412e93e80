"""What the operator asks for between steps: checkpoints, reset, recording, scenes, input, grasp."""

from __future__ import annotations

import numpy as np
import pytest

from app.frame import Request
from app.loop import Wiring
from app.session import Session
from tests.app.fake_scene import DT, FakeEngine, FakeScene
from tests.app.fakes import FakeDevice, FakeRecorder, make_loop


def test_single_steps_while_paused_are_counted():
    loop = make_loop()
    loop.view.wishes = [Request("step"), Request("step")]
    assert [loop.frame_once().stepped for _ in range(4)] == [True, True, False, False]
    assert loop.view.frames[-1].mode == "PAUSED"


def test_verbs_of_the_window_reach_the_mapping():
    loop = make_loop()
    before = loop.operator.mapping.gain_index
    loop.view.wishes = [Request("gain_down"), Request("gain_down")]
    loop.frame_once()
    assert loop.operator.mapping.gain_index == before - 2


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


def test_a_wish_nobody_knows_is_said_and_harms_nothing():
    loop = make_loop()
    loop.view.wishes = [Request("fly"), Request("load_checkpoint", 999)]
    frame = loop.frame_once()
    assert frame.stepped
    assert "'fly' is not something this window can do" in frame.events
    assert any("no checkpoint 999; there are: 1 (start)" in text for text in frame.events)


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


def test_opening_the_fingers_ends_the_grasp_assist():
    """Half of the strip rides on each finger: it would be torn."""
    device = FakeDevice()
    loop = make_loop(device)
    engine = loop.session.engine
    loop.view.wishes = [Request("grip_toggle")]
    for _ in range(60):
        loop.frame_once()
    engine.touch = {"finger_a": {"strip": np.array([3, 4])}}
    loop.view.wishes = [Request("grasp_assist")]
    loop.frame_once()
    assert list(engine.held) == ["strip"]
    loop.view.wishes = [Request("grip_toggle")]
    assert "grasp assist: strip let go" in loop.frame_once().events
    assert engine.held == {}
