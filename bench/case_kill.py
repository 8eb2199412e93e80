"""The whole application is killed while it records: what was completed must be there at the next start.

A frame counts as completed when the state log, which is written after the recorder, holds its line.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

from bench.recorded_app import Application
from bench.registry import Emit, Unavailable

DESCRIPTION = "kill -9 of the application while it records, 20 times (TACKTILE_KILLS=N) at random: frames recovered"
KILLS = 20
LATEST = 3.0  # [s] after the first recorded frame


def run(emit: Emit, compute: str) -> None:
    if os.name == "nt":
        raise Unavailable("the case ends processes with SIGKILL, which Windows has not")
    kills = int(os.environ.get("TACKTILE_KILLS", KILLS))
    rng = random.Random(20)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        display = _Display()
        try:
            results = []
            for number in range(kills):
                windowed = display.number is not None and number % 2 == 1
                delay = rng.uniform(0.0, LATEST)
                emit.status(
                    f"kill {number + 1} of {kills}, {'window' if windowed else 'headless'}, after {delay:.2f} s"
                )
                app = Application(folder, number, compute, display.number if windowed else None)
                completed = app.kill_after(delay)
                results.append((f"episode_{number + 1:04d}", windowed, completed))
            emit.status("the last start")
            Application(folder, kills, compute, None, steps=1).finish()
        finally:
            display.end()
        _print(emit, folder / "episodes", results)


def _print(emit: Emit, episodes: Path, results: list) -> None:
    """Compares what the log said with what the episodes hold."""
    from app.record import Episode

    lost = wrong = findings = recovered = 0
    for name, _, completed in results:
        path = episodes / f"{name}.h5"
        if not path.exists():
            lost += len(completed)
            continue
        with Episode(path) as episode:
            recovered += episode.num_frames
            lost += max(0, len(completed) - episode.num_frames)
            findings += sum(one.severity != "note" for one in episode.validate())  # a note says it was recovered
            wrong += sum(not _same(episode, row, line) for row, line in enumerate(completed[: episode.num_frames]))
    counted = sum(len(completed) for _, _, completed in results)
    emit("kill.headless", sum(not windowed for _, windowed, _ in results), "kills")
    emit("kill.window", sum(windowed for _, windowed, _ in results), "kills")
    emit("kill.frames_completed", counted, "frames")
    emit("kill.frames_recovered", recovered, "frames")
    emit("kill.frames_lost", lost, "frames")
    emit("kill.frames_not_as_they_were", wrong, "frames")
    emit("kill.findings_of_validate", findings)
    emit("kill.logs_left", len(list(episodes.glob("*.log*"))), "files")
    if lost or wrong or findings:
        raise RuntimeError(f"{lost} frames lost, {wrong} not as they were, {findings} findings")


def _same(episode, row: int, line: dict) -> bool:
    """The frame of that row is the one that the log's line tells of: its time and its highest point."""
    time_there = float(episode["time/simulated"][row])
    top = max(mesh["upper"][2] for mesh in line["meshes"].values())
    return abs(time_there - line["time"]) < 1e-4 and episode.positions(row + 1)[:, 2].max() > top - 2e-6


class _Display:
    """A display in memory when there is one to be had; without it all kills are headless."""

    def __init__(self):
        self.server, self.number = None, None
        if shutil.which("Xvfb"):
            from bench.virtual_display import start_display

            self.server, self.number = start_display(1400, 800)

    def end(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait()
