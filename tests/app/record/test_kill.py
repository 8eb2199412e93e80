"""A process that records is killed at random moments; everything up to its last completed frame comes back."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from app.record import Episode, list_episodes, recover
from app.record.state_hash import state_hash
from tests.app.record.fake_engine import FakeEngine, frame_at

ROOT = Path(__file__).parents[3]
SHORT = 25  # frames of an episode: the kill also falls into sealing, renaming and starting
ENDLESS = 10**9  # the kill always falls into the recording

# Frames whose `write` has returned are reported through a pipe. A forked child dies, so that the imports are paid once.
CHILD = """
import os, sys
from app.record import Recorder, RecorderSettings
from tests.app.record.fake_engine import FakeEngine, frame_at
for line in sys.stdin:
    folder, frames = line.strip().rsplit(" ", 1)
    child = os.fork()
    if child == 0:
        engine = FakeEngine()
        settings = RecorderSettings(min_free_bytes=0, keyframe_every=10)
        recorder = Recorder(folder, "strip", get_state=engine.get_state, settings=settings)
        while True:
            engine.__init__()
            name = recorder.start(engine.positions())
            for index in range(1, int(frames) + 1):
                assert recorder.write(frame_at(engine, index))
                os.write(1, f"{name} {index}\\n".encode())
            recorder.stop("success")
            os.write(1, f"{name} done\\n".encode())
    os.write(1, f"pid {child}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"dead\\n")
"""


@pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
def test_kill_twenty_times_at_random(tmp_path):
    rng = random.Random(7)
    reference = Reference()
    with subprocess.Popen([sys.executable, "-c", CHILD], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, bufsize=1) as parent:  # fmt: skip
        for kill in range(20):
            frames = ENDLESS if kill % 2 else SHORT
            folder = tmp_path / f"set{kill:02d}"
            completed, finished = run_and_kill(parent, folder, frames, rng)
            for found in recover(folder):
                assert found.path is not None or "empty" in found.text or "no frame" in found.text, found
            assert recover(folder) == []
            check(folder, completed, finished, frames, reference)
        parent.stdin.close()


def run_and_kill(parent, folder, frames, rng):
    parent.stdin.write(f"{folder} {frames}\n")
    parent.stdin.flush()
    completed: dict[str, int] = {}
    finished, child = set(), 0
    lines_before_kill = rng.randrange(2, 60)
    for count, line in enumerate(parent.stdout):
        word, _, value = line.strip().partition(" ")
        if word == "dead":
            return completed, finished
        if word == "pid":
            child = int(value)
        elif value == "done":
            finished.add(word)
        else:
            completed[word] = int(value)
        if count >= lines_before_kill and child > 0:
            time.sleep(rng.uniform(0.0, 0.01))
            os.kill(child, signal.SIGKILL)
            child = -1
    raise AssertionError("the recording process ended by itself")


def check(folder, completed, finished, frames, reference) -> None:
    """Every completed frame is there and right."""
    assert not [path.name for path in folder.iterdir() if path.suffix in (".log", ".part")]
    episodes = {info.name: info for info in list_episodes(folder)}
    assert completed and set(completed) <= set(episodes)
    for name, info in episodes.items():
        with Episode(info.path) as episode:
            # + 1: the frame whose `write` had returned, or was on its way to the log, and was not reported yet
            assert completed.get(name, 0) <= len(episode) <= completed.get(name, 0) + 1
            if len(episode) < frames:
                assert [finding for finding in episode.validate() if finding.severity == "error"] == []
            for row in range(len(episode) + 1):
                points, value = reference.row(row)
                assert int(episode.hashes()[row]) == value
                np.testing.assert_allclose(episode.positions(row), points, atol=0.51e-6, rtol=0)
            if name in finished:
                assert len(episode) == frames and info.label == "success"


class Reference:
    """The same run without a recorder, as far as it was asked for."""

    def __init__(self):
        self._engine = FakeEngine()
        self._rows = [(self._engine.positions(), state_hash(self._engine.get_state()))]

    def row(self, row: int):
        while len(self._rows) <= row:
            frame_at(self._engine, len(self._rows))
            self._rows.append((self._engine.positions(), state_hash(self._engine.get_state())))
        return self._rows[row]
