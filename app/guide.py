"""The task guide: which stages of a task hold, told by the physics after each few steps.

Recorded with the frame as `extra["guide"]`: `stages` (name -> bool), `reached` (how many hold, in order, from the
first), `stage` (the one to do next, "" when all hold) and the figures of `scenes.packaging.Sealing` or
`scenes.wrapping.Wrapping`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from scenes.packaging import SealWatch
from scenes.wrapping import WrapWatch

EVERY = 3  # steps: reading takes a few milliseconds


def guide_reader(session) -> GuideReader | None:
    """For a scene with a section `seal` or `wrap`, else None."""
    file = getattr(getattr(session.scene, "config", None), "file", None)
    for section, watch in (("seal", SealWatch), ("wrap", WrapWatch)):
        if getattr(file, section, None) is not None:
            return GuideReader(watch(session.scene), session.engine)
    return None


class GuideReader:
    """Reads one engine. Stages are told as they are now: flaps that a hand holds down count as closed only while they
    are flat."""

    def __init__(self, watch: SealWatch | WrapWatch, engine):
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
        return list(self.last["stages"])[reached - 1]

    def read(self) -> dict[str, Any]:
        """For `Frame.extra["guide"]`."""
        if self.last is None or self._steps % EVERY == 0:
            self.last = told(self.watch.read(self.engine))
        self._steps += 1
        return self.last


def told(progress) -> dict[str, Any]:
    """Plain values of a `Sealing` or `Wrapping`, with the stage to do next."""
    stages = {name: bool(holds) for name, holds in progress.stages.items()}
    reached = next((k for k, holds in enumerate(stages.values()) if not holds), len(stages))
    stage = list(stages)[reached] if reached < len(stages) else ""
    return {"stages": stages, "reached": reached, "stage": stage, **asdict(progress)}
