"""What a Python user imports from an installed Tacktile: `from tacktile import ModelBuilder, Engine, Options, Episode`.

The rooms of the house (app, engine, scenes, devices) keep their short names. So that those generic names do not lie in
a user's site-packages, a wheel carries them in the private folder `tacktile/house`, and this file as
`tacktile/__init__.py`; importing it puts that folder on the path, after which `from engine import ModelBuilder` works
as in a checkout. An editable install has no such folder: there the checkout itself is on the path.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HOUSE = Path(__file__).resolve().parent / "house"
ROOMS = ("engine", "scenes", "devices", "app")


def _move_in() -> None:
    """Put the house first on the path. Raises ImportError when another package of a room's name is already imported."""
    for room in ROOMS:
        taken = sys.modules.get(room)
        if taken is None:
            continue
        place = getattr(taken, "__file__", None)
        if place is None or not Path(place).resolve().is_relative_to(HOUSE):
            raise ImportError(
                f"tacktile needs the import name {room!r}, which this process already uses for {place or taken!r}; "
                f"import tacktile in a process of its own (the names it needs: {', '.join(ROOMS)})"
            )
    if str(HOUSE) not in sys.path:
        sys.path.insert(0, str(HOUSE))


if HOUSE.is_dir():
    _move_in()


RECORDINGS = ("Episode", "EpisodeError", "EpisodeInfo", "list_episodes")  # of app.record: reading needs no engine


def __getattr__(name: str):
    """Public names of the engine and of recordings, imported when asked for: `import tacktile` alone stays quick."""
    if name in RECORDINGS:
        return getattr(importlib.import_module("app.record"), name)
    engine = importlib.import_module("engine")
    if name in engine.__all__:
        return getattr(engine, name)
    raise AttributeError(f"tacktile has no {name!r}; available: {', '.join(__dir__())}")


def __dir__() -> list[str]:
    return sorted({"main", *RECORDINGS, *importlib.import_module("engine").__all__})


def main() -> None:
    """Entry point of the `tacktile` command."""
    importlib.import_module("app.cli").main()
