"""What is wrong or odd in an episode, before someone trains on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from app.record.episode import Episode

IDLE_SECONDS = 2.0  # [s] without a command at either end that are worth a word
_SLICE_BYTES = 32 * 1024 * 1024
FROZEN_SECONDS = 1.0  # [s] of simulated time without a new reading while driving


@dataclass(frozen=True)
class Finding:
    severity: str  # "error": do not train on it; "warning": look at it; "note"
    text: str


def validate(episode: Episode, positions: bool = True, tick: Callable[[], None] = lambda: None) -> list[Finding]:
    """Findings, errors first. An empty list means nothing was found; damaged data is a finding, not an exception.

    `tick` is called before each column that is read; what it raises ends the look.
    """
    found: list[Finding] = []
    watched = _Watched(episode, tick)
    checks = [_lengths, _clocks, _dropped, _input, _origin]
    if positions:
        checks.append(_positions)
    for check in checks:
        try:
            found += check(watched)
        except _Ended as ended:
            raise ended.__cause__ from None
        except Exception as error:  # unreadable data is what this looks for
            found.append(Finding("error", f"{type(error).__name__}: {error}"))
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


class _Ended(Exception):
    """What `tick` raised is its cause."""


class _Watched:
    """An episode whose columns are read with a tick before each."""

    def __init__(self, episode: Episode, tick: Callable[[], None]):
        self._episode, self._tick = episode, tick

    def __getattr__(self, name: str):
        return getattr(self._episode, name)

    def __contains__(self, path: str) -> bool:
        return path in self._episode

    def __getitem__(self, path: str):
        self._ticked()
        return self._episode[path]

    def rows(self, path: str, start: int, stop: int):
        self._ticked()
        return self._episode.rows(path, start, stop)

    def _ticked(self) -> None:
        try:
            self._tick()
        except Exception as error:
            raise _Ended from error


def _lengths(episode: Episode) -> list[Finding]:
    """Every column is read once: all rows are there, and numbers that must be finite are."""
    found = []
    count = episode.num_frames
    if count == 0:
        found.append(Finding("error", "no frames"))
    for path in episode.columns():
        size, rows, bad = episode.column_length(path), 0, 0
        watched = path.startswith(("control/", "command/twist", "sample/twist", "signals/"))
        if size == count:
            for part in _slices(episode, path):
                rows += len(part)
                if watched:
                    bad += _not_finite(part, path.endswith("min_distance"))
        if rows != count or size != count:
            found.append(Finding("error", f"column {path} has {size} rows, the episode {count} frames"))
        if bad:
            found.append(Finding("error" if path.startswith("control/") else "warning", f"{path}: {bad} not finite"))
    for name, size in (("points/code", episode.num_position_rows), ("state/hash", len(episode.hashes()))):
        if size not in (None, count + 1):
            found.append(Finding("error", f"{name} has {size} rows, expected {count + 1} (frames + 1)"))
    return found


def _clocks(episode: Episode) -> list[Finding]:
    found = []
    starts = {row for row, _ in episode.segments()}
    for name, strict, severity in (
        ("simulated", True, "error"),
        ("monotonic", False, "warning"),
        ("wall", False, "warning"),
        ("device", False, "warning"),
        ("receive", False, "warning"),
    ):
        if f"time/{name}" not in episode:
            continue
        clock = np.asarray(episode[f"time/{name}"], dtype=np.float64)
        step = np.diff(clock)
        bad = [i + 1 for i in np.flatnonzero((step <= 0) if strict else (step < 0)) if i + 1 not in starts]
        if bad:
            found.append(Finding(severity, f"the {name} clock does not advance at frame {bad[0]} ({len(bad)} times)"))
    return found


def _dropped(episode: Episode) -> list[Finding]:
    index = np.asarray(episode["frame/index"])
    starts = {row for row, _ in episode.segments()}
    gaps = [i + 1 for i in np.flatnonzero(np.diff(index) != 1) if i + 1 not in starts]
    found = [Finding("warning", f"{len(gaps)} gaps in the frame counter, first at frame {gaps[0]}")] if gaps else []
    unannounced = [row for row, reason in episode.segments() if "without notice" in reason]
    if unannounced:
        found.append(Finding("warning", f"the state changed without notice before frames {unannounced[:5]}"))
    return found


def _not_finite(values: np.ndarray | list, may_be_infinite: bool) -> int:
    """may_be_infinite: a smallest gap is when nothing is near."""
    arrays = [values] if isinstance(values, np.ndarray) else [v for v in values if isinstance(v, np.ndarray)]
    wrong = np.isnan if may_be_infinite else (lambda a: ~np.isfinite(a))
    return sum(int(np.sum(wrong(a))) for a in arrays if a.dtype.kind == "f")


def _slices(episode: Episode, path: str) -> Iterator[np.ndarray | list]:
    """A column, a piece at a time: forces on all points of a long recording do not fit into memory."""
    count, start = episode.num_frames, 0
    step = episode.rows_of(path, _SLICE_BYTES)
    while start < count:
        part = episode.rows(path, start, min(start + step, count))
        yield part
        start += step
        size = getattr(part, "nbytes", 0) or sum(getattr(v, "nbytes", 64) for v in part)
        step = max(1, min(step, _SLICE_BYTES * len(part) // max(size, 1)))


def _positions(episode: Episode) -> list[Finding]:
    if not episode.num_points:
        return []
    for row in range(episode.num_frames + 1):
        lost = np.isnan(episode.positions(row)).any(axis=1)
        if lost.any():
            return [Finding("error", f"{int(lost.sum())} points are not finite from row {row} on")]
    return []


def _input(episode: Episode) -> list[Finding]:
    found = []
    dt = np.asarray(episode["time/dt"], dtype=np.float64)
    if "command/twist" in episode:
        moving = _moving(episode)
        if not moving.any():
            found.append(Finding("warning", "no command in the whole episode"))
        else:
            for seconds, where in zip(idle_ends(episode), ("start", "end"), strict=True):
                if seconds > IDLE_SECONDS:
                    found.append(Finding("note", f"idle for {seconds:.1f} s at the {where}"))
        if "sample/sequence" in episode:
            frozen = _longest_frozen(np.asarray(episode["sample/sequence"], dtype=np.float64), moving, dt)
            if frozen > FROZEN_SECONDS:
                found.append(Finding("warning", f"the input was frozen for {frozen:.1f} s while it drove"))
    return found


def idle_ends(episode: Episode) -> tuple[float, float]:
    """Simulated time without a command before the first one and after the last [s]; all of it when there is none."""
    dt = np.asarray(episode["time/dt"], dtype=np.float64)
    active = np.flatnonzero(_moving(episode)) if "command/twist" in episode else []
    if not len(active):
        return float(dt.sum()), 0.0
    return float(dt[: active[0]].sum()), float(dt[active[-1] + 1 :].sum())


def _moving(episode: Episode) -> np.ndarray:
    """Frames in which the operator asked for motion, bool (T,)."""
    moving = np.abs(np.nan_to_num(episode["command/twist"])).max(axis=1) > 0
    for path in ("command/gripper_rate", "command/pose_delta"):
        if path in episode:
            value = np.nan_to_num(np.asarray(episode[path], dtype=np.float64)).reshape(len(moving), -1)
            moving |= np.any(np.abs(np.diff(value, axis=0, prepend=value[:1])) > 0, axis=1)
            if path.endswith("rate"):
                moving |= np.abs(value).max(axis=1) > 0
    return moving


def _longest_frozen(sequence: np.ndarray, moving: np.ndarray, dt: np.ndarray) -> float:
    """Longest simulated time with a non-zero command and no new reading [s]."""
    longest = run = 0.0
    for i in range(1, len(sequence)):
        run = run + dt[i] if moving[i] and sequence[i] == sequence[i - 1] else 0.0
        longest = max(longest, run)
    return longest


def _origin(episode: Episode) -> list[Finding]:
    found = [Finding("warning", str(text)) for text in episode.meta.get("problems") or []]
    if episode.meta.get("recovered"):
        found.append(Finding("note", "recovered after the application ended unexpectedly"))
    if not len(episode.keyframe_rows):
        found.append(Finding("note", "no exact states: it can be shown, not replayed by inputs"))
    return found
