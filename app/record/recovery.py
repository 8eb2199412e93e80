"""What a killed process left behind becomes episodes again, at the next start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.record import folder as files
from app.record.episode import Episode, EpisodeError
from app.record.framed_log import FramedLogReader, LogError, claim_log, is_disk_full
from app.record.seal import seal_log
from app.record.sets import look_over


@dataclass(frozen=True)
class Recovered:
    """What became of one log."""

    name: str  # "episode_0007"
    path: Path | None  # of the episode, None when there is none
    num_frames: int
    lost_bytes: int  # behind the last whole record
    text: str  # for the operator


def recover(folder: str | Path, progress: Callable[[str, float], None] | None = None) -> list[Recovered]:
    """Seal every log that no living process writes. To be called at start.

    Nothing is ever thrown away that holds a frame: a log with a damaged part is sealed up to the damage and kept as
    `episode_NNNN.log.damaged`. What cannot be done now (disk full, newer version) is said and left for the next time.
    """
    place = Path(folder)
    if not place.is_dir():
        return []
    found = []
    for log in files.scan(place, ".log"):
        name = log.name.split(".")[0]
        with claim_log(log) as claimed:
            if claimed:
                log.with_suffix(".h5.part").unlink(missing_ok=True)
                found.append(_recover_one(log, name, progress))
            elif log.exists():
                found.append(Recovered(name, None, 0, 0, f"{name} is being recorded by another window; left alone"))
    return found


def _recover_one(log: Path, name: str, progress) -> Recovered:
    episode = log.with_suffix(".h5")
    if _is_whole(episode):  # killed between the last two steps of sealing
        log.unlink()
        return Recovered(name, _file_away(episode), _length(episode), 0, f"{name} was already saved")
    report = None if progress is None else (lambda done: progress(name, done))
    try:
        sealed = seal_log(log, recovered=True, progress=report)
    except LogError as error:
        if log.stat().st_size <= 16 or _is_blank(log):  # killed before the first record
            log.unlink()
            return Recovered(name, None, 0, 0, f"{name} was empty and is removed")
        return Recovered(name, None, 0, 0, f"{name} could not be recovered: {error}. The log is kept.")
    except OSError as error:
        why = "the disk is full" if is_disk_full(error) else (error.strerror or str(error))
        return Recovered(name, None, 0, 0, f"{name} waits for recovery: {why}. The log is kept.")
    # a torn record at the very end is how a kill looks; a damaged one with more behind it deserves to be kept
    damaged = bool(sealed.tail.reason) and "torn" not in sealed.tail.reason
    if sealed.path is None and not damaged:
        log.unlink()
        return Recovered(name, None, 0, sealed.tail.lost_bytes, f"{name} held no frame and is removed")
    if damaged:
        log.replace(log.with_name(log.name + ".damaged"))
    else:
        log.unlink()
    if sealed.path is None:
        return Recovered(
            name, None, 0, sealed.tail.lost_bytes, f"{name}: {sealed.tail.reason}; kept as {name}.log.damaged"
        )
    look_over(sealed.path)
    text = f"{name} recovered: {sealed.num_frames} frames, {sealed.meta['duration']:.1f} s"
    if damaged:
        text += f"; {sealed.tail.lost_bytes} bytes behind them are damaged and kept as {name}.log.damaged"
    return Recovered(name, _file_away(sealed.path), sealed.num_frames, sealed.tail.lost_bytes, text)


def _file_away(episode: Path) -> Path:
    """An episode that was discarded before the process died goes to the trash."""
    meta = files.read_meta(episode) or {}
    return files.relabel(episode, "discard") if meta.get("label") == "discard" else episode


def _is_whole(path: Path) -> bool:
    if files.read_meta(path) is None:
        return False
    try:
        with Episode(path):
            return True
    except (EpisodeError, OSError):
        return False


def _length(path: Path) -> int:
    return int((files.read_meta(path) or {}).get("num_frames", 0))


def _is_blank(log: Path) -> bool:
    """True when the file header is whole and nothing whole follows."""
    try:
        reader = FramedLogReader(log)
    except LogError:
        return False
    return next(iter(reader), None) is None and "torn" in (reader.tail.reason or "torn")
