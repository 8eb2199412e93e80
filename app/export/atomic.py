"""An export appears under its name only when it is whole and was read back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.export.options import ExportError
from app.record.folder import sync_folder


@contextmanager
def new_file(path: Path, overwrite: bool) -> Iterator[Path]:
    """A name to write to; renamed to `path` when the block ends well, removed when it does not.

    Raises ExportError: the target is there and `overwrite` is False, or the disk refuses.
    """
    with _new(path, overwrite) as part:
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())


@contextmanager
def new_folder(path: Path, overwrite: bool) -> Iterator[Path]:
    """The same for a folder, which is there and empty when the block begins."""
    with _new(path, overwrite) as part:
        part.mkdir()
        yield part
        for place, _, names in os.walk(part):
            for name in names:
                with open(Path(place) / name, "rb+") as file:
                    os.fsync(file.fileno())


@contextmanager
def _new(path: Path, overwrite: bool) -> Iterator[Path]:
    part = path.with_name(path.name + ".part")
    if path.exists() and not overwrite:
        raise ExportError(f"{path.name} is there already; another name, or --overwrite to replace it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(part)  # of an export that was killed
        yield part
        old = path.with_name(path.name + ".old")
        _remove(old)
        if path.is_dir():  # a folder cannot be replaced in one step: the old one is aside until the new one is there
            os.replace(path, old)
        os.replace(part, path)
        sync_folder(path.parent)
        _remove(old)
    except OSError as error:
        raise ExportError(f"{path.name} could not be written: {error.strerror or error}") from None
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
