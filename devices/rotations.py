"""Quaternions (x y z w, unit, Hamilton product) and rotation matrices for the operator's side of the house."""

from __future__ import annotations

import numpy as np

IDENTITY_QUATERNION = np.array([0.0, 0.0, 0.0, 1.0])


def quat_multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rotation b first, then a. (4,), (4,) -> (4,)."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return np.array(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    )


def quat_conjugate(q: np.ndarray) -> np.ndarray:
    """Inverse of a unit quaternion."""
    return np.array([-q[0], -q[1], -q[2], q[3]])


def quat_normalised(q: np.ndarray) -> np.ndarray:
    """q scaled to length one. Raises ValueError for a zero or non-finite quaternion."""
    norm = float(np.linalg.norm(q))
    if not np.isfinite(norm) or norm < 1e-12:
        raise ValueError(f"quaternion {np.asarray(q).tolist()} has no direction; legal: finite and not zero (x y z w)")
    return np.asarray(q, dtype=float) / norm


def quat_from_vector(rotation: np.ndarray) -> np.ndarray:
    """Exponential map: rotation vector [rad] (3,), axis times angle, to a unit quaternion."""
    angle = float(np.linalg.norm(rotation))
    # sin(a/2)/a through sinc, which stays exact at zero
    scale = 0.5 * np.sinc(0.5 * angle / np.pi)
    return np.array([*(scale * np.asarray(rotation, dtype=float)), np.cos(0.5 * angle)])


def vector_from_quat(q: np.ndarray) -> np.ndarray:
    """Logarithm: the shortest rotation vector [rad] (3,) of a unit quaternion, angle in [0, pi]."""
    q = -q if q[3] < 0.0 else q
    sine = float(np.linalg.norm(q[:3]))
    if sine < 1e-12:
        return 2.0 * q[:3]
    return (2.0 * np.arctan2(sine, q[3]) / sine) * q[:3]


def matrix_from_quat(q: np.ndarray) -> np.ndarray:
    """(4,) unit -> (3, 3)."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quat_from_matrix(m: np.ndarray) -> np.ndarray:
    """(3, 3) rotation -> (4,) unit, w >= 0. The largest component is taken from the diagonal (Shepperd 1978)."""
    m = np.asarray(m, dtype=float)
    squares = np.array(
        [
            1 + m[0, 0] - m[1, 1] - m[2, 2],
            1 - m[0, 0] + m[1, 1] - m[2, 2],
            1 - m[0, 0] - m[1, 1] + m[2, 2],
            1 + m[0, 0] + m[1, 1] + m[2, 2],
        ]
    )
    largest = int(np.argmax(squares))
    s = np.sqrt(squares[largest])
    if largest == 3:
        q = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], s * s])
    elif largest == 0:
        q = np.array([s * s, m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[2, 1] - m[1, 2]])
    elif largest == 1:
        q = np.array([m[0, 1] + m[1, 0], s * s, m[1, 2] + m[2, 1], m[0, 2] - m[2, 0]])
    else:
        q = np.array([m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], s * s, m[1, 0] - m[0, 1]])
    q = q / np.linalg.norm(q)
    return -q if q[3] < 0 else q


def camera_rotation(eye: np.ndarray, target: np.ndarray, up: np.ndarray, level: bool = True) -> np.ndarray:
    """World-from-camera rotation for driving, (3, 3): columns are right, away from the operator, up on the screen.

    With `level` the frame is turned about world z only, so that "away" stays horizontal and "up" is world up, which is
    what a hand expects; looking straight down, "away" is the top of the screen. Without it, "away" is the viewing
    direction itself. Raises ValueError when eye and target coincide or up is parallel to the view.
    """
    view = np.asarray(target, dtype=float) - np.asarray(eye, dtype=float)
    right = np.cross(view, np.asarray(up, dtype=float))
    if np.linalg.norm(view) < 1e-12 or np.linalg.norm(right) < 1e-12 * np.linalg.norm(view):
        raise ValueError(
            f"camera eye {np.asarray(eye).tolist()}, target {np.asarray(target).tolist()}, "
            f"up {np.asarray(up).tolist()}; legal: eye and target apart, up not along the view"
        )
    right = right / np.linalg.norm(right)
    if level and np.hypot(right[0], right[1]) > 1e-6:
        right = np.array([right[0], right[1], 0.0]) / np.hypot(right[0], right[1])
        upward = np.array([0.0, 0.0, 1.0])
        return np.column_stack([right, np.cross(upward, right), upward])
    forward = view / np.linalg.norm(view)
    return np.column_stack([right, forward, np.cross(right, forward)])


def nearest_rotation(m: np.ndarray) -> np.ndarray:
    """Rotation nearest to the upper left (3, 3) of m in the Frobenius norm (polar decomposition): for an affine body,
    whose matrix is a rotation only up to its small strain. Raises ValueError when m is inside out."""
    m = np.asarray(m, dtype=float)[:3, :3]
    if not np.all(np.isfinite(m)) or np.linalg.det(m) <= 0.0:
        raise ValueError(f"matrix {m.tolist()} has no nearest rotation; legal: finite, determinant above 0")
    u, _, vt = np.linalg.svd(m)
    return u @ vt
