"""Pictures of a ball pressed into a sensor, with where and how wide it touched.

A folder holds `background.png` (the coat untouched) and `presses.csv` with the columns

    image,center_x_px,center_y_px,contact_radius_px

(column and row of the contact's middle, counted from 0 at the middle of the first pixel), and the images it names.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

COLUMNS = ("image", "center_x_px", "center_y_px", "contact_radius_px")
TABLE, BACKGROUND = "presses.csv", "background.png"
MAX_PRESSES = 2000


class PressError(ValueError):
    """The pictures or their table cannot be used; the text says which file and line, and what is wanted."""


@dataclass(frozen=True)
class Press:
    """One picture, (height, width, 3) uint8; center_x, center_y, radius [pixel] as the table says."""

    name: str
    image: np.ndarray
    center_x: float
    center_y: float
    radius: float

    @property
    def pose(self) -> np.ndarray:
        """(center_x, center_y, radius) [pixel]."""
        return np.array([self.center_x, self.center_y, self.radius])


@dataclass(frozen=True)
class PressSet:
    """background (height, width, 3) uint8: the untouched coat; presses by name, in the order of the table."""

    folder: Path
    background: np.ndarray
    presses: dict[str, Press]

    def without(self, names) -> PressSet:
        names = set(names)
        return PressSet(self.folder, self.background, {n: p for n, p in self.presses.items() if n not in names})

    def only(self, names) -> PressSet:
        """Those presses. Raises PressError for a name that is not there."""
        missing = [n for n in names if n not in self.presses]
        if missing:
            there = ", ".join(self.presses)
            raise PressError(f"{self.folder / TABLE} has no press '{missing[0]}'; there are: {there}")
        return PressSet(self.folder, self.background, {n: self.presses[n] for n in names})


def read_presses(folder: str | Path) -> PressSet:
    """Read a folder. Raises PressError: no table, no such column or number, an image missing, unreadable or of another
    size than the background, a contact that lies outside the picture."""
    folder = Path(folder)
    table = folder / TABLE
    if not folder.is_dir():
        raise PressError(f"{folder} is not a folder")
    if not table.is_file():
        raise PressError(f"there is no {table}; it must list the presses: {','.join(COLUMNS)}")
    background = _image(folder / BACKGROUND)
    presses = {}
    with open(table, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        absent = [c for c in COLUMNS if c not in (rows.fieldnames or ())]
        if absent:
            raise PressError(f"{table} has no column '{absent[0]}'; its first line must be {','.join(COLUMNS)}")
        for row in rows:
            press = _press(folder, f"{table}, line {rows.line_num}", row, background.shape)
            if press.name in presses:
                raise PressError(f"{table}, line {rows.line_num}: {press.name} is listed twice")
            presses[press.name] = press
            if len(presses) > MAX_PRESSES:
                raise PressError(f"{table} lists more than {MAX_PRESSES} presses")
    if not presses:
        raise PressError(f"{table} lists no press")
    return PressSet(folder, background, presses)


def _press(folder: Path, where: str, row: dict, shape: tuple[int, ...]) -> Press:
    name = (row["image"] or "").strip()
    if not name or Path(name).name != name:
        raise PressError(f"{where}: image is '{name}'; it must be the name of a file in {folder}")
    values = []
    for column in COLUMNS[1:]:
        try:
            value = float(row[column])
        except (TypeError, ValueError):
            value = np.nan
        if not np.isfinite(value):
            raise PressError(f"{where}: {column} is {row[column]!r}; it must be a number [pixel]")
        values.append(value)
    x, y, radius = values
    height, width = shape[:2]
    if not (0.0 <= x <= width - 1 and 0.0 <= y <= height - 1):
        raise PressError(f"{where}: the centre ({x:g}, {y:g}) lies outside the picture of {width} x {height} pixels")
    if not 2.0 <= radius <= 0.5 * max(width, height):
        raise PressError(f"{where}: contact_radius_px is {radius:g}; it must be 2 to {0.5 * max(width, height):g}")
    image = _image(folder / name)
    if image.shape != shape:
        size = f"{image.shape[1]} x {image.shape[0]} pixels, {BACKGROUND} {width} x {height}"
        raise PressError(f"{where}: {name} has {size}; all pictures must be of one size")
    return Press(Path(name).stem, image, x, y, radius)


def _image(path: Path) -> np.ndarray:
    if not path.is_file():
        raise PressError(f"there is no picture {path}")
    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError) as error:
        raise PressError(f"{path} cannot be read as a picture: {error}") from None


def distance_from(press: Press, shape: tuple[int, ...]) -> np.ndarray:
    """Distance of each pixel from the press's middle [pixel], (height, width)."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    return np.hypot(columns - press.center_x, rows - press.center_y)
