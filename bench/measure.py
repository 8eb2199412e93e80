"""Clocks, one core, memory: what the cases measure with."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import warp as wp

wp.config.log_level = wp.LOG_ERROR  # its banner would stand among the results on standard output


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core meanwhile, where the system can do that (the last: the first takes interrupts)."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def clock(compute: str) -> Callable[[], float]:
    """Seconds that the work took: on the CPU those that this process had a core (other programs do not count), on a GPU
    the wall's."""
    return time.process_time if compute == "cpu" else time.perf_counter


def timed(function: Callable[[], object], now: Callable[[], float]) -> float:
    begin = now()
    function()
    return now() - begin


def add_stages(total: dict[str, float], report) -> None:
    """Sum a StepReport's stage times [s] into `total`."""
    for name, seconds in report.stage_seconds.items():
        total[name] = total.get(name, 0.0) + seconds


def emit_shares(emit, prefix: str, stages: dict[str, float], smallest: float = 0.01) -> None:
    """Print the share of each stage of a step, largest first."""
    whole = sum(stages.values()) or 1.0
    for name, seconds in sorted(stages.items(), key=lambda item: -item[1]):
        if seconds >= smallest * whole:
            emit(f"{prefix}.share.{name.replace(' ', '_')}", seconds / whole, "-")


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.reshape(-1) - b.reshape(-1)).max())


def resident_memory() -> float | None:
    """Memory that this process holds now [MB], None where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        pass
    if sys.platform == "win32":
        return _windows_memory()
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # the largest so far; bytes on macOS
    return peak / 1e6


def _windows_memory() -> float | None:
    import ctypes
    from ctypes import wintypes

    class Counters(ctypes.Structure):
        _fields_ = [("cb", wintypes.DWORD), ("PageFaultCount", wintypes.DWORD)] + [
            (name, ctypes.c_size_t)
            for name in ("PeakWorkingSetSize", "WorkingSetSize", "QuotaPeakPagedPoolUsage", "QuotaPagedPoolUsage",
                         "QuotaPeakNonPagedPoolUsage", "QuotaNonPagedPoolUsage", "PagefileUsage", "PeakPagefileUsage")
        ]  # fmt: skip

    counters = Counters(cb=ctypes.sizeof(Counters))
    process = ctypes.windll.kernel32.GetCurrentProcess()
    found = ctypes.windll.psapi.GetProcessMemoryInfo(wintypes.HANDLE(process), ctypes.byref(counters), counters.cb)
    return counters.WorkingSetSize / 1e6 if found else None
