"""Meshes of a scene as they were in each row of an episode."""

from __future__ import annotations

from typing import Any

from app.replay import StateReplay


class RecordedTopology:
    """Meshes after cuts, from the exact states of the recording. An engine is built only when there is one."""

    def __init__(self, scene: Any, replay: StateReplay):
        self.cut = False
        self._replay, self._number, self._engine = replay, None, None
        states = range(len(replay.episode.keyframe_rows))
        if any("cut_index" in replay.episode.keyframe(k) for k in states):
            from engine import Engine

            self._engine = Engine(scene.model, scene.options)

    def model_at(self, row: int) -> Any:
        """The model of that row when it is another one than before, else None."""
        number = self._replay.exact_state_of(row)
        if self._engine is None or number is None or number == self._number:
            return None
        from app.cutting import take_topology

        self._number = number
        meshes = self._engine.model.meshes
        take_topology(self._engine, self._replay.episode.keyframe(number))
        if self._engine.model.meshes is meshes:
            return None
        self.cut = True
        return self._engine.model
