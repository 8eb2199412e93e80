"""Single contact pairs of every closest-feature case, placed at a chosen gap, and the kernels run on them.

Each pair has four points and a world of its own, so one launch gives the energy of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from engine.contact import narrow
from engine.contact.narrow import CandidateArrays
from tests.engine.energies.harness import random_rotations

POINT_TRIANGLE, EDGE_EDGE = 0, 1
PLAIN = ("face", "side", "corner", "crossing", "end to edge", "end to end")
MOLLIFIED = ("crossing", "end to edge", "end to end")
SLANTS = (0.025, 0.01, 1e-3)  # [rad] between mollified edges: the threshold lies at 0.032


def pair(case: str, distance: float, slant: float) -> np.ndarray:
    """(4, 3) with edges of about 1 m; `slant` is the angle of an edge pair [rad]."""
    ahead = np.array([np.cos(slant), np.sin(slant), 0.0])
    if case in ("face", "side", "corner"):
        foot = {"face": (0.3, 0.25), "side": (0.4, 0.0), "corner": (0.0, 0.0)}[case]
        away = {"face": (0.0, 0.0, 1.0), "side": (0.0, -0.8, 0.6), "corner": (-0.6, -0.48, 0.64)}[case]
        point = np.array([*foot, 0.0]) + distance * np.array(away)
        return np.array([point, [0, 0, 0], [1, 0.1 * (case == "corner"), 0], [0.2, 0.9, 0]])
    a = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    if case == "crossing":
        foot = np.array([0.45, 0.0, distance])
        return np.array([*a, foot - 0.4 * ahead, foot + 0.7 * ahead])
    rising = np.array([np.cos(slant), 0.0, np.sin(slant)])  # leaves the first edge: its first end is the closest
    foot = np.array([0.6, 0.0, 0.0]) + distance * np.array([0.0, 0.6, 0.8])
    if case == "end to end":
        foot = np.array([1.0, 0.0, 0.0]) + distance * np.array([0.48, 0.6, 0.64])
    return np.array([*a, foot, foot + 1.1 * rising])


@dataclass
class Pairs:
    """x (n, 4, 3) [m]; the rest by pair, (n,): kind, case, share = gap / dhat, slant [rad] (0: not mollified), and the
    candidate's own numbers. `varies`: length over which the energy changes [m]."""

    x: np.ndarray
    kind: np.ndarray
    case: np.ndarray
    share: np.ndarray
    slant: np.ndarray
    dhat: np.ndarray
    min_separation: np.ndarray
    stiffness: np.ndarray
    friction_mu: np.ndarray
    mollifier_eps: np.ndarray
    varies: np.ndarray

    def __len__(self) -> int:
        return len(self.x)


def make_pairs(scales, shares, separations=(0.0, 0.05)) -> Pairs:
    """Every case at every scale (edge length [m]), gap share of dhat and separation (share of the edge length)."""
    rng = np.random.default_rng(0)
    cases = [(c, 0.0) for c in PLAIN] + [(c, slant) for c in MOLLIFIED for slant in SLANTS]
    rows = []
    for case, slant in cases:
        for scale in scales:
            for share in shares:
                for separation in separations:
                    dhat = 0.08
                    x = pair(case, separation + share * dhat, slant or 0.7)
                    turn = random_rotations(rng, 1)[0]
                    x = scale * (x @ turn.T + rng.normal(size=3))
                    kind = POINT_TRIANGLE if case in ("face", "side", "corner") else EDGE_EDGE
                    eps = 1e-3 * scale**4 * 1.1**2 * rng.uniform(0.9, 1.0) if kind == EDGE_EDGE else 0.0
                    varies = scale * dhat * min(share, 1.0 - share) * (slant or 1.0)
                    stiffness = 1e5 * scale**3 * dhat * rng.uniform(0.5, 1.0)
                    mu = rng.uniform(0.2, 0.9)
                    row = (kind, case, share, slant, scale * dhat, scale * separation, stiffness, mu, eps, varies)
                    rows.append((x, *row))
    return Pairs(*(np.array(column) for column in zip(*rows, strict=True)))


