"""What an export is asked for, and the error that it raises."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

FORMATS = ("robomimic", "lerobot", "mcap", "csv", "mp4")
ACTIONS = ("target", "command")

Progress = Callable[[str, float], None]  # what is being done, share done in [0, 1]


class ExportError(Exception):
    """It cannot be exported, or what was written does not read back; the text says which and why."""


@dataclass(frozen=True)
class ExportOptions:
    """Choices of an export.

    Raises ValueError naming the field, its value and the legal ones.
    """

    action: str = "target"  # "target": poses and joints asked of the engine; "command": the operator's twist and grip
    every: int = 1  # take one of so many states; time steps grow accordingly
    stretches: str = "last"  # "last": the motion after the last reset; "all": each stretch is a demonstration
    only: tuple[str, ...] = ()  # labels to take ("success", "failure", "none"); (): all but what was discarded
    points: bool = False  # positions of all points as well
    images: bool = True  # images of pads
    view: bool = False  # a video of the scene, drawn again from the states
    size: tuple[int, int] = (640, 480)  # [pixel] of that view
    quality: str = "medium"  # of that view; "high" costs thirty times as much without a graphics card
    fps: float = 30.0  # [1/s] of an MP4, in simulated time
    valid: float = 0.1  # share of demonstrations put aside for validation
    overwrite: bool = False  # replace what is there

    def __post_init__(self):
        if self.action not in ACTIONS:
            raise ValueError(f"action {self.action!r}; legal: {', '.join(ACTIONS)}")
        if self.stretches not in ("last", "all"):
            raise ValueError(f"stretches {self.stretches!r}; legal: last, all")
        if not 1 <= self.every <= 1000:
            raise ValueError(f"every {self.every!r}; legal: 1 to 1000")
        if not 0.0 <= self.valid < 1.0:
            raise ValueError(f"valid {self.valid!r}; legal: 0 up to, not including, 1")
        if self.quality not in ("low", "medium", "high"):
            raise ValueError(f"quality {self.quality!r}; legal: low, medium, high")
        if not 0.1 <= self.fps <= 240.0:
            raise ValueError(f"fps {self.fps!r}; legal: 0.1 to 240")
        if not all(16 <= side <= 4096 and side % 2 == 0 for side in self.size):
            raise ValueError(f"size {self.size!r}; legal: even numbers from 16 to 4096")
        unknown = set(self.only) - {"success", "failure", "none"}
        if unknown:
            raise ValueError(f"only {sorted(unknown)[0]!r}; legal: success, failure, none")


def need(package: str) -> ModuleType:
    """An optional package. Raises ExportError with the line that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.split(".")[0]
        raise ExportError(
            f"this export needs the package {name}, which is not installed: pip install 'tacktile[export]'"
        ) from None
