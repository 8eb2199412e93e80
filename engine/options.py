"""Numbers that choose how a step is taken. Frozen: a run keeps them; every one is recorded with an episode."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Options:
    """Options of the time stepper.

    Attributes:
        dt: time step [s].
        integrator: "backward_euler" or "bdf2".
        newton_tolerance: stop when the largest raw Newton update of any point, over dt, is below this [m/s].
        contact_tolerance: and when the last update changed the contact forces by less than this share of their sum [-].
        newton_max_iterations: step budget; a step that runs out is still intersection-free and says converged=False.
        linear_solver: "auto", "pcg", "band" (band factor as PCG preconditioner) or "direct" (sparse LU on CPU).
        linear_tolerance: relative residual of the linear solve in the preconditioner's norm [-].
        linear_max_iterations: PCG iterations at most.
        epsv: velocity below which friction is static [m/s].
        friction_iterations: lagged friction passes per step.
        membrane_extrapolation: use the extrapolated membrane stress in the Hessian (stiff strips converge truly).
        start: "velocity" (x + dt v, CCD-limited) or "position" (x, the papers' start).
        newton: "guided", or "plain": projected Newton as in the papers, for parity runs. It starts from x, clamps the
            membrane stress where it is, takes every update as it comes, and stops on the size of the update alone;
            so it overrules start, membrane_extrapolation and contact_tolerance. PCG is not helped to common motions.
        candidate_slack: candidates are kept until a point leaves its box inflated by this [m]; 0 = from the mesh.
        ccd_conservative: share of the remaining gap that one CCD advance may use [-].
        line_search_max: halvings at most.
    """

    dt: float = 1.0 / 30.0
    integrator: str = "backward_euler"
    newton_tolerance: float = 1e-2
    contact_tolerance: float = 0.03
    newton_max_iterations: int = 60
    linear_solver: str = "auto"
    linear_tolerance: float = 1e-2
    linear_max_iterations: int = 2000
    epsv: float = 1e-3
    friction_iterations: int = 1
    membrane_extrapolation: bool = True
    start: str = "velocity"
    newton: str = "guided"
    candidate_slack: float = 0.0
    ccd_conservative: float = 0.9
    line_search_max: int = 30

    def __post_init__(self):
        _one_of("integrator", self.integrator, ("backward_euler", "bdf2"))
        _one_of("linear_solver", self.linear_solver, ("auto", "pcg", "band", "direct"))
        _one_of("start", self.start, ("velocity", "position"))
        _one_of("newton", self.newton, ("guided", "plain"))
        for name in ("dt", "newton_tolerance", "contact_tolerance", "linear_tolerance", "epsv"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"Options.{name} is {getattr(self, name)!r}; it must be greater than 0")
        for name in ("newton_max_iterations", "linear_max_iterations", "line_search_max", "friction_iterations"):
            if getattr(self, name) < 1:
                raise ValueError(f"Options.{name} is {getattr(self, name)!r}; it must be at least 1")
        if self.candidate_slack < 0.0:
            raise ValueError(
                f"Options.candidate_slack is {self.candidate_slack!r}; it must be at least 0 (0 = automatic)"
            )
        if not 0.0 < self.ccd_conservative < 1.0:
            raise ValueError(f"Options.ccd_conservative is {self.ccd_conservative!r}; it must lie between 0 and 1")

    def in_force(self) -> Options:
        """These options with what `newton: plain` overrules written out."""
        if self.newton == "guided":
            return self
        return replace(self, start="position", membrane_extrapolation=False, contact_tolerance=math.inf)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(f.name for f in fields(cls))


def _one_of(name: str, value: str, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise ValueError(f"Options.{name} is {value!r}; legal values: {', '.join(legal)}")
