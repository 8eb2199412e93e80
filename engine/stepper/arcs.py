"""Bodies turn along arcs: an update of a body's matrix A is followed as a rotation, not along its tangent.

Newton's update dA = (W + S) A, W skew and S symmetric. Along the straight line A + dA a turn by an angle t stretches A
by t^2 / 2, and the orthogonality energy, stiff as it is, lets only a small part of such a step pass, or takes several
iterations to squeeze A back. So the end is put at

    A(share) = exp(share W) (1 + share S) A

and points go to it along straight chords, which is what CCD and line search check. A step that CCD bounds at a share
of itself ends on the arc again: the end is moved to that share, and checked anew along the new chord.

Bodies that tape sticks to stay on their tangents. The vertices stuck to them do too, a ring of tape off the arc of its
core is stretched by it, and the overshoots of a pulled roll that the core then let pass took twice the iterations.
"""

from __future__ import annotations

import warp as wp

from engine.stepper.predict import rotation_from_vector
from engine.stepper.worlds import Worlds

wp.set_module_options({"enable_backward": False})

BENT = 0.01  # [rad] turn within one update below which chord and arc are as good as one


@wp.func
def body_matrix(x: wp.array(dtype=wp.vec3d), first: int) -> wp.mat33d:
    return wp.matrix_from_cols(x[first + 1], x[first + 2], x[first + 3])


@wp.func
def vector_of(m: wp.mat33d) -> wp.vec3d:
    """Of the skew part of m."""
    return wp.float64(0.5) * wp.vec3d(m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])


@wp.func
def arc_end(a: wp.mat33d, turn: wp.vec3d, strain: wp.mat33d, share: wp.float64) -> wp.mat33d:
    """A(share)."""
    return rotation_from_vector(share * turn) * (a + share * (strain * a))


@wp.kernel
def bend_kernel(
    body_node: wp.array(dtype=int),
    node_world: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    straight: wp.array(dtype=int),
    # In and out:
    dx: wp.array(dtype=wp.vec3d),
    # Out:
    turn_out: wp.array(dtype=wp.vec3d),
    strain_out: wp.array(dtype=wp.mat33d),
    largest_turn: wp.array(dtype=wp.float64),
):
    """From tangent to arc. straight: bodies by their first node that stay on the tangent. largest_turn: by world,
    atomic max [rad]."""
    b = wp.tid()
    f = body_node[b]
    if straight[f] == 1:
        return
    a = body_matrix(x, f)
    rate = body_matrix(dx, f) * wp.inverse(a)
    turn = vector_of(rate)
    strain = wp.float64(0.5) * (rate + wp.transpose(rate))
    turn_out[b] = turn
    strain_out[b] = strain
    wp.atomic_max(largest_turn, node_world[f], wp.length(turn))
    change = arc_end(a, turn, strain, wp.float64(1.0)) - a
    for k in range(3):
        dx[f + 1 + k] = wp.vec3d(change[0, k], change[1, k], change[2, k])


@wp.kernel
def read_kernel(
    body_node: wp.array(dtype=int),
    node_world: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    straight: wp.array(dtype=int),
    dx: wp.array(dtype=wp.vec3d),
    turn_out: wp.array(dtype=wp.vec3d),
    strain_out: wp.array(dtype=wp.mat33d),
    largest_turn: wp.array(dtype=wp.float64),
):
    """The arc whose chord dx is: turn and strain of A + dA = exp(W) (1 + S) A."""
    b = wp.tid()
    f = body_node[b]
    if straight[f] == 1:
        return
    whole = (body_matrix(x, f) + body_matrix(dx, f)) * wp.inverse(body_matrix(x, f))
    skew = vector_of(whole)
    sine = wp.length(skew)
    angle = wp.atan2(sine, wp.float64(0.5) * (wp.trace(whole) - wp.float64(1.0)))
    turn = skew
    if sine > wp.float64(1e-12):
        turn = skew * (angle / sine)
    turn_out[b] = turn
    rest = rotation_from_vector(-turn) * whole - wp.identity(n=3, dtype=wp.float64)
    strain_out[b] = wp.float64(0.5) * (rest + wp.transpose(rest))
    wp.atomic_max(largest_turn, node_world[f], angle)


@wp.kernel
def shorten_kernel(
    s: Worlds,
    node_body: wp.array(dtype=int),
    node_world: wp.array(dtype=int),
    body_node: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    turn: wp.array(dtype=wp.vec3d),
    strain: wp.array(dtype=wp.mat33d),
    straight: wp.array(dtype=int),
    largest_turn: wp.array(dtype=wp.float64),
    bent: wp.float64,
    dx: wp.array(dtype=wp.vec3d),
):
    """The motion of worlds in which a body turns far to the share `s.bound` of what it is now, along the arcs."""
    i = wp.tid()
    w = node_world[i]
    share = s.bound[w]
    if share < wp.float64(1.0) and largest_turn[w] > bent:
        b = node_body[i]
        column = int(-1)
        if b >= 0 and straight[i] == 0:
            column = i - body_node[b] - 1
        if column < 0:
            dx[i] = dx[i] * share
        else:
            f = body_node[b]
            a = body_matrix(x, f)
            end = arc_end(a, turn[b], strain[b], share * s.share[w]) - a
            dx[i] = wp.vec3d(end[0, column], end[1, column], end[2, column])


@wp.kernel
def keep_share_kernel(s: Worlds, largest_turn: wp.array(dtype=wp.float64), bent: wp.float64):
    """The slope stays that along the tangent: the arc leaves in its direction."""
    w = wp.tid()
    if largest_turn[w] > bent:
        s.share[w] = s.share[w] * s.bound[w]
        s.slope[w] = s.slope[w] * s.bound[w]


class Arcs:
    """Of all bodies of a model."""

    def __init__(self, model):
        self.model, self.device = model, model.device
        self.count = model.num_worlds * model.bodies_per_world
        size = max(self.count, 1)
        self.straight = wp.zeros(model.num_nodes, dtype=int, device=self.device)  # nodes of bodies that tape sticks to
        self.turn = wp.zeros(size, dtype=wp.vec3d, device=self.device)
        self.strain = wp.zeros(size, dtype=wp.mat33d, device=self.device)
        self.largest_turn = wp.zeros(model.num_worlds, dtype=wp.float64, device=self.device)

    def launch_bend(self, x, dx) -> None:
        """dx: node update along tangents, made one along arcs."""
        self._launch(bend_kernel, x, dx)

    def launch_read(self, x, dx) -> None:
        """dx: node motion along chords of arcs."""
        self._launch(read_kernel, x, dx)

    def _launch(self, kernel, x, dx) -> None:
        self.largest_turn.zero_()
        m = self.model
        wp.launch(
            kernel, self.count,
            [m.body_node, m.node_world, x, self.straight, dx, self.turn, self.strain, self.largest_turn],
            device=self.device,
        )  # fmt: skip

    def launch_shorten(self, worlds: Worlds, x, dx) -> None:
        """To the share worlds.bound."""
        m = self.model
        wp.launch(
            shorten_kernel, m.num_nodes,
            [worlds, m.node_body, m.node_world, m.body_node, x, self.turn, self.strain,
             self.straight, self.largest_turn, wp.float64(BENT), dx], device=self.device,
        )  # fmt: skip
        wp.launch(
            keep_share_kernel, m.num_worlds, [worlds, self.largest_turn, wp.float64(BENT)], device=self.device
        )

    def bent(self):
        """Worlds in which a body turns by more than BENT, bool (W,); a host read."""
        return self.largest_turn.numpy() > BENT
