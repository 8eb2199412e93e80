"""Finding the cases, and the one way in which they print.

A case is a module `bench/case_<name>.py` with

    DESCRIPTION = "one line for --list"
    def run(emit: Emit, compute: str) -> None: ...

`compute` is "cpu" or "cuda:0". `emit(name, value, unit)` prints a line `name value unit` on standard output, at once;
`emit.status(text)` says on standard error what is going on. A case that cannot run here (no GPU, a peer that is not
installed) raises `Unavailable` with the sentence that fixes it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

PREFIX = "case_"


class Unavailable(RuntimeError):
    """The case cannot run on this machine; the text says what is missing."""


class Emit:
    """Prints results; see the module's docstring.

    Args:
        write: takes one finished line. status: takes the text that a person waiting wants to read.
        show: takes a finished table.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        status: Callable[[str], None] = lambda text: None,
        show: Callable[[str], None] = lambda text: None,
    ):
        self._write, self.status, self.show = write, status, show
        self.count = 0

    def table(self, title: str, header: list, rows: list[list]) -> None:
        """A table for people, as status text; every value in it is printed as a line too."""
        cells = [[str(cell) for cell in row] for row in (header, *rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        self.show("\n".join([title, *(line.rstrip() for line in lines)]))

    def __call__(self, name: str, value: float, unit: str = "-") -> None:
        """One line. Raises ValueError for a name or unit that would not be one word of the line."""
        for word in (name, unit):
            if not word or len(word.split()) != 1 or word != word.strip():
                raise ValueError(f"{word!r} must be one word: a line reads `name value unit`")
        self._write(f"{name} {float(value):.6g} {unit}")
        self.count += 1


def list_cases() -> dict[str, str]:
    """Case names, in alphabetical order, with the path of each module."""
    found = sorted(Path(__file__).parent.glob(f"{PREFIX}*.py"))
    return {path.stem.removeprefix(PREFIX): str(path) for path in found}


def load_case(name: str) -> ModuleType:
    """The module of a case. Raises ValueError, with the names that there are, for an unknown one."""
    if name not in list_cases():
        raise ValueError(f"no case {name!r}; available: {', '.join(list_cases())}")
    return importlib.import_module(f"bench.{PREFIX}{name}")
