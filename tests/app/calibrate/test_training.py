"""Training on a sensor whose colours are known; the gradient; the middle of a press; scores; Taxim's table."""

from __future__ import annotations

import numpy as np
import pytest

from app.calibrate.fitting import Fitter, Samples
from app.calibrate.presses import read_presses
from app.calibrate.scores import score, ssim
from app.calibrate.symmetry import middle_of_change
from app.calibrate.taxim_table import TaximTable
from app.calibrate.training import Trainer
from engine.tactile.calibration import Calibration
from engine.tactile.colour_network import field_places
from tests.app.calibrate.synthetic import HEIGHT, PITCH, WIDTH, hertz_shapes, write_presses

SHAPES = hertz_shapes()


def silent(what: str, share: float) -> None:
    assert 0.0 <= share <= 1.5 and what


def image_of(fitter: Fitter, network, background, pose) -> np.ndarray:
    pixels = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), axis=-1).reshape(-1, 2).astype(float)
    tilt = fitter.tilt(pose, pixels)
    normal = np.column_stack([tilt, np.sqrt(1.0 - (tilt**2).sum(axis=1))]).reshape(HEIGHT, WIDTH, 3)
    return Calibration("test", PITCH, background, network).image(normal)


def test_gradient_of_the_loss():
    trainer = Trainer([-1.0, -0.7], [1.0, 0.7], degree=1, hidden=(4, 3))
    rng = np.random.default_rng(0)
    code, f, y = rng.standard_normal((9, 3)), 0.4 * rng.standard_normal((9, 3)), 0.1 * rng.standard_normal((9, 3))
    _, gradient = trainer.loss(trainer.theta, code, f, y)
    assert np.abs(gradient).min() > 0.0
    for k in rng.choice(len(trainer.theta), 60, replace=False):
        step = np.zeros_like(trainer.theta)
        step[k] = 1e-6
        up, down = (trainer.loss(trainer.theta + s * step, code, f, y)[0] for s in (1.0, -1.0))
        assert (up - down) / 2e-6 == pytest.approx(gradient[k], rel=1e-4, abs=1e-9)


def test_known_lights_are_learnt_and_presses_left_out_are_recovered(tmp_path):
    write_presses(tmp_path, SHAPES, 16)
    data = read_presses(tmp_path)
    names = list(data.presses)
    learnt, left = data.without(names[-3:]), data.only(names[-3:])
    fitter = Fitter(SHAPES, PITCH, data.background, a_press=600)
    fit = fitter.train(learnt, {n: p.pose for n, p in learnt.presses.items()}, 100, silent)
    assert fit.network.degree == 3
    for press in left.presses.values():
        got = score(image_of(fitter, fit.network, data.background, press.pose), press)
        alone = score(data.background, press)
        # Noise of 1 grey level in both pictures: 2/sqrt(pi) = 1.13 on the mean.
        assert got.mae < 1.5 and alone.mae > 8.0 and got.ssim > alone.ssim


def test_circles_drawn_by_eye_are_mended(tmp_path):
    """Middles off by up to 2 pixels along each axis: found in the pictures within a third of a pixel."""
    write_presses(tmp_path, SHAPES, 8, error=2.0)
    data, exact = read_presses(tmp_path), np.random.default_rng(0)
    exact.standard_normal((HEIGHT, WIDTH, 3))
    for press in data.presses.values():
        true = np.array([exact.uniform(30, WIDTH - 30), exact.uniform(30, HEIGHT - 30), exact.uniform(8.0, 13.0)])
        exact.standard_normal((HEIGHT, WIDTH, 3)), exact.uniform(-1.0, 1.0, 3)
        assert np.linalg.norm(middle_of_change(press, data.background) - true[:2]) < 0.35
        assert np.linalg.norm(press.pose[:2] - true[:2]) < 3.0


def test_an_unseen_press_is_located(tmp_path):
    write_presses(tmp_path, SHAPES, 12)
    data = read_presses(tmp_path)
    last = list(data.presses)[-1]
    learnt = data.without([last])
    fitter = Fitter(SHAPES, PITCH, data.background, degree=1, a_press=400)
    fit = fitter.train(learnt, {n: p.pose for n, p in learnt.presses.items()}, 60, silent)
    press = data.presses[last]
    assert np.abs(fitter.locate(fit.network, press, 10.0) - press.pose).max() < 0.5


def test_ssim_of_known_pairs():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 255, (40, 40, 3)).astype(np.uint8)
    assert ssim(a, a) == pytest.approx(1.0)
    flat, brighter = np.full((40, 40, 3), 100.0), np.full((40, 40, 3), 120.0)
    c1 = (0.01 * 255) ** 2
    assert ssim(flat, brighter) == pytest.approx((2 * 100 * 120 + c1) / (100**2 + 120**2 + c1))
    assert ssim(a, 255 - a) < 0.0


def test_taxim_table_recovers_colours_that_are_polynomials_of_the_place():
    rng = np.random.default_rng(0)
    places = field_places(60, 40)
    places = np.repeat(places, 20, axis=0)
    tilt = rng.uniform(-0.12, 0.12, (len(places), 2))
    direction = np.floor((np.arctan2(tilt[:, 1], tilt[:, 0]) / (2 * np.pi) + 0.5) * 125)
    change = np.stack([direction * 1e-3 * (1 + places[:, 0] ** 2), 0.1 * places[:, 1], 0.02 * np.ones(len(places))], 1)
    table = TaximTable(places, tilt, change)
    found = table.change(places[:500], tilt[:500])
    assert np.abs(found - change[:500]).max() < 5e-3
    assert (table.change(places[:3], np.zeros((3, 2))) == 0.0).all()


def test_samples_follow_the_picture(tmp_path):
    write_presses(tmp_path, SHAPES, 4)
    data = read_presses(tmp_path)
    fitter, press = Fitter(SHAPES, PITCH, data.background), next(iter(data.presses.values()))
    got = fitter.samples(press, press.pose, np.random.default_rng(0))
    assert isinstance(got, Samples) and len(got.places) > 1000
    column, row = np.rint(0.5 * (got.places[0] * WIDTH - 1.0 + (WIDTH, HEIGHT))).astype(int)
    expected = (press.image[row, column].astype(float) - data.background[row, column]) / 255.0
    assert np.allclose(got.change[0], expected)
    toward = (press.pose[:2] - (column, row)) @ got.tilt[0]
    assert toward > 0.0  # a dent's sides lean inwards: the outward normal points to its middle
