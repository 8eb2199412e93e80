"""Images of presses by the whole way: simulated pad, coat seen by the sensor's camera, network; and their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.calibrate.ball_press import BallPress, PressShapes
from app.calibrate.presses import Press, PressSet
from app.calibrate.scores import Score, score
from engine.tactile.array import TactileArray
from engine.tactile.calibration import Calibration
from engine.tactile.rgb import ColourModel
from engine.tactile.spec import Camera, SensorSpec


@dataclass(frozen=True)
class Rendered:
    """A press and its pictures (height, width, 3) uint8: the network's, the background, those of others; and scores."""

    press: Press
    pose: np.ndarray
    images: dict[str, np.ndarray]
    scores: dict[str, Score]


def render_presses(
    calibration: Calibration, shapes: PressShapes, presses: PressSet, poses: dict[str, np.ndarray],
    others: dict[str, Callable[[np.ndarray], np.ndarray]] | None = None,
    progress: Callable[[str, float], None] = lambda what, share: None,
) -> list[Rendered]:
    """Press the simulated pad to each contact radius, look at it where the press was, and score the picture.

    others: name -> image from normals (height, width, 3). poses: (center_x, center_y, radius) [pixel] by press.
    """
    simulation = shapes.press or BallPress(shapes.setup)
    by_depth = sorted(presses.presses, key=lambda n: -poses[n][2])  # on the way up, the gel gives way to no one
    found = {}
    for k, name in enumerate(by_depth):
        progress(f"pressing as {name}", k / len(by_depth))
        depth = shapes.depth_of(poses[name][2] * calibration.pixel_pitch)
        simulation.approach(depth)
        found[name] = _render(calibration, simulation, presses.presses[name], poses[name], others or {})
    return [found[name] for name in presses.presses]


def _render(calibration, simulation: BallPress, press: Press, pose, others) -> Rendered:
    image, normal = see(calibration, simulation, pose)
    images = {"network": image, "background": calibration.reference}
    images |= {name: other(normal) for name, other in others.items()}
    return Rendered(press, pose, images, {name: score(image, press) for name, image in images.items()})


def see(calibration: Calibration, simulation: BallPress, pose) -> tuple[np.ndarray, np.ndarray]:
    """Colour image (height, width, 3) uint8 and normals (height, width, 3) of the pressed pad, by the sensor's camera
    put where it sees the ball's axis in pixel (pose[0], pose[1])."""
    width, height, pitch = calibration.width, calibration.height, calibration.pixel_pitch
    place = np.eye(4)
    place[:2, 3] = (0.5 * np.array([width - 1, height - 1]) - pose[:2]) * pitch
    place[2, 3] = -simulation.setup.thickness
    camera = Camera(width, height, place, pitch)
    mesh = simulation.coat_vertices[simulation.coat_triangles]
    held = np.flatnonzero(simulation.vertices[:, 2] < -simulation.setup.thickness + 1e-9)
    spec = SensorSpec("pad", "pad", None, mesh, held, np.eye(4), camera)
    colours = {"pad": ColourModel(calibration, camera, simulation.engine.model.device)}
    array = TactileArray(simulation.engine, [spec], ("shape", "rgb"), colours, capture=False)
    array.update()
    return array.numpy("rgb", "pad"), array.numpy("normal", "pad").astype(float)
