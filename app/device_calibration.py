"""Calibrating a rate device: where its axes rest, and how far they reach. Pure: readings in, centre and span out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

REST_TIME = 1.0  # [s] of readings that make the centre
STEADY = 0.08  # [-] an axis that moves more than this during them was not at rest
MOST_OFF = 0.5  # [-] a rest further out than this is a hand on the stick
LEAST_REACH = 0.35  # [-] an axis moved less than this keeps its span


@dataclass(frozen=True, eq=False)
class Calibration:
    """phase: "rest" (hands off), "reach" (move every axis to its ends), "failed" (`text` says why)."""

    phase: str = "rest"
    text: str = "hands off: finding where it rests"
    since: float | None = None  # [s] first reading of this phase
    lowest: np.ndarray | None = None  # (6,)
    highest: np.ndarray | None = None
    total: np.ndarray | None = None
    count: int = 0
    centre: np.ndarray | None = None

    def feed(self, twist: np.ndarray, now: float) -> Calibration:
        """With one more reading (6,)."""
        if self.phase == "failed":
            return self
        twist = np.asarray(twist, dtype=float)
        if self.since is None or self.lowest is None:
            return replace(self, since=now, lowest=twist, highest=twist, total=twist, count=1)
        grown = replace(
            self, lowest=np.minimum(self.lowest, twist), highest=np.maximum(self.highest, twist),
            total=self.total + twist, count=self.count + 1,
        )  # fmt: skip
        if self.phase == "reach" or now - self.since < REST_TIME:
            return grown
        return grown._rested()

    def _rested(self) -> Calibration:
        centre = self.total / self.count
        if np.any(self.highest - self.lowest > STEADY):
            return replace(self, phase="failed", text="it moved: take your hands off and calibrate again")
        if np.any(np.abs(centre) > MOST_OFF):
            return replace(self, phase="failed", text="an axis is pushed: take your hands off and calibrate again")
        return Calibration("reach", "move every axis to both of its ends, then Done", centre=centre)

    def result(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """(centre, span) for MappingSettings, None while it does not know yet. An axis that was not moved keeps span 1,
        and so does half of one that was moved to one end only."""
        if self.phase != "reach" or self.centre is None:
            return None
        if self.highest is None:
            return tuple(self.centre), (1.0,) * 6
        reach = np.minimum(self.highest - self.centre, self.centre - self.lowest)
        span = np.where(reach >= LEAST_REACH, reach, 1.0)
        return tuple(float(round(v, 4)) for v in self.centre), tuple(float(round(v, 4)) for v in span)

    @property
    def progress(self) -> float:
        """[-] of the phase: time of the rest, axes that have reached both ends."""
        if self.highest is None:
            return 0.0
        if self.phase == "rest":
            return min(self.count / 30.0, 1.0)
        reach = np.minimum(self.highest - self.centre, self.centre - self.lowest)
        return float(np.mean(reach >= LEAST_REACH))
