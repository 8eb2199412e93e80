"""Human hand -> joints of any robot hand: fingertips go where the operator's are, pinches stay pinches.

    minimise  sum_k w_t |p_k(q) - t_k|^2  +  sum_k w_p(d_k) (|p_k(q) - p_thumb(q)| - d_k)^2  +  w_q |q - q_last|^2
    within the joint limits

p: fingertips of the robot; t: those of the hand, turned and scaled into the robot's base; d_k: distance of fingertip k
to the thumb of the hand itself, unscaled, so that what is held between two fingers is as thick for the robot. w_p grows
as d_k shrinks (the idea of DexPilot: Handa et al. 2020, arXiv:1910.03135, with distances in place of vectors and an
exact pinch of the index finger at any opening). Solved by damped Gauss-Newton steps with an active set of limits.
Pure: no engine, no window; the operator calls it with `Sample.joints`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from devices import hand_geometry as hand
from engine.robots.kinematics import Kinematics

ALIASES = {"thumb": ("thumb",), "index": ("index", "fore"), "middle": ("middle",), "ring": ("ring",),
           "little": ("little", "pinky", "small")}  # fmt: skip
TIP_WEIGHT, THUMB_WEIGHT = 1.0, 0.3
PINCH_WEIGHT = 40.0  # of thumb and index finger, at any distance
NEAR_WEIGHT = 20.0  # of thumb and another finger that touch; falls off over NEAR
NEAR = 0.03  # [m]
STILL_WEIGHT = 2e-4  # [m2/rad2] keeps what the rest leaves free where it was
ITERATIONS = 16
MISSED = 2e-3  # [m] of the pinch, above which other starts are tried
OTHER_STARTS = 6
SETTLED = 1e-4  # [rad or m] largest step that ends the iteration
# index to little finger of a right hand with a palm of 9 cm, in `hand_geometry.in_hand_frame`: x to the thumb, y to the
# fingers, z out of the palm [m]; from anthropometric means
FLAT_TIPS = np.array([[0.035, 0.168, 0], [0.005, 0.178, 0], [-0.02, 0.165, 0], [-0.045, 0.14, 0]])
BENT_TIPS = np.array([[0.03, 0.115, 0.065], [0.005, 0.12, 0.07], [-0.02, 0.112, 0.065], [-0.042, 0.1, 0.055]])
FLAT_ROOTS = np.array([[0.025, 0.088, 0], [0.0, 0.09, 0], [-0.02, 0.085, 0], [-0.04, 0.078, 0]])
FLAT_PALM = 0.09  # [m]


@dataclass(frozen=True, eq=False)
class HandMap:
    """How one robot hand answers a human one.

    fingers: names among `hand_geometry.FINGERS`, the thumb first. links, points (f, 3) [m]: where the fingertip is, in
    the frame of its link. rotation (3, 3), offset (3,) [m]: robot base from hand frame; determinant -1 when the robot
    hand is of the other side. scale: robot over human hand. side: of the human hand. misfit [m]: root mean square of
    what is left when the hands are laid over each other.
    """

    fingers: tuple[str, ...]
    links: tuple[str, ...]
    points: np.ndarray
    rotation: np.ndarray
    offset: np.ndarray
    scale: float
    side: str
    misfit: float


@dataclass(frozen=True, eq=False)
class Retargeted:
    """q (n,); thumb_index [m]: distance of the robot's two fingertips, tip_error [m]: largest miss of a fingertip."""

    q: np.ndarray
    thumb_index: float
    tip_error: float


def find_fingertips(robot: Kinematics) -> dict[str, str]:
    """finger -> link, from names of the links at the ends of the tree.

    Raises ValueError when no thumb and no index finger can be told, listing the links that might be fingertips.
    """
    parents = {joint.parent for joint in robot.robot.joints}
    ends = [link for link in robot.links if link not in parents and robot.above(link)]
    found: dict[str, str] = {}
    for finger, words in ALIASES.items():
        matches = [link for link in ends if any(word in link.lower() for word in words)]
        if len(matches) == 1:
            found[finger] = matches[0]
    if "thumb" not in found or "index" not in found:
        raise ValueError(
            f"robot '{robot.robot.name}': thumb and index finger cannot be told by their names; name them: "
            f"tips = {{thumb: LINK, index: LINK, ...}} among {', '.join(ends) or 'no link at the end of a finger'}"
        )
    return found


