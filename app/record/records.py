"""What the records of a recording's log mean, and how a Frame becomes one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from app.record.packing import plain

# kinds of record in the framed log
START = 1  # once, first: scene, versions, settings, positions of row 0
FRAME = 2  # one physics step
KEYFRAME = 3  # exact state at a row
NOTE = 4  # events and requests of frames in which nothing moved
LABEL = 5  # success, failure, discard or none, and the instruction
STOP = 6  # the operator ended the recording; absent after a crash
LAYOUT = 7  # the columns of the steps to come (`app.record.step_codec`)
STEP = 8  # one physics step; FRAME is what versions before 3 of the log wrote

FORMAT_NAME = "tacktile-episode"
FORMAT_VERSION = 3  # of the episode file; raise it when a reader of the version before would misread

LABELS = ("success", "failure", "discard")

POINT_FORCES = ("contact_force", "friction_force")  # of Signals: on every point, for looking; sums stand beside them
ROUND_UP, KEPT_BITS = np.uint32(0x1000), np.uint32(0xFFFFE000)
SMALLEST_FORCE = np.float32(1e-6)  # [N]
GROUPS = ("sample", "status", "command", "control", "report", "signals")
SINGLE_PRECISION_FROM = 256  # numbers: per-point forces are measurements, 7 digits are enough; targets stay exact


def note_record(frame: Any) -> dict[str, Any]:
    """Events and requests of a frame, empty when it has none."""
    note: dict[str, Any] = {}
    if frame.events:
        note["events"] = [str(text) for text in frame.events]
    if frame.requests:
        note["requests"] = [[request.verb, plain(request.value)] for request in frame.requests]
    return note


def rounded_bits(force: np.ndarray) -> np.ndarray:
    """float32 with 11 significant bits, so off by 0.05 % at most. The last bits of forces on thousands of points are
    noise of the solver that no compression can shrink: they were two thirds of an episode."""
    single = np.ascontiguousarray(force, np.float32)
    flat = single.reshape(-1)
    kept = single.view(np.uint32) + ROUND_UP
    kept &= KEPT_BITS
    if not math.isfinite(np.dot(flat, flat)):  # not a number, or infinite: to the bit
        special = ~np.isfinite(single)
        kept[special] = single.view(np.uint32)[special]
    return kept.view(np.float32)


def without_traces(force: np.ndarray) -> np.ndarray:
    """The same float32 with everything below 1 uN as zero."""
    return np.where(np.abs(force) < SMALLEST_FORCE, np.float32(0.0), force)
