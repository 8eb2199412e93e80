"""A human hand of 21 landmarks that opens, pinches and makes a fist: streams for tests, with known truth.

Bones keep their lengths; the thumb reaches for its target by FABRIK (Aristidou and Lasenby 2011). A right hand,
mirrored for a left one. Not measured on a person: proportions are those of anthropometric means.
"""

from __future__ import annotations

import numpy as np

from devices.rotations import matrix_from_quat, quat_from_vector

ROOTS = np.array([[0.025, 0.088, 0.0], [0.0, 0.09, 0.0], [-0.02, 0.085, 0.0], [-0.04, 0.078, 0.0]])  # MCP [m]
BONES = np.array([[0.040, 0.024, 0.020], [0.044, 0.028, 0.020], [0.040, 0.026, 0.020], [0.032, 0.019, 0.018]])
THUMB_ROOT, THUMB_BONES = np.array([0.022, 0.02, 0.008]), (0.044, 0.032, 0.027)
THUMB_OPEN = np.array([0.085, 0.075, 0.02])
SHARES = (1.0, 1.0, 0.7)  # of a finger's bend, by joint


def finger(k: int, bend: float) -> np.ndarray:
    """(4, 3) MCP to tip of a finger bent by an angle [rad] at each joint, towards the palm (+z)."""
    points, angle = [ROOTS[k]], 0.0
    for bone, share in zip(BONES[k], SHARES, strict=True):
        angle += bend * share
        points.append(points[-1] + bone * np.array([0.0, np.cos(angle), np.sin(angle)]))
    return np.array(points)


def thumb(target: np.ndarray) -> np.ndarray:
    """(4, 3) CMC to tip, as near to the target as the bones reach."""
    points = [THUMB_ROOT + s * (THUMB_OPEN - THUMB_ROOT) / 3 + [0, 0, 0.01 * s * (3 - s)] for s in range(4)]
    for _ in range(60):
        points[3] = np.asarray(target, dtype=float)
        for k in (2, 1, 0):
            apart = points[k] - points[k + 1]
            points[k] = points[k + 1] + apart * (THUMB_BONES[k] / np.linalg.norm(apart))
        points[0] = THUMB_ROOT
        for k in range(3):
            apart = points[k + 1] - points[k]
            points[k + 1] = points[k] + apart * (THUMB_BONES[k] / np.linalg.norm(apart))
    return np.array(points)


def landmarks(bends=(0.0,) * 4, opposition: float = 0.0, finger_met: int = 0, gap: float = 0.012) -> np.ndarray:
    """(21, 3) in the hand's own frame. bends [rad] of index to little; opposition in [0, 1] brings the thumb from wide
    open to `gap` [m] short of the tip of a finger (0 index ... 3 little)."""
    fingers = [finger(k, bend) for k, bend in enumerate(bends)]
    met = fingers[finger_met][3]
    away = THUMB_OPEN - met
    met = met + away * (gap / np.linalg.norm(away))
    return np.concatenate([np.zeros((1, 3)), thumb((1 - opposition) * THUMB_OPEN + opposition * met), *fingers])


def mirrored(points: np.ndarray) -> np.ndarray:
    return points * (-1.0, 1.0, 1.0)


def placed(points: np.ndarray, position, turn) -> np.ndarray:
    return points @ matrix_from_quat(quat_from_vector(np.asarray(turn, dtype=float))).T + np.asarray(position)


def stream(frames: int = 180, rate: float = 30.0, noise: float = 0.0, seed: int = 0):
    """(time [s], landmarks) of a right hand that pinches with the index finger, makes a fist, pinches with the middle
    finger and wanders meanwhile."""
    rng = np.random.default_rng(seed)
    for index in range(frames):
        t = index / rate
        phase = 6.0 * index / frames
        part, s = int(phase), 0.5 - 0.5 * np.cos(2 * np.pi * (phase % 1.0))
        if part in (0, 3):  # index pinch
            points = landmarks((0.55 * s + 0.15, 0.2, 0.25, 0.3), s, 0)
        elif part in (1, 4):  # fist
            points = landmarks((1.2 * s + 0.15, 1.25 * s + 0.2, 1.25 * s + 0.25, 1.2 * s + 0.3), 0.5 * s, 1, 0.05)
        elif part == 2:  # middle pinch
            points = landmarks((0.25 * s + 0.15, 0.6 * s + 0.2, 0.3, 0.3), s, 1)
        else:  # spread wide open
            points = landmarks((0.15 - 0.15 * s, 0.2 - 0.2 * s, 0.25 - 0.25 * s, 0.3 - 0.3 * s), 0.0)
        points = placed(points, (0.1 * np.sin(t), 0.3 + 0.05 * t, 0.2), (0.4 * np.sin(0.7 * t), 0.3, 0.5 * np.cos(t)))
        yield t, points + rng.normal(size=points.shape) * noise
