"""MuJoCo 4's IPC mode on the cloth problem of `bench.cloth_problem` (optional dependency: the extra `bench`).

The flag `ipc` of the `discrete` integrator minimises an incremental potential with barrier-free augmented-Lagrangian
contact, frictionless and verified by continuous collision detection (MuJoCo release notes 3.14.0, 4.0.0).
"""

from __future__ import annotations

import numpy as np

from bench.cloth_problem import Cloth

TIGHT = {"tolerance": "0", "iterations": "400", "ls_iterations": "100"}


class MujocoCloth:
    """The cloth in MuJoCo. self_contact: the cloth against itself; options: attributes of <option>, e.g. tolerance.

    Raises ImportError when the package mujoco (4.0 or later) is not installed.
    """

    def __init__(self, cloth: Cloth, self_contact: bool, **options: str):
        import mujoco

        self._mujoco = mujoco
        attributes = " ".join(f'{name}="{value}"' for name, value in options.items())
        n, spacing = cloth.points, cloth.size / (cloth.points - 1)
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco>
              <option timestep="{cloth.dt}" integrator="discrete" {attributes}><flag ipc="enable"/></option>
              <worldbody>
                <geom type="sphere" size="{cloth.ball_radius}"/>
                <flexcomp name="cloth" type="grid" count="{n} {n} 1" spacing="{spacing} {spacing} {spacing}"
                    pos="0 0 {cloth.height}" radius="{cloth.half_thickness}" dim="2" mass="{cloth.mass}">
                  <elasticity young="{cloth.young}" poisson="{cloth.poisson}" thickness="{cloth.thickness}"
                    elastic2d="both"/>
                  <contact selfcollide="{"auto" if self_contact else "none"}"/>
                </flexcomp>
              </worldbody>
            </mujoco>"""
        )
        self.data = mujoco.MjData(self.model)

    @property
    def version(self) -> str:
        return self._mujoco.__version__

    @property
    def velocities(self) -> np.ndarray:
        """(3 n^2,) [m/s]."""
        return self.data.qvel.copy()

    @property
    def iterations(self) -> int:
        """Solver iterations of the last step."""
        return int(self.data.solver_niter[0])

    def step(self) -> None:
        self._mujoco.mj_step(self.model, self.data)

    def reset(self) -> None:
        self._mujoco.mj_resetData(self.model, self.data)

    def copy_state(self, other: MujocoCloth) -> None:
        """Continue from where `other` is (positions, velocities, warm starts)."""
        kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.zeros(self._mujoco.mj_stateSize(other.model, kind))
        self._mujoco.mj_getState(other.model, other.data, state, kind)
        self.data = self._mujoco.MjData(self.model)
        self._mujoco.mj_setState(self.model, self.data, state, kind)
