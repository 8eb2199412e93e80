"""What a run cost, from frames with known times."""

from __future__ import annotations

import pytest

from app.frame import Frame
from app.run_summary import RunSummary
from engine.types import StepReport


def play(summary: RunSummary, stepped, reports) -> None:
    for index, (moves, report) in enumerate(zip(stepped, reports, strict=True)):
        summary(Frame(index, moves, 0.0, 0.0, 0.0, 0.02, report=report))


def test_steps_that_follow_each_other_are_timed_and_pauses_are_not():
    wall, cpu = iter([0.0, 0.05, 0.1, 9.0, 19.0, 19.05]), iter([0.0, 0.02, 0.04, 0.1, 0.2, 0.22])
    summary = RunSummary(lambda: next(wall), lambda: next(cpu))
    report = StepReport(newton_iterations=3, linear_iterations=20, stage_seconds={"solve": 0.006, "front": 0.002})
    missed = StepReport(converged=False, newton_iterations=5, linear_iterations=40, stage_seconds={"solve": 0.032})
    play(summary, [True, True, True, False, True, True], [report, report, report, report, report, missed])
    f = summary.figures
    assert summary.simulated == pytest.approx(0.1) and summary.steps == 5
    assert f["realtime"] == pytest.approx(0.06 / 0.15)  # three of the five followed another
    assert f["realtime_processor"] == pytest.approx(1.0)
    assert f["step"] == pytest.approx(0.064 / 5) and f["realtime_physics"] == pytest.approx(0.1 / 0.064)
    assert f["newton"] == pytest.approx(17 / 5) and f["pcg"] == pytest.approx(120 / 5)
    assert f["share.solve"] == pytest.approx(0.056 / 0.064) and f["share.front"] == pytest.approx(0.008 / 0.064)
    first, second = summary.lines()
    assert first == (
        "0.1 s simulated in 5 steps: x0.40 of real time by the clock, x1.00 by processor time, "
        "x1.56 for the steps alone"
    )
    assert second.endswith(
        "solve 88 %, front 12 %; 3.4 Newton and 24 linear iterations; 1 steps did not converge"
    ) and second.startswith("a step took 12.8 ms: ")


def test_a_run_without_steps_says_nothing():
    assert RunSummary().lines() == [] and RunSummary().figures == {}
