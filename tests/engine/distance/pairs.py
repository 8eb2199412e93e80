"""Point-triangle and edge-edge stencils for tests: random ones and the degenerate ones that meshes really produce.

All return float64 (n, 4, 3), in the stencil order of the laws: (p, a, b, c) and (a0, a1, b0, b1).
"""

from __future__ import annotations

import numpy as np

POINT_TRIANGLE, EDGE_EDGE = 0, 1
SCALES = (1e-6, 1e-3, 1.0, 1e3)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def random_pairs(rng: np.random.Generator, count: int) -> np.ndarray:
    """Normally distributed points; each stencil has its own scale, from 1e-6 to 1e3 m."""
    scale = np.array(SCALES)[rng.integers(len(SCALES), size=count)]
    return rng.normal(size=(count, 4, 3)) * scale[:, None, None]


def parallel_edges(rng, count: int, angle: float = 0.0, offset: float = 0.1, shift=None) -> np.ndarray:
    """A unit edge and one at `angle` [rad] to it, `offset` [m] away, shifted along the first (random: some overlap)."""
    u = unit(rng.normal(size=(count, 3)))
    across = unit(np.cross(u, rng.normal(size=(count, 3))))
    v = unit(u + angle * np.cross(u, across)) * rng.uniform(0.3, 3.0, size=(count, 1))
    shift = rng.uniform(-1.5, 1.5, size=(count, 1)) if shift is None else shift
    a0 = rng.normal(size=(count, 3))
    b0 = a0 + across * offset + u * shift
    return np.stack([a0, a0 + u, b0, b0 + v], axis=1)


def degenerate_edges(rng, count: int) -> np.ndarray:
    """Parallel, nearly parallel (1e-3 to 1e-12 rad), collinear, meeting end to end at a distance, of no length."""
    kinds = [parallel_edges(rng, count, angle) for angle in (0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3)]
    kinds.append(parallel_edges(rng, count, 0.0, 0.0, shift=rng.uniform(1.1, 1.5, size=(count, 1))))
    short = parallel_edges(rng, count, 0.5)
    short[:, 1] = short[:, 0]
    points = short.copy()
    points[:, 3] = points[:, 2]
    kinds += [short, short[:, [2, 3, 0, 1]], points]
    return _scaled(rng, kinds, count)


def degenerate_triangles(rng, count: int, slivers: bool = True) -> np.ndarray:
    """Points exactly above vertices, edges and faces, beside them in the plane; slivers and triangles without area."""
    t = rng.normal(size=(count, 3, 3))
    normal = unit(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]))
    s = rng.uniform(size=(count, 1))
    on_edge = t[:, 0] * (1.0 - s) + t[:, 1] * s
    outward = np.cross(t[:, 1] - t[:, 0], normal)
    kinds = []
    for height in (1.0, 1e-2):
        for foot in (t[:, 0], t[:, 1], t[:, 2], on_edge, t.mean(axis=1)):
            kinds.append(np.concatenate([(foot + height * normal)[:, None], t], axis=1))
    kinds.append(np.concatenate([(on_edge + 0.1 * outward)[:, None], t], axis=1))
    kinds.append(np.concatenate([(t[:, 0] + (t[:, 0] - t[:, 1]))[:, None], t], axis=1))
    for height in (1e-3, 1e-6, 1e-12, 0.0) if slivers else ():
        sliver = t.copy()
        sliver[:, 2] = on_edge + height * t[:, 2]
        kinds.append(np.concatenate([(sliver.mean(axis=1) + 0.1 * unit(t[:, 0]))[:, None], sliver], axis=1))
    return _scaled(rng, kinds, count)


def _scaled(rng, kinds: list, count: int) -> np.ndarray:
    """`count` rows drawn evenly over the kinds, each at a random scale."""
    pick = np.arange(count) % len(kinds)
    rows = np.stack(kinds)[pick, np.arange(count)]
    return rows * np.array(SCALES)[rng.integers(len(SCALES), size=count)][:, None, None]