def fit_hand(
    robot: Kinematics,
    tips: dict[str, str] | None = None,
    points: dict[str, np.ndarray] | None = None,
    opened: np.ndarray | None = None,
    side: str = "right",
) -> HandMap:
    """The map of a robot hand, found by laying a human hand over it: fingertips when open and half bent, and roots.

    tips: finger -> link, None: by name. points: finger -> fingertip in the link's frame (3,) [m], default its origin.
    opened (n,): coordinates of the open hand, default as near to 0 as the limits let. side: of the human hand; when
    the robot hand is of the other side, the fit is a reflection, so that fingers still answer fingers.

    Raises ValueError for a finger or link that is not there, and for less than a thumb and an index finger.
    """
    tips = find_fingertips(robot) if tips is None else tips
    unknown = sorted(set(tips) - set(hand.FINGERS))
    if unknown or not {"thumb", "index"} <= set(tips):
        raise ValueError(f"tips name {', '.join(tips)}; legal: thumb, index and any of {', '.join(hand.FINGERS[2:])}")
    fingers = tuple(name for name in hand.FINGERS if name in tips)
    links = tuple(tips[name] for name in fingers)
    try:
        at = [robot.link_index(link) for link in links]
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    given = points or {}
    local = np.array([np.asarray(given.get(name, np.zeros(3)), dtype=float) for name in fingers])
    q = robot.vector({}) if opened is None else np.asarray(opened, dtype=float)
    poses, bent = robot.forward(q), robot.forward(_half_bent(robot, q, links))
    # without the thumb: robots put theirs in many places, and their fingers alone tell how the hand lies
    ends = list(zip(at, local, strict=True))[1:]
    machine = [pose[i, :3, :3] @ p + pose[i, :3, 3] for pose in (poses, bent) for i, p in ends]
    machine = np.concatenate([machine, _roots(robot, poses, links)[1:]])
    which = [hand.FINGERS.index(name) - 1 for name in fingers[1:]]
    human = np.concatenate([FLAT_TIPS[which], BENT_TIPS[which], FLAT_ROOTS[which]])
    human = human * (1.0, 1.0, 1.0 if side == "right" else -1.0)  # in_hand_frame turns z with the side
    fits = [_laid_over(human, machine, handed) for handed in (1.0, -1.0)]
    rotation, offset, scale, misfit = min(fits, key=lambda fit: fit[3])
    return HandMap(fingers, links, local, rotation, offset, scale, side, misfit)


def _half_bent(robot: Kinematics, opened: np.ndarray, links: tuple[str, ...]) -> np.ndarray:
    """Fingers (the thumb stays) half way to the end of their travel that is further away."""
    q = opened.copy()
    for link in links[1:]:
        for i in set(robot.above(link)) - set(robot.above(links[0])):
            ends = [end for end in (robot.lower[i], robot.upper[i]) if np.isfinite(end)]
            furthest = max(ends, key=lambda end, i=i: abs(end - opened[i]), default=opened[i])
            swings = np.isclose(*np.abs(ends), rtol=0.35) if len(ends) == 2 else False  # spreads to both sides alike
            q[i] = opened[i] if swings else 0.5 * (opened[i] + furthest)
    return q


def _roots(robot: Kinematics, poses: np.ndarray, links: tuple[str, ...]) -> np.ndarray:
    """(f, 3) where the first joint of each finger is."""
    first = {}
    for joint in robot.robot.ordered_joints():
        if joint.kind != "fixed":
            first[joint.name] = poses[robot.link_index(joint.parent)] @ joint.origin
    shared = [set(robot.above(link)) for link in links]
    common = set.intersection(*shared)
    return np.array([first[robot.names[min(own - common)]][:3, 3] for own in shared])


