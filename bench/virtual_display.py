"""A display in memory (Xvfb), for cases and tests that open the window."""

from __future__ import annotations

import os
import subprocess


def start_display(width: int, height: int) -> tuple[subprocess.Popen, str]:
    """The server, to be killed by the caller, and the number that it chose for its display.

    Raises:
        FileNotFoundError: Xvfb is not installed. RuntimeError: it ended at once.
    """
    read, write = os.pipe()
    try:
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        number = ""
        while not number.endswith("\n"):  # digits and newline may come apart
            part = os.read(read, 16).decode()
            if not part:
                raise RuntimeError("Xvfb ended before it opened a display")
            number += part
    finally:
        os.close(read)
    return server, number.strip()
