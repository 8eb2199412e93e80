"""A hand as 21 points: where it is, how far it pinches, which hand it is, whether it can be one at all. Pure.

Order (that of MediaPipe): wrist; thumb CMC, MCP, IP, tip; then index, middle, ring, little finger, each MCP, PIP, DIP,
tip. The 26 joints of OpenXR (XR_EXT_hand_tracking) contain these 21. Lengths in metres.
"""

from __future__ import annotations

import numpy as np

from devices.rotations import quat_from_matrix

NUM_LANDMARKS = 21
WRIST = 0
FINGERS = ("thumb", "index", "middle", "ring", "little")
TIPS = {name: 4 * (k + 1) for k, name in enumerate(FINGERS)}
ROOTS = {name: 4 * k + 1 for k, name in enumerate(FINGERS)}
BONES = tuple((WRIST if k % 4 == 1 else k - 1, k) for k in range(1, NUM_LANDMARKS))
# of the 26 joints: palm, wrist, thumb 4 (metacarpal ... tip), four fingers 5 each with a metacarpal that is left out
FROM_OPENXR = (1, 2, 3, 4, 5, *(6 + 5 * finger + k for finger in range(4) for k in (1, 2, 3, 4)))

PINCH_CLOSED, PINCH_OPEN = 0.25, 0.9  # [-] thumb-index distance over palm length: shut, wide open


def landmarks_of(joints: np.ndarray) -> np.ndarray:
    """(21, 3) of 21 landmarks or of OpenXR's 26 joints. Raises ValueError for another shape."""
    joints = np.asarray(joints, dtype=float)
    if joints.shape == (26, 3):
        return joints[list(FROM_OPENXR)]
    if joints.shape != (NUM_LANDMARKS, 3):
        raise ValueError(f"joints of shape {joints.shape}; legal: (21, 3) landmarks or (26, 3) joints of OpenXR")
    return joints


def palm_length(landmarks: np.ndarray) -> float:
    """[m] wrist to the root of the middle finger: does not change when fingers bend."""
    return float(np.linalg.norm(landmarks[ROOTS["middle"]] - landmarks[WRIST]))


def pinch_distance(landmarks: np.ndarray) -> float:
    """[m] between the tips of thumb and index finger."""
    return float(np.linalg.norm(landmarks[TIPS["thumb"]] - landmarks[TIPS["index"]]))


def pinch_closure(landmarks: np.ndarray) -> float:
    """[0, 1]: 0 wide open, 1 shut; scaled by the hand, so that small and large hands pinch alike."""
    ratio = pinch_distance(landmarks) / max(palm_length(landmarks), 1e-6)
    return float(np.clip((PINCH_OPEN - ratio) / (PINCH_OPEN - PINCH_CLOSED), 0.0, 1.0))


def palm_normal(landmarks: np.ndarray) -> np.ndarray:
    """Unit vector (3,) out of the palm of a right hand, out of the back of a left one."""
    index, little = landmarks[ROOTS["index"]] - landmarks[WRIST], landmarks[ROOTS["little"]] - landmarks[WRIST]
    normal = np.cross(index, little)
    length = np.linalg.norm(normal)
    return normal / length if length > 1e-9 else np.zeros(3)


def hand_pose(landmarks: np.ndarray) -> np.ndarray:
    """(7,) pose of the hand: origin at the wrist, y along the palm to the middle finger, z along `palm_normal`.

    Raises ValueError when the points do not span a palm.
    """
    along = landmarks[ROOTS["middle"]] - landmarks[WRIST]
    normal = palm_normal(landmarks)
    y = along - normal * (along @ normal)
    length = np.linalg.norm(y)
    if not normal.any() or length < 1e-6:
        raise ValueError("wrist, index and little finger lie on one line: no palm")
    y = y / length
    return np.concatenate([landmarks[WRIST], quat_from_matrix(np.column_stack([np.cross(y, normal), y, normal]))])


def in_hand_frame(landmarks: np.ndarray) -> np.ndarray:
    """(21, 3) seen from `hand_pose`: moving the hand changes nothing, bending a finger does."""
    y = landmarks[ROOTS["middle"]] - landmarks[WRIST]
    z = palm_normal(landmarks)
    y = y - z * (y @ z)
    y = y / max(float(np.linalg.norm(y)), 1e-9)
    return (landmarks - landmarks[WRIST]) @ np.column_stack([np.cross(y, z), y, z])


def bend_towards_normal(landmarks: np.ndarray) -> float:
    """[-] how far the fingertips lie on the side of `palm_normal`, a mean over four fingers and their lengths.

    Fingers bend into the palm only, so it is positive for a right hand and negative for a left one; near zero for
    a flat hand, which tells nothing.
    """
    normal, total = palm_normal(landmarks), 0.0
    for name in FINGERS[1:]:
        finger = landmarks[TIPS[name]] - landmarks[ROOTS[name]]
        total += float(finger @ normal) / max(_finger_length(landmarks, name), 1e-6)
    return total / 4.0


def _finger_length(landmarks: np.ndarray, name: str) -> float:
    root = ROOTS[name]
    return float(np.linalg.norm(np.diff(landmarks[root : root + 4], axis=0), axis=1).sum())


def bone_lengths(landmarks: np.ndarray) -> np.ndarray:
    """[m] (20,) in the order of BONES."""
    return np.array([np.linalg.norm(landmarks[b] - landmarks[a]) for a, b in BONES])


def implausible(landmarks: np.ndarray) -> str:
    """Why these points are no hand, in words; "" when they may be one."""
    if not np.all(np.isfinite(landmarks)):
        return "points that are not finite"
    palm = palm_length(landmarks)
    if not 0.04 <= palm <= 0.15:
        return f"a palm of {100 * palm:.1f} cm; legal: 4 to 15 cm"
    worst = float(bone_lengths(landmarks).max())
    return f"a bone of {100 * worst:.1f} cm in a palm of {100 * palm:.1f} cm" if worst > 1.6 * palm else ""
