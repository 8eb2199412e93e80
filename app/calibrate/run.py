"""A calibration from a folder of presses to weights, scores and report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.calibrate.ball_press import PressSetup, PressShapes, simulate_presses
from app.calibrate.evaluation import Rendered, render_presses
from app.calibrate.fitting import SCALES, Fit, Fitter
from app.calibrate.presses import PressError, PressSet, read_presses
from app.calibrate.report import write_report
from app.calibrate.scores import mean_score
from engine.tactile.calibration import Calibration

FEWEST = 4  # presses to learn from
EVERY = 6  # held out when none are named: the last of so many

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Order:
    """What is asked. sensor: name; pixel_pitch, ball_radius, thickness [m]; held_out: names of presses, None: the
    last sixth; register: mend the table's circles; radii_times: the contacts' radii over the table's, where circles
    were drawn around all that shows; iterations: of L-BFGS at most; notes: kept in the file."""

    folder: Path
    sensor: str
    pixel_pitch: float
    ball_radius: float = 2e-3
    thickness: float = 4e-3
    held_out: tuple[str, ...] | None = None
    register: bool = False
    radii_times: float = 1.0
    iterations: int = 200
    degree: int | None = None
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Result:
    calibration: Calibration
    fit: Fit
    shapes: PressShapes
    learnt: PressSet
    held_out: PressSet
    rendered: list[Rendered]
    seconds: float


def calibrate(order: Order, progress: Progress = lambda what, share: None) -> Result:
    """The algorithm. Raises PressError, ValueError: what is wrong with pictures, table or sizes."""
    start = time.perf_counter()
    learnt, held_out = divide(read_presses(order.folder), order.held_out)
    shapes = simulate_shapes(order, learnt, held_out, progress)
    fitter = Fitter(shapes, order.pixel_pitch, learnt.background, order.degree)
    fit = learn(fitter, learnt, order, progress)
    made = Calibration(order.sensor, order.pixel_pitch, learnt.background, fit.network, dict(order.notes))
    rendered = render_presses(made, shapes, held_out, poses_of(fitter, fit, held_out, order), {}, progress)
    notes = {**made.notes, **scores_as_text(rendered)}
    made = Calibration(made.sensor, made.pixel_pitch, made.reference, made.network, notes)
    return Result(made, fit, shapes, learnt, held_out, rendered, time.perf_counter() - start)


def divide(presses: PressSet, names: tuple[str, ...] | None) -> tuple[PressSet, PressSet]:
    """Those to learn from and those held out. Raises PressError: unknown names, too few left."""
    if names is None:
        names = tuple(presses.presses)[-max(1, len(presses.presses) // EVERY) :]
    held_out, learnt = presses.only(names), presses.without(names)
    if not held_out.presses or len(learnt.presses) < FEWEST:
        raise PressError(
            f"{presses.folder} has {len(presses.presses)} presses, {len(held_out.presses)} of them held out; at least "
            f"one must be held out and {FEWEST} left to learn from"
        )
    return learnt, held_out


def simulate_shapes(order: Order, learnt: PressSet, held_out: PressSet, progress: Progress) -> PressShapes:
    """Shapes of the coat for all the contact radii that may be asked for."""
    radii = [order.pixel_pitch * p.radius for s in (learnt, held_out) for p in s.presses.values()]
    smallest, largest = min(radii), max(radii)
    smallest, largest = smallest * order.radii_times, largest * order.radii_times
    if order.register:
        smallest, largest = smallest * SCALES[0], largest * SCALES[-1]
    setup = PressSetup.for_radii(smallest, largest, ball_radius=order.ball_radius, thickness=order.thickness)
    return simulate_presses(
        setup, smallest, largest, progress=lambda share: progress("pressing the simulated pad", share)
    )


def learn(fitter: Fitter, learnt: PressSet, order: Order, progress: Progress) -> Fit:
    if order.register:
        return fitter.register(learnt, order.iterations, progress, order.radii_times)
    return fitter.train(learnt, _told(learnt, order), order.iterations, progress)


def poses_of(fitter: Fitter, fit: Fit, presses: PressSet, order: Order) -> dict[str, np.ndarray]:
    """Poses of presses that were not learnt: the table's, or found in their pictures with the network fixed."""
    if not order.register:
        return _told(presses, order)
    radius = float(np.median([pose[2] for pose in fit.poses.values()]))
    return {n: fitter.locate(fit.network, p, radius) for n, p in presses.presses.items()}


def _told(presses: PressSet, order: Order) -> dict[str, np.ndarray]:
    return {n: p.pose * (1.0, 1.0, order.radii_times) for n, p in presses.presses.items()}


def scores_as_text(rendered: list[Rendered]) -> dict[str, str]:
    means = {name: mean_score([r.scores[name] for r in rendered]) for name in ("network", "background")}
    names = ", ".join(r.press.name for r in rendered)
    return {
        "held out": names,
        "error": f"{means['network'].mae:.2f} of 255 within the contact (background {means['background'].mae:.2f})",
        "SSIM": f"{means['network'].ssim:.3f} in 1.6 contact radii (background {means['background'].ssim:.3f})",
    }


def report(result: Result, order: Order, path: Path) -> None:
    made = result.calibration
    facts = {
        "pictures": f"{len(result.learnt.presses)} learnt, {len(result.held_out.presses)} held out",
        "field of view": "{:.2f} x {:.2f} mm".format(*(1e3 * side for side in made.field_of_view)),
        "ball and gel": f"{1e3 * order.ball_radius:g} mm radius, {1e3 * order.thickness:g} mm of gel",
        "circles": "found in the pictures" if order.register else "as the table says",
        "weights": f"{made.network.num_weights}, position code of degree {made.network.degree}",
        "time": f"{result.seconds:.0f} s",
        **made.notes,
    }
    write_report(path, f"Colour calibration of {made.sensor}", facts, result.rendered)
