"""What a hand should feel at once: touch, cut, a stage reached. Devices answer with a knock (rumble).

A cue that lasts (`touch`, `blocked`) is told in every frame while it lasts, one that happens (`cut`, `stage`) once;
devices knock when a name is new (`devices.contract.Feedback`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from devices.contract import Feedback

TOUCH, LET_GO = 0.1, 0.03  # force on a tool at which it touches something, and no longer does [N]


class Cues:
    """Follows the frames of one loop."""

    def __init__(self):
        self._touching: set[str] = set()
        self._topology: int | None = None  # None: whatever it is next was felt before
        self._reached: int | None = 0

    def reset(self) -> None:
        """After a jump of the state: what holds now was felt before."""
        self._topology = self._reached = None

    def read(self, frame: Any, scene: Any, model: Any) -> dict[str, tuple[str, ...]]:
        """Tool -> its cues in a frame that stepped. `cut` and `stage` are told to every tool."""
        version = int(getattr(model, "topology_version", 0))
        reached = int((frame.extra.get("guide") or {}).get("reached", 0))
        happened = ("cut",) if self._topology is not None and version > self._topology else ()
        happened += ("stage",) if self._reached is not None and reached > self._reached else ()
        self._topology, self._reached = version, max(reached, self._reached or 0)
        found = {}
        for tool in scene.tools:
            force = touch_force(tool, frame.signals, model)
            if force > TOUCH or (force > LET_GO and tool.name in self._touching):
                self._touching.add(tool.name)
            else:
                self._touching.discard(tool.name)
            found[tool.name] = (("touch",) if tool.name in self._touching else ()) + happened
        return found


def touch_force(tool: Any, signals: Any, model: Any) -> float:
    """Sum of the contact forces on the palm and fingers of a tool [N], opposite ones not cancelled."""
    if signals is None:
        return 0.0
    force = np.asarray(signals.contact_force[0])
    meshes = [name for name in dict.fromkeys((tool.palm, *tool.grasp_meshes)) if name in model.meshes]
    return float(sum(np.linalg.norm(force[model.meshes[name].points], axis=1).sum() for name in meshes))


def feedback_of(frame: Any, row: int, cues: tuple[str, ...]) -> Feedback:
    """What the device of a tool gets: the force of its drive, row `row` of the signals [N], and its cues."""
    return Feedback(force=float(np.linalg.norm(frame.signals.drive_force[0, row])), events=cues)
