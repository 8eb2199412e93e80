"""What a sticky mesh is coloured by in the modes `tape` and `adhesion`, and its front line. numpy only."""

from __future__ import annotations

import numpy as np

from app.view import palette

NAMES = ("cluster", "collar", "free", "bonded")  # categories 0 to 3, keys of palette.TAPE
LEGEND = {  # what a newcomer reads
    "cluster": "wound, turns as one",
    "collar": "about to leave",
    "free": "free",
    "bonded": "stuck",
    "front": "front",
}
WHOLE = 0.999  # damage from which a point counts as free


def shown_names(rolls: dict) -> list[str]:
    """Keys of LEGEND that a scene can show; a scene without rolls has neither cluster nor collar."""
    return list(LEGEND) if rolls else ["bonded", "free", "front"]


def categories(damage: np.ndarray, roll: dict | None = None, row: np.ndarray | None = None) -> np.ndarray:
    """Category of each vertex, int (n,).

    damage: 0 stuck to 1 free, NaN where nothing sticks, (n,). roll: its numbers (`app.tape.TapeReader.read`); row: of
    each vertex of its strip (`app.tape.strip_rows`).
    """
    stuck = np.nan_to_num(damage, nan=1.0) < WHOLE
    found = np.where(stuck, 3, 2)
    if roll and row is not None:
        first_free = row.max() + 1 - int(roll["free_rows"])
        found[row < first_free] = 1 if roll["collar"] else 0
        found[row < roll["front"]] = 0
    return found


def colors(found: np.ndarray) -> np.ndarray:
    """RGB of categories, (n, 3)."""
    return np.array([palette.TAPE[name] for name in NAMES])[found]


def front_line(x: np.ndarray, triangles: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Ends of the segments that part free from held vertices [m], (k, 2, 3): across each mixed triangle, between the
    middles of its two mixed edges. free: bool (n,)."""
    flags = free[triangles]
    mixed = triangles[flags.any(axis=1) & ~flags.all(axis=1)]
    flags = free[mixed]
    # the odd one out: its two edges are the mixed ones
    odd = np.where(flags.sum(axis=1) == 1, flags.argmax(axis=1), (~flags).argmax(axis=1))
    rows = np.arange(len(mixed))
    lone = x[mixed[rows, odd]]
    ends = [0.5 * (lone + x[mixed[rows, (odd + k) % 3]]) for k in (1, 2)]
    return np.stack(ends, axis=1) if len(mixed) else np.zeros((0, 2, 3))
