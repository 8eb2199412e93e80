"""Which joint coordinates bring links to poses: damped least squares within limits, with a posture for what is left.

    minimise  1/2 |W (e - J dq)|^2 + 1/2 lambda^2 |dq|^2   with   low <= q + dq <= high,
    dq += (1 - J^+ J) g (posture - q)   over the joints that are not at a bound, g fading with the error

e: position error [m] and rotation vector times `lever` [m]. lambda^2 = |W e|^2 / 2 + floor vanishes with the error, so
reachable targets are reached quadratically and unreachable ones approached without oscillation: Sugihara 2011,
Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method, IEEE T-RO 27(5). Joints that would pass a
bound are set on it and leave the step, whose rest is solved again (an active set of one sign, made anew in each
iteration).
Why no solver: docs/decisions/robots.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.robots.kinematics import Kinematics

FLOOR = 1e-10  # [m2] smallest lambda^2
FADE = 1e-2  # [m] error above which the posture counts little: first the target
STALLED = 1e-6  # [-] relative progress of the error below which an iteration counts as none
PATIENCE = 6  # iterations without progress before giving up


@dataclass(frozen=True, eq=False)
class PoseTarget:
    """A frame on a link and where it should be.

    link: name. frame: (4, 4) link from frame, None: the link's own. pose: (4, 4) base from frame. lever [m]: how much
    one radian counts; 0: only the position matters.
    """

    link: str
    pose: np.ndarray
    frame: np.ndarray | None = None
    lever: float = 0.1


@dataclass(frozen=True)
class InverseOptions:
    """tolerance [m] and [rad]: when a target counts as reached. iterations: at most. posture_gain: share of the way to
    the posture that one iteration goes where the targets leave freedom. attempts: starts that are tried, the first is
    the given one, then the posture, then random ones of a fixed seed."""

    tolerance: float = 1e-6
    angle_tolerance: float = 1e-5
    iterations: int = 60
    posture_gain: float = 0.1
    attempts: int = 1


@dataclass(frozen=True, eq=False)
class InverseSolution:
    """q: (n,) within the limits, the best found. reached: all targets within tolerance. position_error [m],
    angle_error [rad]: the largest. at_limit: joints on one of their bounds."""

    q: np.ndarray
    reached: bool
    position_error: float
    angle_error: float
    iterations: int
    at_limit: tuple[str, ...] = ()

    def sentence(self) -> str:
        """What to tell an operator; empty when the targets are reached."""
        if self.reached:
            return ""
        limits = f"; at their limits: {', '.join(self.at_limit)}" if self.at_limit else ""
        angle = np.degrees(self.angle_error)
        return f"out of reach by {1e3 * self.position_error:.2f} mm and {angle:.2f} degrees{limits}"


def solve_inverse(
    robot: Kinematics,
    targets: Sequence[PoseTarget],
    start: np.ndarray,
    posture: np.ndarray | None = None,
    reach: np.ndarray | None = None,
    options: InverseOptions = InverseOptions(),  # noqa: B008 - frozen
) -> InverseSolution:
    """Joint coordinates for the targets.

    start (n,): where the search begins; reach (n,): how far each joint may move from it (its velocity limit times the
    step), None: as far as its limits allow. posture (n,): what the joints tend to where the targets leave freedom,
    default `start`, which gives the smallest motion. Raises KeyError for an unknown link, ValueError for a wrong shape
    or numbers that are not finite.
    """
    start = np.asarray(start, dtype=np.float64)
    if start.shape != (robot.size,) or not np.isfinite(start).all():
        raise ValueError(f"start has shape {start.shape}; legal: ({robot.size},) finite, one a joint")
    for target in targets:
        robot.link_index(target.link)
        if np.shape(target.pose) != (4, 4) or not np.isfinite(target.pose).all():
            raise ValueError(f"the target pose of link '{target.link}' must be a finite (4, 4) matrix")
    low, high = robot.lower, robot.upper
    if reach is not None:
        low, high = np.maximum(low, start - reach), np.minimum(high, start + reach)
        low, high = np.minimum(low, robot.clip(start)), np.maximum(high, robot.clip(start))
    posture = robot.clip(start if posture is None else np.asarray(posture, dtype=np.float64))
    best = None
    for begin in _starts(robot, np.clip(start, low, high), np.clip(posture, low, high), low, high, options.attempts):
        found = _descend(robot, targets, begin, posture, low, high, options)
        if best is None or (found.reached, -_size(found, targets)) > (best.reached, -_size(best, targets)):
            best = found
        if best.reached:
            break
    return best


def _size(found: InverseSolution, targets: Sequence[PoseTarget]) -> float:
    lever = max((target.lever for target in targets), default=0.0)
    return found.position_error + lever * found.angle_error


def _starts(robot: Kinematics, start, posture, low, high, attempts: int):
    random = np.random.default_rng(0)
    wide_low, wide_high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    for k in range(max(attempts, 1)):
        yield (start, posture)[k] if k < 2 else wide_low + random.random(robot.size) * (wide_high - wide_low)


def _descend(robot, targets, q, posture, low, high, options: InverseOptions) -> InverseSolution:
    best_q, best, without = q, np.inf, 0
    for iteration in range(options.iterations):  # noqa: B007 - its last value is reported
        error, jacobian, reached = _linearised(robot, targets, q, options)
        size = float(error @ error)
        if size < best:
            without = 0 if size < best * (1.0 - STALLED) else without + 1
            best_q, best = q, size
        else:
            without += 1
        if reached or without > PATIENCE:
            break
        pull = options.posture_gain * FADE**2 / (FADE**2 + size) * (posture - q)
        q = np.clip(q + _bounded_step(jacobian, error, pull, q, low, high), low, high)
    return _judge(robot, targets, best_q, iteration + 1, options)


def _linearised(robot: Kinematics, targets, q, options) -> tuple[np.ndarray, np.ndarray, bool]:
    """Weighted error (6 T,), weighted Jacobian (6 T, n), all within tolerance?"""
    poses = robot.forward(q)
    errors, jacobians, reached = [], [], True
    for target in targets:
        frame = poses[robot.link_index(target.link)]
        frame = frame if target.frame is None else frame @ target.frame
        move, turn = pose_error(frame, target.pose)
        jacobian = robot.jacobian(poses, target.link, frame[:3, 3])
        errors += [move, target.lever * turn]
        jacobians += [jacobian[:3], target.lever * jacobian[3:]]
        far = np.linalg.norm(turn) > options.angle_tolerance and target.lever > 0.0
        reached &= not (np.linalg.norm(move) > options.tolerance or far)
    if not targets:
        return np.zeros(0), np.zeros((0, robot.size)), True
    return np.concatenate(errors), np.vstack(jacobians), reached


def pose_error(frame: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is left from frame to target, both (4, 4): translation (3,) [m], rotation vector (3,) [rad], base axes."""
    turn = target[:3, :3] @ frame[:3, :3].T
    axis = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), 0.5 * (float(np.trace(turn)) - 1.0)
    angle = np.arctan2(sine, cosine)
    if sine > 1e-9:
        return target[:3, 3] - frame[:3, 3], axis * (angle / sine)
    if cosine > 0.0:
        return target[:3, 3] - frame[:3, 3], axis
    # half a turn: the axis from the symmetric part, whose largest column is the least rounded
    square = 0.5 * (turn + np.eye(3))
    column = square[:, int(np.argmax(np.diag(square)))]
    return target[:3, 3] - frame[:3, 3], column * (angle / np.linalg.norm(column))