def _laid_over(a: np.ndarray, b: np.ndarray, handed: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Rotation (handed 1) or reflection (-1), offset and scale that bring points a (n, 3) closest to b, and the root
    mean square of what is left: Umeyama 1991, IEEE TPAMI 13(4)."""
    centre_a, centre_b = a.mean(axis=0), b.mean(axis=0)
    u, size, vt = np.linalg.svd((b - centre_b).T @ (a - centre_a))
    flip = np.array([1.0, 1.0, handed * np.sign(np.linalg.det(u @ vt))])
    rotation = (u * flip) @ vt
    scale = float((size * flip).sum() / ((a - centre_a) ** 2).sum())
    offset = centre_b - scale * rotation @ centre_a
    left = scale * a @ rotation.T + offset - b
    return rotation, offset, scale, float(np.sqrt((left**2).sum(axis=1).mean()))


class Retargeter:
    """Follows one hand: each solution starts where the last one ended, so joints move as continuously as the hand."""

    def __init__(self, robot: Kinematics, hand_map: HandMap, start: np.ndarray | None = None):
        self.robot, self.map = robot, hand_map
        self._rows = [robot.link_index(link) for link in hand_map.links]
        moved = sorted(set().union(*(robot.above(link) for link in hand_map.links)))
        self.joints = np.array(moved, dtype=int)  # coordinates that fingers use; others are left alone
        self.q = robot.clip(robot.vector({}) if start is None else np.asarray(start, dtype=float))
        self._goal = self.q.copy()  # where the hand wants it; `q` follows as fast as it may
        self._starts = self._other_starts()

    def __call__(self, joints: np.ndarray, reach: np.ndarray | None = None) -> Retargeted:
        """joints: (21 or 26, 3) [m] in any frame. reach (n,): how far each coordinate may go from where it was, that is
        velocity times step; None: as far as its limits. Raises ValueError for another shape or points not finite."""
        landmarks = hand.landmarks_of(joints)
        if not np.all(np.isfinite(landmarks)):
            raise ValueError("hand landmarks are not finite")
        targets, distances = self._asked(landmarks)
        self._goal = self._solve(targets, distances)
        self.q = self._goal.copy() if reach is None else self.q + np.clip(self._goal - self.q, -reach, reach)
        tips, _ = self._tips(self.q, jacobians=False)
        index = self.map.fingers.index("index")
        return Retargeted(
            self.q.copy(),
            float(np.linalg.norm(tips[index] - tips[0])),
            float(np.linalg.norm(tips - targets, axis=1).max()),
        )

    def _solve(self, targets, distances) -> np.ndarray:
        """From the last solution; from others too when the pinch is missed, as after a thumb went the wrong way."""
        last = self._goal
        q, cost = self._descend(last, last, targets, distances, ITERATIONS)
        index = self.map.fingers.index("index")
        tips, _ = self._tips(q, jacobians=False)
        if abs(np.linalg.norm(tips[index] - tips[0]) - distances[index]) <= MISSED:
            return q
        tries = [self._descend(start, last, targets, distances, 3 * ITERATIONS) for start in self._starts]
        best, best_cost = min(tries, key=lambda found: found[1])
        return best if best_cost < 0.9 * cost else q

    def _other_starts(self) -> list[np.ndarray]:
        """Coordinates of the fingers spread over their limits, always the same."""
        rng, starts = np.random.default_rng(0), []
        low, high = np.clip(self.robot.lower, -np.pi, np.pi), np.clip(self.robot.upper, -np.pi, np.pi)
        for _ in range(OTHER_STARTS):
            start = self._goal.copy()
            start[self.joints] = (low + (high - low) * rng.uniform(0.1, 0.9, len(low)))[self.joints]
            starts.append(start)
        return starts

    def _asked(self, landmarks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fingertips wanted (f, 3) [m] in the robot's base, distances to the thumb (f,) [m] of the hand itself."""
        local = hand.in_hand_frame(landmarks) * (FLAT_PALM / max(hand.palm_length(landmarks), 1e-6))
        tips = local[[hand.TIPS[name] for name in self.map.fingers]]
        own = landmarks[[hand.TIPS[name] for name in self.map.fingers]]
        return self.map.scale * tips @ self.map.rotation.T + self.map.offset, np.linalg.norm(own - own[0], axis=1)

    def _tips(self, q: np.ndarray, jacobians: bool = True):
        poses = self.robot.forward(q)
        tips = np.array(
            [poses[i, :3, :3] @ p + poses[i, :3, 3] for i, p in zip(self._rows, self.map.points, strict=True)]
        )
        if not jacobians:
            return tips, None
        pairs = zip(self.map.links, tips, strict=True)
        return tips, np.array([self.robot.jacobian(poses, link, tip)[:3] for link, tip in pairs])

    def _descend(self, q, last, targets, distances, iterations) -> tuple[np.ndarray, float]:
        """Levenberg-Marquardt within the limits: (q, cost)."""
        damping, use, low, high = 1e-6, self.joints, self.robot.lower, self.robot.upper
        residual, matrix = self._residual(q, last, targets, distances)
        cost = residual @ residual
        for _ in range(iterations):
            step = _bounded_step(matrix[:, use], residual, q[use], low[use], high[use], damping)
            trial = q.copy()
            trial[use] = np.clip(q[use] + step, low[use], high[use])
            new_residual, new_matrix = self._residual(trial, last, targets, distances)
            new_cost = new_residual @ new_residual
            if new_cost > cost:
                damping *= 10.0
                if damping > 1.0:
                    break
                continue
            size = float(np.abs(trial - q).max())
            q, residual, matrix, cost = trial, new_residual, new_matrix, new_cost
            damping = max(0.2 * damping, 1e-9)
            if size < SETTLED:
                break
        return q, float(cost)

    def _residual(self, q, last, targets, distances) -> tuple[np.ndarray, np.ndarray]:
        """(m,) and its derivative (m, n): tips, distances, stillness."""
        tips, moves = self._tips(q)
        weights = np.sqrt(np.where(np.arange(len(tips)) == 0, THUMB_WEIGHT, TIP_WEIGHT))[:, None]
        rows = [(weights * (tips - targets)).ravel()]
        columns = [(weights[:, :, None] * moves).reshape(-1, self.robot.size)]
        for k, name in enumerate(self.map.fingers[1:], 1):
            near = NEAR_WEIGHT * np.exp(-((distances[k] / NEAR) ** 2))
            weight = np.sqrt(PINCH_WEIGHT if name == "index" else near)
            apart = tips[k] - tips[0]
            length = float(np.linalg.norm(apart))
            along = apart / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
            rows.append([weight * (length - distances[k])])
            columns.append(weight * (along @ (moves[k] - moves[0]))[None])
        rows.append(np.sqrt(STILL_WEIGHT) * (q - last))
        columns.append(np.sqrt(STILL_WEIGHT) * np.eye(self.robot.size))
        return np.concatenate(rows), np.concatenate(columns)


def _bounded_step(matrix, residual, q, low, high, damping) -> np.ndarray:
    """argmin |residual + matrix dq|^2 + damping |dq|^2 with low <= q + dq <= high, from dq = 0: Stark and Parker 1995,
    Bounded-variable least squares, Computational Statistics 10."""
    normal = matrix.T @ matrix + damping * np.eye(len(q))
    right, lower, upper = -matrix.T @ residual, low - q, high - q
    step = np.zeros(len(q))
    free = np.ones(len(q), dtype=bool)
    for _ in range(3 * len(q)):
        while free.any():
            wish = step.copy()
            known = right[free] - normal[np.ix_(free, ~free)] @ step[~free]
            wish[free] = np.linalg.solve(normal[np.ix_(free, free)], known)
            way = wish - step
            bound = np.where(way > 0.0, upper - step, lower - step)
            share = np.where(free & (np.abs(way) > np.abs(bound)), bound / np.where(way == 0.0, 1.0, way), 1.0)
            first = float(share.min())
            step = step + max(first, 0.0) * way
            if first >= 1.0:
                break
            free[int(share.argmin())] = False
        pull = right - normal @ step
        inwards = ~free & (((step <= lower + 1e-12) & (pull > 1e-12)) | ((step >= upper - 1e-12) & (pull < -1e-12)))
        inwards &= upper > lower
        if not inwards.any():
            break
        free[int(np.where(inwards, np.abs(pull), 0.0).argmax())] = True
    return np.clip(step, lower, upper)
