"""One episode while it is written: frames, exact states, labels and notes into its log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.record.framed_log import FramedLogWriter, LogError
from app.record.leaves import LeafReader
from app.record.packing import pack
from app.record.points import BLOCK, difference, encode_row, quantise, shuffle_bytes
from app.record.records import KEYFRAME, LABEL, LAYOUT, NOTE, START, STEP, STOP, note_record
from app.record.state_hash import HASH, state_hash
from app.record.step_codec import StepEncoder

GetState = Callable[[], dict[str, np.ndarray]]


@dataclass(frozen=True)
class RecorderSettings:
    keyframe_every: int = 150  # frames between exact states; more means smaller files and a longer way to any moment
    hash_every: int = 1  # frames between state hashes; the last frame has one anyway
    image_every: int = 3  # frames between tactile images; displacements and markers are in every frame
    # which entries of a pad are images
    image_names: tuple[str, ...] = ("rgb", "indentation", "pressure", "shear", "contact", "depth", "image")
    min_free_bytes: int = 300_000_000  # below this (plus what sealing needs) recording pauses: it never fills the disk
    sync_seconds: float = 2.0  # [s] how much a power loss may cost; a killed process loses nothing
    codec: str | None = None  # of the log: "zstd", "zlib", "raw"; None = the best installed


class Recording:
    """Writes one log. Every method raises LogError (DiskFullError), PackingError or TypeError when it cannot, and then
    has written and changed nothing."""

    def __init__(self, name: str, log: FramedLogWriter, get_state: GetState | None, settings: RecorderSettings):
        self.name, self.log = name, log
        self.label: str | None = None
        self.instruction = ""
        self.path: Path | None = None  # where the sealed episode lies
        self.failed = False  # sealing failed; the log is kept
        self.rows = 0  # frames stored; also the row of the present state
        self.duration = 0.0  # [s] simulated
        self._get_state, self._settings = get_state, settings
        self._um: np.ndarray | None = None  # positions of the last row [um] int32 (3, P)
        self._num_points: int | None = None
        self._hash = 0
        self._keyframe_row = -1
        self._last: tuple[int, float] | None = None  # index and simulated time of the last frame
        self._segment = ""  # why the next frame starts a segment
        self._leaves, self._steps = LeafReader(settings.image_names), StepEncoder()

    def begin(self, head: dict[str, Any], points: np.ndarray | None, time_sim: float, instruction: str) -> None:
        """First record, with row 0: positions [m] (P, 3) and exact state before the first step."""
        value = dict(head, instruction=instruction, time_wall=time.time(), time_sim=float(time_sim))
        um = None if points is None else quantise(points)
        if um is not None:
            value.update(num_points=um.shape[1], points=_point_bytes(um, None))
        state = None if self._get_state is None else self._get_state()
        if state is not None:
            value["hash"], value["hash_kind"] = state_hash(state), HASH
            self._hash = value["hash"]
        self.log.append(START, pack(value))
        self.instruction = instruction
        if um is not None:
            self._um, self._num_points = um, um.shape[1]
        if state is not None:
            self._append_keyframe(0, state)

    def write(self, frame: Any) -> None:
        """One physics step."""
        settings, row = self._settings, self.rows + 1
        leaves = self._leaves.read(frame, self.rows % settings.image_every == 0)
        extra: dict[str, Any] = {}  # what only some steps have
        um, points = self._encode_points(frame, extra, row)
        unannounced = not self._segment and self._is_jump(frame)
        segment = "the state was changed without notice" if unannounced else self._segment
        if segment:
            extra["segment"] = segment
        note = note_record(frame)
        if note:
            extra["note"] = note
        keyframe = row % settings.keyframe_every == 0 or unannounced
        state, known = None, 0
        if self._get_state is not None and (keyframe or row % settings.hash_every == 0):
            state = self._get_state()
            known = state_hash(state)
        count = 0 if um is None else um.shape[1]
        payload, layout = self._steps.encode(leaves, row, known, count, points, extra)
        if layout is not None:
            self.log.append(LAYOUT, pack({"columns": [list(column) for column in layout.columns]}))
            self._steps.settled()
        self.log.append(STEP, payload)
        # only now, with the frame in the system's hands, does the recording move on
        self._num_points = count or self._num_points
        self.rows, self._um, self._last = row, um, (frame.index, frame.time_sim)
        self.duration += frame.dt
        self._hash, self._segment = known, ""
        if keyframe and state is not None:
            self._append_keyframe(row, state)

    def note(self, frame: Any) -> None:
        """Events and requests of a frame in which nothing moved."""
        note = note_record(frame)
        if note:
            self.log.append(NOTE, pack(note))

    def restart(self, reason: str) -> None:
        """The state was changed since the last frame; the next one is stepped from the present state."""
        self._segment = reason
        if self._get_state is not None:
            self._append_keyframe(self.rows, self._get_state(), restart=True)

    def store_label(self, label: str | None) -> None:
        """Into the log, so that a kill before it is sealed does not lose the label."""
        self.log.append(LABEL, pack({"label": label, "instruction": self.instruction}))

    def finish(self, unchanged: bool = True) -> None:
        """Exact state of the last row, and the mark that the end was meant. `unchanged`: no frame was left out."""
        stop: dict[str, Any] = {"row": self.rows}
        if self._get_state is not None and self.rows and self._keyframe_row != self.rows:
            state = self._get_state()
            known = state_hash(state)
            # one that was changed after the last frame is not that row's state
            if known == self._hash or (not self._hash and unchanged and not self._segment):
                self._append_keyframe(self.rows, state)
                stop["hash"] = known
        self.log.append(STOP, pack(stop))

    def _is_jump(self, frame: Any) -> bool:
        return self._last is not None and (frame.index != self._last[0] + 1 or frame.time_sim <= self._last[1])

    def _encode_points(self, frame: Any, extra: dict[str, Any], row: int) -> tuple[np.ndarray | None, Any]:
        """Micrometres (3, P) and what changed in them; None and nothing when there are no positions."""
        um = self._um if frame.points is None else quantise(frame.points)
        previous, count = self._um, self._num_points
        if um is None or (count is None and row != 1):
            return None, b""  # no positions, or such that begin in the middle: they have no place in the rows
        if count is None:  # not known at the start: row 0 is a copy of row 1
            count, previous = um.shape[1], um
            extra["points0"] = _point_bytes(um, None)
        if um.shape[1] != count:
            if not self._segment:  # a cut, or one taken back, is announced by `restart`
                raise LogError(f"the scene has {um.shape[1]} points now, the recording began with {count}")
            previous = None
        changed = difference(um, None if row % BLOCK == 0 else previous)
        return um, np.ascontiguousarray(changed.T)  # as it lies in memory, so that nothing is copied

    def _append_keyframe(self, row: int, state: dict[str, np.ndarray], restart: bool = False) -> None:
        arrays = {name: np.asarray(array) for name, array in state.items()}
        self.log.append(KEYFRAME, pack({"row": row, "restart": restart, "state": arrays}))
        if not restart:
            self._keyframe_row = row


def _point_bytes(um: np.ndarray, previous: np.ndarray | None) -> np.ndarray:
    return np.frombuffer(shuffle_bytes(encode_row(um, previous)), dtype=np.uint8)
