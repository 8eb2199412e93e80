"""From presses to a network: the tilt of the coat in every pixel, samples, and poses of presses mended on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from app.calibrate.ball_press import PressShapes
from app.calibrate.presses import Press, PressSet
from app.calibrate.symmetry import middle_of_change
from app.calibrate.training import KINK, Samples, Trainer
from engine.tactile.colour_network import ColourNetwork

RINGS = ((0.0, 1.1, 0.5), (1.1, 2.2, 0.3), (2.2, 4.5, 0.2))  # contact radii from, to, share of the samples
A_PRESS = 3000  # samples
A_PRESS_ROUGH = 800  # while poses are mended
SPREAD = 0.2  # of the picture's width, over which presses must lie for the place to be learnt
ROUNDS = 4  # of training and mending poses by turns
SCALES = (0.8, 1.0, 1.25)  # of the radii, tried when they are to be mended

Progress = Callable[[str, float], None]


@dataclass
class Fit:
    """network; poses: (center_x, center_y, radius) [pixel] of each press, as the table says or mended; loss reached."""

    network: ColourNetwork
    poses: dict[str, np.ndarray] = field(default_factory=dict)
    loss: float = np.inf


class Fitter:
    """Args: shapes: the simulated coat; pixel_pitch [m]; background (height, width, 3); degree: of the position code,
    None: 3 where presses lie all over the picture, 0 where they lie in one place; a_press: samples taken from each."""

    def __init__(
        self, shapes: PressShapes, pixel_pitch: float, background: np.ndarray, degree: int | None = None,
        a_press: int = A_PRESS,
    ):  # fmt: skip
        self.shapes, self.pixel_pitch, self.background, self.degree = shapes, pixel_pitch, background, degree
        self.a_press = a_press
        self.height, self.width = background.shape[:2]

    # one network --------------------------------------------------------------------------------------------------
    def train(self, presses: PressSet, poses: dict, iterations: int, progress: Progress, seed: int = 0) -> Fit:
        """A network for presses whose poses are known."""
        trainer = self._trainer(presses, poses, seed)
        loss = self._fit(trainer, presses, poses, iterations, progress, "training")
        return Fit(trainer.network(), dict(poses), loss)

    def _fit(self, trainer, presses, poses, iterations, progress, what: str) -> float:
        rng = np.random.default_rng(0)
        samples = Samples.joined([self.samples(p, poses[n], rng) for n, p in presses.presses.items()])
        return trainer.fit(samples, iterations, lambda i, loss: progress(f"{what}, loss {loss:.4f}", i / iterations))

    def _trainer(self, presses: PressSet, poses: dict, seed: int = 0) -> Trainer:
        at = np.array([poses[n] for n in presses.presses])
        degree = self.degree
        if degree is None:
            degree = 3 if np.ptp(at[:, :2], axis=0).max() > SPREAD * self.width and len(at) >= 10 else 0
        reach = 1.6 * at[:, 2:]
        low = self._places((at[:, :2] - reach).min(axis=0)[None])[0]
        high = self._places((at[:, :2] + reach).max(axis=0)[None])[0]
        return Trainer(low, high, degree, seed=seed)

    def samples(self, press: Press, pose: np.ndarray, rng: np.random.Generator) -> Samples:
        """Half of them under the contact, the others around it, as far as the coat is tilted."""
        rows, columns = np.mgrid[: self.height, : self.width]
        distance = np.hypot(columns - pose[0], rows - pose[1]).ravel()
        chosen = []
        for near, far, share in RINGS:
            inside = np.flatnonzero((distance >= near * pose[2]) & (distance < far * pose[2]))
            chosen.append(rng.choice(inside, min(round(share * self.a_press), len(inside)), replace=False))
        chosen = np.concatenate(chosen)
        pixels = np.column_stack([chosen % self.width, chosen // self.width]).astype(float)
        change = (press.image.reshape(-1, 3)[chosen].astype(float) - self.background.reshape(-1, 3)[chosen]) / 255.0
        return Samples(self._places(pixels), self.tilt(pose, pixels), change)

    def tilt(self, pose: np.ndarray, pixels: np.ndarray) -> np.ndarray:
        """x and y of the coat's normals (n, 2) at pixels (n, 2) under a press; radii as far as they were simulated."""
        known = self.shapes.contact_radii[[1, -1]] / self.pixel_pitch
        offset = (pixels - pose[:2]) * self.pixel_pitch
        return self.shapes.normal(float(np.clip(pose[2], *known)) * self.pixel_pitch, *offset.T)[:, :2]

    def _places(self, pixels: np.ndarray) -> np.ndarray:
        """Field coordinates; see engine.tactile.colour_network.field_places."""
        return (2.0 * pixels + 1.0 - (self.width, self.height)) / self.width

    # poses ----------------------------------------------------------------------------------------------------------
    def register(self, presses: PressSet, iterations: int, progress: Progress, radii_times: float = 1.0) -> Fit:
        """Train and mend the poses by turns, from the middles of the pictures' changes and several scales of the radii;
        the best fit wins. For tables whose circles were drawn by eye. radii_times: the contacts' radii over theirs."""
        middles = {n: middle_of_change(p, self.background) for n, p in presses.presses.items()}
        best, rough = Fit(None), Fitter(self.shapes, self.pixel_pitch, self.background, self.degree, A_PRESS_ROUGH)
        for scale in SCALES:
            poses = {n: np.array([*middles[n], scale * radii_times * p.radius]) for n, p in presses.presses.items()}
            poses = {n: self._within(pose) for n, pose in poses.items()}
            trainer = rough._trainer(presses, poses)
            for turn in range(ROUNDS):
                what = f"radii times {scale:g}, round {turn + 1} of {ROUNDS}"
                loss = rough._fit(trainer, presses, poses, max(iterations // 4, 20), progress, what)
                network = trainer.network()
                if turn + 1 < ROUNDS:
                    poses = {n: rough.mend(network, p, poses[n]) for n, p in presses.presses.items()}
            if loss < best.loss:
                best = Fit(network, poses, loss)
        final = self.train(presses, best.poses, iterations, progress)
        return final

    def locate(self, network: ColourNetwork, press: Press, radius: float) -> np.ndarray:
        """Pose of a press that the network never saw, from its picture: three numbers, the network fixed."""
        pose = np.array([*middle_of_change(press, self.background), radius])
        return self.mend(network, press, self.mend(network, press, pose))

    def mend(self, network: ColourNetwork, press: Press, pose: np.ndarray) -> np.ndarray:
        """The pose near `pose` whose image is nearest to the picture."""
        rng = np.random.default_rng(1)
        reach = np.array([pose[0], pose[1], pose[2]])
        samples = self.samples(press, reach, rng)
        pixels = 0.5 * (samples.places * self.width - 1.0 + (self.width, self.height))
        factors = network.place_factors(samples.places)

        def misfit(trial):
            change = (factors * network.tilt_factors(self.tilt(trial, pixels))[:, :, None]).sum(axis=1)
            return np.sqrt(1.0 + ((change - samples.change) / KINK) ** 2).mean()

        simplex = pose + np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
        options = {"maxfev": 70, "xatol": 0.05, "fatol": 1e-6, "initial_simplex": simplex}
        return self._within(minimize(misfit, pose, method="Nelder-Mead", options=options).x)

    def _within(self, pose: np.ndarray) -> np.ndarray:
        known = self.shapes.contact_radii[[1, -1]] / self.pixel_pitch
        return np.array([*pose[:2], np.clip(pose[2], *known)])
