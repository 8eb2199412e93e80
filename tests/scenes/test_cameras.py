"""Cameras of an episode in YAML: where they are, what they ride on, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from scenes import SceneError, build_scene, load_config

TEXT = """
entities:
  hand: {type: body, shape: {type: box, size: [0.02, 0.02, 0.02]}, mass: 0.1, driven: true, position: [0, 0, 0.1]}
camera: {eye: [0, 0, 1], target: [0, 0, 0]}
%s
"""


def read(tmp_path, cameras=""):
    path = tmp_path / "scene.yaml"
    path.write_text(TEXT % cameras, encoding="utf-8")
    return build_scene(load_config(path))


def test_places_are_in_the_frame_of_what_carries_it(tmp_path):
    text = """cameras:
  ego: {eye: [0, -40 cm, 0], target: [0, 0, 0], fov: 90 deg}
  wrist: {on: hand, eye: [0, 0, -2 cm], target: [0, 0, -10 cm], up: [0, 1, 0], width: 64, height: 48}
"""
    cameras = read(tmp_path, text).cameras
    assert list(cameras) == ["ego", "wrist"]
    ego, wrist = cameras.values()
    assert (ego.body, ego.pinhole.width, ego.pinhole.height) == (None, 640, 480)
    assert ego.pinhole.intrinsics[1, 1] == pytest.approx(240.0)
    np.testing.assert_allclose(ego.mount[:3, 3], (0, -0.4, 0))
    np.testing.assert_allclose(ego.mount[:3, 2], (0, 1, 0), atol=1e-15)
    assert (wrist.body, wrist.pinhole.width, wrist.pinhole.height) == ("hand", 64, 48)
    np.testing.assert_allclose(wrist.mount[:3, :3].T, [(1, 0, 0), (0, -1, 0), (0, 0, -1)], atol=1e-15)


def test_without_the_section_there_is_ego_where_the_window_looks_from(tmp_path):
    (ego,) = read(tmp_path).cameras.values()
    assert ego.name == "ego" and ego.body is None
    np.testing.assert_allclose(ego.mount[:3, 2:].T, [(0, 0, -1), (0, 0, 1)], atol=1e-15)  # straight down: y is up


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{on: hnd, eye: [0, 0, 1], target: [0, 0, 0]}", "cameras.a.on: there is no body 'hnd' (did you mean 'hand'?)"),
        ("{eye: [0, 0, 1], target: [0, 0, 1]}", "cameras.a: eye and target are the same place"),
        ("{eye: [0, 0, 1], target: [0, 0, 0]}", "cameras.a: up [0.0, 0.0, 1.0] lies along the line of sight"),
        ("{eye: [0, 0, 1], target: [1, 0, 0], fov: 200 deg}", "cameras.a: fov is 3.49066 rad; legal: above 0"),
        ("{eye: [0, 0, 1], target: [1, 0, 0], width: 8}", "cameras.a.width is 8; it must lie"),
        ("{eye: [0, 0, 1]}", "cameras.a lacks 'target'"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, written, words):
    with pytest.raises(SceneError) as error:
        read(tmp_path, f"cameras: {{a: {written}}}")
    assert words in str(error.value) and "scene.yaml:" in str(error.value)
