"""Lagged friction: normal forces, closest-point weights and tangent planes of the last positions, kept for one pass.

Energy of a contact: friction_mu * normal_force * f0(|u|) with u the tangential part of sum_a w_a (x_a - x_start_a)
(Li et al. 2020), less what the turn of the surface adds over the pair's distance (engine.contact.turning): what turns
together does not slide. Hessian used: its secant majoriser. Mollified edge pairs keep their friction, with the
mollified normal force.
"""

from __future__ import annotations

import warp as wp

from engine.contact.barrier import barrier_gradient
from engine.contact.friction_law import friction_over_u, friction_value
from engine.contact.narrow import CandidateArrays, closest_weights
from engine.contact.stencils import StencilBlocks, stride_of
from engine.contact.turning import write_turn
from engine.distance.mollifier import edge_cross_squared, mollifier
from engine.distance.stencil import weighted_difference

wp.set_module_options({"enable_backward": False})


@wp.kernel
def lag_kernel(
    c: CandidateArrays,
    x: wp.array(dtype=wp.vec3d),
    active: wp.array(dtype=int),
    active_count: wp.array(dtype=int),
    stride: int,
    points_out: wp.array(dtype=wp.vec4i),
    weights_out: wp.array(dtype=wp.vec4d),
    turn_out: wp.array2d(dtype=wp.vec3d),
    normal_out: wp.array(dtype=wp.vec3d),
    force_out: wp.array(dtype=wp.float64),
    world_out: wp.array(dtype=int),
    first_side_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
):
    """force = friction_mu * normal force [N]; contacts without friction are left out."""
    k = wp.tid()
    while k < active_count[0]:
        i = active[k]
        p = c.points[i]
        if c.friction_mu[i] > wp.float64(0.0):
            x0 = x[p[0]]
            x1 = x[p[1]]
            x2 = x[p[2]]
            x3 = x[p[3]]
            w = closest_weights(c.kind[i], x0, x1, x2, x3)
            r = weighted_difference(w, x0, x1, x2, x3)
            distance = wp.length(r)
            m = wp.float64(1.0)
            if c.mollifier_eps[i] > wp.float64(0.0):
                m = mollifier(edge_cross_squared(x0, x1, x2, x3), c.mollifier_eps[i])
            force = -c.stiffness[i] * m * barrier_gradient(distance - c.min_separation[i], c.dhat[i])
            if force > wp.float64(0.0):
                at = wp.atomic_add(count_out, 0, 1)
                n = r / distance
                write_turn(at, c.kind[i], w, n, distance, x0, x1, x2, x3, turn_out)
                points_out[at] = p
                weights_out[at] = w
                normal_out[at] = n
                force_out[at] = c.friction_mu[i] * force
                world_out[at] = c.world[i]
                first_side_out[at] = 1 + c.kind[i]
        k += stride


@wp.func
def slip(
    c: int,
    p: wp.vec4i,
    w: wp.vec4d,
    turn: wp.array2d(dtype=wp.vec3d),
    n: wp.vec3d,
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
) -> wp.vec3d:
    """Tangential displacement of stencil c since the start of the step, beyond the turn of its surface [m]."""
    u = wp.vec3d()
    for a in range(4):
        moved = x[p[a]] - x_start[p[a]]
        u = u + moved * w[a] + turn[c, a] * wp.dot(n, moved)
    return u - n * wp.dot(n, u)


@wp.kernel
def derivatives_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    weights: wp.array(dtype=wp.vec4d),
    turn: wp.array2d(dtype=wp.vec3d),
    normal: wp.array(dtype=wp.vec3d),
    force: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    epsv: wp.float64,
    stride: int,
    block_out: wp.array(dtype=wp.mat33d),
    gradient_out: wp.array2d(dtype=wp.vec3d),
):
    c = wp.tid()
    eps = epsv * step_size[0]
    while c < count[0]:
        n = normal[c]
        w = weights[c]
        u = slip(c, points[c], w, turn, n, x, x_start)
        length = wp.length(u)
        over_u = force[c] * friction_over_u(length, eps)
        # The secant weight in every tangential direction: f0 is concave in |u|^2, so this bounds the energy from above
        # and Newton does not leap from one sliding direction to the other, as it does with the exact radial part
        # (zero when sliding). Fewer iterations and no halvings on a light strip dragged over a table.
        block_out[c] = (wp.identity(n=3, dtype=wp.float64) - wp.outer(n, n)) * over_u
        for a in range(4):
            gradient_out[c, a] = u * (over_u * w[a]) + n * (over_u * wp.dot(turn[c, a], u))
        c += stride


@wp.kernel
def value_kernel(
    count: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec4i),
    weights: wp.array(dtype=wp.vec4d),
    turn: wp.array2d(dtype=wp.vec3d),
    normal: wp.array(dtype=wp.vec3d),
    force: wp.array(dtype=wp.float64),
    world: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    epsv: wp.float64,
    stride: int,
    world_energy_out: wp.array(dtype=wp.float64),
):
    c = wp.tid()
    eps = epsv * step_size[0]
    while c < count[0]:
        u = slip(c, points[c], weights[c], turn, normal[c], x, x_start)
        wp.atomic_add(world_energy_out, world[c], force[c] * friction_value(wp.length(u), eps))
        c += stride


class Friction:
    """The lagged list of one pass and its stencil blocks."""

    def __init__(self, capacity: int, epsv: float, device: str):
        self.blocks = StencilBlocks(capacity, device, turning=True)
        self.turn, self.normal = self.blocks.turns.turn, self.blocks.turns.normal
        self.force = wp.zeros(capacity, dtype=wp.float64, device=device)
        self.world = wp.zeros(capacity, dtype=int, device=device)
        self.epsv, self.device, self.stride = epsv, device, stride_of(device)

    def take_over(self, old: Friction) -> None:
        """The lagged list of shorter arrays: their blocks are made anew by the next `launch_derivatives`."""
        new, kept = self.blocks, int(old.blocks.count.numpy()[0])
        pairs = [(getattr(new, n), getattr(old.blocks, n)) for n in ("points", "weights", "first_side")]
        pairs += [(getattr(self, n), getattr(old, n)) for n in ("turn", "normal", "force", "world")]
        for target, source in pairs:
            wp.copy(target[:kept], source[:kept])
        wp.copy(new.count, old.blocks.count)

    def launch_lag(self, c: CandidateArrays, x, active, active_count) -> None:
        """active_count: at most the capacity."""
        b = self.blocks
        b.count.zero_()
        wp.launch(
            lag_kernel,
            self.stride,
            [c, x, active, active_count, self.stride],
            [b.points, b.weights, self.turn, self.normal, self.force, self.world, b.first_side, b.count],
            device=self.device,
        )

    def launch_derivatives(self, inputs) -> None:
        b = self.blocks
        wp.launch(
            derivatives_kernel,
            self.stride,
            [b.count, b.points, b.weights, self.turn, self.normal, self.force]
            + [inputs.x, inputs.x_start, inputs.step_size, wp.float64(self.epsv), self.stride],
            [b.block, b.gradient],
            device=self.device,
        )

    def launch_value(self, inputs, world_energy) -> None:
        b = self.blocks
        wp.launch(
            value_kernel,
            self.stride,
            [b.count, b.points, b.weights, self.turn, self.normal, self.force, self.world]
            + [inputs.x, inputs.x_start, inputs.step_size, wp.float64(self.epsv), self.stride],
            [world_energy],
            device=self.device,
        )
