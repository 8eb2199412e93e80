"""Reward and success of the scenes that can be learnt."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from scenes.tactile_measures import body_poses, inserted, inserted_depth, static_box


class Task(Protocol):
    """All arrays have a world a row."""

    def observe(self, engine) -> dict[str, np.ndarray]:
        """Values beside tool and pads, float32 (W, ..)."""
        ...

    def reward(self, engine) -> np.ndarray:
        """float64 (W,), of the present state."""
        ...

    def success(self, engine) -> np.ndarray:
        """bool (W,): ends the episode."""
        ...


class PegInsertion:
    """Put the peg into the hole. Reward a step: -1 for a metre between the peg's tip and the mouth of the hole, 1 for a
    peg that stands at the bottom, in proportion to its depth."""

    def observe(self, engine) -> dict[str, np.ndarray]:
        """goal: middle of the hole's mouth, world frame [m] (W, 3)."""
        return {"goal": self._mouth(engine).astype(np.float32)}

    def reward(self, engine) -> np.ndarray:
        low, high = static_box(engine, "block")
        tip = body_poses(engine, "peg") @ np.array([0.0, 0.0, engine.model.meshes["peg"].rest[:, 2].min(), 1.0])
        away = np.linalg.norm(tip[:, :3] - self._mouth(engine), axis=1)
        depth = inserted_depth(engine)
        return np.where(depth > 0.0, depth / (high - low)[:, 2], -away)

    def success(self, engine) -> np.ndarray:
        return inserted(engine)

    def _mouth(self, engine) -> np.ndarray:
        low, high = static_box(engine, "block")
        return np.column_stack([0.5 * (low + high)[:, :2], high[:, 2]])


class NoReward:
    """Scenes without a measure: data collection."""

    def observe(self, engine) -> dict[str, np.ndarray]:
        return {}

    def reward(self, engine) -> np.ndarray:
        return np.zeros(engine.model.num_worlds)

    def success(self, engine) -> np.ndarray:
        return np.zeros(engine.model.num_worlds, bool)


def task_of(scene: str) -> Task:
    """The task of a shipped scene, by its name; NoReward for others."""
    return {"peg_insertion": PegInsertion}.get(scene, NoReward)()
