"""The command: help a person can read, errors that say what and where, honest words about what is not there yet."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import app, version

ROOT = Path(__file__).resolve().parents[2]


def invoke(*args, **environment):
    result = CliRunner().invoke(app, list(args), env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1", **environment})
    return result.exit_code, re.sub(r"\x1b\[[0-9;]*m", "", result.output)


def test_help_names_every_command_with_a_sentence():
    code, text = invoke("--help")
    assert code == 0
    for word in ("run", "scenes", "devices", "episodes", "tape", "sensor", "bench"):
        assert re.search(rf"{word}\s+[A-Z]", text), word
    assert "tacktile run box_packaging" in text


def test_help_of_run_names_every_option():
    _, text = invoke("run", "--help")
    for option in (
        "--input",
        "--record",
        "--headless",
        "--compute",
        "--steps",
        "--set",
        "--seed",
        "keyboard, spacemouse",
        "cuda:0",
    ):
        assert option in text, option


def test_version():
    assert invoke("--version") == (0, f"tacktile {version()}\n")
    assert re.match(r"\d+\.\d+", version())


def test_scenes_lists_those_that_ship():
    code, text = invoke("scenes")
    assert code == 0
    assert "strip_on_box" in text and "tactile_press" in text and "cannot be loaded" not in text


def test_devices_says_how_each_one_is():
    code, text = invoke("devices")
    assert code == 0
    assert re.search(r"keyboard\s+OK", text) and re.search(
        r"spacemouse\s+(OK|NOT FOUND|NO LIBRARY|NO PERMISSION)", text
    )


def test_a_misspelt_scene_is_an_error_with_the_legal_ones():
    code, text = invoke("run", "strip_on_bx")
    assert code == 2
    assert "there is no scene 'strip_on_bx'" in text and "strip_on_box" in text
    assert "Traceback" not in text


def test_run_is_the_default_command():
    assert invoke("strip_on_bx")[1] == invoke("run", "strip_on_bx")[1]


def test_a_bad_override_names_the_key():
    code, text = invoke("run", "strip_on_box", "--set", "strip.widht=19mm")
    assert code == 2
    assert "widht" in text and "width" in text


def test_a_processor_that_is_not_there_is_named_with_the_legal_ones():
    code, text = invoke("run", "strip_on_box", "--compute", "cuda:7", "--headless")
    assert code == 2
    assert "--compute 'cuda:7' is not on this machine; legal: cpu" in text


def test_steps_must_be_positive():
    code, text = invoke("run", "strip_on_box", "--steps", "0")
    assert code == 2 and "--steps" in text


def test_episodes_of_an_empty_folder(tmp_path):
    assert invoke("episodes", str(tmp_path)) == (0, f"no episodes under {tmp_path}\n")
    code, text = invoke("episodes", str(tmp_path / "nowhere"))
    assert code == 2 and "is not a folder" in text


def test_completion_offers_scenes():
    environment = {
        **os.environ,
        "_TACKTILE_COMPLETE": "complete_bash",
        "COMP_WORDS": "tacktile run strip",
        "COMP_CWORD": "2",
    }
    code = "import sys; sys.argv[0] = 'tacktile'; from app.cli import app; app(prog_name='tacktile')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert "strip_on_box" in done.stdout, done.stderr


def test_without_a_display_it_runs_headless_and_says_where_things_are(tmp_path):
    """The whole way: no DISPLAY, real engine, four steps, pictures or a reason, an episode that opens."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment |= {
        "TACKTILE_DATA_DIR": str(tmp_path / "data"),
        "TACKTILE_CONFIG_DIR": str(tmp_path / "config"),
        "COLUMNS": "200",
    }
    command = [sys.executable, "launch.py", "tactile_press", "--steps", "4", "--compute", "cpu"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no display was found" in done.stdout
    assert "4 steps in" in done.stdout
    assert "pictures: " in done.stdout or "no pictures: " in done.stdout
    folder = tmp_path / "data" / "runs" / "tactile_press"
    assert f"episode: episode_0001 (4 frames) in {folder}" in done.stdout
    from app.record import Episode

    with Episode(folder / "episode_0001.h5") as episode:
        assert episode.num_frames == 4


def test_a_seed_starts_where_its_draws_place_things():
    from app.runs import RunOptions, _with_worlds
    from scenes.config import load_config, overridden

    config = load_config("box_packaging")
    starts = {}
    for seed in (0, 1, 1):
        options = _with_worlds(RunOptions(seed=seed, overrides=()), config)
        entities = overridden(config, options.overrides).file.entities
        shift = np.subtract(entities["carton"].position, config.file.entities["carton"].position)
        assert np.all(np.abs(shift) <= [0.02, 0.02, 0.0]) and np.linalg.norm(shift) > 0.0
        for name in ("goods", "left_stop", "right_stop"):  # they go along with the carton
            assert np.subtract(entities[name].position, config.file.entities[name].position) == pytest.approx(shift)
        assert starts.setdefault(seed, options.overrides) == options.overrides
    assert starts[0][2:] != starts[1][2:]


def test_a_seed_needs_draws():
    code, text = invoke("run", "peel", "--seed", "3", "--headless")
    assert code == 2 and "--seed 3: scene peel draws nothing; it has no section `randomise`" in text


def test_a_script_of_goals_tells_how_far_it_is():
    import io
    from types import SimpleNamespace

    from rich.console import Console

    from app.progress import TerminalBar

    said = io.StringIO()
    frame = SimpleNamespace(index=90, realtime_factor=0.25, sample=SimpleNamespace(raw={"goal": 11, "goals": 50}))
    TerminalBar(Console(file=said, width=200), None).update(frame)
    assert said.getvalue() == "step 90, goal 12 of 50, x0.25 real time\n"
