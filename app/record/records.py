"""What the records of a recording's log mean, and how a Frame becomes one."""

from __future__ import annotations

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

FORMAT_NAME = "tacktile-episode"
FORMAT_VERSION = 2  # of the episode file; raise it when a reader of the version before would misread
FIXED_POINTS_VERSION = 1  # of a file whose number of points never changes: readers of version 1 open it too

LABELS = ("success", "failure", "discard")

_POINT_FORCES = ("contact_force", "friction_force")  # of Signals: on every point, for looking; sums stand beside them
_SMALLEST_BITS = np.float32(1e-6).view(np.uint32)  # [N] as a float32: they sort like whole numbers
_GROUPS = ("sample", "status", "command", "control", "report", "signals")
_SINGLE_PRECISION_FROM = 256  # numbers: per-point forces are measurements, 7 digits are enough; targets stay exact


def frame_record(frame: Any, image_names: tuple[str, ...] = (), with_images: bool = True) -> dict[str, Any]:
    """Nested dict of everything in a Frame but its positions, requests and events.

    `frame` needs the fields of app.frame.Frame; sample, command, control, report and signals may be any dataclass, so
    that fields added to them later are recorded without a change here. Large float64 arrays of `signals` and `tactile`
    become float32. Images (entries of `frame.extra["tactile"][pad]` called as in `image_names`) are left out unless
    `with_images`.
    """
    sample = frame.sample
    record = {
        "time": {
            "simulated": float(frame.time_sim),
            "wall": float(frame.time_wall),
            "monotonic": float(frame.time_mono),
            "device": None if sample is None else sample.t_device,
            "receive": None if sample is None else float(sample.t_receive),
            "dt": float(frame.dt),
        },
        "frame": {
            "index": int(frame.index),
            "mode": frame.mode,
            "paused_reason": frame.paused_reason,
            "realtime_factor": float(frame.realtime_factor),
        },
    }
    for name in _GROUPS:
        value = getattr(frame, name, None)
        if value is not None:
            record[name] = plain(value)
    extra = plain(frame.extra) if frame.extra else {}
    tactile = extra.pop("tactile", None)
    if isinstance(tactile, dict):
        record["tactile"] = tactile if with_images else _without(tactile, image_names)
    if extra:
        record["extra"] = extra
    for name in ("signals", "tactile"):
        if name in record:
            record[name] = _single_precision(record[name])
    return record


def note_record(frame: Any) -> dict[str, Any]:
    """Events and requests of a frame, empty when it has none."""
    note: dict[str, Any] = {}
    if frame.events:
        note["events"] = [str(text) for text in frame.events]
    if frame.requests:
        note["requests"] = [[request.verb, plain(request.value)] for request in frame.requests]
    return note


def rounded_forces(force: np.ndarray) -> np.ndarray:
    """float32 with 11 significant bits, so off by 0.05 % at most; below 1 uN zero. The last bits of forces on thousands
    of points are noise of the solver that no compression can shrink: they were two thirds of an episode."""
    with np.errstate(over="ignore"):
        single = force.astype(np.float32)
    bits = single.view(np.uint32)
    kept = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    kept *= magnitude >= _SMALLEST_BITS
    if magnitude.max(initial=0) >= 0x7F800000:  # not a number, or infinite
        special = magnitude >= 0x7F800000
        kept[special] = bits[special]
    return kept.view(np.float32)


def _without(tree: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {k: _without(v, names) if isinstance(v, dict) else v for k, v in tree.items() if k not in names}


def _single_precision(tree: Any, name: str = "") -> Any:
    if isinstance(tree, dict):
        return {key: _single_precision(value, key) for key, value in tree.items()}
    if isinstance(tree, np.ndarray) and tree.dtype.kind == "f" and name in _POINT_FORCES:
        return rounded_forces(tree) if tree.size > _SINGLE_PRECISION_FROM else tree
    if isinstance(tree, np.ndarray) and tree.dtype == np.float64 and tree.size > _SINGLE_PRECISION_FROM:
        with np.errstate(over="ignore"):
            return tree.astype(np.float32)
    return tree
