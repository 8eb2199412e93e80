"""What a browser shows of each episode: read from its meta file and the small picture beside it, nothing larger."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.record import Episode, EpisodeError, list_episodes
from app.record import folder as files
from app.record.listing import EpisodeInfo
from app.record.summary import episode_summary, sparkline

FILTERS = ("all", "success", "failure", "unlabelled", "findings")
MAX_PICTURE_BYTES = 256 * 1024
Paint = Callable[[str, np.ndarray], "bytes | None"]  # scene name, positions (P, 3) [m] -> PNG, None: not this scene


@dataclass(frozen=True)
class EpisodeRow:
    """One line. Times in simulated seconds since the episode's begin."""

    path: Path
    set_name: str  # name of the folder it lies in
    name: str
    seconds: float
    frames: int
    label: str | None
    scene: str
    created: str  # "2026-11-30 20:15", local time
    instruction: str
    size: int  # [bytes]
    findings: tuple[tuple[str, str], ...]  # (severity, text)
    kept: tuple[float, float] | None  # what a trim keeps [s]
    trace_of: str  # "pads", "tool" or "": what the sparkline sums over
    trace: np.ndarray  # (k,) [N]
    picture: bytes | None  # PNG
    problem: str  # "" or why it cannot be opened
    wall_seconds: float = 0.0

    @property
    def peak(self) -> float:
        """[N]"""
        return float(self.trace.max(initial=0.0))

    @property
    def worst(self) -> str:
        severities = {severity for severity, _ in self.findings}
        return next((s for s in ("error", "warning") if s in severities), "")


def read_row(info: EpisodeInfo, paint: Paint | None = None) -> EpisodeRow:
    """The line of an episode. What older recordings lack (numbers, picture) is made now, and kept beside the episode
    where the folder can be written."""
    meta = files.read_meta(info.path) or {}
    summary, picture = meta.get("summary"), read_picture(info.path)
    if info.sealed and not info.problem and (not isinstance(summary, dict) or (picture is None and paint is not None)):
        summary, picture = _complete(info, meta, summary, picture, paint)
    title, trace = sparkline(summary if isinstance(summary, dict) else None)
    wall = summary.get("wall_seconds") if isinstance(summary, dict) else None
    kept = None
    if info.trim is not None and info.num_frames:
        kept = tuple(info.duration * min(max(row / info.num_frames, 0.0), 1.0) for row in info.trim)
    place = info.path.parent
    return EpisodeRow(
        path=info.path, set_name=(place.parent if place.name == files.TRASH else place).name, name=info.name,
        seconds=info.duration, frames=info.num_frames, label=info.label, scene=info.scene_name,
        created=_local(info.created), instruction=info.instruction, size=info.size, findings=info.findings,
        kept=kept, trace_of=title, trace=trace, picture=picture, problem=info.problem,
        wall_seconds=float(wall) if isinstance(wall, (int, float)) else 0.0,
    )  # fmt: skip


def _complete(info: EpisodeInfo, meta: dict[str, Any], summary: Any, picture: bytes | None, paint: Paint | None):
    try:
        with Episode(info.path) as episode:
            if not isinstance(summary, dict):
                summary = episode_summary(episode)
                files.write_meta(info.path, {**episode.meta, "summary": summary})
            if picture is None and paint is not None and episode.num_points:
                picture = paint(info.scene_name, episode.positions(episode.num_frames))
                if picture is not None:
                    files.write_picture(info.path, picture)
    except (EpisodeError, OSError):
        pass  # a read-only folder, or damage that the list tells of by itself
    return summary, picture


def read_picture(episode: Path) -> bytes | None:
    path = files.picture_path(episode)
    try:
        return path.read_bytes() if path.stat().st_size <= MAX_PICTURE_BYTES else None
    except OSError:
        return None


def read_folder(
    folder: Path, trash: bool, paint: Paint | None, tick: Callable[[int, int], None] = lambda done, all_: None
) -> list[EpisodeRow]:
    """All lines of a folder, the newest first. `tick(done, all)` is called before each; what it raises ends it."""
    infos = [info for info in list_episodes(folder, trash) if info.sealed or info.problem]
    rows = []
    for number, info in enumerate(reversed(infos)):
        tick(number, len(infos))
        rows.append(read_row(info, paint))
    return rows


def chosen(rows: Sequence[EpisodeRow], label: str, scene: str, words: str) -> list[EpisodeRow]:
    """Rows that a filter lets through: `label` one of FILTERS, `scene` "" for all, `words` anywhere in name,
    instruction or set."""
    wanted = words.lower().split()

    def fits(row: EpisodeRow) -> bool:
        by_label = {
            "all": True, "success": row.label == "success", "failure": row.label == "failure",
            "unlabelled": row.label is None, "findings": bool(row.worst or row.problem),
        }[label]  # fmt: skip
        text = f"{row.name} {row.instruction} {row.set_name} {row.scene}".lower()
        return by_label and scene in ("", row.scene) and all(word in text for word in wanted)

    return [row for row in rows if fits(row)]


@dataclass(frozen=True)
class SetNumbers:
    """Of the rows that are shown."""

    episodes: int
    success: int
    failure: int
    unlabelled: int
    findings: int
    seconds: float  # simulated
    wall_seconds: float
    shortest: float
    longest: float
    size: int  # [bytes]
    peak: float  # [N] largest of all traces
    kept: float  # [s] after trims


def numbers(rows: Sequence[EpisodeRow]) -> SetNumbers:
    lengths = [row.seconds for row in rows]
    count = {label: sum(row.label == label for row in rows) for label in ("success", "failure", None)}
    return SetNumbers(
        episodes=len(rows), success=count["success"], failure=count["failure"], unlabelled=count[None],
        findings=sum(bool(row.worst or row.problem) for row in rows), seconds=sum(lengths),
        wall_seconds=sum(row.wall_seconds for row in rows), shortest=min(lengths, default=0.0),
        longest=max(lengths, default=0.0), size=sum(row.size for row in rows),
        peak=max((row.peak for row in rows), default=0.0),
        kept=sum(row.seconds if row.kept is None else row.kept[1] - row.kept[0] for row in rows),
    )  # fmt: skip


def _local(created: str) -> str:
    """Local date and minute of an ISO time; as much of the text as looks like a date when it is none."""
    import datetime

    try:
        return datetime.datetime.fromisoformat(created).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return re.sub(r"[^0-9T:+ -]", "", created)[:16]
