"""Grasp assist with the real engine, and the command that repeats what was recorded with it."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from app.record import Episode
from app.replay import ReplayError
from app.replay_run import replay_episode
from app.runs import RunOptions, start_run

ROOT = Path(__file__).resolve().parents[2]
# Without friction the strip is held by the assist alone.
SLIPPERY = ("strip.contact.friction_mu=0", "gripper.contact.friction_mu=0")
GOALS = [
    {"press": ["record"]},
    {"by": [0.03, 0.0, 0.0]},
    {"grip": 1.0},
    {"wait": 0.2},
    {"press": ["grasp_assist"]},
    {"by": [-0.02, 0.0, 0.002], "tolerance": 0.001},
    {"wait": 0.2},
    {"press": ["grasp_assist"]},
    {"by": [-0.008, 0.0, 0.0], "tolerance": 0.001},
    {"wait": 0.2},
    {"press": ["grasp_assist"]},
    {"wait": 0.1},
    {"grip": 0.0},
    {"wait": 0.5},
    {"by": [-0.008, 0.0, 0.0], "tolerance": 0.001},
    {"wait": 0.2},
    {"press": ["record"]},
]


def quiet() -> Console:
    return Console(file=io.StringIO(), width=200)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A pinch with the assist, headless: (folder with episodes, lines of the state log)."""
    folder = tmp_path_factory.mktemp("grasp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACKTILE_DATA_DIR", str(folder / "data"))
        (folder / "goals.yaml").write_text(yaml.safe_dump({"goals": GOALS}))
        options = RunOptions(
            scene="strip_on_box",
            input=f"scripted:{folder / 'goals.yaml'}", record=folder / "episodes", headless=True, compute="cpu",
            no_pictures=True, state_log=folder / "log", overrides=SLIPPERY,
        )  # fmt: skip
        console = quiet()
        assert start_run(options, console) == 0, console.file.getvalue()
    return folder / "episodes", [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def said(lines: list[dict]) -> list[tuple[int, str]]:
    """(line, text) of what the assist said."""
    return [(n, text) for n, line in enumerate(lines) for text in line["events"] if text.startswith("grasp assist")]


def test_it_holds_lets_go_by_key_and_lets_go_when_the_fingers_open(run):
    _, lines = run
    assert [text.removeprefix("grasp assist: ") for _, text in said(lines)] == [
        "strip held", "strip let go", "strip held", "strip let go",
    ]  # fmt: skip
    held, freed, again, opened = (n for n, _ in said(lines))
    grip = [line["tools"]["gripper"]["closure"] for line in lines]
    assert held < freed < again < opened
    assert grip[freed] == grip[held] == grip[again] > 0.9, "by the key, with the fingers closed"
    assert grip[opened] < grip[opened - 1] == grip[again], "with the first frame of opening"


def test_what_is_held_rides_on_the_fingers_and_what_is_let_go_does_not(run):
    """Between lines at rest: held points go with the fingers to 5 um, and none does once they are open."""
    episodes, lines = run
    held, freed, _, opened = (n for n, _ in said(lines))
    with Episode(episodes / "episode_0001.h5") as episode:
        row_of = {int(index): row + 1 for row, index in enumerate(episode["frame/index"][:])}
        first, stop, _ = episode.layout["meshes"]["strip"]

        def riders(before: int, after: int) -> int:
            """Points of the strip (recorded to half a um) that moved as the tool did."""
            x = [episode.positions(row_of[lines[n]["index"]])[first:stop, 0] for n in (before, after)]
            at = [lines[n]["tools"]["gripper"]["reached"][0] for n in (before, after)]
            assert at[1] - at[0] < -0.004
            return int((abs(x[1] - x[0] - (at[1] - at[0])) < 5e-6).sum())

        last = max(n for n, line in enumerate(lines) if line["index"] in row_of)
        assert riders(held - 1, freed - 1) >= 4
        assert riders(opened + 12, last) == 0


def test_a_recording_with_it_replays_to_the_bit(run):
    episodes, _ = run
    console = quiet()
    assert replay_episode(episodes / "episode_0001.h5", True, None, "cpu", console) == 0
    with Episode(episodes / "episode_0001.h5") as episode:
        assert episode.validate() == []
        want = f"episode_0001: {episode.num_frames} steps repeated, equal to the bit"
        assert sum(episode.keyframe_restart) >= 4, "an exact state at each edit"
    assert want in console.file.getvalue()


def test_a_weaker_grip_is_told_with_the_step_where_it_first_differs(run, tmp_path):
    episodes, _ = run
    text = (ROOT / "scenes" / "strip_on_box.yaml").read_text()
    parts = os.path.relpath(ROOT / "scenes" / "parts", tmp_path)
    text = text.replace("include: parts/", f"include: {parts}/").replace("script:", "# script:")
    other = tmp_path / "other.yaml"
    text = text.replace("kappa: 100 kPa, friction_mu: 0.4", "kappa: 100 kPa, friction_mu: 0")
    other.write_text(text.replace("force_limit: 8 N", "force_limit: 6 N"))
    console = quiet()
    assert replay_episode(episodes / "episode_0001.h5", True, str(other), "cpu", console) == 1
    # the fingers move alike until they press with more than the weaker grip can give
    found = re.search(r"first differs after step (\d+) of (\d+)", console.file.getvalue())
    assert found and 0 < int(found[1]) < int(found[2]), console.file.getvalue()


def test_another_scene_does_not_fit_and_says_why(run):
    with pytest.raises(ReplayError, match="episode_0001 does not fit this scene: "):
        replay_episode(run[0] / "episode_0001.h5", True, "tactile_press", "cpu", quiet())
