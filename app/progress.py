"""A progress bar for the terminal; on a pipe, a line now and then."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class TerminalBar:
    """Shows loading, then steps. `steps` None: the number is unknown and the bar only moves."""

    def __init__(self, console: Console, steps: int | None):
        self._console = console
        self._steps = steps
        self._live = console.is_terminal
        self._last_text = ""
        self._last_line = 0.0
        self._progress: Progress | None = None
        self._task = None

    def _start(self, description: str, total: float | None) -> None:
        self.stop()
        columns = (
            TextColumn("{task.description}"), BarColumn(bar_width=32), TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(), TimeRemainingColumn(),
        )  # fmt: skip
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._task = self._progress.add_task(description, total=total)
        self._progress.start()

    def loading(self, text: str, fraction: float) -> None:
        """fraction in [0, 1], -1 = unknown."""
        if self._live:
            if self._progress is None:
                self._start(text, 1.0)
            self._progress.update(self._task, description=text, completed=max(fraction, 0.0))
            if fraction >= 1.0:
                self.stop()
        elif text != self._last_text and (time.monotonic() - self._last_line > 2.0 or fraction >= 1.0):
            self._last_line = time.monotonic()
            self._console.print(f"{text} ({100 * max(fraction, 0):.0f} %)")
        self._last_text = text

    def update(self, frame) -> None:
        """One frame was made. Of a script of goals the goals tell how far it is, since nobody knows its steps."""
        raw = frame.sample.raw if frame.sample is not None else {}
        goal, goals = raw.get("goal"), raw.get("goals")
        by_goals = self._steps is None and bool(goals)
        done, total = (goal, goals) if by_goals else (frame.index, self._steps)
        text = (
            f"step {frame.index}"
            + (f" of {self._steps}" if self._steps else "")
            + (f", goal {min(goal + 1, goals)} of {goals}" if by_goals else "")
            + f", x{frame.realtime_factor:.2f} real time"
        )
        if self._live:
            if self._progress is None:
                self._start(text, total)
            self._progress.update(self._task, description=text, completed=done)
        elif time.monotonic() - self._last_line > 5.0:
            self._last_line = time.monotonic()
            self._console.print(text)

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
