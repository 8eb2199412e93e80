"""The scene hand_grasp by its script: a hand with pads all over lifts, turns and puts down a cylinder."""

from __future__ import annotations

import numpy as np

from bench.registry import Emit

DESCRIPTION = "hand_grasp: 200 steps of a hand with 16 pads; real-time factor, slip while lifted, convergence"
LIFTED = 2e-3  # [m] above its start height, the cylinder counts as lifted


def run(emit: Emit, compute: str) -> None:
    from bench.scripted_run import measure_run, play

    places: list[tuple[np.ndarray, np.ndarray]] = []

    def watch(session, frame) -> None:
        engine = session.engine
        places.append((engine.body_transform("cylinder"), engine.body_transform("hand.palm")))

    run = play("hand_grasp", compute, emit.status, watch)
    measure_run(emit, "hand_grasp", run)
    slip = slip_while_lifted(places)
    emit("hand_grasp.lifted_by", 1e3 * slip.lifted_by, "mm")
    emit("hand_grasp.lifted_steps", slip.steps)
    emit("hand_grasp.turned_by", np.degrees(slip.turned_by), "deg")
    emit("hand_grasp.slip", 1e3 * slip.distance, "mm")
    emit("hand_grasp.slip_angle", np.degrees(slip.angle), "deg")
    emit("hand_grasp.upright_at_the_end", float(places[-1][0][2, 2] > 0.999 and slip.released))
    emit("hand_grasp.pads", len(run.session.scene.pads))
    if not slip.distance < 1e-3 or not slip.released:
        raise RuntimeError(f"the cylinder slipped by {1e3 * slip.distance:.2f} mm, released: {slip.released}")


class slip_while_lifted:  # noqa: N801 - reads as the question
    """What the cylinder did against the palm from the first to the last step in which it hung in the hand.

    places: (cylinder, palm) poses, world from mesh, one a step. distance [m], angle [rad]: largest departure from the
    first of those steps; lifted_by [m]; turned_by [rad]: of the palm meanwhile; released: it stood again at the end.
    """

    def __init__(self, places):
        height = np.array([cylinder[2, 3] for cylinder, _ in places])
        hung = np.flatnonzero(height > height[0] + LIFTED)
        self.steps = len(hung)
        self.lifted_by = float(height.max() - height[0])
        self.released = bool(height[-1] < height[0] + 5e-4)
        if not len(hung):
            self.distance = self.angle = np.inf
            self.turned_by = 0.0
            return
        first, last = hung[0], hung[-1]
        held = [np.linalg.inv(palm) @ cylinder for cylinder, palm in places[first : last + 1]]
        self.distance = float(max(np.linalg.norm(pose[:3, 3] - held[0][:3, 3]) for pose in held))
        self.angle = float(max(_angle(held[0][:3, :3].T @ pose[:3, :3]) for pose in held))
        self.turned_by = _angle(places[first][1][:3, :3].T @ places[last][1][:3, :3])


def _angle(rotation: np.ndarray) -> float:
    return float(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0)))
