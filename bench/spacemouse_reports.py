"""A SpaceMouse without the hardware: the system's HID library replaced by a stand-in, which is fed the report bytes
that the hardware would send. Everything above it, binding, decoder, reader thread, mapping, is the real one."""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

FULL = 350  # counts of a full push
PRO = "0xc652"  # product id of a receiver: a SpaceMouse Pro with fifteen buttons, one report of 13 bytes
BUTTON_MASKS = {"next_tool": 1 << 2, "frame_next": 1 << 1}  # TOP and FIT of the Pro, as in assets/keymap.yaml


def build_library(source: Path, folder: Path) -> Path:
    """Compiles the stand-in into a folder, for LD_LIBRARY_PATH. Raises RuntimeError without a compiler."""
    if shutil.which("gcc") is None:
        raise RuntimeError("gcc is not installed: the stand-in HID library cannot be built")
    built = folder / "libhidapi-hidraw.so.0"
    command = ["gcc", "-shared", "-fPIC", "-w", "-Wl,-soname,libhidapi-hidraw.so.0", "-o", str(built), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    (folder / "libhidapi-hidraw.so").symlink_to(built)
    return folder


class Cap:
    """The hardware: sends what it is pushed to a hundred times a second, and an event for each button."""

    def __init__(self, path: str):
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)  # reports that nobody takes are lost, as on the wire
        self._counts = (0,) * 6
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send_all, daemon=True)
        self._thread.start()

    def push(self, axes: Sequence[float]) -> None:
        """Counts along x y z and about them, (6,), y away from the user and z up; the hardware's own y and z point the
        other way."""
        signs = (1, -1, -1, 1, -1, -1)
        self._counts = tuple(sign * round(float(count)) for sign, count in zip(signs, axes, strict=True))

    def tap(self, mask: int) -> None:
        for buttons in (mask, 0):
            self._send(struct.pack("<BI", 3, buttons))
            time.sleep(0.1)

    def pull_out(self) -> None:
        self._send(b"\xff")

    def _send(self, report: bytes) -> None:
        try:
            self._socket.sendto(report, self._path)
        except OSError:  # nobody listens: the plug is out, or the queue is full
            pass

    def _send_all(self) -> None:
        last = None
        while not self._stop.wait(0.01):
            if any(self._counts) or self._counts != last:  # like the hardware: silent at rest
                self._send(struct.pack("<B6h", 1, *self._counts))
            last = self._counts

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()
