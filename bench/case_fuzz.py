"""Damaged and hostile files: scenes, sensors, episodes, meshes, robots, rolls. None may crash, hang or eat the memory.

Each variant is read in a child process with limits on memory and time. `TACKTILE_FUZZ=100000` sets how many in all,
`TACKTILE_FUZZ_KINDS=stl,obj` which kinds, `TACKTILE_FUZZ_FIRST=20000` the number of the first variant. Findings are
kept in `build/fuzz/`, a file each, with the error beside it.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

from bench.fuzz_targets import TARGETS, Target, variant
from bench.registry import Emit, Unavailable

DESCRIPTION = (
    "mutated scene, episode, sensor, mesh and robot files: crashes, hangs, memory, other errors (TACKTILE_FUZZ=N)"
)
ROOT = Path(__file__).resolve().parents[1]
COUNT = 2_000
TIME_LIMIT = 20.0  # [s] of processor time for one variant; the clock may run five times as long on a busy machine
START_LIMIT = 300.0  # [s] for a child to load its packages
AHEAD = 8  # variants asked for before the answer to the first
SHOWN = 12  # findings told


def run(emit: Emit, compute: str) -> None:
    if os.name == "nt":
        raise Unavailable("the case limits memory by setrlimit, which Windows has not")
    count = int(os.environ.get("TACKTILE_FUZZ", COUNT))
    first = int(os.environ.get("TACKTILE_FUZZ_FIRST", 0))
    kinds = os.environ.get("TACKTILE_FUZZ_KINDS", "")
    chosen = [t for t in TARGETS if not kinds or t.name in kinds.split(",")]
    whole = sum(t.share for t in chosen)
    findings: list[str] = []
    total = 0
    for target in chosen:
        number = max(1, round(count * target.share / whole))
        tally, found = fuzz(target, first, number, emit)
        findings += found
        total += number
        emit(f"fuzz.{target.name}.variants", number)
        for word in ("read", "refused", "wrong", "crash", "hang"):
            if word in ("read", "refused") or tally[word]:
                emit(f"fuzz.{target.name}.{word}", tally[word])
    emit("fuzz.variants", total)
    emit("fuzz.findings", len(findings))
    if findings:
        raise RuntimeError("\n".join(findings[:SHOWN]))


def fuzz(target: Target, first: int, count: int, emit: Emit) -> tuple[dict[str, int], list[str]]:
    """Tally by outcome, and each different finding once."""
    tally = dict.fromkeys(("read", "refused", "wrong", "crash", "hang"), 0)
    found: dict[str, str] = {}
    seeds = target.seeds()
    child = None
    asked: list[int] = []
    following, done = first, 0
    told = time.monotonic()
    try:
        while done < count:
            child = child or _Child(target.name)
            while following < first + count and len(asked) < AHEAD:
                child.ask(following)
                asked.append(following)
                following += 1
            outcome, text = child.answer()
            number = asked.pop(0)
            done += 1
            tally[outcome] += 1
            if outcome in ("wrong", "crash", "hang"):
                key = text.split(" at ")[-1] if outcome == "wrong" else outcome
                if key not in found:
                    found[key] = f"{target.name} {number}: {outcome} {text}"
                    _keep(target, seeds, number, found[key])
            if outcome in ("crash", "hang"):  # what was asked beyond goes to the next child
                child.end()
                child, following, asked = None, number + 1, []
            if time.monotonic() - told > 10.0:
                told = time.monotonic()
                emit.status(f"{target.name}: {done} of {count}, {len(found)} findings")
    finally:
        if child is not None:
            child.end()
    return tally, list(found.values())


def _keep(target: Target, seeds: list[bytes], number: int, text: str) -> None:
    place = ROOT / "build" / "fuzz"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{target.name}_{number}{target.suffix}").write_bytes(variant(target, seeds, number))
    (place / f"{target.name}_{number}.txt").write_text(text + "\n", encoding="utf-8")


class _Child:
    """A process that reads variants of one kind."""

    def __init__(self, name: str):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.fuzz_worker", name], cwd=ROOT, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._buffer = b""
        while True:
            line = self._line(START_LIMIT)
            if line == "ready":
                break
            if line is None:
                self.end()
                raise RuntimeError(f"the reader of {name} did not start; try: python -m bench.fuzz_worker {name}")

    def ask(self, number: int) -> None:
        try:
            self._process.stdin.write(f"{number}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # told by the answer

    def answer(self) -> tuple[str, str]:
        """Outcome and text of the oldest question."""
        start = self._seconds()
        while True:
            line = self._line(1.0)
            if line is not None:
                if not line[:1].isdigit():
                    continue  # something that a library printed
                words = line.split(" ", 2)
                return words[1], words[2] if len(words) > 2 else ""
            if self._process.poll() is not None:
                return "crash", f"exit status {self._process.returncode}"
            if self._seconds() - start > TIME_LIMIT:
                return "hang", f"over {TIME_LIMIT:.0f} s"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def _line(self, timeout: float) -> str | None:
        end = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                self._process.wait()
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode("utf-8", "replace")

    def _seconds(self) -> float:
        """Processor time of the child; the clock's where the system does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            return time.monotonic()
