"""Recordings and what is exported of them hold no names of the computer, its user or its folders."""

import getpass
import os
import socket
from pathlib import Path

import h5py
import numpy as np
from rich.console import Console

from app.export import ExportOptions, export
from app.record import list_episodes
from app.record.framed_log import FramedLogReader


def secrets(folder: Path) -> list[bytes]:
    """Words that must not be found: this computer's, and those of the folder that the run is given."""
    names = {socket.gethostname(), "hidden_name_of_a_user", *map(str, (Path.home(), folder, Path(__file__).parents[3]))}
    names |= {getpass.getuser()} if len(getpass.getuser()) > 4 else set()
    names |= {os.uname().nodename} if hasattr(os, "uname") else set()
    return [name.encode() for name in names if len(name) > 3 and name != "localhost"]


def everything(path: Path) -> bytes:
    """All bytes of a file, compressed ones unpacked too."""
    found = [path.read_bytes()]
    if path.suffix in (".h5", ".hdf5"):
        with h5py.File(path) as file:

            def look(name, item):
                found.append(name.encode())
                found.extend(str(value).encode() for value in item.attrs.values())
                if isinstance(item, h5py.Dataset):
                    found.append(np.asarray(item[()]).tobytes())

            file.visititems(look)
    elif path.suffix == ".log":
        found += [record.payload for record in FramedLogReader(path)]
    return b"\n".join(found)


def test_nothing_of_the_computer_in_a_recording(tmp_path, monkeypatch):
    from app.runs import RunOptions, start_run

    folder = tmp_path / "hidden_name_of_a_user" / "recordings"
    kept = []
    import app.record.recorder as recorder

    real = recorder.seal_log  # the log is removed when it is sealed: look at it before

    def seal(log, *args, **kwargs):
        kept.append(everything(log))
        return real(log, *args, **kwargs)

    monkeypatch.setattr(recorder, "seal_log", seal)
    options = RunOptions("tactile_press", headless=True, steps=6, record=folder, no_pictures=True, compute="cpu")
    assert start_run(options, Console(quiet=True)) == 0
    (info,) = list_episodes(folder)
    export([info.path], "robomimic", folder / "a.hdf5", ExportOptions(images=False))
    export([info.path], "csv", folder)
    texts = {path.name: everything(path) for path in folder.rglob("*") if path.is_file()} | {"log": kept[0]}
    assert {"episode_0001.h5", "episode_0001.meta.json", "a.hdf5", "episode_0001.csv", "log"} <= set(texts)
    for name, text in texts.items():
        assert b"tactile_press" in text or name.endswith(".csv")  # the search looks into what is compressed
        for secret in secrets(tmp_path):
            assert secret not in text, f"{name} holds {secret!r}"
