"""Poses: rotations from scene angles, and the motion of driven bodies by keyframes."""

from __future__ import annotations

import numpy as np

from scenes.tables import Motion


def rotation_matrix(angles) -> np.ndarray:
    """(3, 3) rotation about the world's x, then y, then z axis. angles (3,) [rad]."""
    cosines, sines = np.cos(angles), np.sin(angles)
    for values in (cosines, sines):  # quarter turns are exact
        values[np.abs(values) < 1e-15] = 0.0
    (cx, cy, cz), (sx, sy, sz) = cosines, sines
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    about_y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    about_z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return about_z @ about_y @ about_x


def rigid_transform(position, angles) -> np.ndarray:
    """(4, 4) world from own frame. position (3,) [m], angles (3,) [rad] as in `rotation_matrix`."""
    transform = np.eye(4)
    transform[:3, :3] = rotation_matrix(angles)
    transform[:3, 3] = position
    return transform


def transform_points(transform: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points (n, 3) [m] carried by a (4, 4) transform."""
    return points @ transform[:3, :3].T + transform[:3, 3]


def pose_at(motion: Motion, start: np.ndarray, time: float) -> np.ndarray:
    """(4, 4) world from mesh of a driven body at `time` [s].

    start: its pose in the scene. Translation and the three angles are interpolated between keyframes: linearly, or
    with 3 s^2 - 2 s^3 (zero speed at each keyframe). Before the first keyframe its pose holds; after the last one it
    holds or the sequence repeats, as the motion says.
    """
    times = np.array([frame.time for frame in motion.keyframes])
    if motion.after == "loop" and len(times) > 1 and time > times[-1]:
        time = times[0] + (time - times[0]) % (times[-1] - times[0])
    k = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
    frame = motion.keyframes[k]
    move, turn = np.array(frame.translation), np.array(frame.rotation)
    if time > times[k] and k + 1 < len(times):
        s = (time - times[k]) / (times[k + 1] - times[k])
        s = s * s * (3.0 - 2.0 * s) if motion.between == "smooth" else s
        move = move + s * (np.array(motion.keyframes[k + 1].translation) - move)
        turn = turn + s * (np.array(motion.keyframes[k + 1].rotation) - turn)
    pose = start.copy()
    pose[:3, :3] = rotation_matrix(turn) @ start[:3, :3]
    pose[:3, 3] += move
    return pose
