"""Time from the command to the first frame in the window, without and with compiled kernels; memory of each scene."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.registry import Emit, Unavailable
from bench.virtual_display import start_display

DESCRIPTION = "cold and warm start of the application, peak memory of each scene that ships"
ROOT = Path(__file__).resolve().parents[1]
FIRST_SCENE = "box_packaging"  # what opens by default
MEBIBYTE = 2.0**20
PATIENCE = 300.0  # [s]


def run(emit: Emit, compute: str) -> None:
    from scenes.config import list_scenes

    with tempfile.TemporaryDirectory() as cache:
        emit.status(f"{FIRST_SCENE} without compiled kernels")
        emit("startup.cold_s", _first_frame(FIRST_SCENE, compute, cache), "s")
        emit.status(f"{FIRST_SCENE} with compiled kernels")
        emit("startup.warm_s", min(_first_frame(FIRST_SCENE, compute, cache) for _ in range(2)), "s")
        for name, _, _ in list_scenes():
            emit.status(f"memory of {name}")
            emit(f"startup.memory_{name}", _first_step(name, compute, cache)[1] / MEBIBYTE, "MiB")


def _first_frame(scene: str, compute: str, cache: str) -> float:
    """Seconds until the window has drawn the first frame of the scene; the state log says when. In a display in memory,
    drawn by software: a real one is faster."""
    try:
        server, number = start_display(1400, 900)
    except FileNotFoundError as error:
        raise Unavailable("Xvfb is needed for a window to time: apt-get install xvfb") from error
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "state.jsonl"
        command = [sys.executable, str(ROOT / "launch.py"), "run", scene, "--steps", "1000", "--compute", compute]
        command += ["--record", folder, "--state-log", str(log)]
        environment = os.environ | {"WARP_CACHE_PATH": cache, "DISPLAY": f":{number}", "XDG_CONFIG_HOME": folder}
        started = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            while not (log.exists() and log.stat().st_size):
                if child.poll() is not None or time.perf_counter() - started > PATIENCE:
                    raise RuntimeError(f"{' '.join(command[1:])} drew no frame in {PATIENCE:g} s")
                time.sleep(0.01)
            return time.perf_counter() - started
        finally:
            child.terminate()
            child.wait()
            server.terminate()
            server.wait()


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
