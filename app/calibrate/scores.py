"""How near an image comes to a real one: mean absolute error inside the contact, SSIM around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from app.calibrate.presses import Press, distance_from

CROP = 1.6  # contact radii on each side of the middle: beyond it, pictures with and without a press look alike
SSIM_SIGMA = 1.5  # [pixel]
SSIM_K = (0.01, 0.03)


@dataclass(frozen=True)
class Score:
    """mae: mean absolute error within the contact radius [grey levels of 255], over all channels; ssim: mean structural
    similarity in the crop of CROP contact radii [-]."""

    mae: float
    ssim: float


def score(image: np.ndarray, press: Press) -> Score:
    """image (height, width, 3) uint8 against the press's picture; contact and crop as the table of presses says."""
    inside = distance_from(press, image.shape) < press.radius
    error = np.abs(image.astype(float) - press.image)[inside].mean()
    window = crop(press, image.shape)
    return Score(float(error), float(ssim(image[window], press.image[window])))


def mean_score(scores: list[Score]) -> Score:
    return Score(float(np.mean([s.mae for s in scores])), float(np.mean([s.ssim for s in scores])))


def crop(press: Press, shape: tuple[int, ...], radii: float = CROP) -> tuple[slice, slice]:
    """Rows and columns of the square of `radii` contact radii around the press, cut at the picture's sides."""
    reach = radii * press.radius
    return tuple(
        slice(max(0, round(middle - reach)), min(size, round(middle + reach) + 1))
        for middle, size in ((press.center_y, shape[0]), (press.center_x, shape[1]))
    )


def ssim(a: np.ndarray, b: np.ndarray) -> float:
    """Structural similarity of images (h, w, 3) of 0..255: Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image
    quality assessment", IEEE Transactions on Image Processing 13 (2004) 600-612, Gaussian window, mean of channels."""
    a, b = a.astype(float), b.astype(float)

    def mean(x):
        return gaussian_filter(x, (SSIM_SIGMA, SSIM_SIGMA, 0.0), truncate=3.5)

    c1, c2 = ((k * 255.0) ** 2 for k in SSIM_K)
    ma, mb = mean(a), mean(b)
    va, vb, cov = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    return float(((2.0 * ma * mb + c1) * (2.0 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))).mean())
