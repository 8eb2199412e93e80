"""Draws the pictures of an episode's cameras from its recorded states, after the fact: the run itself pays nothing, and
the same pictures come out whenever they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.cameras.surface import SceneSurface, body_pose
from app.record import Episode
from app.record.camera_file import CameraWriter, replace_cameras
from app.record.folder import cameras_path
from app.recorded_scene import scene_of
from app.recorded_topology import RecordedTopology
from app.replay import ReplayError, StateReplay
from devices.rotations import nearest_rotation
from engine.cameras import Picture, Renderer

RATE = 30.0  # [1/s] of simulated time


class CameraError(Exception):
    """The pictures cannot be drawn; the text says why."""


@dataclass(frozen=True)
class Drawn:
    """cameras: their names; pictures: of each; path: where they lie."""

    path: Path
    cameras: tuple[str, ...]
    pictures: int


def picture_rows(time: np.ndarray, rate: float) -> np.ndarray:
    """Rows of positions that are drawn: of every moment k / rate [s] the last state at or before it, each once.

    time: of the states, from 0 [s] (T + 1,).
    """
    count = int(np.floor(time[-1] * rate + 1e-6)) + 1
    return np.unique(np.searchsorted(time, np.arange(count) / rate + 1e-6, side="right") - 1)


def render_cameras(
    path: Path,
    rate: float = RATE,
    samples: int = 2,
    scene: str | None = None,
    compute: str = "cpu",
    overwrite: bool = False,
    progress: Callable[[str, float], None] = lambda text, done: None,
) -> Drawn:
    """Draws all cameras of one sealed episode into the file beside it (`app/record/camera_file.py`), which appears when
    it is whole. samples: along each side of a pixel, for the colours.

    Raises CameraError: it is there already, the episode has no positions, its scene cannot be built or is another;
    ValueError: rate or samples; EpisodeError: a damaged episode.
    """
    if not 0.1 <= rate <= 1000.0:
        raise ValueError(f"rate {rate:g}; legal: 0.1 to 1000 pictures a second of simulated time")
    target = cameras_path(path)
    if target.exists() and not overwrite:
        raise CameraError(f"{target.name} is there already; --overwrite draws it anew")
    part = target.with_name(target.name + ".part")
    with Episode(path) as episode:
        built, replay = _scene_and_states(episode, scene, compute)
        cameras = built.cameras
        rows = picture_rows(replay.time, rate)
        sizes = {name: (camera.pinhole.height, camera.pinhole.width) for name, camera in cameras.items()}
        bodies = {name: camera.body for name, camera in cameras.items()}
        try:
            with CameraWriter(part, episode.num_frames, int(episode.hashes()[-1]), rate, bodies, sizes) as writer:
                for k, (row, pictures) in enumerate(_pictures(episode, built, replay, rows, samples, compute)):
                    progress(f"{episode.name}: picture {k + 1} of {len(rows)}", k / len(rows))
                    writer.append(row, replay.time[row], pictures)
            replace_cameras(part, path)
        except OSError as error:
            raise CameraError(f"{target.name} could not be written: {error.strerror or error}") from None
        finally:
            part.unlink(missing_ok=True)
    return Drawn(target, tuple(cameras), len(rows))


def _scene_and_states(episode: Episode, scene: str | None, compute: str) -> tuple[Any, StateReplay]:
    from scenes.build import build_scene
    from scenes.config import load_config
    from scenes.errors import SceneError

    try:
        name, overrides = scene_of(episode, scene)
        built = build_scene(load_config(name, overrides), device=compute)
        return built, StateReplay(episode, built.model.points_per_world)
    except (ReplayError, SceneError, ValueError) as error:
        raise CameraError(f"{episode.name} cannot be drawn: {error}") from None


def _pictures(
    episode: Episode, scene: Any, replay: StateReplay, rows: np.ndarray, samples: int, compute: str
) -> Iterator[tuple[int, dict[str, tuple]]]:
    """Of each row: camera -> rgb, depth, intrinsics, world from camera."""
    topology, model, drawn = RecordedTopology(scene, replay), scene.model, None
    for row in map(int, rows):
        points = episode.positions(row)
        if not np.isfinite(points).all():
            raise CameraError(f"{episode.name}: positions after frame {row} are not finite")
        cut = topology.model_at(row)
        if cut is not None or drawn is None:
            model = cut or model
            drawn = SceneSurface(scene, model, points)
            renderer = Renderer(drawn.surface, compute, samples)
        renderer.move(drawn.positions(points))
        found = {}
        for name, camera in scene.cameras.items():
            pose = camera_pose(camera, model, points)
            picture: Picture = renderer.picture(camera.pinhole, pose)
            found[name] = picture.rgb, picture.depth, camera.pinhole.intrinsics, pose
        yield row, found


def camera_pose(camera: Any, model: Any, points: np.ndarray) -> np.ndarray:
    """World from a scene's camera, (4, 4), at a row of points (P, 3) [m]; rigid, also on a body that gave a little."""
    if camera.body is None:
        return camera.mount
    carrier = body_pose(model.bodies[camera.body], points)
    carrier[:3, :3] = nearest_rotation(carrier)
    return carrier @ camera.mount
