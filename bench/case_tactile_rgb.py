"""Case `tactile_rgb`: colour images of presses held out of the training, by the whole way, against real pictures.

Pad pressed in the engine, coat seen by the sensor's camera, shipped weights; beside it Taxim's polynomial table, fitted
to the same presses with the same simulated tilts, and the untouched picture. TACKTILE_PICTURES=FOLDER writes the strips
that the documents show.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import warp as wp

from bench.measure import clock, timed
from bench.registry import Emit, Unavailable

DESCRIPTION = "colour images of held-out presses against real ones, Taxim's table, the background; cost of an image"
ROOT = Path(__file__).resolve().parents[1]
REPEATS = 50


@dataclass(frozen=True)
class Set:
    """pixel_pitch, ball_radius [m]; held_out: numbers of presses; the others as in app.calibrate.run.Order."""

    sensor: str
    pixel_pitch: float
    held_out: range
    ball_radius: float = 2e-3
    register: bool = False
    radii_times: float = 1.0


SETS = (
    Set("gelsight", 29.5e-6, range(30, 36)),
    Set("gelsight_mini", 29e-6, range(12, 18), ball_radius=1e-3, register=True, radii_times=0.36),  # docs: why
)


def run(emit: Emit, compute: str) -> None:
    shared = Path(os.environ.get("TACKTILE_SHARED", ROOT.parent / "shared")) / "data" / "gelsight_real"
    if not shared.is_dir():
        raise Unavailable(f"no presses at {shared}; set TACKTILE_SHARED to the folder of the reference data")
    for one in SETS:
        _score(emit, one, shared / one.sensor)
    _cost(emit, compute)


def _score(emit: Emit, one: Set, folder: Path) -> None:
    from app.calibrate.evaluation import render_presses
    from app.calibrate.fitting import Fit, Fitter
    from app.calibrate.presses import read_presses
    from app.calibrate.run import Order, divide, poses_of, simulate_shapes
    from app.calibrate.scores import mean_score

    calibration = _shipped(one.sensor)
    held_names = tuple(f"press_{k:02d}" for k in one.held_out)
    order = Order(
        folder, one.sensor, one.pixel_pitch, one.ball_radius, held_out=held_names, register=one.register,
        radii_times=one.radii_times,
    )  # fmt: skip
    learnt, held_out = divide(read_presses(folder), order.held_out)

    def status(what: str, share: float) -> None:
        emit.status(f"{one.sensor}: {what} ({100 * share:.0f} %)")

    shapes = simulate_shapes(order, learnt, held_out, status)
    fitter = Fitter(shapes, one.pixel_pitch, learnt.background)
    middle = np.median([p.radius for p in learnt.presses.values()]) * one.radii_times
    fit = Fit(calibration.network, {"typical": np.array([0.0, 0.0, middle])})
    poses, known = (poses_of(fitter, fit, presses, order) for presses in (held_out, learnt))
    taxim = _taxim(fitter, learnt, known, calibration)
    rendered = render_presses(calibration, shapes, held_out, poses, {"taxim": taxim}, status)
    means = {name: mean_score([r.scores[name] for r in rendered]) for name in rendered[0].scores}
    label = f"tactile_rgb.{one.sensor}"
    for r in rendered:
        emit(f"{label}.{r.press.name}.mae", r.scores["network"].mae, "levels")
        emit(f"{label}.{r.press.name}.ssim", r.scores["network"].ssim)
    emit(f"{label}.weights", calibration.network.num_weights)
    emit(f"{label}.mae", means["network"].mae, "levels")
    emit(f"{label}.ssim", means["network"].ssim)
    for name in ("taxim", "background"):
        emit(f"{label}.{name}_mae", means[name].mae, "levels")
        emit(f"{label}.{name}_ssim", means[name].ssim)
    emit(f"{label}.mae_over_background", means["network"].mae / means["background"].mae)
    _pictures(one.sensor, rendered)


def _taxim(fitter, learnt, poses, calibration):
    """Taxim's image from normals, its table fitted to every pixel of the presses that were learnt."""
    from app.calibrate.fitting import Fitter, Samples
    from app.calibrate.taxim_table import TaximTable
    from engine.tactile.colour_network import field_places

    every = Fitter(fitter.shapes, fitter.pixel_pitch, fitter.background, a_press=10**6)
    rng = np.random.default_rng(0)
    samples = Samples.joined([every.samples(p, poses[n], rng) for n, p in learnt.presses.items()])
    table = TaximTable(samples.places, samples.tilt, samples.change)
    places = field_places(calibration.width, calibration.height)
    return lambda normal: table.image(calibration.reference, places, normal.reshape(-1, 3)[:, :2])


def _cost(emit: Emit, compute: str) -> None:
    """Of one image, the coat pressed all over."""
    from engine.tactile.rgb import ColourModel
    from engine.tactile.spec import Camera

    calibration = _shipped("gelsight")
    for width, height in ((160, 120), (640, 480)):
        camera = Camera(width, height, np.eye(4), calibration.width * calibration.pixel_pitch / width)
        model = ColourModel(calibration, camera, compute)
        rows, columns = np.mgrid[:height, :width] * (2.0 * np.pi * 6.0 / width)
        tilt = 0.5 * np.dstack([np.sin(columns), np.sin(rows)])
        normal = np.dstack([tilt, np.sqrt(1.0 - (tilt**2).sum(axis=2))])
        given = wp.array(normal[None], dtype=wp.vec3f, device=compute)
        rgb = wp.empty(given.shape, dtype=wp.vec3ub, device=compute)

        def work(model=model, given=given, rgb=rgb):
            model.launch(None, given, rgb)
            wp.synchronize_device(compute)

        work()
        times = [timed(work, clock(compute)) for _ in range(REPEATS)]
        emit(f"tactile_rgb.image_{width}x{height}_ms", 1e3 * float(np.median(times)), "ms")


def _shipped(sensor: str):
    from engine.tactile.calibration import load_calibration

    return load_calibration(ROOT / "assets" / "sensors" / f"{sensor}.npz")


def _pictures(sensor: str, rendered) -> None:
    folder = os.environ.get("TACKTILE_PICTURES")
    if not folder:
        return
    from PIL import Image

    from app.calibrate.report import strip

    rows = [strip(r, ("network", "taxim", "background"), 180) for r in rendered[:3]]
    Image.fromarray(np.vstack(rows)).save(Path(folder) / f"rgb_{sensor}.jpg", quality=88)
