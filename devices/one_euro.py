"""The One-Euro filter: strong smoothing of a resting hand, little delay of a moving one.

G. Casiez, N. Roussel, D. Vogel: 1 EUR Filter, CHI 2012. A first-order low pass whose cutoff rises with the speed:
f_c = f_min + beta |dx/dt|, alpha = 1 / (1 + tau / T), tau = 1 / (2 pi f_c).
"""

from __future__ import annotations

import numpy as np


def smoothing(cutoff: np.ndarray | float, period: float) -> np.ndarray | float:
    """alpha in (0, 1] of a low pass with a cutoff [Hz] at a sampling period [s] (equations 1 and 4)."""
    tau = 1.0 / (2.0 * np.pi * cutoff)
    return 1.0 / (1.0 + tau / period)


class OneEuro:
    """Filters arrays of one shape, each row (last axis) with its own speed.

    min_cutoff [Hz]: lower is smoother at rest. beta [Hz s/unit]: higher is quicker in motion. speed_cutoff [Hz]: of the
    speed itself. A pause longer than `gap` [s] starts it anew. Raises ValueError for a parameter that is not above 0
    (beta: below 0).
    """

    def __init__(self, min_cutoff: float = 1.5, beta: float = 15.0, speed_cutoff: float = 1.0, gap: float = 0.3):
        for name, value in (("min_cutoff", min_cutoff), ("speed_cutoff", speed_cutoff), ("gap", gap)):
            if not value > 0.0:
                raise ValueError(f"OneEuro.{name} = {value!r}; legal: above 0")
        if not beta >= 0.0:
            raise ValueError(f"OneEuro.beta = {beta!r}; legal: 0 or above")
        self.min_cutoff, self.beta, self.speed_cutoff, self.gap = min_cutoff, beta, speed_cutoff, gap
        self.reset()

    def reset(self) -> None:
        self._time: float | None = None
        self._value = self._speed = np.zeros(0)

    def __call__(self, value: np.ndarray, time: float) -> np.ndarray:
        """The filtered value at a time [s]; a time that does not grow gives the last one again."""
        value = np.asarray(value, dtype=float)
        if self._time is None or time - self._time > self.gap or value.shape != self._value.shape:
            self._time, self._value, self._speed = time, value.copy(), np.zeros_like(value)
            return value.copy()
        period = time - self._time
        if period <= 0.0:
            return self._value.copy()
        speed = (value - self._value) / period
        self._speed = self._speed + smoothing(self.speed_cutoff, period) * (speed - self._speed)
        pace = np.linalg.norm(self._speed, axis=-1, keepdims=True) if value.ndim else np.abs(self._speed)
        alpha = smoothing(self.min_cutoff + self.beta * pace, period)
        self._value = self._value + alpha * (value - self._value)
        self._time = time
        return self._value.copy()
