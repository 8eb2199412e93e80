"""The application in a display in memory, worked by real key and button events; its state log says what happened."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.registry import Unavailable
from bench.virtual_display import start_display

ROOT = Path(__file__).resolve().parents[1]
START = 300.0  # [s] to the first frames: kernels may have to be compiled
STUCK = 180.0  # [s] of the wall without a new frame


class KeyedWindow:
    """Runs `tacktile run SCENE` with a window; a context manager that ends both.

    Args:
        folder: for settings, log, pictures and output. size: of the display [px]. core: the process stays on this one.
        environment: variables for the process, beside those of this one.

    Raises:
        Unavailable: Xvfb, xdotool or ImageMagick is not installed.
    """

    def __init__(
        self, scene: str, folder: Path, size=(1600, 900), core: int | None = None, options=(), environment=None
    ):
        missing = [name for name in ("Xvfb", "xdotool", "import") if shutil.which(name) is None]
        if missing:
            names = ", ".join(missing)
            raise Unavailable(f"{names} needed to drive a window: apt-get install xvfb xdotool imagemagick")
        self.folder = folder
        (folder / "config").mkdir(parents=True, exist_ok=True)
        width, height = (int(0.97 * side) for side in size)
        settings = f"overlay_seen: true\nwindow_width: {width}\nwindow_height: {height}\n"
        (folder / "config" / "settings.yaml").write_text(settings)
        self._server, number = start_display(*size)
        self._environment = os.environ | {
            "DISPLAY": f":{number}", "TACKTILE_CONFIG_DIR": str(folder / "config"), "OMP_NUM_THREADS": "1",
            "TACKTILE_DATA_DIR": str(folder / "data"), "TACKTILE_LOG_RECTS": str(folder / "rects.json"),
            "LP_NUM_THREADS": "0",  # software drawing stays in the one thread
        } | (environment or {})  # fmt: skip
        self._environment.pop("WAYLAND_DISPLAY", None)
        self._log, self._at, self._frames = folder / "log.jsonl", 0, []
        self._output = (folder / "output").open("w")
        command = [sys.executable, str(ROOT / "launch.py"), "run", scene, "--state-log", str(self._log), *options]
        pin = None if core is None or not hasattr(os, "sched_setaffinity") else lambda: os.sched_setaffinity(0, {core})
        self._app = subprocess.Popen(
            command, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=self._output,
            stderr=subprocess.STDOUT, preexec_fn=pin,
        )  # fmt: skip

    def __enter__(self) -> KeyedWindow:
        try:
            self.until(lambda frame: frame["index"] > 3, START)
            self.window = self.xdo("search", "--name", "Tacktile").split()[0]
            self.xdo("windowfocus", self.window)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for process in (self._app, self._server):
            if process.poll() is None:
                process.terminate()
            process.wait(60)
        self._output.close()

    def xdo(self, *arguments: str) -> str:
        return subprocess.run(
            ["xdotool", *arguments], env=self._environment, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    def frames(self) -> list[dict]:
        """All frames so far."""
        if self._log.exists():
            with self._log.open("rb") as file:
                file.seek(self._at)
                whole = file.read().rpartition(b"\n")[0]
            if whole:
                self._at += len(whole) + 1
                self._frames += [json.loads(line) for line in whole.splitlines()]
        return self._frames

    def until(self, true: Callable[[dict], bool], seconds: float = STUCK, begin: int | None = None) -> dict:
        """The first frame, from frame number `begin` or from the last one on, for which it is true.

        Raises RuntimeError when none comes although simulated time goes on for `seconds` of the wall, or the
        application ends.
        """
        at = max(len(self.frames()) - 1, 0) if begin is None else begin
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            frames = self.frames()
            for frame in frames[at:]:
                if true(frame):
                    return frame
            at = max(len(frames), at)
            if self._app.poll() is not None:
                raise RuntimeError(f"the application ended:\n{self.said()}")
            time.sleep(0.02)
        raise RuntimeError(f"not reached in {seconds:g} s; last frame {self._frames[-1:]}\n{self.said()}")

    def wait(self, seconds: float) -> None:
        """Simulated seconds."""
        until = self.frames()[-1]["time"] + seconds
        self.until(lambda frame: frame["time"] >= until)

    def press(self, key: str) -> None:
        """Down long enough for one frame to see it."""
        self.xdo("keydown", key)
        time.sleep(0.15)
        self.xdo("keyup", key)

    def hold(self, key: str, true: Callable[[dict], bool], seconds: float = 600.0) -> dict:
        self.xdo("keydown", key)
        try:
            return self.until(true, seconds)
        finally:
            self.xdo("keyup", key)

    def redrawn(self, times: int) -> None:
        """Frames from now on."""
        index = self.frames()[-1]["index"]
        self.until(lambda frame: frame["index"] >= index + times)

    def processor_seconds(self) -> float:
        """Of the application and all its threads, so far. Linux only."""
        fields = Path(f"/proc/{self._app.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def use_world_directions(self, next_frame: Callable[[], None] | None = None) -> None:
        """By key, or whatever else asks for the next frame, until the tool goes along the world's axes."""
        while (now := self.frames()[-1]["frame"]) != "world":
            self.press("f") if next_frame is None else next_frame()
            self.until(lambda frame, before=now: frame["frame"] != before)

    def click(self, name: str) -> None:
        """On what the window calls so."""
        time.sleep(0.5)
        x0, y0, x1, y1 = json.loads((self.folder / "rects.json").read_text())[name]
        self.xdo("mousemove", "--window", self.window, str(round((x0 + x1) / 2)), str(round((y0 + y1) / 2)))
        time.sleep(0.2)
        self.xdo("mousedown", "1")
        time.sleep(0.4)
        self.xdo("mouseup", "1")

    def picture(self, name: str) -> Path:
        path = self.folder / name
        subprocess.run(["import", "-window", self.window, str(path)], env=self._environment, check=True, timeout=60)
        return path

    def save_checkpoint(self) -> Path:
        """By key; the file of it."""
        place = self.folder / "data" / "checkpoints"
        before = set(place.rglob("*.npz"))
        self.press("F5")
        end = time.monotonic() + STUCK
        while not (new := set(place.rglob("*.npz")) - before):
            if time.monotonic() > end:
                raise RuntimeError(f"no checkpoint in {place}\n{self.said()}")
            time.sleep(0.1)
        self.redrawn(2)  # written whole before the next frame
        return new.pop()

    def close(self) -> str:
        """Ends the application as Ctrl+C would; what it printed."""
        self._app.terminate()
        self._app.wait(60)
        return self.said()

    def said(self) -> str:
        return (self.folder / "output").read_text()
