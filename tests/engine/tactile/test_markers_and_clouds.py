"""Markers move with the gel, clouds are the depth image in space."""

from __future__ import annotations

import numpy as np
import pytest

from engine.tactile.array import TactileArray
from engine.tactile.spec import place_markers
from scenes.build_sensor import marker_places
from scenes.motion import rigid_transform
from scenes.sensors import Markers, OrthographicCamera, PinholeCamera, ShellGel
from tests.engine.tactile.pad_scenes import Pad, pixel_rays

GRID = Markers(rows=3, columns=4, pitch=1.3e-3, offset=(2e-4, -1e-4))


@pytest.mark.parametrize("camera", [OrthographicCamera(pixel_pitch=1e-4), PinholeCamera(position=(0.0, 0.0, -0.01))])
def test_markers_are_exact_for_an_affine_deformation(camera):
    pad = Pad(worlds=2, markers=GRID, camera=camera)
    tactile = TactileArray(pad.engine, [pad.spec], ["markers"])
    a = np.array([[1.1, 0.2, -0.1], [-0.15, 0.9, 0.3], [0.05, -0.1, 1.05]])
    b = np.array([3e-4, -2e-4, -4e-4])
    pad.carry(rigid_transform((0.1, 0.2, -0.3), (0.5, -0.2, 2.0)))
    pad.deform(lambda x: x @ a.T + b, 1)
    tactile.update()
    rest = np.column_stack([marker_places(GRID), np.zeros(12)])
    assert tactile.reference("marker", "pad") == pytest.approx(rest, abs=1e-15)
    moved = rest @ a.T + b
    assert np.abs(tactile.numpy("marker", "pad", 1) - moved).max() < 1e-15
    assert np.abs(tactile.numpy("flow", "pad", 1) - (moved - rest)).max() < 1e-15
    pixels, flow = pad.spec.camera.project(moved), pad.spec.camera.project(moved) - pad.spec.camera.project(rest)
    assert np.abs(tactile.numpy("marker_pixel", "pad", 1) - pixels).max() < 1e-10
    assert np.abs(tactile.numpy("pixel_flow", "pad", 1) - flow).max() < 1e-10 and np.abs(flow).max() > 1.0
    assert np.array_equal(tactile.numpy("marker", "pad", 0), tactile.reference("marker", "pad"))
    pose = tactile.world_from_sensor("pad", 0)
    world = rest @ pose[:3, :3].T + pose[:3, 3]
    assert np.abs(tactile.numpy("world_marker", "pad", 0) - world).max() < 1e-14
    assert np.linalg.norm(pose[:3, 3]) > 0.1, "the sensor has moved with its holder"


def test_the_grid_runs_row_by_row_from_the_smallest_y_and_lies_on_a_curved_coat():
    places = marker_places(GRID)
    assert places[0] == pytest.approx([2e-4 - 1.5 * 1.3e-3, -1e-4 - 1.3e-3])
    assert places[1] - places[0] == pytest.approx([1.3e-3, 0.0]) and places[4] - places[0] == pytest.approx([0, 1.3e-3])
    gel = ShellGel(size=(0.008, 0.006), thickness=0.0015, radius_x=0.012, radius_y=None, cells=(32, 12, 1))
    pad = Pad(gel=gel, markers=GRID)
    tactile = TactileArray(pad.engine, [pad.spec], ["markers"])
    dots = tactile.reference("marker", "pad")
    assert dots[:, :2] == pytest.approx(places, abs=1e-12)
    assert dots[:, 2] == pytest.approx(np.sqrt(0.012**2 - dots[:, 0] ** 2) - 0.012, abs=2e-6)
    assert pad.spec.marker_shape == (3, 4)


def test_a_dot_over_a_fold_lies_on_the_outermost_layer():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0], [1, 0, 1], [0, 1, 1]])
    triangle, weights, found = place_markers([[0.25, 0.25], [2.0, 0.0]], points, np.array([[0, 1, 2], [3, 4, 5]]))
    assert found.tolist() == [True, False] and triangle[0] == 1
    assert weights[0] == pytest.approx([0.5, 0.25, 0.25])


@pytest.mark.parametrize(
    "camera", [OrthographicCamera(pixel_pitch=1e-4), PinholeCamera(resolution=(64, 48), position=(0.001, 0.0, -0.008),
                                                                 rotation=(0.1, -0.1, 0.2))]
)  # fmt: skip
def test_a_cloud_taken_back_to_the_camera_is_the_depth_image(camera):
    pad = Pad(camera=camera)
    tactile = TactileArray(pad.engine, [pad.spec], ["depth", "points"])
    pad.deform(lambda x: x + 2e-4 * np.column_stack([0 * x[:, :2], np.cos(700 * x[:, 0]) * np.cos(500 * x[:, 1])]))
    pad.carry(rigid_transform((0.05, -0.1, 0.02), (0.2, -0.4, 0.3)))
    tactile.update()
    depth, seen = tactile.numpy("depth", "pad"), tactile.numpy("depth", "pad") > 0.0
    world = tactile.numpy("world_points", "pad")
    assert np.isnan(world[~seen]).all() and np.isfinite(world[seen]).all()
    back = np.linalg.inv(tactile.world_from_sensor("pad"))
    local = world @ back[:3, :3].T + back[:3, 3]
    assert np.abs(local - tactile.numpy("points", "pad"))[seen].max() < 2e-8, "single precision at 0.1 m"
    start, along = pixel_rays(pad.spec.camera)
    assert np.abs(start + along * depth[..., None] - local)[seen].max() < 2e-8
    rows, columns = np.nonzero(seen)
    assert np.abs(pad.spec.camera.project(local[seen]) - np.column_stack([columns, rows])).max() < 1e-3
