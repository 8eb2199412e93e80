"""What a pad feels goes into the recording and comes back in the replay."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from rich.console import Console

from app.export import export
from app.export.streams import as_rgb
from app.record import Episode
from app.replay import StateReplay
from app.replay_run import Player
from app.runs import RunOptions, start_run
from app.session import load_session
from tests.app.fakes import FakeView

STEPS = 21
SCRIPT = """
linear_speed: 0.02
angular_speed: 0.5
segments:
  - {for: 0.5, twist: [0, 0, -0.3, 0, 0, 0]}
  - {for: 0.3, twist: [0.2, 0, 0, 0, 0, 0]}
"""


@pytest.fixture(scope="module")
def episode(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tactile")
    (folder / "script.yaml").write_text(SCRIPT)
    console = Console(file=io.StringIO(), width=200)
    options = RunOptions(
        scene="tactile_press", input=f"scripted:{folder / 'script.yaml'}", record=folder / "episodes", headless=True,
        compute="cpu", no_pictures=True, steps=STEPS, state_log=folder / "log",
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACKTILE_DATA_DIR", str(folder / "data"))
        assert start_run(options, console) == 0, console.file.getvalue()
    log = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    with Episode(folder / "episodes" / "episode_0001.h5") as recorded:
        yield recorded, [line for line in log if line["stepped"]]


def test_signals_are_recorded_every_frame_and_images_at_their_rate(episode):
    recorded, log = episode
    count = recorded.num_frames
    assert count >= STEPS - 2
    shapes = {
        "marker": (63, 3), "marker_pixel": (63, 2), "displacement": (48, 3), "coat_depth": (48,), "wrench": (6,),
        "force": (3,),
    }  # fmt: skip
    for name, shape in shapes.items():
        values = np.asarray(recorded[f"tactile/pad/{name}"])
        assert values.shape == (count, *shape) and np.isfinite(values).all(), name
    force = np.linalg.norm(np.asarray(recorded["tactile/pad/force"]), axis=1)
    assert force == pytest.approx(np.linalg.norm(np.asarray(recorded["tactile/pad/wrench"])[:, :3], axis=1), rel=1e-4)
    assert force.max() > 1.0, "the pad was pressed"
    seen = [np.linalg.norm(line["pads"]["pad"]["force"]) for line in log][-count:]
    assert force == pytest.approx(seen, abs=1e-3)
    image = "indentation"
    with_image = [row for row in range(count) if image in recorded.frame(row)["tactile"]["pad"]]
    assert with_image == list(range(0, count, 3))
    last = recorded.frame(with_image[-1])["tactile"]["pad"]
    assert last[image].shape == (120, 160) and last[image].dtype == np.float32
    assert last[image].max() == pytest.approx(last["coat_depth"].max(), rel=0.2) and last[image].max() > 2e-4
    moved = np.asarray(recorded["tactile/pad/displacement"])
    assert -moved[..., 2] == pytest.approx(np.asarray(recorded["tactile/pad/coat_depth"]), abs=1e-9)


def test_maps_of_pressure_shear_and_contact_add_up_to_less_than_the_force(episode):
    """The camera sees 18.9 x 14.2 of the gel's 25.3 x 20.8 mm: what presses beside is missing in the maps."""
    recorded, _ = episode
    row = max(row for row in range(recorded.num_frames) if "pressure" in recorded.frame(row)["tactile"]["pad"])
    pad = recorded.frame(row)["tactile"]["pad"]
    shapes = [pad[name].shape for name in ("pressure", "shear", "contact")]
    assert shapes == [(120, 160), (120, 160, 2), (120, 160)]
    area = load_session("tactile_press").scene.pads[0].camera.pixel_pitch ** 2
    normal = -area * float(pad["pressure"].sum()) / pad["wrench"][2]
    assert 0.4 < normal < 1.0 and pad["wrench"][2] < -1.0, "pushed in is positive pressure"
    assert np.abs(pad["shear"].sum(axis=(0, 1))).max() * area < abs(pad["wrench"][2])
    touched = pad["contact"] == 1
    assert 0 < touched.sum() < touched.size and pad["pressure"][touched].min() > 0.0


def test_exports_hold_the_maps(episode, tmp_path):
    recorded, _ = episode
    out = tmp_path / "pad.hdf5"
    export([recorded.path], "robomimic", out)
    with h5py.File(out) as file:
        seen = file["data/demo_0/obs"]
        count = file["data/demo_0"].attrs["num_samples"]
        sizes = {name: seen[f"pad_{name}"].shape for name in ("indentation", "pressure", "shear", "contact", "marker")}
        assert sizes == {
            "indentation": (count, 120, 160, 1), "pressure": (count, 120, 160, 1), "shear": (count, 120, 160, 2),
            "contact": (count, 120, 160, 1), "marker": (count, 189),
        }  # fmt: skip
        row = count - 1 - (count - 1) % 3  # state k is that after frame k; images are those of every third frame
        assert np.array_equal(seen["pad_pressure"][row, ..., 0], recorded.frame(row)["tactile"]["pad"]["pressure"])
        assert np.array_equal(seen["pad_shear"][row], recorded.frame(row)["tactile"]["pad"]["shear"])


def test_what_maps_look_like_in_eight_bits():
    shear = np.zeros((2, 3, 2))
    shear[0, 0], shear[1, 2] = (1e5, 0.0), (-1e5, 5e4)
    shown = as_rgb(shear, "shear")
    assert shown[0, 0].tolist() == [255, 128, 128] and shown[1, 2].tolist() == [0, 191, 128]
    assert as_rgb(np.array([[0.0, 1e5, 4e5]]), "pressure")[0, :, 0].tolist() == [0, 128, 255]
    assert as_rgb(np.array([[0, 1]], np.uint8), "contact")[0, :, 2].tolist() == [0, 255]


def test_the_replay_shows_them(episode):
    recorded, _ = episode
    session = load_session("tactile_press")
    replay = StateReplay(recorded, session.model.points_per_world)
    player = Player(replay, FakeView(), session, None, clock=lambda: 0.0, sleep=lambda s: None)
    player.view.wishes = [SimpleNamespace(verb="seek", value=replay.duration)]
    player.once()
    (pad,) = player.view.infos[-1]["pads"]
    row = recorded.num_frames - 1
    assert np.array_equal(pad["marker"], recorded.frame(row)["tactile"]["pad"]["marker_pixel"])
    image_row = row - row % 3
    assert np.array_equal(pad["depth"], recorded.frame(image_row)["tactile"]["pad"]["indentation"])
    assert pad["force"] == pytest.approx(np.linalg.norm(recorded.frame(row)["tactile"]["pad"]["force"]))
    assert pad["marker_rest"].shape == (63, 2) and pad["marker_shape"] == (7, 9)
    assert np.abs(pad["marker"] - pad["marker_rest"]).max() > 0.5, "the dots have moved"
    assert "pad" in player.view.infos[-1]["coat_depth"]
