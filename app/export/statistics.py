"""Mean, spread and quantiles of columns, as data sets for training carry them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
Statistics = dict[str, np.ndarray]  # "min", "max", "mean", "std", quantiles: (D,); "count": (1,)


def statistics(rows: np.ndarray) -> Statistics:
    """Of (n, D) or (n,) numbers, by column."""
    rows = np.asarray(rows, float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    found = {"min": rows.min(axis=0), "max": rows.max(axis=0), "mean": rows.mean(axis=0), "std": rows.std(axis=0)}
    levels = np.quantile(rows, list(QUANTILES.values()), axis=0)
    found |= dict(zip(QUANTILES, levels, strict=True))
    found["count"] = np.array([len(rows)])
    return found


class ImageStatistics:
    """The same of images, by colour channel from 0 to 1, shape (3, 1, 1): from a histogram, so nothing is kept."""

    def __init__(self):
        self._histogram = np.zeros((3, 256))
        self.frames = 0

    def add(self, image: np.ndarray) -> None:
        """uint8 (h, w, 3)."""
        for channel in range(3):
            self._histogram[channel] += np.bincount(image[..., channel].reshape(-1), minlength=256)
        self.frames += 1

    def result(self) -> Statistics:
        level = np.arange(256) / 255.0
        share = self._histogram / np.maximum(self._histogram.sum(axis=1, keepdims=True), 1.0)
        mean = share @ level
        std = np.sqrt(np.maximum(share @ level**2 - mean**2, 0.0))
        below = np.cumsum(share, axis=1)
        found = {
            "min": level[np.argmax(share > 0.0, axis=1)],
            "max": level[255 - np.argmax(share[:, ::-1] > 0.0, axis=1)],
            "mean": mean,
            "std": std,
        }
        found |= {name: level[np.argmax(below >= q - 1e-12, axis=1)] for name, q in QUANTILES.items()}
        return {name: value.reshape(3, 1, 1) for name, value in found.items()} | {"count": np.array([self.frames])}


def combine(parts: Iterable[Statistics]) -> Statistics:
    """Statistics of the whole from those of its parts. Exact but for quantiles, which are averaged by count."""
    parts = list(parts)
    counts = np.array([float(part["count"][0]) for part in parts])
    weight = (counts / counts.sum()).reshape(-1, *(1,) * parts[0]["mean"].ndim)

    def of(name: str) -> np.ndarray:
        return np.stack([part[name] for part in parts])

    mean = (weight * of("mean")).sum(axis=0)
    spread = (weight * (of("std") ** 2 + (of("mean") - mean) ** 2)).sum(axis=0)
    found = {"min": of("min").min(axis=0), "max": of("max").max(axis=0), "mean": mean, "std": np.sqrt(spread)}
    found |= {name: (weight * of(name)).sum(axis=0) for name in QUANTILES}
    found["count"] = np.array([int(counts.sum())])
    return found
