"""The pixel network: from the place of a pixel and the tilt of the coat there to the change of its colour.

Taccel (arXiv:2504.12908, section 4) maps position code and normal of a pixel to a colour change over a reference
image by one small network. Ours is the product of two, so that the part that never changes is evaluated once:

    change_c = sum_k P_ck(place) Q_k(tilt),    k = 1 .. RANK,    c = red, green, blue
    Q_k      = f . q_k(f),    f = (n_x, n_y, 1 - n_z)

P is linear in the position code (Legendre products up to a degree; lights vary slowly over the coat). q is a network of
three inputs. f vanishes where the coat is as undeformed, and so does the change, whatever the weights.

The tilt is the unit normal in the frame of the undeformed coat: x along the image's columns, y along its rows, z out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RANK = 8
CHANNELS = 3
INPUTS = 3
MAX_HIDDEN, MAX_LAYERS, MAX_DEGREE = 128, 4, 6


@dataclass(frozen=True)
class ColourNetwork:
    """layers: (weights (in, out), bias (out,)) of q; the last has 3 RANK outputs, q_k's three components together.
    places (code, RANK * 3): P, channels running fastest. low, high (2,): box of field coordinates in which it was
    trained; outside it the code is that of the nearest place in it, so polynomials never run away."""

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    places: np.ndarray
    degree: int
    low: np.ndarray
    high: np.ndarray

    def __post_init__(self):
        sizes = [INPUTS, *(w.shape[1] for w, _ in self.layers)]
        for (w, b), size in zip(self.layers, sizes, strict=False):
            if w.shape[0] != size or b.shape != (w.shape[1],):
                raise ValueError(f"colour network: a layer of shape {w.shape} with {b.shape} follows {size} values")
        if not 1 <= len(self.layers) <= MAX_LAYERS or max(sizes) > MAX_HIDDEN:
            raise ValueError(f"colour network: layers of {sizes} values; at most {MAX_LAYERS} of {MAX_HIDDEN}")
        if sizes[-1] != INPUTS * RANK:
            raise ValueError(f"colour network: {sizes[-1]} outputs; it must be {INPUTS * RANK}")
        if not 0 <= self.degree <= MAX_DEGREE or self.places.shape != (code_size(self.degree), RANK * CHANNELS):
            raise ValueError(f"colour network: places of shape {self.places.shape} do not fit degree {self.degree}")
        if not all(np.isfinite(a).all() for a in (*sum(self.layers, ()), self.places, self.low, self.high)):
            raise ValueError("colour network: a weight is not finite")
        if self.low.shape != (2,) or self.high.shape != (2,) or not (self.high > self.low).all():
            raise ValueError(f"colour network: trained between {self.low} and {self.high}; high must exceed low")

    @property
    def num_weights(self) -> int:
        return sum(w.size + b.size for w, b in self.layers) + self.places.size

    def place_factors(self, places: np.ndarray) -> np.ndarray:
        """P, (n, RANK, 3), of field coordinates (n, 2)."""
        code = position_code(places, self.low, self.high, self.degree)
        return (code @ self.places).reshape(len(places), RANK, CHANNELS)

    def tilt_factors(self, tilt: np.ndarray) -> np.ndarray:
        """Q, (n, RANK), of tilts (n, 2): the x and y of unit normals."""
        f = tilt_features(tilt)
        hidden = f
        for w, b in self.layers[:-1]:
            hidden = activation(hidden @ w + b)
        w, b = self.layers[-1]
        return ((hidden @ w + b).reshape(len(f), RANK, INPUTS) * f[:, None, :]).sum(axis=2)

    def change(self, places: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """Change of colour in shares of 255, (n, 3)."""
        return (self.place_factors(places) * self.tilt_factors(tilt)[:, :, None]).sum(axis=1)


def activation(z: np.ndarray) -> np.ndarray:
    """z / sqrt(1 + z^2): as smooth as tanh, and cheap."""
    return z / np.sqrt(1.0 + z * z)


def activation_slope(z: np.ndarray) -> np.ndarray:
    return (1.0 + z * z) ** -1.5


def tilt_features(tilt: np.ndarray) -> np.ndarray:
    """(n_x, n_y, 1 - n_z), (n, 3); a coat is seen from behind, so n_z is not negative."""
    across = np.minimum((tilt * tilt).sum(axis=1), 1.0)
    return np.column_stack([tilt, 1.0 - np.sqrt(1.0 - across)])


def code_size(degree: int) -> int:
    return (degree + 1) * (degree + 2) // 2


def position_code(places: np.ndarray, low: np.ndarray, high: np.ndarray, degree: int) -> np.ndarray:
    """Products of Legendre polynomials up to `degree` in the box's coordinates, (n, code_size)."""
    s = np.clip(2.0 * (places - low) / (high - low) - 1.0, -1.0, 1.0)
    along = [np.polynomial.legendre.legvander(s[:, k], degree) for k in (0, 1)]
    products = [along[0][:, i] * along[1][:, j - i] for j in range(degree + 1) for i in range(j + 1)]
    return np.stack(products, axis=1)


def field_places(width: int, height: int) -> np.ndarray:
    """Field coordinates of the pixels' middles, row by row, (height * width, 2): columns span -1 .. 1, rows the same
    scale. The same place of the coat has the same coordinates at every resolution."""
    u = (2.0 * np.arange(width) + 1.0) / width - 1.0
    v = ((2.0 * np.arange(height) + 1.0) / height - 1.0) * height / width
    return np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
