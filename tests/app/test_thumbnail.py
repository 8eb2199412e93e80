"""Small pictures: what lies in front hides what lies behind, at the place where a camera sees it."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
from PIL import Image

from app.thumbnail import BACKDROP, FIELD_OF_VIEW, SIZE, Painter, session_painter
from tests.app.fake_scene import FakeEngine, FakeScene

RED, BLUE = (0.9, 0.1, 0.1), (0.1, 0.1, 0.9)


def square(size: float, y: float) -> np.ndarray:
    return np.array([[-size, y, -size], [size, y, -size], [size, y, size], [-size, y, size]])


def scene_of(*squares: tuple[float, float, tuple]):
    """Squares (half size, distance along y, colour) seen from the origin along y."""
    points = np.concatenate([square(size, y) for size, y, _ in squares])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    meshes, visuals = {}, {}
    for k, (_, _, color) in enumerate(squares):
        meshes[str(k)] = SimpleNamespace(kind="body", points=slice(4 * k, 4 * k + 4), triangles=faces)
        visuals[str(k)] = SimpleNamespace(show=True, color=color)
    scene = SimpleNamespace(camera=((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0, 0, 1)), visuals=visuals)
    return Painter(scene, SimpleNamespace(meshes=meshes, points_per_world=len(points))), points


def is_like(pixels: np.ndarray, color) -> np.ndarray:
    """Of that hue, however it is lit."""
    return (pixels / np.maximum(pixels.max(axis=-1, keepdims=True), 1) - np.array(color) / max(color)).std(
        axis=-1
    ) < 0.05


def test_the_nearer_one_hides_the_other_and_sizes_are_those_of_a_pinhole():
    painter, points = scene_of((0.05, 1.0, RED), (0.4, 2.0, BLUE))
    image = painter.paint(points)
    assert image.shape == (SIZE[1], SIZE[0], 3) and image.dtype == np.uint8
    scale = 0.5 * SIZE[1] / np.tan(np.radians(0.5 * FIELD_OF_VIEW))  # pixels at a distance of one
    red, blue = is_like(image, RED), is_like(image, BLUE)
    assert abs(red.sum() / (2 * 0.05 * scale) ** 2 - 1) < 0.06
    blue_high = min(2 * 0.4 * scale / 2.0, SIZE[1])
    assert abs(blue.sum() / (blue_high * 0.4 * scale - red.sum()) - 1) < 0.06
    assert red[SIZE[1] // 2, SIZE[0] // 2] and not (red & blue).any()
    assert (image[5, 5] == BACKDROP).all()
    behind, points = scene_of((0.05, 2.0, RED), (0.4, 1.0, BLUE))
    assert not is_like(behind.paint(points), RED).any()


def test_a_floor_under_the_camera_is_drawn_as_far_as_it_is_seen():
    points = np.array([[-9.0, -9, -0.3], [9, -9, -0.3], [9, 30, -0.3], [-9, 30, -0.3]])
    mesh = SimpleNamespace(kind="static", points=slice(0, 4), triangles=np.array([[0, 1, 2], [0, 2, 3]]))
    scene = SimpleNamespace(camera=((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0, 0, 1)), visuals={})
    image = Painter(scene, SimpleNamespace(meshes={"floor": mesh}, points_per_world=4)).paint(points)
    drawn = (image != BACKDROP.astype(np.uint8)).any(axis=-1)
    assert drawn[-SIZE[1] // 3 :].mean() > 0.99 and not drawn[: SIZE[1] // 2 - 2].any()


def test_other_points_give_no_picture_and_sessions_follow_their_model():
    painter, points = scene_of((0.05, 1.0, RED))
    assert painter.paint(points[:3]) is None and painter.paint(points * np.nan) is None
    scene = FakeScene()
    png = session_painter(SimpleNamespace(scene=scene, model=scene.model))
    data = png(FakeEngine(scene).positions())
    assert Image.open(io.BytesIO(data)).size == SIZE and png(np.zeros((3, 3))) is None
