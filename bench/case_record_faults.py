"""What takes a recording away while the whole application records: a full disk, a folder that cannot be written, Ctrl+C
twice while it saves. What was completed must be there afterwards, and the set must be valid.

The disk is a file system in memory of its own, small enough to fill, so the case needs root. It fills as disks do: by
another program, while the application records.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.recorded_app import Application
from bench.registry import Emit, Unavailable

DESCRIPTION = "full disk, read-only folder and Ctrl+C twice while the application records: frames that are lost"
DISK_MB = 330  # recording wants 300 MB to be free when it begins
INTERRUPTS = 10
STEPS = 12  # enough for the script to ask for a recording


def run(emit: Emit, compute: str) -> None:
    if os.name == "nt" or os.geteuid() != 0:
        raise Unavailable("the case mounts a small file system, which needs root")
    _full_disk(emit, compute)
    _read_only(emit, compute)
    _interrupted(emit, compute)


def _full_disk(emit: Emit, compute: str) -> None:
    """The disk fills to the last byte; the application is killed on it; space is made; the next start saves all."""
    with tempfile.TemporaryDirectory() as place, _disk(Path(place) / "disk") as disk:
        folder, episodes = Path(place), disk / "episodes"
        emit.status("full disk: recording")
        app = Application(folder, 0, compute, None, episodes=episodes)
        app.wait_for(lambda a: len(a.recorded()) > 20)
        filler = disk / "filler"
        _fill(filler)
        app.wait_for(lambda a: any(line["record"]["state"] == "PAUSED" for line in a.lines() if line["record"]))
        told = [text for line in app.lines() for text in line["events"] if "Recording paused" in text]
        emit("faults.full_disk.told", bool(told))
        completed = app.recorded()
        app.kill()
        emit.status("full disk: a start while it is still full")
        full = Application(folder, 1, compute, None, steps=STEPS, episodes=episodes)
        full.wait()
        emit("faults.full_disk.said_why", "MB are free" in full.output and "Traceback" not in full.output)
        filler.unlink()
        emit.status("full disk: a start after space was made")
        Application(folder, 2, compute, None, steps=1, episodes=episodes).finish()
        _report(emit, "full_disk", episodes, [("episode_0001", completed)])


def _read_only(emit: Emit, compute: str) -> None:
    """A set that lies on a disk that can only be read: said in a sentence, and the set stays as it is."""
    with tempfile.TemporaryDirectory() as place, _disk(Path(place) / "disk") as disk:
        folder, episodes = Path(place), disk / "episodes"
        emit.status("read-only folder")
        app = Application(folder, 0, compute, None, episodes=episodes)
        completed = app.kill_after(0.5)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        before = sorted((p.name, p.stat().st_size) for p in episodes.iterdir())
        refused = Application(folder, 1, compute, None, steps=STEPS, episodes=episodes)
        refused.wait()
        said = "Read-only file system" in refused.output and "Traceback" not in refused.output
        emit("faults.read_only.said_why", said)
        emit("faults.read_only.unchanged", before == sorted((p.name, p.stat().st_size) for p in episodes.iterdir()))
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        Application(folder, 2, compute, None, steps=1, episodes=episodes).finish()
        _report(emit, "read_only", episodes, [("episode_0001", completed)])


def _interrupted(emit: Emit, compute: str) -> None:
    """Ctrl+C, and once more while it saves."""
    rng = random.Random(3)
    results = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for number in range(INTERRUPTS):
            emit.status(f"Ctrl+C twice, {number + 1} of {INTERRUPTS}")
            app = Application(folder, number, compute, None)
            app.wait_for(lambda a: len(a.recorded()) > 5)
            app.interrupt()
            time.sleep(rng.uniform(0.0, 0.3))
            app.interrupt()
            app.wait()
            results.append((f"episode_{number + 1:04d}", app.recorded()))
        Application(folder, INTERRUPTS, compute, None, steps=1).finish()
        emit("faults.ctrl_c_twice.runs", len(results))
        _report(emit, "ctrl_c_twice", folder / "episodes", results)


def _report(emit: Emit, name: str, episodes: Path, results: list) -> None:
    """Frames lost, and whether every file of the set opens without an error. Raises RuntimeError when not."""
    from app.record import Episode, list_episodes

    lost = frames = 0
    for episode_name, completed in results:
        path = episodes / f"{episode_name}.h5"
        held = 0
        if path.exists():
            with Episode(path) as episode:
                held = episode.num_frames
        frames += len(completed)
        lost += max(0, len(completed) - held)
    infos = list_episodes(episodes)
    bad = [info.name for info in infos if info.problem or not info.sealed or info.worst == "error"]
    left = [path.name for path in episodes.iterdir() if path.suffix in (".log", ".part")]
    emit(f"faults.{name}.frames_completed", frames, "frames")
    emit(f"faults.{name}.frames_lost", lost, "frames")
    emit(f"faults.{name}.bad_episodes", len(bad))
    emit(f"faults.{name}.logs_left", len(left), "files")
    if lost or bad or left:
        raise RuntimeError(f"{name}: {lost} frames lost, bad: {bad}, left: {left}")


@contextmanager
def _disk(place: Path) -> Iterator[Path]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def _fill(path: Path) -> None:
    """To the last byte."""
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
