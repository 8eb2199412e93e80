"""What every tracked hand goes through, whoever tracks it: gate by confidence, filter, pinch, and the mirror test.

Keeps a little history of its own; one object a hand. Not thread safe: its device holds a lock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from devices import hand_geometry as hand
from devices.one_euro import OneEuro

GATE_ON, GATE_OFF = 0.6, 0.4  # [-] confidence at which a lost hand counts again, and a seen one no longer
MIRROR_EVIDENCE = 1.5  # [-] sum of bends on the wrong side, over frames, before the picture is called mirrored
MIRROR_MEMORY = 60.0  # [frames] over which evidence fades
LEAST_BEND = 0.12  # [-] a hand flatter than this tells nothing


@dataclass(frozen=True)
class HandState:
    """What a device hands out of a hand."""

    valid: bool
    reason: str = ""  # why it is not valid
    landmarks: np.ndarray | None = None  # [m] (21, 3) filtered, device frame
    pose: np.ndarray | None = None  # (7,) `hand_geometry.hand_pose`
    closure: float = 0.0  # [0, 1] of the pinch


class HandStream:
    """side: "left" or "right", what the hand is said to be. filtered: False leaves the points as they come."""

    def __init__(self, side: str, filtered: bool = True):
        self.side = side
        self._filter = OneEuro() if filtered else None
        self._open = False
        self._evidence = 0.0  # sums bends on the expected side, within +-2 MIRROR_EVIDENCE

    @property
    def mirrored(self) -> bool:
        """The fingers have been bending away from the palm: the other hand, or a picture turned left to right."""
        return self._evidence < -MIRROR_EVIDENCE

    def take(self, joints: np.ndarray, confidence: float, time: float) -> HandState:
        """One reading: joints (21 or 26, 3) [m] in the device frame, time [s]. Raises nothing for strange points."""
        try:
            landmarks = hand.landmarks_of(joints)
        except ValueError as error:
            return self._lost(str(error))
        problem = hand.implausible(landmarks)
        if problem:
            return self._lost(f"this is no hand: {problem}")
        self._open = confidence >= (GATE_OFF if self._open else GATE_ON)
        if not self._open:
            return self._lost(f"the hand is seen with a confidence of {confidence:.2f} only")
        self._weigh(landmarks)
        if self.mirrored:
            other = "left" if self.side == "right" else "right"
            return self._lost(
                f"this looks like a {other} hand: the picture is mirrored (start the camera with --mirror or without), "
                f"or show the {self.side} hand",
                keep_gate=True,
            )
        if self._filter is not None:
            landmarks = self._filter(landmarks, time)
        try:
            pose = hand.hand_pose(landmarks)
        except ValueError as error:
            return self._lost(str(error))
        return HandState(True, "", landmarks, pose, hand.pinch_closure(landmarks))

    def _weigh(self, landmarks: np.ndarray) -> None:
        bend = hand.bend_towards_normal(landmarks) * (1.0 if self.side == "right" else -1.0)
        self._evidence *= 1.0 - 1.0 / MIRROR_MEMORY
        if abs(bend) > LEAST_BEND:
            most = 2.0 * MIRROR_EVIDENCE
            self._evidence = float(np.clip(self._evidence + 0.2 * bend, -most, most))

    def _lost(self, reason: str, keep_gate: bool = False) -> HandState:
        if not keep_gate:
            self._open = False
        if self._filter is not None:
            self._filter.reset()
        return HandState(False, reason)
