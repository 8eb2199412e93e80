"""Time from the command to the end of the first step, without and with compiled kernels; memory of each scene."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.registry import Emit, Unavailable

DESCRIPTION = "cold and warm start of the application, peak memory of each scene that ships"
ROOT = Path(__file__).resolve().parents[1]
FIRST_SCENE = "strip_on_box"
MEBIBYTE = 2.0**20


def run(emit: Emit, compute: str) -> None:
    from scenes.config import list_scenes

    with tempfile.TemporaryDirectory() as cache:
        emit.status(f"{FIRST_SCENE} without compiled kernels")
        emit("startup.cold_s", _first_step(FIRST_SCENE, compute, cache)[0], "s")
        emit.status(f"{FIRST_SCENE} with compiled kernels")
        emit("startup.warm_s", min(_first_step(FIRST_SCENE, compute, cache)[0] for _ in range(2)), "s")
        for name, _, _ in list_scenes():
            emit.status(f"memory of {name}")
            emit(f"startup.memory_{name}", _first_step(name, compute, cache)[1] / MEBIBYTE, "MiB")


def _first_step(scene: str, compute: str, cache: str) -> tuple[float, float]:
    """(seconds, peak resident bytes) of a process that opens `scene`, takes one step and ends.

    The seconds include the end of the process, so they are a little more than a person waits for the first frame.
    """
    command = [sys.executable, str(ROOT / "launch.py"), "run", scene, "--headless", "--steps", "1"]
    command += ["--no-record", "--no-pictures", "--input", "none", "--compute", compute]
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        environment = os.environ | {"WARP_CACHE_PATH": cache}
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        peak = _wait(child)
        seconds = time.perf_counter() - started
        if child.returncode != 0:
            said.seek(0)
            raise RuntimeError(f"{' '.join(command[1:])} ended with {child.returncode}:\n{said.read().decode()}")
    return seconds, peak


def _wait(child: subprocess.Popen) -> float:
    """Waits for the end; peak resident memory of the child [byte]."""
    if not hasattr(os, "wait4"):
        child.kill()
        raise Unavailable("peak memory of a child process is read with os.wait4, which this system has not")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024.0
