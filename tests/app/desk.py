"""A virtual display with the application on it, worked by real key and button events."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bench.virtual_display import start_display

ROOT = Path(__file__).resolve().parents[2]
MISSING = [name for name in ("Xvfb", "xdotool", "import") if shutil.which(name) is None]
needs_desk = pytest.mark.skipif(
    bool(MISSING), reason=f"needs {', '.join(MISSING)} (Debian: xvfb xdotool imagemagick) to open a window"
)
START = 300.0  # [s] to the first frames: the kernels may have to be compiled


class Desk:
    """Starts a display and the application; `end` ends both.

    Args:
        folder: for settings, recordings, log and pictures. command: what Python runs, from the root of the checkout; it
        writes a line of JSON a frame to folder/log.jsonl. screen: size of the display. environment: in addition.
    """

    def __init__(
        self, folder: Path, command: list[str], screen: tuple[int, int] = (1400, 800), environment: dict | None = None
    ):
        self.folder = folder
        self.server, number = start_display(*screen)
        self.environment = {
            **os.environ,
            "DISPLAY": f":{number}",
            "TACKTILE_CONFIG_DIR": str(folder / "config"),
            "TACKTILE_DATA_DIR": str(folder / "data"),
            "TACKTILE_LOG_RECTS": str(folder / "rects.json"),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            **(environment or {}),
        }
        self.environment.pop("WAYLAND_DISPLAY", None)
        self._log_at, self._frames = 0, []
        self.output = (folder / "output").open("w")
        try:
            self.app = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment, stdin=subprocess.PIPE, stdout=self.output,
                stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            self.wait(lambda frame: frame["index"] > 3, "the first frames", START)
            self.window = self.xdo("search", "--name", "Tacktile").split()[0]
            self.xdo("windowfocus", self.window)
        except BaseException:
            self.end()
            raise

    def xdo(self, *args) -> str:
        return subprocess.run(
            ["xdotool", *args], env=self.environment, capture_output=True, text=True, check=True, timeout=30
        ).stdout

    def frames(self) -> list[dict]:
        """All frames so far."""
        path = self.folder / "log.jsonl"
        if path.exists():
            with path.open("rb") as file:
                file.seek(self._log_at)
                whole, _, _ = file.read().rpartition(b"\n")  # the last line may be being written
            if whole:
                self._log_at += len(whole) + 1
                self._frames += [json.loads(line) for line in whole.splitlines()]
        return self._frames

    def last(self) -> dict:
        return self.frames()[-1]

    def rects(self) -> dict[str, list[float]]:
        """Rectangles of what was drawn last: name -> x0, y0, x1, y1."""
        for _ in range(20):
            try:
                return json.loads((self.folder / "rects.json").read_text())
            except (json.JSONDecodeError, FileNotFoundError):  # just being written
                time.sleep(0.02)
        pytest.fail("the window's rectangles cannot be read")

    def wait(self, true, what: str, seconds: float = 30.0) -> dict:
        """The first frame from now on for which it is true."""
        seen = max(len(self.frames()) - 1, 0)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            frames = self.frames()
            for frame in frames[seen:]:
                if true(frame):
                    return frame
            seen = len(frames)
            assert self.app.poll() is None, f"the application ended: {self.said()}"
            time.sleep(0.02)
        pytest.fail(f"{what} did not come within {seconds:.0f} s; last frame: {self.frames()[-1:]}; {self.said()}")

    def wait_drawn(self, name: str, seconds: float = 30.0) -> list[float]:
        """Rectangle of what must appear in the window."""
        end = time.monotonic() + seconds
        while name not in (rects := self.rects()):
            assert time.monotonic() < end, f"{name} was not drawn within {seconds:.0f} s"
            time.sleep(0.05)
        return rects[name]

    def said(self) -> str:
        """What the application printed."""
        return (self.folder / "output").read_text()

    def click(self, name: str) -> None:
        rect = self.wait_drawn(name)
        time.sleep(0.2)
        while (later := self.wait_drawn(name)) != rect:  # a window that just appeared may still find its size
            rect = later
            time.sleep(0.2)
        x0, y0, x1, y1 = rect
        self.xdo("mousemove", "--window", self.window, str(round((x0 + x1) / 2)), str(round((y0 + y1) / 2)))
        time.sleep(0.15)
        self.xdo("mousedown", "1")
        time.sleep(0.3)
        self.xdo("mouseup", "1")

    def press(self, key: str) -> None:
        self.xdo("keydown", key)
        time.sleep(0.15)
        self.xdo("keyup", key)

    def hold(self, key: str, true, what: str, seconds: float = 60.0) -> dict:
        """Keeps a key down until a frame is as wanted."""
        self.xdo("keydown", key)
        try:
            return self.wait(true, what, seconds)
        finally:
            self.xdo("keyup", key)

    def use_world_directions(self) -> None:
        """By key, until the tool goes along the world's axes."""
        while (now := self.last()["frame"]) != "world":
            self.press("f")
            self.wait(lambda f, before=now: f["frame"] != before, "the next frame of the directions")

    def picture(self, name: str) -> np.ndarray:
        from PIL import Image

        path = self.folder / name
        subprocess.run(["import", "-window", self.window, str(path)], env=self.environment, check=True, timeout=30)
        return np.asarray(Image.open(path).convert("RGB"))

    def ask_to_close(self) -> None:
        """WM_DELETE_WINDOW, as a window manager sends it when the cross is clicked."""
        x11 = ctypes.CDLL(ctypes.util.find_library("X11"))
        x11.XOpenDisplay.restype = ctypes.c_void_p
        x11.XInternAtom.restype = ctypes.c_ulong
        display = ctypes.c_void_p(x11.XOpenDisplay(self.environment["DISPLAY"].encode()))
        atom = [x11.XInternAtom(display, name, 0) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW")]

        class ClientMessage(ctypes.Structure):
            _fields_ = [
                ("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
                ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("message_type", ctypes.c_ulong),
                ("format", ctypes.c_int), ("data", ctypes.c_long * 5), ("pad", ctypes.c_long * 24),
            ]  # fmt: skip

        window = int(self.window)
        event = ClientMessage(33, 0, 1, display, window, atom[0], 32, (ctypes.c_long * 5)(atom[1], 0, 0, 0, 0))
        x11.XSendEvent(display, ctypes.c_ulong(window), 0, ctypes.c_long(0), ctypes.byref(event))
        x11.XFlush(display)
        x11.XCloseDisplay(display)

    def close_politely(self, seconds: float = 60.0) -> int:
        """Asks to close and returns the exit status."""
        self.ask_to_close()
        return self.app.wait(seconds)

    def end(self) -> None:
        for process in (getattr(self, "app", None), self.server):
            if process is not None:
                if process.poll() is None:
                    process.kill()
                process.wait(10)
        self.output.close()
