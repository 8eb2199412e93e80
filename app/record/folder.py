"""Files of a set of episodes in one folder, and how they move without ever being half there.

``episode_0007.log``        while it is recorded, and until it is sealed
``episode_0007.h5``         sealed; renamed into place in one step when it is whole
``episode_0007.meta.json``  label, instruction, versions; renamed into place likewise
``episode_0007.png``        a small picture of its last state, for lists; made again when it is missing
``episode_0007.cameras.h5`` pictures of its cameras, drawn afterwards (`camera_file.py`)
``trash/``                  discarded episodes, the same files

What exists is found by scanning. There is no counter to lose or to disagree with the files.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from app.record.records import LABELS

TRASH = "trash"
MAX_META_BYTES = 1024 * 1024
_NAME = re.compile(r"^episode_(\d{1,9})(\.cameras\.h5|\.h5|\.log|\.meta\.json|\.log\.damaged|\.h5\.part)$")


def episode_name(number: int) -> str:
    return f"episode_{number:04d}"


def episode_number(path: str | os.PathLike) -> int | None:
    """The number in a file name of this folder, None for foreign files."""
    match = _NAME.match(Path(path).name)
    return int(match.group(1)) if match else None


def scan(folder: Path, suffix: str) -> list[Path]:
    """Files episode_NNNN + suffix, in order of their number. A missing folder has none."""
    if not folder.is_dir():
        return []
    found = []
    for path in folder.iterdir():
        match = _NAME.match(path.name)
        if match and match.group(2) == suffix:
            found.append((int(match.group(1)), path))
    return [path for _, path in sorted(found)]


def next_number(folder: Path) -> int:
    """One more than the highest number that any file here or in the trash carries."""
    highest = 0
    for place in (folder, folder / TRASH):
        if place.is_dir():
            for path in place.iterdir():
                highest = max(highest, episode_number(path) or 0)
    return highest + 1


def meta_path(episode: Path) -> Path:
    """episode_0007.h5 -> episode_0007.meta.json"""
    return episode.with_name(episode.name.split(".")[0] + ".meta.json")


def picture_path(episode: Path) -> Path:
    """episode_0007.h5 -> episode_0007.png"""
    return episode.with_name(episode.name.split(".")[0] + ".png")


def cameras_path(episode: Path) -> Path:
    """episode_0007.h5 -> episode_0007.cameras.h5"""
    return episode.with_name(episode.name.split(".")[0] + ".cameras.h5")


def write_picture(episode: Path, png: bytes) -> None:
    """Write the picture beside an episode, whole or not at all. It can be made again, so the disk is not waited for."""
    path = picture_path(episode)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(png)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_meta(episode: Path, meta: dict[str, Any]) -> None:
    """Write the meta file beside an episode: whole or not at all, also when the power fails."""
    path = meta_path(episode)
    text = json.dumps(meta, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def read_meta(episode: Path) -> dict[str, Any] | None:
    """The meta file beside an episode; None when it is missing, too large or not a JSON object."""
    path = meta_path(episode)
    try:
        if path.stat().st_size > MAX_META_BYTES:
            return None
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return meta if isinstance(meta, dict) else None


def move_episode(episode: Path, folder: Path) -> Path:
    """Move an episode with its meta file and return its new path. Raises FileExistsError rather than overwrite."""
    target = folder / episode.name
    if target.exists():
        raise FileExistsError(f"{target.name} exists already in {folder.name}")
    folder.mkdir(parents=True, exist_ok=True)
    if meta_path(episode).exists():
        os.replace(meta_path(episode), meta_path(target))
    for beside in (picture_path, cameras_path):
        if beside(episode).exists():
            os.replace(beside(episode), beside(target))
    os.replace(episode, target)
    return target


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable. Where the system has no such call, nothing."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError:
        pass  # some network folders refuse; the files themselves are synced
    finally:
        os.close(fd)


def relabel(episode: Path, label: str | None, instruction: str | None = None) -> Path:
    """Store a label (success, failure, discard or None) and return where the episode lies now.

    "discard" moves it into the trash beside it and remembers the label before; any other label moves it back from
    there. The meta file is the truth about the label; the copy inside the HDF5 file says what was known when sealed.
    """
    if label is not None and label not in LABELS:
        raise ValueError(f"label {label!r} is not one of {', '.join(LABELS)} or None")
    meta = read_meta(episode) or {}
    if label == "discard" and meta.get("label") != "discard":
        meta["label_before"] = meta.get("label")
    elif label != "discard":
        meta.pop("label_before", None)
    meta["label"] = label
    if instruction is not None:
        meta["instruction"] = instruction
    write_meta(episode, meta)
    in_trash = episode.parent.name == TRASH
    if label == "discard" and not in_trash:
        return move_episode(episode, episode.parent / TRASH)
    if label != "discard" and in_trash:
        return move_episode(episode, episode.parent.parent)
    return episode
