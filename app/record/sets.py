"""What is done to episodes afterwards: trim, trash, merge, numbers about a set. Nothing here destroys frames."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.record import folder as files
from app.record.episode import Episode, EpisodeError
from app.record.listing import EpisodeInfo, list_episodes
from app.record.records import LABELS
from app.record.summary import episode_summary, forces
from app.record.validate import Finding, idle_ends, validate


class SetError(Exception):
    """It cannot be done; the text says why."""


def look_over(path: Path, tick: Callable[[], None] = lambda: None) -> list[Finding]:
    """Validates a sealed episode and keeps the findings in its meta file, for lists and filters.

    Positions are left out: they take as long again. Never raises for a damaged episode; an error of the disk while the
    findings are stored is not worth a word.
    """
    try:
        with Episode(path) as episode:
            findings = validate(episode, positions=False, tick=tick)
            meta = dict(episode.meta)
            with suppress(EpisodeError):  # then the findings tell of it
                meta["summary"] = episode_summary(episode)
    except (EpisodeError, OSError) as error:
        return [Finding("error", str(error))]
    meta["findings"] = [[finding.severity, finding.text] for finding in findings]
    try:
        files.write_meta(path, meta)
    except OSError:
        pass
    return findings


# -- trim


def trim(path: Path, start: float = 0.0, end: float | None = None) -> tuple[int, int]:
    """Keep only what lies between two moments of simulated time since the episode's begin [s]; `end` None: to its end.

    Stored in the meta file: exports leave the rest out, replay still shows it, and `trim(path)` takes it back. Returns
    the frames kept, first and last + 1. Raises SetError when nothing would be left, EpisodeError, OSError.
    """
    with Episode(path) as episode:
        meta, time = dict(episode.meta), episode.time.states
        duration = float(time[-1])
        end = duration if end is None else end
        if not 0.0 <= start < end or start >= duration:
            raise SetError(f"{episode.name} lasts {duration:.2f} s; {start:.2f} to {end:.2f} s keeps nothing of it")
        first = int(np.searchsorted(time, start - 1e-9))
        last = max(int(np.searchsorted(time, end + 1e-9, side="right")) - 1, first + 1)
    return _store_trim(path, meta, first, last, len(time) - 1)


def trim_idle(path: Path, margin: float = 0.2) -> tuple[int, int]:
    """Trim to where commands were given, and `margin` [s] on both sides. Without any command nothing is trimmed."""
    with Episode(path) as episode:
        meta, duration = dict(episode.meta), float(episode.time.states[-1])
        before, after = idle_ends(episode)
    if before + after >= duration:
        return _store_trim(path, meta, 0, int(meta["num_frames"]), int(meta["num_frames"]))
    return trim(path, max(0.0, before - margin), min(duration, duration - after + margin))


def _store_trim(path: Path, meta: dict[str, Any], first: int, last: int, count: int) -> tuple[int, int]:
    meta.pop("trim", None)
    if (first, last) != (0, count):
        meta["trim"] = [first, last]
    files.write_meta(path, meta)
    return first, last


# -- trash


def discard(path: Path) -> Path:
    """Move an episode into the trash beside it; returns where it lies now."""
    return files.relabel(path, "discard")


def undo_discard(folder: Path) -> Path | None:
    """Bring back what was discarded last, with the label it had; None when the trash is empty."""
    place = folder / files.TRASH
    thrown = files.scan(place, ".h5")
    if not thrown:
        return None

    def when(path: Path) -> float:
        meta = files.meta_path(path)
        return (meta if meta.exists() else path).stat().st_mtime

    return restore(max(thrown, key=when))


def restore(path: Path) -> Path:
    """Bring one episode back from the trash, with the label it had."""
    if path.parent.name != files.TRASH:
        raise SetError(f"{path.name} is not in a folder called {files.TRASH}")
    before = (files.read_meta(path) or {}).get("label_before")
    return files.relabel(path, before if before in LABELS and before != "discard" else None)


# -- merge


@dataclass
class Merged:
    """What became of each episode."""

    copied: list[tuple[str, str]] = field(default_factory=list)  # (folder/name before, name now)
    known: list[str] = field(default_factory=list)  # the same file was there already
    left: list[str] = field(default_factory=list)  # cannot be opened, or is not sealed; with the reason


def merge(
    sources: Sequence[Path], target: Path, progress: Callable[[str, float], None] = lambda text, done: None
) -> Merged:
    """Copy the episodes of several folders into one, each under a new number there. The sources stay as they are.

    An episode that the target holds already, byte for byte, is not copied again, so a merge that was interrupted is
    simply repeated. Labels, trims and instructions come along. Raises SetError: a source is the target or no folder;
    OSError: the disk refuses.
    """
    for source in sources:
        if not source.is_dir():
            raise SetError(f"{source} is not a folder")
        if target.exists() and source.samefile(target):
            raise SetError(f"{source} is the target itself")
    result = Merged()
    target.mkdir(parents=True, exist_ok=True)
    there = {_digest(path) for path in files.scan(target, ".h5")}
    found = [info for source in sources for info in list_episodes(source)]
    for number, info in enumerate(found):
        name = f"{info.path.parent.name}/{info.name}"
        progress(name, number / len(found))
        if not info.sealed or info.problem:
            result.left.append(f"{name}: {info.problem}")
            continue
        digest = _digest(info.path)
        if digest in there:
            result.known.append(name)
            continue
        there.add(digest)
        result.copied.append((name, _copy(info.path, target)))
    return result


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _copy(path: Path, target: Path) -> str:
    name = files.episode_name(files.next_number(target))
    episode = target / f"{name}.h5"
    part = episode.with_name(episode.name + ".part")
    try:
        shutil.copyfile(path, part)
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        with Episode(path) as source:
            meta = dict(source.meta)
        # the meta file first: an episode without one would show the label of its recording
        files.write_meta(episode, meta | {"merged_from": path.name.split(".")[0]})
        os.replace(part, episode)
    except BaseException:
        part.unlink(missing_ok=True)
        if not episode.exists():
            files.meta_path(episode).unlink(missing_ok=True)
        raise
    for beside in (files.picture_path, files.cameras_path):
        if beside(path).exists():
            shutil.copyfile(beside(path), beside(episode))
    files.sync_folder(target)
    return name


# -- numbers


@dataclass(frozen=True)
class SetStatistics:
    """Numbers about a set."""

    episodes: int
    labels: dict[str, int]  # "success", "failure", "none"
    scenes: dict[str, int]
    frames: int
    seconds: float  # [s] simulated
    wall_seconds: float  # [s] that recording took
    shortest: float  # [s] simulated
    longest: float
    size: int  # [bytes]
    findings: dict[str, int]  # episodes whose worst finding is an "error", a "warning"
    unreadable: int
    force: dict[str, tuple[float, float]]  # pad or tool -> mean and largest force [N]

    @property
    def realtime_factor(self) -> float:
        """Simulated over wall time."""
        return self.seconds / self.wall_seconds if self.wall_seconds > 0.0 else float("nan")


def set_statistics(infos: Sequence[EpisodeInfo]) -> SetStatistics:
    """Of sealed episodes; opens each of them."""
    labels: dict[str, int] = {}
    scenes: dict[str, int] = {}
    findings: dict[str, int] = {}
    found: dict[str, list[np.ndarray]] = {}
    wall, lengths, unreadable = 0.0, [], 0
    for info in infos:
        if not info.sealed:
            continue
        try:
            with Episode(info.path) as episode:
                clock = episode.time.monotonic
                wall += float(clock[-1] - clock[0]) if len(clock) > 1 else 0.0
                for name, (_, values) in forces(episode).items():
                    found.setdefault(name, []).append(values)
        except EpisodeError:
            unreadable += 1
            continue
        labels[info.label or "none"] = labels.get(info.label or "none", 0) + 1
        scenes[info.scene_name] = scenes.get(info.scene_name, 0) + 1
        lengths.append(info.duration)
        if info.worst in ("error", "warning"):
            findings[info.worst] = findings.get(info.worst, 0) + 1
    joined = {name: np.concatenate(parts) for name, parts in found.items()}
    return SetStatistics(
        episodes=len(lengths), labels=labels, scenes=scenes, frames=sum(i.num_frames for i in infos if i.sealed),
        seconds=sum(lengths), wall_seconds=wall, shortest=min(lengths, default=0.0), longest=max(lengths, default=0.0),
        size=sum(info.size for info in infos), findings=findings, unreadable=unreadable,
        force={name: (float(np.nanmean(v)), float(np.nanmax(v))) for name, v in joined.items() if len(v)},
    )  # fmt: skip
