"""Training the pixel network: L-BFGS on all samples at once, gradient by hand, numpy alone.

The network has some thousand weights and the samples some hundred thousand pixels, so one pass takes a fraction of a
second and a few hundred passes find the minimum: no need of a learning framework, of batches or of a learning rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from engine.tactile.colour_network import (
    CHANNELS,
    INPUTS,
    RANK,
    ColourNetwork,
    activation,
    activation_slope,
    code_size,
    position_code,
    tilt_features,
)

HIDDEN = (16, 16)
KINK = 0.02  # [share of 255] errors beyond count linearly: what is scored is the mean absolute error
DECAY = 1e-7  # of the squared weights


@dataclass(frozen=True)
class Samples:
    """places (n, 2) field coordinates; tilt (n, 2); change (n, 3) of the colour, shares of 255."""

    places: np.ndarray
    tilt: np.ndarray
    change: np.ndarray

    @classmethod
    def joined(cls, parts: list[Samples]) -> Samples:
        return cls(*(np.vstack([getattr(p, name) for p in parts]) for name in ("places", "tilt", "change")))


class Trainer:
    """Fits a network to samples; may go on from where it stopped with other samples of the same places.

    Args:
        low, high: box of field coordinates for the position code, (2,). degree: of the code. hidden: values a layer.
    """

    def __init__(self, low, high, degree: int, hidden: tuple[int, ...] = HIDDEN, seed: int = 0):
        self.low, self.high, self.degree = np.asarray(low, float), np.asarray(high, float), degree
        self.sizes = (INPUTS, *hidden, INPUTS * RANK)
        draw = np.random.default_rng(seed).standard_normal
        parts = []
        for a, b in zip(self.sizes, self.sizes[1:], strict=False):
            parts += [(draw((a, b)) * np.sqrt(2.0 / a)).ravel(), np.zeros(b)]
        places = 0.1 * draw((code_size(degree), RANK * CHANNELS))
        places[1:] *= 0.3
        self.theta = np.concatenate([*parts, places.ravel()])

    def fit(self, samples: Samples, iterations: int, progress: Callable[[int, float], None] = lambda i, loss: None):
        """Minimise. progress gets the iteration and the mean loss. Returns the loss reached."""
        code = position_code(samples.places, self.low, self.high, self.degree).astype(np.float32)
        f, y = tilt_features(samples.tilt).astype(np.float32), samples.change.astype(np.float32)
        last = [0, np.inf]

        def value(theta):
            loss, gradient = self.loss(theta.astype(np.float32), code, f, y)
            last[1] = float(loss)
            return float(loss), gradient.astype(float)

        def count(_):
            last[0] += 1
            progress(*last)

        limits = {"maxiter": iterations, "maxfun": 3 * iterations, "maxcor": 30}
        found = minimize(value, self.theta, jac=True, method="L-BFGS-B", options=limits, callback=count)
        self.theta = found.x
        return float(found.fun)

    def network(self) -> ColourNetwork:
        layers, places = self._parts(self.theta)
        return ColourNetwork(tuple(layers), places, self.degree, self.low, self.high)

    def loss(self, theta, code, f, y) -> tuple[float, np.ndarray]:
        """Sum of KINK (sqrt(1 + (error / KINK)^2) - 1) over channels, mean over samples; and its gradient.

        code (n, code) of positions, f (n, 3) of tilts, y (n, 3) changes of colour."""
        layers, places = self._parts(theta)
        n, hidden, slopes = len(f), [f], []
        for w, b in layers[:-1]:
            z = hidden[-1] @ w + b
            slopes.append(activation_slope(z))
            hidden.append(activation(z))
        w, b = layers[-1]
        q = ((hidden[-1] @ w + b).reshape(n, RANK, INPUTS) * f[:, None, :]).sum(axis=2)
        p = (code @ places).reshape(n, RANK, CHANNELS)
        error = (p * q[:, :, None]).sum(axis=1) - y
        root = np.sqrt(1.0 + (error / KINK) ** 2)
        by_error = error / (KINK * n * root)
        by_q = (p * by_error[:, None, :]).sum(axis=2)
        by_places = code.T @ (q[:, :, None] * by_error[:, None, :]).reshape(n, -1)
        back = (by_q[:, :, None] * f[:, None, :]).reshape(n, -1)
        gradients = [by_places.ravel()]
        for k in range(len(layers) - 1, -1, -1):
            gradients[:0] = [(hidden[k].T @ back).ravel(), back.sum(axis=0)]
            if k:
                back = (back @ layers[k][0].T) * slopes[k - 1]
        loss = KINK * (root - 1.0).sum() / n + DECAY * (theta @ theta)
        return loss, np.concatenate(gradients) + 2.0 * DECAY * theta

    def _parts(self, theta) -> tuple[list, np.ndarray]:
        layers, at = [], 0
        for a, b in zip(self.sizes, self.sizes[1:], strict=False):
            layers.append((theta[at : at + a * b].reshape(a, b), theta[at + a * b : at + a * b + b]))
            at += a * b + b
        return layers, theta[at:].reshape(-1, RANK * CHANNELS)
