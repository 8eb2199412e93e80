"""Rest positions of joint springs that gave way: state of the run, beside the energies that a rebuild makes anew."""

from __future__ import annotations

import numpy as np

from engine.types import Model


class Yielding:
    """What the springs of every joint that yields pull to, by energy [m or rad].

    The energies hold the running values on the device; `read` fetches them after a step, `write` hands them to the
    energies of another model of the same joints (a rebuilt or reduced one, a restored state).
    """

    def __init__(self, model: Model):
        mine = [energy for energy in model.energies if energy.ends_step]
        self._start = {energy.name: energy.parameters["target"].copy() for energy in mine}
        self._yields = {energy.name: energy.parameters["yields"] > 0.0 for energy in mine}
        self._worlds = model.num_worlds
        self.target = {name: values.copy() for name, values in self._start.items()}

    def read(self, model: Model) -> None:
        """Take over the targets from the energies of `model`."""
        for energy, name in self._of(model):
            self.target[name] = energy.target.numpy().copy()

    def write(self, model: Model) -> None:
        """Hand them to the energies of `model`."""
        for energy, name in self._of(model):
            values, yields = energy.target.numpy().copy(), self._yields[name]
            values[yields] = self.target[name][yields]
            energy.target.assign(values)

    def reset(self, world: int | None = None) -> None:
        """Back to the start, all worlds or one."""
        for name, start in self._start.items():
            picked = slice(None) if world is None else world
            self.target[name].reshape(self._worlds, -1)[picked] = start.reshape(self._worlds, -1)[picked]

    def renew(self, model: Model) -> None:
        """Take over the start that the parameters of `model` tell now; reset next."""
        for energy, name in self._of(model):
            self._start[name] = energy.parameters["target"].copy()

    def get_state(self) -> dict[str, np.ndarray]:
        """Copies for saving, (E,) each."""
        return {name: values.copy() for name, values in self.target.items()}

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Inverse of `get_state`; shapes are checked by the engine."""
        for name in self.target:
            self.target[name] = np.array(arrays[name], float)

    def _of(self, model: Model):
        return [(energy, energy.name) for energy in model.energies if energy.name in self.target]
