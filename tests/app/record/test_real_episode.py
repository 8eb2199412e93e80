"""A real scene, recorded: its files hold no names of the computer, its user or its folders; it can be drawn again."""

import getpass
import os
import socket
from pathlib import Path

import h5py
import numpy as np
import pytest
from rich.console import Console

from app.export import ExportError, ExportOptions, export
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


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """(folder, bytes of the log as it was before it was sealed)"""
    from app.record import recorder
    from app.runs import RunOptions, start_run

    folder = tmp_path_factory.mktemp("hidden_name_of_a_user") / "recordings"
    kept, seal_log = [], recorder.seal_log

    def seal(log, *args, **kwargs):
        kept.append(everything(log))
        return seal_log(log, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "seal_log", seal)
        options = RunOptions("tactile_press", headless=True, steps=6, record=folder, no_pictures=True, compute="cpu")
        assert start_run(options, Console(quiet=True)) == 0
    return folder, kept[0]


def test_nothing_of_the_computer_in_a_recording(real, tmp_path):
    folder, log = real
    (info,) = list_episodes(folder)
    export([info.path], "robomimic", tmp_path / "a.hdf5", ExportOptions(images=False))
    export([info.path], "csv", tmp_path)
    paths = [path for place in (folder, tmp_path) for path in place.rglob("*") if path.is_file()]
    texts = {path.name: everything(path) for path in paths} | {"log": log}
    assert {"episode_0001.h5", "episode_0001.meta.json", "a.hdf5", "episode_0001.csv", "log"} <= set(texts)
    for name, text in texts.items():
        assert b"tactile_press" in text or name.endswith((".csv", ".png"))  # the search looks into what is compressed
        for secret in (*secrets(tmp_path), *secrets(folder)):
            assert secret not in text, f"{name} holds {secret!r}"


def test_it_is_drawn_again_at_simulated_time(real, tmp_path):
    av = pytest.importorskip("av")
    (info,) = list_episodes(real[0])
    try:
        done = export([info.path], "mp4", tmp_path, ExportOptions(size=(96, 64), fps=60.0, quality="low"))
    except ExportError as error:
        pytest.skip(str(error))
    assert done.texts == ("episode_0001.mp4: 11 frames, 0.17 s of simulated time",)
    with av.open(str(done.paths[0])) as film:
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert pictures[0].shape == (64, 96, 3) and np.ptp(pictures[0]) > 100  # there is something to be seen
