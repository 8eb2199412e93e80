"""Exact squared distances in rational arithmetic: every float is a fraction, so there is nothing to round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def _sub(a, b):
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _point_segment(p, a, b):
    e, w = _sub(b, a), _sub(p, a)
    length_squared = _dot(e, e)
    s = min(max(_dot(w, e) / length_squared, Fraction(0)), Fraction(1)) if length_squared else Fraction(0)
    r = [w[k] - s * e[k] for k in range(3)]
    return _dot(r, r)


def _fractions(stencil: np.ndarray):
    return [[Fraction(float(value)) for value in point] for point in stencil]


def edge_edge_squared(stencil: np.ndarray) -> Fraction:
    """Squared distance [m2] of the segments a0-a1 and b0-b1, stencil (4, 3): the least of all cases that exist."""
    a0, a1, b0, b1 = _fractions(stencil)
    cases = [
        _point_segment(a0, b0, b1),
        _point_segment(a1, b0, b1),
        _point_segment(b0, a0, a1),
        _point_segment(b1, a0, a1),
    ]
    u, v, w = _sub(a1, a0), _sub(b1, b0), _sub(a0, b0)
    n = _cross(u, v)
    nn = _dot(n, n)
    if nn:
        s, t = _dot(_cross(v, w), n) / nn, _dot(_cross(u, w), n) / nn
        if 0 <= s <= 1 and 0 <= t <= 1:
            cases.append(_dot(w, n) ** 2 / nn)
    return min(cases)


def point_triangle_squared(stencil: np.ndarray) -> Fraction:
    """Squared distance [m2] of point p to triangle a, b, c, stencil (4, 3): the least of all cases that exist."""
    p, a, b, c = _fractions(stencil)
    cases = [_point_segment(p, a, b), _point_segment(p, b, c), _point_segment(p, c, a)]
    ab, ac, ap = _sub(b, a), _sub(c, a), _sub(p, a)
    n = _cross(ab, ac)
    nn = _dot(n, n)
    if nn:
        wb, wc = _dot(_cross(ap, ac), n) / nn, _dot(_cross(ab, ap), n) / nn
        if wb >= 0 and wc >= 0 and wb + wc <= 1:
            cases.append(_dot(ap, n) ** 2 / nn)
    return min(cases)


def distances(squared, stencils: np.ndarray) -> np.ndarray:
    """Square roots of `squared` over stencils (n, 4, 3), correctly rounded to a few units in the last place [m]."""
    out = np.empty(len(stencils))
    for i, stencil in enumerate(stencils):
        value = squared(stencil)
        # scaled by a power of four, so that tiny squares do not underflow on their way to a float
        shift = 0
        while value and value < Fraction(1, 2**200):
            value, shift = value * 2**200, shift + 100
        out[i] = float(value) ** 0.5 * 2.0**-shift
    return out
