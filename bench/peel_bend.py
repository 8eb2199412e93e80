"""The bend of a strip that leaves the place where it sticks at an angle to its pull: a long elastica.

With theta the angle to the pull, s the arc length from the peel front and lambda = sqrt(D b / F):

    lambda^2 theta'' = sin theta,  theta(0) = theta_0, theta -> 0:   theta' = -(2 / lambda) sin(theta / 2)

(the first integral with theta' = 0 far away). Hence, integrated over theta,

    length - projection on the pull = int (1 - cos theta) ds = 2 lambda (1 - cos(theta_0 / 2))
    offset across the pull          = int sin theta ds       = 2 lambda sin(theta_0 / 2)

This is the bend of a front without length. The front law spreads its traction over four cells (docs/physics/
cohesion_front.md), so a coarse strip bends over a longer way.
"""

from __future__ import annotations

import numpy as np


def bend_length(stiffness: float, force: float) -> float:
    """lambda [m]. stiffness: D = E h^3 / 12 (1 - nu^2) [N m]; force: pull a width, F / b [N/m]."""
    return float(np.sqrt(stiffness / force))


def bend_excess(lam: float, angle: float) -> float:
    """Length of the strip less its projection on the pull [m]. angle: theta_0 [rad]."""
    return 2.0 * lam * (1.0 - np.cos(0.5 * angle))


def bend_offset(lam: float, angle: float) -> float:
    """Distance of the front from the line of the pull [m]."""
    return 2.0 * lam * np.sin(0.5 * angle)


def angle_on_roll(lam: float, radius: float) -> float:
    """theta_0 at a front on a freely turning roll [rad]: without a moment about the axle the pull's line passes through
    it, so the offset is radius cos(theta_0)."""
    low, high = 0.0, 0.5 * np.pi
    for _ in range(60):
        middle = 0.5 * (low + high)
        if radius * np.cos(middle) > bend_offset(lam, middle):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def bend_beyond(lam: float, radius: float, left: float, samples: int = 4001) -> float:
    """Length of the strip outside of radius + left, less the way along the pull from there [m]; on a freely turning
    roll of that radius [m]."""
    start = angle_on_roll(lam, radius)
    s = np.linspace(0.0, 12.0 * lam, samples)
    theta = 4.0 * np.arctan(np.tan(0.25 * start) * np.exp(-s / lam))
    step = s[1] - s[0]
    along, across = (
        np.concatenate([[0.0], np.cumsum(0.5 * step * (f[1:] + f[:-1]))]) for f in (np.cos(theta), np.sin(theta))
    )
    x, y = radius * np.sin(start) + along, radius * np.cos(start) - across
    outside = np.hypot(x, y) >= radius + left
    first = int(np.argmax(outside))
    return float(s[-1] - s[first] - (x[-1] - radius - left))
