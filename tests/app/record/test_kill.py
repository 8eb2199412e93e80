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
FRAMES = 25  # an episode: the kill also falls into sealing, renaming and starting

# Frames whose `write` has returned are reported through a pipe. A forked child dies, so that the imports are paid once.
CHILD = """
import os, sys
from app.record import Recorder, RecorderSettings
from tests.app.record.fake_engine import FakeEngine, frame_at
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        engine = FakeEngine()
        settings = RecorderSettings(min_free_bytes=0, keyframe_every=10)
        recorder = Recorder(line.strip(), "strip", get_state=engine.get_state, settings=settings)
        while True:
            engine.__init__()
            name = recorder.start(engine.positions())
            for index in range(1, FRAMES + 1):
                assert recorder.write(frame_at(engine, index))
                os.write(1, f"{name} {index}\\n".encode())
            recorder.stop("success")
            os.write(1, f"{name} done\\n".encode())
    os.write(1, f"pid {child}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"dead\\n")
""".replace("FRAMES", str(FRAMES))


@pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
def test_kill_twenty_times_at_random(tmp_path):
    rng = random.Random(7)
    reference = reference_run()
    cut_short = 0
    with subprocess.Popen([sys.executable, "-c", CHILD], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, bufsize=1) as parent:  # fmt: skip
        for kill in range(20):
            folder = tmp_path / f"set{kill:02d}"
            completed, finished = run_and_kill(parent, folder, rng)
            found = recover(folder)
            assert all(item.path is not None or "empty" in item.text or "no frame" in item.text for item in found), (
                found
            )
            cut_short += check(folder, completed, finished, reference)
        parent.stdin.close()
    assert cut_short >= 10  # the kills did fall into recordings


def run_and_kill(parent, folder, rng):
    parent.stdin.write(f"{folder}\n")
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


def check(folder, completed, finished, reference) -> int:
    """Every completed frame is there and right. Returns how many episodes were cut short."""
    assert not [path.name for path in folder.iterdir() if path.suffix in (".log", ".part")]
    episodes = {info.name: info for info in list_episodes(folder)}
    assert set(completed) <= set(episodes)
    cut_short = 0
    for name, info in episodes.items():
        with Episode(info.path) as episode:
            assert completed.get(name, 0) <= len(episode) <= completed.get(name, 0) + 1  # + the frame being reported
            if len(episode) < FRAMES:
                assert [f for f in episode.validate() if f.severity == "error"] == []
            for row in range(len(episode) + 1):
                assert int(episode.hashes()[row]) == reference[row][1]
                np.testing.assert_allclose(episode.positions(row), reference[row][0], atol=0.51e-6, rtol=0)
            if name in finished:
                assert len(episode) == FRAMES and info.label == "success"
            cut_short += len(episode) < FRAMES
    return cut_short


def reference_run():
    engine = FakeEngine()
    rows = [(engine.positions(), state_hash(engine.get_state()))]
    for index in range(1, FRAMES + 1):
        frame_at(engine, index)
        rows.append((engine.positions(), state_hash(engine.get_state())))
    return rows
