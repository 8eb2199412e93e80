"""Films of an episode at simulated time: drawn again from its states, and of its cameras as they were drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.export.demonstrations import Demonstration
from app.export.options import ExportError, Progress
from app.export.rendering import View
from app.export.streams import as_rgb, camera_pictures
from app.export.video import VideoWriter, check_video, rate


def film_rows(demo: Demonstration) -> np.ndarray:
    """Row of positions that each frame of the film shows: the last one at or before k / fps of simulated time."""
    if not demo.episode.num_points:
        raise ExportError(f"{demo.name} holds no positions, so there is nothing to draw")
    count = int(np.floor(demo.time[-1] * demo.options.fps + 1e-9)) + 1
    moments = np.arange(count) / demo.options.fps
    at = np.searchsorted(demo.time, moments + 1e-9, side="right") - 1
    return demo.frames[at] + 1


def write_mp4(path: Path, demo: Demonstration, view: View, progress: Progress) -> None:
    """Frame k shows the scene k / fps seconds of simulated time after the first state, however long that took."""
    rows = film_rows(demo)
    with VideoWriter(path, rate(demo.options.fps)) as video:
        for k, image in enumerate(view.images(demo.episode, rows)):
            progress(f"{demo.name}: frame {k + 1} of {len(rows)}", k / len(rows))
            video.append(image)


def write_camera_film(path: Path, demo: Demonstration, camera: str, kind: str, progress: Progress) -> None:
    """What a camera saw, kind: rgb, or depth as grey from 0 to 1.5 m (to be looked at)."""
    rows = film_rows(demo)
    with VideoWriter(path, rate(demo.options.fps)) as video:
        for k, image in enumerate(camera_pictures(demo, camera, kind, rows)):
            progress(f"{demo.name}: {camera}, frame {k + 1} of {len(rows)}", k / len(rows))
            video.append(as_rgb(image, kind))


def check_mp4(path: Path, demo: Demonstration) -> str:
    """Decodes the film. Says how long it is; raises ExportError when frames are missing or stand at wrong times."""
    times = check_video(path, len(film_rows(demo)), rate(demo.options.fps))
    if abs(times[-1] - demo.time[-1]) > 1.0 / demo.options.fps:
        raise ExportError(f"{path.name} ends at {times[-1]:.3f} s, the motion at {demo.time[-1]:.3f} s")
    return f"{path.name}: {len(times)} frames, {times[-1]:.2f} s of simulated time"
