"""Episodes drawn again from their states, without a display."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from app.export.options import ExportError, ExportOptions
from app.record import Episode
from app.recorded_scene import scene_of
from app.recorded_topology import RecordedTopology
from app.replay import ReplayError, StateReplay


class View:
    """Pictures of the scene of an episode. One at a time in a process: Polyscope has one context.

    Raises ExportError: no EGL, or the scene cannot be built.
    """

    def __init__(self, options: ExportOptions, scene: str | None = None):
        self._scene_name = scene
        try:
            from app.view.offscreen import Offscreen

            self._offscreen = Offscreen(options.size, quality=options.quality)
        except Exception as error:  # noqa: BLE001 - no library, no EGL: all mean no pictures
            text = str(error).strip() or type(error).__name__
            raise ExportError(f"pictures need OpenGL with EGL (Debian: libegl1 libgl1-mesa-dri): {text}") from None
        self._shown: tuple[str, tuple[str, ...]] | None = None
        self._scene: Any = None

    def images(self, episode: Episode, rows: Iterable[int]) -> Iterator[np.ndarray]:
        """(h, w, 3) uint8 of rows of positions (0: before the first step). Raises ExportError: another scene."""
        from app.replay_run import for_view

        try:
            self._show(episode)
            replay = StateReplay(episode, self._scene.model.points_per_world)
        except (ReplayError, ValueError, FileNotFoundError) as error:
            raise ExportError(f"{episode.name} cannot be drawn: {error}") from None
        topology = RecordedTopology(self._scene, replay)
        for row in rows:
            model = topology.model_at(int(row))
            if model is not None:
                self._offscreen.set_model(model, episode.positions(int(row)))
            frame = for_view(replay.frame(int(row)))
            yield self._offscreen.pixels(frame, _info(episode, frame))
        if topology.cut:
            self._shown = None  # the next episode begins with the whole meshes again

    def close(self) -> None:
        self._offscreen.close()

    def _show(self, episode: Episode) -> None:
        from scenes.build import build_scene
        from scenes.config import load_config

        name, overrides = scene_of(episode, self._scene_name)
        if self._shown == (name, tuple(overrides)):
            return
        self._scene = build_scene(load_config(name, overrides))
        self._offscreen.set_scene(self._scene, episode.positions(0)[: self._scene.model.points_per_world])
        self._shown = (name, tuple(overrides))


def _info(episode: Episode, frame: Any) -> dict[str, Any]:
    """What the view wants beside the frame."""
    pads = episode.layout.get("pads", {})
    tactile = frame.extra.get("tactile", {})
    coats = {pads[n]: pad["coat_depth"] for n, pad in tactile.items() if n in pads and "coat_depth" in pad}
    return {"coat_depth": coats, "tape": frame.extra.get("tape", {})}
