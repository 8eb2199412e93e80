"""Drive, damping and limits of a joint, as a potential of its coordinate q.

    slide: q = (c - p0).(p1 - p0) - offset                                   [m], p1 - p0 a unit vector along the axis
    angle: q = atan2((c1 - p0).(p2 - p0), (c1 - p0).(p1 - p0)) - offset      [rad], wrapped to (-pi, pi]

    E(q) = Huber(|q - target|; stiffness, force_limit) + damping/(2 h) (q - q_start)^2
           + limit_stiffness/2 [max(0, lower - q)^2 + max(0, q - upper)^2]

Differences of angles are taken the short way round, so a target near +-pi is safe; limits must lie within +-pi.
docs/physics/joints.md and drives.md.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from engine.energies.base import Energy, StepInputs
from engine.energies.hinge import wrap_angle
from engine.energies.joint_law import (
    JointLaw,
    angle_coordinate,
    angle_gradient,
    joint_potential,
    slide_coordinate,
    slide_gradient,
    yielded,
)
from engine.energies.per_element import host_positions, non_negative, per_element, upload

wp.set_module_options({"enable_backward": False})

# Kernels -----------------------------------------------------------------------------------------------------------
@wp.kernel
def slide_coordinate_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    law: JointLaw,
    # In:
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    q = slide_coordinate(x, stencils, e) - law.offset[e]
    moved = q - (slide_coordinate(x_start, stencils, e) - law.offset[e])
    potential = joint_potential(law, e, q, q - law.target[e], moved, step_size[0])
    wp.atomic_add(world_energy, element_world[e], potential[0])


@wp.kernel
def slide_coordinate_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    law: JointLaw,
    # In:
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    q = slide_coordinate(x, stencils, e) - law.offset[e]
    moved = q - (slide_coordinate(x_start, stencils, e) - law.offset[e])
    potential = joint_potential(law, e, q, q - law.target[e], moved, step_size[0])
    g = slide_gradient(x, stencils, e)
    slot = int(6 * e)
    for a in range(wp.int32(3)):
        gradient[3 * e + a] = potential[1] * g[a]
        for b in range(a, wp.int32(3)):
            blocks[slot] = wp.outer(potential[2] * g[a], g[b])
            slot += 1


@wp.kernel
def angle_coordinate_value(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    element_world: wp.array(dtype=wp.int32),
    law: JointLaw,
    # In:
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    # Out:
    world_energy: wp.array(dtype=wp.float64),
):
    e = wp.tid()
    q = wrap_angle(angle_coordinate(x, stencils, e) - law.offset[e])
    moved = wrap_angle(q + law.offset[e] - angle_coordinate(x_start, stencils, e))
    potential = joint_potential(law, e, q, wrap_angle(q - law.target[e]), moved, step_size[0])
    wp.atomic_add(world_energy, element_world[e], potential[0])


@wp.kernel
def angle_coordinate_derivatives(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    law: JointLaw,
    # In:
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    # Out:
    gradient: wp.array(dtype=wp.vec3d),
    blocks: wp.array(dtype=wp.mat33d),
):
    e = wp.tid()
    q = wrap_angle(angle_coordinate(x, stencils, e) - law.offset[e])
    moved = wrap_angle(q + law.offset[e] - angle_coordinate(x_start, stencils, e))
    potential = joint_potential(law, e, q, wrap_angle(q - law.target[e]), moved, step_size[0])
    g = angle_gradient(x, stencils, e)
    slot = int(10 * e)
    for a in range(wp.int32(4)):
        gradient[4 * e + a] = potential[1] * g[a]
        for b in range(a, wp.int32(4)):
            blocks[slot] = wp.outer(potential[2] * g[a], g[b])
            slot += 1


@wp.kernel
def slide_yield(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    law: JointLaw,
    # In:
    x: wp.array(dtype=wp.vec3d),
):
    e = wp.tid()
    error = slide_coordinate(x, stencils, e) - law.offset[e] - law.target[e]
    law.target[e] += yielded(law, e, error)


@wp.kernel
def angle_yield(
    # Model:
    stencils: wp.array2d(dtype=wp.int32),
    law: JointLaw,
    # In:
    x: wp.array(dtype=wp.vec3d),
):
    e = wp.tid()
    error = wrap_angle(angle_coordinate(x, stencils, e) - law.offset[e] - law.target[e])
    law.target[e] = wrap_angle(law.target[e] + yielded(law, e, error))


class _JointCoordinate(Energy):
    """What both coordinates share. Gauss-Newton Hessian k(q) grad q grad q^T, k = E''(q) or the secant of a saturated
    drive; the term E'(q) d2q, indefinite, is left out: the ties of the joint and the orthogonality of its bodies carry
    that stiffness."""

    value_kernel = None
    derivatives_kernel = None
    yield_kernel = None

    def __init__(
        self, stencils, offset, stiffness, damping, target, force_limit, lower, upper, limit_stiffness, yields,
        element_world, device,
    ):
        """stencils (E, k) point ids, element_world (E,); the others (E,): offset, target, lower, upper [m or rad]
        (limits may be -inf, inf); stiffness, limit_stiffness [N/m or N m/rad]; damping [N s/m or N m s/rad];
        force_limit [N or N m], inf = none; yields 0 or 1. `target` stays as a device array that is written in place."""
        super().__init__(stencils, element_world, device)
        owner = type(self).__name__
        given = {
            "offset": offset,
            "stiffness": stiffness,
            "damping": damping,
            "target": target,
            "force_limit": force_limit,
            "lower": lower,
            "upper": upper,
            "limit_stiffness": limit_stiffness,
            "yields": yields,
        }
        self.law = JointLaw()
        for name, values in given.items():
            array = per_element(owner, name, values, self.num_elements)
            if name in ("stiffness", "damping", "force_limit", "limit_stiffness"):
                non_negative(owner, name, array)
            setattr(self, name, upload(array, wp.float64, device))
            setattr(self.law, name, getattr(self, name))
        low, high = self.lower.numpy(), self.upper.numpy()
        wrong = np.flatnonzero(low > high)
        if len(wrong):
            e = int(wrong[0])
            raise ValueError(f"{owner}: lower of element {e} is {float(low[e])!r}, above upper {float(high[e])!r}")
        self.ends_step = bool((self.yields.numpy() > 0.0).any())

    def launch_value(self, inputs: StepInputs, world_energy: wp.array) -> None:
        wp.launch(
            self.value_kernel,
            dim=self.num_elements,
            inputs=[
                self.stencils, self.element_world, self.law, inputs.x, inputs.x_start, inputs.step_size, world_energy,
            ],
            device=self.device,
        )

    def launch_derivatives(self, inputs: StepInputs, gradient: wp.array, blocks: wp.array) -> None:
        wp.launch(
            self.derivatives_kernel,
            dim=self.num_elements,
            inputs=[self.stencils, self.law, inputs.x, inputs.x_start, inputs.step_size, gradient, blocks],
            device=self.device,
        )

    def launch_end_step(self, inputs: StepInputs) -> None:
        if self.ends_step:
            wp.launch(self.yield_kernel, self.num_elements, [self.stencils, self.law, inputs.x], device=self.device)

    def coordinate_host(self, x) -> np.ndarray:
        """q of every joint (E,) [m or rad] at point positions x (P, 3)."""
        raise NotImplementedError

    def error_host(self, x) -> np.ndarray:
        """q - target (E,) [m or rad]."""
        return self.coordinate_host(x) - self.target.numpy()

    def force_host(self, x) -> np.ndarray:
        """Spring force or torque of the drive along the coordinate (E,) [N or N m], within +-force_limit; positive
        pulls towards larger q. Damping and limit stops are not in it."""
        limit = self.force_limit.numpy()
        return np.clip(-self.stiffness.numpy() * self.error_host(x), -limit, limit)


class SlideCoordinate(_JointCoordinate):
    """Coordinate of a prismatic joint; stencil [c, p0, p1]: a child's point, the parent's anchor, anchor plus axis."""

    name = "slide_coordinate"
    stencil_size = 3
    value_kernel = slide_coordinate_value
    derivatives_kernel = slide_coordinate_derivatives
    yield_kernel = slide_yield

    def coordinate_host(self, x) -> np.ndarray:
        c, p0, p1 = host_positions(x)[self.stencils_host].transpose(1, 0, 2)
        return ((c - p0) * (p1 - p0)).sum(axis=1) - self.offset.numpy()


class AngleCoordinate(_JointCoordinate):
    """Coordinate of a revolute joint; stencil [p0, p1, p2, c1]: the parent's anchor, anchor plus two directions across
    the axis (axis = first x second), and the child's point that was assembled on the first direction."""

    name = "angle_coordinate"
    stencil_size = 4
    value_kernel = angle_coordinate_value
    derivatives_kernel = angle_coordinate_derivatives
    yield_kernel = angle_yield

    def coordinate_host(self, x) -> np.ndarray:
        p0, p1, p2, c1 = host_positions(x)[self.stencils_host].transpose(1, 0, 2)
        v = c1 - p0
        angle = np.arctan2((v * (p2 - p0)).sum(axis=1), (v * (p1 - p0)).sum(axis=1))
        return _wrapped(angle - self.offset.numpy())

    def error_host(self, x) -> np.ndarray:
        return _wrapped(super().error_host(x))


def _wrapped(angle: np.ndarray) -> np.ndarray:
    """The same angles in (-pi, pi] [rad]."""
    return angle - 2.0 * np.pi * np.ceil((angle - np.pi) / (2.0 * np.pi))
