"""One export from start to end: what is written where, then read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.export.atomic import new_file, new_folder
from app.export.demonstration_set import DemonstrationSet
from app.export.demonstrations import Demonstration
from app.export.options import FORMATS, ExportOptions, Progress, need


@dataclass(frozen=True)
class Exported:
    """What came of it."""

    paths: tuple[Path, ...]
    texts: tuple[str, ...]  # what was read back, for the operator
    skipped: tuple[str, ...]  # episodes left out, and why


def export(
    episodes: Sequence[Path],
    kind: str,
    out: Path,
    options: ExportOptions | None = None,
    progress: Progress = lambda text, done: None,
    scene: str | None = None,
) -> Exported:
    """Export sealed episodes. robomimic writes the file `out`, lerobot the folder `out`; csv, mcap and mp4 write
    `out/<episode>.<kind>` for each demonstration. Everything is read back before it appears under its name.

    Raises ExportError: a package is missing, nothing fits, the target is there, the disk refuses, or what was written
    does not read back; ValueError: an unknown `kind`.
    """
    if kind not in FORMATS:
        raise ValueError(f"format {kind!r}; legal: {', '.join(FORMATS)}")
    options = options or ExportOptions()
    for package in {"lerobot": ("pyarrow", "av"), "mcap": ("mcap",), "mp4": ("av",)}.get(kind, ()):
        need(package)
    demos = DemonstrationSet(episodes, options)
    if kind in ("robomimic", "lerobot"):
        paths, texts = _whole_set(kind, out, demos, options, progress)
    else:
        paths, texts = _each(kind, out, demos, options, progress, scene)
    return Exported(tuple(paths), tuple(texts), tuple(demos.skipped))


def _whole_set(kind, out: Path, demos: DemonstrationSet, options, progress: Progress) -> tuple[list[Path], list[str]]:
    if kind == "robomimic":
        from app.export.robomimic import check_robomimic, write_robomimic

        with new_file(out, options.overwrite) as part:
            write_robomimic(part, demos, options, progress)
            progress("reading back", 1.0)
            return [out], [check_robomimic(part, demos)]
    from app.export.lerobot import check_lerobot, write_lerobot

    with new_folder(out, options.overwrite) as part:
        write_lerobot(part, demos, options, progress)
        progress("reading back", 1.0)
        return [out], [check_lerobot(part, demos)]


def _each(
    kind: str, out: Path, demos: DemonstrationSet, options: ExportOptions, progress: Progress, scene: str | None
) -> tuple[list[Path], list[str]]:
    view = None
    if kind == "mp4":
        from app.export.rendering import View

        view = View(options, scene)
    write, check = _writer(kind, view)
    paths: list[Path] = []
    texts = []
    try:
        for number, demo in enumerate(demos):
            path = _name(out, demo, kind, paths)
            with new_file(path, options.overwrite) as part:
                share = (number / len(demos), 1.0 / len(demos))
                write(part, demo, lambda text, done, share=share: progress(text, share[0] + share[1] * done))
                texts.append(check(part, demo).replace(part.name, path.name))
            paths.append(path)
            if kind == "mp4":
                _camera_films(path, demo, options, progress, paths, texts)
    finally:
        if view is not None:
            view.close()
    return paths, texts


def _camera_films(
    whole: Path, demo: Demonstration, options: ExportOptions, progress: Progress, paths: list[Path], texts: list[str]
) -> None:
    """Beside episode_0007.mp4 episode_0007_ego.mp4 and episode_0007_ego_depth.mp4, of every camera that was drawn."""
    from app.export.mp4 import check_mp4, write_camera_film
    from app.export.streams import camera_names

    for camera in camera_names(demo):
        for kind, end in (("rgb", ""), ("depth", "_depth")):
            path = whole.with_name(f"{whole.stem}_{camera}{end}.mp4")
            with new_file(path, options.overwrite) as part:
                write_camera_film(part, demo, camera, kind, progress)
                texts.append(check_mp4(part, demo).replace(part.name, path.name))
            paths.append(path)


def _name(out: Path, demo: Demonstration, kind: str, taken: list[Path]) -> Path:
    """episode_0007.csv; a second stretch of the same episode is episode_0007_2.csv."""
    number, path = 1, out / f"{demo.name}.{kind}"
    while path in taken:
        number += 1
        path = out / f"{demo.name}_{number}.{kind}"
    return path


def _writer(kind: str, view) -> tuple[Callable[[Path, Demonstration, Progress], None], Callable]:
    if kind == "csv":
        from app.export.csv_table import check_csv, write_csv

        return lambda path, demo, progress: write_csv(path, demo), check_csv
    if kind == "mcap":
        from app.export.mcap_file import check_mcap, write_mcap

        return lambda path, demo, progress: write_mcap(path, demo), check_mcap
    from app.export.mp4 import check_mp4, write_mp4

    return lambda path, demo, progress: write_mp4(path, demo, view, progress), check_mp4
