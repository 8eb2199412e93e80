"""`tacktile episodes`: what an operator types after a day of recording."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from app.cli import app
from app.record import Episode, list_episodes
from tests.app.export.recorded import record_slow


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["episodes", *map(str, arguments)], env={"COLUMNS": "300", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, re.sub(r"\x1b\[[0-9;]*m", "", result.output)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("day") / "set"
    record_slow(folder, 30, "success", "close the box")
    record_slow(folder, 20, "failure")
    return folder


@pytest.fixture
def folder(tmp_path, recorded):
    import shutil

    return shutil.copytree(recorded, tmp_path / "set")


def test_list_show_stats_validate(folder):
    code, text = invoke("list", folder)
    assert code == 0 and "episode_0001.h5" in text and "success" in text and "failure" in text
    assert "episode_0002.h5" not in invoke("list", folder, "--label", "success")[1]
    code, text = invoke("show", folder / "episode_0001.h5", "--columns")
    assert code == 0 and "close the box" in text and "x0.3" in text and "signals/joint_force" in text
    code, text = invoke("stats", folder)
    assert code == 0 and "2 (1 failure, 1 success)" in text and "x0.31 real time" in text and "force pad" in text
    assert invoke("validate", folder)[0] == 0
    (folder / "episode_0002.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(99))
    code, text = invoke("validate", folder)
    assert code == 1 and "error: episode_0002.h5 is not a readable HDF5 file" in text


def test_trim_label_discard_undo(folder):
    one, two = folder / "episode_0001.h5", folder / "episode_0002.h5"
    assert invoke("trim", one, "--start", "0.2", "--end", "0.5")[1] == "episode_0001.h5: frames 6 to 15 are kept\n"
    assert "30 (kept 9)" in invoke("list", folder)[1]
    assert invoke("trim", one, "--reset")[1] == "episode_0001.h5: frames 0 to 30 are kept\n"
    code, text = invoke("trim", one, "--idle", "--start", "1")
    assert code == 2 and "do not go together" in text
    assert invoke("label", folder, "--to", "success", "--instruction", "lift")[0] == 0
    with Episode(two) as episode:
        assert (episode.label, episode.instruction) == ("success", "lift")
    code, text = invoke("label", folder, "--to", "good")
    assert code == 2 and "--to good; legal: success, failure, none" in text
    assert invoke("discard", two)[0] == 0 and not two.exists()
    assert "episode_0002.h5" in invoke("list", folder, "--trash")[1]
    assert invoke("undo", folder)[1] == "episode_0002.h5 is back\n" and two.exists()
    assert invoke("undo", folder)[1] == "the trash is empty\n"
    code, text = invoke("discard", folder)
    assert code == 2 and "is a folder; name the episodes" in text


def test_merge_and_export(folder, tmp_path):
    pytest.importorskip("pyarrow")
    code, text = invoke("merge", folder, "--into", tmp_path / "all")
    assert code == 0 and "set/episode_0001 -> episode_0001" in text and "2 episodes copied" in text
    assert "0 episodes copied, 2 were there already" in invoke("merge", folder, "--into", tmp_path / "all")[1]
    assert len(list_episodes(tmp_path / "all")) == 2
    out = tmp_path / "lerobot"
    code, text = invoke("export", folder, "--to", "lerobot", "--out", out, "--only", "success", "--no-images")
    assert code == 0 and "1 episodes, 29 frames at 30 Hz" in text and "episode_0002 is labelled failure" in text
    code, text = invoke("export", folder, "--to", "lerobot", "--out", out)
    assert code == 2 and "lerobot is there already" in text
    for arguments, said in (
        (("--to", "zip"), "format 'zip'; legal: robomimic, lerobot, mcap, csv, mp4"),
        (("--to", "mp4", "--size", "big"), "--size big; legal: WIDTHxHEIGHT"),
        (("--to", "csv", "--every", "0"), "every 0; legal: 1 to 1000"),
    ):
        code, text = invoke("export", folder, "--out", tmp_path / "x", *arguments)
        assert code == 2 and said in text


def test_what_is_not_there_is_said(tmp_path):
    for command in ("stats", "recover", "undo", "list"):
        code, text = invoke(command, tmp_path / "nowhere")
        assert code == 2 and "nowhere is not a folder" in text
    for command in ("validate", "label"):
        code, text = invoke(command, tmp_path / "x.h5", *(("--to", "none") if command == "label" else ()))
        assert code == 2 and "no such file or folder" in text
    code, text = invoke("show", tmp_path / "episode_0001.h5")
    assert code == 2 and "no episode episode_0001.h5" in text
    code, text = invoke("validate", tmp_path)
    assert code == 2 and "no saved episodes in" in text
