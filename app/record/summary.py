"""What lists and statistics want to know of an episode without opening it: kept in its meta file when it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from app.record.episode import Episode

TRACE = 96  # moments of a force trace
MAX_TRACES = 32  # of pads and driven bodies; more are left out


def episode_summary(episode: Episode) -> dict[str, Any]:
    """`wall_seconds` [s]; `force`: pad or driven body -> `kind` ("pad" or "body"), `mean`, `max` [N] and `trace`, the
    largest force in each of at most TRACE equal stretches of the episode [N]. Plain values, for JSON.

    Raises EpisodeError for damaged columns.
    """
    clock = episode.time.monotonic
    found: dict[str, Any] = {"wall_seconds": float(clock[-1] - clock[0]) if len(clock) > 1 else 0.0, "force": {}}
    for name, (kind, force) in list(forces(episode).items())[:MAX_TRACES]:
        force = np.nan_to_num(force)
        if len(force):
            found["force"][name] = {
                "kind": kind, "mean": _short(force.mean()), "max": _short(force.max()),
                "trace": [_short(value) for value in stretches(force)],
            }  # fmt: skip
    return found


def stretches(values: np.ndarray, count: int = TRACE) -> np.ndarray:
    """The largest value in each of at most `count` equal stretches: no short peak is lost."""
    count = min(count, len(values))
    edges = np.linspace(0, len(values), count + 1).astype(int)[:-1]
    return np.maximum.reduceat(values, edges) if count else np.zeros(0)


def forces(episode: Episode) -> dict[str, tuple[str, np.ndarray]]:
    """Name -> kind and force by frame (T,) [N], of each pad and each driven body."""
    found = {}
    for path in episode.columns():
        if path.startswith("tactile/") and path.endswith("/force"):
            force = np.asarray(episode[path], float).reshape(len(episode), -1)
            found[path.split("/")[1]] = ("pad", np.linalg.norm(force, axis=1))
    driven = episode.layout.get("driven", [])
    if "signals/drive_force" in episode and driven:
        force = np.linalg.norm(np.asarray(episode["signals/drive_force"], float)[:, 0], axis=-1)
        found |= {str(body): ("body", force[:, d]) for d, body in enumerate(driven[: force.shape[1]])}
    return found


def sparkline(summary: dict[str, Any] | None) -> tuple[str, np.ndarray]:
    """What a list draws: the sum over all pads, else over all driven bodies; its name and its trace [N] (k,).

    ("", empty) when nothing was measured, or what the meta file says is not such a summary.
    """
    entries = (summary or {}).get("force")
    traces: dict[str, list[np.ndarray]] = {"pad": [], "body": []}
    for entry in entries.values() if isinstance(entries, dict) else ():
        values = entry.get("trace") if isinstance(entry, dict) else None
        if not isinstance(values, list) or len(values) > TRACE or entry.get("kind") not in traces:
            continue
        if all(isinstance(value, (int, float)) for value in values):
            traces[entry["kind"]].append(np.asarray(values, float))
    for kind, title in (("pad", "pads"), ("body", "tool")):
        if traces[kind] and len({len(trace) for trace in traces[kind]}) == 1:
            return title, np.sum(traces[kind], axis=0)
    return "", np.zeros(0)


def _short(value: float) -> float:
    """Four digits: a meta file is read for every line of a list."""
    return float(f"{float(value):.4g}")
