"""The task guide: which stages of a sealing task hold, told by the physics after each few steps.

Recorded with the frame as `extra["guide"]`: `stages` (name -> bool), `reached` (how many hold, in order, from the
first), `stage` (the one to do next, "" when all hold) and the figures of `scenes.packaging.Sealing`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from scenes.packaging import STAGES, SealWatch

EVERY = 3  # steps: reading takes a few milliseconds


def guide_reader(session) -> GuideReader | None:
    """For a scene with a `seal` section, else None."""
    file = getattr(getattr(session.scene, "config", None), "file", None)
    if getattr(file, "seal", None) is None:
        return None
    return GuideReader(SealWatch(session.scene), session.engine)


class GuideReader:
    """Reads one engine. Stages are told as they are now: flaps that a hand holds down count as closed only while they
    are flat."""

    def __init__(self, watch: SealWatch, engine):
        self.watch, self.engine = watch, engine
        self._steps = 0
        self.last: dict[str, Any] | None = None  # what `read` gave last
        self._told = 0  # stages in a row, as far as they were told

    def reset(self) -> None:
        """After a jump of the state: read anew at once."""
        self._steps, self.last, self._told = 0, None, 0

    def memory(self) -> tuple:
        """What `remember` takes, to go on as if there had been no jump."""
        return self._steps, self.last, self._told

    def remember(self, memory: tuple) -> None:
        self._steps, self.last, self._told = memory

    def news(self) -> str:
        """Name of the last stage reached since it was asked, with all before it; "" when there is none."""
        reached = 0 if self.last is None else self.last["reached"]
        if reached <= self._told:
            return ""
        self._told = reached
        return STAGES[reached - 1]

    def read(self) -> dict[str, Any]:
        """For `Frame.extra["guide"]`."""
        if self.last is None or self._steps % EVERY == 0:
            self.last = told(self.watch.read(self.engine))
        self._steps += 1
        return self.last


def told(sealing) -> dict[str, Any]:
    """Plain values of a `Sealing`, with the stage to do next."""
    stages = {name: bool(holds) for name, holds in sealing.stages.items()}
    reached = next((k for k, name in enumerate(STAGES) if not stages[name]), len(STAGES))
    stage = STAGES[reached] if reached < len(STAGES) else ""
    return {"stages": stages, "reached": reached, "stage": stage, **asdict(sealing)}
