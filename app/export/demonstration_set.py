"""The demonstrations of many episodes, one episode open at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.export.demonstrations import Demonstration, demonstrations
from app.export.options import ExportError, ExportOptions
from app.record import Episode, EpisodeError


@dataclass(frozen=True, eq=False)
class _Planned:
    """One demonstration while its episode is closed."""

    path: Path
    taken: np.ndarray  # frames
    lot: str  # decides whether it is put aside for validation


class DemonstrationSet:
    """Iterating opens one episode after the other; a set of thousands takes the memory of one.

    `skipped` says which episodes were left out and why. Raises ExportError when none is left, or when scenes, time
    steps or actions differ: a data set has one of each.
    """

    def __init__(self, paths: Sequence[Path], options: ExportOptions):
        self.options = options
        self.skipped: list[str] = []
        self._planned: list[_Planned] = []
        kinds: dict[tuple, str] = {}
        for path in paths:
            for demo in self._usable(path):
                kinds.setdefault((demo.episode.scene_name, round(demo.dt, 9), tuple(demo.action[1])), demo.name)
        if not self._planned:
            raise ExportError("nothing to export: " + ("; ".join(self.skipped) or "no episodes"))
        if len(kinds) > 1:
            (a, first), (b, other) = list(kinds.items())[:2]
            what = next(w for w, x, y in zip(("scene", "time step", "actions"), a, b, strict=True) if x != y)
            raise ExportError(f"{first} and {other} differ in their {what}; a data set has one: export them apart")

    def _usable(self, path: Path) -> Iterator[Demonstration]:
        """Demonstrations of one file; why there are none goes into `skipped`."""
        name, options = path.name.split(".")[0], self.options
        try:
            with Episode(path) as episode:
                if options.only and (episode.label or "none") not in options.only:
                    self.skipped.append(f"{name} is labelled {episode.label or 'none'}")
                    return
                errors = [f.text for f in episode.validate(positions=False) if f.severity == "error"]
                if errors:
                    self.skipped.append(f"{name}: {errors[0]}")
                    return
                found = demonstrations(episode, options)
                if not found:
                    self.skipped.append(f"{name} is shorter than two states")
                for demo in found:
                    text = f"{name} {episode.meta.get('created', '')} {demo.frames[0]}"
                    lot = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
                    self._planned.append(_Planned(path, demo.taken, lot))
                    yield demo
        except (EpisodeError, FileNotFoundError) as error:
            self.skipped.append(str(error))

    def __len__(self) -> int:
        return len(self._planned)

    def __iter__(self) -> Iterator[Demonstration]:
        """Each is of use until the next one is asked for."""
        for planned in self._planned:
            with Episode(planned.path) as episode:
                yield Demonstration(episode, planned.taken, self.options)

    def split(self, share: float) -> dict[str, list[int]]:
        """Numbers to train on and to validate with. The order of who is put aside hangs on names and creation alone,
        so a set that grows keeps its split as far as the share allows."""
        count = round(share * len(self))
        if share > 0.0 and len(self) > 1:
            count = max(count, 1)
        valid = sorted(sorted(range(len(self)), key=lambda k: self._planned[k].lot)[:count])
        return {"train": [k for k in range(len(self)) if k not in valid], "valid": valid}
