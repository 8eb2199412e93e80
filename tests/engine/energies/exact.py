"""Exact Hessians, slow, for the tests: complex-step derivatives of hand-written NumPy gradients.

A complex step has no cancellation, so these Hessians are exact to rounding (Squire and Trapp 1998). The gradients below
take one element's positions x (k, 3), possibly complex, and return (k, 3); no conjugation, no abs on complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

COMPLEX_STEP = 1e-40


def exact_hessian(gradient: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """(3k, 3k) derivative of gradient at real x (k, 3)."""
    size = x.size
    step = COMPLEX_STEP * max(np.ptp(x, axis=0).max(), 1e-300)
    hessian = np.empty((size, size))
    for column in range(size):
        y = x.astype(complex)
        y.flat[column] += 1j * step
        hessian[:, column] = gradient(y).imag.ravel() / step
    return hessian


def exact_hessians(gradient: Callable, x: np.ndarray) -> np.ndarray:
    """(E, 3k, 3k); gradient(e, x_e) is the gradient of element e."""
    return np.stack([exact_hessian(lambda y, e=e: gradient(e, y), x[e]) for e in range(len(x))])


def membrane_gradient(x, dm_inv, volume, lame_mu, lame_lambda):
    f = np.stack([x[1] - x[0], x[2] - x[0]], axis=1) @ dm_inv
    g = 0.5 * (f.T @ f - np.eye(2))
    stress = 2.0 * lame_mu * g + lame_lambda * np.trace(g) * np.eye(2)
    corner = (volume * f @ stress @ dm_inv.T).T
    return np.stack([-corner.sum(axis=0), corner[0], corner[1]])


def neo_hookean_gradient(x, dm_inv, volume, lame_mu, lame_lambda):
    f = np.stack([x[1] - x[0], x[2] - x[0], x[3] - x[0]], axis=1) @ dm_inv
    stress = lame_mu * f + (lame_lambda * np.log(np.linalg.det(f)) - lame_mu) * np.linalg.inv(f).T
    corner = (volume * stress @ dm_inv.T).T
    return np.concatenate([-corner.sum(axis=0)[None], corner])


def hinge_gradient(x, rest_angle, weight):
    e = x[1] - x[0]
    n0 = np.cross(e, x[2] - x[0])
    n1 = np.cross(x[3] - x[0], e)
    square = e @ e
    length = np.sqrt(square)
    sine, cosine = np.cross(n0, n1) @ e, length * (n0 @ n1)
    theta = _atan2(sine, cosine)
    angle = theta - rest_angle
    angle = angle - 2.0 * np.pi * np.ceil((angle.real - np.pi) / (2.0 * np.pi))
    g2, g3 = -length * n0 / (n0 @ n0), -length * n1 / (n1 @ n1)
    s2, s3 = (x[2] - x[0]) @ e / square, (x[3] - x[0]) @ e / square
    return weight * angle * np.stack([(s2 - 1.0) * g2 + (s3 - 1.0) * g3, -s2 * g2 - s3 * g3, g2, g3])


def orthogonality_gradient(x, stiffness):
    a = x[1:].T
    first = 4.0 * stiffness * a @ (a.T @ a - np.eye(3))
    return np.concatenate([np.zeros((1, 3)), first.T])


def drive_gradient(x, metric, stiffness, limit, target, multiplier):
    error = x - target
    weighted = metric @ error
    delta = np.sqrt((error * weighted).sum())
    secant = limit / delta if stiffness * delta.real > limit else stiffness
    return secant * weighted + metric @ multiplier


def _atan2(y, x):
    """atan2 of nearly real complex numbers: first order in the imaginary part, which is all a complex step needs."""
    a, b = np.real(y), np.real(x)
    return np.arctan2(a, b) + 1j * (b * np.imag(y) - a * np.imag(x)) / (a * a + b * b)
