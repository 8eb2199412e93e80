"""What the steps of a run cost: added up frame by frame, told in two lines when the run ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.frame import Frame

SMALLEST = 0.04  # share of a step below which a stage is not named


class RunSummary:
    """A sink of the loop. Times are those of steps that follow each other; pauses do not count.

    Args:
        clock: [s] of the wall. processor: [s] that this process had a core, drawing included.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, processor: Callable[[], float] = time.process_time
    ):
        self._clock, self._processor = clock, processor
        self._last: tuple[float, float] | None = None
        self.steps = self.newton = self.linear = self.missed = 0
        self.simulated = self.followed = self.wall = self.cpu = 0.0  # [s]; followed: simulated by steps after another
        self.stages: dict[str, float] = {}  # [s]

    def __call__(self, frame: Frame) -> None:
        now = (self._clock(), self._processor())
        if not frame.stepped or frame.report is None:
            self._last = None
            return
        if self._last is not None:
            self.followed += frame.dt
            self.wall += now[0] - self._last[0]
            self.cpu += now[1] - self._last[1]
        self._last = now
        self.steps += 1
        self.simulated += frame.dt
        self.newton += frame.report.newton_iterations
        self.linear += frame.report.linear_iterations
        self.missed += not frame.report.converged
        for name, seconds in frame.report.stage_seconds.items():
            self.stages[name] = self.stages.get(name, 0.0) + seconds

    @property
    def figures(self) -> dict[str, float]:
        """step [s], of the physics alone; realtime (of the whole loop by the clock), realtime_physics,
        realtime_processor (of the whole process) [-]; newton, pcg a step [-]; share of each stage [-], as `share.NAME`.
        {} without steps."""
        physics = sum(self.stages.values())
        if not self.steps or physics <= 0.0:
            return {}
        found = {
            "step": physics / self.steps,
            "realtime_physics": self.simulated / physics,
            "realtime": self.followed / self.wall if self.wall > 0.0 else 0.0,
            "realtime_processor": self.followed / self.cpu if self.cpu > 0.0 else 0.0,
            "newton": self.newton / self.steps,
            "pcg": self.linear / self.steps,
        }
        ranked = sorted(self.stages.items(), key=lambda item: -item[1])
        return found | {f"share.{name}": seconds / physics for name, seconds in ranked}

    def lines(self) -> list[str]:
        """For the terminal; [] without steps."""
        f = self.figures
        if not f:
            return []
        shares = [
            f"{name.removeprefix('share.')} {100.0 * value:.0f} %"
            for name, value in f.items()
            if name.startswith("share.") and value >= SMALLEST
        ]
        missed = f"; {self.missed} steps did not converge" if self.missed else ""
        return [
            f"{self.simulated:.1f} s simulated in {self.steps} steps: x{f['realtime']:.2f} of real time by the clock, "
            f"x{f['realtime_processor']:.2f} by processor time, x{f['realtime_physics']:.2f} for the steps alone",
            f"a step took {1e3 * f['step']:.1f} ms: {', '.join(shares)}; {f['newton']:.1f} Newton and {f['pcg']:.0f} "
            f"linear iterations{missed}",
        ]
