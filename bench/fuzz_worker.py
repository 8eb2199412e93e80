"""A child process that reads damaged files and says how each was taken. Started by bench.case_fuzz, not by hand.

Numbers of variants come on standard input, a line an answer goes out. Memory is limited by the system, so that a
reader that would take all of it ends here with MemoryError, which counts as a finding.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

EXTRA_MEMORY = 1 << 30  # [bytes] beside what the loaded packages hold


def main(name: str) -> None:
    from bench.fuzz_targets import TARGETS, variant

    target = next(t for t in TARGETS if t.name == name)
    seeds = target.seeds()
    place = Path(tempfile.mkdtemp(prefix="fuzz_", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        for number, seed in enumerate(seeds):  # the good ones load what the reader needs; a few scenes want packages
            outcome = _take(target, seed, place)
            if outcome != "read":
                print(f"seed {number} of {name}: {outcome}", file=sys.stderr, flush=True)
        _limit_memory()
        print("ready", flush=True)
        for line in sys.stdin:
            number = int(line)
            print(f"{number} {_take(target, variant(target, seeds, number), place)}", flush=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _take(target, data: bytes, place: Path) -> str:
    """ "read", "refused", or "wrong" with the error and where it arose."""
    folder = place / "set"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / f"episode_0001{target.suffix}"
    path.write_bytes(data)
    if target.around is not None:
        target.around(folder)
    try:
        target.read(path)
        return "read"
    except target.refusals():
        return "refused"
    except BaseException as error:  # noqa: BLE001 - this is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "/site-packages/" not in f.filename]
        at = f"{Path(where.filename).name}:{where.lineno}" + (f" from {Path(ours[-1].filename).name}:{ours[-1].lineno}")
        return f"wrong {type(error).__name__}: {str(error)[:100]!r} at {at}"


def _limit_memory() -> None:
    import resource

    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (held + EXTRA_MEMORY, held + EXTRA_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


if __name__ == "__main__":
    main(sys.argv[1])
