"""The episodes of a folder, found by scanning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.record import folder as files
from app.record.episode import Episode, EpisodeError


@dataclass(frozen=True)
class EpisodeInfo:
    path: Path
    name: str  # "episode_0007"
    size: int  # [bytes]
    sealed: bool  # False: a log that is being recorded, or waits for recovery
    label: str | None  # "success", "failure", "discard" or None
    instruction: str
    num_frames: int
    duration: float  # [s] simulated
    scene_name: str
    created: str  # ISO 8601, UTC
    recovered: bool
    problem: str  # "" or why it cannot be opened
    findings: tuple[tuple[str, str], ...] = ()  # (severity, text) as seen when it was saved
    trim: tuple[int, int] | None = None  # frames that exports keep

    @property
    def worst(self) -> str:
        """Severity of the worst finding, "" when there is none."""
        found = {severity for severity, _ in self.findings}
        return next((severity for severity in ("error", "warning", "note") if severity in found), "")


def list_episodes(folder: str | Path, trash: bool = False) -> list[EpisodeInfo]:
    """Episodes of a folder (or of its trash) in order of number; a missing folder has none. Damaged ones are listed
    with their `problem`, never left out."""
    place = Path(folder) / files.TRASH if trash else Path(folder)
    sealed = files.scan(place, ".h5")
    names = {path.name.split(".")[0] for path in sealed}
    waiting = [path for path in files.scan(place, ".log") if path.name.split(".")[0] not in names]
    return [_info(path) for path in sorted([*sealed, *waiting], key=files.episode_number)]


def _info(path: Path) -> EpisodeInfo:
    sealed, meta, problem = path.suffix == ".h5", None, ""
    if sealed:
        meta = files.read_meta(path)
        if meta is None or "num_frames" not in meta:  # the meta file is lost: the episode holds a copy
            try:
                with Episode(path) as episode:
                    meta = episode.meta
            except (EpisodeError, OSError) as error:
                problem = str(error)
    else:
        problem = "not sealed: being recorded, or waiting for recovery"
    meta = meta or {}
    return EpisodeInfo(
        path=path,
        name=path.name.split(".")[0],
        size=path.stat().st_size if path.exists() else 0,
        sealed=sealed,
        label=_typed(meta.get("label"), str, None),
        instruction=_typed(meta.get("instruction"), str, ""),
        num_frames=int(_typed(meta.get("num_frames"), int, 0)),
        duration=float(_typed(meta.get("duration"), (int, float), 0.0)),
        scene_name=_typed(meta.get("scene_name"), str, ""),
        created=_typed(meta.get("created"), str, ""),
        recovered=bool(meta.get("recovered")),
        problem=problem,
        findings=tuple(_pairs(meta.get("findings"))),
        trim=_trim(meta.get("trim")),
    )


def _typed(value: Any, kind, default: Any) -> Any:
    return value if isinstance(value, kind) else default


def _pairs(value: Any) -> list[tuple[str, str]]:
    pairs = value if isinstance(value, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _trim(value: Any) -> tuple[int, int] | None:
    whole = isinstance(value, list) and len(value) == 2 and all(isinstance(row, int) for row in value)
    return (value[0], value[1]) if whole else None
