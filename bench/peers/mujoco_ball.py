"""MuJoCo 4 on `bench.ball_on_pad` (optional dependency: the extra `bench`).

The pad is a flex of tetrahedra under the `discrete` integrator, the only implicit one that still takes flex elasticity.
Contact is MuJoCo's own soft one. Its stiffness goes with the mass of what touches, and a vertex of a gel weighs
milligrams: with the default `solref` the ball falls through the pad. The hard `solref` and `solimp` below keep it up.
The flag `ipc` changed neither. MuJoCo's peg task was not tried with them.
"""

from __future__ import annotations

import numpy as np

from bench.ball_on_pad import GRAVITY, BallOnPad

HARD = 'solref="-1e7 -6e3" solimp="0.99 0.999 0.0001"'
RADIUS = 1e-5  # [m] of the flex: half the thickness of its skin


class MujocoBall:
    """Raises ImportError when the package mujoco (4.0 or later) is not installed."""

    name, dt = "mujoco", 0.002

    def __init__(self, p: BallOnPad, compute: str = "cpu"):
        import mujoco

        self._mujoco, self.problem = mujoco, p
        vertices, tets, bonded = p.mesh()
        points = " ".join(f"{value:.9g}" for value in vertices.reshape(-1))
        elements = " ".join(str(k) for k in tets.reshape(-1))
        mass = p.density * float(np.prod(p.size))
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco>
              <option timestep="{self.dt}" integrator="discrete" gravity="0 0 {-GRAVITY}"/>
              <worldbody>
                <body name="ball" pos="0 0 {p.radius + p.gap}">
                  <joint type="slide" axis="0 0 1"/>
                  <geom type="sphere" size="{p.radius}" mass="{p.mass}" condim="1" {HARD}/>
                </body>
                <flexcomp name="pad" type="direct" dim="3" point="{points}" element="{elements}" radius="{RADIUS}"
                    mass="{mass}">
                  <elasticity young="{p.young}" poisson="{p.poisson}"/>
                  <contact selfcollide="none" condim="1" {HARD}/>
                  <pin id="{" ".join(str(k) for k in bonded)}"/>
                </flexcomp>
              </worldbody>
            </mujoco>"""
        )
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)

    @property
    def version(self) -> str:
        return self._mujoco.__version__

    def step(self) -> None:
        self._mujoco.mj_step(self.model, self.data)

    @property
    def middle(self) -> np.ndarray:
        return self.data.body("ball").xpos.copy()

    @property
    def vertices(self) -> np.ndarray:
        return self.data.flexvert_xpos.copy()
