"""The whole application as a child process that records, for cases that kill it, interrupt it or take its disk away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
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


class Application:
    """One start of the application in a folder that the one before may have left unsaved.

    Args: folder: of this bench; the state log `state_NUMBER.jsonl` lies there. episodes: where it records, default
    `episodes` in there. display: number of an X display, None: headless. steps: None = until it is ended.
    """

    def __init__(
        self, folder: Path, number: int, compute: str, display: str | None, steps: int | None = None,
        episodes: Path | None = None,
    ):  # fmt: skip
        (folder / "script.yaml").write_text(SCRIPT, encoding="utf-8")
        self._log = folder / f"state_{number}.jsonl"
        self._output = (folder / "output").open("w")
        command = [sys.executable, str(ROOT / "launch.py"), "run", "strip_on_box", "--compute", compute]
        command += ["--input", f"scripted:{folder / 'script.yaml'}", "--record", str(episodes or folder / "episodes")]
        command += ["--state-log", str(self._log), "--no-pictures", *(() if display else ("--headless",))]
        command += ["--steps", str(steps or 100_000)]
        environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environment |= {"TACKTILE_CONFIG_DIR": str(folder / "config"), "TACKTILE_DATA_DIR": str(folder / "data")}
        if display:
            environment["DISPLAY"] = f":{display}"
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output
        )

    def lines(self) -> list[dict]:
        """Whole lines of the state log so far."""
        if not self._log.exists():
            return []
        whole = self._log.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def recorded(self) -> list[dict]:
        """Those of frames that were recorded: the log is written after the recorder."""
        return [line for line in self.lines() if line["stepped"] and line["record"]["state"] == "REC"]

    @property
    def output(self) -> str:
        """What it printed."""
        return Path(self._output.name).read_text(errors="replace")

    def wait_for(self, what: Callable[[Application], bool], patience: float = PATIENCE) -> None:
        """Until `what` holds. Raises RuntimeError with the application's output when it ends or the time is over."""
        end = time.monotonic() + patience
        while not what(self):
            if self._process.poll() is not None or time.monotonic() > end:
                self._fail()
            time.sleep(0.02)

    def interrupt(self) -> None:
        """Ctrl+C."""
        self._process.send_signal(signal.SIGINT)

    def wait(self, patience: float = PATIENCE) -> int:
        """Exit status. Kills it, and raises RuntimeError, when it does not end."""
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._fail()
        finally:
            self._output.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()

    def kill_after(self, delay: float) -> list[dict]:
        """Kills `delay` [s] after the first recorded frame; returns the state log's lines of completed frames."""
        self.wait_for(Application.recorded)
        time.sleep(delay)
        if self._process.poll() is not None:
            self._fail()
        self.kill()
        return self.recorded()

    def finish(self) -> None:
        if self._process.wait(PATIENCE) != 0:
            self._fail()
        self._output.close()

    def _fail(self) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()
        raise RuntimeError(f"the application did not record: {Path(self._output.name).read_text()}")
