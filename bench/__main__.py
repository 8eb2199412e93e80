"""`python -m bench --list` names the cases, `python -m bench CASE... [--compute cuda:0]` prints `name value unit`.

Results go to standard output, everything else to standard error, so that `python -m bench > results.txt` keeps results
alone. Without CASE all cases run. One thread for numerical libraries unless OMP_NUM_THREADS says otherwise: the figures
of the CPU are for one core.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # read when numpy loads, hence up here
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402

from rich.console import Console  # noqa: E402
from rich.markup import escape  # noqa: E402

from bench.registry import Emit, Unavailable, list_cases, load_case  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0; 1 when a case failed or could not run; 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Benchmarks: lines `name value unit`.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names from --list; none: all of them")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    parser.add_argument("--compute", default="cpu", metavar="WHERE", help="cpu (default) or cuda:0")
    asked = parser.parse_args(arguments)
    if asked.list:
        width = max(map(len, list_cases()), default=0)
        for name in list_cases():
            print(f"{name:{width}}  {load_case(name).DESCRIPTION}")
        return 0
    try:
        modules = {name: load_case(name) for name in asked.cases or list_cases()}
        _check_compute(asked.compute)
    except ValueError as error:
        parser.error(str(error))
    console = Console(stderr=True, highlight=False)
    failed = [name for name, module in modules.items() if not _run(name, module, asked.compute, console)]
    if failed:
        console.print(f"[bold red]not measured:[/bold red] {', '.join(failed)}")
    return 1 if failed else 0


def _check_compute(compute: str) -> None:
    if compute == "cpu":
        return
    import warp as wp

    wp.config.quiet = True
    wp.init()
    there = ["cpu", *(str(d) for d in wp.get_cuda_devices())]
    if compute not in there:
        raise ValueError(f"--compute {compute}: not on this machine; available: {', '.join(there)}")


def _run(name: str, module, compute: str, console: Console) -> bool:
    """Runs one case under a spinner; False when it failed."""
    started = time.perf_counter()
    with console.status(f"[bold]{name}[/bold]") as spinner:

        def status(text: str) -> None:
            spinner.update(f"[bold]{name}[/bold] {escape(text)}")
            if not console.is_terminal:
                console.print(f"{name}: {escape(text)}", soft_wrap=True)

        def show(text: str) -> None:
            console.print(f"\n{escape(text)}\n", soft_wrap=True)

        emit = Emit(lambda line: print(line, flush=True), status, show)
        try:
            module.run(emit, compute)
        except Unavailable as error:
            console.print(f"[yellow]{name}: {escape(str(error))}[/yellow]", soft_wrap=True)
            return False
        except Exception:  # noqa: BLE001 - the other cases still run
            console.print(f"[bold red]{name} failed[/bold red]\n{escape(traceback.format_exc())}", soft_wrap=True)
            return False
    console.print(f"[dim]{name}: {emit.count} figures in {time.perf_counter() - started:.1f} s[/dim]")
    return True


if __name__ == "__main__":
    sys.exit(main())
