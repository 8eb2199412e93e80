"""The bend of a strip that leaves the place where it sticks at an angle to its pull: a long elastica.

With theta the angle to the pull, s the arc length from the peel front and lambda = sqrt(D b / F):

    lambda^2 theta'' = sin theta,  theta(0) = theta_0, theta -> 0:   theta' = -(2 / lambda) sin(theta / 2)

(the first integral with theta' = 0 far away). Hence, integrated over theta,

    length - projection on the pull = int (1 - cos theta) ds = 2 lambda (1 - cos(theta_0 / 2))
    offset across the pull          = int sin theta ds       = 2 lambda sin(theta_0 / 2)

This is the bend of a front without length. The front law spreads its traction over openings up to four cells
(docs/physics/cohesion_front.md), so a coarse strip bends over a longer way: `zone_bend` has the law's own traction,
for a strip without bending stiffness, and no free number either. Its pull comes out as W b.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

RISE, FALL = 2.0, 4.0  # [cells] openings of an active point: traction at its peak, traction gone


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


def zone_bend(cell: float, radius: float, left: float, work: float = 1.0) -> tuple[float, float]:
    """The same length for a strip without bending stiffness that the front law holds, and its pull over W b.

    With a the arc length from the first point that is active, p(a) its place on the roll, y(a) where it is, u = y - p:

        y' = T / |T|,   T' = t(|u|) u / |u|    (T: tension a width [N/m])

    from y = p and a tension along the roll, such that the pull at the zone's end passes through the axle. cell [m];
    work [J/m2] (the length does not depend on it).
    """
    peak = 2.0 * work / (cell * FALL)  # area under the envelope (RISE, RISE, FALL) is the work

    def anchor(a):
        return radius * np.array([np.sin(a / radius), np.cos(a / radius)])

    def along(a, state):
        tension, u = state[2:], state[:2] - anchor(a)
        opening = np.linalg.norm(u)
        share = min(opening / (RISE * cell), (FALL * cell - opening) / ((FALL - RISE) * cell))
        pull = peak * max(share, 0.0) * u / opening if opening > 0.0 else np.zeros(2)
        return np.concatenate([tension / np.linalg.norm(tension), pull])

    def free(a, state):
        return np.linalg.norm(state[:2] - anchor(a)) - FALL * cell

    free.terminal, free.direction = True, 1.0

    def shape(tension):
        start = [0.0, radius, tension * work, 0.0]
        return solve_ivp(along, (0.0, 12.0 * cell + radius), start, events=free, rtol=1e-8, atol=1e-12,
                         max_step=0.05 * cell, dense_output=True)  # fmt: skip

    def beside(tension) -> float:
        """Moment of the pull about the axle."""
        x, y, tx, ty = shape(tension).y[:, -1]
        return (tx * y - ty * x) / np.hypot(tx, ty)

    found = shape(brentq(beside, 0.2, 0.8, rtol=1e-6))
    a = np.linspace(0.0, found.t[-1], 4001)
    away = np.hypot(*found.sol(a)[:2])
    first = int(np.argmax(away >= radius + left))
    return float(a[-1] - a[first] - (away[-1] - radius - left)), float(np.hypot(*found.y[2:, -1]) / work)
