"""Going back: by time or to the last stage, along the branch in hand alone; the same inputs then give the same bits,
and the recording says what happened."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from app.checkpoints import STAGE, Checkpoints
from app.export.demonstrations import demonstrations
from app.export.options import ExportOptions
from app.frame import Request
from app.headless import NullView
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.record import Episode, state_hash
from app.replay import InputReplay
from app.replay_inputs import repeat
from app.runs import _recorder
from app.scripted import open_input
from app.session import load_session
from engine.types import Control

SCENE = """
options: {dt: 20 ms, newton_tolerance: 1 mm/s}
entities:
  plate: {type: static, shape: {type: box, size: [0.2, 0.2, 0.01]}, contact: {dhat: 0.2 mm}}
  strip:
    {type: strip, length: 40 mm, width: 10 mm, cells_across: 2, position: [0, 0, 5.25 mm], contact: {dhat: 0.2 mm},
     attach: [{side: +x, body: hand.palm}]}
  hand: {type: gripper, position: [20 mm, 0, 40 mm], finger_size: [4 mm, 10 mm, 20 mm], palm_size: [8 mm, 12 mm, 8 mm]}
adhesion:
  - {mesh: strip, partners: [plate], adhesive: {work: 20 J/m2}}
"""
SCRIPT = """
goals:
- {by: [0.0, 0.0, 0.03], speed: 0.3, tolerance: 1.0e-3}
- {wait: 0.1}
- {press: [rewind]}
- {by: [-0.02, 0.0, 0.0], speed: 0.3, tolerance: 1.0e-3}
"""
PASSES = tuple(range(60, 60 + 10 * 45, 45))  # of the loop, at which it is asked to go back


class Rewinding(NullView):
    def __init__(self, said):
        super().__init__(say=said.append)
        self.passes = 0

    def poll(self):
        self.passes += 1
        return [Request("rewind", 0.5)] if self.passes in PASSES else []


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rewind")
    scene, script = folder / "scene.yaml", folder / "script.yaml"
    scene.write_text(SCENE)
    script.write_text(SCRIPT)
    session, said = load_session(str(scene), (), "cpu"), []
    recorder = _recorder(session, folder=folder, compute="cpu", input_name="script")
    recorder.start(session.engine.positions(), 0.0)
    wiring = Wiring(recorder=recorder, pacing=False, stop_on_failure=True)
    outcome = FrameLoop(session, Operator(open_input(f"scripted:{script}")), Rewinding(said), wiring).run()
    assert not outcome.failure, outcome.failure
    return session, folder / "episode_0001.h5", said


def test_ten_times_back_the_same_inputs_give_the_same_bits(run):
    _, path, _ = run
    with Episode(path) as episode:
        index, after = episode["frame/index"], episode.hashes()[1:]
        twist, height = episode["command/twist"], episode["extra/tools/hand/pose"][:, 2]
    assert np.sum(np.diff(index) < 0) == 11  # ten wishes and that of the script
    assert np.ptp(height) > 0.02, "it moves meanwhile"
    again = 0
    for number in np.unique(index):
        rows = np.flatnonzero(index == number)
        again += len(rows) - 1
        assert twist[rows].tobytes() == twist[rows[:1]].tobytes() * len(rows), f"step {number}: other inputs"
        assert len(set(after[rows])) == 1, f"step {number} was taken {len(rows)} times, with different ends"
    assert again > 200


def test_the_recording_tells_every_return_and_repeats_to_the_bit(run):
    session, path, said = run
    with Episode(path) as episode:
        reasons = [reason for _, reason in episode.segments()]
        wishes = [verb for _, verb, _ in episode.requests()]
        assert reasons[0] == "start" and len(reasons) == 12
        assert all(reason.startswith(("back at automatic, from ", "back at start, from ")) for reason in reasons[1:])
        assert all(any(text.endswith(reason) for text in said) for reason in reasons[1:])
        assert wishes.count("rewind") == 11
        engine = session.engine
        assert InputReplay(episode, engine, lambda f: Control(**f), partial(repeat, engine)).run().exact


def test_what_was_taken_back_is_no_demonstration(run):
    """An export follows the branch that was kept: each step once, in order."""
    _, path, _ = run
    with Episode(path) as episode:
        (demonstration,) = demonstrations(episode, ExportOptions())
        index = episode["frame/index"][demonstration.frames]
        assert len(index) < episode.num_frames - 200
    assert np.array_equal(index, np.arange(1, index[-1] + 1))


# which moment ---------------------------------------------------------------------------------------------------------
def points(*times, **stages):
    made = Checkpoints(lambda: {"x": np.zeros(1)})
    made.take(0.0, 0, None, "start", automatic=True)
    for time in times:
        made.take_when_due(time, 0)
    for name, time in stages.items():
        made.take(time, 0, None, STAGE + name, automatic=True)
    return made


def test_back_by_two_seconds():
    made = points(1.0, 2.0, 3.0, 4.0)
    assert made.rewind(4.5).time == 2.0 and made.rewind(4.0).time == 2.0 and made.rewind(3.9).time == 1.0
    assert made.rewind(0.4).label == "start" and made.rewind(4.5, by=0.4).time == 4.0


def test_it_never_lands_in_what_was_taken_back():
    """From 4.5 s back to 2 s; a second later two seconds ago is 1 s, not the 3 s of before."""
    made = points(1.0, 2.0, 3.0, 4.0)
    made.take(4.5, 0, None, "before going back", automatic=True)
    made.restored(made.rewind(4.5))
    assert made.rewind(3.1).time == 1.0
    made.take_when_due(3.0, 1)
    assert made.rewind(5.2).index == 1
    undone = next(point for point in made if point.label == "before going back")
    made.restored(undone)
    assert made.rewind(6.2).time == 4.0, "undone: what was taken back is behind the operator again"


def test_the_last_stage_and_the_one_before():
    made = points(1.0, closed=1.5, anchored=4.0)
    assert made.last_stage(9.0).label == "stage anchored"
    assert made.last_stage(4.5).label == "stage closed" and made.last_stage(1.6).label == "start"
    assert points().last_stage(3.0).label == "start"


def test_an_hour_keeps_few():
    made = points()
    for second in range(3600):
        made.take_when_due(float(second), second)
        if second % 5 == 0:
            made.take(second, second, None, "before reset", automatic=True)
            made.take(second, second, None, STAGE + "closed", automatic=True)
    assert len(made) < 50
    asked = made.take(1.0, 1)
    made.take_when_due(5000.0, 1)
    assert asked.number in made, "those that were asked for stay"


# what lies beside the state -------------------------------------------------------------------------------------------
class AroundTheCut(NullView):
    """Marks every moment, and once the strip was cut goes back to each of the last ones before it."""

    AFTER, BEFORE = 3, 4  # steps

    def __init__(self):
        super().__init__(say=lambda text: None)
        self.loop, self.cut_at, self.numbers = None, None, None

    def draw(self, frame, info):
        if self.cut_at is None and any("strip cut" in text for text in frame.events):
            self.cut_at = frame.index

    def poll(self):
        if self.cut_at is None:
            return [Request("checkpoint")] if self.loop.index >= 60 else []
        if self.loop.index < self.cut_at + self.AFTER:
            return []
        if self.numbers is None:
            first = self.cut_at - self.BEFORE
            asked = [c for c in self.loop.checkpoints if not c.automatic]
            self.numbers = [c.number for c in asked if first <= c.index < self.cut_at]
        return [Request("load_checkpoint", self.numbers.pop())] if self.numbers else [Request("quit")]


def test_from_every_moment_before_a_cut_the_blade_cuts_at_the_same_step():
    """It cuts after two steps of enough pressure: a checkpoint between them remembers the first, one after them the cut
    that is due."""
    session, view, ends = load_session("cut", (), "cpu", trial=False), AroundTheCut(), {}

    def note(frame) -> None:
        if frame.stepped:
            ends.setdefault(frame.index, []).append((state_hash(session.engine.get_state()), len(frame.points)))

    device = open_input(f"scripted:{session.scene.script}")
    view.loop = FrameLoop(session, Operator(device), view, Wiring(pacing=False, stop_on_failure=True, sinks=[note]))
    assert not view.loop.run(300).failure
    assert view.cut_at is not None and len(ends[view.cut_at + 1]) == 1 + view.BEFORE
    assert all(len(set(found)) == 1 for found in ends.values())
