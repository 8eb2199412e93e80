"""One world of a batch as loop, window and recorder see it; all worlds are driven alike and step together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.types import Control, Signals


class ShownWorld:
    """An Engine that shows world `world` of `whole` as if it were alone. What is not named here is the batch's own:
    reset, saving and checkpoints are of all worlds."""

    def __init__(self, whole, world: int = 0):
        """Raises ValueError for a world that is none of the batch."""
        self.whole = whole
        self.show(world)

    def show(self, world: int) -> None:
        """From now on this one. Raises ValueError for a world that is none of the batch."""
        count = self.whole.model.num_worlds
        if not 0 <= world < count:
            raise ValueError(f"world is {world}; this run has worlds 0..{count - 1}")
        self.world = world

    def __getattr__(self, name: str):
        return getattr(self.whole, name)

    # stepping -------------------------------------------------------------------------------------------------------
    def control(self) -> Control:
        whole = self.whole.control()
        row = slice(self.world, self.world + 1)
        return Control(whole.body_transform[row], whole.joint_target[row])

    def step(self, control: Control | None = None, on_iteration=None):
        """`control` of one world, (1, ..), is given to all."""
        if control is not None:
            count = self.whole.model.num_worlds
            control = Control(*(np.repeat(a, count, axis=0) for a in (control.body_transform, control.joint_target)))
        return self.whole.step(control, on_iteration=on_iteration)

    def apply(self, edits) -> None:
        """Edits happen in the world that is shown."""
        self.whole.apply([replace(edit, world=self.world) for edit in edits])

    # reading --------------------------------------------------------------------------------------------------------
    def positions(self, world: int = 0) -> np.ndarray:
        return self.whole.positions(self.world)

    def mesh_positions(self, name: str, world: int = 0) -> np.ndarray:
        return self.whole.mesh_positions(name, self.world)

    def body_transform(self, name: str, world: int = 0) -> np.ndarray:
        return self.whole.body_transform(name, self.world)

    def grasped(self, world: int = 0) -> dict[str, np.ndarray]:
        return self.whole.grasped(self.world)

    def touching(self, meshes, world: int = 0) -> dict[str, np.ndarray]:
        return self.whole.touching(meshes, self.world)

    def signals(self) -> Signals:
        row = slice(self.world, self.world + 1)
        return Signals(**{name: value[row] for name, value in vars(self.whole.signals()).items()})

    def solo_state(self) -> dict[str, np.ndarray]:
        """State of the shown world as its solo run would have it: what an episode of this world keeps.

        Raises ValueError for scenes with adhesion, rolls or grasps: their histories belong to the batch."""
        if self.whole.interfaces or self.whole.rolls:
            raise ValueError("one world of a batch can be recorded only in scenes without tape; run it alone (--draw)")
        worlds, found = self.whole.model.num_worlds, {}
        for name, values in self.whole.get_state().items():
            if name.startswith(("grasp_", "cut_")):
                if len(values):
                    raise ValueError("one world of a batch cannot be recorded while something is grasped or cut")
                found[name] = values
            else:
                found[name] = values.reshape(worlds, -1, *values.shape[1:])[self.world].reshape(-1, *values.shape[1:])
        return found