def _bounded_step(jacobian, error, pull, q, low, high) -> np.ndarray:
    """dq (n,) of the damped problem with bounds; joints on a bound leave it one round at a time."""
    damping = 0.5 * float(error @ error) + FLOOR
    step, free = np.zeros(len(q)), high > low
    rest = error
    for _ in range(len(q)):
        if not free.any():
            break
        wanted = _damped_step(jacobian[:, free], rest, pull[free], damping)
        bounded = np.clip(wanted, low[free] - q[free], high[free] - q[free])
        passed = bounded != wanted
        step[free] = bounded
        if not passed.any():
            break
        free[np.flatnonzero(free)[passed]] = False
        rest = error - jacobian[:, ~free] @ step[~free]
    return step


def _damped_step(jacobian, error, pull, damping) -> np.ndarray:
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    towards = vt.T @ ((s / (s * s + damping)) * (u.T @ error))
    # What the targets leave free: the part of the pull that the row space does not see, faded where it sees it weakly.
    seen = s * s / (s * s + damping)
    return towards + pull - vt.T @ (seen * (vt @ pull))


def _judge(robot: Kinematics, targets, q, iterations: int, options: InverseOptions) -> InverseSolution:
    poses = robot.forward(q)
    moves, turns = [0.0], [0.0]
    for target in targets:
        frame = poses[robot.link_index(target.link)]
        move, turn = pose_error(frame if target.frame is None else frame @ target.frame, target.pose)
        moves.append(float(np.linalg.norm(move)))
        turns.append(float(np.linalg.norm(turn)) if target.lever > 0.0 else 0.0)
    reached = max(moves) <= options.tolerance and max(turns) <= options.angle_tolerance
    on = (q <= robot.lower) | (q >= robot.upper)
    names = tuple(name for name, at in zip(robot.names, on, strict=True) if at)
    return InverseSolution(q, reached, max(moves), max(turns), iterations, names)