class Launcher:
    """The contact kernels on all pairs at once; positions go in and results come out as numpy."""

    def __init__(self, pairs: Pairs):
        self.count = n = len(pairs)
        array = lambda values, dtype: wp.array(np.ascontiguousarray(values), dtype=dtype, device="cpu")  # noqa: E731
        c = self.candidates = CandidateArrays()
        c.count = array([n], int)
        c.points = array(np.arange(4 * n).reshape(n, 4), wp.vec4i)
        c.kind, c.world = array(pairs.kind, int), array(np.arange(n), int)
        for name in ("dhat", "min_separation", "stiffness", "friction_mu", "mollifier_eps"):
            setattr(c, name, array(getattr(pairs, name), wp.float64))
        self.x = array(pairs.x.reshape(-1, 3), wp.vec3d)
        self.all = array(np.arange(n), int)
        self.energy = wp.zeros(n, dtype=wp.float64, device="cpu")
        self.points = wp.zeros(n, dtype=wp.vec4i, device="cpu")
        self.weights = wp.zeros(n, dtype=wp.vec4d, device="cpu")
        self.block = wp.zeros(n, dtype=wp.mat33d, device="cpu")
        self.gradient_out = wp.zeros((n, 4), dtype=wp.vec3d, device="cpu")
        self.force = wp.zeros(n, dtype=wp.float64, device="cpu")
        self.side = wp.zeros(n, dtype=int, device="cpu")

    def place(self, x: np.ndarray) -> None:
        self.x.assign(np.ascontiguousarray(x.reshape(-1, 3)))

    def value(self, x: np.ndarray) -> np.ndarray:
        """Barrier energy (n,) [J]."""
        self.place(x)
        self.energy.zero_()
        wp.launch(
            narrow.value_kernel, 1, [self.candidates, self.x, self.all, self.candidates.count, 1], [self.energy],
            device="cpu",
        )  # fmt: skip
        return self.energy.numpy().copy()

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """(n, 4, 3) [N]; weights, block and force are left in their arrays."""
        self.place(x)
        wp.launch(
            narrow.derivatives_kernel, 1, [self.candidates, self.x, self.all, self.candidates.count, 1],
            [self.points, self.weights, self.block, self.gradient_out, self.force, self.side], device="cpu",
        )  # fmt: skip
        return self.gradient_out.numpy().copy()

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """What the solver uses, (n, 12, 12) [N/m]."""
        self.gradient(x)
        return stencil_hessian(self.weights.numpy(), self.block.numpy())


def stencil_hessian(weights: np.ndarray, block: np.ndarray, turn=None, normal=None) -> np.ndarray:
    """J^T B J with J dx = sum_a (w_a I + turn_a n^T) dx_a, (n, 12, 12). turn (n, 4, 3), normal (n, 3), or no turn."""
    follow = np.einsum("na,ij->naij", weights, np.eye(3))
    if turn is not None:
        follow = follow + np.einsum("nai,nj->naij", turn, normal)
    return np.einsum("naki,nkl,nblj->naibj", follow, block, follow).reshape(len(weights), 12, 12)


def differences(function, x: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Fourth-order central differences of function(x) (n, ...) by the 12 coordinates of each pair, (n, 12, ...)."""
    columns = []
    for a in range(4):
        for i in range(3):
            total = 0.0
            for offset, weight in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)):
                y = x.copy()
                y[:, a, i] += offset * step
                total = total + weight * function(y)
            columns.append(total / step.reshape(-1, *([1] * (np.ndim(total) - 1))))
    return np.stack(columns, axis=1)


def best_error(function, x, derivative, varies, steps=(1e-1, 3e-2, 1e-2, 1e-3, 1e-4)) -> np.ndarray:
    """Smallest over several step sizes, by pair: largest difference over largest entry of the derivative, (n,)."""
    count = len(x)
    flat = derivative.reshape(count, -1)
    size = np.abs(flat).max(axis=1)
    errors = [np.abs(differences(function, x, s * varies).reshape(count, -1) - flat).max(axis=1) / size for s in steps]
    return np.nanmin(errors, axis=0)
