"""One table a demonstration, for spreadsheets and plotting: a row a state, a column a number."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from app.export.demonstrations import Demonstration
from app.export.options import ExportError


def write_csv(path: Path, demo: Demonstration) -> None:
    """Columns: time (simulated [s] from 0), wall (Unix), frame, action.*, then all observations. The last state has no
    action: its cells are empty. Numbers are written so that they read back exactly."""
    names, rows = _table(demo)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            writer.writerow(["" if np.isnan(value) else repr(float(value)) for value in row])


def _table(demo: Demonstration) -> tuple[list[str], np.ndarray]:
    action, action_names = demo.action
    wall = demo.episode.time.wall[demo.frames]
    blocks = [demo.time[:, None], wall[:, None], np.asarray(demo.frames, float)[:, None]]
    names = ["time", "wall", "frame"]
    blocks.append(np.concatenate([action, np.full((1, action.shape[1]), np.nan)]))
    names += [f"action.{name}" for name in action_names]
    if demo.stage is not None:
        blocks.append(demo.stage[:, None].astype(float))
        names.append("stage")
    for name, (values, of) in demo.observations.items():
        blocks.append(values)
        names += [name] if values.shape[1] == 1 else [f"{name}.{part}" for part in of]
    return names, np.concatenate(blocks, axis=1)


def check_csv(path: Path, demo: Demonstration) -> str:
    """Reads the table again. Says what is in it; raises ExportError for what is wrong."""
    names, rows = _table(demo)
    with open(path, newline="", encoding="utf-8") as file:
        read = list(csv.reader(file))
    if read[0] != names or len(set(names)) != len(names):
        raise ExportError(f"{path.name}: the heading is not what was written, or names a column twice")
    back = np.array([[float(cell) if cell else np.nan for cell in row] for row in read[1:]])
    if back.shape != rows.shape or not np.array_equal(back, rows, equal_nan=True):
        raise ExportError(f"{path.name}: {back.shape[0]} rows do not read back as the {rows.shape[0]} written")
    return f"{path.name}: {len(rows)} states, {len(names)} columns"
