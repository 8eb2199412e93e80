"""The whole application is killed while it records: what was completed must be there at the next start.

A frame counts as completed when the state log, which is written after the recorder, holds its line.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.registry import Emit, Unavailable

DESCRIPTION = "kill -9 of the application while it records, 20 times at random: frames that are recovered"
ROOT = Path(__file__).resolve().parents[1]
KILLS = 20
LATEST = 3.0  # [s] after the first recorded frame
PATIENCE = 300.0  # [s] for a start: the kernels may have to be compiled
SCRIPT = """
segments:
  - {for: 0.1}
  - {for: 0.35, twist: [1, 0, 0, 0, 0, 0], press: [record]}
  - {for: 0.6, gripper: 1}
  - {for: 1.2, twist: [0.2, 0, 0.9, 0, 0, 0]}
  - {for: 60, twist: [0, 0.05, 0, 0, 0, 0]}
linear_speed: 0.1
gripper_speed: 2.0
"""


def run(emit: Emit, compute: str) -> None:
    if os.name == "nt":
        raise Unavailable("the case ends processes with SIGKILL, which Windows has not")
    rng = random.Random(20)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "script.yaml").write_text(SCRIPT, encoding="utf-8")
        display = _Display()
        try:
            results = []
            for number in range(KILLS):
                windowed = display.number is not None and number % 2 == 1
                delay = rng.uniform(0.0, LATEST)
                emit.status(
                    f"kill {number + 1} of {KILLS}, {'window' if windowed else 'headless'}, after {delay:.2f} s"
                )
                app = _Application(folder, number, compute, display.number if windowed else None)
                completed = app.kill_after(delay)
                results.append((f"episode_{number + 1:04d}", windowed, completed))
            emit.status("the last start")
            _Application(folder, KILLS, compute, None, steps=1).finish()
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


class _Application:
    """One start of the application in a folder that the one before may have left unsaved."""

    def __init__(self, folder: Path, number: int, compute: str, display: str | None, steps: int | None = None):
        self._log = folder / f"state_{number}.jsonl"
        self._output = (folder / "output").open("w")
        command = [sys.executable, str(ROOT / "launch.py"), "run", "strip_on_box", "--compute", compute]
        command += ["--input", f"scripted:{folder / 'script.yaml'}", "--record", str(folder / "episodes")]
        command += ["--state-log", str(self._log), "--no-pictures", *(() if display else ("--headless",))]
        command += ["--steps", str(steps or 100_000)]
        environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environment |= {"TACKTILE_CONFIG_DIR": str(folder / "config"), "TACKTILE_DATA_DIR": str(folder / "data")}
        if display:
            environment["DISPLAY"] = f":{display}"
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output
        )

    def _recorded(self) -> list[dict]:
        """Whole lines of frames that were recorded."""
        if not self._log.exists():
            return []
        whole = self._log.read_bytes().rpartition(b"\n")[0]
        lines = [json.loads(line) for line in whole.splitlines()]
        return [line for line in lines if line["stepped"] and line["record"]["state"] == "REC"]

    def kill_after(self, delay: float) -> list[dict]:
        """Kills `delay` [s] after the first recorded frame; returns the state log's lines of completed frames."""
        end = time.monotonic() + PATIENCE
        while not self._recorded():
            if self._process.poll() is not None or time.monotonic() > end:
                self._fail()
            time.sleep(0.02)
        time.sleep(delay)
        if self._process.poll() is not None:
            self._fail()
        self._process.kill()
        self._process.wait()
        self._output.close()
        return self._recorded()

    def finish(self) -> None:
        if self._process.wait(PATIENCE) != 0:
            self._fail()
        self._output.close()

    def _fail(self) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()
        raise RuntimeError(f"the application did not record: {Path(self._output.name).read_text()}")
