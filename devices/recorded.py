"""Samples of a recording, handed out again frame by frame: the device of a replay by inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from devices.contract import Feedback, Health, Sample, Status


class Recorded:
    """One Sample and one Status a poll, in order.

    `ages` [s]: how old each reading was when the loop used it (frame time minus t_receive); the mapping stage judges
    staleness by it, so a replay that must agree to the bit gives the recorded ones. None: all fresh. `statuses`: None
    means all OK. Raises ValueError when the lengths differ. After the last one it is at rest and `finished`.
    """

    name = "recording"

    def __init__(
        self,
        samples: Sequence[Sample],
        statuses: Sequence[Status] | None = None,
        ages: Sequence[float] | None = None,
        description: dict[str, Any] | None = None,
    ):
        for what, values in (("statuses", statuses), ("ages", ages)):
            if values is not None and len(values) != len(samples):
                raise ValueError(f"{len(values)} {what} for {len(samples)} samples; legal: as many as samples, or None")
        self._samples, self._statuses, self._ages = list(samples), statuses, ages
        self._description = dict(description or {})
        self._index = 0

    def open(self) -> Status:
        """Back to the first sample."""
        self._index = 0
        return self.status()

    def close(self) -> None:
        """Nothing to give back."""

    @property
    def finished(self) -> bool:
        return self._index >= len(self._samples)

    def poll(self, now: float) -> Sample:
        if self.finished:
            return Sample(t_receive=now, sequence=self._index)
        sample = self._samples[self._index]
        age = self._ages[self._index] if self._ages is not None else 0.0
        self._index += 1
        return replace(sample, t_receive=now - age)

    def status(self) -> Status:
        """Of the sample polled last."""
        if self._statuses is not None and 0 < self._index:
            return self._statuses[self._index - 1]
        return Status(Health.OK, f"sample {self._index} of {len(self._samples)}")

    def feedback(self, feedback: Feedback) -> None:
        """A recording feels nothing."""

    def describe(self) -> dict[str, Any]:
        """What the recorded device said of itself, its mapping advice among it, under this device's name."""
        return {**self._description, "name": self.name, "samples": len(self._samples)}
